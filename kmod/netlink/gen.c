// SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause)
/* Do not edit directly, auto-generated from: */
/*	uapi/tally.yaml */
/* YNL-GEN kernel source */

#include <net/netlink.h>
#include <net/genetlink.h>

#include "gen.h"

#include <uapi/linux/tally_netlink.h>
#include <uapi/linux/tally.h>
#include <linux/tally.h>

/* Integer value ranges */
static const struct netlink_range_validation tally_a_node_lease_range = {
	.min	= 200ULL,
	.max	= 600000ULL,
};

static const struct netlink_range_validation tally_a_node_grace_range = {
	.min	= 200ULL,
	.max	= 600000ULL,
};

static const struct netlink_range_validation tally_a_arena_words_range = {
	.min	= 4096ULL,
	.max	= 2097152ULL,
};

static const struct netlink_range_validation tally_a_object_budget_range = {
	.max	= 65535ULL,
};

static const struct netlink_range_validation tally_a_object_budget_ms_range = {
	.max	= 65535ULL,
};

/* TALLY_CMD_NODE_ADD - do */
static const struct nla_policy tally_node_add_nl_policy[TALLY_A_NODE_GRACE + 1] = {
	[TALLY_A_NODE_NAME] = { .type = NLA_NUL_STRING, .len = TALLY_NAME_LEN, },
	[TALLY_A_NODE_PORT] = NLA_POLICY_MIN(NLA_U16, 1),
	[TALLY_A_NODE_LEASE] = NLA_POLICY_FULL_RANGE(NLA_U32, &tally_a_node_lease_range),
	[TALLY_A_NODE_EPOCH] = NLA_POLICY_RANGE(NLA_U32, 1, 16383),
	[TALLY_A_NODE_KEY] = { .type = NLA_NUL_STRING, .len = 127, },
	[TALLY_A_NODE_NO_ATOMICS] = { .type = NLA_FLAG, },
	[TALLY_A_NODE_MEM_LIMIT] = NLA_POLICY_MIN(NLA_U64, 1),
	[TALLY_A_NODE_CLEAN] = { .type = NLA_FLAG, },
	[TALLY_A_NODE_GRACE] = NLA_POLICY_FULL_RANGE(NLA_U32, &tally_a_node_grace_range),
};

/* TALLY_CMD_NODE_DEL - do */
static const struct nla_policy tally_node_del_nl_policy[TALLY_A_NODE_NETNS + 1] = {
	[TALLY_A_NODE_NAME] = { .type = NLA_NUL_STRING, .len = TALLY_NAME_LEN, },
	[TALLY_A_NODE_NETNS] = { .type = NLA_U32, },
};

/* TALLY_CMD_NODE_GET - dump */
static const struct nla_policy tally_node_get_nl_policy[TALLY_A_NODE_ALL + 1] = {
	[TALLY_A_NODE_NAME] = { .type = NLA_NUL_STRING, .len = TALLY_NAME_LEN, },
	[TALLY_A_NODE_ALL] = { .type = NLA_FLAG, },
};

/* TALLY_CMD_NODE_USERS_GET - dump */
static const struct nla_policy tally_node_users_get_nl_policy[TALLY_A_USER_NODE + 1] = {
	[TALLY_A_USER_NODE] = { .type = NLA_NUL_STRING, .len = TALLY_NAME_LEN, },
};

/* TALLY_CMD_PEER_ADD - do */
static const struct nla_policy tally_peer_add_nl_policy[TALLY_A_PEER_KEY + 1] = {
	[TALLY_A_PEER_NODE] = { .type = NLA_NUL_STRING, .len = TALLY_NAME_LEN, },
	[TALLY_A_PEER_NAME] = { .type = NLA_NUL_STRING, .len = TALLY_NAME_LEN, },
	[TALLY_A_PEER_ADDR] = NLA_POLICY_EXACT_LEN(16),
	[TALLY_A_PEER_SCOPE] = { .type = NLA_U32, },
	[TALLY_A_PEER_PORT] = NLA_POLICY_MIN(NLA_U16, 1),
	[TALLY_A_PEER_KEY] = { .type = NLA_NUL_STRING, .len = 127, },
};

/* TALLY_CMD_PEER_DEL - do */
static const struct nla_policy tally_peer_del_nl_policy[TALLY_A_PEER_NAME + 1] = {
	[TALLY_A_PEER_NODE] = { .type = NLA_NUL_STRING, .len = TALLY_NAME_LEN, },
	[TALLY_A_PEER_NAME] = { .type = NLA_NUL_STRING, .len = TALLY_NAME_LEN, },
};

/* TALLY_CMD_ARENA_ADD - do */
static const struct nla_policy tally_arena_add_nl_policy[TALLY_A_ARENA_PERM + 1] = {
	[TALLY_A_ARENA_NODE] = { .type = NLA_NUL_STRING, .len = TALLY_NAME_LEN, },
	[TALLY_A_ARENA_NAME] = { .type = NLA_NUL_STRING, .len = TALLY_NAME_LEN, },
	[TALLY_A_ARENA_MODE] = NLA_POLICY_MAX(NLA_U32, 2),
	[TALLY_A_ARENA_DEVICE] = { .type = NLA_NUL_STRING, .len = 63, },
	[TALLY_A_ARENA_WORDS] = NLA_POLICY_FULL_RANGE(NLA_U32, &tally_a_arena_words_range),
	[TALLY_A_ARENA_ACCESS] = NLA_POLICY_MAX(NLA_U32, 2),
	[TALLY_A_ARENA_UID] = { .type = NLA_U32, },
	[TALLY_A_ARENA_GID] = { .type = NLA_U32, },
	[TALLY_A_ARENA_PERM] = NLA_POLICY_MAX(NLA_U32, 511),
};

/* TALLY_CMD_ARENA_SET - do */
static const struct nla_policy tally_arena_set_nl_policy[TALLY_A_ARENA_PERM + 1] = {
	[TALLY_A_ARENA_NODE] = { .type = NLA_NUL_STRING, .len = TALLY_NAME_LEN, },
	[TALLY_A_ARENA_NAME] = { .type = NLA_NUL_STRING, .len = TALLY_NAME_LEN, },
	[TALLY_A_ARENA_ACCESS] = NLA_POLICY_MAX(NLA_U32, 2),
	[TALLY_A_ARENA_PEER] = { .type = NLA_NUL_STRING, .len = TALLY_NAME_LEN, },
	[TALLY_A_ARENA_UID] = { .type = NLA_U32, },
	[TALLY_A_ARENA_GID] = { .type = NLA_U32, },
	[TALLY_A_ARENA_PERM] = NLA_POLICY_MAX(NLA_U32, 511),
};

/* TALLY_CMD_ARENA_DEL - do */
static const struct nla_policy tally_arena_del_nl_policy[TALLY_A_ARENA_NAME + 1] = {
	[TALLY_A_ARENA_NODE] = { .type = NLA_NUL_STRING, .len = TALLY_NAME_LEN, },
	[TALLY_A_ARENA_NAME] = { .type = NLA_NUL_STRING, .len = TALLY_NAME_LEN, },
};

/* TALLY_CMD_OBJECT_ADD - do */
static const struct nla_policy tally_object_add_nl_policy[TALLY_A_OBJECT_BUDGET_MS + 1] = {
	[TALLY_A_OBJECT_NODE] = { .type = NLA_NUL_STRING, .len = TALLY_NAME_LEN, },
	[TALLY_A_OBJECT_ARENA] = { .type = NLA_NUL_STRING, .len = TALLY_NAME_LEN, },
	[TALLY_A_OBJECT_NAME] = { .type = NLA_NUL_STRING, .len = TALLY_NAME_LEN, },
	[TALLY_A_OBJECT_TYPE] = NLA_POLICY_RANGE(NLA_U32, 1, 255),
	[TALLY_A_OBJECT_UID] = { .type = NLA_U32, },
	[TALLY_A_OBJECT_GID] = { .type = NLA_U32, },
	[TALLY_A_OBJECT_PERM] = NLA_POLICY_MAX(NLA_U32, 511),
	[TALLY_A_OBJECT_CLASS] = NLA_POLICY_MAX(NLA_U32, 1),
	[TALLY_A_OBJECT_SIZE] = NLA_POLICY_MIN(NLA_U64, 1),
	[TALLY_A_OBJECT_INITIAL] = { .type = NLA_U64, },
	[TALLY_A_OBJECT_CACHE] = NLA_POLICY_MAX(NLA_U32, 1),
	[TALLY_A_OBJECT_BUDGET] = NLA_POLICY_FULL_RANGE(NLA_U32, &tally_a_object_budget_range),
	[TALLY_A_OBJECT_BUDGET_MS] = NLA_POLICY_FULL_RANGE(NLA_U32, &tally_a_object_budget_ms_range),
};

/* TALLY_CMD_OBJECT_SET - do */
static const struct nla_policy tally_object_set_nl_policy[TALLY_A_OBJECT_BUDGET_MS + 1] = {
	[TALLY_A_OBJECT_NODE] = { .type = NLA_NUL_STRING, .len = TALLY_NAME_LEN, },
	[TALLY_A_OBJECT_ARENA] = { .type = NLA_NUL_STRING, .len = TALLY_NAME_LEN, },
	[TALLY_A_OBJECT_NAME] = { .type = NLA_NUL_STRING, .len = TALLY_NAME_LEN, },
	[TALLY_A_OBJECT_TYPE] = NLA_POLICY_RANGE(NLA_U32, 1, 255),
	[TALLY_A_OBJECT_CACHE] = NLA_POLICY_MAX(NLA_U32, 1),
	[TALLY_A_OBJECT_BUDGET] = NLA_POLICY_FULL_RANGE(NLA_U32, &tally_a_object_budget_range),
	[TALLY_A_OBJECT_BUDGET_MS] = NLA_POLICY_FULL_RANGE(NLA_U32, &tally_a_object_budget_ms_range),
};

/* TALLY_CMD_OBJECT_DEL - do */
static const struct nla_policy tally_object_del_nl_policy[TALLY_A_OBJECT_TYPE + 1] = {
	[TALLY_A_OBJECT_NODE] = { .type = NLA_NUL_STRING, .len = TALLY_NAME_LEN, },
	[TALLY_A_OBJECT_ARENA] = { .type = NLA_NUL_STRING, .len = TALLY_NAME_LEN, },
	[TALLY_A_OBJECT_NAME] = { .type = NLA_NUL_STRING, .len = TALLY_NAME_LEN, },
	[TALLY_A_OBJECT_TYPE] = NLA_POLICY_RANGE(NLA_U32, 1, 255),
};

/* TALLY_CMD_STATS_GET - do */
static const struct nla_policy tally_stats_get_nl_policy[TALLY_A_STAT_NODE + 1] = {
	[TALLY_A_STAT_NODE] = { .type = NLA_NUL_STRING, .len = TALLY_NAME_LEN, },
};

/* Ops table for tally */
static const struct genl_split_ops tally_nl_ops[] = {
	{
		.cmd		= TALLY_CMD_NODE_ADD,
		.doit		= tally_nl_node_add_doit,
		.policy		= tally_node_add_nl_policy,
		.maxattr	= TALLY_A_NODE_GRACE,
		.flags		= GENL_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= TALLY_CMD_NODE_DEL,
		.doit		= tally_nl_node_del_doit,
		.policy		= tally_node_del_nl_policy,
		.maxattr	= TALLY_A_NODE_NETNS,
		.flags		= GENL_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= TALLY_CMD_NODE_GET,
		.start		= tally_nl_node_get_start,
		.dumpit		= tally_nl_node_get_dumpit,
		.done		= tally_nl_done,
		.policy		= tally_node_get_nl_policy,
		.maxattr	= TALLY_A_NODE_ALL,
		.flags		= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= TALLY_CMD_NODE_USERS_GET,
		.start		= tally_nl_node_users_get_start,
		.dumpit		= tally_nl_node_users_get_dumpit,
		.done		= tally_nl_done,
		.policy		= tally_node_users_get_nl_policy,
		.maxattr	= TALLY_A_USER_NODE,
		.flags		= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= TALLY_CMD_PEER_ADD,
		.doit		= tally_nl_peer_add_doit,
		.policy		= tally_peer_add_nl_policy,
		.maxattr	= TALLY_A_PEER_KEY,
		.flags		= GENL_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= TALLY_CMD_PEER_DEL,
		.doit		= tally_nl_peer_del_doit,
		.policy		= tally_peer_del_nl_policy,
		.maxattr	= TALLY_A_PEER_NAME,
		.flags		= GENL_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= TALLY_CMD_PEER_GET,
		.start		= tally_nl_start,
		.dumpit		= tally_nl_peer_get_dumpit,
		.done		= tally_nl_done,
		.policy		= tally_peer_del_nl_policy,
		.maxattr	= TALLY_A_PEER_NAME,
		.flags		= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= TALLY_CMD_ARENA_ADD,
		.doit		= tally_nl_arena_add_doit,
		.policy		= tally_arena_add_nl_policy,
		.maxattr	= TALLY_A_ARENA_PERM,
		.flags		= GENL_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= TALLY_CMD_ARENA_SET,
		.doit		= tally_nl_arena_set_doit,
		.policy		= tally_arena_set_nl_policy,
		.maxattr	= TALLY_A_ARENA_PERM,
		.flags		= GENL_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= TALLY_CMD_ARENA_DEL,
		.doit		= tally_nl_arena_del_doit,
		.policy		= tally_arena_del_nl_policy,
		.maxattr	= TALLY_A_ARENA_NAME,
		.flags		= GENL_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= TALLY_CMD_ARENA_GET,
		.start		= tally_nl_start,
		.dumpit		= tally_nl_arena_get_dumpit,
		.done		= tally_nl_done,
		.policy		= tally_arena_del_nl_policy,
		.maxattr	= TALLY_A_ARENA_NAME,
		.flags		= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= TALLY_CMD_OBJECT_ADD,
		.doit		= tally_nl_object_add_doit,
		.policy		= tally_object_add_nl_policy,
		.maxattr	= TALLY_A_OBJECT_BUDGET_MS,
		.flags		= GENL_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= TALLY_CMD_OBJECT_SET,
		.doit		= tally_nl_object_set_doit,
		.policy		= tally_object_set_nl_policy,
		.maxattr	= TALLY_A_OBJECT_BUDGET_MS,
		.flags		= GENL_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= TALLY_CMD_OBJECT_DEL,
		.doit		= tally_nl_object_del_doit,
		.policy		= tally_object_del_nl_policy,
		.maxattr	= TALLY_A_OBJECT_TYPE,
		.flags		= GENL_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= TALLY_CMD_OBJECT_GET,
		.start		= tally_nl_object_get_start,
		.dumpit		= tally_nl_object_get_dumpit,
		.done		= tally_nl_done,
		.policy		= tally_object_del_nl_policy,
		.maxattr	= TALLY_A_OBJECT_TYPE,
		.flags		= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= TALLY_CMD_STATS_GET,
		.doit		= tally_nl_stats_get_doit,
		.policy		= tally_stats_get_nl_policy,
		.maxattr	= TALLY_A_STAT_NODE,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= TALLY_CMD_OBJECT_BREAK,
		.doit		= tally_nl_object_break_doit,
		.policy		= tally_object_del_nl_policy,
		.maxattr	= TALLY_A_OBJECT_TYPE,
		.flags		= GENL_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= TALLY_CMD_OBJECT_ASK,
		.doit		= tally_nl_object_ask_doit,
		.policy		= tally_object_del_nl_policy,
		.maxattr	= TALLY_A_OBJECT_TYPE,
		.flags		= GENL_CMD_CAP_DO,
	},
};

static const struct genl_multicast_group tally_nl_mcgrps[] = {
	[TALLY_NLGRP_MONITOR] = { "monitor", },
};

struct genl_family tally_nl_family __ro_after_init = {
	.name		= TALLY_FAMILY_NAME,
	.version	= TALLY_FAMILY_VERSION,
	.netnsok	= true,
	.parallel_ops	= true,
	.module		= THIS_MODULE,
	.split_ops	= tally_nl_ops,
	.n_split_ops	= ARRAY_SIZE(tally_nl_ops),
	.mcgrps		= tally_nl_mcgrps,
	.n_mcgrps	= ARRAY_SIZE(tally_nl_mcgrps),
};
