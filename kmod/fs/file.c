// SPDX-License-Identifier: GPL-2.0
/* Open files: everybody who has one is a user of the node, shown by name. */
#include <linux/slab.h>
#include "fs/file.h"

/* The arena and object a file stands for; both "" for the root. */
static void file_names(struct inode *inode, const char **arena,
		       const char **object)
{
	struct tally_handle *handle = tally_inode_handle(inode);
	struct tally_view *view;

	view = handle ? handle->view : tally_inode_view(inode);
	*arena = view ? view->name : "";
	*object = handle ? handle->name : "";
}

/**
 * tally_file_open - make the private data of an open file
 * @inode: its inode
 * @file: the file
 * @size: bytes; begins with struct tally_file
 *
 * Return: the data, zero behind struct tally_file, or NULL without memory.
 */
void *tally_file_open(struct inode *inode, struct file *file, size_t size)
{
	struct tally_file *tf = kzalloc(size, GFP_KERNEL_ACCOUNT);
	const char *arena, *object;

	if (!tf)
		return NULL;
	tf->handle = tally_inode_handle(inode);
	file_names(inode, &arena, &object);
	tally_user_add(tally_fs_node(inode), &tf->user, "file", arena, object);
	file->private_data = tf;
	return tf;
}

/**
 * tally_file_release - free the private data of an open file
 * @inode: its inode
 * @file: the file
 */
void tally_file_release(struct inode *inode, struct file *file)
{
	struct tally_file *tf = file->private_data;

	tally_user_del(tally_fs_node(inode), &tf->user);
	kfree(tf);
}
