/* SPDX-License-Identifier: GPL-2.0 */
/* Counters and netlink; see struct tally_type_ops. */
#ifndef TALLY_COUNTER_NL_H
#define TALLY_COUNTER_NL_H

#include <net/genetlink.h>
#include "netlink/gen.h"

struct tally_object;

#define TALLY_COUNTER_NL_ATTRS	BIT_ULL(TALLY_A_OBJECT_INITIAL)

int tally_counter_nl_take(struct tally_object *object, struct genl_info *info);
int tally_counter_nl_fill(struct sk_buff *skb, void *hdr,
			  struct tally_object *object);

#endif
