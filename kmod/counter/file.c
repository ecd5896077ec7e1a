// SPDX-License-Identifier: GPL-2.0
#include "counter/file.h"

#include <linux/mutex.h>
#include <linux/uaccess.h>
#include "counter/client.h"
#include "fs/file.h"

/**
 * struct counter_file - an open counter
 * @file: as every open file; its lock protects what follows
 * @text: value at the last read at offset 0, so that the rest can be read on
 * @len: its length
 */
struct counter_file {
	struct tally_file file;
	char text[24];
	size_t len;
};

static int counter_open(struct inode *inode, struct file *file)
{
	return tally_file_open(inode, file, sizeof(struct counter_file));
}

static ssize_t counter_read(struct file *file, char __user *buf, size_t count,
			    loff_t *pos)
{
	struct counter_file *cf = file->private_data;
	ssize_t ret = 0;
	u64 value;

	if (mutex_lock_killable(&cf->file.lock))
		return -EINTR;
	if (!*pos || !cf->len) {
		ret = tally_counter_do(cf->file.handle, TALLY_COUNTER_READ, 0,
				       0, &value, MAX_SCHEDULE_TIMEOUT);
		if (!ret)
			cf->len = scnprintf(cf->text, sizeof(cf->text),
					    "%llu\n", value);
	}
	if (!ret)
		ret = simple_read_from_buffer(buf, count, pos, cf->text,
					      cf->len);
	mutex_unlock(&cf->file.lock);
	return ret;
}

static long counter_ioctl(struct file *file, unsigned int cmd,
			  unsigned long uarg)
{
	struct tally_ioc_counter __user *user = (void __user *)uarg;
	struct counter_file *cf = file->private_data;
	struct tally_ioc_counter arg;
	u64 old = 0;
	int err;

	if (cmd != TALLY_IOC_COUNTER)
		return -ENOTTY;
	if (copy_from_user(&arg, user, sizeof(arg)))
		return -EFAULT;
	if (arg.reserved[0] || arg.reserved[1] ||
	    arg.op < TALLY_COUNTER_READ || arg.op > TALLY_COUNTER_CAS)
		return -EINVAL;
	if (!(file->f_mode & (arg.op == TALLY_COUNTER_READ ? FMODE_READ :
							     FMODE_WRITE)))
		return -EBADF;
	/* Better to find out before the counter has changed. */
	if (put_user(0, &user->old))
		return -EFAULT;
	err = tally_counter_do(cf->file.handle, arg.op, arg.value, arg.compare,
			       &old, tally_fs_timeout(arg.timeout_ms));
	return err ? err : put_user(old, &user->old);
}

const struct file_operations tally_counter_ops = {
	.owner		= THIS_MODULE,
	.open		= counter_open,
	.release	= tally_file_release,
	.llseek		= default_llseek,
	.read		= counter_read,
	.unlocked_ioctl	= counter_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.lock		= tally_file_no_lock,
	.flock		= tally_file_no_lock,
	.setlease	= TALLY_NO_LEASE,
};
