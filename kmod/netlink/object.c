// SPDX-License-Identifier: GPL-2.0
#include <linux/delay.h>
#include <linux/slab.h>
#include "genl_compat.h"
#include "counter/home.h"
#include "home/admin.h"
#include "lock/break.h"
#include "lock/home.h"
#include "lock/show.h"
#include "netlink/msg.h"

#define OBJECT_PERM_DEFAULT	0600
#define LOCK_BUDGET_MS_DEFAULT	10
/* What a lock adds to a message, at most. */
#define LOCK_ROOM		(TALLY_NL_NAMES_MAX * \
				 NLA_ALIGN(NLA_HDRLEN + TALLY_NAME_SIZE) + 512)

static int put_waiters(struct sk_buff *skb, struct tally_object *object)
{
	char name[TALLY_NAME_SIZE];
	int err = 0;
	u32 i;

	for (i = 0; i < TALLY_NL_NAMES_MAX && !err &&
	     !tally_lock_waiter(object, i, name); i++)
		err = nla_put_string(skb, TALLY_A_OBJECT_WAITER, name);
	return err;
}

static int put_holder(struct sk_buff *skb, const struct tally_lock_info *info)
{
	if (!info->holder[0] && !info->holder_slot)
		return 0;
	if (info->lease_ms != U64_MAX &&
	    nla_put_u64_64bit(skb, TALLY_A_OBJECT_LEASE, info->lease_ms,
			      TALLY_A_OBJECT_PAD))
		return -EMSGSIZE;
	if (info->pid && nla_put_u32(skb, TALLY_A_OBJECT_HOLDER_PID, info->pid))
		return -EMSGSIZE;
	return tally_nl_put_text(skb, TALLY_A_OBJECT_HOLDER, info->holder) ?:
	       tally_nl_put_text(skb, TALLY_A_OBJECT_HOLDER_COMM, info->comm) ?:
	       nla_put_u32(skb, TALLY_A_OBJECT_SHARED, info->shared) ?:
	       nla_put_u32(skb, TALLY_A_OBJECT_HOLDERS, info->holders) ?:
	       nla_put_u32(skb, TALLY_A_OBJECT_HOLDER_SLOT,
			   info->holder_slot) ?:
	       (info->age_ms != U64_MAX ?
		nla_put_u64_64bit(skb, TALLY_A_OBJECT_AGE, info->age_ms,
				  TALLY_A_OBJECT_PAD) : 0);
}

static int put_settings(struct sk_buff *skb, const struct tally_lock_set *set)
{
	return nla_put_u32(skb, TALLY_A_OBJECT_CACHE, set->cache) ?:
	       nla_put_u32(skb, TALLY_A_OBJECT_BUDGET, set->grants) ?:
	       nla_put_u32(skb, TALLY_A_OBJECT_BUDGET_MS, set->ms);
}

/*
 * Holders are asked for a list only, if that is wanted: an answer to a change does
 * not wait.  Not before it is certain that the answer fits: it would be asked for
 * again.
 */
static int put_lock(struct sk_buff *skb, const struct tally_nl_to *to,
		    struct tally_object *object)
{
	struct tally_lock_info info = {};

	BUILD_BUG_ON(LOCK_ROOM * 2 > TALLY_NL_MSG_SIZE);
	if (to->cb && skb_tailroom(skb) < LOCK_ROOM)
		return -EMSGSIZE;
	tally_lock_info(object, &info);
	return nla_put_u32(skb, TALLY_A_OBJECT_CLASS,
			   tally_lock_home(object)->class) ?:
	       nla_put_string(skb, TALLY_A_OBJECT_LOCK_STATE, info.state) ?:
	       nla_put_u64_64bit(skb, TALLY_A_OBJECT_TOKEN, info.token,
				 TALLY_A_OBJECT_PAD) ?:
	       put_settings(skb, &info.set) ?:
	       put_holder(skb, &info) ?:
	       nla_put_u32(skb, TALLY_A_OBJECT_WAITERS, info.waiters) ?:
	       put_waiters(skb, object);
}

static int put_by_type(struct sk_buff *skb, const struct tally_nl_to *to,
		       struct tally_object *object)
{
	switch (object->config.type->id) {
	case TALLY_TYPE_COUNTER:
		return nla_put_u64_64bit(skb, TALLY_A_OBJECT_VALUE,
					 tally_counter_peek(object),
					 TALLY_A_OBJECT_PAD);
	case TALLY_TYPE_LOCK:
		return put_lock(skb, to, object);
	case TALLY_TYPE_REGION:
		return nla_put_u64_64bit(skb, TALLY_A_OBJECT_SIZE,
					 tally_region_home(object)->size,
					 TALLY_A_OBJECT_PAD);
	default:
		return 0;
	}
}

static int put_names(struct sk_buff *skb, struct tally_object *object)
{
	struct tally_arena *arena = object->arena;
	struct tally_object_config c;

	mutex_lock(&arena->lock);
	c = object->config;
	mutex_unlock(&arena->lock);
	return nla_put_string(skb, TALLY_A_OBJECT_ARENA, arena->config.name) ?:
	       nla_put_string(skb, TALLY_A_OBJECT_NAME, c.name) ?:
	       nla_put_u32(skb, TALLY_A_OBJECT_TYPE, c.type->id) ?:
	       nla_put_u32(skb, TALLY_A_OBJECT_ID, object->id) ?:
	       tally_nl_put_owner(skb, TALLY_A_OBJECT_UID, c.uid,
				  TALLY_A_OBJECT_GID, c.gid) ?:
	       nla_put_u32(skb, TALLY_A_OBJECT_PERM, c.perm) ?:
	       nla_put_u32(skb, TALLY_A_OBJECT_USERS,
			   READ_ONCE(object->users));
}

/* @fenced: nodes that had to be, for it to be taken away; or NULL */
static int fill(struct sk_buff *skb, const struct tally_nl_to *to,
		struct tally_object *object, const u32 *fenced)
{
	void *hdr;

	hdr = tally_nl_begin(skb, to);
	if (!hdr)
		return -EMSGSIZE;
	return tally_nl_end(skb, hdr,
		put_names(skb, object) ?: put_by_type(skb, to, object) ?:
		(fenced ? nla_put_u32(skb, TALLY_A_OBJECT_FENCED, *fenced) : 0));
}

static int fill_object(struct sk_buff *skb, const struct tally_nl_to *to,
		       void *entry)
{
	return fill(skb, to, entry, NULL);
}

struct object_want {
	struct tally_object_config c;
	u32 type;
	u8 lock_class;
	struct tally_lock_set set;
	u64 size;
	u64 initial;
};

static int take_type(struct genl_info *info, struct object_want *c)
{
	struct nlattr **attrs = info->attrs;

	if (GENL_REQ_ATTR_CHECK(info, TALLY_A_OBJECT_TYPE))
		return -EINVAL;
	c->type = nla_get_u32(attrs[TALLY_A_OBJECT_TYPE]);
	c->c.type = tally_type(c->type);
	if (attrs[TALLY_A_OBJECT_INITIAL] && c->type != TALLY_TYPE_COUNTER)
		return tally_nl_fail(info->extack, attrs[TALLY_A_OBJECT_INITIAL],
				     "only a counter has a value", -EINVAL);
	if (attrs[TALLY_A_OBJECT_CLASS] && c->type != TALLY_TYPE_LOCK)
		return tally_nl_fail(info->extack, attrs[TALLY_A_OBJECT_CLASS],
				     "only a lock has a class", -EINVAL);
	if (attrs[TALLY_A_OBJECT_CACHE] && c->type != TALLY_TYPE_LOCK)
		return tally_nl_fail(info->extack, attrs[TALLY_A_OBJECT_CACHE],
				     "only a lock is cached", -EINVAL);
	if (attrs[TALLY_A_OBJECT_BUDGET] && c->type != TALLY_TYPE_LOCK)
		return tally_nl_fail(info->extack, attrs[TALLY_A_OBJECT_BUDGET],
				     "only a lock has a budget", -EINVAL);
	if (attrs[TALLY_A_OBJECT_BUDGET_MS] && c->type != TALLY_TYPE_LOCK)
		return tally_nl_fail(info->extack,
				     attrs[TALLY_A_OBJECT_BUDGET_MS],
				     "only a lock has a budget", -EINVAL);
	if (attrs[TALLY_A_OBJECT_SIZE] && c->type != TALLY_TYPE_REGION)
		return tally_nl_fail(info->extack, attrs[TALLY_A_OBJECT_SIZE],
				     "only a region has a size", -EINVAL);
	if (c->type == TALLY_TYPE_REGION &&
	    GENL_REQ_ATTR_CHECK(info, TALLY_A_OBJECT_SIZE))
		return -EINVAL;
	return 0;
}

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

static int take_config(struct genl_info *info, struct object_want *c)
{
	struct nlattr **attrs = info->attrs;
	int err;

	c->c.perm = OBJECT_PERM_DEFAULT;
	c->c.uid = GLOBAL_ROOT_UID;
	c->c.gid = GLOBAL_ROOT_GID;
	err = take_type(info, c);
	if (err)
		return err;
	if (c->type == TALLY_TYPE_LOCK)
		c->set.ms = LOCK_BUDGET_MS_DEFAULT;
	take_settings(info, &c->set);
	if (attrs[TALLY_A_OBJECT_INITIAL])
		c->initial = nla_get_u64(attrs[TALLY_A_OBJECT_INITIAL]);
	if (attrs[TALLY_A_OBJECT_CLASS])
		c->lock_class = nla_get_u32(attrs[TALLY_A_OBJECT_CLASS]);
	if (attrs[TALLY_A_OBJECT_SIZE])
		c->size = nla_get_u64(attrs[TALLY_A_OBJECT_SIZE]);
	if (c->size > TALLY_REGION_MAX)
		return tally_nl_fail(info->extack, attrs[TALLY_A_OBJECT_SIZE],
				     "a region has at most 1 TiB", -EINVAL);
	if (attrs[TALLY_A_OBJECT_PERM])
		c->c.perm = nla_get_u32(attrs[TALLY_A_OBJECT_PERM]);
	return tally_nl_name(info, TALLY_A_OBJECT_NAME, c->c.name) ?:
	       tally_nl_owner(info, TALLY_A_OBJECT_UID, &c->c.uid,
			      TALLY_A_OBJECT_GID, &c->c.gid);
}

static const struct nlattr *add_blame(struct genl_info *info, int err)
{
	switch (err) {
	case -EDQUOT:
	case -ENOMEM:
		return info->attrs[TALLY_A_OBJECT_SIZE];
	case -ENOSPC:
		return info->attrs[TALLY_A_OBJECT_ARENA];
	default:
		return info->attrs[TALLY_A_OBJECT_NAME];
	}
}

static struct tally_arena *arena_of(struct genl_info *info)
{
	struct tally_arena *arena;
	struct tally_node *node;

	if (GENL_REQ_ATTR_CHECK(info, TALLY_A_OBJECT_ARENA))
		return ERR_PTR(-EINVAL);
	node = tally_nl_node_running(info, TALLY_A_OBJECT_NODE);
	if (IS_ERR(node))
		return ERR_CAST(node);
	arena = tally_nl_arena(node, info->attrs[TALLY_A_OBJECT_ARENA],
			       info->extack);
	tally_node_put(node);
	return arena;
}

/**
 * tally_nl_object_add_doit - object-add
 * @skb: the request
 * @info: the request
 *
 * Return: 0 or negative errno.
 */
int tally_nl_object_add_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct object_want config = {};
	struct tally_object *object;
	const char *reason = NULL;
	struct tally_arena *arena;
	int err;

	err = take_config(info, &config);
	if (err)
		return err;
	arena = arena_of(info);
	if (IS_ERR(arena))
		return PTR_ERR(arena);
	object = tally_object_new(arena, &config.c, &reason);
	err = PTR_ERR_OR_ZERO(object);
	if (!err) {
		if (config.type == TALLY_TYPE_COUNTER) {
			tally_counter_home(object)->initial = config.initial;
		} else if (config.type == TALLY_TYPE_LOCK) {
			tally_lock_home(object)->class = config.lock_class;
			tally_lock_home(object)->set = config.set;
		} else {
			tally_region_home(object)->size = config.size;
		}
		err = tally_object_add(object, &reason);
		if (!err)
			tally_nl_reply(info, fill_object, object);
		tally_object_put(object);
	}
	if (err)
		tally_nl_fail(info->extack, add_blame(info, err), reason, err);
	tally_arena_put(arena);
	return err;
}

/* The lock that is named, referenced. */
static struct tally_object *lock_of(struct genl_info *info)
{
	const struct nlattr *attr = info->attrs[TALLY_A_OBJECT_NAME];
	struct tally_object *object;
	struct tally_arena *arena;
	char name[TALLY_NAME_SIZE];

	if (GENL_REQ_ATTR_CHECK(info, TALLY_A_OBJECT_NAME))
		return ERR_PTR(-EINVAL);
	arena = arena_of(info);
	if (IS_ERR(arena))
		return ERR_CAST(arena);
	nla_strscpy(name, attr, sizeof(name));
	object = tally_object_find(arena, name);
	tally_arena_put(arena);
	if (!object)
		return ERR_PTR(tally_nl_fail(info->extack, attr,
					     "there is no object of that name",
					     -ENOENT));
	if (object->config.type->id == TALLY_TYPE_LOCK)
		return object;
	tally_object_put(object);
	return ERR_PTR(tally_nl_fail(info->extack, attr, "it is no lock",
				     -EPROTOTYPE));
}

static int set_lock(struct genl_info *info, struct tally_object *object)
{
	struct tally_lock_set set;
	int err;

	mutex_lock(&object->arena->lock);
	set = tally_lock_home(object)->set;
	mutex_unlock(&object->arena->lock);
	take_settings(info, &set);
	err = tally_lock_home_set(object, &set);
	if (!err)
		tally_nl_reply(info, fill_object, object);
	return err;
}

/**
 * tally_nl_object_set_doit - object-set
 * @skb: the request
 * @info: the request
 *
 * Return: 0 or negative errno.
 */
int tally_nl_object_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct tally_object *object = lock_of(info);
	int err;

	if (IS_ERR(object))
		return PTR_ERR(object);
	err = set_lock(info, object);
	tally_object_put(object);
	return err;
}

/* What both can use, a dump as a request. */
static void info_of_dump(struct netlink_callback *cb, struct genl_info *info)
{
	*info = (struct genl_info) {
		.genlhdr = nlmsg_data(cb->nlh),
		.attrs = tally_genl_dump_attrs(cb),
		.extack = cb->extack,
	};
	genl_info_net_set(info, sock_net(cb->skb->sk));
}

/**
 * tally_nl_object_break_start - begin object-break
 * @cb: the dump
 *
 * Return: 0.
 */
int tally_nl_object_break_start(struct netlink_callback *cb)
{
	cb->min_dump_alloc = TALLY_NL_MSG_SIZE;
	return 0;
}

static int break_find(struct sk_buff *skb, struct netlink_callback *cb,
		      const struct tally_nl_to *to)
{
	struct tally_object *object;
	struct genl_info info;

	info_of_dump(cb, &info);
	object = lock_of(&info);
	if (IS_ERR(object))
		return PTR_ERR(object);
	tally_nl_cursor(cb)->object = object;
	return fill_object(skb, to, object) ?: skb->len;
}

static const char *break_fault(int err)
{
	switch (err) {
	case -ESRCH:
		return "nobody has it";
	case -EIDRM:
		return "it was deleted meanwhile";
	case -ETIMEDOUT:
		return "its home cannot use its own word now; it is taken away when it can";
	default:
		return NULL;
	}
}

static int break_lock(struct sk_buff *skb, struct netlink_callback *cb,
		      const struct tally_nl_to *to)
{
	struct tally_object *object = tally_nl_cursor(cb)->object;
	struct tally_lock_info info;
	int err = tally_lock_break_start(object);

	if (err)
		return tally_nl_fail(cb->extack, NULL, break_fault(err), err);
	do {
		msleep(10);
		tally_lock_info(object, &info);
	} while (!strcmp(info.state, "breaking"));
	return fill(skb, to, object, &info.fenced) ?: skb->len;
}

/**
 * tally_nl_object_break_dumpit - object-break
 * @skb: to be filled
 * @cb: the dump
 *
 * A dump, as it waits for holders: during a do, and until a dump has begun,
 * generic netlink holds a lock that no family can come or go without, and soon
 * none can be used.  So the first call says what the lock is, and the second,
 * when that is read, takes it away.
 *
 * Return: bytes filled, 0 at the end, or negative errno.
 */
int tally_nl_object_break_dumpit(struct sk_buff *skb,
				 struct netlink_callback *cb)
{
	struct tally_nl_to to;

	tally_nl_dump_to(cb, &to);
	/* No list, that could change while it is read; and nobody is asked. */
	cb->seq = 0;
	to.cb = NULL;
	switch (tally_nl_cursor(cb)->done++) {
	case 0:
		return break_find(skb, cb, &to);
	case 1:
		return break_lock(skb, cb, &to);
	default:
		return 0;
	}
}

static int del_object(struct genl_info *info, struct tally_arena *arena)
{
	const struct nlattr *attr = info->attrs[TALLY_A_OBJECT_NAME];
	const struct nlattr *type = info->attrs[TALLY_A_OBJECT_TYPE];
	char name[TALLY_NAME_SIZE];
	const char *reason = NULL;
	int err;

	nla_strscpy(name, attr, sizeof(name));
	err = tally_object_del(arena, name, type ? nla_get_u32(type) : 0,
			       &reason);
	return tally_nl_fail(info->extack, err ? attr : NULL, reason, err);
}

/**
 * tally_nl_object_del_doit - object-del
 * @skb: the request
 * @info: the request
 *
 * Return: 0 or negative errno.
 */
int tally_nl_object_del_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct tally_arena *arena;
	int err;

	if (GENL_REQ_ATTR_CHECK(info, TALLY_A_OBJECT_NAME))
		return -EINVAL;
	arena = arena_of(info);
	if (IS_ERR(arena))
		return PTR_ERR(arena);
	err = del_object(info, arena);
	tally_arena_put(arena);
	return err;
}

static int start_asking(struct netlink_callback *cb)
{
	struct tally_nl_cursor *cursor = tally_nl_cursor(cb);

	if (!tally_genl_dump_attrs(cb)[TALLY_A_OBJECT_ASK])
		return 0;
	if (cursor->node && !tally_lock_ask_start(cursor->node, "", ""))
		msleep(100);
	return 0;
}

/**
 * tally_nl_object_get_start - begin object-get
 * @cb: the dump
 *
 * Return: 0; -ENOENT when the node or the arena asked for is none; -ENOMEM.
 */
int tally_nl_object_get_start(struct netlink_callback *cb)
{
	struct nlattr *attr = tally_genl_dump_attrs(cb)[TALLY_A_OBJECT_ARENA];
	struct tally_nl_cursor *cursor = tally_nl_cursor(cb);
	struct tally_arena *arena;
	int err;

	err = tally_nl_start(cb, TALLY_A_OBJECT_NODE);
	if (err)
		return err;
	err = start_asking(cb);
	if (err)
		goto err_done;
	if (!attr)
		return 0;
	arena = tally_nl_arena(cursor->node, attr, cb->extack);
	if (IS_ERR(arena)) {
		err = PTR_ERR(arena);
		goto err_done;
	}
	cursor->arena = arena;
	return 0;

err_done:
	/* It is not called for a dump that did not start. */
	tally_nl_done(cb);
	return err;
}

static bool match_object(struct netlink_callback *cb,
			 struct tally_object *object)
{
	const struct nlattr *type =
		tally_genl_dump_attrs(cb)[TALLY_A_OBJECT_TYPE];

	if (type && nla_get_u32(type) != object->config.type->id)
		return false;
	return tally_nl_dump_name(cb, TALLY_A_OBJECT_NAME,
				  object->config.name);
}

static int fill_nothing(struct sk_buff *skb, const struct tally_nl_to *to)
{
	void *hdr = tally_nl_begin(skb, to);

	return hdr ? tally_nl_end(skb, hdr, 0) : -EMSGSIZE;
}

static int dump_arena(struct sk_buff *skb, const struct tally_nl_to *to,
		      struct tally_arena *arena)
{
	struct tally_nl_cursor *cursor = tally_nl_cursor(to->cb);
	struct tally_object *object;
	int err = 0;

	while (!err && (object = tally_object_next(arena, cursor->object_id))) {
		if (match_object(to->cb, object))
			err = fill_object(skb, to, object);
		if (!err)
			cursor->object_id = object->id;
		tally_object_put(object);
	}
	return err;
}

/**
 * tally_nl_object_get_dumpit - object-get
 * @skb: to be filled
 * @cb: the dump
 *
 * Goes on by id: arenas and objects are listed in the order of their ids,
 * and no id is given twice.
 *
 * Where holders are asked, the first call only begins the list, as that of
 * tally_nl_object_break_dumpit() does.
 *
 * Return: bytes filled, 0 at the end, or negative errno.
 */
int tally_nl_object_get_dumpit(struct sk_buff *skb,
			       struct netlink_callback *cb)
{
	struct tally_nl_cursor *cursor = tally_nl_cursor(cb);
	struct tally_arena *arena;
	struct tally_nl_to to;
	u32 after = 0;
	int err;

	tally_nl_dump_to(cb, &to);
	if (cursor->asking && !cursor->done++)
		return fill_nothing(skb, &to) ?: skb->len;
	while ((arena = tally_arena_next(cursor->node, after))) {
		after = arena->id;
		if (arena->id < cursor->arena_id ||
		    (cursor->arena && cursor->arena != arena)) {
			tally_arena_put(arena);
			continue;
		}
		if (arena->id != cursor->arena_id) {
			cursor->arena_id = arena->id;
			cursor->object_id = 0;
		}
		err = dump_arena(skb, &to, arena);
		if (err) {
			tally_arena_put(arena);
			return skb->len ?: err;
		}
		tally_arena_put(arena);
	}
	cb->seq = tally_nl_generation();
	return skb->len;
}
