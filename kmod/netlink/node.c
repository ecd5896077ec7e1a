// SPDX-License-Identifier: GPL-2.0
#include <linux/ktime.h>
#include "compat/genl_compat.h"
#include "netlink/msg.h"
#include "session/nodes.h"

static_assert((int)TALLY_NODE_STATUS_STOPPED == (int)TALLY_NODE_STOPPED);

static u32 count_arenas(struct tally_node *node)
{
	struct tally_arena *arena;
	u32 after = 0, n = 0;

	while ((arena = tally_arena_next(node, after))) {
		after = arena->id;
		n++;
		tally_arena_put(arena);
	}
	return n;
}

static bool fill_node(struct sk_buff *skb, void *hdr, void *entry)
{
	struct tally_node *node = entry;
	const struct tally_node_config *c = &node->config;
	enum tally_node_state state;
	u32 peers, users = 0;
	struct list_head *at;
	u64 age;

	mutex_lock(&node->lock);
	state = node->state;
	peers = tally_names_count(&node->peer_names);
	list_for_each(at, &node->users)
		users++;
	mutex_unlock(&node->lock);
	age = div_u64(ktime_get_boottime_ns() - node->started, NSEC_PER_MSEC);
	return nla_put_string(skb, TALLY_A_NODE_NAME, c->name) ||
	       nla_put_u16(skb, TALLY_A_NODE_PORT, c->port) ||
	       nla_put_u32(skb, TALLY_A_NODE_LEASE, c->lease_ms) ||
	       nla_put_u32(skb, TALLY_A_NODE_GRACE, c->grace_ms) ||
	       (c->epoch && nla_put_u32(skb, TALLY_A_NODE_EPOCH, c->epoch)) ||
	       tally_nl_put_text(skb, TALLY_A_NODE_KEY, c->key) ||
	       (c->no_atomics && nla_put_flag(skb, TALLY_A_NODE_NO_ATOMICS)) ||
	       (c->clean && nla_put_flag(skb, TALLY_A_NODE_CLEAN)) ||
	       (c->mem_limit &&
		nla_put_u64_64bit(skb, TALLY_A_NODE_MEM_LIMIT, c->mem_limit,
				  TALLY_A_NODE_PAD)) ||
	       nla_put_u64_64bit(skb, TALLY_A_NODE_MEM_USED,
				 atomic64_read(&node->mem_used),
				 TALLY_A_NODE_PAD) ||
	       nla_put_u32(skb, TALLY_A_NODE_STATE, state) ||
	       nla_put_u64_64bit(skb, TALLY_A_NODE_INCARNATION,
				 node->incarnation, TALLY_A_NODE_PAD) ||
	       nla_put_u64_64bit(skb, TALLY_A_NODE_AGE, age, TALLY_A_NODE_PAD) ||
	       nla_put_u32(skb, TALLY_A_NODE_PEERS, peers) ||
	       nla_put_u32(skb, TALLY_A_NODE_ARENAS,
			   state == TALLY_NODE_RUNNING ?
			   count_arenas(node) : 0) ||
	       nla_put_u32(skb, TALLY_A_NODE_USERS, users) ||
	       nla_put_u32(skb, TALLY_A_NODE_NETNS, node->net->ns.inum);
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
	c->grace_ms = c->lease_ms;
	if (attrs[TALLY_A_NODE_GRACE])
		c->grace_ms = max(c->lease_ms,
				  nla_get_u32(attrs[TALLY_A_NODE_GRACE]));
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

static const struct tally_nl_blame add_blame[] = {
	{ -ENOKEY, TALLY_A_NODE_KEY },
	{ -EKEYEXPIRED, TALLY_A_NODE_KEY },
	{ -EKEYREVOKED, TALLY_A_NODE_KEY },
	{ -EKEYREJECTED, TALLY_A_NODE_KEY },
	{ -EADDRINUSE, TALLY_A_NODE_PORT },
	{ -EEXIST, TALLY_A_NODE_NAME },
	{}
};

int tally_nl_node_add_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct tally_node_config config = {};
	const char *reason = NULL;
	struct tally_node *node;
	int err = take_config(info, &config);

	if (err)
		return err;
	err = tally_node_add(genl_info_net(info), &config, &reason);
	if (!reason && err == -ENOKEY)
		reason = "no logon key of that description in the caller's keyrings";
	if (err)
		return tally_nl_blame(info, add_blame, reason, err);
	node = tally_node_find(genl_info_net(info), config.name);
	if (!node)
		return 0;
	tally_node_event(node, "node_add", node->config.name, "");
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
		tally_node_event(node, "node_del", node->config.name, "");
	tally_node_put(node);
	return err;
}

int tally_nl_node_get_start(struct netlink_callback *cb)
{
	struct nlattr **attrs = tally_genl_dump_attrs(cb);

	if (attrs[TALLY_A_NODE_ALL])
		return may_look_beyond(sock_net(cb->skb->sk), cb->skb,
				       cb->extack, attrs[TALLY_A_NODE_ALL]);
	return attrs[TALLY_A_NODE_NAME] ? tally_nl_start(cb) : 0;
}

int tally_nl_node_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct tally_nl_cursor *cursor = tally_nl_dump_from(cb);
	bool all = tally_genl_dump_attrs(cb)[TALLY_A_NODE_ALL];
	struct net *net = all ? NULL : sock_net(cb->skb->sk);
	struct tally_node *node;
	int err = 0;

	while (!err && (node = tally_node_next(net, cursor->id))) {
		err = tally_nl_dump(skb, cb, fill_node, node,
				    tally_nl_dump_name(cb, TALLY_A_NODE_NAME,
						       node->config.name),
				    node->id);
		tally_node_put(node);
	}
	return tally_nl_dump_to(skb, cb, err);
}

struct node_user {
	const struct tally_node *node;
	const struct tally_user *user;
};

static bool fill_user(struct sk_buff *skb, void *hdr, void *entry)
{
	const struct node_user *of = entry;
	const struct tally_user *user = of->user;
	struct task_struct *task;
	pid_t pid;

	rcu_read_lock();
	task = tally_user_task(user->pid);
	pid = task ? task_tgid_nr(task) : 0;
	rcu_read_unlock();
	return nla_put_string(skb, TALLY_A_USER_NODE, of->node->config.name) ||
	       (READ_ONCE(of->node->state) == TALLY_NODE_STOPPED &&
		nla_put_flag(skb, TALLY_A_USER_STOPPED)) ||
	       nla_put_string(skb, TALLY_A_USER_WHAT, user->what) ||
	       tally_nl_put_text(skb, TALLY_A_USER_OBJECT, user->object) ||
	       (pid && nla_put_u32(skb, TALLY_A_USER_PID, pid)) ||
	       tally_nl_put_text(skb, TALLY_A_USER_COMM, user->comm);
}

/* Behind the node that is meant come those that were stopped. */
static struct tally_node *users_next(struct netlink_callback *cb)
{
	const struct nlattr *attr = tally_genl_dump_attrs(cb)[TALLY_A_USER_NODE];
	const char *name = attr ? nla_data(attr) : NULL;
	const struct tally_node *last = tally_nl_cursor(cb)->node;
	struct net *net = sock_net(cb->skb->sk);
	struct tally_node *node;

	node = last ? NULL : tally_node_find(net, name);
	if (node)
		return node;
	return tally_node_next_ended(net, name, last &&
				     READ_ONCE(last->state) == TALLY_NODE_STOPPED ?
				     last->id : 0);
}

int tally_nl_node_users_get_start(struct netlink_callback *cb)
{
	struct tally_node *node = users_next(cb);

	tally_nl_cursor(cb)->node = node;
	/* This one says what is not there. */
	return node ? 0 : tally_nl_start(cb);
}

static int dump_users(struct sk_buff *skb, struct netlink_callback *cb,
		      struct tally_nl_cursor *cursor)
{
	struct node_user of = { .node = cursor->node };
	struct tally_user *user;
	int err = 0;

	/* In the order of their ids. */
	guard(mutex)(&cursor->node->lock);
	list_for_each_entry(user, &cursor->node->users, list) {
		if (user->id <= cursor->id)
			continue;
		of.user = user;
		err = tally_nl_dump(skb, cb, fill_user, &of, true, user->id);
		if (err)
			break;
	}
	return err;
}

int tally_nl_node_users_get_dumpit(struct sk_buff *skb,
				   struct netlink_callback *cb)
{
	struct tally_nl_cursor *cursor = tally_nl_dump_from(cb);
	struct tally_node *next;
	int err;

	while (!(err = dump_users(skb, cb, cursor)) && (next = users_next(cb))) {
		tally_node_put(cursor->node);
		cursor->node = next;
		cursor->id = 0;
	}
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

static bool fill_stats(struct sk_buff *skb, void *hdr, void *entry)
{
	struct tally_node *node = entry;
	struct tally_stats *stats = &node->stats;
	int i, err;

	err = nla_put_string(skb, TALLY_A_STAT_NODE, node->config.name);
	for (i = 0; i < __TALLY_STAT_MAX && !err; i++)
		err = put_item(skb, TALLY_A_STAT_COUNTER, tally_stat_name(i),
			       atomic64_read(&stats->count[i]));
	for (i = TALLY_REFUSE_NONE + 1; i < __TALLY_REFUSE_MAX && !err; i++)
		err = put_item(skb, TALLY_A_STAT_REFUSAL, tally_refusal_name(i),
			       atomic64_read(&stats->refused[i]));
	return err;
}

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
