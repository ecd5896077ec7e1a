// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <netlink/genl/genl.h>
#include <stdio.h>
#include <string.h>
#include "args.h"
#include "gone.h"
#include "key.h"
#include "mount.h"
#include "nl.h"
#include "out.h"
#include "tally.h"

static const struct tnl_word node_words[] = {
	[TALLY_A_NODE_NAME] = { "node", true },
	[TALLY_A_NODE_PORT] = { "port", false },
	[TALLY_A_NODE_LEASE] = { "lease", false },
	[TALLY_A_NODE_EPOCH] = { "epoch", false },
	[TALLY_A_NODE_KEY] = { "key", true },
	[TALLY_A_NODE_NO_ATOMICS] = { "atomics", false },
	[TALLY_A_NODE_MEM_LIMIT] = { "mem", false },
	[TALLY_A_NODE_CLEAN] = { "clean", false },
	[TALLY_A_NODE_NETNS] = { "netns", false },
	[TALLY_A_NODE_ALL] = { "all", false },
	[TALLY_A_NODE_GRACE] = { "grace", false },
};

static const struct tnl_word user_words[] = {
	[TALLY_A_USER_NODE] = { "node", true },
};

struct node_args {
	uint16_t port;
	uint32_t lease;
	uint32_t grace;
	uint32_t epoch;
	const char *key;
	const char *keyfile;
	bool atomics;
	uint64_t mem;
	bool clean;
	bool nomount;
};

static const char *state_word(uint32_t state)
{
	switch (state) {
	case TALLY_NODE_STATUS_RUNNING:
		return "running";
	case TALLY_NODE_STATUS_STOPPING:
		return "stopping";
	default:
		return "stopped";
	}
}

static void show_epoch(struct nlattr **a)
{
	if (a[TALLY_A_NODE_EPOCH])
		out_u64("epoch", "epoch", tnl_num(a[TALLY_A_NODE_EPOCH]), "");
	out_bool("tokens_across_starts", a[TALLY_A_NODE_EPOCH], "",
		 "no epoch: tokens hold within this incarnation only");
}

static void show_any(struct nlattr **a, bool all)
{
	uint64_t limit = tnl_num(a[TALLY_A_NODE_MEM_LIMIT]);

	out_begin();
	out_str("name", NULL, tnl_str(a[TALLY_A_NODE_NAME]));
	if (all || opt.json)
		out_u64("netns", "netns", tnl_num(a[TALLY_A_NODE_NETNS]), "");
	out_str("state", NULL, state_word(tnl_num(a[TALLY_A_NODE_STATE])));
	out_u64("port", "port", tnl_num(a[TALLY_A_NODE_PORT]), "");
	out_u64("lease_ms", "lease", tnl_num(a[TALLY_A_NODE_LEASE]), "ms");
	if (opt.json || tnl_num(a[TALLY_A_NODE_GRACE]) !=
			tnl_num(a[TALLY_A_NODE_LEASE]))
		out_u64("grace_ms", "grace", tnl_num(a[TALLY_A_NODE_GRACE]), "ms");
	out_bool("atomics", !a[TALLY_A_NODE_NO_ATOMICS], "", "atomics off");
	if (a[TALLY_A_NODE_KEY])
		out_str("key", "key", tnl_str(a[TALLY_A_NODE_KEY]));
	out_bool("auth", a[TALLY_A_NODE_KEY], "", "auth none");
	out_bool("clean", a[TALLY_A_NODE_CLEAN], "clean", "");
	out_line();
	out_hex("incarnation", "incarnation",
		tnl_num(a[TALLY_A_NODE_INCARNATION]));
	out_ms("age_ms", "up", tnl_num(a[TALLY_A_NODE_AGE]));
	show_epoch(a);
	out_line();
	out_u64("peers", "peers", tnl_num(a[TALLY_A_NODE_PEERS]), "");
	out_u64("arenas", "arenas", tnl_num(a[TALLY_A_NODE_ARENAS]), "");
	out_u64("users", "users", tnl_num(a[TALLY_A_NODE_USERS]), "");
	out_size("mem_used", "memory", tnl_num(a[TALLY_A_NODE_MEM_USED]));
	if (limit)
		out_size("mem_limit", "of", limit);
	out_end();
}

static void show_node(struct nlattr **a, struct nlmsghdr *hdr)
{
	(void)hdr;
	show_any(a, false);
}

static void show_with_netns(struct nlattr **a, struct nlmsghdr *hdr)
{
	(void)hdr;
	show_any(a, true);
}

static int node_put(struct tnl_request *req, const char *name,
		    const struct arg *args, const struct node_args *val)
{
	/* In the order of the table in node_add(). */
	enum { PORT, LEASE, GRACE, EPOCH, ATOMICS, MEM, CLEAN };
	struct nl_msg *msg = req->msg;
	int err;

	err = nla_put_string(msg, TALLY_A_NODE_NAME, name);
	if (args[PORT].seen)
		err |= nla_put_u16(msg, TALLY_A_NODE_PORT, val->port);
	if (args[LEASE].seen)
		err |= nla_put_u32(msg, TALLY_A_NODE_LEASE, val->lease);
	if (args[GRACE].seen)
		err |= nla_put_u32(msg, TALLY_A_NODE_GRACE, val->grace);
	if (args[EPOCH].seen)
		err |= nla_put_u32(msg, TALLY_A_NODE_EPOCH, val->epoch);
	if (val->key)
		err |= nla_put_string(msg, TALLY_A_NODE_KEY, val->key);
	if (args[ATOMICS].seen && !val->atomics)
		err |= nla_put_flag(msg, TALLY_A_NODE_NO_ATOMICS);
	if (args[MEM].seen)
		err |= nla_put_u64(msg, TALLY_A_NODE_MEM_LIMIT, val->mem);
	if (args[CLEAN].seen)
		err |= nla_put_flag(msg, TALLY_A_NODE_CLEAN);
	return tnl_ready(req, err);
}

static int node_add(int argc, char **argv)
{
	struct tnl_request req = { .words = node_words,
				  .count = TALLY_A_NODE_MAX + 1 };
	struct node_args val = { .atomics = true };
	struct arg args[] = {
		{ .key = "port", .parse = arg_port, .to = &val.port },
		{ .key = "lease", .parse = arg_u32, .to = &val.lease },
		{ .key = "grace", .parse = arg_u32, .to = &val.grace },
		{ .key = "epoch", .parse = arg_u32, .to = &val.epoch },
		{ .key = "atomics", .parse = arg_onoff, .to = &val.atomics },
		{ .key = "mem", .parse = arg_size, .to = &val.mem },
		{ .key = "clean", .to = &val.clean },
		{ .key = "key", .parse = arg_word, .to = &val.key },
		{ .key = "keyfile", .parse = arg_word, .to = &val.keyfile },
		{ .key = "nomount", .to = &val.nomount },
		{ .key = NULL },
	};
	const char *name;

	if (args_name(&argc, &argv, "node", &name) ||
	    args_parse(argc, argv, args) || args_same_node(name))
		return USAGE;
	if (val.key && val.keyfile) {
		say("node add %s: write key or keyfile, not both", name);
		return USAGE;
	}
	snprintf(req.about, sizeof(req.about), "node add %s", name);
	if ((val.keyfile && key_from_file(val.keyfile, &val.key)) ||
	    tnl_begin(&req, TALLY_CMD_NODE_ADD, false) ||
	    node_put(&req, name, args, &val) ||
	    tnl_talk(&req, TALLY_A_NODE_MAX, opt.json ? show_node : NULL))
		return FAILED;
	return val.nomount ? DONE : mount_node(name);
}

static int node_del(int argc, char **argv)
{
	struct tnl_request req = { .words = node_words,
				  .count = TALLY_A_NODE_MAX + 1,
				  .quiet = EALREADY };
	uint32_t netns = 0;
	struct arg args[] = {
		{ .key = "netns", .parse = arg_u32, .to = &netns },
		{ .key = NULL },
	};
	const char *name;
	int err;

	if (args_name(&argc, &argv, "node", &name) ||
	    args_parse(argc, argv, args) || args_same_node(name))
		return USAGE;
	snprintf(req.about, sizeof(req.about), "node del %s", name);
	if (tnl_begin(&req, TALLY_CMD_NODE_DEL, false))
		return FAILED;
	err = nla_put_string(req.msg, TALLY_A_NODE_NAME, name);
	if (args[0].seen)
		err |= nla_put_u32(req.msg, TALLY_A_NODE_NETNS, netns);
	if (tnl_ready(&req, err))
		return FAILED;
	if (tnl_talk(&req, TALLY_A_NODE_MAX, NULL) &&
	    req.error != EALREADY)
		return FAILED;
	if (gone_node(name, netns)) {
		say("node %s: still stopping after %d s; see 'tally node show users %s'",
		    name, GONE_SECONDS, name);
		return TIMED_OUT;
	}
	if (!netns)
		unmount_node(name);
	return DONE;
}

static void show_user(struct nlattr **a, struct nlmsghdr *hdr)
{
	(void)hdr;
	out_begin();
	out_str("what", NULL, tnl_str(a[TALLY_A_USER_WHAT]));
	if (a[TALLY_A_USER_OBJECT])
		out_str("object", NULL, tnl_str(a[TALLY_A_USER_OBJECT]));
	if (a[TALLY_A_USER_PID])
		out_u64("pid", "pid", tnl_num(a[TALLY_A_USER_PID]), "");
	out_str("comm", NULL, tnl_str(a[TALLY_A_USER_COMM]));
	out_str("node", a[TALLY_A_USER_STOPPED] ? "of stopped node" : "",
		tnl_str(a[TALLY_A_USER_NODE]));
	out_bool("stopped", a[TALLY_A_USER_STOPPED], "", "");
	out_end();
}

static int node_show_users(int argc, char **argv)
{
	struct tnl_request req = { .words = user_words,
				  .count = TALLY_A_USER_NODE + 1,
				  .list = true };
	const char *name = NULL;

	if (argc && args_name(&argc, &argv, "node", &name))
		return USAGE;
	if (args_none(argc, argv))
		return USAGE;
	snprintf(req.about, sizeof(req.about), "node show users%s%s",
		 name ? " " : "", name ? name : "");
	if (tnl_begin(&req, TALLY_CMD_NODE_USERS_GET, true))
		return FAILED;
	tnl_put_node(&req, TALLY_A_USER_NODE, name);
	return tnl_talk(&req, TALLY_A_USER_MAX, show_user);
}

static int node_show(int argc, char **argv)
{
	struct tnl_request req = { .words = node_words,
				  .count = TALLY_A_NODE_MAX + 1,
				  .list = true };
	bool all = argc && !strcmp(argv[0], "all");
	const char *name = NULL;

	if (argc && !strcmp(argv[0], "users"))
		return node_show_users(argc - 1, argv + 1);
	if (all) {
		argc--;
		argv++;
	} else if (argc && args_name(&argc, &argv, "node", &name)) {
		return USAGE;
	}
	if (args_none(argc, argv))
		return USAGE;
	snprintf(req.about, sizeof(req.about), "node show%s%s",
		 name || all ? " " : "", all ? "all" : name ? name : "");
	if (tnl_begin(&req, TALLY_CMD_NODE_GET, true))
		return FAILED;
	if (all && tnl_ready(&req, nla_put_flag(req.msg, TALLY_A_NODE_ALL)))
		return FAILED;
	if (!all)
		tnl_put_node(&req, TALLY_A_NODE_NAME, name);
	return tnl_talk(&req, TALLY_A_NODE_MAX,
			all ? show_with_netns : show_node);
}

const struct command node_commands[] = {
	{ "add", node_add,
	  "NAME [ port PORT ] [ lease MS ] [ grace MS ] [ epoch N ]\n"
	  "                       [ keyfile FILE | key DESCRIPTION ] [ atomics { on | off } ]\n"
	  "                       [ mem SIZE ] [ clean ] [ nomount ]" },
	{ "del", node_del, "NAME [ netns ID ]" },
	{ "show", node_show, "[ NAME | all | users [ NAME ] ]" },
	{ NULL, NULL, NULL },
};
