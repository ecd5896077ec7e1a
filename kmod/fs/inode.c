// SPDX-License-Identifier: GPL-2.0
#include "fs/inode.h"

#include <linux/iversion.h>
#include <linux/jhash.h>
#include "base/delay.h"
#include "client/attach.h"
#include "client/handle.h"
#include "home/admin.h"

/* Looks at homes; an inode has that of the last answer in i_version. */
static atomic64_t inode_looks;
/* Held from the check of who may change an owner here until it is changed. */
static DEFINE_MUTEX(owner_lock);

/*
 * Ask the home, within TALLY_FS_TIMEOUT. On the way to each file is its directory: one
 * whose home let that expire is not asked for as long again, or a list of many names
 * would take that for each of them.
 */
static int inode_ask(struct tally_view *view, struct tally_handle *handle,
		     struct tally_owner *owner)
{
	struct tally_until until = tally_until(TALLY_FS_TIMEOUT);
	unsigned long silent = READ_ONCE(view->silent);
	int err;

	if (!handle && silent && time_before(jiffies, silent))
		return -ETIMEDOUT;
	err = tally_handle_stat(view, handle, owner, &until);
	if (!handle && err == -ETIMEDOUT)
		WRITE_ONCE(view->silent, (jiffies + TALLY_FS_TIMEOUT) ?: 1);
	else if (silent && !err)
		WRITE_ONCE(view->silent, 0);
	return err;
}

/*
 * The inode is a copy, brought up to date with each look, with or without its
 * mutex: its spinlock keeps two of them from mixing what they write, and the answer
 * of one that began earlier, and may be older, is dropped. The root stays as it is. 0
 * or the errors of tally_handle_stat().
 */
static int inode_refresh(struct inode *inode)
{
	struct tally_view *view = tally_inode_view(inode);
	u64 look = atomic64_inc_return(&inode_looks);
	struct tally_owner owner;
	int err;

	if (!view)
		return 0;
	err = inode_ask(view, tally_inode_handle(inode), &owner);
	if (err)
		return err;
	spin_lock(&inode->i_lock);
	if (look > inode_peek_iversion_raw(inode)) {
		inode_set_iversion_raw(inode, look);
		inode->i_uid = owner.uid;
		inode->i_gid = owner.gid;
		WRITE_ONCE(inode->i_mode,
			   (inode->i_mode & S_IFMT) | owner.perm);
		tally_inode_set_ts(inode, ns_to_timespec64(owner.changed));
	}
	spin_unlock(&inode->i_lock);
	return 0;
}

/**
 * tally_inode_permission - may the caller use this file or directory?
 * @idmap: of the mount
 * @inode: the file or directory
 * @mask: MAY_*
 *
 * Besides the mode, which the home is asked for, a file cannot be opened for
 * writing by a node that the home gave no right to write, whichever user asks.
 *
 * To read, and neither to open nor as access(2) asks it, is what inotify and
 * fanotify want. A watch would miss all that is done elsewhere or by other ways
 * than this file, and would keep a deleted object's memory.
 *
 * Return: 0, -EACCES, -EOPNOTSUPP, the errors of tally_handle_stat() and
 * tally_view_attach(), or -ECHILD when it must not sleep.
 */
int tally_inode_permission(struct tally_idmap *idmap, struct inode *inode,
			   int mask)
{
	struct tally_handle *handle = tally_inode_handle(inode);
	struct tally_until until = tally_until(TALLY_FS_TIMEOUT);
	int err;

	if (mask & MAY_NOT_BLOCK)
		return -ECHILD;
	if (mask == MAY_READ)
		return -EOPNOTSUPP;
	err = inode_refresh(inode);
	if (!err && handle && (mask & MAY_WRITE))
		err = tally_view_may_write(handle->view, &until);
	return err ?: generic_permission(idmap, inode, mask);
}

int tally_inode_getattr(struct tally_idmap *idmap, const struct path *path,
			struct kstat *stat, u32 request_mask,
			unsigned int flags)
{
	struct inode *inode = d_inode(path->dentry);
	int err = flags & AT_STATX_DONT_SYNC ? 0 : inode_refresh(inode);

	/* Of what is gone, but open, the last is told that was known. */
	if (err == -ENOTCONN || err == -ETIMEDOUT || err == -EINTR)
		return err;
	tally_fillattr(idmap, request_mask, inode, stat);
	stat->blocks = DIV_ROUND_UP_ULL(stat->size, 512);
	return 0;
}

/*
 * The arena is ours, so that nobody else is asked with the lock held. What the inode
 * says may be older, and is not taken back to the home.
 */
static int inode_set_home(struct tally_idmap *idmap, struct dentry *dentry,
			  struct iattr *change)
{
	struct inode *inode = d_inode(dentry);
	struct tally_handle *handle = tally_inode_handle(inode);
	u8 what = (change->ia_valid & ATTR_UID ? TALLY_OWNER_UID : 0) |
		  (change->ia_valid & ATTR_GID ? TALLY_OWNER_GID : 0) |
		  (change->ia_valid & ATTR_MODE ? TALLY_OWNER_PERM : 0);
	struct tally_owner owner = {
		.uid = change->ia_uid,
		.gid = change->ia_gid,
		.perm = change->ia_mode & 0777,
	};
	int err;

	if (mutex_lock_killable(&owner_lock))
		return -EINTR;
	err = inode_refresh(inode) ?: setattr_prepare(idmap, dentry, change);
	if (!err) {
		tally_delay(SET_OWNER);
		tally_arena_set_owner(tally_inode_view(inode)->arena,
				      handle ? handle->object : NULL, &owner,
				      what);
	}
	mutex_unlock(&owner_lock);
	return err;
}

/* The size is fixed: what was truncated reads as zero. */
static int inode_truncate(struct inode *inode, const struct iattr *attr)
{
	struct tally_handle *handle = tally_inode_handle(inode);

	if (!(attr->ia_valid & ATTR_OPEN))
		return attr->ia_size == i_size_read(inode) ? 0 : -EPERM;
	if (!handle || !handle->ops->fs_truncate)
		return 0;
	return handle->ops->fs_truncate(handle);
}

/**
 * tally_inode_setattr - chmod, chown, truncate, utimes
 * @idmap: of the mount
 * @dentry: the file or directory
 * @attr: what to change
 *
 * Return: 0; -EREMOTE: owner and mode are changed at the home; -EPERM: not
 * the owner, the root of the mount, or another size; -EOPNOTSUPP: no home keeps
 * that: times, set-user-id and its like; the errors of tally_handle_stat() and of
 * fs_truncate() of the type.
 */
int tally_inode_setattr(struct tally_idmap *idmap, struct dentry *dentry,
			struct iattr *attr)
{
	bool owner = attr->ia_valid & (ATTR_MODE | ATTR_UID | ATTR_GID);
	struct inode *inode = d_inode(dentry);
	int err;

	if (owner && !inode->i_private)
		return -EPERM;
	if (owner && !tally_inode_view(inode)->arena)
		return -EREMOTE;
	if (attr->ia_valid & (ATTR_TOUCH | ATTR_TIMES_SET))
		return -EOPNOTSUPP;
	if ((attr->ia_valid & ATTR_MODE) &&
	    (attr->ia_mode & (S_ISUID | S_ISGID | S_ISVTX)))
		return -EOPNOTSUPP;
	err = inode_refresh(inode) ?: setattr_prepare(idmap, dentry, attr);
	if (!err && (attr->ia_valid & ATTR_SIZE))
		err = inode_truncate(inode, attr);
	if (err || !owner)
		return err;
	return inode_set_home(idmap, dentry, attr) ?: inode_refresh(inode);
}

/*
 * Inodes do not outlive their users, but programs compare the number of a path
 * with that of the file they opened: the same object has the same one.
 */
static u64 inode_number(struct inode *inode)
{
	struct tally_handle *handle = tally_inode_handle(inode);
	struct tally_view *view = tally_inode_view(inode);
	u32 id[3] = {}, seed;

	if (!view)
		return 1;	/* the root */
	seed = jhash(view->home, strlen(view->home), 0);
	id[0] = view->arena ? view->arena->id : view->remote_id;
	if (handle) {
		id[1] = handle->id;
		id[2] = handle->generation;
	}
	return (u64)jhash2(id, ARRAY_SIZE(id), seed) << 32 |
	       jhash2(id, ARRAY_SIZE(id), ~seed);
}

/*
 * A new inode. @private is the view or handle; its reference stays the caller's
 * on error. Return: the inode or ERR_PTR(-ENOMEM).
 */
struct inode *tally_inode_create(struct super_block *sb, umode_t mode,
				 void *private)
{
	struct inode *inode = new_inode(sb);

	if (!inode)
		return ERR_PTR(-ENOMEM);
	inode->i_mode = mode;
	inode->i_private = private;
	inode_set_iversion_raw(inode, 0);
	inode->i_ino = inode_number(inode);
	/* Reading and writing is not seen by whoever keeps the times. */
	inode->i_flags |= S_NOATIME | S_NOCMTIME;
	tally_inode_set_ts(inode, current_time(inode));
	return inode;
}

static const struct inode_operations file_inode_ops = {
	.permission	= tally_inode_permission,
	.getattr	= tally_inode_getattr,
	.setattr	= tally_inode_setattr,
};

/*
 * The inode of an object; the reference is taken over, also on error. Return:
 * the inode or ERR_PTR(-ENOMEM).
 */
struct inode *tally_inode_file(struct super_block *sb,
			       struct tally_handle *handle)
{
	struct inode *inode = tally_inode_create(sb, S_IFREG, handle);

	if (IS_ERR(inode)) {
		tally_handle_put(handle);
		return inode;
	}
	i_size_write(inode, handle->size);
	inode->i_op = &file_inode_ops;
	inode->i_fop = handle->ops->fops;
	return inode;
}

/*
 * Dentries are never cached without a user (see tally_dentry_ops), so this does
 * not run under memory pressure and may sleep.
 */
void tally_inode_evict(struct inode *inode)
{
	struct tally_handle *handle = tally_inode_handle(inode);
	struct tally_view *view = tally_inode_view(inode);

	truncate_inode_pages_final(&inode->i_data);
	clear_inode(inode);
	if (handle)
		tally_handle_put(handle);
	else if (view)
		tally_view_put(view);
}
