/* SPDX-License-Identifier: GPL-2.0 */
/* What all netlink handlers share: names, answers, dumps, complaints. */
#ifndef TALLY_NETLINK_MSG_H
#define TALLY_NETLINK_MSG_H

#include "home/arena.h"
#include "netlink/gen.h"
#include "session/node.h"

/* No answer is longer. */
#define TALLY_NL_MSG_MAX	32768
/* Of a longer list the rest is counted. */
#define TALLY_NL_LIST_MAX	64

/**
 * struct tally_nl_cursor - where a dump is, in netlink_callback.ctx
 * @node: the node it is about, referenced; NULL: all of the namespace
 * @arena: the arena it is in, referenced, or NULL
 * @id: the last entry that was written
 */
struct tally_nl_cursor {
	struct tally_node *node;
	struct tally_arena *arena;
	u64 id;
};

/*
 * Puts an entry into a message of its own, which begins with @hdr: an answer, a
 * part of a dump, a notification. True: there is no room.
 */
typedef bool (*tally_nl_fill)(struct sk_buff *skb, void *hdr, void *entry);
/* Puts the i-th entry of a list if @skb is not NULL. 0, -ENOENT, -EMSGSIZE. */
typedef int (*tally_nl_put_entry)(struct sk_buff *skb, void *of, u32 i);

/* Which attribute is to blame for an error; 0 ends the list: for all others. */
struct tally_nl_blame {
	int err;
	int attr;
};

static inline struct tally_nl_cursor *
tally_nl_cursor(struct netlink_callback *cb)
{
	BUILD_BUG_ON(sizeof(struct tally_nl_cursor) > sizeof(cb->ctx));
	return (struct tally_nl_cursor *)cb->ctx;
}

int tally_nl_reply(struct genl_info *info, tally_nl_fill fill, void *entry);
int tally_nl_dump(struct sk_buff *skb, struct netlink_callback *cb,
		  tally_nl_fill fill, void *entry, bool wanted, u64 id);
struct tally_nl_cursor *tally_nl_dump_from(struct netlink_callback *cb);
int tally_nl_dump_to(struct sk_buff *skb, struct netlink_callback *cb,
		     int err);
bool tally_nl_dump_name(struct netlink_callback *cb, int attr,
			const char *name);

int tally_nl_fail(struct netlink_ext_ack *extack, const struct nlattr *attr,
		  const char *reason, int err);
int tally_nl_blame(struct genl_info *info, const struct tally_nl_blame *blame,
		   const char *reason, int err);
int tally_nl_name(struct genl_info *info, int attr, char *name);
struct tally_node *tally_nl_node(struct net *net, const struct nlattr *attr,
				 struct netlink_ext_ack *extack);
struct tally_node *tally_nl_node_running(struct genl_info *info, int attr);
struct tally_arena *tally_nl_arena(struct tally_node *node,
				   const struct nlattr *attr,
				   struct netlink_ext_ack *extack);
struct tally_arena *tally_nl_arena_running(struct genl_info *info,
					   int node_attr, int attr);
int tally_nl_owner(struct genl_info *info, int uid, int gid, int perm,
		   struct tally_owner *owner);
int tally_nl_put_owner(struct sk_buff *skb, int uid, int gid, int perm,
		       const struct tally_owner *owner);
int tally_nl_put_text(struct sk_buff *skb, int attr, const char *text);
int tally_nl_put_list(struct sk_buff *skb, void *hdr, int attr,
		      tally_nl_put_entry put, void *of);

/* Tell monitors; see struct tally_node_ops. */
void tally_nl_event(struct tally_node *node, const char *name,
		    const char *subject, const char *detail, bool change);

#endif
