// SPDX-License-Identifier: GPL-2.0
/*
 * The lock calls for kernel code, made by programs: each open file of the device
 * /dev/tally_lock_calls is a user of the lock that is written to it first, as "NODE
 * ARENA/LOCK", and makes the call that is written to it then. What the call returns is
 * what the write does. For selftests/matrix.py.
 */
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/tally.h>
#include <linux/uaccess.h>

#define FIND_TIMEOUT	(20 * HZ)

/**
 * struct calls_user - an open file
 * @lock: its lock; NULL before it is named
 * @answered: granted() was called
 * @err: what it said
 *
 * One call at a time: the program sees to that.
 */
struct calls_user {
	struct tally_lock *lock;
	struct completion answered;
	int err;
};

static void calls_granted(struct tally_lock *lock, void *data, int err,
			  u64 token)
{
	struct calls_user *user = data;

	user->err = err;
	complete(&user->answered);
}

/* A holder goes when it is told to by its program, and by nobody else. */
static void calls_ignore(struct tally_lock *lock, void *data)
{
}

static const struct tally_lock_ops calls_ops = {
	.granted	= calls_granted,
	.recall		= calls_ignore,
	.lost		= calls_ignore,
};

static int calls_bind(struct calls_user *user, char *node)
{
	char *path = strchr(node, ' ');
	struct tally_lock *lock;

	if (!path)
		return -EINVAL;
	*path++ = 0;
	lock = tally_lock_get(current->nsproxy->net_ns, node, path,
			      FIND_TIMEOUT);
	if (IS_ERR(lock))
		return PTR_ERR(lock);
	tally_lock_set_ops(lock, &calls_ops, user);
	user->lock = lock;
	return 0;
}

/* The answer to what was asked with @err. A caller that is killed takes it back. */
static int calls_answer(struct calls_user *user, int err)
{
	if (err)
		return err;
	if (wait_for_completion_killable(&user->answered)) {
		tally_lock_cancel_async(user->lock);
		return -EINTR;
	}
	return user->err;
}

static int calls_call(struct calls_user *user, const char *name)
{
	struct tally_lock *l = user->lock;
	const enum tally_lock_mode modes[] = { TALLY_LOCK_SH, TALLY_LOCK_EX };
	static const char * const names[] = { "sh", "ex" };
	const char *mode = strrchr(name, ' ');
	int i;

	reinit_completion(&user->answered);
	if (!strcmp(name, "unlock"))
		return tally_lock_release(l);
	if (!strcmp(name, "downgrade"))
		return tally_lock_downgrade(l);
	if (!strcmp(name, "upgrade"))
		return tally_lock_upgrade(l, NULL);
	if (!strcmp(name, "upgrade async"))
		return calls_answer(user, tally_lock_upgrade_async(l));
	i = mode ? match_string(names, ARRAY_SIZE(names), mode + 1) : -EINVAL;
	if (i < 0)
		return -EINVAL;
	if (strstarts(name, "acquire async "))
		return calls_answer(user, tally_lock_acquire_async(l, modes[i]));
	if (strstarts(name, "acquire "))
		return tally_lock_acquire(l, modes[i], NULL,
					  MAX_SCHEDULE_TIMEOUT);
	if (strstarts(name, "try async "))
		return calls_answer(user, tally_lock_try_async(l, modes[i]));
	if (strstarts(name, "try "))
		return tally_lock_try(l, modes[i], NULL);
	return -EINVAL;
}

static int calls_open(struct inode *inode, struct file *file)
{
	struct calls_user *user = kzalloc(sizeof(*user), GFP_KERNEL);

	if (!user)
		return -ENOMEM;
	init_completion(&user->answered);
	file->private_data = user;
	return 0;
}

static ssize_t calls_write(struct file *file, const char __user *from,
			   size_t len, loff_t *pos)
{
	struct calls_user *user = file->private_data;
	char *what = memdup_user_nul(from, min_t(size_t, len, PAGE_SIZE));
	int err;

	if (IS_ERR(what))
		return PTR_ERR(what);
	err = user->lock ? calls_call(user, what) : calls_bind(user, what);
	kfree(what);
	return err ?: len;
}

static int calls_release(struct inode *inode, struct file *file)
{
	struct calls_user *user = file->private_data;

	if (user->lock)
		tally_lock_put(user->lock);
	kfree(user);
	return 0;
}

static const struct file_operations calls_fops = {
	.owner		= THIS_MODULE,
	.open		= calls_open,
	.write		= calls_write,
	.release	= calls_release,
};

static struct miscdevice calls_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "tally_lock_calls",
	.fops	= &calls_fops,
	.mode	= 0600,
};

module_misc_device(calls_device);

MODULE_DESCRIPTION("The lock calls of tally for kernel code, made by programs");
MODULE_LICENSE("GPL");
