/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
/* Do not edit directly, auto-generated from: */
/*	uapi/tally.yaml */
/* YNL-GEN kernel header */

#ifndef _LINUX_TALLY_GEN_H
#define _LINUX_TALLY_GEN_H

#include <net/netlink.h>
#include <net/genetlink.h>

#include <uapi/linux/tally_netlink.h>
#include <uapi/linux/tally.h>
#include <linux/tally.h>

int tally_nl_node_get_start(struct netlink_callback *cb);
int tally_nl_node_users_get_start(struct netlink_callback *cb);
int tally_nl_start(struct netlink_callback *cb);
int tally_nl_object_get_start(struct netlink_callback *cb);
int tally_nl_done(struct netlink_callback *cb);

int tally_nl_node_add_doit(struct sk_buff *skb, struct genl_info *info);
int tally_nl_node_del_doit(struct sk_buff *skb, struct genl_info *info);
int tally_nl_node_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int tally_nl_node_users_get_dumpit(struct sk_buff *skb,
				   struct netlink_callback *cb);
int tally_nl_peer_add_doit(struct sk_buff *skb, struct genl_info *info);
int tally_nl_peer_del_doit(struct sk_buff *skb, struct genl_info *info);
int tally_nl_peer_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int tally_nl_arena_add_doit(struct sk_buff *skb, struct genl_info *info);
int tally_nl_arena_set_doit(struct sk_buff *skb, struct genl_info *info);
int tally_nl_arena_del_doit(struct sk_buff *skb, struct genl_info *info);
int tally_nl_arena_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int tally_nl_object_add_doit(struct sk_buff *skb, struct genl_info *info);
int tally_nl_object_set_doit(struct sk_buff *skb, struct genl_info *info);
int tally_nl_object_del_doit(struct sk_buff *skb, struct genl_info *info);
int tally_nl_object_get_dumpit(struct sk_buff *skb,
			       struct netlink_callback *cb);
int tally_nl_stats_get_doit(struct sk_buff *skb, struct genl_info *info);
int tally_nl_object_break_doit(struct sk_buff *skb, struct genl_info *info);
int tally_nl_object_ask_doit(struct sk_buff *skb, struct genl_info *info);

enum {
	TALLY_NLGRP_MONITOR,
};

extern struct genl_family tally_nl_family;

#endif /* _LINUX_TALLY_GEN_H */
