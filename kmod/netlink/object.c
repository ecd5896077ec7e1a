// SPDX-License-Identifier: GPL-2.0
#include "compat/genl_compat.h"
#include "home/admin.h"
#include "netlink/msg.h"
#include "netlink/object.h"
#include "object/type.h"

#define OBJECT_PERM_DEFAULT	0600

/* What any object has. */
#define COMMON_ATTRS	(BIT_ULL(TALLY_A_OBJECT_NODE) |	\
			 BIT_ULL(TALLY_A_OBJECT_ARENA) |	\
			 BIT_ULL(TALLY_A_OBJECT_NAME) |		\
			 BIT_ULL(TALLY_A_OBJECT_TYPE) |		\
			 BIT_ULL(TALLY_A_OBJECT_UID) |		\
			 BIT_ULL(TALLY_A_OBJECT_GID) |		\
			 BIT_ULL(TALLY_A_OBJECT_PERM))

/* @read: to somebody who may read all; others may read what anyone may. */
static bool put_object(struct sk_buff *skb, void *hdr,
		       struct tally_object *object, bool read)
{
	struct tally_arena *arena = object->arena;
	struct tally_object_config c;

	scoped_guard(mutex, &arena->lock) {
		c = object->config;
		read |= arena->config.owner.perm & 0001 &&
			c.owner.perm & 0004;
	}
	return nla_put_string(skb, TALLY_A_OBJECT_ARENA, arena->config.name) ||
	       nla_put_string(skb, TALLY_A_OBJECT_NAME, c.name) ||
	       nla_put_u32(skb, TALLY_A_OBJECT_TYPE, c.type->id) ||
	       nla_put_u32(skb, TALLY_A_OBJECT_ID, object->id) ||
	       tally_nl_put_owner(skb, TALLY_A_OBJECT_UID, TALLY_A_OBJECT_GID,
				  TALLY_A_OBJECT_PERM, &c.owner) ||
	       nla_put_u32(skb, TALLY_A_OBJECT_USERS,
			   READ_ONCE(object->users)) ||
	       (read && c.type->nl_read &&
		c.type->nl_read(skb, hdr, object)) ||
	       (c.type->nl_fill && c.type->nl_fill(skb, hdr, object));
}

/* A tally_nl_fill: to an administrator, as those are who change something. */
bool tally_nl_fill_object(struct sk_buff *skb, void *hdr, void *entry)
{
	return put_object(skb, hdr, entry, true);
}

static bool fill_public(struct sk_buff *skb, void *hdr, void *entry)
{
	return put_object(skb, hdr, entry, false);
}

static int check_attrs(struct genl_info *info, const struct tally_type_ops *type)
{
	u64 known = COMMON_ATTRS | type->nl_attrs;
	const struct nlattr *attr;
	int rest;

	nlmsg_for_each_attr(attr, info->nlhdr, GENL_HDRLEN, rest)
		if (!(known & BIT_ULL(nla_type(attr))))
			return tally_nl_fail(info->extack, attr,
					     "objects of this type have no such property",
					     -EINVAL);
	return 0;
}

/* The type that is named, or NULL. */
static const struct tally_type_ops *type_of(struct genl_info *info)
{
	const struct tally_type_ops *type;

	if (GENL_REQ_ATTR_CHECK(info, TALLY_A_OBJECT_TYPE))
		return NULL;
	type = tally_type(nla_get_u32(info->attrs[TALLY_A_OBJECT_TYPE]));
	if (!type)
		tally_nl_fail(info->extack, info->attrs[TALLY_A_OBJECT_TYPE],
			      "there is no such type", -EINVAL);
	return type;
}

static int take_config(struct genl_info *info, struct tally_object_config *c)
{
	c->type = type_of(info);
	if (!c->type)
		return -EINVAL;
	c->owner.perm = OBJECT_PERM_DEFAULT;
	return check_attrs(info, c->type) ?:
	       tally_nl_name(info, TALLY_A_OBJECT_NAME, c->name) ?:
	       tally_nl_owner(info, TALLY_A_OBJECT_UID, TALLY_A_OBJECT_GID,
			      TALLY_A_OBJECT_PERM, &c->owner);
}

static const struct tally_nl_blame add_blame[] = {
	{ -EDQUOT, TALLY_A_OBJECT_SIZE },
	{ -ENOMEM, TALLY_A_OBJECT_SIZE },
	{ -ENOSPC, TALLY_A_OBJECT_ARENA },
	{ 0, TALLY_A_OBJECT_NAME },
};

int tally_nl_object_add_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct tally_object_config config = {};
	struct tally_object *object;
	const char *reason = NULL;
	struct tally_arena *arena;
	int err = take_config(info, &config);

	if (err)
		return err;
	arena = tally_nl_arena_running(info, TALLY_A_OBJECT_NODE,
				       TALLY_A_OBJECT_ARENA);
	if (IS_ERR(arena))
		return PTR_ERR(arena);
	object = tally_object_new(arena, &config, &reason);
	tally_arena_put(arena);
	if (IS_ERR(object))
		return tally_nl_fail(info->extack, NULL, reason,
				     PTR_ERR(object));
	if (config.type->nl_take)
		err = config.type->nl_take(object, info);
	if (!err) {
		err = tally_object_add(object, &reason);
		if (err)
			tally_nl_blame(info, add_blame, reason, err);
	}
	/* It stands, whether this answer can be made or not. */
	if (!err)
		tally_nl_reply(info, tally_nl_fill_object, object);
	tally_object_put(object);
	return err;
}

/* The object that is named, referenced. */
static struct tally_object *object_of(struct genl_info *info)
{
	const struct nlattr *attr = info->attrs[TALLY_A_OBJECT_NAME];
	const struct nlattr *type = info->attrs[TALLY_A_OBJECT_TYPE];
	struct tally_object *object;
	struct tally_arena *arena;
	char name[TALLY_NAME_SIZE];

	if (GENL_REQ_ATTR_CHECK(info, TALLY_A_OBJECT_NAME))
		return ERR_PTR(-EINVAL);
	arena = tally_nl_arena_running(info, TALLY_A_OBJECT_NODE,
				       TALLY_A_OBJECT_ARENA);
	if (IS_ERR(arena))
		return ERR_CAST(arena);
	nla_strscpy(name, attr, sizeof(name));
	object = tally_object_find(arena, name);
	tally_arena_put(arena);
	if (!object)
		return ERR_PTR(tally_nl_fail(info->extack, attr,
					     "there is no object of that name",
					     -ENOENT));
	if (!type || nla_get_u32(type) == object->config.type->id)
		return object;
	tally_object_put(object);
	return ERR_PTR(tally_nl_fail(info->extack, attr,
				     "the object is of another type",
				     -EPROTOTYPE));
}

static int not_this_type(struct genl_info *info, int attr)
{
	return tally_nl_fail(info->extack, info->attrs[attr],
			     "not for objects of this type", -EPROTOTYPE);
}

/* Change what is named, and answer with the object as it is then. */
static int change(struct genl_info *info, bool set)
{
	int (*how)(struct tally_object *object, struct genl_info *info);
	struct tally_object *object = object_of(info);
	const struct tally_type_ops *type;
	int err;

	if (IS_ERR(object))
		return PTR_ERR(object);
	type = object->config.type;
	how = set ? type->nl_set : type->nl_break;
	err = check_attrs(info, type);
	if (!err)
		err = how ? how(object, info) :
			    not_this_type(info, TALLY_A_OBJECT_NAME);
	if (!err && set)
		tally_node_event(object->arena->node, "object_set",
				 object->arena->config.name,
				 object->config.name);
	if (!err)
		tally_nl_reply(info, tally_nl_fill_object, object);
	tally_object_put(object);
	return err;
}

int tally_nl_object_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	return change(info, true);
}

int tally_nl_object_break_doit(struct sk_buff *skb, struct genl_info *info)
{
	return change(info, false);
}

int tally_nl_object_ask_doit(struct sk_buff *skb, struct genl_info *info)
{
	const struct tally_type_ops *type = type_of(info);
	char arena[TALLY_NAME_SIZE] = "", name[TALLY_NAME_SIZE] = "";
	struct tally_node *node;
	int err;

	if (!type)
		return -EINVAL;
	if (!type->nl_ask)
		return not_this_type(info, TALLY_A_OBJECT_TYPE);
	if (info->attrs[TALLY_A_OBJECT_ARENA])
		nla_strscpy(arena, info->attrs[TALLY_A_OBJECT_ARENA],
			    sizeof(arena));
	if (info->attrs[TALLY_A_OBJECT_NAME])
		nla_strscpy(name, info->attrs[TALLY_A_OBJECT_NAME],
			    sizeof(name));
	node = tally_nl_node_running(info, TALLY_A_OBJECT_NODE);
	if (IS_ERR(node))
		return PTR_ERR(node);
	err = type->nl_ask(node, arena, name);
	tally_node_put(node);
	return err;
}

int tally_nl_object_del_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct tally_object *object = object_of(info);
	const char *reason = NULL;
	int err;

	if (IS_ERR(object))
		return PTR_ERR(object);
	err = tally_object_del(object->arena, object->config.name,
			       object->config.type->id, &reason);
	if (err)
		tally_nl_fail(info->extack, info->attrs[TALLY_A_OBJECT_NAME],
			      reason, err);
	tally_object_put(object);
	return err;
}

int tally_nl_object_get_start(struct netlink_callback *cb)
{
	struct nlattr *attr = tally_genl_dump_attrs(cb)[TALLY_A_OBJECT_ARENA];
	struct tally_nl_cursor *cursor = tally_nl_cursor(cb);
	struct tally_arena *arena;
	int err = tally_nl_start(cb);

	if (err || !attr)
		return err;
	arena = tally_nl_arena(cursor->node, attr, cb->extack);
	if (IS_ERR(arena)) {
		/* It is not called for a dump that did not start. */
		tally_nl_done(cb);
		return PTR_ERR(arena);
	}
	cursor->arena = arena;
	return 0;
}

/* In the order of ids, which are given once: of arenas, then of objects. */
static struct tally_object *next_object(struct tally_nl_cursor *cursor,
					struct nlattr **attrs)
{
	const struct nlattr *wanted = attrs[TALLY_A_OBJECT_NAME];
	struct tally_object *object = NULL;
	struct tally_arena *arena;
	char name[TALLY_NAME_SIZE];

	if (wanted)
		nla_strscpy(name, wanted, sizeof(name));
	for (;;) {
		if (cursor->arena && !wanted)
			object = tally_object_next(cursor->arena, cursor->id);
		else if (cursor->arena && !cursor->id)
			object = tally_object_find(cursor->arena, name);
		if (object || (cursor->arena && attrs[TALLY_A_OBJECT_ARENA]))
			return object;
		arena = tally_arena_next(cursor->node, cursor->arena ?
					 cursor->arena->id : 0);
		if (!arena)
			return NULL;
		tally_arena_put(cursor->arena);
		cursor->arena = arena;
		cursor->id = 0;
	}
}

int tally_nl_object_get_dumpit(struct sk_buff *skb,
			       struct netlink_callback *cb)
{
	struct tally_nl_cursor *cursor = tally_nl_dump_from(cb);
	struct nlattr **attrs = tally_genl_dump_attrs(cb);
	bool admin = netlink_capable(cb->skb, CAP_NET_ADMIN);
	const struct nlattr *type = attrs[TALLY_A_OBJECT_TYPE];
	struct tally_object *object;
	int err = 0;

	while (!err && (object = next_object(cursor, attrs))) {
		err = tally_nl_dump(skb, cb, admin ? tally_nl_fill_object :
						     fill_public,
				    object, !type ||
				    nla_get_u32(type) ==
				    object->config.type->id, object->id);
		tally_object_put(object);
	}
	return tally_nl_dump_to(skb, cb, err);
}
