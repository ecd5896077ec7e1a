/* SPDX-License-Identifier: GPL-2.0 */
/* What there is to show of a lock at its home; see struct tally_type_ops. */
#ifndef TALLY_LOCK_SHOW_H
#define TALLY_LOCK_SHOW_H

#include "home/object.h"

struct sk_buff;
struct tally_handle;
struct tally_sreq;

int tally_lock_nl_fill(struct sk_buff *skb, void *hdr,
		       struct tally_object *object);
int tally_lock_ask_start(struct tally_node *node, const char *arena,
			 const char *lock);
void tally_lock_who(struct tally_handle *handle, struct tally_sreq *req);

#endif
