// SPDX-License-Identifier: GPL-2.0
#include "fs/inode.h"

#include <linux/jhash.h>
#include "client/attach.h"
#include "home/admin.h"

/* Whose the home says it is. False: the root, which has no home. */
static bool inode_owner(struct inode *inode, struct tally_owner *owner)
{
	struct tally_handle *handle = tally_inode_handle(inode);
	struct tally_object *object = handle ? handle->object : NULL;
	struct tally_view *view = tally_inode_view(inode);

	if (!view)
		return false;
	if (view->arena)
		mutex_lock(&view->arena->lock);
	if (object)
		*owner = object->config.owner;
	else if (handle)
		*owner = handle->owner;
	else if (view->arena)
		*owner = view->arena->config.owner;
	else
		*owner = view->owner;
	if (view->arena)
		mutex_unlock(&view->arena->lock);
	return true;
}

/*
 * The inode is a copy, brought up to date with each look, with or without its
 * mutex: its spinlock keeps two of them from mixing what they write.
 */
static void inode_refresh(struct inode *inode)
{
	struct tally_owner owner;

	if (!inode_owner(inode, &owner))
		return;
	spin_lock(&inode->i_lock);
	inode->i_uid = owner.uid;
	inode->i_gid = owner.gid;
	WRITE_ONCE(inode->i_mode,
		   (inode->i_mode & S_IFMT) | owner.perm);
	spin_unlock(&inode->i_lock);
}

/**
 * tally_inode_permission - may the caller use this file or directory?
 * @idmap: of the mount
 * @inode: the file or directory
 * @mask: MAY_*
 *
 * Besides the mode, a file cannot be opened for writing by a node that the
 * home gave no right to write, whichever user asks.
 *
 * Return: 0, -EACCES, the errors of tally_view_attach(), or -ECHILD when it
 * must not sleep.
 */
int tally_inode_permission(struct tally_idmap *idmap, struct inode *inode,
			   int mask)
{
	struct tally_handle *handle = tally_inode_handle(inode);
	struct tally_until until = tally_until(TALLY_FS_TIMEOUT);
	int err = 0;

	if (mask & MAY_NOT_BLOCK)
		return -ECHILD;
	inode_refresh(inode);
	if (handle && (mask & MAY_WRITE))
		err = tally_view_may_write(handle->view, &until);
	return err ?: generic_permission(idmap, inode, mask);
}

int tally_inode_getattr(struct tally_idmap *idmap, const struct path *path,
			struct kstat *stat, u32 request_mask,
			unsigned int flags)
{
	struct inode *inode = d_inode(path->dentry);

	inode_refresh(inode);
	tally_fillattr(idmap, request_mask, inode, stat);
	stat->blocks = DIV_ROUND_UP_ULL(stat->size, 512);
	return 0;
}

/* What the inode says may be older, and is not taken back to the home. */
static void inode_set_home(struct inode *inode, const struct iattr *change)
{
	struct tally_handle *handle = tally_inode_handle(inode);
	struct tally_owner owner;

	inode_owner(inode, &owner);
	if (change->ia_valid & ATTR_UID)
		owner.uid = change->ia_uid;
	if (change->ia_valid & ATTR_GID)
		owner.gid = change->ia_gid;
	if (change->ia_valid & ATTR_MODE)
		owner.perm = change->ia_mode & 0777;
	tally_arena_set_owner(tally_inode_view(inode)->arena,
			      handle ? handle->object : NULL, &owner);
}

/**
 * tally_inode_setattr - chmod, chown, truncate, utimes
 * @idmap: of the mount
 * @dentry: the file or directory
 * @attr: what to change
 *
 * Return: 0; -EREMOTE: owner and mode are changed at the home; -EPERM: not
 * the owner, the root of the mount, or another size.
 */
int tally_inode_setattr(struct tally_idmap *idmap, struct dentry *dentry,
			struct iattr *attr)
{
	bool owner = attr->ia_valid & (ATTR_MODE | ATTR_UID | ATTR_GID);
	struct inode *inode = d_inode(dentry);
	int err;

	inode_refresh(inode);
	if (owner && !inode->i_private)
		return -EPERM;
	if (owner && !tally_inode_view(inode)->arena)
		return -EREMOTE;
	/*
	 * Sizes are fixed. Opening with O_TRUNC, as shells and dd do before
	 * they write, must work, and changes nothing.
	 */
	if ((attr->ia_valid & ATTR_SIZE) && !(attr->ia_valid & ATTR_OPEN) &&
	    attr->ia_size != i_size_read(inode))
		return -EPERM;
	err = setattr_prepare(idmap, dentry, attr);
	if (err)
		return err;
	setattr_copy(idmap, inode, attr);
	if (owner) {
		inode_set_home(inode, attr);
		inode_refresh(inode);
	}
	return 0;
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
	inode->i_ino = inode_number(inode);
	tally_inode_init_ts(inode);
	inode_refresh(inode);
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
