// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <linux/tally.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include "file.h"
#include "mount.h"
#include "tally.h"

static const char *sentence(int error)
{
	switch (error) {
	case EACCES:
		return "its mode or this node's rights in the arena forbid it";
	case EIDRM:
		return "it was deleted";
	case EINTR:
		return "a signal came; nothing was done";
	case ENETDOWN:
		return "the RDMA device is gone; nothing was done";
	case ENOTCONN:
		return "no session with its home, see 'tally peer show'; nothing was done";
	case ENOTTY:
	case EISDIR:
	case ELOOP:
		return "it is an object of another type";
	case ENOTUNIQ:
		return "two nodes have an arena of that name: write ARENA@NODE/OBJECT";
	case EREMOTEIO:
		return "the outcome is unknown: it was sent, then the link broke or time ran out";
	case ESHUTDOWN:
		return "the node was stopped";
	case ESTALE:
		return "its home started again, or the lock was lost";
	case ETIMEDOUT:
		return "timed out; nothing was done";
	case EWOULDBLOCK:
		return "another user holds it";
	default:
		return strerror(error);
	}
}

/**
 * file_status - exit status for an error of a file operation
 * @error: errno
 *
 * Return: enum status.
 */
int file_status(int error)
{
	switch (error) {
	case EREMOTEIO:
		return UNKNOWN;
	case ETIMEDOUT:
		return TIMED_OUT;
	case EWOULDBLOCK:
		return WOULD_BLOCK;
	default:
		return FAILED;
	}
}

/**
 * file_failed - complain about a file operation
 * @what: type of the object
 * @path: the object
 * @error: errno
 *
 * Return: enum status, not DONE.
 */
int file_failed(const char *what, const struct path *path, int error)
{
	say("%s %s/%s: %s", what, path->arena, path->object, sentence(error));
	return file_status(error);
}

/* @dir: of the arena */
static int open_failed(const char *what, const struct path *path,
		       const char *dir, int error)
{
	struct stat st;

	if (error == ENOENT && stat(dir, &st) && errno == ENOENT) {
		say("%s %s/%s: no node that this one reaches has an arena %s that it may use (%s)",
		    what, path->arena, path->object, path->arena,
		    "see 'tally peer show'");
		return FAILED;
	}
	if (error == ENOENT) {
		say("%s %s/%s: there is no object of that name", what,
		    path->arena, path->object);
		return FAILED;
	}
	return file_failed(what, path, error);
}

/* An open(2) that may take longer than somebody waits for it. */
struct opening {
	int flags;
	int fd;
	int error;
	char name[];
};

static void *open_thread(void *arg)
{
	struct opening *o = arg;

	o->fd = open(o->name, o->flags);
	o->error = errno;
	return NULL;
}

/* No signal ends the look-up of a name but one that kills: so a thread does it. */
static int open_within(const char *name, int flags, uint32_t *timeout)
{
	struct opening *o = malloc(sizeof(*o) + strlen(name) + 1);
	struct timespec end, now;
	pthread_t thread;
	int64_t left;
	int fd;

	if (!o)
		return -1;
	o->flags = flags;
	strcpy(o->name, name);
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += *timeout / 1000;
	end.tv_nsec += *timeout % 1000 * 1000000;
	end.tv_sec += end.tv_nsec / 1000000000;
	end.tv_nsec %= 1000000000;
	errno = pthread_create(&thread, NULL, open_thread, o);
	if (errno) {
		free(o);
		return -1;
	}
	errno = pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &end);
	if (errno) {
		/* What it still uses stays its own. */
		pthread_detach(thread);
		return -1;
	}
	clock_gettime(CLOCK_MONOTONIC, &now);
	left = (end.tv_sec - now.tv_sec) * 1000 +
	       (end.tv_nsec - now.tv_nsec) / 1000000;
	*timeout = left > 0 ? left : 1;
	fd = o->fd;
	errno = o->error;
	free(o);
	return fd;
}

/**
 * file_open - open an object
 * @what: its type
 * @path: the object
 * @flags: O_RDONLY, …
 * @timeout: milliseconds it may take, of which what it took is taken off, but for
 *	a last one; 0: no limit
 * @fd: set to the descriptor, which no child inherits
 *
 * Return: DONE, or another status after a sentence.
 */
int file_open(const char *what, const struct path *path, int flags,
	      uint32_t *timeout, int *fd)
{
	char where[PATH_MAX], name[sizeof(where) + sizeof(*path) + 2];
	int len;

	if (mount_find(NULL, where))
		return FAILED;
	len = sprintf(name, "%s/%s", where, path->arena);
	sprintf(name + len, "/%s", path->object);
	flags |= O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
	*fd = *timeout ? open_within(name, flags, timeout) : open(name, flags);
	if (*fd >= 0)
		return DONE;
	name[len] = '\0';
	return open_failed(what, path, name, errno);
}
