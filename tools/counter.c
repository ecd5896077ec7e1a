// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <linux/tally.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "args.h"
#include "file.h"
#include "object.h"
#include "out.h"
#include "tally.h"

static const struct object_type counter_type = { TALLY_TYPE_COUNTER, "counter" };

struct counter_args {
	uint64_t value;
	uint64_t compare;
	uint32_t timeout;
};

static int counter_do(const struct path *path, struct tally_ioc_counter *ioc)
{
	int flags = ioc->op == TALLY_COUNTER_READ ? O_RDONLY : O_WRONLY;
	int fd, status, error;

	status = file_open("counter", path, flags, &ioc->timeout_ms, &fd);
	if (status)
		return status;
	error = ioctl(fd, TALLY_IOC_COUNTER, ioc) ? errno : 0;
	close(fd);
	return error ? file_failed("counter", path, error) : DONE;
}

static int counter_show_cas(const struct path *path,
			    const struct tally_ioc_counter *ioc)
{
	bool swapped = ioc->old == ioc->compare;

	out_begin();
	out_u64("old", NULL, ioc->old, "");
	out_bool("swapped", swapped, "", "");
	out_end();
	if (swapped)
		return DONE;
	say("counter %s/%s: it is %llu, not %llu; nothing was changed",
	    path->arena, path->object, ioc->old, ioc->compare);
	return FAILED;
}

static int counter_run(uint32_t op, const struct path *path,
		       const struct counter_args *val)
{
	struct tally_ioc_counter ioc = {
		.op = op,
		.timeout_ms = val->timeout,
		.value = val->value,
		.compare = val->compare,
	};
	int status;

	status = counter_do(path, &ioc);
	if (status)
		return status;
	if (op == TALLY_COUNTER_CAS)
		return counter_show_cas(path, &ioc);
	out_begin();
	out_u64(op == TALLY_COUNTER_READ ? "value" : "old", NULL, ioc.old, "");
	out_end();
	return DONE;
}

static int counter_read(int argc, char **argv)
{
	struct counter_args val = { 0 };
	struct arg args[] = {
		{ .key = "timeout", .parse = arg_timeout, .to = &val.timeout },
		{ .key = NULL },
	};
	struct path path;

	if (args_path(&argc, &argv, &path) || args_parse(argc, argv, args))
		return USAGE;
	return counter_run(TALLY_COUNTER_READ, &path, &val);
}

static int counter_inc(int argc, char **argv)
{
	struct counter_args val = { .value = 1 };
	struct arg args[] = {
		{ .key = "by", .parse = arg_wrap, .to = &val.value },
		{ .key = "timeout", .parse = arg_timeout, .to = &val.timeout },
		{ .key = NULL },
	};
	struct path path;

	if (args_path(&argc, &argv, &path) || args_parse(argc, argv, args))
		return USAGE;
	return counter_run(TALLY_COUNTER_ADD, &path, &val);
}

static int counter_set(int argc, char **argv)
{
	struct counter_args val = { 0 };
	struct arg args[] = {
		{ .key = "to", .parse = arg_wrap, .to = &val.value,
		  .required = true },
		{ .key = "timeout", .parse = arg_timeout, .to = &val.timeout },
		{ .key = NULL },
	};
	struct path path;

	if (args_path(&argc, &argv, &path) || args_parse(argc, argv, args))
		return USAGE;
	return counter_run(TALLY_COUNTER_SET, &path, &val);
}

static int counter_cas(int argc, char **argv)
{
	struct counter_args val = { 0 };
	struct arg args[] = {
		{ .key = "from", .parse = arg_wrap, .to = &val.compare,
		  .required = true },
		{ .key = "to", .parse = arg_wrap, .to = &val.value,
		  .required = true },
		{ .key = "timeout", .parse = arg_timeout, .to = &val.timeout },
		{ .key = NULL },
	};
	struct path path;

	if (args_path(&argc, &argv, &path) || args_parse(argc, argv, args))
		return USAGE;
	return counter_run(TALLY_COUNTER_CAS, &path, &val);
}

static int counter_add(int argc, char **argv)
{
	return object_add(&counter_type, argc, argv);
}

static int counter_del(int argc, char **argv)
{
	return object_del(&counter_type, argc, argv);
}

static int counter_show(int argc, char **argv)
{
	return object_show(&counter_type, argc, argv);
}

const struct command counter_commands[] = {
	{ "add", counter_add,
	  "ARENA/NAME [ initial N ] [ owner USER ] [ group GROUP ] [ perm OCTAL ]\n"
	  "                          [ node NODE ]" },
	{ "del", counter_del, "ARENA/NAME [ node NODE ]" },
	{ "show", counter_show, "[ ARENA | ARENA/NAME ] [ node NODE ]" },
	{ "read", counter_read, "ARENA[@NODE]/NAME [ timeout { MS | none } ]" },
	{ "inc", counter_inc, "ARENA[@NODE]/NAME [ by N ] [ timeout { MS | none } ]" },
	{ "set", counter_set, "ARENA[@NODE]/NAME to N [ timeout { MS | none } ]" },
	{ "cas", counter_cas,
	  "ARENA[@NODE]/NAME from N to N [ timeout { MS | none } ]" },
	{ NULL, NULL, NULL },
};
