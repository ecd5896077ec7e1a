/* SPDX-License-Identifier: GPL-2.0 */
/**
 * DOC: tally for kernel code
 *
 * Counters, locks and regions of memory, shared with other machines over RDMA.
 * This is what the calls have in common.  What each of them takes, returns and
 * needs is said in the kernel-doc of its definition: counters in kmod/counter/api.c,
 * regions in kmod/region/api.c, locks in kmod/lock/api.c.  The modules in
 * kmod/bench/ are built as any other user is: with this header and Module.symvers
 * of tally.
 *
 * **Handles.**  An administrator starts a node, makes arenas and objects (tally(8)).
 * A get function takes the network namespace and the name of a node in it, NULL
 * for the first one, and "ARENA/OBJECT", or "ARENA@NODE/OBJECT" where two homes
 * have that arena.  It returns a handle or ERR_PTR(): -ENODEV (no such node),
 * -ENOENT (no such arena or object), -ENOTUNIQ (two homes have the arena), -EINVAL
 * (not a path), -EPROTOTYPE (another type), -EACCES, -ENOTCONN, -ESHUTDOWN,
 * -ETIMEDOUT, -EINTR, -ENOMEM.  A handle is to be put; until then it keeps the
 * module loaded and is listed as a user of the node.  When the object is deleted,
 * or its home or node stops, the handle stays and every call says why: -EIDRM,
 * -ESTALE, -ESHUTDOWN.
 *
 * **Contexts and times.**  Calls with a timeout, and those that get, put, try or
 * upgrade, sleep: process context, no spinlock.  They can be ended by a fatal
 * signal, but for put.  Those that end in "_async", release, downgrade and
 * is_valid do not wait; most of them can be called in softirqs.  A timeout is in
 * jiffies, MAX_SCHEDULE_TIMEOUT for none.
 *
 * **Outcomes.**  Every operation is done (0); or not done (an errno); or unknown
 * (-EREMOTEIO): the link broke, or it timed out, while it was on the wire.  It
 * may have happened or may yet, and is never tried again.  -ETIMEDOUT and -EINTR
 * mean that nothing was sent.
 *
 * **Counters** have 64 bits and wrap around.  Any number of calls may use one
 * handle at once.
 *
 * **Locks** are exclusive or shared, and granted in the order in which nodes ask.
 * A lock's handle is one user: it holds the lock or does not, whichever task calls;
 * to hold the lock twice takes two.  Putting it releases the lock.  It can be
 * acquired by calls that wait, or by those that end in "_async" and a callback;
 * nothing is allocated for either.  Callbacks also tell that others wait (recall)
 * and that the lock was lost, see &struct tally_lock_ops.
 *
 * **Tokens.**  Each grant comes with a token.  That of an exclusive one is larger
 * than all before, those of shared ones lie between.  A holder that loses the lock
 * is told before another gets it, but its machine may have stood still since it
 * looked.  So give the token along with every change to what the lock protects, and
 * let that refuse a smaller one than it has seen.  A region of the lock's home
 * cannot refuse, and need not when a session ends: that node does not reach it any
 * more.  A holder that loses a lock to an administrator has to stop by itself.
 *
 * **Regions** are read and written by RDMA, from and to kernel or user memory; what
 * was written is seen by all RDMA operations behind it, and by the home's CPU after
 * a flush.
 *
 * For callers that wait::
 *
 *	lock = tally_lock_get(&init_net, NULL, "disks/journal", 10 * HZ);
 *	if (IS_ERR(lock))
 *		return PTR_ERR(lock);
 *	err = tally_lock_acquire_sync(lock, &token, 30 * HZ);
 *	if (!err) {
 *		write_journal(token);
 *		err = tally_lock_release_sync(lock);	// -ESTALE: was lost
 *	}
 *	tally_lock_put(lock);
 *
 * For those that do not::
 *
 *	static void granted(struct tally_lock *lock, void *data, int err, u64 token)
 *	{
 *		if (!err)
 *			start_writing(data, token);
 *	}
 *
 *	static void give_back(struct tally_lock *lock, void *data)
 *	{
 *		stop_writing(data);
 *		tally_lock_release_sync(lock);
 *	}
 *
 *	static const struct tally_lock_ops ops = {
 *		.granted = granted, .recall = give_back, .lost = give_back,
 *	};
 *
 *	tally_lock_set_ops(lock, &ops, data);
 *	err = tally_lock_acquire_async(lock, false, false);
 */
#ifndef _LINUX_TALLY_H
#define _LINUX_TALLY_H

#include <linux/lockdep_types.h>
#include <linux/types.h>
#include <linux/uio.h>

struct lock_class_key;
struct net;
struct tally_counter;
struct tally_lock;
struct tally_region;

/**
 * struct tally_lock_ops - what the user of a lock is told
 * @granted: the answer to what an "_async" call asked for, once for each that
 *	returned 0: @err is 0 and @token the fencing token; or @err is why not, as the
 *	call that waits would return, -ECANCELED after tally_lock_cancel_async(), and
 *	@token says nothing.  Needed for these calls only
 * @recall: another node waits for the lock.  Release it soon; until then it is
 *	yours, unless an administrator breaks it.  NULL: of no interest
 * @lost: it was lost: the session with its home ended, or an administrator broke
 *	it.  tally_lock_is_valid() has said so since before another could get
 *	it.  Release it, which returns -ESTALE, before it is asked for again.  NULL: of
 *	no interest
 *
 * @data is that of tally_lock_set_ops().  All run in a work item of tally's, one at
 * a time for each lock; they may sleep for a short while, and may call everything of
 * the lock but tally_lock_put().  After a release neither @recall nor @lost begins
 * any more, and after tally_lock_put() nothing does.
 */
struct tally_lock_ops {
	void (*granted)(struct tally_lock *lock, void *data, int err,
			u64 token);
	void (*recall)(struct tally_lock *lock, void *data);
	void (*lost)(struct tally_lock *lock, void *data);
};

/* Counters, see kmod/counter/api.c */
struct tally_counter *tally_counter_get(struct net *net, const char *node,
					const char *path, long timeout);
void tally_counter_put(struct tally_counter *counter);
int tally_counter_read(struct tally_counter *counter, u64 *value, long timeout);
int tally_counter_add(struct tally_counter *counter, u64 value, u64 *old,
		      long timeout);
int tally_counter_set(struct tally_counter *counter, u64 value, u64 *old,
		      long timeout);
int tally_counter_cas(struct tally_counter *counter, u64 expected, u64 value,
		      u64 *old, long timeout);

/* Locks, for callers that wait, see kmod/lock/api.c */
struct tally_lock *tally_lock_get(struct net *net, const char *node,
				  const char *path, long timeout);
void tally_lock_put(struct tally_lock *lock);
int tally_lock_acquire_sync(struct tally_lock *lock, u64 *token, long timeout);
int tally_lock_try(struct tally_lock *lock, u64 *token);
int tally_lock_acquire_shared(struct tally_lock *lock, u64 *token,
			      long timeout);
int tally_lock_try_shared(struct tally_lock *lock, u64 *token);
int tally_lock_downgrade_sync(struct tally_lock *lock);
int tally_lock_upgrade_sync(struct tally_lock *lock, u64 *token);
int tally_lock_release_sync(struct tally_lock *lock);
bool tally_lock_is_valid(struct tally_lock *lock);

/* Locks, by callbacks, see kmod/lock/api.c */
void tally_lock_set_ops(struct tally_lock *lock,
			const struct tally_lock_ops *ops, void *data);
int tally_lock_acquire_async(struct tally_lock *lock, bool shared, bool try);
int tally_lock_upgrade_async(struct tally_lock *lock);
int tally_lock_cancel_async(struct tally_lock *lock);

/* For lockdep, see kmod/lock/api.c */
void tally_lock_set_key(struct tally_lock *lock, const char *name,
			struct lock_class_key *key);

/**
 * tally_lock_set_class - let lockdep watch the calls that wait
 * @lock: from tally_lock_get()
 *
 * All locks for which the same line of code calls this are of one class. See
 * tally_lock_set_key().
 */
#define tally_lock_set_class(lock)					\
do {									\
	static struct lock_class_key __key;				\
									\
	tally_lock_set_key(lock, #lock, &__key);			\
} while (0)

/* Regions, see kmod/region/api.c */
struct tally_region *tally_region_get(struct net *net, const char *node,
				      const char *path, long timeout);
void tally_region_put(struct tally_region *region);
u64 tally_region_size(struct tally_region *region);
ssize_t tally_region_read(struct tally_region *region, struct iov_iter *to,
			  u64 pos, long timeout);
ssize_t tally_region_write(struct tally_region *region, struct iov_iter *from,
			   u64 pos, long timeout);
int tally_region_flush(struct tally_region *region, long timeout);

#endif
