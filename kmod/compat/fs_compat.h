/* SPDX-License-Identifier: GPL-2.0 */
/* What the file system calls differently from kernel to kernel. */
#ifndef TALLY_FS_COMPAT_H
#define TALLY_FS_COMPAT_H

#include <linux/dcache.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
#include <linux/filelock.h>
#include <linux/mnt_idmapping.h>
#define tally_idmap mnt_idmap
#else
#define tally_idmap user_namespace
#endif

static inline void tally_fillattr(struct tally_idmap *idmap, u32 request_mask,
				  struct inode *inode, struct kstat *stat)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
	generic_fillattr(idmap, request_mask, inode, stat);
#else
	generic_fillattr(idmap, inode, stat);
#endif
}

static inline void tally_inode_set_ts(struct inode *inode, struct timespec64 ts)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
	inode_set_atime_to_ts(inode, inode_set_mtime_to_ts(inode, ts));
	inode_set_ctime_to_ts(inode, ts);
#else
	inode->i_ctime = ts;
	inode->i_mtime = ts;
	inode->i_atime = ts;
#endif
}

/* F_RDLCK, F_WRLCK or F_UNLCK */
static inline int tally_flock_type(const struct file_lock *fl)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
	return fl->c.flc_type;
#else
	return fl->fl_type;
#endif
}

/* Is it a lock of the open file, not of the process? */
static inline bool tally_flock_is_file(const struct file_lock *fl)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
	return fl->c.flc_flags & FL_OFDLCK;
#else
	return fl->fl_flags & FL_OFDLCK;
#endif
}

/* From 7.0 on files without ->setlease() have no leases. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
#define TALLY_NO_LEASE NULL
#else
#define TALLY_NO_LEASE simple_nosetlease
#endif

static inline void tally_vm_flags_set(struct vm_area_struct *vma,
				      unsigned long flags)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_set(vma, flags);
#else
	vma->vm_flags |= flags;
#endif
}

static inline void tally_set_d_op(struct super_block *sb,
				  const struct dentry_operations *ops)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0)
	set_default_d_op(sb, ops);
#else
	sb->s_d_op = ops;
#endif
}

/* Head of a d_revalidate function; its arguments are dentry and flags. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 14, 0)
#define TALLY_D_REVALIDATE(fn) \
	fn(struct inode *dir, const struct qstr *name, \
	   struct dentry *dentry, unsigned int flags)
#else
#define TALLY_D_REVALIDATE(fn) fn(struct dentry *dentry, unsigned int flags)
#endif

/* Splicing out of a file without page cache came with 6.5. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
#define TALLY_SPLICE_READ copy_splice_read
#else
#define TALLY_SPLICE_READ NULL
#endif

#endif
