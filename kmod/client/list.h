/* SPDX-License-Identifier: GPL-2.0 */
/* Directories: the arenas a node can see, the objects of an arena. */
#ifndef TALLY_LIST_H
#define TALLY_LIST_H

#include "client/view.h"

/* An entry of a directory. Return false to stop. */
typedef bool (*tally_list_fn)(void *ctx, const char *name, u8 type, u32 id);

int tally_view_list(struct tally_view *view, u32 after, tally_list_fn fn,
		    void *ctx, long timeout);
int tally_views_list(struct tally_node *node, tally_list_fn fn, void *ctx,
		     long timeout);

#endif
