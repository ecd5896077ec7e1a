// SPDX-License-Identifier: GPL-2.0
#include <linux/ktime.h>
#include "compat/genl_compat.h"
#include "netlink/family.h"
#include "netlink/msg.h"
#include "session/nodes.h"

static_assert((int)TALLY_NODE_STATUS_STOPPED == (int)TALLY_NODE_STOPPED);

struct node_counts {
	u32 peers;
	u32 arenas;
	u32 users;
	enum tally_node_state state;
};

static void count(struct tally_node *node, struct node_counts *counts)
{
	struct tally_arena *arena;
	struct list_head *pos;
	u32 after = 0;

	memset(counts, 0, sizeof(*counts));
	mutex_lock(&node->lock);
	counts->state = node->state;
	counts->peers = tally_names_count(&node->peer_names);
	list_for_each(pos, &node->users)
		counts->users++;
	mutex_unlock(&node->lock);
	if (counts->state != TALLY_NODE_RUNNING)
		return;
	while ((arena = tally_arena_next(node, after))) {
		after = arena->id;
		counts->arenas++;
		tally_arena_put(arena);
	}
}

static int put_config(struct sk_buff *skb, const struct tally_node_config *c)
{
	if (nla_put_string(skb, TALLY_A_NODE_NAME, c->name) ||
	    nla_put_u16(skb, TALLY_A_NODE_PORT, c->port) ||
	    nla_put_u32(skb, TALLY_A_NODE_LEASE, c->lease_ms) ||
	    (c->epoch && nla_put_u32(skb, TALLY_A_NODE_EPOCH, c->epoch)) ||
	    tally_nl_put_text(skb, TALLY_A_NODE_KEY, c->key) ||
	    (c->no_atomics && nla_put_flag(skb, TALLY_A_NODE_NO_ATOMICS)) ||
	    (c->clean && nla_put_flag(skb, TALLY_A_NODE_CLEAN)) ||
	    (c->mem_limit &&
	     nla_put_u64_64bit(skb, TALLY_A_NODE_MEM_LIMIT, c->mem_limit,
			       TALLY_A_NODE_PAD)))
		return -EMSGSIZE;
	return 0;
}

static int fill_node(struct sk_buff *skb, const struct genl_info *info,
		     void *entry)
{
	struct tally_node *node = entry;
	struct node_counts counts;
	u64 age;
	void *hdr;

	hdr = tally_nl_begin(skb, info);
	if (!hdr)
		return -EMSGSIZE;
	count(node, &counts);
	age = div_u64(ktime_get_boottime_ns() - node->started, NSEC_PER_MSEC);
	if (put_config(skb, &node->config) ||
	    nla_put_u64_64bit(skb, TALLY_A_NODE_MEM_USED,
			      atomic64_read(&node->mem_used),
			      TALLY_A_NODE_PAD) ||
	    nla_put_u32(skb, TALLY_A_NODE_STATE, counts.state) ||
	    nla_put_u64_64bit(skb, TALLY_A_NODE_INCARNATION,
			      node->incarnation, TALLY_A_NODE_PAD) ||
	    nla_put_u64_64bit(skb, TALLY_A_NODE_AGE, age, TALLY_A_NODE_PAD) ||
	    nla_put_u32(skb, TALLY_A_NODE_PEERS, counts.peers) ||
	    nla_put_u32(skb, TALLY_A_NODE_ARENAS, counts.arenas) ||
	    nla_put_u32(skb, TALLY_A_NODE_USERS, counts.users) ||
	    nla_put_u32(skb, TALLY_A_NODE_NETNS, node->net->ns.inum)) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	return 0;
}

static int take_config(struct genl_info *info, struct tally_node_config *c)
{
	struct nlattr **attrs = info->attrs;

	c->port = TALLY_PORT_DEFAULT;
	c->lease_ms = TALLY_LEASE_DEFAULT;
	if (attrs[TALLY_A_NODE_PORT])
		c->port = nla_get_u16(attrs[TALLY_A_NODE_PORT]);
	if (attrs[TALLY_A_NODE_LEASE])
		c->lease_ms = nla_get_u32(attrs[TALLY_A_NODE_LEASE]);
	if (attrs[TALLY_A_NODE_EPOCH])
		c->epoch = nla_get_u32(attrs[TALLY_A_NODE_EPOCH]);
	if (attrs[TALLY_A_NODE_KEY])
		nla_strscpy(c->key, attrs[TALLY_A_NODE_KEY], sizeof(c->key));
	if (attrs[TALLY_A_NODE_MEM_LIMIT])
		c->mem_limit = nla_get_u64(attrs[TALLY_A_NODE_MEM_LIMIT]);
	c->no_atomics = nla_get_flag(attrs[TALLY_A_NODE_NO_ATOMICS]);
	c->clean = nla_get_flag(attrs[TALLY_A_NODE_CLEAN]);
	if (attrs[TALLY_A_NODE_KEY] && !c->key[0])
		return tally_nl_fail(info->extack, attrs[TALLY_A_NODE_KEY],
				     "the description of the key is empty",
				     -EINVAL);
	return tally_nl_name(info, TALLY_A_NODE_NAME, c->name);
}

static const struct nlattr *add_blame(struct genl_info *info, int err)
{
	switch (err) {
	case -ENOKEY:
	case -EKEYEXPIRED:
	case -EKEYREVOKED:
	case -EKEYREJECTED:
		return info->attrs[TALLY_A_NODE_KEY];
	case -EADDRINUSE:
		return info->attrs[TALLY_A_NODE_PORT];
	case -EEXIST:
		return info->attrs[TALLY_A_NODE_NAME];
	default:
		return NULL;
	}
}

static const char *no_reason(int err)
{
	return err == -ENOKEY ?
	       "no logon key of that description in the caller's keyrings" :
	       NULL;
}

/**
 * tally_nl_node_add_doit - node-add
 * @skb: the request
 * @info: the request
 *
 * Return: 0 or negative errno.
 */
int tally_nl_node_add_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct tally_node_config config = {};
	const char *reason = NULL;
	struct tally_node *node;
	int err;

	err = take_config(info, &config);
	if (err)
		return err;
	err = tally_node_add(genl_info_net(info), &config, &reason);
	if (err)
		return tally_nl_fail(info->extack, add_blame(info, err),
				     reason ?: no_reason(err), err);
	node = tally_node_find(genl_info_net(info), config.name);
	if (!node)
		return 0;
	tally_netlink_event(node, "node_add", node->config.name, "");
	/* The node stands, whether this answer can be made or not. */
	tally_nl_reply(info, fill_node, node);
	tally_node_put(node);
	return 0;
}

/*
 * A node keeps its network namespace, and there may be no other way into it
 * any more: the administrator of the first one sees and ends all.
 */
static int may_look_beyond(struct net *net, struct sk_buff *skb,
			   struct netlink_ext_ack *extack,
			   const struct nlattr *attr)
{
	if (net_eq(net, &init_net) && netlink_capable(skb, CAP_NET_ADMIN))
		return 0;
	return tally_nl_fail(extack, attr,
			     "only the administrator of the first network namespace sees other ones",
			     -EPERM);
}

static struct tally_node *node_to_del(struct sk_buff *skb,
				      struct genl_info *info)
{
	const struct nlattr *attr = info->attrs[TALLY_A_NODE_NAME];
	const struct nlattr *netns = info->attrs[TALLY_A_NODE_NETNS];
	char name[TALLY_NAME_SIZE];
	struct tally_node *node;
	int err;

	if (!netns)
		return tally_nl_node(genl_info_net(info), attr, info->extack);
	err = may_look_beyond(genl_info_net(info), skb, info->extack, netns);
	if (err)
		return ERR_PTR(err);
	nla_strscpy(name, attr, sizeof(name));
	node = tally_node_find_in(nla_get_u32(netns), name);
	if (node)
		return node;
	return ERR_PTR(tally_nl_fail(info->extack, attr,
				     "no node of that name in that network namespace",
				     -ENOENT));
}

/**
 * tally_nl_node_del_doit - node-del
 * @skb: the request
 * @info: the request
 *
 * Return: 0 or negative errno.
 */
int tally_nl_node_del_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct tally_node *node;
	int err;

	if (GENL_REQ_ATTR_CHECK(info, TALLY_A_NODE_NAME))
		return -EINVAL;
	node = node_to_del(skb, info);
	if (IS_ERR(node))
		return PTR_ERR(node);
	err = tally_node_del(node);
	if (!err)
		tally_netlink_event(node, "node_del", node->config.name, "");
	tally_node_put(node);
	return err;
}

/**
 * tally_nl_node_get_start - begin node-get
 * @cb: the dump
 *
 * Return: 0, or -ENOENT when the node asked for is none.
 */
int tally_nl_node_get_start(struct netlink_callback *cb)
{
	struct nlattr **attrs = tally_genl_dump_attrs(cb);

	if (attrs[TALLY_A_NODE_ALL])
		return may_look_beyond(sock_net(cb->skb->sk), cb->skb,
				       cb->extack, attrs[TALLY_A_NODE_ALL]);
	if (!attrs[TALLY_A_NODE_NAME])
		return 0;
	return tally_nl_start(cb, TALLY_A_NODE_NAME);
}

/**
 * tally_nl_node_get_dumpit - node-get
 * @skb: to be filled
 * @cb: the dump
 *
 * Return: bytes filled, 0 at the end, or negative errno.
 */
int tally_nl_node_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct tally_nl_cursor *cursor = tally_nl_dump_from(cb);
	bool all = tally_genl_dump_attrs(cb)[TALLY_A_NODE_ALL];
	struct net *net = all ? NULL : sock_net(cb->skb->sk);
	struct tally_node *node;
	int err = 0;

	while (!err && (node = tally_node_next(net, cursor->id))) {
		if (tally_nl_dump_name(cb, TALLY_A_NODE_NAME,
				       node->config.name))
			err = tally_nl_dump(skb, cb, fill_node, node);
		if (!err)
			cursor->id = node->id;
		tally_node_put(node);
	}
	return tally_nl_dump_to(skb, cb, err);
}

static int fill_user(struct sk_buff *skb, const struct genl_info *info,
		     void *entry)
{
	const struct tally_user *user = entry;
	void *hdr;

	hdr = tally_nl_begin(skb, info);
	if (!hdr)
		return -EMSGSIZE;
	if (nla_put_string(skb, TALLY_A_USER_WHAT, user->what) ||
	    tally_nl_put_text(skb, TALLY_A_USER_OBJECT, user->object) ||
	    nla_put_u32(skb, TALLY_A_USER_PID, user->pid) ||
	    tally_nl_put_text(skb, TALLY_A_USER_COMM, user->comm)) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	return 0;
}

/**
 * tally_nl_node_users_get_start - begin node-users-get
 * @cb: the dump
 *
 * Return: 0 or negative errno.
 */
int tally_nl_node_users_get_start(struct netlink_callback *cb)
{
	return tally_nl_start(cb, TALLY_A_USER_NODE);
}

/**
 * tally_nl_node_users_get_dumpit - node-users-get
 * @skb: to be filled
 * @cb: the dump
 *
 * Return: bytes filled, 0 at the end, or negative errno.
 */
int tally_nl_node_users_get_dumpit(struct sk_buff *skb,
				   struct netlink_callback *cb)
{
	struct tally_nl_cursor *cursor = tally_nl_dump_from(cb);
	struct tally_user *user;
	int err = 0;

	/* In the order of their ids. */
	mutex_lock(&cursor->node->lock);
	list_for_each_entry(user, &cursor->node->users, list) {
		if (user->id <= cursor->id)
			continue;
		err = tally_nl_dump(skb, cb, fill_user, user);
		if (err)
			break;
		cursor->id = user->id;
	}
	mutex_unlock(&cursor->node->lock);
	return tally_nl_dump_to(skb, cb, err);
}

static int put_item(struct sk_buff *skb, int attr, const char *name, u64 value)
{
	struct nlattr *nest = nla_nest_start(skb, attr);

	if (!nest ||
	    nla_put_string(skb, TALLY_A_STAT_ITEM_NAME, name) ||
	    nla_put_u64_64bit(skb, TALLY_A_STAT_ITEM_VALUE, value,
			      TALLY_A_STAT_ITEM_PAD))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int put_stats(struct sk_buff *skb, struct tally_stats *stats)
{
	int i, err = 0;

	for (i = 0; i < __TALLY_STAT_MAX && !err; i++)
		err = put_item(skb, TALLY_A_STAT_COUNTER, tally_stat_name(i),
			       atomic64_read(&stats->count[i]));
	for (i = TALLY_REFUSE_NONE + 1; i < __TALLY_REFUSE_MAX && !err; i++)
		err = put_item(skb, TALLY_A_STAT_REFUSAL, tally_refusal_name(i),
			       atomic64_read(&stats->refused[i]));
	return err;
}

static int fill_stats(struct sk_buff *skb, const struct genl_info *info,
		      void *entry)
{
	struct tally_node *node = entry;
	void *hdr;

	hdr = tally_nl_begin(skb, info);
	if (!hdr)
		return -EMSGSIZE;
	if (nla_put_string(skb, TALLY_A_STAT_NODE, node->config.name) ||
	    put_stats(skb, &node->stats)) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	return 0;
}

/**
 * tally_nl_stats_get_doit - stats-get
 * @skb: the request
 * @info: the request
 *
 * Return: 0 or negative errno.
 */
int tally_nl_stats_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct tally_node *node;
	int err;

	node = tally_nl_node(genl_info_net(info),
			     info->attrs[TALLY_A_STAT_NODE], info->extack);
	if (IS_ERR(node))
		return PTR_ERR(node);
	err = tally_nl_reply(info, fill_stats, node);
	tally_node_put(node);
	return err;
}
