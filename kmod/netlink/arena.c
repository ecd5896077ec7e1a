// SPDX-License-Identifier: GPL-2.0
#include <linux/bitmap.h>
#include "home/admin.h"
#include "home/export.h"
#include "netlink/family.h"
#include "home/admin.h"
#include "home/export.h"
#include "netlink/msg.h"

static_assert((int)TALLY_ARENA_STATUS_DEAD == (int)TALLY_ARENA_DEAD);

#define ARENA_PERM_DEFAULT	0700

struct arena_facts {
	struct tally_arena_config config;
	enum tally_arena_state state;
	u8 mode;
	u32 words;
	u32 used;
	u32 objects;
	char dev[64];
};

static void look_at(struct tally_arena *arena, struct arena_facts *facts)
{
	memset(facts, 0, sizeof(*facts));
	mutex_lock(&arena->lock);
	facts->config = arena->config;
	facts->state = arena->state;
	facts->mode = arena->mode;
	facts->words = arena->config.words ?: TALLY_WORDS_DEFAULT;
	facts->used = TALLY_ENTRY_SIZE *
		bitmap_weight(arena->bitmap, facts->words / TALLY_ENTRY_SIZE);
	facts->objects = tally_names_count(&arena->names);
	if (arena->dev)
		strscpy(facts->dev, dev_name(&arena->dev->ibdev->dev),
			sizeof(facts->dev));
	else
		strscpy(facts->dev, arena->config.dev, sizeof(facts->dev));
	mutex_unlock(&arena->lock);
}

static int put_facts(struct sk_buff *skb, const struct arena_facts *facts)
{
	const struct tally_arena_config *c = &facts->config;

	if (nla_put_string(skb, TALLY_A_ARENA_NAME, c->name) ||
	    nla_put_u32(skb, TALLY_A_ARENA_STATE, facts->state) ||
	    nla_put_u32(skb, TALLY_A_ARENA_MODE, c->mode) ||
	    (facts->state == TALLY_ARENA_READY &&
	     nla_put_u32(skb, TALLY_A_ARENA_MODE_USED, facts->mode)) ||
	    tally_nl_put_text(skb, TALLY_A_ARENA_DEVICE, facts->dev) ||
	    nla_put_u32(skb, TALLY_A_ARENA_WORDS, facts->words) ||
	    nla_put_u32(skb, TALLY_A_ARENA_WORDS_USED, facts->used) ||
	    nla_put_u32(skb, TALLY_A_ARENA_ACCESS, c->access) ||
	    tally_nl_put_owner(skb, TALLY_A_ARENA_UID, c->uid,
			       TALLY_A_ARENA_GID, c->gid) ||
	    nla_put_u32(skb, TALLY_A_ARENA_PERM, c->perm) ||
	    nla_put_u32(skb, TALLY_A_ARENA_OBJECTS, facts->objects))
		return -EMSGSIZE;
	return 0;
}

/* A list of an arena that is put entry by entry, and where it is. */
struct arena_list {
	struct tally_arena *arena;
	unsigned long id;
};

static int put_right(struct sk_buff *skb, void *of, u32 i)
{
	struct arena_list *list = of;
	char name[TALLY_NAME_SIZE];
	struct nlattr *nest;
	u8 access;

	if (tally_arena_right(list->arena, &list->id, name, &access))
		return -ENOENT;
	if (!skb)
		return 0;
	nest = nla_nest_start(skb, TALLY_A_ARENA_RIGHT);
	if (!nest || nla_put_string(skb, TALLY_A_RIGHT_PEER, name) ||
	    nla_put_u32(skb, TALLY_A_RIGHT_ACCESS, access))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int put_attached(struct sk_buff *skb, void *of, u32 i)
{
	struct arena_list *list = of;
	char name[TALLY_NAME_SIZE];

	if (tally_arena_attached(list->arena, &list->id, name))
		return -ENOENT;
	return skb ? nla_put_string(skb, TALLY_A_ARENA_ATTACHED_NODE, name) : 0;
}

static int fill_arena(struct sk_buff *skb, const struct genl_info *info,
		      void *entry)
{
	struct tally_arena *arena = entry;
	struct arena_list rights = { arena }, attached = { arena };
	struct arena_facts facts;
	void *hdr;

	hdr = tally_nl_begin(skb, info);
	if (!hdr)
		return -EMSGSIZE;
	look_at(arena, &facts);
	if (put_facts(skb, &facts) ||
	    nla_put_u32(skb, TALLY_A_ARENA_ID, arena->id) ||
	    tally_nl_put_list(skb, hdr, TALLY_A_ARENA_RIGHTS, put_right,
			      &rights) ||
	    tally_nl_put_list(skb, hdr, TALLY_A_ARENA_ATTACHED, put_attached,
			      &attached)) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	return 0;
}

static int take_config(struct genl_info *info, struct tally_arena_config *c)
{
	struct nlattr **attrs = info->attrs;

	/* Every peer was configured by hand: it may use the arena. */
	c->access = TALLY_ACCESS_RW;
	c->perm = ARENA_PERM_DEFAULT;
	c->uid = GLOBAL_ROOT_UID;
	c->gid = GLOBAL_ROOT_GID;
	if (attrs[TALLY_A_ARENA_MODE])
		c->mode = nla_get_u32(attrs[TALLY_A_ARENA_MODE]);
	if (attrs[TALLY_A_ARENA_DEVICE])
		nla_strscpy(c->dev, attrs[TALLY_A_ARENA_DEVICE],
			    sizeof(c->dev));
	if (attrs[TALLY_A_ARENA_WORDS])
		c->words = nla_get_u32(attrs[TALLY_A_ARENA_WORDS]);
	if (c->words % PAGE_SIZE)
		return tally_nl_fail(info->extack, attrs[TALLY_A_ARENA_WORDS],
				     "the size is no multiple of a page",
				     -EINVAL);
	if (attrs[TALLY_A_ARENA_ACCESS])
		c->access = nla_get_u32(attrs[TALLY_A_ARENA_ACCESS]);
	if (attrs[TALLY_A_ARENA_PERM])
		c->perm = nla_get_u32(attrs[TALLY_A_ARENA_PERM]);
	return tally_nl_name(info, TALLY_A_ARENA_NAME, c->name) ?:
	       tally_nl_owner(info, TALLY_A_ARENA_UID, &c->uid,
			      TALLY_A_ARENA_GID, &c->gid);
}

static const struct nlattr *add_blame(struct genl_info *info, int err)
{
	switch (err) {
	case -ENODEV:
		return info->attrs[TALLY_A_ARENA_DEVICE];
	case -EOPNOTSUPP:
		return info->attrs[TALLY_A_ARENA_MODE];
	case -ENOMEM:
		return info->attrs[TALLY_A_ARENA_WORDS];
	default:
		return info->attrs[TALLY_A_ARENA_NAME];
	}
}

/**
 * tally_nl_arena_add_doit - arena-add
 * @skb: the request
 * @info: the request
 *
 * Return: 0 or negative errno.
 */
int tally_nl_arena_add_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct tally_arena_config config = {};
	const char *reason = NULL;
	struct tally_arena *arena;
	struct tally_node *node;
	int err;

	err = take_config(info, &config);
	if (err)
		return err;
	node = tally_nl_node_running(info, TALLY_A_ARENA_NODE);
	if (IS_ERR(node))
		return PTR_ERR(node);
	err = tally_arena_add(node, &config, &reason);
	if (err) {
		tally_nl_fail(info->extack, add_blame(info, err), reason, err);
		goto put_node;
	}
	arena = tally_arena_find(node, config.name);
	if (arena) {
		/* It stands, whether this answer can be made or not. */
		tally_nl_reply(info, fill_arena, arena);
		tally_arena_put(arena);
	}
put_node:
	tally_node_put(node);
	return err;
}

static int set_access(struct genl_info *info, struct tally_arena *arena)
{
	const struct nlattr *access = info->attrs[TALLY_A_ARENA_ACCESS];
	const struct nlattr *peer = info->attrs[TALLY_A_ARENA_PEER];
	char name[TALLY_NAME_SIZE] = "";
	int err;

	if (!access)
		return 0;
	if (peer) {
		err = tally_nl_name(info, TALLY_A_ARENA_PEER, name);
		if (err)
			return err;
	}
	err = tally_arena_set_access(arena, name, nla_get_u32(access));
	return tally_nl_fail(info->extack, err ? access : NULL, NULL, err);
}

static int set_arena(struct genl_info *info, struct tally_arena *arena)
{
	const struct nlattr *perm_attr = info->attrs[TALLY_A_ARENA_PERM];
	umode_t perm;
	kuid_t uid;
	kgid_t gid;
	int err;

	mutex_lock(&arena->lock);
	uid = arena->config.uid;
	gid = arena->config.gid;
	perm = arena->config.perm;
	mutex_unlock(&arena->lock);
	err = tally_nl_owner(info, TALLY_A_ARENA_UID, &uid,
			     TALLY_A_ARENA_GID, &gid) ?:
	      set_access(info, arena);
	if (err)
		return err;
	if (perm_attr)
		perm = nla_get_u32(perm_attr);
	if (perm_attr || info->attrs[TALLY_A_ARENA_UID] ||
	    info->attrs[TALLY_A_ARENA_GID])
		tally_arena_set_owner(arena, uid, gid, perm);
	return 0;
}

/**
 * tally_nl_arena_set_doit - arena-set
 * @skb: the request
 * @info: the request
 *
 * Return: 0 or negative errno.
 */
int tally_nl_arena_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct tally_arena *arena;
	struct tally_node *node;
	int err;

	if (GENL_REQ_ATTR_CHECK(info, TALLY_A_ARENA_NAME))
		return -EINVAL;
	if (info->attrs[TALLY_A_ARENA_PEER] &&
	    GENL_REQ_ATTR_CHECK(info, TALLY_A_ARENA_ACCESS))
		return -EINVAL;
	node = tally_nl_node_running(info, TALLY_A_ARENA_NODE);
	if (IS_ERR(node))
		return PTR_ERR(node);
	arena = tally_nl_arena(node, info->attrs[TALLY_A_ARENA_NAME],
			       info->extack);
	if (IS_ERR(arena)) {
		tally_node_put(node);
		return PTR_ERR(arena);
	}
	err = set_arena(info, arena);
	if (!err) {
		tally_netlink_event(node, "arena_set", arena->config.name, "");
		tally_nl_reply(info, fill_arena, arena);
	}
	tally_arena_put(arena);
	tally_node_put(node);
	return err;
}

/**
 * tally_nl_arena_del_doit - arena-del
 * @skb: the request
 * @info: the request
 *
 * Return: 0 or negative errno.
 */
int tally_nl_arena_del_doit(struct sk_buff *skb, struct genl_info *info)
{
	char name[TALLY_NAME_SIZE];
	const char *reason = NULL;
	struct tally_node *node;
	int err;

	if (GENL_REQ_ATTR_CHECK(info, TALLY_A_ARENA_NAME))
		return -EINVAL;
	nla_strscpy(name, info->attrs[TALLY_A_ARENA_NAME], sizeof(name));
	node = tally_nl_node_running(info, TALLY_A_ARENA_NODE);
	if (IS_ERR(node))
		return PTR_ERR(node);
	err = tally_arena_del(node, name, &reason);
	if (err)
		tally_nl_fail(info->extack, info->attrs[TALLY_A_ARENA_NAME],
			      reason, err);
	tally_node_put(node);
	return err;
}

/**
 * tally_nl_arena_get_start - begin arena-get
 * @cb: the dump
 *
 * Return: 0, or -ENOENT when the node asked for is none.
 */
int tally_nl_arena_get_start(struct netlink_callback *cb)
{
	return tally_nl_start(cb, TALLY_A_ARENA_NODE);
}

/**
 * tally_nl_arena_get_dumpit - arena-get
 * @skb: to be filled
 * @cb: the dump
 *
 * Return: bytes filled, 0 at the end, or negative errno.
 */
int tally_nl_arena_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct tally_nl_cursor *cursor = tally_nl_dump_from(cb);
	struct tally_arena *arena;
	int err = 0;

	while (!err && (arena = tally_arena_next(cursor->node, cursor->id))) {
		if (tally_nl_dump_name(cb, TALLY_A_ARENA_NAME,
				       arena->config.name))
			err = tally_nl_dump(skb, cb, fill_arena, arena);
		if (!err)
			cursor->id = arena->id;
		tally_arena_put(arena);
	}
	return tally_nl_dump_to(skb, cb, err);
}
