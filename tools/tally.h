/* SPDX-License-Identifier: GPL-2.0 */
/* What every file of the tool shares: exit status, options, the commands. */
#ifndef TALLY_TOOL_H
#define TALLY_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TALLY_PORT	7475
#define TALLY_MOUNT	"/dev/tally"

enum status {
	DONE		= 0,
	FAILED		= 1,
	USAGE		= 2,
	UNKNOWN		= 3,	/* it may have happened */
	TIMED_OUT	= 4,	/* it has not happened */
	WOULD_BLOCK	= 5,
	LOCK_TROUBLE	= 120,	/* lock run: added to one of the above */
};

/**
 * struct options - what stands before the object
 * @json: print JSON
 * @pretty: … over several lines
 * @force: go on with a batch after an error
 * @node: name of the node meant, NULL for the first
 * @mount: where the tally file system is, NULL: where it is for @node
 */
struct options {
	bool json;
	bool pretty;
	bool force;
	const char *node;
	const char *mount;
};

extern struct options opt;

/**
 * struct command - one command of an object
 * @word: its name; NULL ends a table
 * @run: called with what follows it, returns enum status
 * @usage: what follows it, for `help`
 */
struct command {
	const char *word;
	int (*run)(int argc, char **argv);
	const char *usage;
};

/**
 * struct object - what commands are about
 * @word: its name; NULL ends a table
 * @commands: its commands; NULL when it is a command itself
 * @run: for objects that are commands
 * @usage: what follows the object, for `help`
 */
struct object {
	const char *word;
	const struct command *commands;
	int (*run)(int argc, char **argv);
	const char *usage;
};

extern const struct command node_commands[];
extern const struct command peer_commands[];
extern const struct command arena_commands[];
extern const struct command counter_commands[];
extern const struct command lock_commands[];
extern const struct command region_commands[];

int stats_run(int argc, char **argv);
int bench_run(int argc, char **argv);
int monitor_run(int argc, char **argv);
int version_run(int argc, char **argv);
int lock_run(int argc, char **argv);

/* One line on stderr that begins with "tally: ". */
[[gnu::format(printf, 1, 2)]]
void say(const char *fmt, ...);

#endif
