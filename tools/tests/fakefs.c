// SPDX-License-Identifier: GPL-2.0
/*
 * Stands in for the tally file system, so that the tool can be tested without
 * the module: LD_PRELOAD it, and the directory FAKE_MOUNT is a mount, files in
 * it are locks (held by flock, so a shared open file holds them too) and
 * counters. A file FAKE_LOST makes locks lost; FAKE_LEASE ends their lease 2 s
 * after it was written; FAKE_ERRNO is what every operation fails with; FAKE_MOUNTS is
 * the table of mounts, as in mountinfo.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/tally.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

static int fail(int error)
{
	errno = error;
	return -1;
}

static int is_lost(void)
{
	const char *path = getenv("FAKE_LOST");

	return path && !access(path, F_OK);
}

/* The word is the file's contents, whatever the file was opened for. */
static int counter(int fd, struct tally_ioc_counter *ioc)
{
	__u64 value = 0, next;
	char path[64];
	int file;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	file = open(path, O_RDWR | O_CLOEXEC);
	if (file < 0)
		return -1;
	if (pread(file, &value, sizeof(value), 0) < 0)
		value = 0;
	ioc->old = value;
	next = ioc->op == TALLY_COUNTER_ADD ? value + ioc->value :
	       ioc->op == TALLY_COUNTER_READ ? value :
	       ioc->op == TALLY_COUNTER_CAS && value != ioc->compare ? value :
	       ioc->value;
	if (pwrite(file, &next, sizeof(next), 0) != sizeof(next))
		return fail(EIO);
	close(file);
	return 0;
}

static int lock(int fd, struct tally_ioc_lock *ioc)
{
	int how = LOCK_EX;

	if (ioc->flags & TALLY_LOCK_TRY || ioc->timeout_ms)
		how |= LOCK_NB;
	if (flock(fd, how))
		return fail(ioc->timeout_ms ? ETIMEDOUT : EWOULDBLOCK);
	ioc->token = (1ULL << 50) + 7;
	return 0;
}

/* Since the file FAKE_LEASE was written, the lease runs out: 2 s. */
static __u64 lease_left(void)
{
	const char *path = getenv("FAKE_LEASE");
	struct timespec now;
	struct stat st;
	long long gone;

	if (!path || stat(path, &st))
		return 2000;
	clock_gettime(CLOCK_REALTIME, &now);
	gone = (now.tv_sec - st.st_mtim.tv_sec) * 1000LL +
	       (now.tv_nsec - st.st_mtim.tv_nsec) / 1000000;
	return gone < 2000 ? 2000 - gone : 0;
}

static int stat_lock(struct tally_ioc_lockstat *ioc)
{
	ioc->lease_ms = lease_left();
	ioc->held = !is_lost() && ioc->lease_ms;
	ioc->lost = !ioc->held;
	return 0;
}

int ioctl(int fd, unsigned long request, ...)
{
	const char *error = getenv("FAKE_ERRNO");
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (_IOC_TYPE(request) != TALLY_IOC_MAGIC)
		return syscall(SYS_ioctl, fd, request, arg);
	if (error)
		return fail(atoi(error));
	switch (request) {
	case TALLY_IOC_COUNTER:
		return counter(fd, arg);
	case TALLY_IOC_LOCK:
		return lock(fd, arg);
	case TALLY_IOC_LOCKSTAT:
		return stat_lock(arg);
	case TALLY_IOC_UNLOCK:
		return is_lost() ? fail(ESTALE) : flock(fd, LOCK_UN);
	default:
		return fail(ENOTTY);
	}
}

FILE *fopen(const char *path, const char *mode)
{
	FILE *(*next)(const char *name, const char *how) = dlsym(RTLD_NEXT, "fopen");
	const char *table = getenv("FAKE_MOUNTS");

	return next(table && strstr(path, "mountinfo") ? table : path, mode);
}

/* The last one at a place is on top. */
static void find_mount(const char *path, struct statx *stx)
{
	const char *table = getenv("FAKE_MOUNTS");
	FILE *file = table ? fopen(table, "re") : NULL;
	char line[512], where[256], real[PATH_MAX], *blank;
	unsigned int id;

	while (file && realpath(path, real) && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%u %*s %*s %*s %255s", &id, where) != 2)
			continue;
		while ((blank = strstr(where, "\\040"))) {
			*blank = ' ';
			memmove(blank + 1, blank + 4, strlen(blank + 4) + 1);
		}
		if (strcmp(where, real))
			continue;
		stx->stx_mnt_id = id;
		stx->stx_attributes |= STATX_ATTR_MOUNT_ROOT;
	}
	if (file)
		fclose(file);
}

int statx(int dir, const char *path, int flags, unsigned int mask,
	  struct statx *stx)
{
	if (syscall(SYS_statx, dir, path, flags, mask, stx))
		return -1;
	find_mount(path, stx);
	return 0;
}

int statfs(const char *path, struct statfs *buf)
{
	const char *mount = getenv("FAKE_MOUNT");

	if (syscall(SYS_statfs, path, buf))
		return -1;
	if (mount && !strcmp(path, mount))
		buf->f_type = TALLY_FS_MAGIC;
	return 0;
}
