// SPDX-License-Identifier: GPL-2.0
#include "fs/file.h"

#include <linux/slab.h>

/*
 * Make the private data of an open file: @size bytes, which begin with struct
 * tally_file and are zero behind it. 0 or -ENOMEM.
 */
int tally_file_open(struct inode *inode, struct file *file, size_t size)
{
	struct tally_handle *handle = tally_inode_handle(inode);
	struct tally_view *view = tally_inode_view(inode);
	struct tally_file *tf = kzalloc(size, GFP_KERNEL_ACCOUNT);

	if (!tf)
		return -ENOMEM;
	tf->handle = handle;
	mutex_init(&tf->lock);
	tally_user_add(tally_fs_node(inode), &tf->user, "file",
		       view ? view->name : "", handle ? handle->name : "");
	file->private_data = tf;
	return 0;
}

/*
 * The ->lock() and ->flock() of all but locks: what the VFS does by itself binds this
 * machine only.
 */
int tally_file_no_lock(struct file *file, int cmd, struct file_lock *fl)
{
	return -EOPNOTSUPP;
}

/* Returns 0: the release of a type that has nothing to add. */
int tally_file_release(struct inode *inode, struct file *file)
{
	struct tally_file *tf = file->private_data;

	tally_user_del(tally_fs_node(inode), &tf->user);
	mutex_destroy(&tf->lock);
	kfree(tf);
	return 0;
}
