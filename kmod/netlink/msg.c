// SPDX-License-Identifier: GPL-2.0
#include <linux/cred.h>
#include <linux/slab.h>
#include "genl_compat.h"
#include "base/name.h"
#include "netlink/msg.h"
#include "session/nodes.h"

/* Raised with every change that a dump might show half of. */
static atomic_t generation = ATOMIC_INIT(1);

/**
 * tally_nl_generation - number of the present state
 *
 * Return: what a dump compares to learn that it was overtaken by a change.
 */
u32 tally_nl_generation(void)
{
	return atomic_read(&generation);
}

/**
 * tally_nl_changed - a list that can be dumped changed
 */
void tally_nl_changed(void)
{
	atomic_inc(&generation);
}

/**
 * tally_nl_begin - begin a message
 * @skb: where
 * @to: what it is
 *
 * Return: the header for tally_nl_end(), NULL when there is no room.
 */
void *tally_nl_begin(struct sk_buff *skb, const struct tally_nl_to *to)
{
	void *hdr;

	hdr = genlmsg_put(skb, to->portid, to->seq, &tally_nl_family,
			  to->flags, to->cmd);
	if (hdr && to->cb)
		genl_dump_check_consistent(to->cb, hdr);
	return hdr;
}

/**
 * tally_nl_end - end a message, or take it back
 * @skb: where
 * @hdr: from tally_nl_begin()
 * @err: 0 when everything was put
 *
 * Return: 0 or -EMSGSIZE.
 */
int tally_nl_end(struct sk_buff *skb, void *hdr, int err)
{
	if (err) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	return 0;
}

/**
 * tally_nl_reply - answer a request with an entry
 * @info: the request
 * @fill: writes @entry
 * @entry: a node, a peer, …
 *
 * Return: 0 or negative errno.
 */
int tally_nl_reply(struct genl_info *info,
		   int (*fill)(struct sk_buff *skb,
			       const struct tally_nl_to *to, void *entry),
		   void *entry)
{
	const struct tally_nl_to to = {
		.portid = info->snd_portid,
		.seq = info->snd_seq,
		.cmd = info->genlhdr->cmd,
	};
	struct sk_buff *msg;
	int err;

	msg = nlmsg_new(TALLY_NL_MSG_SIZE, GFP_KERNEL);
	if (!msg)
		return -ENOMEM;
	err = fill(msg, &to, entry);
	if (err) {
		nlmsg_free(msg);
		return err;
	}
	return genlmsg_reply(msg, info);
}

/**
 * tally_nl_dump_to - what the messages of a dump are
 * @cb: the dump
 * @to: filled
 */
void tally_nl_dump_to(struct netlink_callback *cb, struct tally_nl_to *to)
{
	const struct genlmsghdr *hdr = nlmsg_data(cb->nlh);

	cb->seq = tally_nl_generation();
	to->portid = NETLINK_CB(cb->skb).portid;
	to->seq = cb->nlh->nlmsg_seq;
	to->flags = NLM_F_MULTI;
	to->cmd = hdr->cmd;
	to->cb = cb;
}

/**
 * tally_nl_dump - one round of a dump
 * @skb: to be filled
 * @cb: the dump
 * @list: what it goes through
 *
 * Goes on by count: a change between two rounds is told to the reader, who
 * asks again.
 *
 * Return: bytes filled, 0 at the end, or negative errno.
 */
int tally_nl_dump(struct sk_buff *skb, struct netlink_callback *cb,
		  const struct tally_nl_list *list)
{
	struct tally_nl_cursor *cursor = tally_nl_cursor(cb);
	struct tally_nl_to to;
	void *entry = NULL;
	u32 i = 0;
	int err;

	tally_nl_dump_to(cb, &to);
	while ((entry = list->next(cb, entry))) {
		if (i++ < cursor->done)
			continue;
		err = list->match(cb, entry) ? list->fill(skb, &to, entry) : 0;
		if (err) {
			list->put(entry);
			return skb->len ?: err;
		}
		cursor->done++;
	}
	/* What the walk missed when an entry went away under it is told too. */
	cb->seq = tally_nl_generation();
	return skb->len;
}

/**
 * tally_nl_dump_name - is an entry asked for?
 * @cb: the dump
 * @attr: attribute with the only name wanted
 * @name: name of the entry
 *
 * Return: true when no name, or this one, was given.
 */
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

/**
 * tally_nl_name - take a new name from a request
 * @info: the request
 * @attr: attribute it is in
 * @name: filled, TALLY_NAME_SIZE bytes
 *
 * Return: 0, or -EINVAL when it is missing or no name.
 */
int tally_nl_name(struct genl_info *info, int attr, char *name)
{
	const struct nlattr *nla = info->attrs[attr];

	if (GENL_REQ_ATTR_CHECK(info, attr))
		return -EINVAL;
	nla_strscpy(name, nla, TALLY_NAME_SIZE);
	if (tally_name_valid(name, strlen(name)))
		return 0;
	NL_SET_ERR_MSG_ATTR(info->extack, nla,
			    "a name is 1 to 63 of [A-Za-z0-9._-] and begins with neither . nor -");
	return -EINVAL;
}

/**
 * tally_nl_node - the node a request is about
 * @net: namespace of the request
 * @attr: attribute with its name, NULL for the first node
 * @extack: for the complaint
 *
 * Return: the node, referenced, or an ERR_PTR.
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
	if (attr)
		NL_SET_ERR_MSG_ATTR(extack, attr, "no node of that name");
	else
		NL_SET_ERR_MSG(extack, "no node has been added");
	return ERR_PTR(-ENOENT);
}

/**
 * tally_nl_node_running - the node a change is about
 * @info: the request
 * @attr: number of the attribute with its name
 *
 * Return: the node, referenced, or an ERR_PTR.
 */
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

/**
 * tally_nl_arena - the arena a request is about
 * @node: its home
 * @attr: attribute with its name
 * @extack: for the complaint
 *
 * Return: the arena, referenced, or an ERR_PTR.
 */
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
	NL_SET_ERR_MSG_ATTR(extack, attr,
			    "no arena of that name has its home here");
	return ERR_PTR(-ENOENT);
}

/**
 * tally_nl_start - begin a dump about one node
 * @cb: the dump
 * @attr: number of the attribute with its name
 *
 * Return: 0 or negative errno.
 */
int tally_nl_start(struct netlink_callback *cb, int attr)
{
	struct tally_nl_cursor *cursor = tally_nl_cursor(cb);
	struct tally_node *node;

	node = tally_nl_node(sock_net(cb->skb->sk),
			     tally_genl_dump_attrs(cb)[attr], cb->extack);
	if (IS_ERR(node))
		return PTR_ERR(node);
	cursor->node = node;
	cb->min_dump_alloc = TALLY_NL_MSG_SIZE;
	return 0;
}

/**
 * tally_nl_done - end of every dump
 * @cb: the dump
 *
 * Return: 0.
 */
int tally_nl_done(struct netlink_callback *cb)
{
	struct tally_nl_cursor *cursor = tally_nl_cursor(cb);

	kfree(cursor->asking);
	if (cursor->object)
		tally_object_put(cursor->object);
	if (cursor->arena)
		tally_arena_put(cursor->arena);
	if (cursor->node)
		tally_node_put(cursor->node);
	return 0;
}

/**
 * tally_nl_owner - take owner and group from a request
 * @info: the request
 * @uid_attr: attribute with the user id
 * @uid: set when it is there
 * @gid_attr: attribute with the group id
 * @gid: set when it is there
 *
 * Return: 0, or -EINVAL when an id means nobody in the caller's namespace.
 */
int tally_nl_owner(struct genl_info *info, int uid_attr, kuid_t *uid,
		   int gid_attr, kgid_t *gid)
{
	const struct nlattr *u = info->attrs[uid_attr];
	const struct nlattr *g = info->attrs[gid_attr];

	if (u)
		*uid = make_kuid(current_user_ns(), nla_get_u32(u));
	if (g)
		*gid = make_kgid(current_user_ns(), nla_get_u32(g));
	if (!uid_valid(*uid))
		return tally_nl_fail(info->extack, u, "no such user id", -EINVAL);
	if (!gid_valid(*gid))
		return tally_nl_fail(info->extack, g, "no such group id", -EINVAL);
	return 0;
}

/**
 * tally_nl_put_owner - put owner and group into a message
 * @skb: the message
 * @uid_attr: attribute for the user id
 * @uid: owner
 * @gid_attr: attribute for the group id
 * @gid: group
 *
 * Return: 0 or -EMSGSIZE.
 */
int tally_nl_put_owner(struct sk_buff *skb, int uid_attr, kuid_t uid,
		       int gid_attr, kgid_t gid)
{
	return nla_put_u32(skb, uid_attr,
			   from_kuid_munged(current_user_ns(), uid)) ?:
	       nla_put_u32(skb, gid_attr,
			   from_kgid_munged(current_user_ns(), gid));
}

/**
 * tally_nl_put_text - put a string into a message unless it is empty
 * @skb: the message
 * @attr: attribute
 * @text: the string
 *
 * Return: 0 or -EMSGSIZE.
 */
int tally_nl_put_text(struct sk_buff *skb, int attr, const char *text)
{
	return text[0] ? nla_put_string(skb, attr, text) : 0;
}
