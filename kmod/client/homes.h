/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Finding and listing arenas, and the objects of one. All homes are asked at
 * once: one that does not answer would keep those behind it from being asked in
 * time.
 */
#ifndef TALLY_HOMES_H
#define TALLY_HOMES_H

#include "client/view.h"
#include "object/wire.h"

/* An entry of a directory. Return false to stop. */
typedef bool (*tally_list_fn)(void *ctx, const char *name, u8 type, u32 id);

struct tally_view *tally_view_find(struct tally_node *node, const char *name,
				   long timeout);
int tally_view_list(struct tally_view *view, u32 after, tally_list_fn fn,
		    void *ctx, long timeout);
int tally_view_show(struct tally_view *view, struct tally_msg_show *msg,
		    struct tally_rep_show *rep, u32 *len, long timeout);
int tally_views_list(struct tally_node *node, u32 after, tally_list_fn fn,
		     void *ctx, long timeout);

int tally_homes_init(void);
void tally_homes_exit(void);

#endif
