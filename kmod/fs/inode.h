/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inodes: the root, arenas, objects. Owner, group and mode belong to the home
 * and are copied from there before each use.
 */
#ifndef TALLY_FS_INODE_H
#define TALLY_FS_INODE_H

#include "client/view.h"
#include "compat/fs_compat.h"
#include "session/node.h"

/*
 * A look-up or listing asks homes while the VFS holds the directory's mutex for
 * reading: others look up and list meanwhile, but what would change the
 * directory waits, so there is a bound. ->lookup() and ->iterate_shared() have
 * no right to give the mutex up.
 */
#define TALLY_FS_TIMEOUT	(5 * HZ)

/**
 * struct tally_fs - one mount
 * @node: the node it shows, referenced; may have been stopped since
 * @user: tells that node that it is used
 */
struct tally_fs {
	struct tally_node *node;
	struct tally_user user;
};

static inline struct tally_node *tally_fs_node(const struct inode *inode)
{
	struct tally_fs *fs = inode->i_sb->s_fs_info;

	return fs->node;
}

/* Of a file; NULL for a directory. */
static inline struct tally_handle *tally_inode_handle(const struct inode *inode)
{
	return S_ISDIR(inode->i_mode) ? NULL : inode->i_private;
}

/* The arena that it is or is in; NULL for the root. */
static inline struct tally_view *tally_inode_view(const struct inode *inode)
{
	struct tally_handle *handle = tally_inode_handle(inode);

	return handle ? handle->view : inode->i_private;
}

struct inode *tally_inode_create(struct super_block *sb, umode_t mode,
				 void *private);
/* Takes the reference over, also when it fails. */
struct inode *tally_inode_file(struct super_block *sb,
			       struct tally_handle *handle);
void tally_inode_evict(struct inode *inode);

int tally_inode_permission(struct tally_idmap *idmap, struct inode *inode,
			   int mask);
int tally_inode_getattr(struct tally_idmap *idmap, const struct path *path,
			struct kstat *stat, u32 request_mask,
			unsigned int flags);
int tally_inode_setattr(struct tally_idmap *idmap, struct dentry *dentry,
			struct iattr *attr);

#endif
