// SPDX-License-Identifier: GPL-2.0
/*
 * Files of locks. The open file holds the lock: flock(2) and the ioctls are
 * two ways to the same thing, and closing the file for the last time releases.
 *
 * flock(2): LOCK_SH, LOCK_EX, LOCK_UN, with or without LOCK_NB. As with any
 * file, the lock works on a file that was opened for reading only, if the
 * opener could write to it. From LOCK_EX to LOCK_SH nothing comes in between;
 * from LOCK_SH to LOCK_EX only if no other user has or wants the lock, else it
 * is given up and acquired anew, as flock(2) says: with LOCK_NB it may be gone.
 *
 * A signal ends the wait, and what it does not end goes on behind it: a stop, a
 * freezer, a debugger, a handler with SA_RESTART.
 *
 * fcntl(2): F_OFD_SETLK and F_OFD_SETLKW, whose owner is the open file, too, on the whole
 * file are the same, but that one which cannot become exclusive at once stays what it
 * is: EAGAIN, or EDEADLK, since two that wait for each other would do so for ever. The
 * others are refused: those of a process end with the first close of any of its
 * descriptors, and for F_GETLK nobody here knows all holders.
 */
#include <linux/mount.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/uaccess.h>
#include "fs/file.h"
#include "lock/file.h"
#include "lock/user.h"

/* An open lock. */
struct lock_file {
	struct tally_file file;	/* as every open file */
	struct tally_lock_req req;	/* its one request */
	int right;	/* 0, or why the opener could not write */
	struct mutex busy;	/* while acquiring: threads of the file queue */
	wait_queue_head_t wait;	/* woken when a held lock is recalled or lost */
};

/* What may become of a lock that is held, and wanted in another mode. */
enum lockf_change {
	LOCKF_NO_CHANGE,	/* nothing */
	LOCKF_GIVE_UP,		/* the other mode, or it is given up first */
	LOCKF_KEEP,		/* the other mode, or it stays as it is */
};

static enum tally_lock_req_state lockf_state(struct lock_file *lf)
{
	return READ_ONCE(lf->req.state);
}

static void lockf_news(struct tally_lock_req *req, enum tally_lock_news what)
{
	struct lock_file *lf = container_of(req, struct lock_file, req);

	if (what == TALLY_LOCK_NEWS_LOST || what == TALLY_LOCK_NEWS_RECALL)
		wake_up_all(&lf->wait);
}

/* Not by way of a mount that is read-only: others would be kept out. */
static int lockf_right(struct file *file)
{
	int err;

	if (file->f_mode & FMODE_WRITE)
		return 0;
	err = mnt_want_write_file(file);
	if (err)
		return err;
	err = file_permission(file, MAY_WRITE);
	mnt_drop_write_file(file);
	return err;
}

static int lockf_open(struct inode *inode, struct file *file)
{
	struct lock_file *lf;
	int err = tally_file_open(inode, file, sizeof(*lf));

	if (err)
		return err;
	lf = file->private_data;
	lf->right = lockf_right(file);
	mutex_init(&lf->busy);
	init_waitqueue_head(&lf->wait);
	tally_lock_req_init(&lf->req, lf->file.handle, lockf_news);
	/* As flock(2) is elsewhere: alarms end the wait. */
	lf->req.interruptible = true;
	lf->req.opener = lf->file.user.pid;
	return 0;
}

static int lockf_release(struct inode *inode, struct file *file)
{
	struct lock_file *lf = file->private_data;

	tally_lock_req_release(&lf->req);
	tally_lock_req_destroy(&lf->req);
	mutex_destroy(&lf->busy);
	return tally_file_release(inode, file);
}

/* Held, and the caller of flock(2) or fcntl(2) wants @mode. */
static int lockf_convert(struct lock_file *lf, u8 mode, bool try, long timeout,
			 enum lockf_change change)
{
	int err;

	if (READ_ONCE(lf->req.mode) == mode)
		return 0;
	err = mode == TALLY_LMODE_S ? tally_lock_req_downgrade(&lf->req) :
				      tally_lock_req_upgrade(&lf->req);
	if (err == -EDEADLK || err == -EAGAIN) {
		if (change == LOCKF_KEEP)
			return try ? -EAGAIN : -EDEADLK;
		err = tally_lock_req_release(&lf->req) ?: -ECANCELED;
	}
	if (err != -ECANCELED && err != -EINVAL)
		return err;
	/* Another thread of the file may have released it before we did. */
	err = tally_lock_req_idle(&lf->req);
	if (err == -EALREADY)
		return READ_ONCE(lf->req.mode) == mode ? 0 : -EAGAIN;
	return err ?: tally_lock_req_acquire(&lf->req, mode, try, timeout);
}

static int lockf_acquire(struct file *file, u8 mode, bool try, long timeout,
			 enum lockf_change change)
{
	struct lock_file *lf = file->private_data;
	int err = lf->right;

	if (err)
		return err;
	if (try && !mutex_trylock(&lf->busy))
		return -EWOULDBLOCK;
	if (!try && mutex_lock_interruptible(&lf->busy))
		return -ERESTARTSYS;
	/* One that was lost stays so until the caller has seen it: LOCK_UN. */
	err = tally_lock_req_idle(&lf->req);
	if (!err)
		err = tally_lock_req_acquire(&lf->req, mode, try, timeout);
	else if (err == -EALREADY && change != LOCKF_NO_CHANGE)
		err = lockf_convert(lf, mode, try, timeout, change);
	mutex_unlock(&lf->busy);
	return err;
}

static int lockf_set(struct file *file, int cmd, struct file_lock *fl,
		     enum lockf_change change)
{
	struct lock_file *lf = file->private_data;
	int type = tally_flock_type(fl);
	int err;

	switch (type) {
	case F_RDLCK:
	case F_WRLCK:
		return lockf_acquire(file, type == F_RDLCK ? TALLY_LMODE_S :
							     TALLY_LMODE_X,
				     !IS_SETLKW(cmd), MAX_SCHEDULE_TIMEOUT,
				     change);
	case F_UNLCK:
		/* As elsewhere, unlocking what is not locked is no error. */
		err = tally_lock_req_release(&lf->req);
		return err == -EINVAL ? 0 : err;
	default:
		return -EOPNOTSUPP;
	}
}

static int lockf_flock(struct file *file, int cmd, struct file_lock *fl)
{
	return lockf_set(file, cmd, fl, LOCKF_GIVE_UP);
}

/* Not 0, which would be for ever. */
static u32 lockf_rest(u32 ms, unsigned long spent)
{
	unsigned int spent_ms = jiffies_to_msecs(spent);

	return spent_ms < ms ? ms - spent_ms : 1;
}

static int lockf_lock(struct file *file, int cmd, struct file_lock *fl)
{
	if (cmd == F_GETLK || !tally_flock_is_file(fl) || fl->fl_start ||
	    fl->fl_end != OFFSET_MAX)
		return -EOPNOTSUPP;
	return lockf_set(file, cmd, fl, LOCKF_KEEP);
}

static int lockf_ioc_lock(struct file *file, struct tally_ioc_lock __user *uarg)
{
	struct lock_file *lf = file->private_data;
	unsigned long start = jiffies;
	struct tally_ioc_lock arg;
	int err;

	if (copy_from_user(&arg, uarg, sizeof(arg)))
		return -EFAULT;
	if (arg.flags & ~(TALLY_LOCK_TRY | TALLY_LOCK_SHARED) ||
	    arg.reserved[0] || arg.reserved[1])
		return -EINVAL;
	if (put_user(0, &uarg->token))
		return -EFAULT;
	err = lockf_acquire(file, arg.flags & TALLY_LOCK_SHARED ?
			    TALLY_LMODE_S : TALLY_LMODE_X,
			    arg.flags & TALLY_LOCK_TRY,
			    tally_fs_timeout(arg.timeout_ms), LOCKF_NO_CHANGE);
	/* What goes on after the signal does so for the rest of its time. */
	if (err == -ERESTARTSYS && arg.timeout_ms &&
	    put_user(lockf_rest(arg.timeout_ms, jiffies - start),
		     &uarg->timeout_ms))
		return -EFAULT;
	return err ?: put_user(READ_ONCE(lf->req.token), &uarg->token);
}

static int lockf_ioc_upgrade(struct lock_file *lf, u64 __user *token)
{
	int err;

	if (put_user(0, token))
		return -EFAULT;
	if (mutex_lock_killable(&lf->busy))
		return -EINTR;
	err = tally_lock_req_upgrade(&lf->req);
	mutex_unlock(&lf->busy);
	return err ?: put_user(READ_ONCE(lf->req.token), token);
}

static int lockf_ioc_downgrade(struct lock_file *lf)
{
	int err;

	if (mutex_lock_killable(&lf->busy))
		return -EINTR;
	err = tally_lock_req_downgrade(&lf->req);
	mutex_unlock(&lf->busy);
	return err;
}

static int lockf_ioc_stat(struct lock_file *lf,
			  struct tally_ioc_lockstat __user *uarg)
{
	struct tally_ioc_lockstat arg = {
		.held = tally_lock_req_held(&lf->req),
		.lost = tally_lock_req_lost(&lf->req),
	};

	if (lockf_state(lf) != TALLY_LOCK_REQ_IDLE)
		arg.token = READ_ONCE(lf->req.token);
	if (arg.held) {
		arg.lease_ms = tally_lock_req_lease_left(&lf->req);
		arg.shared = READ_ONCE(lf->req.mode) == TALLY_LMODE_S;
		arg.recalled = tally_lock_req_recalled(&lf->req);
	}
	return copy_to_user(uarg, &arg, sizeof(arg)) ? -EFAULT : 0;
}

static long lockf_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct lock_file *lf = file->private_data;

	switch (cmd) {
	case TALLY_IOC_LOCK:
		return lockf_ioc_lock(file, (void __user *)arg);
	case TALLY_IOC_UNLOCK:
		return tally_lock_req_release(&lf->req);
	case TALLY_IOC_DOWNGRADE:
		return lockf_ioc_downgrade(lf);
	case TALLY_IOC_UPGRADE:
		return lockf_ioc_upgrade(lf, (void __user *)arg);
	case TALLY_IOC_LOCKSTAT:
		return lockf_ioc_stat(lf, (void __user *)arg);
	default:
		return -ENOTTY;
	}
}

static __poll_t lockf_poll(struct file *file, struct poll_table_struct *table)
{
	struct lock_file *lf = file->private_data;

	poll_wait(file, &lf->wait, table);
	if (tally_lock_req_lost(&lf->req))
		return EPOLLERR | EPOLLPRI;
	return tally_lock_req_recalled(&lf->req) ? EPOLLPRI : 0;
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
	.lock		= lockf_lock,
	.setlease	= TALLY_NO_LEASE,
};
