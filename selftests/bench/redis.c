// SPDX-License-Identifier: GPL-2.0
/* As clients of Redis do it: a counter, and a lock on one server. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "client.h"

/* Release what is still mine. */
#define SCRIPT	"if redis.call('get',KEYS[1])==ARGV[1] then " \
		"return redis.call('del',KEYS[1]) else return 0 end"

static int redis_fd;
static char release[256];

/* Send a command, and have the first line of the answer. */
static void ask(const char *command, char *line, size_t size)
{
	size_t len = 0;

	tcp_send(redis_fd, command, strlen(command));
	do {
		if (len + 1 == size)
			die("a long answer");
		tcp_receive(redis_fd, line + len, 1);
	} while (line[len++] != '\n');
	line[len] = '\0';
}

static void expect(const char *command, const char *start)
{
	char line[128];

	ask(command, line, sizeof(line));
	if (!strncmp(line, start, strlen(start)))
		return;
	fprintf(stderr, "redis: %s", line);
	exit(1);
}

void redis_open(char **arg)
{
	char command[256], line[128];
	int at;

	redis_fd = tcp_connect(arg[0], arg[1]);
	snprintf(command, sizeof(command), "SCRIPT LOAD \"%s\"\r\n", SCRIPT);
	ask(command, line, sizeof(line));
	if (strcmp(line, "$40\r\n"))
		die(line);
	at = snprintf(release, sizeof(release), "EVALSHA ");
	tcp_receive(redis_fd, release + at, 40 + 2);
	snprintf(release + at + 40, sizeof(release) - at - 40,
		 " 1 lock me\r\n");
}

void redis_count(void)
{
	expect("INCR steps\r\n", ":");
}

void redis_lock(void)
{
	expect("SET lock me NX PX 10000\r\n", "+OK");
	expect(release, ":1");
}
