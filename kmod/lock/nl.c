// SPDX-License-Identifier: GPL-2.0
#include "lock/nl.h"

#include "lock/break.h"
#include "lock/home.h"
#include "lock/show.h"
#include "netlink/msg.h"

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
	struct tally_lock_info now;

	tally_lock_info(object, &now);
	take_settings(info, &now.set);
	return tally_lock_home_set(object, &now.set);
}

static int put_holder(struct sk_buff *skb, const struct tally_lock_info *info)
{
	if (!info->holder[0] && !info->holder_slot)
		return 0;
	if ((info->lease_ms != U64_MAX &&
	     nla_put_u64_64bit(skb, TALLY_A_OBJECT_LEASE, info->lease_ms,
			       TALLY_A_OBJECT_PAD)) ||
	    (info->pid &&
	     nla_put_u32(skb, TALLY_A_OBJECT_HOLDER_PID, info->pid)) ||
	    tally_nl_put_text(skb, TALLY_A_OBJECT_HOLDER, info->holder) ||
	    tally_nl_put_text(skb, TALLY_A_OBJECT_HOLDER_COMM, info->comm) ||
	    nla_put_u32(skb, TALLY_A_OBJECT_SHARED, info->shared) ||
	    nla_put_u32(skb, TALLY_A_OBJECT_HOLDERS, info->holders) ||
	    nla_put_u32(skb, TALLY_A_OBJECT_HOLDER_SLOT, info->holder_slot) ||
	    (info->age_ms != U64_MAX &&
	     nla_put_u64_64bit(skb, TALLY_A_OBJECT_AGE, info->age_ms,
			       TALLY_A_OBJECT_PAD)))
		return -EMSGSIZE;
	return 0;
}

static int put_waiter(struct sk_buff *skb, void *object, u32 i)
{
	char name[TALLY_NAME_SIZE];

	if (tally_lock_waiter(object, i, name))
		return -ENOENT;
	return skb ? nla_put_string(skb, TALLY_A_OBJECT_WAITER, name) : 0;
}

int tally_lock_nl_fill(struct sk_buff *skb, void *hdr,
		       struct tally_object *object)
{
	struct tally_lock_info info = {};

	tally_lock_info(object, &info);
	if (nla_put_u32(skb, TALLY_A_OBJECT_CLASS,
			tally_lock_home(object)->class) ||
	    nla_put_string(skb, TALLY_A_OBJECT_LOCK_STATE, info.state) ||
	    nla_put_u64_64bit(skb, TALLY_A_OBJECT_TOKEN, info.token,
			      TALLY_A_OBJECT_PAD) ||
	    nla_put_u32(skb, TALLY_A_OBJECT_CACHE, info.set.cache) ||
	    nla_put_u32(skb, TALLY_A_OBJECT_BUDGET, info.set.grants) ||
	    nla_put_u32(skb, TALLY_A_OBJECT_BUDGET_MS, info.set.ms) ||
	    nla_put_u32(skb, TALLY_A_OBJECT_FENCED, info.fenced) ||
	    put_holder(skb, &info))
		return -EMSGSIZE;
	return tally_nl_put_list(skb, hdr, TALLY_A_OBJECT_WAITERS, put_waiter,
				 object);
}

static const char *break_fault(int err)
{
	switch (err) {
	case -ESRCH:
		return "nobody has it";
	case -EALREADY:
		return "it is being taken away already";
	case -EIDRM:
		return "it was deleted meanwhile";
	default:
		return NULL;
	}
}

int tally_lock_nl_break(struct tally_object *object, struct genl_info *info)
{
	int err = tally_lock_break_start(object);

	return err ? tally_nl_fail(info->extack, NULL, break_fault(err), err) :
		     0;
}
