/* SPDX-License-Identifier: GPL-2.0 */
/* Locks and netlink; see struct tally_type_ops. */
#ifndef TALLY_LOCK_NL_H
#define TALLY_LOCK_NL_H

#include <net/genetlink.h>
#include "netlink/gen.h"

struct tally_object;

#define TALLY_LOCK_NL_ATTRS	(BIT_ULL(TALLY_A_OBJECT_CLASS) |	\
				 BIT_ULL(TALLY_A_OBJECT_CACHE) |	\
				 BIT_ULL(TALLY_A_OBJECT_BUDGET) |	\
				 BIT_ULL(TALLY_A_OBJECT_BUDGET_MS))

int tally_lock_nl_take(struct tally_object *object, struct genl_info *info);
int tally_lock_nl_set(struct tally_object *object, struct genl_info *info);

#endif
