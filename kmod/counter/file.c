// SPDX-License-Identifier: GPL-2.0
#include "counter/file.h"

#include <linux/mutex.h>
#include <linux/uaccess.h>
#include "counter/client.h"
#include "fs/file.h"

/**
 * struct counter_file - an open counter
 * @file: as every open file
 * @lock: protects @text
 * @text: value at the last read at offset 0, so that the rest can be read on
 * @len: its length
 */
struct counter_file {
	struct tally_file file;
	struct mutex lock;	/* see above */
	char text[24];
	size_t len;
};

static int counter_open(struct inode *inode, struct file *file)
{
	struct counter_file *cf;

	cf = tally_file_open(inode, file, sizeof(*cf));
	if (!cf)
		return -ENOMEM;
	mutex_init(&cf->lock);
	return 0;
}

static int counter_release(struct inode *inode, struct file *file)
{
	struct counter_file *cf = file->private_data;

	mutex_destroy(&cf->lock);
	tally_file_release(inode, file);
	return 0;
}

static int counter_fetch(struct counter_file *cf)
{
	u64 value;
	int err;

	err = tally_counter_do(cf->file.handle, TALLY_COUNTER_READ, 0, 0,
			       &value, MAX_SCHEDULE_TIMEOUT);
	if (!err)
		cf->len = scnprintf(cf->text, sizeof(cf->text), "%llu\n",
				    value);
	return err;
}

static ssize_t counter_read(struct file *file, char __user *buf, size_t count,
			    loff_t *pos)
{
	struct counter_file *cf = file->private_data;
	ssize_t ret = 0;

	if (mutex_lock_killable(&cf->lock))
		return -EINTR;
	if (!*pos || !cf->len)
		ret = counter_fetch(cf);
	if (!ret)
		ret = simple_read_from_buffer(buf, count, pos, cf->text,
					      cf->len);
	mutex_unlock(&cf->lock);
	return ret;
}

static int counter_check(struct file *file, const struct tally_ioc_counter *arg)
{
	if (arg->reserved[0] || arg->reserved[1])
		return -EINVAL;
	switch (arg->op) {
	case TALLY_COUNTER_READ:
		return file->f_mode & FMODE_READ ? 0 : -EBADF;
	case TALLY_COUNTER_ADD:
	case TALLY_COUNTER_SET:
	case TALLY_COUNTER_CAS:
		return file->f_mode & FMODE_WRITE ? 0 : -EBADF;
	default:
		return -EINVAL;
	}
}

static int counter_do(struct file *file, struct tally_ioc_counter __user *uarg)
{
	struct counter_file *cf = file->private_data;
	struct tally_ioc_counter arg;
	u64 old = 0;
	int err;

	if (copy_from_user(&arg, uarg, sizeof(arg)))
		return -EFAULT;
	err = counter_check(file, &arg);
	if (err)
		return err;
	/* Better to find out before the counter has changed. */
	if (put_user(0, &uarg->old))
		return -EFAULT;
	err = tally_counter_do(cf->file.handle, arg.op, arg.value, arg.compare,
			       &old, tally_fs_timeout(arg.timeout_ms));
	if (err)
		return err;
	return put_user(old, &uarg->old);
}

static long counter_ioctl(struct file *file, unsigned int cmd,
			  unsigned long arg)
{
	if (cmd == TALLY_IOC_COUNTER)
		return counter_do(file, (void __user *)arg);
	return -ENOTTY;
}

const struct file_operations tally_counter_ops = {
	.owner		= THIS_MODULE,
	.open		= counter_open,
	.release	= counter_release,
	.llseek		= default_llseek,
	.read		= counter_read,
	.unlocked_ioctl	= counter_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
};
