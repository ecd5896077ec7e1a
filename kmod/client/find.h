/* SPDX-License-Identifier: GPL-2.0 */
/* Finding an arena by name: at this node and at all it has sessions with. */
#ifndef TALLY_FIND_H
#define TALLY_FIND_H

#include "client/view.h"

struct tally_view *tally_view_find(struct tally_node *node, const char *name,
				   long timeout);

#endif
