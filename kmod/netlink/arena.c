// SPDX-License-Identifier: GPL-2.0
#include <linux/bitmap.h>
#include <linux/ktime.h>
#include "home/admin.h"
#include "home/export.h"
#include "netlink/arena.h"
#include "netlink/msg.h"

static_assert((int)TALLY_ARENA_STATUS_DEAD == (int)TALLY_ARENA_DEAD);

#define ARENA_PERM_DEFAULT	0700

static bool put_facts(struct sk_buff *skb, struct tally_arena *arena)
{
	const struct tally_arena_config *c = &arena->config;
	u32 words = c->words ?: TALLY_WORDS_DEFAULT;
	u32 used = bitmap_weight(arena->bitmap, words / TALLY_ENTRY_SIZE);

	lockdep_assert_held(&arena->lock);
	return nla_put_string(skb, TALLY_A_ARENA_NAME, c->name) ||
	       nla_put_u32(skb, TALLY_A_ARENA_STATE, arena->state) ||
	       nla_put_u32(skb, TALLY_A_ARENA_MODE, c->mode) ||
	       (arena->state == TALLY_ARENA_READY &&
		nla_put_u32(skb, TALLY_A_ARENA_MODE_USED, arena->mode)) ||
	       tally_nl_put_text(skb, TALLY_A_ARENA_DEVICE, arena->dev ?
				 dev_name(&arena->dev->ibdev->dev) : c->dev) ||
	       nla_put_u32(skb, TALLY_A_ARENA_WORDS, words) ||
	       nla_put_u32(skb, TALLY_A_ARENA_WORDS_USED,
			   used * TALLY_ENTRY_SIZE) ||
	       nla_put_u32(skb, TALLY_A_ARENA_ACCESS, c->access) ||
	       tally_nl_put_owner(skb, TALLY_A_ARENA_UID, TALLY_A_ARENA_GID,
				  TALLY_A_ARENA_PERM, &c->owner) ||
	       nla_put_u32(skb, TALLY_A_ARENA_OBJECTS,
			   tally_names_count(&arena->names));
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

/* A tally_nl_fill. */
bool tally_nl_fill_arena(struct sk_buff *skb, void *hdr, void *entry)
{
	struct tally_arena *arena = entry;
	struct arena_list rights = { arena }, attached = { arena };
	bool full;

	scoped_guard(mutex, &arena->lock)
		full = put_facts(skb, arena);
	return full ||
	       nla_put_u32(skb, TALLY_A_ARENA_ID, arena->id) ||
	       tally_nl_put_list(skb, hdr, TALLY_A_ARENA_RIGHTS, put_right,
				 &rights) ||
	       tally_nl_put_list(skb, hdr, TALLY_A_ARENA_ATTACHED, put_attached,
				 &attached);
}

static int take_config(struct genl_info *info, struct tally_arena_config *c)
{
	struct nlattr **attrs = info->attrs;

	/* Every peer was configured by hand: it may use the arena. */
	c->access = TALLY_ACCESS_RW;
	c->owner.perm = ARENA_PERM_DEFAULT;
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
	return tally_nl_name(info, TALLY_A_ARENA_NAME, c->name) ?:
	       tally_nl_owner(info, TALLY_A_ARENA_UID, TALLY_A_ARENA_GID,
			      TALLY_A_ARENA_PERM, &c->owner);
}

static const struct tally_nl_blame add_blame[] = {
	{ -ENODEV, TALLY_A_ARENA_DEVICE },
	{ -EOPNOTSUPP, TALLY_A_ARENA_MODE },
	{ -ENOMEM, TALLY_A_ARENA_WORDS },
	{ 0, TALLY_A_ARENA_NAME },
};

int tally_nl_arena_add_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct tally_arena_config config = {};
	const char *reason = NULL;
	struct tally_arena *arena;
	struct tally_node *node;
	int err = take_config(info, &config);

	if (err)
		return err;
	node = tally_nl_node_running(info, TALLY_A_ARENA_NODE);
	if (IS_ERR(node))
		return PTR_ERR(node);
	err = tally_arena_add(node, &config, &reason);
	if (err)
		tally_nl_blame(info, add_blame, reason, err);
	/* It stands, whether this answer can be made or not. */
	arena = err ? NULL : tally_arena_find(node, config.name);
	if (arena)
		tally_nl_reply(info, tally_nl_fill_arena, arena);
	tally_arena_put(arena);
	tally_node_put(node);
	return err;
}

static int set_access(struct genl_info *info, struct tally_arena *arena)
{
	const struct nlattr *access = info->attrs[TALLY_A_ARENA_ACCESS];
	char name[TALLY_NAME_SIZE] = "";
	int err = 0;

	if (info->attrs[TALLY_A_ARENA_PEER])
		err = tally_nl_name(info, TALLY_A_ARENA_PEER, name);
	if (err)
		return err;
	if (access)
		err = tally_arena_give_access(arena, name, nla_get_u32(access));
	else if (name[0])
		tally_arena_drop_access(arena, name);
	tally_export_set_access(arena);
	return tally_nl_fail(info->extack, err ? access : NULL, NULL, err);
}

/* All of it or nothing, and nothing of another change is lost. */
static int set_arena(struct genl_info *info, struct tally_arena *arena)
{
	struct nlattr **attrs = info->attrs;
	struct tally_owner owner;
	int err;

	guard(mutex)(&arena->lock);
	owner = arena->config.owner;
	err = tally_nl_owner(info, TALLY_A_ARENA_UID, TALLY_A_ARENA_GID,
			     TALLY_A_ARENA_PERM, &owner) ?:
	      set_access(info, arena);
	if (err || (!attrs[TALLY_A_ARENA_UID] && !attrs[TALLY_A_ARENA_GID] &&
		    !attrs[TALLY_A_ARENA_PERM]))
		return err;
	owner.changed = ktime_get_real_ns();
	arena->config.owner = owner;
	return 0;
}

int tally_nl_arena_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr **attrs = info->attrs;
	struct tally_arena *arena;
	int err;

	if (!attrs[TALLY_A_ARENA_PEER] && !attrs[TALLY_A_ARENA_ACCESS] &&
	    !attrs[TALLY_A_ARENA_UID] && !attrs[TALLY_A_ARENA_GID] &&
	    !attrs[TALLY_A_ARENA_PERM])
		return tally_nl_fail(info->extack, NULL, "nothing to set",
				     -EINVAL);
	arena = tally_nl_arena_running(info, TALLY_A_ARENA_NODE,
				       TALLY_A_ARENA_NAME);
	if (IS_ERR(arena))
		return PTR_ERR(arena);
	err = set_arena(info, arena);
	if (!err) {
		tally_node_event(arena->node, "arena_set", arena->config.name,
				 "");
		tally_nl_reply(info, tally_nl_fill_arena, arena);
	}
	tally_arena_put(arena);
	return err;
}

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

int tally_nl_arena_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct tally_nl_cursor *cursor = tally_nl_dump_from(cb);
	struct tally_arena *arena;
	int err = 0;

	while (!err && (arena = tally_arena_next(cursor->node, cursor->id))) {
		err = tally_nl_dump(skb, cb, tally_nl_fill_arena, arena,
				    tally_nl_dump_name(cb, TALLY_A_ARENA_NAME,
						       arena->config.name),
				    arena->id);
		tally_arena_put(arena);
	}
	return tally_nl_dump_to(skb, cb, err);
}
