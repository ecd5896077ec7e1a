// SPDX-License-Identifier: GPL-2.0
/*
 * client CALLS SUBJECT ARGUMENT...: calls it that often, and tells the median,
 * the 99th percentile (microseconds) and the calls in a second.
 *
 *	add COUNTER		add 1 to a counter of tally
 *	lock LOCK		take and release a lock of tally
 *	ping HOST PORT		64 bytes there and back by TCP; see "echo"
 *	redis-count HOST PORT	INCR
 *	redis-lock HOST PORT	SET NX PX, and compare and delete
 *	dlm LOCKSPACE RESOURCE	exclusive lock of the kernel's DLM, and unlock
 *
 * client 0 COMMAND ARGUMENT...: other things
 *
 *	echo PORT		the other end of ping, for one connection
 *	sink PORT		takes all that one connection sends, then answers
 *	copy FILE HOST PORT	sends a file to "sink"; tells the seconds
 *	put FILE REGION		writes a file to a region of tally; the same
 *	address IPV4		as the DLM's comms want it
 *	dlm-create LOCKSPACE	make a lockspace, and keep it
 *	dlm-keep LOCKSPACE RESOURCE
 *				keep a weak lock, so that its master is here
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <linux/tally.h>
#include "client.h"

#define BLOCK	(1 << 20)
/* As long as what ib_send_lat sends. */
#define PING	64

static int tally_fd, ping_fd;

void die(const char *what)
{
	fprintf(stderr, "client: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static void set_nodelay(int fd)
{
	int one = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		die("TCP_NODELAY");
}

int tcp_connect(const char *host, const char *port)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	to.sin_port = htons(atoi(port));
	if (inet_pton(AF_INET, host, &to.sin_addr) != 1 || fd < 0 ||
	    connect(fd, (struct sockaddr *)&to, sizeof(to)))
		die(host);
	set_nodelay(fd);
	return fd;
}

int tcp_accept(const char *port)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	any.sin_port = htons(atoi(port));
	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, (struct sockaddr *)&any, sizeof(any)) || listen(fd, 1))
		die(port);
	puts("listening");
	fflush(stdout);
	fd = accept(fd, NULL, NULL);
	if (fd < 0)
		die("accept");
	set_nodelay(fd);
	return fd;
}

void tcp_send(int fd, const void *data, size_t len)
{
	const char *at = data;
	ssize_t n;

	for (; len; at += n, len -= n) {
		n = send(fd, at, len, MSG_NOSIGNAL);
		if (n <= 0)
			die("send");
	}
}

void tcp_receive(int fd, void *data, size_t len)
{
	if (recv(fd, data, len, MSG_WAITALL) != (ssize_t)len)
		die("receive");
}

static void tally_open(char **arg)
{
	tally_fd = open(arg[0], O_RDWR | O_CLOEXEC);
	if (tally_fd < 0)
		die(arg[0]);
}

static void tally_add(void)
{
	struct tally_ioc_counter add = { .op = TALLY_COUNTER_ADD, .value = 1 };

	if (ioctl(tally_fd, TALLY_IOC_COUNTER, &add))
		die("add");
}

static void tally_lock(void)
{
	struct tally_ioc_lock lock = { .flags = 0 };

	if (ioctl(tally_fd, TALLY_IOC_LOCK, &lock) ||
	    ioctl(tally_fd, TALLY_IOC_UNLOCK))
		die("lock");
}

static void ping_open(char **arg)
{
	ping_fd = tcp_connect(arg[0], arg[1]);
}

static void ping(void)
{
	char bytes[PING] = { 0 };

	tcp_send(ping_fd, bytes, PING);
	tcp_receive(ping_fd, bytes, PING);
}

static int do_echo(char **arg)
{
	int fd = tcp_accept(arg[0]);
	char bytes[PING];

	while (recv(fd, bytes, PING, MSG_WAITALL) == PING)
		tcp_send(fd, bytes, PING);
	return 0;
}

static int do_sink(char **arg)
{
	int fd = tcp_accept(arg[0]);
	char *block = malloc(BLOCK);
	ssize_t n;

	if (!block)
		die("memory");
	while ((n = recv(fd, block, BLOCK, 0)) > 0)
		;
	if (n < 0)
		die("receive");
	tcp_send(fd, "!", 1);
	return 0;
}

/* From one to the other; the clock runs until @finish says that all is there. */
static int transfer(const char *name, int to, void (*finish)(int to))
{
	int file = open(name, O_RDONLY | O_CLOEXEC);
	char *block = malloc(BLOCK);
	uint64_t begin;
	ssize_t n;

	if (file < 0 || !block)
		die(name);
	begin = now_ns();
	while ((n = read(file, block, BLOCK)) > 0)
		if (write(to, block, n) != n)
			die("write");
	if (n < 0)
		die(name);
	finish(to);
	printf("%.6f\n", (now_ns() - begin) / 1e9);
	return 0;
}

static void finish_copy(int to)
{
	char answer;

	if (shutdown(to, SHUT_WR))
		die("shutdown");
	tcp_receive(to, &answer, 1);
}

static int do_copy(char **arg)
{
	return transfer(arg[0], tcp_connect(arg[1], arg[2]), finish_copy);
}

static void finish_put(int to)
{
	if (fsync(to))
		die("fsync");
}

static int do_put(char **arg)
{
	int to = open(arg[1], O_WRONLY | O_CLOEXEC);

	if (to < 0)
		die(arg[1]);
	return transfer(arg[0], to, finish_put);
}

static int do_address(char **arg)
{
	struct sockaddr_storage all = { .ss_family = AF_INET };
	struct sockaddr_in *in = (struct sockaddr_in *)&all;

	if (inet_pton(AF_INET, arg[0], &in->sin_addr) != 1)
		die(arg[0]);
	return fwrite(&all, sizeof(all), 1, stdout) != 1;
}

static const struct subject subjects[] = {
	{ "add", 1, tally_open, tally_add },
	{ "lock", 1, tally_open, tally_lock },
	{ "ping", 2, ping_open, ping },
	{ "redis-count", 2, redis_open, redis_count },
	{ "redis-lock", 2, redis_open, redis_lock },
	{ "dlm", 2, dlm_open, dlm_lock },
};

static const struct {
	const char *name;
	int args;
	int (*run)(char **arg);
} commands[] = {
	{ "echo", 1, do_echo },
	{ "sink", 1, do_sink },
	{ "copy", 3, do_copy },
	{ "put", 2, do_put },
	{ "address", 1, do_address },
	{ "dlm-create", 1, dlm_create },
	{ "dlm-keep", 2, dlm_keep },
};

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int measure(const struct subject *subject, uint32_t calls, char **arg)
{
	uint64_t *ns = calloc(calls, sizeof(*ns)), begin, before, now;
	uint32_t i;

	if (!ns)
		die("memory");
	subject->open(arg);
	for (i = 0; i < calls / 10 + 1; i++)
		subject->call();
	begin = now_ns();
	before = begin;
	for (i = 0; i < calls; i++) {
		subject->call();
		now = now_ns();
		ns[i] = now - before;
		before = now;
	}
	qsort(ns, calls, sizeof(*ns), compare);
	printf("%.3f %.3f %.1f\n", ns[calls / 2] / 1e3,
	       ns[calls - calls / 100 - 1] / 1e3,
	       calls * 1e9 / (before - begin));
	return 0;
}

int main(int argc, char **argv)
{
	uint32_t calls = argc > 1 ? atoi(argv[1]) : 0;
	size_t i;

	for (i = 0; calls && i < sizeof(subjects) / sizeof(subjects[0]); i++)
		if (argc == subjects[i].args + 3 &&
		    !strcmp(argv[2], subjects[i].name))
			return measure(&subjects[i], calls, argv + 3);
	for (i = 0; !calls && i < sizeof(commands) / sizeof(commands[0]); i++)
		if (argc == commands[i].args + 3 &&
		    !strcmp(argv[2], commands[i].name))
			return commands[i].run(argv + 3);
	fprintf(stderr, "usage: see the head of client.c\n");
	return 2;
}
