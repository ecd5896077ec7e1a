// SPDX-License-Identifier: GPL-2.0
/* The kernel's distributed lock manager, by its character devices. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/dlm.h>
#include <linux/dlm_device.h>
#include "client.h"

#define CONTROL		"/dev/dlm-control"

static int dlm_fd;
static const char *resource;
static struct dlm_lksb lksb;

static struct dlm_write_request *request(uint8_t command, const char *name,
					 size_t *size)
{
	struct dlm_write_request *req;

	*size = sizeof(*req) + strlen(name) + 1;
	req = calloc(1, *size);
	if (!req)
		die("memory");
	req->version[0] = DLM_DEVICE_VERSION_MAJOR;
	req->version[1] = DLM_DEVICE_VERSION_MINOR;
	req->version[2] = DLM_DEVICE_VERSION_PATCH;
	req->cmd = command;
	req->is64bit = sizeof(long) == sizeof(long long);
	return req;
}

/* What became of the last request. */
static int result(void)
{
	struct dlm_lock_result res;

	if (read(dlm_fd, &res, sizeof(res)) < (ssize_t)sizeof(res))
		die("result");
	lksb = res.lksb;
	return lksb.sb_status;
}

static void acquire(uint8_t mode)
{
	struct dlm_write_request *req;
	size_t size;

	req = request(DLM_USER_LOCK, resource, &size);
	req->i.lock.mode = mode;
	req->i.lock.namelen = strlen(resource);
	req->i.lock.castaddr = &lksb;
	req->i.lock.lksb = &lksb;
	memcpy(req->i.lock.name, resource, strlen(resource));
	if (write(dlm_fd, req, size) < 0)
		die("lock");
	free(req);
	if (result())
		die("lock was not granted");
}

static void release(void)
{
	struct dlm_write_request *req;
	size_t size;

	req = request(DLM_USER_UNLOCK, "", &size);
	req->i.lock.lkid = lksb.sb_lkid;
	req->i.lock.castaddr = &lksb;
	req->i.lock.lksb = &lksb;
	if (write(dlm_fd, req, size) < 0)
		die("unlock");
	free(req);
	if (result() != -DLM_EUNLOCK)
		die("lock was not released");
}

void dlm_open(char **arg)
{
	char path[80];

	snprintf(path, sizeof(path), "/dev/dlm_%s", arg[0]);
	dlm_fd = open(path, O_RDWR | O_CLOEXEC);
	if (dlm_fd < 0)
		die(path);
	resource = arg[1];
}

void dlm_lock(void)
{
	acquire(DLM_LOCK_EX);
	release();
}

int dlm_create(char **arg)
{
	struct dlm_write_request *req;
	int fd = open(CONTROL, O_RDWR | O_CLOEXEC);
	size_t size;

	if (fd < 0)
		die(CONTROL);
	req = request(DLM_USER_CREATE_LOCKSPACE, arg[0], &size);
	memcpy(req->i.lspace.name, arg[0], strlen(arg[0]));
	if (write(fd, req, size) < 0)
		die("create lockspace");
	puts("created");
	fflush(stdout);
	pause();
	return 0;
}

int dlm_keep(char **arg)
{
	dlm_open(arg);
	acquire(DLM_LOCK_NL);
	puts("kept");
	fflush(stdout);
	pause();
	return 0;
}
