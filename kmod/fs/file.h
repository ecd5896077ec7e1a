/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of the file system know of each other. */
#ifndef TALLY_FS_FILE_H
#define TALLY_FS_FILE_H

#include "fs_compat.h"
#include "session/node.h"
#include "client/view.h"

/* A look-up or listing asks the home, with the directory locked. */
#define TALLY_FS_TIMEOUT	(5 * HZ)

/**
 * struct tally_fs - one mount
 * @node: the node it shows, referenced; may have been stopped since
 * @user: tells that node who uses it
 */
struct tally_fs {
	struct tally_node *node;
	struct tally_user user;
};

/**
 * struct tally_file - an open file; the first member of what each type has
 * @user: tells the node who uses it
 * @handle: the object, referenced by the inode, which the file keeps; NULL
 *	for a directory
 */
struct tally_file {
	struct tally_user user;
	struct tally_handle *handle;
};

static inline struct tally_node *tally_fs_node(const struct inode *inode)
{
	struct tally_fs *fs = inode->i_sb->s_fs_info;

	return fs->node;
}

/* Of an arena's directory; NULL for the root. */
static inline struct tally_view *tally_inode_view(const struct inode *inode)
{
	return S_ISDIR(inode->i_mode) ? inode->i_private : NULL;
}

/* Of a file; NULL for a directory. */
static inline struct tally_handle *tally_inode_handle(const struct inode *inode)
{
	return S_ISDIR(inode->i_mode) ? NULL : inode->i_private;
}

/* Jiffies for the milliseconds of an ioctl, where 0 means no limit. */
static inline long tally_fs_timeout(u32 ms)
{
	return ms ? (long)msecs_to_jiffies(ms) : MAX_SCHEDULE_TIMEOUT;
}

/* fs/inode.c. They take the reference over, also when they fail. */
struct inode *tally_inode_root(struct super_block *sb);
struct inode *tally_inode_dir(struct super_block *sb, struct tally_view *view);
struct inode *tally_inode_file(struct super_block *sb,
			       struct tally_handle *handle);
void tally_inode_evict(struct inode *inode);

/* fs/file.c: make and unmake file->private_data, of @size bytes. */
void *tally_file_open(struct inode *inode, struct file *file, size_t size);
void tally_file_release(struct inode *inode, struct file *file);

extern const struct inode_operations tally_dir_inode_ops;	/* fs/dir.c */
extern const struct file_operations tally_dir_ops;
extern const struct dentry_operations tally_dentry_ops;
extern const struct file_operations tally_counter_ops;	/* counter/file.c */
extern const struct file_operations tally_lock_ops;	/* lock/file.c */
extern const struct file_operations tally_region_ops;	/* region/file.c */

/* fs/inode.c, for directories and files alike */
int tally_inode_permission(struct tally_idmap *idmap, struct inode *inode,
			   int mask);
int tally_inode_getattr(struct tally_idmap *idmap, const struct path *path,
			struct kstat *stat, u32 request_mask,
			unsigned int flags);
int tally_inode_setattr(struct tally_idmap *idmap, struct dentry *dentry,
			struct iattr *attr);

#endif
