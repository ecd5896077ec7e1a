// SPDX-License-Identifier: GPL-2.0
/*
 * What a program does with tally, in one page: files and three ioctls.
 *
 *	worker key DESCRIPTION FILE	put a cluster key into the keyring
 *	worker add COUNTER N FILE	add 1 N times, write the old values
 *	worker record LOCK REGION N	N times: lock, read, add 1, write, unlock
 *	worker hold LOCK		take the lock, say its token, keep it
 *	worker take LOCK		the same, and end
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/keyctl.h>
#include <linux/tally.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static void die(const char *what)
{
	fprintf(stderr, "worker: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int must_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0644);

	if (fd < 0)
		die(path);
	return fd;
}

static unsigned long long lock(int fd)
{
	struct tally_ioc_lock arg = { .flags = 0 };

	if (ioctl(fd, TALLY_IOC_LOCK, &arg))
		die("lock");
	return arg.token;
}

static void unlock(int fd)
{
	if (ioctl(fd, TALLY_IOC_UNLOCK))
		die("unlock");
}

static int do_key(char **arg)
{
	char key[64];
	ssize_t len;

	len = read(must_open(arg[1], O_RDONLY), key, sizeof(key));
	if (len < 16)
		die(arg[1]);
	if (syscall(SYS_add_key, "logon", arg[0], key, (size_t)len,
		    KEY_SPEC_USER_KEYRING) < 0)
		die("add_key");
	/* Keys are searched from the session: let it see the user's. */
	if (syscall(SYS_keyctl, KEYCTL_LINK, KEY_SPEC_USER_KEYRING,
		    KEY_SPEC_SESSION_KEYRING) < 0)
		die("keyctl");
	return 0;
}

static int do_add(char **arg)
{
	struct tally_ioc_counter add = { .op = TALLY_COUNTER_ADD, .value = 1 };
	int fd = must_open(arg[0], O_RDWR);
	FILE *out = fopen(arg[2], "w");
	long n = atol(arg[1]);

	if (!out)
		die(arg[2]);
	while (n--) {
		if (ioctl(fd, TALLY_IOC_COUNTER, &add))
			die("add");
		fprintf(out, "%llu\n", (unsigned long long)add.old);
	}
	return fclose(out) != 0;
}

static int do_record(char **arg)
{
	int lock_fd = must_open(arg[0], O_RDWR);
	int region = must_open(arg[1], O_RDWR);
	long n = atol(arg[2]);
	unsigned long long record;

	while (n--) {
		lock(lock_fd);
		if (pread(region, &record, sizeof(record), 0) != sizeof(record))
			die("read");
		record++;
		if (pwrite(region, &record, sizeof(record), 0) !=
		    sizeof(record))
			die("write");
		unlock(lock_fd);
	}
	return 0;
}

static int do_hold(char **arg)
{
	printf("%llu\n", lock(must_open(arg[0], O_RDWR)));
	fflush(stdout);
	pause();
	return 0;
}

static int do_take(char **arg)
{
	printf("%llu\n", lock(must_open(arg[0], O_RDWR)));
	return 0;
}

static const struct {
	const char *name;
	int args;
	int (*run)(char **arg);
} jobs[] = {
	{ "key", 2, do_key },
	{ "add", 3, do_add },
	{ "record", 3, do_record },
	{ "hold", 1, do_hold },
	{ "take", 1, do_take },
};

int main(int argc, char **argv)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(jobs); i++)
		if (argc > 1 && !strcmp(argv[1], jobs[i].name) &&
		    argc == jobs[i].args + 2)
			return jobs[i].run(argv + 2);
	fprintf(stderr, "usage: see the head of worker.c\n");
	return 2;
}
