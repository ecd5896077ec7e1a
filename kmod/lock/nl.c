// SPDX-License-Identifier: GPL-2.0
#include "lock/nl.h"

#include "lock/home.h"

#define BUDGET_MS_DEFAULT	10

/* What is not given stays as it is. */
static void take_settings(struct genl_info *info, struct tally_lock_set *set)
{
	struct nlattr **attrs = info->attrs;

	if (attrs[TALLY_A_OBJECT_CACHE])
		set->cache = nla_get_u32(attrs[TALLY_A_OBJECT_CACHE]);
	if (attrs[TALLY_A_OBJECT_BUDGET])
		set->grants = nla_get_u32(attrs[TALLY_A_OBJECT_BUDGET]);
	if (attrs[TALLY_A_OBJECT_BUDGET_MS])
		set->ms = nla_get_u32(attrs[TALLY_A_OBJECT_BUDGET_MS]);
}

int tally_lock_nl_take(struct tally_object *object, struct genl_info *info)
{
	struct tally_lock_home *home = tally_lock_home(object);

	if (info->attrs[TALLY_A_OBJECT_CLASS])
		home->class = nla_get_u32(info->attrs[TALLY_A_OBJECT_CLASS]);
	home->set.ms = BUDGET_MS_DEFAULT;
	take_settings(info, &home->set);
	return 0;
}

int tally_lock_nl_set(struct tally_object *object, struct genl_info *info)
{
	struct tally_lock_home *home = tally_lock_home(object);
	struct tally_lock_set set;

	mutex_lock(&home->lock);
	set = home->set;
	mutex_unlock(&home->lock);
	take_settings(info, &set);
	return tally_lock_home_set(object, &set);
}
