// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <linux/tally.h>
#include <stdio.h>
#include <sys/stat.h>
#include "args.h"
#include "gone.h"
#include "mount.h"
#include "nl.h"
#include "out.h"
#include "remote.h"
#include "tally.h"

static const struct tnl_word arena_words[TALLY_A_ARENA_MAX + 1] = {
	[TALLY_A_ARENA_NODE] = { "node", true },
	[TALLY_A_ARENA_NAME] = { "arena", true },
	[TALLY_A_ARENA_MODE] = { "mode", false },
	[TALLY_A_ARENA_DEVICE] = { "device", true },
	[TALLY_A_ARENA_WORDS] = { "words", false },
	[TALLY_A_ARENA_ACCESS] = { "access", false },
	[TALLY_A_ARENA_PEER] = { "peer", true },
	[TALLY_A_ARENA_UID] = { "owner", false },
	[TALLY_A_ARENA_GID] = { "group", false },
	[TALLY_A_ARENA_PERM] = { "perm", false },
};

struct arena_args {
	const char *node;
	uint32_t mode;
	const char *device;
	uint64_t words;
	uint32_t access;
	const char *peer;
	uint32_t uid;
	uint32_t gid;
	uint32_t perm;
};

/* What the keys mean to the kernel; the same order as in the tables below. */
enum { OWNER, GROUP, PERM, ACCESS, NODE, MODE, DEVICE, WORDS, PEER = MODE };

static const char *mode_word(uint64_t mode)
{
	return mode == TALLY_MODE_NIC ? "nic" :
	       mode == TALLY_MODE_CPU ? "cpu" : "auto";
}

static const char *access_word(uint64_t access)
{
	return access == TALLY_ACCESS_RW ? "rw" :
	       access == TALLY_ACCESS_RO ? "ro" : "none";
}

static const char *state_word(uint64_t state)
{
	return state == TALLY_ARENA_STATUS_READY ? "ready" :
	       state == TALLY_ARENA_STATUS_STARTING ? "starting" : "dead";
}

static void show_mode(struct nlattr **a)
{
	const char *asked = mode_word(tnl_num(a[TALLY_A_ARENA_MODE]));

	if (a[TALLY_A_ARENA_MODE_USED])
		out_str("mode", "mode",
			mode_word(tnl_num(a[TALLY_A_ARENA_MODE_USED])));
	else
		out_str("mode", "mode", asked);
	out_str("mode_asked", "asked", asked);
	if (a[TALLY_A_ARENA_DEVICE])
		out_str("device", "device", tnl_str(a[TALLY_A_ARENA_DEVICE]));
	if (tnl_num(a[TALLY_A_ARENA_STATE]) == TALLY_ARENA_STATUS_STARTING)
		out_str("waits_for", "waits for", a[TALLY_A_ARENA_DEVICE] ?
			"that device" : "an RDMA device");
}

static void show_right(struct nlattr *right)
{
	struct nlattr *tb[TALLY_A_RIGHT_MAX + 1];

	if (nla_parse_nested(tb, TALLY_A_RIGHT_MAX, right, NULL))
		return;
	out_begin_object(NULL);
	out_str("peer", NULL, tnl_str(tb[TALLY_A_RIGHT_PEER]));
	out_str("access", NULL, access_word(tnl_num(tb[TALLY_A_RIGHT_ACCESS])));
	out_end_object();
}

static void show_rights(struct nlattr **a, struct nlmsghdr *hdr)
{
	uint64_t count = tnl_num(a[TALLY_A_ARENA_RIGHTS]);
	struct nlattr *pos;

	out_line();
	out_str("access", "access", access_word(tnl_num(a[TALLY_A_ARENA_ACCESS])));
	out_u64("rights_count", "", count, "");
	out_begin_array("rights", a[TALLY_A_ARENA_RIGHT] ? "but" : "");
	for (pos = tnl_next(hdr, NULL, TALLY_A_ARENA_RIGHT); pos;
	     pos = tnl_next(hdr, pos, TALLY_A_ARENA_RIGHT)) {
		show_right(pos);
		count--;
	}
	out_end_array();
	if (count)
		out_u64(NULL, "and", count, " more");
}

static void show_attached(struct nlattr **a, struct nlmsghdr *hdr)
{
	uint64_t count = tnl_num(a[TALLY_A_ARENA_ATTACHED]);
	struct nlattr *pos;

	out_line();
	out_u64("attached", "attached", count, count ? ":" : "");
	out_begin_array("attached_nodes", "");
	for (pos = tnl_next(hdr, NULL, TALLY_A_ARENA_ATTACHED_NODE); pos;
	     pos = tnl_next(hdr, pos, TALLY_A_ARENA_ATTACHED_NODE)) {
		out_str("", NULL, tnl_str(pos));
		count--;
	}
	out_end_array();
	if (count)
		out_u64(NULL, "and", count, " more");
}

static void show_arena(struct nlattr **a, struct nlmsghdr *hdr)
{
	out_begin();
	out_str("name", NULL, tnl_str(a[TALLY_A_ARENA_NAME]));
	out_u64("id", "", tnl_num(a[TALLY_A_ARENA_ID]), "");
	out_str("state", NULL, state_word(tnl_num(a[TALLY_A_ARENA_STATE])));
	show_mode(a);
	out_size("words", "words", tnl_num(a[TALLY_A_ARENA_WORDS]));
	out_u64("words_used", "used", tnl_num(a[TALLY_A_ARENA_WORDS_USED]), "");
	out_u64("objects", "objects", tnl_num(a[TALLY_A_ARENA_OBJECTS]), "");
	out_uid("uid", "owner", tnl_num(a[TALLY_A_ARENA_UID]));
	out_gid("gid", "group", tnl_num(a[TALLY_A_ARENA_GID]));
	out_perm("perm", "perm", tnl_num(a[TALLY_A_ARENA_PERM]));
	show_rights(a, hdr);
	show_attached(a, hdr);
	out_end();
}

static int put_owner(struct nl_msg *msg, const struct arg *args,
		     const struct arena_args *val)
{
	int err = 0;

	if (args[OWNER].seen)
		err |= nla_put_u32(msg, TALLY_A_ARENA_UID, val->uid);
	if (args[GROUP].seen)
		err |= nla_put_u32(msg, TALLY_A_ARENA_GID, val->gid);
	if (args[PERM].seen)
		err |= nla_put_u32(msg, TALLY_A_ARENA_PERM, val->perm);
	if (args[ACCESS].seen)
		err |= nla_put_u32(msg, TALLY_A_ARENA_ACCESS, val->access);
	return err;
}

static int begin(struct tnl_request *req, uint8_t cmd, const char *verb,
		 const char *name, const char *node)
{
	req->words = arena_words;
	req->count = TALLY_A_ARENA_MAX + 1;
	snprintf(req->about, sizeof(req->about), "arena %s%s%s", verb,
		 name ? " " : "", name ? name : "");
	if (tnl_begin(req, cmd, cmd == TALLY_CMD_ARENA_GET))
		return FAILED;
	tnl_put_node(req, TALLY_A_ARENA_NODE, node);
	if (name)
		nla_put_string(req->msg, TALLY_A_ARENA_NAME, name);
	return DONE;
}

/*
 * Has a node that we reach an arena of that name, or may it have one? A second one
 * would make it ambiguous for all that use the first.
 */
static bool refused(const char *name, const char *node)
{
	char where[PATH_MAX], path[PATH_MAX + 65];
	struct stat st;
	int error;

	if (!mount_of(node ? node : opt.node, where)) {
		say("arena add %s: the peers were not asked for that name: %s", name,
		    "no file system of the node is mounted");
		return false;
	}
	snprintf(path, sizeof(path), "%s/%s", where, name);
	error = stat(path, &st) ? errno : 0;
	if (error == ETIMEDOUT || error == ENOTCONN)
		say("arena add %s: a peer that may have one is out of reach; %s", name,
		    "'force' does not ask");
	else if (!error || error == EACCES || error == ENOTUNIQ)
		say("arena add %s: an arena of that name exists, here or at a peer; %s",
		    name, "'force' adds one all the same, and all have to write ARENA@NODE");
	else
		return false;
	return true;
}

static int arena_add(int argc, char **argv)
{
	struct tnl_request req = { .list = false };
	struct arena_args val = { .node = NULL };
	bool force = false;
	struct arg args[] = {
		[OWNER] = { .key = "owner", .parse = arg_user, .to = &val.uid },
		[GROUP] = { .key = "group", .parse = arg_group, .to = &val.gid },
		[PERM] = { .key = "perm", .parse = arg_perm, .to = &val.perm },
		[ACCESS] = { .key = "access", .parse = arg_access,
			     .to = &val.access },
		[NODE] = { .key = "node", .parse = arg_name, .to = &val.node },
		[MODE] = { .key = "mode", .parse = arg_mode, .to = &val.mode },
		[DEVICE] = { .key = "device", .parse = arg_word,
			     .to = &val.device },
		[WORDS] = { .key = "words", .parse = arg_size,
			    .to = &val.words },
		{ .key = "force", .to = &force },
		{ .key = NULL },
	};
	const char *name;
	int err;

	if (args_name(&argc, &argv, "arena", &name) ||
	    args_parse(argc, argv, args))
		return USAGE;
	if (val.words > UINT32_MAX) {
		say("arena add %s: words: a table has at most 2M", name);
		return USAGE;
	}
	if (!force && refused(name, val.node))
		return FAILED;
	if (begin(&req, TALLY_CMD_ARENA_ADD, "add", name, val.node))
		return FAILED;
	err = put_owner(req.msg, args, &val);
	if (args[MODE].seen)
		err |= nla_put_u32(req.msg, TALLY_A_ARENA_MODE, val.mode);
	if (args[DEVICE].seen)
		err |= nla_put_string(req.msg, TALLY_A_ARENA_DEVICE, val.device);
	if (args[WORDS].seen)
		err |= nla_put_u32(req.msg, TALLY_A_ARENA_WORDS, val.words);
	if (tnl_ready(&req, err))
		return FAILED;
	return tnl_talk(&req, TALLY_A_ARENA_MAX, opt.json ? show_arena : NULL);
}

static int arena_set(int argc, char **argv)
{
	struct tnl_request req = { .list = false };
	struct arena_args val = { .node = NULL };
	struct arg args[] = {
		[OWNER] = { .key = "owner", .parse = arg_user, .to = &val.uid },
		[GROUP] = { .key = "group", .parse = arg_group, .to = &val.gid },
		[PERM] = { .key = "perm", .parse = arg_perm, .to = &val.perm },
		[ACCESS] = { .key = "access", .parse = arg_right,
			     .to = &val.access },
		[NODE] = { .key = "node", .parse = arg_name, .to = &val.node },
		[PEER] = { .key = "peer", .parse = arg_name, .to = &val.peer },
		{ .key = NULL },
	};
	const char *name;
	int err;

	if (args_name(&argc, &argv, "arena", &name) ||
	    args_parse(argc, argv, args))
		return USAGE;
	if (args[PEER].seen && !args[ACCESS].seen) {
		say("arena set %s: peer %s: 'access' is missing", name, val.peer);
		return USAGE;
	}
	if (!args[OWNER].seen && !args[GROUP].seen && !args[PERM].seen &&
	    !args[ACCESS].seen) {
		say("arena set %s: nothing to set: write access, owner, group or perm", name);
		return USAGE;
	}
	if (args[ACCESS].seen && val.access == ACCESS_DEFAULT) {
		if (!args[PEER].seen) {
			say("arena set %s: 'access default' needs 'peer PEER'", name);
			return USAGE;
		}
		args[ACCESS].seen = false;
	}
	if (begin(&req, TALLY_CMD_ARENA_SET, "set", name, val.node))
		return FAILED;
	err = put_owner(req.msg, args, &val);
	if (args[PEER].seen)
		err |= nla_put_string(req.msg, TALLY_A_ARENA_PEER, val.peer);
	if (tnl_ready(&req, err))
		return FAILED;
	return tnl_talk(&req, TALLY_A_ARENA_MAX, opt.json ? show_arena : NULL);
}

static int arena_del(int argc, char **argv)
{
	struct tnl_request req = { .list = false };
	const char *name, *node = NULL;
	struct arg args[] = {
		{ .key = "node", .parse = arg_name, .to = &node },
		{ .key = NULL },
	};

	if (args_name(&argc, &argv, "arena", &name) ||
	    args_parse(argc, argv, args))
		return USAGE;
	if (begin(&req, TALLY_CMD_ARENA_DEL, "del", name, node) ||
	    tnl_talk(&req, TALLY_A_ARENA_MAX, NULL))
		return FAILED;
	if (!gone_arena(node, name))
		return DONE;
	say("arena %s: still ending after %d s; see 'tally arena show %s'",
	    name, GONE_SECONDS, name);
	return TIMED_OUT;
}

static int arena_show(int argc, char **argv)
{
	struct tnl_request req = { .list = true };
	const char *name, *node = NULL;
	struct arg args[] = {
		{ .key = "node", .parse = arg_name, .to = &node },
		{ .key = NULL },
	};
	struct path path = { .arena = "" };
	int status;

	if (args_optional_arena(&argc, &argv, args, &name) ||
	    args_parse(argc, argv, args))
		return USAGE;
	if (name)
		req.none = "";
	if (begin(&req, TALLY_CMD_ARENA_GET, "show", name, node))
		return FAILED;
	if (!name || !strchr(name, '@')) {
		status = tnl_talk(&req, TALLY_A_ARENA_MAX, show_arena);
		if (!status || !name || req.answers || req.error)
			return status;
	}
	snprintf(path.arena, sizeof(path.arena), "%s", name);
	return remote_show(&req, node, &path, 0, TALLY_A_ARENA_MAX,
			   show_arena);
}

const struct command arena_commands[] = {
	{ "add", arena_add,
	  "NAME [ mode { auto | nic | cpu } ] [ device DEVICE ]\n"
	  "                        [ words SIZE ] [ access { none | ro | rw } ]\n"
	  "                        [ owner USER ] [ group GROUP ] [ perm OCTAL ] [ node NODE ]\n"
	  "                        [ force ]" },
	{ "del", arena_del, "NAME [ node NODE ]" },
	{ "set", arena_set,
	  "NAME [ [ peer PEER ] access { none | ro | rw | default } ]\n"
	  "                        [ owner USER ] [ group GROUP ] [ perm OCTAL ] [ node NODE ]" },
	{ "show", arena_show, "[ NAME ] [ node NODE ]" },
	{ NULL, NULL, NULL },
};
