// SPDX-License-Identifier: GPL-2.0
#include "fs/dir.h"

#include <linux/bits.h>
#include <linux/cred.h>
#include <linux/fs_struct.h>
#include <linux/mount.h>
#include <linux/namei.h>
#include <linux/sched.h>
#include "client/handle.h"
#include "client/homes.h"
#include "fs/file.h"
#include "home/admin.h"

static int TALLY_D_REVALIDATE(dir_revalidate)
{
	struct tally_handle *handle;
	struct tally_view *view;

	if (flags & LOOKUP_RCU)
		return -ECHILD;
	if (d_is_negative(dentry))
		return 0;
	handle = tally_inode_handle(d_inode(dentry));
	view = tally_inode_view(d_inode(dentry));
	if (handle)
		return tally_handle_alive(handle);
	return !view || tally_view_alive(view);
}

/*
 * Dentries go with their last user: a cached one would keep the memory of a
 * deleted region, and give a reference back under memory pressure.
 */
const struct dentry_operations tally_dentry_ops = {
	.d_revalidate	= dir_revalidate,
	.d_delete	= always_delete_dentry,
};

static struct inode *dir_find_view(struct inode *dir, const char *name)
{
	struct tally_view *view = tally_view_find(tally_fs_node(dir), name,
						  TALLY_FS_TIMEOUT);
	struct inode *inode;

	if (IS_ERR(view))
		return ERR_CAST(view);
	inode = tally_dir_inode(dir->i_sb, 0, view);
	if (IS_ERR(inode))
		tally_view_put(view);
	return inode;
}

static struct inode *dir_find_file(struct inode *dir, const char *name)
{
	struct tally_handle *handle;

	handle = tally_handle_find(tally_inode_view(dir), name, TALLY_FS_TIMEOUT);
	if (IS_ERR(handle))
		return ERR_CAST(handle);
	return tally_inode_file(dir->i_sb, handle);
}

static struct dentry *dir_lookup(struct inode *dir, struct dentry *dentry,
				 unsigned int flags)
{
	const char *name = dentry->d_name.name;
	struct inode *inode;

	if (dentry->d_name.len > NAME_MAX)
		return ERR_PTR(-ENAMETOOLONG);
	if (!tally_node_running(tally_fs_node(dir)))
		return ERR_PTR(-ESHUTDOWN);
	inode = tally_inode_view(dir) ? dir_find_file(dir, name) :
					dir_find_view(dir, name);
	/* Left unhashed: that there is no such name is not remembered. */
	return inode == ERR_PTR(-ENOENT) ? NULL : d_splice_alias(inode, dentry);
}

static int dir_unlink(struct inode *dir, struct dentry *dentry)
{
	struct tally_view *view = tally_inode_view(dir);
	const char *reason;
	int err;

	if (!view)
		return -EPERM;
	if (!view->arena)
		return -EREMOTE;
	err = tally_object_del(view->arena, dentry->d_name.name, 0, &reason);
	if (!err)
		clear_nlink(d_inode(dentry));
	return err;
}

static const struct inode_operations dir_inode_ops = {
	.lookup		= dir_lookup,
	.unlink		= dir_unlink,
	.permission	= tally_inode_permission,
	.getattr	= tally_inode_getattr,
	.setattr	= tally_inode_setattr,
};

/*
 * What a directory may have, and what its homes may take for it: a home's word is no
 * reason to go on for ever.
 */
#define DIR_NAMES	BIT(20)
#define DIR_PATIENCE	(20 * HZ)

/**
 * struct dir_list - a listing under way
 * @tf: of this open directory
 * @dc: where the entries go
 * @full: there are more, but no room
 */
struct dir_list {
	struct tally_file *tf;
	struct dir_context *dc;
	bool full;
};

/* Positions are ids plus one, behind the two dots. */
static bool dir_emit_entry(void *ctx, const char *name, u8 type, u32 id)
{
	struct dir_list *list = ctx;

	list->dc->pos = 1 + (loff_t)id;
	list->full = !dir_emit(list->dc, name, strlen(name), list->dc->pos,
			       type ? DT_REG : DT_DIR);
	if (list->full)
		return false;
	list->dc->pos++;
	return ++list->tf->listed < DIR_NAMES;
}

static int dir_iterate(struct file *file, struct dir_context *dc)
{
	struct tally_view *view = tally_inode_view(file_inode(file));
	struct tally_node *node = tally_fs_node(file_inode(file));
	struct tally_file *tf = file->private_data;
	struct dir_list list = { .tf = tf, .dc = dc };
	unsigned long began = jiffies;
	u64 after;
	int err;

	if (!tally_node_running(node))
		return -ESHUTDOWN;
	/* That nothing follows is known without asking silent homes again. */
	if (tf->end && dc->pos == tf->end)
		return 0;
	if (!dc->pos) {
		tf->listed = 0;
		tf->waited = 0;
	}
	if (!dir_emit_dots(file, dc))
		return 0;
	after = dc->pos - 2;
	if (after > U32_MAX)
		return 0;
	if (tf->listed >= DIR_NAMES)
		return -EFBIG;
	if (tf->waited >= DIR_PATIENCE)
		return -ETIMEDOUT;
	err = view ? tally_view_list(view, after, dir_emit_entry, &list,
				     TALLY_FS_TIMEOUT) :
		     tally_views_list(node, after, dir_emit_entry, &list,
				      TALLY_FS_TIMEOUT);
	tf->waited += jiffies - began;
	if (!err && !view && !list.full)
		tf->end = dc->pos;
	return err;
}

static long dir_show(struct tally_view *view, struct tally_ioc_show __user *uarg)
{
	struct tally_msg_show msg = {};
	struct tally_rep_show *rep;
	struct tally_ioc_show arg;
	u32 len = TALLY_REPLY_MAX;
	int err;

	if (copy_from_user(&arg, uarg, sizeof(arg)))
		return -EFAULT;
	if (!capable(CAP_NET_ADMIN))
		return -EPERM;
	if (!view || arg.type > U8_MAX ||
	    strnlen(arg.name, sizeof(arg.name)) == sizeof(arg.name))
		return -EINVAL;
	msg.type = arg.type;
	msg.after = cpu_to_be32(arg.after);
	strscpy(msg.name, arg.name, sizeof(msg.name));
	rep = kmalloc(len, GFP_KERNEL_ACCOUNT);
	if (!rep)
		return -ENOMEM;
	err = tally_view_show(view, &msg, rep, &len, TALLY_FS_TIMEOUT);
	if (err)
		goto out;
	len -= sizeof(*rep);
	err = len > arg.len ? -EMSGSIZE : 0;
	arg.next = be32_to_cpu(rep->next);
	arg.len = len;
	if (!err && (copy_to_user(u64_to_user_ptr(arg.attrs), rep + 1, len) ||
		     copy_to_user(uarg, &arg, sizeof(arg))))
		err = -EFAULT;
out:
	kfree(rep);
	return err;
}

static int dir_create(struct tally_arena *arena,
		      const struct tally_object_config *config,
		      const struct tally_ioc_create *arg)
{
	struct tally_object *object;
	const char *reason;
	int err;

	object = tally_object_new(arena, config, &reason);
	if (IS_ERR(object))
		return PTR_ERR(object);
	err = config->type->fs_take(object, arg) ?:
	      tally_object_add(object, &reason);
	tally_object_put(object);
	return err;
}

static long dir_ioctl(struct file *file, unsigned int cmd, unsigned long uarg)
{
	struct tally_view *view = tally_inode_view(file_inode(file));
	struct tally_object_config config = {
		.owner.uid = current_fsuid(),
		.owner.gid = current_fsgid(),
	};
	struct tally_ioc_create arg;
	int err;

	if (cmd == TALLY_IOC_SHOW)
		return dir_show(view, (void __user *)uarg);
	if (cmd != TALLY_IOC_CREATE)
		return -ENOTTY;
	if (copy_from_user(&arg, (void __user *)uarg, sizeof(arg)))
		return -EFAULT;
	if (!view)
		return -EPERM;
	if (!view->arena)
		return -EREMOTE;
	config.type = arg.type <= U8_MAX ? tally_type(arg.type) : NULL;
	if (arg.reserved || arg.perm & ~0777 || !config.type ||
	    strnlen(arg.name, sizeof(arg.name)) == sizeof(arg.name))
		return -EINVAL;
	/*
	 * The right to write in the directory counts, not what it was opened
	 * for.
	 */
	err = file_permission(file, MAY_WRITE | MAY_EXEC);
	if (err)
		return err;
	strscpy(config.name, arg.name, sizeof(config.name));
	config.owner.perm = arg.perm & ~current_umask();
	err = mnt_want_write_file(file);
	if (err)
		return err;
	err = dir_create(view->arena, &config, &arg);
	mnt_drop_write_file(file);
	return err;
}

static int dir_open(struct inode *inode, struct file *file)
{
	return tally_file_open(inode, file, sizeof(struct tally_file));
}

static const struct file_operations dir_ops = {
	.owner		= THIS_MODULE,
	.open		= dir_open,
	.release	= tally_file_release,
	.llseek		= generic_file_llseek,
	.read		= generic_read_dir,
	.iterate_shared	= dir_iterate,
	.unlocked_ioctl	= dir_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.lock		= tally_file_no_lock,
	.flock		= tally_file_no_lock,
	.setlease	= TALLY_NO_LEASE,
};

/*
 * The directory of an arena, whose reference stays the caller's on error; of
 * the root of a mount without one. ERR_PTR(-ENOMEM).
 */
struct inode *tally_dir_inode(struct super_block *sb, umode_t perm,
			      struct tally_view *view)
{
	struct inode *inode = tally_inode_create(sb, S_IFDIR | perm, view);

	if (IS_ERR(inode))
		return inode;
	inode->i_op = &dir_inode_ops;
	inode->i_fop = &dir_ops;
	set_nlink(inode, 2);
	return inode;
}
