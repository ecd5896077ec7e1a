// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <linux/tally.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "file.h"
#include "mount.h"
#include "tally.h"

static const char *sentence(int error)
{
	switch (error) {
	case EACCES:
		return "its mode or your rights in the arena forbid it";
	case EIDRM:
		return "it was deleted";
	case EINTR:
		return "a signal came; nothing was done";
	case ENETDOWN:
		return "our RDMA device is gone; nothing was done";
	case ENOTCONN:
		return "there is no session with its home; nothing was done";
	case ENOTTY:
	case EISDIR:
	case ELOOP:
		return "it is an object of another type";
	case ENOTUNIQ:
		return "two nodes have an arena of that name: write ARENA@NODE/OBJECT";
	case EREMOTEIO:
		return "the outcome is unknown: sent, then the link broke or time ran out";
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
		say("%s %s/%s: no node that we reach has an arena %s that we may use (%s)",
		    what, path->arena, path->object, path->arena,
		    "'tally peer show' lists the nodes");
		return FAILED;
	}
	if (error == ENOENT) {
		say("%s %s/%s: there is no object of that name", what,
		    path->arena, path->object);
		return FAILED;
	}
	return file_failed(what, path, error);
}

/**
 * file_open - open an object
 * @what: its type
 * @path: the object
 * @flags: O_RDONLY, …
 * @fd: set to the descriptor, which no child inherits
 *
 * Return: DONE, or another status after a sentence.
 */
int file_open(const char *what, const struct path *path, int flags, int *fd)
{
	char where[PATH_MAX], name[sizeof(where) + sizeof(*path) + 2];
	int len;

	if (mount_find(where))
		return FAILED;
	len = sprintf(name, "%s/%s", where, path->arena);
	sprintf(name + len, "/%s", path->object);
	*fd = open(name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (*fd >= 0)
		return DONE;
	name[len] = '\0';
	return open_failed(what, path, name, errno);
}
