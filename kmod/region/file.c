// SPDX-License-Identifier: GPL-2.0
#include "region/file.h"

#include <linux/mm.h>
#include <linux/splice.h>
#include "fs/file.h"
#include "region/client.h"
#include "region/home.h"

/* A sync is one small Read on each lane that was written on. */
#define REGION_SYNC_TIMEOUT	(30 * HZ)

/**
 * struct region_file - an open region
 * @file: as every open file
 * @map: its mappings, at the home
 */
struct region_file {
	struct tally_file file;
	struct tally_region_map map;
};

static int region_open(struct inode *inode, struct file *file)
{
	/* There is no page cache: with O_DIRECT nothing is different. */
	file->f_mode |= FMODE_CAN_ODIRECT;
	return tally_file_open(inode, file, sizeof(struct region_file));
}

static int region_release(struct inode *inode, struct file *file)
{
	struct region_file *rf = file->private_data;
	struct tally_region_home *region;

	if (rf->map.mapping) {
		region = tally_region_home(rf->file.handle->object);
		scoped_guard(rwsem_write, &region->zap)
			list_del(&rf->map.list);
	}
	return tally_file_release(inode, file);
}

static ssize_t region_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	struct region_file *rf = iocb->ki_filp->private_data;
	ssize_t ret;

	if (iocb->ki_flags & IOCB_NOWAIT)
		return -EAGAIN;
	ret = tally_region_rw(rf->file.handle, to, iocb->ki_pos, false,
			      MAX_SCHEDULE_TIMEOUT);
	if (ret > 0)
		iocb->ki_pos += ret;
	return ret;
}

static ssize_t region_write_iter(struct kiocb *iocb, struct iov_iter *from)
{
	struct region_file *rf = iocb->ki_filp->private_data;
	struct tally_handle *handle = rf->file.handle;
	ssize_t ret;

	if (iocb->ki_flags & IOCB_NOWAIT)
		return -EAGAIN;
	if (iocb->ki_flags & IOCB_APPEND)
		iocb->ki_pos = handle->size;
	ret = tally_region_rw(handle, from, iocb->ki_pos, true,
			      MAX_SCHEDULE_TIMEOUT);
	if (ret <= 0)
		return ret;
	iocb->ki_pos += ret;
	return generic_write_sync(iocb, ret);
}

static loff_t region_llseek(struct file *file, loff_t offset, int whence)
{
	struct region_file *rf = file->private_data;

	return fixed_size_llseek(file, offset, whence, rf->file.handle->size);
}

static int region_fsync(struct file *file, loff_t start, loff_t end,
			int datasync)
{
	struct region_file *rf = file->private_data;

	return tally_region_sync(rf->file.handle, REGION_SYNC_TIMEOUT);
}

/* SIGBUS behind the end and after deletion. */
static vm_fault_t region_fault(struct vm_fault *vmf)
{
	struct region_file *rf = vmf->vma->vm_file->private_data;
	struct tally_region_home *region =
		tally_region_home(rf->file.handle->object);

	guard(rwsem_read)(&region->zap);
	if (region->dead || vmf->pgoff >= region->npages)
		return VM_FAULT_SIGBUS;
	return vmf_insert_page(vmf->vma, vmf->address,
			       region->pages[vmf->pgoff]);
}

static const struct vm_operations_struct region_vm_ops = {
	.fault	= region_fault,
};

static int region_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct region_file *rf = file->private_data;
	struct tally_object *object = rf->file.handle->object;
	struct tally_region_home *region;

	if (!object)
		return -ENODEV;
	/* A private copy would not be the region. */
	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	region = tally_region_home(object);
	scoped_guard(rwsem_write, &region->zap) {
		if (region->dead)
			return -EIDRM;
		if (!rf->map.mapping) {
			rf->map.mapping = file->f_mapping;
			list_add_tail(&rf->map.list, &region->maps);
		}
	}
	tally_vm_flags_set(vma, VM_MIXEDMAP | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_ops = &region_vm_ops;
	return 0;
}

const struct file_operations tally_region_ops = {
	.owner		= THIS_MODULE,
	.open		= region_open,
	.release	= region_release,
	.llseek		= region_llseek,
	.read_iter	= region_read_iter,
	.write_iter	= region_write_iter,
	.splice_read	= TALLY_SPLICE_READ,
	.splice_write	= iter_file_splice_write,
	.fsync		= region_fsync,
	.mmap		= region_mmap,
	.lock		= tally_file_no_lock,
	.flock		= tally_file_no_lock,
	.setlease	= TALLY_NO_LEASE,
};
