/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tally for kernel code: counters, locks and regions shared with other
 * machines over RDMA.
 *
 * A path is "ARENA/OBJECT" or "ARENA@NODE/OBJECT". All calls sleep and may be
 * ended by a fatal signal, unless said otherwise. @timeout is in jiffies,
 * MAX_SCHEDULE_TIMEOUT for none.
 *
 * Every operation has one of three outcomes: done (0); not done (an errno);
 * unknown (-EREMOTEIO): the link broke, or the time was over, while it was on
 * the wire. -ETIMEDOUT and -EINTR mean that nothing was sent.
 *
 * The get functions take the network namespace and the name of a node in it,
 * NULL for the first one, and return a handle or ERR_PTR(): -ENODEV (no such
 * node), -ENOENT (no such arena or object), -ENOTUNIQ (two homes have the
 * arena), -EINVAL (a bad path), -EPROTOTYPE (another type), -EACCES,
 * -ENOTCONN, -ESHUTDOWN, -ETIMEDOUT, -EINTR, -ENOMEM. A handle is to be put; it
 * keeps the module loaded and is a user of the node. When the object is deleted,
 * or its home or node stops, the handle stays and every call says why: -EIDRM,
 * -ESTALE, -ESHUTDOWN.
 *
 * A lock's handle is one user: whoever wants the lock twice needs two. Putting
 * it releases the lock. It can be acquired by calls that wait, or by calls that
 * end in "_async" and a callback; nothing is allocated for either.
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
 * @granted: the answer to what an "_async" call asked for, once for each: 0 with
 *	the fencing token, or why not, as the call that waits would return;
 *	-ECANCELED after tally_lock_cancel_async()
 * @recall: another node waits for the lock: release it soon, it is yours until
 *	then; NULL: of no interest
 * @lost: it was lost: the session with its home ended, or an administrator broke
 *	it. tally_lock_is_valid() has said so since before anybody else could get
 *	it. Release it before it is asked for again. NULL: of no interest
 *
 * All run in a work item of tally's, one at a time for each lock; they may sleep
 * for a short while, and may call everything of the lock but tally_lock_put().
 * After a release neither @recall nor @lost begins any more.
 */
struct tally_lock_ops {
	void (*granted)(struct tally_lock *lock, void *data, int err,
			u64 token);
	void (*recall)(struct tally_lock *lock, void *data);
	void (*lost)(struct tally_lock *lock, void *data);
};

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
void tally_lock_set_ops(struct tally_lock *lock,
			const struct tally_lock_ops *ops, void *data);
int tally_lock_acquire_async(struct tally_lock *lock, bool shared, bool try);
int tally_lock_upgrade_async(struct tally_lock *lock);
int tally_lock_cancel_async(struct tally_lock *lock);
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
