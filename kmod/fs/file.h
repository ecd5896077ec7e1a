/* SPDX-License-Identifier: GPL-2.0 */
/* Open files: each is a user of the node, shown by name. */
#ifndef TALLY_FS_FILE_H
#define TALLY_FS_FILE_H

#include "fs/inode.h"

/**
 * struct tally_file - an open file; the first member of what each type has
 * @user: tells the node that it is used
 * @handle: the object, referenced by the inode, which the file keeps; NULL
 *	for a directory
 * @lock: for the type
 * @end: root only: behind the last arena, where a listing came to its end; or 0
 * @listed: directories: names since the beginning
 * @waited: likewise, jiffies that homes took
 */
struct tally_file {
	struct tally_user user;
	struct tally_handle *handle;
	struct mutex lock;	/* see above */
	loff_t end;
	u32 listed;
	unsigned long waited;
};

/* Jiffies for the milliseconds of an ioctl, where 0 means no limit. */
static inline long tally_fs_timeout(u32 ms)
{
	return ms ? (long)msecs_to_jiffies(ms) : MAX_SCHEDULE_TIMEOUT;
}

int tally_file_open(struct inode *inode, struct file *file, size_t size);
int tally_file_no_lock(struct file *file, int cmd, struct file_lock *fl);
int tally_file_release(struct inode *inode, struct file *file);

#endif
