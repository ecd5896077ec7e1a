/* SPDX-License-Identifier: GPL-2.0 */
/* What all netlink handlers share: names, answers, dumps, complaints. */
#ifndef TALLY_NETLINK_MSG_H
#define TALLY_NETLINK_MSG_H

#include "home/arena.h"
#include "netlink/gen.h"
#include "session/node.h"

/* One object with its lists of names fits, see TALLY_NL_NAMES_MAX. */
#define TALLY_NL_MSG_SIZE	16384
/* Names of waiters, or of attached nodes, in one message; the rest is counted. */
#define TALLY_NL_NAMES_MAX	64

/**
 * struct tally_nl_to - what a message is: an answer or a part of a dump
 * @portid: who asked
 * @seq: the request's number
 * @flags: NLM_F_*
 * @cmd: TALLY_CMD_*
 * @cb: the dump, or NULL
 */
struct tally_nl_to {
	u32 portid;
	u32 seq;
	int flags;
	u8 cmd;
	struct netlink_callback *cb;
};

/**
 * struct tally_nl_cursor - where a dump is, in netlink_callback.ctx
 * @node: the node it is about, referenced; NULL: all of the namespace
 * @arena: the only arena wanted, referenced, or NULL
 * @object: the lock that is taken away, referenced, or NULL
 * @done: entries looked at, or calls made
 * @arena_id: arena the last object was in
 * @object_id: last object
 * @asking: what asking the holders of locks may still cost; owned, or NULL
 */
struct tally_nl_cursor {
	struct tally_node *node;
	struct tally_arena *arena;
	struct tally_object *object;
	u32 done;
	u32 arena_id;
	u32 object_id;
	struct tally_lock_asking *asking;
};

/**
 * struct tally_nl_list - a list of things that a dump goes through
 * @next: the first, or the one after @prev, whose reference it takes over
 * @put: drops a reference
 * @match: is it asked for?
 * @fill: write it as one message
 */
struct tally_nl_list {
	void *(*next)(struct netlink_callback *cb, void *prev);
	void (*put)(void *entry);
	bool (*match)(struct netlink_callback *cb, void *entry);
	int (*fill)(struct sk_buff *skb, const struct tally_nl_to *to,
		    void *entry);
};

static inline struct tally_nl_cursor *
tally_nl_cursor(struct netlink_callback *cb)
{
	BUILD_BUG_ON(sizeof(struct tally_nl_cursor) > sizeof(cb->ctx));
	return (struct tally_nl_cursor *)cb->ctx;
}

void *tally_nl_begin(struct sk_buff *skb, const struct tally_nl_to *to);
int tally_nl_end(struct sk_buff *skb, void *hdr, int err);
int tally_nl_reply(struct genl_info *info,
		   int (*fill)(struct sk_buff *skb,
			       const struct tally_nl_to *to, void *entry),
		   void *entry);
int tally_nl_dump(struct sk_buff *skb, struct netlink_callback *cb,
		  const struct tally_nl_list *list);
void tally_nl_dump_to(struct netlink_callback *cb, struct tally_nl_to *to);
bool tally_nl_dump_name(struct netlink_callback *cb, int attr,
			const char *name);

int tally_nl_fail(struct netlink_ext_ack *extack, const struct nlattr *attr,
		  const char *reason, int err);
int tally_nl_name(struct genl_info *info, int attr, char *name);
struct tally_node *tally_nl_node(struct net *net, const struct nlattr *attr,
				 struct netlink_ext_ack *extack);
struct tally_node *tally_nl_node_running(struct genl_info *info, int attr);
struct tally_arena *tally_nl_arena(struct tally_node *node,
				   const struct nlattr *attr,
				   struct netlink_ext_ack *extack);
int tally_nl_start(struct netlink_callback *cb, int attr);
int tally_nl_owner(struct genl_info *info, int uid_attr, kuid_t *uid,
		   int gid_attr, kgid_t *gid);
int tally_nl_put_owner(struct sk_buff *skb, int uid_attr, kuid_t uid,
		       int gid_attr, kgid_t gid);
int tally_nl_put_text(struct sk_buff *skb, int attr, const char *text);

u32 tally_nl_generation(void);
void tally_nl_changed(void);

#endif
