/* SPDX-License-Identifier: GPL-2.0 */
/* What a node, its sessions and homes tell all that is used there. */
#ifndef TALLY_VIEWS_H
#define TALLY_VIEWS_H

#include "client/view.h"

void tally_views_session_live(struct tally_session *s, bool resumed);
void tally_views_session_over(struct tally_session *s);
int tally_views_forget(struct tally_session *s, const void *body, u32 len);

void tally_views_each(struct tally_node *node, struct tally_session *s, u8 type,
		      void (*fn)(struct tally_handle *handle, void *ctx),
		      void *ctx);

#endif
