// SPDX-License-Identifier: GPL-2.0
#include <linux/cred.h>
#include "compat/genl_compat.h"
#include "base/name.h"
#include "netlink/msg.h"
#include "session/nodes.h"

/* An entry of a list, and the length of the list behind it. */
#define LIST_ROOM	256

/* Raised with every change that a dump might show half of. */
static atomic_t generation = ATOMIC_INIT(1);

static int put_entry(struct sk_buff *skb, const struct genl_info *info,
		     tally_nl_fill fill, void *entry)
{
	void *hdr = genlmsg_put(skb, info->snd_portid, info->snd_seq,
				&tally_nl_family, 0, info->genlhdr->cmd);

	if (!hdr)
		return -EMSGSIZE;
	if (fill(skb, hdr, entry)) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	return 0;
}

/* Answer a request with an entry: a node, a peer, … 0 or a negative errno. */
int tally_nl_reply(struct genl_info *info, tally_nl_fill fill, void *entry)
{
	size_t size = GENLMSG_DEFAULT_SIZE;
	struct sk_buff *msg;

	for (; size < TALLY_NL_MSG_MAX; size *= 2) {
		msg = genlmsg_new(size, GFP_KERNEL);
		if (!msg)
			return -ENOMEM;
		if (!put_entry(msg, info, fill, entry))
			return genlmsg_reply(msg, info);
		nlmsg_free(msg);
	}
	return -EMSGSIZE;
}

struct event {
	struct tally_node *node;
	const char *name;
	const char *subject;
	const char *detail;
};

static bool fill_event(struct sk_buff *skb, void *hdr, void *entry)
{
	const struct event *event = entry;

	return nla_put_string(skb, TALLY_A_EVENT_NODE,
			      event->node->config.name) ||
	       nla_put_string(skb, TALLY_A_EVENT_NAME, event->name) ||
	       tally_nl_put_text(skb, TALLY_A_EVENT_SUBJECT, event->subject) ||
	       tally_nl_put_text(skb, TALLY_A_EVENT_DETAIL, event->detail);
}

/*
 * Tell monitors, if there is memory for it, that @name (one word) happened to
 * @subject, a peer or object. @detail is more words. Dumps that are being read
 * are told of a @change. May sleep, but not for I/O: callers hold what a lock's
 * messages wait for, and such a lock may be what I/O waits for.
 */
void tally_nl_event(struct tally_node *node, const char *name,
		    const char *subject, const char *detail, bool change)
{
	struct event event = { node, name, subject, detail };
	struct genl_info info;
	struct sk_buff *msg;

	if (change)
		atomic_inc(&generation);
	if (!genl_has_listeners(&tally_nl_family, node->net,
				TALLY_NLGRP_MONITOR))
		return;
	msg = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_NOIO);
	if (!msg)
		return;
	genl_info_init_ntf(&info, &tally_nl_family, TALLY_CMD_EVENT);
	if (put_entry(msg, &info, fill_event, &event))
		nlmsg_free(msg);
	else
		genlmsg_multicast_netns(&tally_nl_family, node->net, msg, 0,
					TALLY_NLGRP_MONITOR, GFP_NOIO);
}

/**
 * tally_nl_dump - write an entry into a dump, and go on behind it
 * @skb: to be filled
 * @cb: the dump
 * @fill: writes @entry
 * @entry: a node, a peer, …
 * @wanted: false: only go on
 * @id: of @entry
 *
 * Return: 0, or -EMSGSIZE when it has to be the first of the next message.
 */
int tally_nl_dump(struct sk_buff *skb, struct netlink_callback *cb,
		  tally_nl_fill fill, void *entry, bool wanted, u64 id)
{
	struct nlmsghdr *nlh = (void *)skb_tail_pointer(skb);
	struct genl_info info;

	if (wanted) {
		tally_genl_info_dump(cb, &info);
		if (put_entry(skb, &info, fill, entry))
			return -EMSGSIZE;
		nlh->nlmsg_flags |= NLM_F_MULTI;
		nl_dump_check_consistent(cb, nlh);
	}
	tally_nl_cursor(cb)->id = id;
	return 0;
}

/*
 * Begin a round of a dump, and say where it stands. A change since the round
 * before is told to the reader, which may ask again.
 */
struct tally_nl_cursor *tally_nl_dump_from(struct netlink_callback *cb)
{
	cb->seq = atomic_read(&generation);
	return tally_nl_cursor(cb);
}

/*
 * End a round of a dump; @err is 0 at the end of the list. Returns what dumpit
 * returns.
 */
int tally_nl_dump_to(struct sk_buff *skb, struct netlink_callback *cb, int err)
{
	/* What was missed because it went away in this round is told, too. */
	if (!err)
		cb->seq = atomic_read(&generation);
	return skb->len ?: err;
}

/* Is the entry of that name asked for? Without @attr all are. */
bool tally_nl_dump_name(struct netlink_callback *cb, int attr,
			const char *name)
{
	const struct nlattr *wanted = tally_genl_dump_attrs(cb)[attr];

	return !wanted || !nla_strcmp(wanted, name);
}

/**
 * tally_nl_fail - say why not
 * @extack: of the request
 * @attr: the attribute to blame, or NULL
 * @reason: constant sentence, or NULL
 * @err: negative errno
 *
 * Return: @err.
 */
int tally_nl_fail(struct netlink_ext_ack *extack, const struct nlattr *attr,
		  const char *reason, int err)
{
	if (!extack)
		return err;
	if (reason)
		extack->_msg = reason;
	if (attr)
		NL_SET_BAD_ATTR(extack, attr);
	return err;
}

/* As tally_nl_fail(), with the attribute that is to blame for this error. */
int tally_nl_blame(struct genl_info *info, const struct tally_nl_blame *blame,
		   const char *reason, int err)
{
	while (blame->err && blame->err != err)
		blame++;
	return tally_nl_fail(info->extack, info->attrs[blame->attr], reason,
			     err);
}

/*
 * Take a new name, of TALLY_NAME_SIZE bytes, from a request. 0, or -EINVAL when
 * it is missing or no name.
 */
int tally_nl_name(struct genl_info *info, int attr, char *name)
{
	const struct nlattr *nla = info->attrs[attr];

	if (GENL_REQ_ATTR_CHECK(info, attr))
		return -EINVAL;
	nla_strscpy(name, nla, TALLY_NAME_SIZE);
	if (tally_name_valid(name, strlen(name)))
		return 0;
	return tally_nl_fail(info->extack, nla,
			     "a name is 1 to 63 of [A-Za-z0-9._-] and begins with neither . nor -",
			     -EINVAL);
}

/*
 * The node a request is about, referenced, or an ERR_PTR; without @attr the
 * first.
 */
struct tally_node *tally_nl_node(struct net *net, const struct nlattr *attr,
				 struct netlink_ext_ack *extack)
{
	struct tally_node *node;
	char name[TALLY_NAME_SIZE];

	if (attr)
		nla_strscpy(name, attr, sizeof(name));
	node = tally_node_find(net, attr ? name : NULL);
	if (node)
		return node;
	return ERR_PTR(tally_nl_fail(extack, attr, attr ?
				     "no node of that name" :
				     "no node has been added", -ENOENT));
}

/* The node a change is about, as tally_nl_node(): not one that is stopped. */
struct tally_node *tally_nl_node_running(struct genl_info *info, int attr)
{
	struct tally_node *node;

	node = tally_nl_node(genl_info_net(info), info->attrs[attr],
			     info->extack);
	if (IS_ERR(node) || tally_node_running(node))
		return node;
	tally_node_put(node);
	return ERR_PTR(tally_nl_fail(info->extack, info->attrs[attr],
				     "the node is being stopped", -ESHUTDOWN));
}

/* The arena that is named, referenced, or an ERR_PTR. */
struct tally_arena *tally_nl_arena(struct tally_node *node,
				   const struct nlattr *attr,
				   struct netlink_ext_ack *extack)
{
	struct tally_arena *arena;
	char name[TALLY_NAME_SIZE];

	nla_strscpy(name, attr, sizeof(name));
	arena = tally_arena_find(node, name);
	if (arena)
		return arena;
	return ERR_PTR(tally_nl_fail(extack, attr,
				     "no arena of that name has its home here: run this on its home, or add the arena first",
				     -ENOENT));
}

/*
 * The arena a change is about, referenced, or an ERR_PTR; by the numbers of the
 * attributes with the names of its home and its own.
 */
struct tally_arena *tally_nl_arena_running(struct genl_info *info,
					   int node_attr, int attr)
{
	struct tally_arena *arena;
	struct tally_node *node;

	if (GENL_REQ_ATTR_CHECK(info, attr))
		return ERR_PTR(-EINVAL);
	node = tally_nl_node_running(info, node_attr);
	if (IS_ERR(node))
		return ERR_CAST(node);
	arena = tally_nl_arena(node, info->attrs[attr], info->extack);
	tally_node_put(node);
	return arena;
}

/* Attributes that name the node a dump is about. */
static const u8 dump_node[] = {
	[TALLY_CMD_NODE_GET] = TALLY_A_NODE_NAME,
	[TALLY_CMD_NODE_USERS_GET] = TALLY_A_USER_NODE,
	[TALLY_CMD_PEER_GET] = TALLY_A_PEER_NODE,
	[TALLY_CMD_ARENA_GET] = TALLY_A_ARENA_NODE,
	[TALLY_CMD_OBJECT_GET] = TALLY_A_OBJECT_NODE,
};

/* Begin a dump about one node. */
int tally_nl_start(struct netlink_callback *cb)
{
	struct tally_node *node;
	struct genl_info info;

	tally_genl_info_dump(cb, &info);
	node = tally_nl_node(sock_net(cb->skb->sk),
			     info.attrs[dump_node[info.genlhdr->cmd]],
			     cb->extack);
	if (IS_ERR(node))
		return PTR_ERR(node);
	tally_nl_cursor(cb)->node = node;
	return 0;
}

/* End of every dump. */
int tally_nl_done(struct netlink_callback *cb)
{
	struct tally_nl_cursor *cursor = tally_nl_cursor(cb);

	tally_arena_put(cursor->arena);
	if (cursor->node)
		tally_node_put(cursor->node);
	return 0;
}

/**
 * tally_nl_owner - take an owner from a request; what is not there stays
 * @info: the request
 * @uid: number of the attribute with the user id
 * @gid: of that with the group id
 * @perm: of that with the permission bits
 * @owner: the owner
 *
 * Return: 0, or -EINVAL when an id has no meaning in the caller's namespace.
 */
int tally_nl_owner(struct genl_info *info, int uid, int gid, int perm,
		   struct tally_owner *owner)
{
	const struct nlattr *u = info->attrs[uid];
	const struct nlattr *g = info->attrs[gid];

	if (u)
		owner->uid = make_kuid(current_user_ns(), nla_get_u32(u));
	if (g)
		owner->gid = make_kgid(current_user_ns(), nla_get_u32(g));
	if (info->attrs[perm])
		owner->perm = nla_get_u32(info->attrs[perm]);
	if (!uid_valid(owner->uid))
		return tally_nl_fail(info->extack, u, "no such user id", -EINVAL);
	if (!gid_valid(owner->gid))
		return tally_nl_fail(info->extack, g, "no such group id", -EINVAL);
	return 0;
}

/* Put an owner into a message, as tally_nl_owner() takes it. */
int tally_nl_put_owner(struct sk_buff *skb, int uid, int gid, int perm,
		       const struct tally_owner *owner)
{
	struct user_namespace *ns = current_user_ns();

	return nla_put_u32(skb, uid, from_kuid_munged(ns, owner->uid)) ?:
	       nla_put_u32(skb, gid, from_kgid_munged(ns, owner->gid)) ?:
	       nla_put_u32(skb, perm, owner->perm);
}

/* Put a string into a message unless it is empty. */
int tally_nl_put_text(struct sk_buff *skb, int attr, const char *text)
{
	return text[0] ? nla_put_string(skb, attr, text) : 0;
}

/**
 * tally_nl_put_list - put a list into a message, and how long it is
 * @skb: the message
 * @hdr: its header
 * @attr: attribute for the length
 * @put: puts an entry
 * @of: whose list
 *
 * Where a list is longer than even a message of its own, or than
 * %TALLY_NL_LIST_MAX, the rest is only counted. To be put last.
 *
 * Return: 0 or -EMSGSIZE.
 */
int tally_nl_put_list(struct sk_buff *skb, void *hdr, int attr,
		      tally_nl_put_entry put, void *of)
{
	struct nlattr *length = nla_reserve(skb, attr, sizeof(u32));
	bool alone = (void *)genlmsg_nlhdr(hdr) == skb->data;
	u32 i, room = TALLY_NL_LIST_MAX;
	int err;

	if (!length)
		return -EMSGSIZE;
	for (i = 0; ; i++) {
		if (i < room && skb_tailroom(skb) < LIST_ROOM) {
			if (!alone)
				return -EMSGSIZE;
			room = i;
		}
		err = put(i < room ? skb : NULL, of, i);
		if (err == -ENOENT)
			break;
		if (err)
			return err;
	}
	*(u32 *)nla_data(length) = i;
	return 0;
}
