// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "args.h"
#include "nl.h"
#include "out.h"
#include "tally.h"

#define BATCH_WORDS 128

struct options opt;

static const struct object objects[] = {
	{ "node", node_commands, NULL, NULL },
	{ "peer", peer_commands, NULL, NULL },
	{ "arena", arena_commands, NULL, NULL },
	{ "counter", counter_commands, NULL, NULL },
	{ "lock", lock_commands, NULL, NULL },
	{ "region", region_commands, NULL, NULL },
	{ "stats", NULL, stats_run, "[ all ] [ node NODE ]" },
	{ "bench", NULL, bench_run,
	  "[ nodes NODE[,NODE]... ] [ counter ARENA/NAME ] [ cpu ARENA/NAME ]\n"
	  "                   [ lock ARENA/NAME ] [ cached ARENA/NAME ]\n"
	  "                   [ cpu_lock ARENA/NAME ] [ home NODE ]\n"
	  "                   [ region ARENA/NAME ] [ dev DEVICE ]\n"
	  "                   [ far ADDRESS:PORT ] [ figure FIGURE ] [ rounds N ] [ calls N ]\n"
	  "                   [ lane WORD ]" },
	{ "monitor", NULL, monitor_run, "" },
	{ "version", NULL, version_run, "" },
	{ NULL, NULL, NULL, NULL },
};

void say(const char *fmt, ...)
{
	va_list args;

	out_flush();
	fputs("tally: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
}

static void help_object(FILE *to, const struct object *object)
{
	const struct command *cmd;

	if (!object->commands)
		fprintf(to, "Usage: tally %s%s%s\n", object->word,
			object->usage[0] ? " " : "", object->usage);
	for (cmd = object->commands; cmd && cmd->word; cmd++)
		fprintf(to, "%s tally %s %s %s\n",
			cmd == object->commands ? "Usage:" : "      ",
			object->word, cmd->word, cmd->usage);
}

static void help_all(FILE *to)
{
	const struct object *object;

	fputs("Usage: tally [ OPTIONS ] OBJECT { COMMAND | help }\n"
	      "       tally [ OPTIONS ] -b FILE\n"
	      "where  OBJECT := {", to);
	for (object = objects; object->word; object++)
		fprintf(to, " %s |", object->word);
	fputs(" help }\n"
	      "       OPTIONS := { -j (JSON) | -p (pretty JSON) | -n NODE | -m MOUNT |\n"
	      "                    -b FILE (commands from FILE, - for stdin) | -f (go on after errors) |\n"
	      "                    -V (version) | -h (help) }\n"
	      "'tally OBJECT help' lists the commands of OBJECT; 'man tally' explains all.\n"
	      "Exit status: 0 done, 1 failed, 2 usage, 3 unknown outcome, 4 timed out,\n"
	      "             5 would block\n", to);
}

static int usage(const struct object *object)
{
	if (object)
		help_object(stderr, object);
	else
		help_all(stderr);
	return USAGE;
}

static bool is_help(int argc, char **argv)
{
	return argc == 1 && !strcmp(argv[0], "help");
}

/* @asked: for help only */
static int run_command(const struct object *object, int argc, char **argv,
		       bool asked)
{
	const struct command *cmd = object->commands;
	int status;

	if (!argc)
		return usage(object);
	while (cmd->word && strcmp(cmd->word, argv[0]))
		cmd++;
	if (!cmd->word) {
		say("%s has no command '%s'", object->word, argv[0]);
		return usage(object);
	}
	if (asked || is_help(argc - 1, argv + 1)) {
		printf("Usage: tally %s %s %s\n", object->word, cmd->word,
		       cmd->usage);
		return DONE;
	}
	status = cmd->run(argc - 1, argv + 1);
	if (status == USAGE)
		fprintf(stderr, "Usage: tally %s %s %s\n", object->word,
			cmd->word, cmd->usage);
	return status;
}

static bool skip_help(int *argc, char ***argv)
{
	if (!*argc || !is_help(1, *argv))
		return false;
	(*argv)++;
	(*argc)--;
	return true;
}

static int run_object(int argc, char **argv)
{
	const struct object *object = objects;
	bool asked = false;
	int status;

	/* "help lock break" is "lock break help". */
	while (skip_help(&argc, &argv))
		asked = true;
	if (!argc) {
		help_all(stdout);
		return DONE;
	}
	while (object->word && strcmp(object->word, argv[0]))
		object++;
	if (!object->word) {
		say("unknown command '%s'", argv[0]);
		return usage(NULL);
	}
	argv++;
	argc--;
	/* "lock help break", too. */
	asked |= skip_help(&argc, &argv);
	if (asked && (!argc || !object->commands)) {
		help_object(stdout, object);
		return DONE;
	}
	if (object->commands)
		return run_command(object, argc, argv, asked);
	status = object->run(argc, argv);
	return status == USAGE ? usage(object) : status;
}

/* Splits a line in place; quotes keep blanks, # begins a comment. */
static int split(char *line, char **words)
{
	int count = 0;
	char *to;

	while (count < BATCH_WORDS) {
		line += strspn(line, " \t\r\n");
		if (!*line || *line == '#')
			return count;
		words[count++] = line;
		for (to = line; *line && !strchr(" \t\r\n", *line);) {
			char quote = *line;

			if (quote != '"' && quote != '\'') {
				*to++ = *line++;
				continue;
			}
			for (line++; *line && *line != quote;)
				*to++ = *line++;
			if (!*line)
				return -1;
			line++;
		}
		if (*line)
			line++;
		*to = '\0';
	}
	return -1;
}

static int run_line(char *line, size_t len, const char *file,
		    unsigned int number)
{
	char *words[BATCH_WORDS + 1];
	int count, status;

	if (strlen(line) < len) {
		say("%s:%u: a NUL in the line", file, number);
		return USAGE;
	}
	count = split(line, words);
	if (!count)
		return DONE;
	if (count < 0) {
		say("%s:%u: a quote that is not closed, or too many words", file, number);
		return USAGE;
	}
	/* The last ones may be a command as they are. */
	words[count] = NULL;
	status = run_object(count, words);
	/* That is told once, at the end. */
	if (!status && out_flush())
		return FAILED;
	if (status)
		say("%s:%u: failed", file, number);
	return status;
}

/* The commands themselves must not read on in it. */
static FILE *take_stdin(void)
{
	int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	int null = fd < 0 ? -1 : open("/dev/null", O_RDONLY | O_CLOEXEC);
	FILE *from = NULL;

	if (null >= 0 && dup2(null, STDIN_FILENO) >= 0)
		from = fdopen(fd, "r");
	/* One that cannot be read is as one that is closed. */
	if (!from && errno == EINVAL)
		errno = EBADF;
	if (null >= 0)
		close(null);
	return from;
}

static int run_batch(const char *file)
{
	FILE *from = strcmp(file, "-") ? fopen(file, "re") : take_stdin();
	int status = DONE, first = DONE;
	unsigned int number = 0;
	char *line = NULL;
	size_t size = 0;
	ssize_t len;

	if (!from) {
		say("%s: %s", file, strerror(errno));
		return FAILED;
	}
	while ((!status || opt.force) &&
	       (len = getline(&line, &size, from)) >= 0) {
		status = run_line(line, len, file, ++number);
		if (!first)
			first = status;
	}
	if (ferror(from)) {
		say("%s: %s", file, strerror(errno));
		first = first ? first : FAILED;
	}
	free(line);
	fclose(from);
	return first;
}

static int take_node(const char *word)
{
	const char *why = arg_name(word, &opt.node);

	if (!why)
		return DONE;
	say("-n '%s': %s", word, why);
	return USAGE;
}

/* Return: an exit status, or -1 to go on. */
static int parse_options(int argc, char **argv, const char **batch)
{
	static const struct option names[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "+jpfVhb:n:m:", names,
				NULL)) != -1) {
		switch (c) {
		case 'j':
			opt.json = true;
			break;
		case 'p':
			opt.json = true;
			opt.pretty = true;
			break;
		case 'f':
			opt.force = true;
			break;
		case 'b':
			*batch = optarg;
			break;
		case 'n':
			if (take_node(optarg))
				return USAGE;
			break;
		case 'm':
			opt.mount = optarg;
			break;
		case 'V':
			return version_run(0, NULL);
		case 'h':
			help_all(stdout);
			return DONE;
		default:
			return usage(NULL);
		}
	}
	return -1;
}

/*
 * What is closed must not become the descriptor of something else: it is taken by
 * one that fails as a closed one does, and that no command inherits.
 */
static void keep_descriptors(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_CLOEXEC | O_RDONLY);
		if (fd == STDIN_FILENO) {
			close(fd);
			fd = open("/dev/null", O_CLOEXEC | O_WRONLY);
		}
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	const char *batch = NULL;
	int status, error;

	keep_descriptors();
	/* getopt's complaints begin as all others do. */
	if (argc)
		argv[0] = (char *)"tally";
	status = parse_options(argc, argv, &batch);
	if (status >= 0)
		;
	else if (batch && optind == argc)
		status = run_batch(batch);
	else if (batch || optind == argc)
		status = usage(NULL);
	else
		status = run_object(argc - optind, argv + optind);
	tnl_close();
	error = out_flush();
	if (!error)
		return status;
	say("standard output: %s", strerror(error));
	return status ? status : FAILED;
}
