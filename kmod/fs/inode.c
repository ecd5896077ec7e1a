// SPDX-License-Identifier: GPL-2.0
/*
 * Inodes: the root, arenas, objects. Owner, group and mode belong to the home
 * and are copied from there before each use.
 */
#include <linux/jhash.h>
#include "fs/file.h"

static const struct inode_operations tally_file_inode_ops = {
	.permission	= tally_inode_permission,
	.getattr	= tally_inode_getattr,
	.setattr	= tally_inode_setattr,
};

static void inode_set_attr(struct inode *inode, kuid_t uid, kgid_t gid,
			   umode_t perm)
{
	inode->i_uid = uid;
	inode->i_gid = gid;
	inode->i_mode = (inode->i_mode & S_IFMT) | (perm & 0777);
}

static void inode_refresh_view(struct inode *inode, struct tally_view *view)
{
	struct tally_arena *arena = view->arena;

	if (!arena) {
		inode_set_attr(inode, view->uid, view->gid, view->perm);
		return;
	}
	mutex_lock(&arena->lock);
	inode_set_attr(inode, arena->config.uid, arena->config.gid,
		       arena->config.perm);
	mutex_unlock(&arena->lock);
}

static void inode_refresh_handle(struct inode *inode,
				 struct tally_handle *handle)
{
	struct tally_object *object = handle->object;

	if (!object) {
		inode_set_attr(inode, handle->uid, handle->gid, handle->perm);
	} else {
		mutex_lock(&object->arena->lock);
		inode_set_attr(inode, object->config.uid, object->config.gid,
			       object->config.perm);
		mutex_unlock(&object->arena->lock);
	}
	i_size_write(inode, handle->size);
}

static void inode_refresh(struct inode *inode)
{
	if (tally_inode_handle(inode))
		inode_refresh_handle(inode, tally_inode_handle(inode));
	else if (tally_inode_view(inode))
		inode_refresh_view(inode, tally_inode_view(inode));
}

/**
 * tally_inode_permission - may the caller use this file or directory?
 * @idmap: of the mount
 * @inode: the file or directory
 * @mask: MAY_*
 *
 * Besides the mode, a file cannot be opened for writing by a node that the
 * home gave no right to write, whoever asks.
 *
 * Return: 0, -EACCES, or -ECHILD when it must not sleep.
 */
int tally_inode_permission(struct tally_idmap *idmap, struct inode *inode,
			   int mask)
{
	struct tally_handle *handle = tally_inode_handle(inode);

	if (mask & MAY_NOT_BLOCK)
		return -ECHILD;
	inode_refresh(inode);
	if (handle && (mask & MAY_WRITE) && !handle->object &&
	    handle->view->access != TALLY_ACCESS_RW)
		return -EACCES;
	return generic_permission(idmap, inode, mask);
}

/**
 * tally_inode_getattr - stat
 * @idmap: of the mount
 * @path: the file
 * @stat: to fill
 * @request_mask: STATX_*
 * @flags: AT_*
 *
 * Return: 0.
 */
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

/* Owner and mode may be changed at the home only. */
static int inode_set_home(struct inode *inode)
{
	struct tally_handle *handle = tally_inode_handle(inode);
	struct tally_view *view = tally_inode_view(inode);
	umode_t perm = inode->i_mode & 0777;

	if (handle && handle->object)
		tally_object_set_owner(handle->object, inode->i_uid,
				       inode->i_gid, perm);
	else if (view && view->arena)
		tally_arena_set_owner(view->arena, inode->i_uid, inode->i_gid,
				      perm);
	else
		return -EREMOTE;
	return 0;
}

static bool inode_at_home(struct inode *inode)
{
	struct tally_handle *handle = tally_inode_handle(inode);
	struct tally_view *view = tally_inode_view(inode);

	return handle ? !!handle->object : view && view->arena;
}

/*
 * Sizes are fixed. Opening with O_TRUNC, as shells and dd do before they
 * write, must work, and changes nothing.
 */
static int inode_set_size(struct inode *inode, const struct iattr *attr)
{
	if ((attr->ia_valid & ATTR_OPEN) || attr->ia_size == i_size_read(inode))
		return 0;
	return -EPERM;
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
	const unsigned int owner = ATTR_MODE | ATTR_UID | ATTR_GID;
	struct inode *inode = d_inode(dentry);
	int err = 0;

	inode_refresh(inode);
	if ((attr->ia_valid & owner) && inode->i_private &&
	    !inode_at_home(inode))
		return -EREMOTE;
	if ((attr->ia_valid & owner) && !inode->i_private)
		return -EPERM;
	if (attr->ia_valid & ATTR_SIZE)
		err = inode_set_size(inode, attr);
	if (!err)
		err = setattr_prepare(idmap, dentry, attr);
	if (err)
		return err;
	setattr_copy(idmap, inode, attr);
	return attr->ia_valid & owner ? inode_set_home(inode) : 0;
}

/*
 * Inodes do not outlive their users, but programs compare the number of a path
 * with that of the file they opened: the same object has the same one.
 */
static u64 inode_number(struct inode *inode)
{
	struct tally_handle *handle = tally_inode_handle(inode);
	struct tally_view *view = handle ? handle->view :
					   tally_inode_view(inode);
	u32 id[3], seed;

	if (!view)
		return 1;	/* the root */
	seed = jhash(view->home, strlen(view->home), 0);
	id[0] = view->arena ? view->arena->id : view->remote_id;
	id[1] = handle ? handle->id : 0;
	id[2] = handle ? handle->generation : 0;
	return (u64)jhash2(id, ARRAY_SIZE(id), seed) << 32 |
	       jhash2(id, ARRAY_SIZE(id), ~seed);
}

static struct inode *inode_create(struct super_block *sb, umode_t mode,
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

/**
 * tally_inode_root - the root of a mount
 * @sb: the mount
 *
 * Return: the inode or ERR_PTR(-ENOMEM).
 */
struct inode *tally_inode_root(struct super_block *sb)
{
	struct inode *inode = inode_create(sb, S_IFDIR | 0755, NULL);

	if (IS_ERR(inode))
		return inode;
	inode->i_op = &tally_dir_inode_ops;
	inode->i_fop = &tally_dir_ops;
	set_nlink(inode, 2);
	return inode;
}

/**
 * tally_inode_dir - directory of an arena
 * @sb: the mount
 * @view: the arena; the reference is taken over, also on error
 *
 * Return: the inode or ERR_PTR(-ENOMEM).
 */
struct inode *tally_inode_dir(struct super_block *sb, struct tally_view *view)
{
	struct inode *inode = inode_create(sb, S_IFDIR, view);

	if (IS_ERR(inode)) {
		tally_view_put(view);
		return inode;
	}
	inode->i_op = &tally_dir_inode_ops;
	inode->i_fop = &tally_dir_ops;
	set_nlink(inode, 2);
	return inode;
}

static const struct file_operations *inode_file_ops(u8 type)
{
	switch (type) {
	case TALLY_TYPE_COUNTER:
		return &tally_counter_ops;
	case TALLY_TYPE_LOCK:
		return &tally_lock_ops;
	case TALLY_TYPE_REGION:
		return &tally_region_ops;
	default:
		return NULL;
	}
}

/**
 * tally_inode_file - file of an object
 * @sb: the mount
 * @handle: the object; the reference is taken over, also on error
 *
 * Return: the inode, ERR_PTR(-ENOMEM), or ERR_PTR(-EOPNOTSUPP) for a type
 * this version does not know.
 */
struct inode *tally_inode_file(struct super_block *sb,
			       struct tally_handle *handle)
{
	const struct file_operations *fops = inode_file_ops(handle->type);
	struct inode *inode;

	inode = fops ? inode_create(sb, S_IFREG, handle) :
		       ERR_PTR(-EOPNOTSUPP);
	if (IS_ERR(inode)) {
		tally_handle_put(handle);
		return inode;
	}
	inode->i_op = &tally_file_inode_ops;
	inode->i_fop = fops;
	return inode;
}

/**
 * tally_inode_evict - an inode goes
 * @inode: the inode
 *
 * Dentries are never cached without a user (see tally_dentry_ops), so this
 * does not run under memory pressure and may sleep.
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
