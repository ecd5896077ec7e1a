// SPDX-License-Identifier: GPL-2.0
/*
 * Files of locks. The open file holds the lock: flock(2) and the ioctls are
 * two ways to the same thing, and closing the file for the last time releases.
 *
 * flock(2): LOCK_EX, LOCK_UN, both with LOCK_NB. LOCK_SH is EOPNOTSUPP: there
 * are no shared holders in this version. As with any file, LOCK_EX works on a
 * file that was opened for reading only, if the caller could write to it.
 */
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/uaccess.h>
#include "fs_file.h"
#include "lock.h"

/**
 * struct lock_file - an open lock
 * @file: as every open file
 * @req: its one request
 * @busy: held while acquiring, so that threads that share the file queue
 * @wait: woken when a held lock is lost
 */
struct lock_file {
	struct tally_file file;
	struct tally_lock_req req;
	struct mutex busy;	/* see above */
	wait_queue_head_t wait;
};

static enum tally_lock_req_state lockf_state(struct lock_file *lf)
{
	return READ_ONCE(lf->req.state);
}

static void lockf_lost(struct tally_lock_req *req)
{
	struct lock_file *lf = container_of(req, struct lock_file, req);

	wake_up_all(&lf->wait);
}

static int lockf_open(struct inode *inode, struct file *file)
{
	struct lock_file *lf;

	lf = tally_file_open(inode, file, sizeof(*lf));
	if (!lf)
		return -ENOMEM;
	mutex_init(&lf->busy);
	init_waitqueue_head(&lf->wait);
	tally_lock_req_init(&lf->req, lf->file.handle);
	lf->req.lost = lockf_lost;
	/* As flock(2) is elsewhere: alarms end the wait. */
	lf->req.interruptible = true;
	return 0;
}

static int lockf_release(struct inode *inode, struct file *file)
{
	struct lock_file *lf = file->private_data;

	if (lockf_state(lf) != TALLY_LOCK_REQ_IDLE)
		tally_lock_release(&lf->req);
	mutex_destroy(&lf->busy);
	tally_file_release(inode, file);
	return 0;
}

static int lockf_may(struct file *file)
{
	if (file->f_mode & FMODE_WRITE)
		return 0;
	return file_permission(file, MAY_WRITE);
}

/* @again: what to return if this file holds it already. */
static int lockf_acquire(struct file *file, bool try, long timeout, int again)
{
	struct lock_file *lf = file->private_data;
	int err;

	err = lockf_may(file);
	if (err)
		return err;
	if (try ? !mutex_trylock(&lf->busy) : mutex_lock_interruptible(&lf->busy))
		return try ? -EWOULDBLOCK : -EINTR;
	switch (lockf_state(lf)) {
	case TALLY_LOCK_REQ_HELD:
		err = tally_lock_held(&lf->req) ? again : -ESTALE;
		break;
	case TALLY_LOCK_REQ_LOST:
		/* Not before the caller has seen it: LOCK_UN first. */
		err = -ESTALE;
		break;
	default:
		err = tally_lock_acquire(&lf->req, try, timeout);
	}
	mutex_unlock(&lf->busy);
	return err;
}

static int lockf_unlock(struct file *file)
{
	struct lock_file *lf = file->private_data;

	return tally_lock_release(&lf->req);
}

/* As flock(2) does elsewhere, unlocking what is not locked is no error. */
static int lockf_flock_unlock(struct file *file)
{
	int err = lockf_unlock(file);

	return err == -EINVAL ? 0 : err;
}

static int lockf_flock(struct file *file, int cmd, struct file_lock *fl)
{
	switch (tally_flock_type(fl)) {
	case F_WRLCK:
		return lockf_acquire(file, !IS_SETLKW(cmd), MAX_SCHEDULE_TIMEOUT,
				    0);
	case F_UNLCK:
		return lockf_flock_unlock(file);
	default:
		return -EOPNOTSUPP;
	}
}

static int lockf_ioc_lock(struct file *file, struct tally_ioc_lock __user *uarg)
{
	struct lock_file *lf = file->private_data;
	struct tally_ioc_lock arg;
	int err;

	if (copy_from_user(&arg, uarg, sizeof(arg)))
		return -EFAULT;
	if (arg.flags & ~TALLY_LOCK_TRY || arg.reserved[0] || arg.reserved[1])
		return -EINVAL;
	if (put_user(0, &uarg->token))
		return -EFAULT;
	err = lockf_acquire(file, arg.flags & TALLY_LOCK_TRY,
			    tally_fs_timeout(arg.timeout_ms), -EALREADY);
	if (err)
		return err;
	return put_user(READ_ONCE(lf->req.token), &uarg->token);
}

/* How long the tenure is safe without contact; for ever at the home. */
static u64 lockf_lease(struct tally_handle *handle)
{
	struct tally_session *s;
	u64 left;

	if (handle->object)
		return U64_MAX;
	s = tally_view_session(handle->view);
	if (!s)
		return 0;
	left = tally_session_lease_left(s);
	tally_session_put(s);
	return left;
}

static int lockf_ioc_stat(struct file *file,
			  struct tally_ioc_lockstat __user *uarg)
{
	struct lock_file *lf = file->private_data;
	struct tally_ioc_lockstat arg = {
		.held = tally_lock_held(&lf->req),
		.lost = lockf_state(lf) == TALLY_LOCK_REQ_LOST,
	};

	if (lockf_state(lf) != TALLY_LOCK_REQ_IDLE)
		arg.token = READ_ONCE(lf->req.token);
	if (arg.held)
		arg.lease_ms = lockf_lease(lf->file.handle);
	return copy_to_user(uarg, &arg, sizeof(arg)) ? -EFAULT : 0;
}

static long lockf_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	switch (cmd) {
	case TALLY_IOC_LOCK:
		return lockf_ioc_lock(file, (void __user *)arg);
	case TALLY_IOC_UNLOCK:
		return lockf_unlock(file);
	case TALLY_IOC_LOCKSTAT:
		return lockf_ioc_stat(file, (void __user *)arg);
	default:
		return -ENOTTY;
	}
}

static __poll_t lockf_poll(struct file *file, struct poll_table_struct *table)
{
	struct lock_file *lf = file->private_data;

	poll_wait(file, &lf->wait, table);
	return lockf_state(lf) == TALLY_LOCK_REQ_LOST ? EPOLLERR | EPOLLPRI : 0;
}

const struct file_operations tally_lock_ops = {
	.owner		= THIS_MODULE,
	.open		= lockf_open,
	.release	= lockf_release,
	.llseek		= noop_llseek,
	.poll		= lockf_poll,
	.flock		= lockf_flock,
	.unlocked_ioctl	= lockf_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
};
