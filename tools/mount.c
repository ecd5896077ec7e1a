// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <linux/tally.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>
#include "mount.h"
#include "tally.h"

#define UMOUNT_TRIES	30	/* of 100 ms */

/* Is this the file system of that node? */
static bool is_of(const struct mntent *ent, const char *node)
{
	const char *shown = hasmntopt(ent, "node");
	size_t len = strlen(node);

	return !strcmp(ent->mnt_type, "tally") && shown &&
	       !strncmp(shown, "node=", 5) && !strncmp(shown + 5, node, len) &&
	       (!shown[5 + len] || shown[5 + len] == ',');
}

/* Finds a mount: at @dir if that is given, of @node if that is. */
static bool find(const char *dir, const char *node, char where[PATH_MAX])
{
	FILE *table = setmntent("/proc/self/mounts", "re");
	struct mntent *ent;
	bool found = false;

	if (!table)
		return false;
	while (!found && (ent = getmntent(table))) {
		if (strcmp(ent->mnt_type, "tally") ||
		    (dir && strcmp(ent->mnt_dir, dir)) ||
		    (node && !is_of(ent, node)))
			continue;
		found = snprintf(where, PATH_MAX, "%s", ent->mnt_dir) < PATH_MAX;
	}
	endmntent(table);
	return found;
}

/**
 * mount_find - find the file system to be used
 * @where: set to where it is mounted
 *
 * It is the one of the node chosen, if one was.
 *
 * Return: DONE, or FAILED after a sentence.
 */
int mount_find(char where[PATH_MAX])
{
	const char *dir = opt.mount ? opt.mount : TALLY_MOUNT;
	struct statfs fs;

	if (opt.node) {
		/* Its usual place first. */
		if (find(dir, opt.node, where) ||
		    (!opt.mount && find(NULL, opt.node, where)))
			return DONE;
		say("no tally file system of node %s %s%s: '%s -o node=%s none %s' mounts it",
		    opt.node, opt.mount ? "at " : "is mounted",
		    opt.mount ? opt.mount : "", "mount -t tally", opt.node,
		    opt.mount ? opt.mount : "DIRECTORY");
		return FAILED;
	}
	if (snprintf(where, PATH_MAX, "%s", dir) < PATH_MAX &&
	    !statfs(dir, &fs) && fs.f_type == TALLY_FS_MAGIC)
		return DONE;
	say("no tally file system at %s: 'mount -t tally none %s' mounts it",
	    dir, dir);
	return FAILED;
}

/**
 * mount_node - mount the file system of a node that was added
 * @node: its name
 *
 * Where another node's is mounted already, that one stays.
 *
 * Return: DONE, or FAILED after a sentence.
 */
int mount_node(const char *node)
{
	const char *dir = opt.mount ? opt.mount : TALLY_MOUNT;
	char options[128], where[PATH_MAX];

	if (find(dir, NULL, where)) {
		if (!find(dir, node, where))
			say("%s shows another node; mount -t tally -o node=%s for this one",
			    dir, node);
		return DONE;
	}
	if (mkdir(dir, 0755) && errno != EEXIST) {
		say("node %s runs, but %s cannot be made: %s", node, dir,
		    strerror(errno));
		return FAILED;
	}
	snprintf(options, sizeof(options), "node=%s", node);
	if (!mount("tally", dir, "tally", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		   options))
		return DONE;
	say("node %s runs, but nothing could be mounted at %s: %s", node, dir,
	    strerror(errno));
	return FAILED;
}

/* A process woken by the end of the node may need a moment to close its files. */
static int unmount(const char *where)
{
	const struct timespec step = { .tv_nsec = 100000000 };

	for (int i = 0; umount2(where, UMOUNT_NOFOLLOW); i++) {
		if (errno != EBUSY || i == UMOUNT_TRIES)
			return -1;
		nanosleep(&step, NULL);
	}
	return 0;
}

/**
 * unmount_node - unmount the file systems of a node that is gone
 * @node: its name
 *
 * What is still in use stays, and its place is told.
 */
void unmount_node(const char *node)
{
	char where[PATH_MAX];

	while (find(NULL, node, where)) {
		if (unmount(where)) {
			say("%s stays mounted: %s; 'fuser -vm %s' tells why",
			    where, strerror(errno), where);
			return;
		}
		/* Ours alone was made by mount_node(); others may refuse. */
		if (!strcmp(where, TALLY_MOUNT))
			rmdir(where);
	}
}
