/* SPDX-License-Identifier: GPL-2.0 */
/* What an administrator changes about arenas and objects that exist. */
#ifndef TALLY_HOME_ADMIN_H
#define TALLY_HOME_ADMIN_H

#include "home/object.h"

int tally_arena_del(struct tally_node *node, const char *name,
		    const char **reason);
void tally_arenas_forget_peer(struct tally_node *node, const char *peer);
void tally_arena_set_owner(struct tally_arena *arena,
			   struct tally_object *object,
			   const struct tally_owner *owner, u8 what);
int tally_object_del(struct tally_arena *arena, const char *name, u8 type,
		     const char **reason);
void tally_arenas_stop(struct tally_node *node);

#endif
