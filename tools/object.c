// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <linux/tally.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "args.h"
#include "nl.h"
#include "object.h"
#include "out.h"
#include "remote.h"
#include "tally.h"

#define LOOK_MS		500	/* at a lock that is being broken */
#define BREAK_MORE_MS	5000	/* beyond a quarter of the lease */
#define ASK_MS		2200	/* the module takes 2 s at most */

static const struct tnl_word object_words[TALLY_A_OBJECT_MAX + 1] = {
	[TALLY_A_OBJECT_NODE] = { "node", true },
	[TALLY_A_OBJECT_ARENA] = { "arena", true },
	[TALLY_A_OBJECT_NAME] = { "object", true },
	[TALLY_A_OBJECT_UID] = { "owner", false },
	[TALLY_A_OBJECT_GID] = { "group", false },
	[TALLY_A_OBJECT_PERM] = { "perm", false },
	[TALLY_A_OBJECT_CLASS] = { "class", false },
	[TALLY_A_OBJECT_SIZE] = { "size", false },
	[TALLY_A_OBJECT_INITIAL] = { "initial", false },
	[TALLY_A_OBJECT_CACHE] = { "cache", false },
	[TALLY_A_OBJECT_BUDGET] = { "budget", false },
	[TALLY_A_OBJECT_BUDGET_MS] = { "within", false },
};

struct object_args {
	const char *node;
	uint32_t uid;
	uint32_t gid;
	uint32_t perm;
	uint64_t number;	/* of a counter: initial value; of a region: bytes */
	uint32_t lock_class;
};

/* How nodes treat a lock. */
struct settings {
	bool cache;
	uint32_t budget;
	uint32_t within;
};

/*
 * A lock that is being broken: its id (0: not known yet), whether it was found at
 * the last look, and had been taken away; its home's lease.
 */
static struct {
	uint32_t id;
	bool found;
	bool over;
	uint64_t lease_ms;
} broken;

/* The event that is waited for, and whether it came. */
static struct {
	const char *event;
	const char *subject;
	bool woken;
} wait;

enum { OWNER, GROUP, PERM, NODE, OWN, SETTINGS };

enum { CACHE, BUDGET, WITHIN, SETTINGS_COUNT };

static void show_waiters(struct nlattr **a, struct nlmsghdr *hdr)
{
	uint64_t count = tnl_num(a[TALLY_A_OBJECT_WAITERS]);
	struct nlattr *pos;

	out_u64("waiters", "waiters", count, count ? ":" : "");
	out_begin_array("waiting_nodes", "");
	for (pos = tnl_next(hdr, NULL, TALLY_A_OBJECT_WAITER); pos;
	     pos = tnl_next(hdr, pos, TALLY_A_OBJECT_WAITER)) {
		out_str("", NULL, tnl_str(pos));
		count--;
	}
	out_end_array();
	if (count)
		out_u64(NULL, "and", count, " more");
}

static void show_holder(struct nlattr **a)
{
	bool shared = tnl_num(a[TALLY_A_OBJECT_SHARED]);

	out_str("mode", "mode", shared ? "shared" : "exclusive");
	out_u64("holders", shared ? "holders" : "",
		tnl_num(a[TALLY_A_OBJECT_HOLDERS]), "");
	if (a[TALLY_A_OBJECT_HOLDER_PID])
		out_u64("pid", "pid", tnl_num(a[TALLY_A_OBJECT_HOLDER_PID]), "");
	if (a[TALLY_A_OBJECT_HOLDER_COMM])
		out_str("comm", "comm", tnl_str(a[TALLY_A_OBJECT_HOLDER_COMM]));
	if (a[TALLY_A_OBJECT_LEASE])
		out_ms("lease_ms", "lease", tnl_num(a[TALLY_A_OBJECT_LEASE]));
}

static void show_lock(struct nlattr **a, struct nlmsghdr *hdr)
{
	bool held = a[TALLY_A_OBJECT_HOLDER] || a[TALLY_A_OBJECT_HOLDER_SLOT];

	out_str("class", "class",
		tnl_num(a[TALLY_A_OBJECT_CLASS]) == TALLY_CLASS_REGION ?
		"region" : "external");
	out_line();
	out_str("state", "state", tnl_str(a[TALLY_A_OBJECT_LOCK_STATE]));
	out_u64("token", "token", tnl_num(a[TALLY_A_OBJECT_TOKEN]), "");
	if (held) {
		if (a[TALLY_A_OBJECT_HOLDER])
			out_str("holder", "holder",
				tnl_str(a[TALLY_A_OBJECT_HOLDER]));
		out_u64("holder_slot", "slot",
			tnl_num(a[TALLY_A_OBJECT_HOLDER_SLOT]), "");
		show_holder(a);
		/* The home is not told when a fast tenure began. */
		if (a[TALLY_A_OBJECT_AGE])
			out_ms("age_ms", "for", tnl_num(a[TALLY_A_OBJECT_AGE]));
	}
	out_str("cache", "cache",
		tnl_num(a[TALLY_A_OBJECT_CACHE]) ? "on" : "off");
	out_u64("budget", "budget", tnl_num(a[TALLY_A_OBJECT_BUDGET]), "");
	out_ms("budget_ms", "within", tnl_num(a[TALLY_A_OBJECT_BUDGET_MS]));
	show_waiters(a, hdr);
}

static void show_fenced(uint64_t nodes)
{
	out_line();
	out_u64("fenced", "fenced", nodes, nodes == 1 ? " node" : " nodes");
}

static void show_object(struct nlattr **a, struct nlmsghdr *hdr)
{
	char path[2 * 64 + 1];

	snprintf(path, sizeof(path), "%s/%s", tnl_str(a[TALLY_A_OBJECT_ARENA]),
		 tnl_str(a[TALLY_A_OBJECT_NAME]));
	out_begin();
	out_str("path", NULL, path);
	out_str("arena", "", tnl_str(a[TALLY_A_OBJECT_ARENA]));
	out_str("name", "", tnl_str(a[TALLY_A_OBJECT_NAME]));
	out_u64("id", "", tnl_num(a[TALLY_A_OBJECT_ID]), "");
	if (a[TALLY_A_OBJECT_VALUE])
		out_u64("value", "value", tnl_num(a[TALLY_A_OBJECT_VALUE]), "");
	if (a[TALLY_A_OBJECT_SIZE])
		out_size("size", "size", tnl_num(a[TALLY_A_OBJECT_SIZE]));
	out_uid("uid", "owner", tnl_num(a[TALLY_A_OBJECT_UID]));
	out_gid("gid", "group", tnl_num(a[TALLY_A_OBJECT_GID]));
	out_perm("perm", "perm", tnl_num(a[TALLY_A_OBJECT_PERM]));
	out_u64("nodes", "nodes", tnl_num(a[TALLY_A_OBJECT_USERS]), "");
	if (a[TALLY_A_OBJECT_LOCK_STATE])
		show_lock(a, hdr);
	if (broken.over)
		show_fenced(tnl_num(a[TALLY_A_OBJECT_FENCED]));
	out_end();
}

static int begin(struct tnl_request *req, uint8_t cmd,
		 const struct object_type *type, const char *verb,
		 const struct path *path)
{
	req->type = type->word;
	req->words = object_words;
	req->count = TALLY_A_OBJECT_MAX + 1;
	snprintf(req->about, sizeof(req->about), "%s %s%s%s%s%s", type->word,
		 verb, path->arena[0] ? " " : "", path->arena,
		 path->object[0] ? "/" : "", path->object);
	if (tnl_begin(req, cmd, cmd == TALLY_CMD_OBJECT_GET))
		return FAILED;
	if (path->arena[0])
		nla_put_string(req->msg, TALLY_A_OBJECT_ARENA, path->arena);
	if (path->object[0])
		nla_put_string(req->msg, TALLY_A_OBJECT_NAME, path->object);
	nla_put_u32(req->msg, TALLY_A_OBJECT_TYPE, type->type);
	return DONE;
}

/* Of an arena elsewhere, ARENA@NODE, netlink cannot tell or change anything. */
static int here(const struct object_type *type, const char *verb,
		const struct path *path)
{
	if (!strchr(path->arena, '@'))
		return DONE;
	say("%s %s %s/%s: run this on the node that is home of the arena", type->word, verb,
	    path->arena, path->object);
	return FAILED;
}

static void own_arg(const struct object_type *type, struct object_args *val,
		    struct arg *arg)
{
	switch (type->type) {
	case TALLY_TYPE_COUNTER:
		*arg = (struct arg){ .key = "initial", .parse = arg_wrap,
				     .to = &val->number };
		break;
	case TALLY_TYPE_LOCK:
		*arg = (struct arg){ .key = "class", .parse = arg_class,
				     .to = &val->lock_class };
		break;
	default:
		*arg = (struct arg){ .key = "size", .parse = arg_size,
				     .to = &val->number, .required = true };
	}
}

static void settings_args(struct settings *val, struct arg *args)
{
	args[CACHE] = (struct arg){ .key = "cache", .parse = arg_onoff,
				    .to = &val->cache };
	args[BUDGET] = (struct arg){ .key = "budget", .parse = arg_u32,
				     .to = &val->budget };
	args[WITHIN] = (struct arg){ .key = "within", .parse = arg_u32,
				     .to = &val->within };
}

/* Those of them that were given. */
static int put_settings(struct nl_msg *msg, const struct settings *val,
			const struct arg *args)
{
	int err = 0;

	if (args[CACHE].seen)
		err |= nla_put_u32(msg, TALLY_A_OBJECT_CACHE, val->cache);
	if (args[BUDGET].seen)
		err |= nla_put_u32(msg, TALLY_A_OBJECT_BUDGET, val->budget);
	if (args[WITHIN].seen)
		err |= nla_put_u32(msg, TALLY_A_OBJECT_BUDGET_MS, val->within);
	return err;
}

static int put_own(struct nl_msg *msg, const struct object_type *type,
		   const struct object_args *val)
{
	switch (type->type) {
	case TALLY_TYPE_COUNTER:
		return nla_put_u64(msg, TALLY_A_OBJECT_INITIAL, val->number);
	case TALLY_TYPE_LOCK:
		return nla_put_u32(msg, TALLY_A_OBJECT_CLASS, val->lock_class);
	default:
		return nla_put_u64(msg, TALLY_A_OBJECT_SIZE, val->number);
	}
}

/**
 * object_add - create an object
 * @type: its type
 * @argc: number of words
 * @argv: path and keys
 *
 * Return: enum status.
 */
int object_add(const struct object_type *type, int argc, char **argv)
{
	struct tnl_request req = { .list = false };
	struct object_args val = { .node = NULL };
	struct settings set = { .cache = false };
	struct arg args[] = {
		[OWNER] = { .key = "owner", .parse = arg_user, .to = &val.uid },
		[GROUP] = { .key = "group", .parse = arg_group, .to = &val.gid },
		[PERM] = { .key = "perm", .parse = arg_perm, .to = &val.perm },
		[NODE] = { .key = "node", .parse = arg_name, .to = &val.node },
		[OWN] = { .key = NULL },
		[SETTINGS + SETTINGS_COUNT] = { .key = NULL },
	};
	int err = 0;
	struct path path;

	own_arg(type, &val, &args[OWN]);
	if (type->type == TALLY_TYPE_LOCK)
		settings_args(&set, &args[SETTINGS]);
	if (args_path(&argc, &argv, &path) || args_parse(argc, argv, args))
		return USAGE;
	if (here(type, "add", &path))
		return FAILED;
	if (begin(&req, TALLY_CMD_OBJECT_ADD, type, "add", &path))
		return FAILED;
	tnl_put_node(&req, TALLY_A_OBJECT_NODE, val.node);
	if (args[OWNER].seen)
		err |= nla_put_u32(req.msg, TALLY_A_OBJECT_UID, val.uid);
	if (args[GROUP].seen)
		err |= nla_put_u32(req.msg, TALLY_A_OBJECT_GID, val.gid);
	if (args[PERM].seen)
		err |= nla_put_u32(req.msg, TALLY_A_OBJECT_PERM, val.perm);
	if (args[OWN].seen)
		err |= put_own(req.msg, type, &val);
	err |= put_settings(req.msg, &set, &args[SETTINGS]);
	if (tnl_ready(&req, err))
		return FAILED;
	return tnl_talk(&req, TALLY_A_OBJECT_MAX,
			opt.json ? show_object : NULL);
}

/* ARENA/OBJECT [ node NODE ], of an arena here. */
static int take_object(const struct object_type *type, const char *verb,
		       int argc, char **argv, struct path *path,
		       const char **node)
{
	struct arg args[] = {
		{ .key = "node", .parse = arg_name, .to = node },
		{ .key = NULL },
	};

	*node = NULL;
	if (args_path(&argc, &argv, path) || args_parse(argc, argv, args))
		return USAGE;
	return here(type, verb, path);
}

/**
 * object_del - delete an object
 * @type: its type
 * @argc: number of words
 * @argv: path and keys
 *
 * Return: enum status.
 */
int object_del(const struct object_type *type, int argc, char **argv)
{
	struct tnl_request req = { .list = false };
	const char *node;
	struct path path;
	int status;

	status = take_object(type, "del", argc, argv, &path, &node);
	if (status)
		return status;
	if (begin(&req, TALLY_CMD_OBJECT_DEL, type, "del", &path))
		return FAILED;
	tnl_put_node(&req, TALLY_A_OBJECT_NODE, node);
	return tnl_talk(&req, TALLY_A_OBJECT_MAX, NULL);
}

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void see_event(struct nlattr **a, struct nlmsghdr *hdr)
{
	/* Or it is among those that were lost. */
	if (!hdr || (!strcmp(tnl_str(a[TALLY_A_EVENT_NAME]), wait.event) &&
		     !strcmp(tnl_str(a[TALLY_A_EVENT_SUBJECT]), wait.subject)))
		wait.woken = true;
}

/* Until that event comes, or the time is over. */
static void await_event(long until)
{
	long left;

	for (wait.woken = false; !wait.woken; ) {
		left = until - now_ms();
		if (left <= 0 ||
		    tnl_hear(left, TALLY_A_EVENT_MAX, see_event))
			return;
	}
}

static void see_begun(struct nlattr **a, struct nlmsghdr *hdr)
{
	(void)hdr;
	broken.id = tnl_num(a[TALLY_A_OBJECT_ID]);
}

static void see_lock(struct nlattr **a, struct nlmsghdr *hdr)
{
	uint32_t id = tnl_num(a[TALLY_A_OBJECT_ID]);

	/* Another one may have its name by now. */
	if (broken.id && broken.id != id)
		return;
	broken.id = id;
	broken.found = true;
	broken.over = strcmp(tnl_str(a[TALLY_A_OBJECT_LOCK_STATE]), "breaking");
	if (broken.over)
		show_object(a, hdr);
}

static void see_lease(struct nlattr **a, struct nlmsghdr *hdr)
{
	(void)hdr;
	if (!broken.lease_ms)
		broken.lease_ms = tnl_num(a[TALLY_A_NODE_LEASE]);
}

/* Of the node meant, which is the first in the list. */
static long break_limit(const char *node)
{
	struct tnl_request req = { .about = "lock break" };

	broken.lease_ms = 0;
	if (tnl_begin(&req, TALLY_CMD_NODE_GET, true))
		return 0;
	tnl_put_node(&req, TALLY_A_NODE_NAME, node);
	tnl_talk(&req, TALLY_A_NODE_MAX, see_lease);
	return broken.lease_ms / 4 + BREAK_MORE_MS;
}

static const char still_breaking[] =
	"its home cannot use its own word now; it is taken away when it can";

/* The event only says when to look: it may be lost, or of another node. */
static int await_broken(const struct object_type *type, const char *node,
			const struct path *path)
{
	long until = now_ms() + break_limit(node);
	struct tnl_request req;

	for (;;) {
		req = (struct tnl_request){ .list = false };
		broken.found = false;
		if (begin(&req, TALLY_CMD_OBJECT_GET, type, "break", path))
			return FAILED;
		tnl_put_node(&req, TALLY_A_OBJECT_NODE, node);
		if (tnl_talk(&req, TALLY_A_OBJECT_MAX, see_lock))
			return FAILED;
		if (broken.over)
			return DONE;
		if (!broken.found) {
			say("%s: it was deleted meanwhile", req.about);
			return FAILED;
		}
		if (now_ms() >= until) {
			say("%s: %s", req.about, still_breaking);
			return FAILED;
		}
		await_event(now_ms() + LOOK_MS < until ? now_ms() + LOOK_MS :
			    until);
	}
}

/**
 * object_break - take a lock away from all nodes that have it
 * @type: a lock
 * @argc: number of words
 * @argv: path and keys
 *
 * Return: enum status.
 */
int object_break(const struct object_type *type, int argc, char **argv)
{
	struct tnl_request req = { .quiet = EALREADY };
	char subject[sizeof(struct path) + 2];
	const char *node;
	struct path path;
	int status;

	status = take_object(type, "break", argc, argv, &path, &node);
	if (status)
		return status;
	snprintf(subject, sizeof(subject), "%s/%s", path.arena, path.object);
	wait.event = "lock_broken";
	wait.subject = subject;
	broken.id = 0;
	/* Before it begins, as it may be over at once. */
	if (tnl_listen() ||
	    begin(&req, TALLY_CMD_OBJECT_BREAK, type, "break", &path))
		return FAILED;
	tnl_put_node(&req, TALLY_A_OBJECT_NODE, node);
	status = tnl_talk(&req, TALLY_A_OBJECT_MAX, see_begun);
	/* Begun by another one, it comes to the same. */
	if (!status || req.error == EALREADY)
		status = await_broken(type, node, &path);
	broken.over = false;
	tnl_deaf();
	return status;
}

/*
 * Holders elsewhere are asked before the list is read, which tells what they said;
 * those that are silent are waited for a while.
 */
static void ask_holders(const struct object_type *type, const char *node,
			const struct path *path)
{
	struct tnl_request req = { .quiet = -1 };
	char subject[sizeof(*path) + 2];

	snprintf(subject, sizeof(subject), "%s%s%s", path->arena,
		 path->object[0] ? "/" : "", path->object);
	wait.event = "locks_asked";
	wait.subject = subject;
	if (tnl_listen())
		return;
	if (!begin(&req, TALLY_CMD_OBJECT_ASK, type, "show", path)) {
		tnl_put_node(&req, TALLY_A_OBJECT_NODE, node);
		if (!tnl_talk(&req, TALLY_A_OBJECT_MAX, NULL))
			await_event(now_ms() + ASK_MS);
	}
	tnl_deaf();
}

/* ARENA, ARENA/OBJECT, or nothing. */
static int take_filter(int *argc, char ***argv, const struct arg *args,
		       struct path *path)
{
	const char *arena;
	int status;

	path->arena[0] = '\0';
	path->object[0] = '\0';
	if (*argc && strchr((*argv)[0], '/'))
		return args_path(argc, argv, path);
	status = args_optional_arena(argc, argv, args, &arena);
	if (!status && arena)
		snprintf(path->arena, sizeof(path->arena), "%s", arena);
	return status;
}

/**
 * object_show - list objects of a type with their home here, or in one arena
 * @type: the type
 * @argc: number of words
 * @argv: filter and keys
 *
 * Return: enum status.
 */
int object_show(const struct object_type *type, int argc, char **argv)
{
	struct tnl_request req = { .list = true };
	const char *node = NULL;
	struct arg args[] = {
		{ .key = "node", .parse = arg_name, .to = &node },
		{ .key = NULL },
	};
	struct path path;
	int status = FAILED;
	bool away;

	if (take_filter(&argc, &argv, args, &path) ||
	    args_parse(argc, argv, args))
		return USAGE;
	away = strchr(path.arena, '@');
	if (path.object[0])
		req.none = "there is no such object of this type";
	if (!away && type->type == TALLY_TYPE_LOCK)
		ask_holders(type, node, &path);
	/* No arena of that name has its home here. */
	req.quiet = path.arena[0] ? ENOENT : 0;
	if (begin(&req, TALLY_CMD_OBJECT_GET, type, "show", &path))
		return FAILED;
	tnl_put_node(&req, TALLY_A_OBJECT_NODE, node);
	if (!away) {
		status = tnl_talk(&req, TALLY_A_OBJECT_MAX, show_object);
		away = req.error && req.error == req.quiet;
	}
	return away ? remote_show(&req, node, &path, type->type,
				  TALLY_A_OBJECT_MAX, show_object) : status;
}

/**
 * lock_set - change the settings of a lock
 * @argc: number of words
 * @argv: path and keys
 *
 * Return: enum status.
 */
int lock_set(int argc, char **argv)
{
	static const struct object_type lock = { TALLY_TYPE_LOCK, "lock" };
	struct tnl_request req = { .list = false };
	struct settings set = { .cache = false };
	const char *node = NULL;
	struct arg args[] = {
		[SETTINGS_COUNT] = { .key = "node", .parse = arg_name,
				     .to = &node },
		{ .key = NULL },
	};
	struct path path;

	settings_args(&set, args);
	if (args_path(&argc, &argv, &path) || args_parse(argc, argv, args))
		return USAGE;
	if (!args[0].seen && !args[1].seen && !args[2].seen) {
		say("nothing to set: write cache, budget or within");
		return USAGE;
	}
	if (here(&lock, "set", &path) ||
	    begin(&req, TALLY_CMD_OBJECT_SET, &lock, "set", &path))
		return FAILED;
	tnl_put_node(&req, TALLY_A_OBJECT_NODE, node);
	if (tnl_ready(&req, put_settings(req.msg, &set, args)))
		return FAILED;
	return tnl_talk(&req, TALLY_A_OBJECT_MAX, show_object);
}
