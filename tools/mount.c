// SPDX-License-Identifier: GPL-2.0
/*
 * Mounts are told apart by their ids: the same place has many names, and another
 * file system may be mounted over one of ours.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/tally.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>
#include "mount.h"
#include "tally.h"

#define MOUNTS		"/proc/self/mountinfo"
#define TYPE		" - tally "	/* in a line of that */
#define UMOUNT_TRIES	30	/* of 100 ms */

/**
 * struct mounted - a tally file system that is mounted
 * @id: of the mount
 * @node: whose it is
 * @where: its place
 */
struct mounted {
	uint64_t id;
	char node[TALLY_NAME_LEN + 1];
	char where[PATH_MAX];
};

/* Blanks and the like stand there as octal numbers. */
static void unescape(char *text)
{
	char *to = text;
	unsigned int c;

	for (; *text; to++) {
		if (sscanf(text, "\\%3o", &c) == 1) {
			*to = c;
			text += 4;
		} else {
			*to = *text++;
		}
	}
	*to = '\0';
}

/*
 * "36 35 0:40 / /dev/tally rw,nosuid shared:1 - tally none rw,node=n1". One whose
 * place is longer than a path can be is of no use.
 */
static bool parse(char *line, struct mounted *mount)
{
	char *rest = strstr(line, TYPE), *node;
	unsigned long long id;
	int start, end;

	if (!rest)
		return false;
	*rest = '\0';
	rest = strchr(rest + strlen(TYPE), ' ');	/* behind the source */
	node = rest ? strstr(rest, ",node=") : NULL;
	if (sscanf(line, "%llu %*s %*s %*s %n%*s%n", &id, &start, &end) != 1)
		return false;
	line[end] = '\0';
	mount->id = id;
	mount->node[0] = '\0';
	if (node)
		sscanf(node, ",node=%63[^,\n]", mount->node);
	if (snprintf(mount->where, PATH_MAX, "%s", line + start) >= PATH_MAX)
		return false;
	unescape(mount->where);
	return true;
}

static bool next_mount(FILE *table, struct mounted *mount)
{
	bool found = false;
	char *line = NULL;
	size_t size = 0;

	while (!found && getline(&line, &size, table) >= 0)
		found = parse(line, mount);
	free(line);
	return found;
}

/* The id of what is mounted at @dir, topmost; 0: nothing is. */
static uint64_t id_at(const char *dir)
{
	struct statx stx;

	if (statx(AT_FDCWD, dir, AT_NO_AUTOMOUNT, STATX_MNT_ID, &stx) ||
	    !(stx.stx_attributes & STATX_ATTR_MOUNT_ROOT))
		return 0;
	return stx.stx_mnt_id;
}

/* Was the node stopped whose file system this is? It refuses any look-up then. */
static bool is_stopped(const char *dir)
{
	char name[PATH_MAX + 4];

	snprintf(name, sizeof(name), "%s/.x", dir);
	return access(name, F_OK) && errno == ESHUTDOWN;
}

/* Is ours at @dir, not below another one? */
static bool find_at(const char *dir, struct mounted *mount)
{
	FILE *table = fopen(MOUNTS, "re");
	uint64_t id = id_at(dir);
	bool found = false;

	while (id && table && !found && next_mount(table, mount))
		found = mount->id == id;
	if (table)
		fclose(table);
	return found;
}

/* That of a node that runs, in whatever place it can be reached. */
static bool find_of(const char *node, struct mounted *mount)
{
	FILE *table = fopen(MOUNTS, "re");
	bool found = false;

	while (table && !found && next_mount(table, mount))
		found = !strcmp(mount->node, node) &&
			mount->id == id_at(mount->where) &&
			!is_stopped(mount->where);
	if (table)
		fclose(table);
	return found;
}

/**
 * mount_of - find the file system of a node
 * @node: its name; NULL: as mount_find() does
 * @where: set to where it is mounted
 *
 * Return: is there one? Says nothing.
 */
bool mount_of(const char *node, char where[PATH_MAX])
{
	const char *dir = opt.mount ? opt.mount : TALLY_MOUNT;
	struct mounted mount;

	/* Its usual place first. */
	if (!(find_at(dir, &mount) && (!node || !strcmp(mount.node, node))) &&
	    !(node && find_of(node, &mount)))
		return false;
	memcpy(where, mount.where, PATH_MAX);
	return true;
}

/**
 * mount_find - find the file system to be used
 * @node: whose; NULL: that of the node chosen, if one was
 * @where: set to where it is mounted
 *
 * Return: DONE, or FAILED after a sentence.
 */
int mount_find(const char *node, char where[PATH_MAX])
{
	const char *dir = opt.mount ? opt.mount : TALLY_MOUNT;
	struct mounted mount;
	struct statfs fs;

	if (!node)
		node = opt.node;
	if (node) {
		if ((!opt.mount || (find_at(dir, &mount) &&
				    !strcmp(mount.node, node))) &&
		    mount_of(node, where))
			return DONE;
		say("no tally file system of node %s %s%s: '%s -o node=%s none %s' mounts it",
		    node, opt.mount ? "at " : "is mounted",
		    opt.mount ? opt.mount : "", "mount -t tally", node,
		    opt.mount ? opt.mount : "DIRECTORY");
		return FAILED;
	}
	if (snprintf(where, PATH_MAX, "%s", dir) < PATH_MAX &&
	    !statfs(dir, &fs) && fs.f_type == TALLY_FS_MAGIC)
		return DONE;
	say("no tally file system at %s: 'tally node add' starts a node, '%s %s' mounts it",
	    dir, "mount -t tally none", dir);
	return FAILED;
}

/* What is left of nodes that were stopped is in the way, and of no use to anybody. */
static int clear_place(const char *dir)
{
	struct mounted mount;

	while (find_at(dir, &mount) && is_stopped(dir)) {
		if (!umount2(mount.where, UMOUNT_NOFOLLOW))
			continue;
		if (umount2(mount.where, UMOUNT_NOFOLLOW | MNT_DETACH)) {
			say("what node %s left at %s cannot be unmounted: %s",
			    mount.node, dir, strerror(errno));
			return FAILED;
		}
		say("%s: in use since before node %s was stopped; detached, '%s' shows the users",
		    dir, mount.node, "tally node show users");
	}
	return DONE;
}

/**
 * mount_node - mount the file system of a node that was added
 * @node: its name
 *
 * Where that of another node that runs is mounted already, it stays.
 *
 * Return: DONE, or FAILED after a sentence.
 */
int mount_node(const char *node)
{
	const char *dir = opt.mount ? opt.mount : TALLY_MOUNT;
	struct mounted there;
	char options[128];

	if (clear_place(dir))
		return FAILED;
	if (find_at(dir, &there)) {
		if (strcmp(there.node, node))
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
static void unmount(const struct mounted *mount)
{
	const struct timespec step = { .tv_nsec = 100000000 };

	for (int i = 0; ; i++) {
		if (mount->id != id_at(mount->where)) {
			say("%s stays mounted: another file system is mounted over it",
			    mount->where);
			return;
		}
		if (!umount2(mount->where, UMOUNT_NOFOLLOW))
			break;
		if (errno != EBUSY || i == UMOUNT_TRIES) {
			say("%s stays mounted: %s; 'fuser -vm %s' tells why",
			    mount->where, strerror(errno), mount->where);
			return;
		}
		nanosleep(&step, NULL);
	}
	/* Ours alone was made by mount_node(); others may refuse. */
	if (!strcmp(mount->where, TALLY_MOUNT))
		rmdir(mount->where);
}

/* The last one first: it may be mounted over others. @table: read from here. */
static void unmount_rest(FILE *table, const char *node)
{
	struct mounted mount;

	do {
		if (!next_mount(table, &mount))
			return;
	} while (strcmp(mount.node, node));
	unmount_rest(table, node);
	/* Another one may have its name, in another network namespace, or by now. */
	if (mount.id != id_at(mount.where) || is_stopped(mount.where))
		unmount(&mount);
}

/**
 * unmount_node - unmount the file systems of a node that is gone
 * @node: its name
 *
 * What is still in use, or under another file system, stays, and its place is told.
 */
void unmount_node(const char *node)
{
	FILE *table = fopen(MOUNTS, "re");

	if (!table) {
		say("%s: %s", MOUNTS, strerror(errno));
		return;
	}
	unmount_rest(table, node);
	fclose(table);
}
