// SPDX-License-Identifier: GPL-2.0
/*
 * Load on counters and locks, from threads that all begin at once.
 *
 *	load counter FILE THREADS N	every thread adds 1, N times; prints
 *					each old value
 *	load lock LOCK REGION THREADS N	every thread locks, changes a record
 *					of two words in the region and unlocks,
 *					N times; tokens have to grow
 *	load until COUNTER		adds until an error comes, and prints
 *					how many were done, how many unknown,
 *					and the last errno
 *	load for SECONDS COUNTER	adds for some time, again when there is
 *					no session, and prints how many were
 *					done, unknown, and not done, and how
 *					many ms the longest took
 *
 * Exits with 0 if no operation failed and nothing was wrong.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/tally.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* What the lock protects. */
struct record {
	uint64_t count;
	uint64_t token;
};

static const char *path, *region;
static unsigned long rounds;
static pthread_barrier_t start;
static bool failed;

static int say(const char *what)
{
	fprintf(stderr, "load: %s: %s: %s\n", path, what, strerror(errno));
	failed = true;
	return -1;
}

static int open_file(const char *name)
{
	int fd = open(name, O_RDWR);

	if (fd < 0)
		say(name);
	return fd;
}

static int add(int fd, uint64_t *old)
{
	struct tally_ioc_counter arg = { .op = TALLY_COUNTER_ADD, .value = 1 };

	if (ioctl(fd, TALLY_IOC_COUNTER, &arg))
		return -1;
	*old = arg.old;
	return 0;
}

static void *count(void *unused)
{
	uint64_t *old = calloc(rounds, sizeof(*old));
	int fd = open_file(path);
	unsigned long i, done = 0;

	(void)unused;
	pthread_barrier_wait(&start);
	if (!old || fd < 0)
		return NULL;
	for (i = 0; i < rounds; i++) {
		if (add(fd, &old[done]))
			say("add");
		else
			done++;
	}
	flockfile(stdout);
	for (i = 0; i < done; i++)
		printf("%llu\n", (unsigned long long)old[i]);
	funlockfile(stdout);
	close(fd);
	free(old);
	return NULL;
}

/* With the lock: nobody else may come between read and write. */
static int change(int fd, uint64_t token)
{
	struct record record;

	if (pread(fd, &record, sizeof(record), 8) != sizeof(record))
		return say("read");
	if (token <= record.token) {
		fprintf(stderr, "load: token %#llx after %#llx\n",
			(unsigned long long)token,
			(unsigned long long)record.token);
		failed = true;
	}
	record.count++;
	record.token = token;
	if (pwrite(fd, &record, sizeof(record), 8) != sizeof(record))
		return say("write");
	return fsync(fd) ? say("fsync") : 0;
}

static void *lock(void *unused)
{
	int fd = open_file(path), to = open_file(region);
	unsigned long i;

	(void)unused;
	pthread_barrier_wait(&start);
	for (i = 0; fd >= 0 && to >= 0 && i < rounds; i++) {
		struct tally_ioc_lock arg = {};

		if (ioctl(fd, TALLY_IOC_LOCK, &arg)) {
			say("lock");
			break;
		}
		change(to, arg.token);
		if (ioctl(fd, TALLY_IOC_UNLOCK))
			say("unlock");
	}
	close(fd);
	close(to);
	return NULL;
}

static int run(void *(*work)(void *), const char *threads)
{
	unsigned long n = strtoul(threads, NULL, 10), i;
	pthread_t id[64];

	if (!n || n > 64 || !rounds)
		return 2;
	pthread_barrier_init(&start, NULL, n);
	for (i = 0; i < n; i++) {
		errno = pthread_create(&id[i], NULL, work, NULL);
		if (errno) {
			say("thread");
			exit(1);
		}
	}
	for (i = 0; i < n; i++)
		pthread_join(id[i], NULL);
	return failed;
}

static int until(void)
{
	unsigned long done = 0, unknown = 0;
	int fd = open_file(path);
	uint64_t old;

	if (fd < 0)
		return 1;
	puts("ready");
	fflush(stdout);
	for (;;) {
		if (!add(fd, &old))
			done++;
		else if (errno == EREMOTEIO)
			unknown++;
		else
			break;
	}
	printf("done %lu unknown %lu %s\n", done, unknown,
	       strerrorname_np(errno));
	return 0;
}

static unsigned long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int for_seconds(const char *seconds)
{
	unsigned long done = 0, unknown = 0, refused = 0, longest = 0;
	unsigned long began, took;
	time_t end = time(NULL) + strtoul(seconds, NULL, 10);
	int fd = open_file(path);
	uint64_t old;

	if (fd < 0)
		return 1;
	puts("ready");
	fflush(stdout);
	while (time(NULL) < end) {
		began = now_ms();
		if (!add(fd, &old)) {
			done++;
			took = now_ms() - began;
			if (took > longest)
				longest = took;
		} else if (errno == EREMOTEIO) {
			unknown++;
		} else if (errno == ENOTCONN) {
			refused++;
			usleep(10000);
		} else {
			say("add");
			return 1;
		}
	}
	printf("done %lu unknown %lu refused %lu longest %lu\n", done, unknown,
	       refused, longest);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (argc > 2)
		path = argv[2];
	if (!strcmp(what, "counter") && argc == 5) {
		rounds = strtoul(argv[4], NULL, 10);
		return run(count, argv[3]);
	}
	if (!strcmp(what, "lock") && argc == 6) {
		region = argv[3];
		rounds = strtoul(argv[5], NULL, 10);
		return run(lock, argv[4]);
	}
	if (!strcmp(what, "until") && argc == 3)
		return until();
	if (!strcmp(what, "for") && argc == 4) {
		path = argv[3];
		return for_seconds(argv[2]);
	}
	fprintf(stderr, "usage: see the head of %s.c\n", argv[0]);
	return 2;
}
