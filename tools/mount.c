// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
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
static bool find(const char *dir, const char *node, char *where, size_t size)
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
		snprintf(where, size, "%s", ent->mnt_dir);
		found = true;
	}
	endmntent(table);
	return found;
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
	char options[128], where[512];

	if (find(opt.mount, NULL, where, sizeof(where))) {
		if (!find(opt.mount, node, where, sizeof(where)))
			say("%s shows another node; mount -t tally -o node=%s for this one",
			    opt.mount, node);
		return DONE;
	}
	if (mkdir(opt.mount, 0755) && errno != EEXIST) {
		say("node %s runs, but %s cannot be made: %s", node, opt.mount,
		    strerror(errno));
		return FAILED;
	}
	snprintf(options, sizeof(options), "node=%s", node);
	if (!mount("tally", opt.mount, "tally",
		   MS_NOSUID | MS_NODEV | MS_NOEXEC, options))
		return DONE;
	say("node %s runs, but nothing could be mounted at %s: %s", node,
	    opt.mount, strerror(errno));
	return FAILED;
}

/* Who was woken by the end of the node may need a moment to close its files. */
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
	char where[512];

	while (find(NULL, node, where, sizeof(where))) {
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
