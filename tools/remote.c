// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <linux/tally.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "mount.h"
#include "out.h"
#include "remote.h"
#include "tally.h"

/* More than the kernel ever hands out. */
#define ATTRS_BYTES	4096

static int failed(const struct tnl_request *req, const struct path *path,
		  int error)
{
	switch (error) {
	case EPERM:
		say("%s: only for those with CAP_NET_ADMIN", req->about);
		break;
	case ENOENT:
	case EOPNOTSUPP:	/* it has its home here, and was looked for there */
		say("%s: there is no object of that name", req->about);
		break;
	case EPROTOTYPE:
		say("%s: it is not a %s", req->about, req->type);
		break;
	case ENOTUNIQ:
		say("%s: two nodes have an arena of that name: write %s@NODE",
		    req->about, path->arena);
		break;
	case EACCES:
		say("%s: its mode or this node's rights in the arena forbid it",
		    req->about);
		break;
	case ENOTCONN:
		say("%s: no session with its home, see 'tally peer show'", req->about);
		break;
	default:
		say("%s: %s", req->about, strerror(error));
	}
	return error == ETIMEDOUT ? TIMED_OUT : FAILED;
}

static int open_arena(const struct tnl_request *req, const char *node,
		      const struct path *path, int *fd)
{
	char where[PATH_MAX], name[sizeof(where) + sizeof(path->arena) + 2];

	if (mount_find(node, where))
		return FAILED;
	snprintf(name, sizeof(name), "%s/%s", where, path->arena);
	*fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*fd >= 0)
		return DONE;
	if (errno != ENOENT)
		return failed(req, path, errno);
	say("%s: no node that this one reaches has an arena %s that it may use",
	    req->about, path->arena);
	return FAILED;
}

/* As a message of netlink, which the attributes are those of. */
static void hand_out(const void *bytes, size_t len, int max, tnl_answer answer)
{
	struct nlattr *attrs[256] = { NULL };
	struct nl_msg *msg = nlmsg_alloc();
	void *to;

	if (!msg || !genlmsg_put(msg, 0, 0, GENL_ID_CTRL, 0, 0, 0, 0))
		goto out;
	to = nlmsg_reserve(msg, len, NLMSG_ALIGNTO);
	if (!to)
		goto out;
	memcpy(to, bytes, len);
	if (!genlmsg_parse(nlmsg_hdr(msg), 0, attrs, max, NULL))
		answer(attrs, nlmsg_hdr(msg));
out:
	nlmsg_free(msg);
}

/**
 * remote_show - show an arena, or objects in it, that has its home elsewhere
 * @req: what was asked for, for complaints
 * @node: our node that has the way to it, or NULL
 * @path: arena, and an object or ""
 * @type: of the objects; 0: the arena itself
 * @max: highest attribute type
 * @answer: called for each
 *
 * Return: enum status.
 */
int remote_show(const struct tnl_request *req, const char *node,
		const struct path *path, uint32_t type, int max,
		tnl_answer answer)
{
	struct tally_ioc_show show = { .type = type };
	char bytes[ATTRS_BYTES];
	bool begun = false;
	int fd, status;

	status = open_arena(req, node, path, &fd);
	if (status)
		return status;
	snprintf(show.name, sizeof(show.name), "%s", path->object);
	do {
		show.attrs = (uintptr_t)bytes;
		show.len = sizeof(bytes);
		if (ioctl(fd, TALLY_IOC_SHOW, &show)) {
			status = failed(req, path, errno);
			break;
		}
		if (!begun)
			out_begin_list();
		begun = true;
		if (show.len)
			hand_out(bytes, show.len, max, answer);
		if (show.next && show.next <= show.after) {
			status = failed(req, path, EPROTO);
			break;
		}
		show.after = show.next;
	} while (show.next);
	if (begun)
		out_end_list();
	close(fd);
	return status;
}
