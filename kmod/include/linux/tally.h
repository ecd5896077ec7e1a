/* SPDX-License-Identifier: GPL-2.0 */
/**
 * DOC: tally for kernel code
 *
 * Counters, locks and regions of memory, shared with other machines over RDMA.
 * This is what the calls have in common; what each of them takes, returns and
 * needs stands with its declaration.  The modules in kmod/bench/ are built as any
 * other user is: with this header and Module.symvers of tally.
 *
 * **Handles.**  An administrator starts a node, makes arenas and objects (tally(8)).
 * A get function takes the network namespace and the name of a node in it, NULL
 * for the first one (a kernel thread has no namespace of its own and says
 * &init_net, or takes a reference of the one of whoever set it up), and
 * "ARENA/OBJECT", or "ARENA@NODE/OBJECT" where two homes have that arena.  It
 * returns a handle or ERR_PTR(): -ENODEV (no such node), -ENOENT (no such arena or
 * object), -ENOTUNIQ (two homes have the arena), -EINVAL (not a path),
 * -EPROTOTYPE (another type), -EACCES, -ENOTCONN, -ESHUTDOWN, -ETIMEDOUT, -EINTR,
 * -ENOMEM.  A handle is to be put; until then it keeps the
 * module loaded and is listed as a user of the node.  When the object is deleted,
 * or its home or node stops, the handle stays and every call says why: -EIDRM,
 * -ESTALE, -ESHUTDOWN.
 *
 * **Contexts and times.**  Calls with a timeout, and those that get, put, try or
 * upgrade, sleep: process context, no spinlock.  They can be ended by a fatal
 * signal, but for put.  kthread_stop() is none: a thread that is to end meanwhile
 * waits for a second at a time and looks, or takes the signal: allow_signal(SIGKILL)
 * there, send_sig(SIGKILL, task, 1) before kthread_stop().  What ends in "_async"
 * does not wait: a callback has the answer.  Release, downgrade and is_valid have
 * nothing to wait for.  Most of these can be called in softirqs.  A timeout is in
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
 *	err = tally_lock_acquire(lock, TALLY_LOCK_EX, &token, 30 * HZ);
 *	if (!err) {
 *		write_journal(token);
 *		err = tally_lock_release(lock);	// -ESTALE: was lost
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
 *		tally_lock_release(lock);
 *	}
 *
 *	static const struct tally_lock_ops ops = {
 *		.granted = granted, .recall = give_back, .lost = give_back,
 *	};
 *
 *	tally_lock_set_ops(lock, &ops, data);
 *	err = tally_lock_acquire_async(lock, TALLY_LOCK_EX);
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
 * the lock but tally_lock_put().  After a release in one of them neither @recall nor
 * @lost begins for what was released (a release elsewhere may cross one that
 * begins), and after tally_lock_put() nothing does.
 */
struct tally_lock_ops {
	void (*granted)(struct tally_lock *lock, void *data, int err,
			u64 token);
	void (*recall)(struct tally_lock *lock, void *data);
	void (*lost)(struct tally_lock *lock, void *data);
};

/**
 * tally_counter_get - begin to use a counter
 * @net: network namespace of the node
 * @node: name of our node; NULL for the first one
 * @path: "ARENA/COUNTER" or "ARENA@NODE/COUNTER"
 * @timeout: jiffies
 *
 * The counter goes on being usable when it is deleted or the node is stopped:
 * every operation then says so. Several users may share it.
 *
 * Context: process; sleeps, killable. No locks needed.
 * Return: the counter, to be given back with tally_counter_put(), or an
 * ERR_PTR: -ENODEV: no such node; -ENOENT: no such arena or object; -EINVAL:
 * not a path; -EPROTOTYPE: not a counter; -ENOTUNIQ: two homes have an arena
 * of that name; -EACCES: no right; -ENOTCONN: no session with that home;
 * -ESHUTDOWN, -ETIMEDOUT, -EINTR, -ENOMEM.
 */
struct tally_counter *tally_counter_get(struct net *net, const char *node,
					const char *path, long timeout);

/**
 * tally_counter_put - end the use of a counter
 * @counter: from tally_counter_get(); not usable after this
 *
 * The caller sees to it that no operation on it is under way.
 *
 * Context: process; may sleep.
 */
void tally_counter_put(struct tally_counter *counter);

/**
 * tally_counter_read - read a counter
 * @counter: from tally_counter_get()
 * @value: out: its value at some time during the call; not NULL
 * @timeout: jiffies
 *
 * Context: process; sleeps, killable. Any number of calls may run at once.
 * Return: 0; not done: -EACCES, -EIDRM, -ENOTCONN, -ENETDOWN, -ESHUTDOWN,
 * -ESTALE, -ETIMEDOUT, -EINTR, -ENOMEM; -EREMOTEIO: unknown.
 */
int tally_counter_read(struct tally_counter *counter, u64 *value, long timeout);

/**
 * tally_counter_add - add to a counter
 * @counter: from tally_counter_get()
 * @value: what to add, modulo 2^64
 * @old: out: its value just before, which no other add gets; not NULL
 * @timeout: jiffies
 *
 * Context: process; sleeps, killable. Any number of calls may run at once.
 * Return: 0, or the errors of tally_counter_read(); after -EREMOTEIO it may
 * have been added or may yet be.
 */
int tally_counter_add(struct tally_counter *counter, u64 value, u64 *old,
		      long timeout);

/**
 * tally_counter_set - set a counter
 * @counter: from tally_counter_get()
 * @value: new value
 * @old: out: its value just before; not NULL
 * @timeout: jiffies
 *
 * Context: process; sleeps, killable. Any number of calls may run at once.
 * Return: 0, or the errors of tally_counter_read(); after -EREMOTEIO it may
 * have been set or may yet be.
 */
int tally_counter_set(struct tally_counter *counter, u64 value, u64 *old,
		      long timeout);

/**
 * tally_counter_cas - set a counter if it has an expected value
 * @counter: from tally_counter_get()
 * @expected: the value it must have
 * @value: new value
 * @old: out: its value just before; it was set if this is @expected; not NULL
 * @timeout: jiffies
 *
 * Context: process; sleeps, killable. Any number of calls may run at once.
 * Return: 0, also when it was not set, or the errors of
 * tally_counter_read(); after -EREMOTEIO it may have been set or may yet be.
 */
int tally_counter_cas(struct tally_counter *counter, u64 expected, u64 value,
		      u64 *old, long timeout);

/**
 * enum tally_lock_mode - how a lock is held
 * @TALLY_LOCK_EX: by one user
 * @TALLY_LOCK_SH: by all that want it so
 */
enum tally_lock_mode {
	TALLY_LOCK_EX = 1,
	TALLY_LOCK_SH = 2,
};

/**
 * tally_lock_get - begin to use a lock
 * @net: network namespace of the node
 * @node: name of our node; NULL for the first one
 * @path: "ARENA/LOCK" or "ARENA@NODE/LOCK"
 * @timeout: jiffies
 *
 * What is returned is one user: it holds the lock or does not. Users on one
 * node exclude each other as users on different nodes do.
 *
 * Context: process; sleeps, killable. No locks needed.
 * Return: the lock, to be given back with tally_lock_put(), or the errors of
 * tally_counter_get(); -EPROTOTYPE: not a lock.
 */
struct tally_lock *tally_lock_get(struct net *net, const char *node,
				  const char *path, long timeout);

/**
 * tally_lock_put - end the use of a lock; releases it if it is held
 * @lock: from tally_lock_get(); not usable after this
 *
 * What is still asked for is cancelled; callbacks that run are waited for, and
 * none comes any more. The caller sees to it that no other call is under way.
 *
 * Context: process; sleeps, until the home has answered a request that it knows
 * of or its session has ended; ten seconds at most where the lock is just being found
 * again for a call that does not wait. Not from a callback.
 */
void tally_lock_put(struct tally_lock *lock);

/**
 * tally_lock_acquire - wait for a lock and take it
 * @lock: from tally_lock_get()
 * @mode: exclusive, or shared: beside other readers, but not before a writer that
 *	waits
 * @token: out: fencing token of the tenure.  An exclusive one is larger than those
 *	of all tenures before, a shared one lies between those of the exclusive
 *	tenures before and after it; NULL if of no interest
 * @timeout: jiffies
 *
 * Context: process; sleeps, killable. The lock belongs to @lock, not to the
 * task.
 * Return: 0; not acquired: -EALREADY: @lock holds it; -EBUSY: another call on
 * @lock is acquiring; -ESTALE: @lock held it and lost it: release it first; or, if
 * that says -EINVAL, the home started again: put @lock and get another one;
 * -EACCES, -EIDRM, -ENOTCONN, -ENETDOWN, -ESHUTDOWN, -ETIMEDOUT, -EINTR, -ENOMEM.
 */
int tally_lock_acquire(struct tally_lock *lock, enum tally_lock_mode mode,
		       u64 *token, long timeout);

/**
 * tally_lock_try - take a lock if that needs no waiting for other users
 * @lock: from tally_lock_get()
 * @mode: as for tally_lock_acquire()
 * @token: out: as for tally_lock_acquire()
 *
 * Context: process; sleeps for the network, half a lease at most, and as long before
 * where the session ended and the lock is to be found again; killable.
 * Return: 0; -EWOULDBLOCK: another user holds it in a mode that excludes @mode, or
 * waits for it, or the home is out of reach; else the errors of tally_lock_acquire().
 */
int tally_lock_try(struct tally_lock *lock, enum tally_lock_mode mode,
		   u64 *token);

/**
 * tally_lock_downgrade - go on holding a lock shared
 * @lock: from tally_lock_get(), held exclusively
 *
 * No other user has it exclusively in between. Does not wait for the home. The
 * token stays what it is: smaller than those of all exclusive tenures that follow.
 *
 * Context: process; any task.
 * Return: 0; -ESTALE: it has been lost; -EINVAL: it is not held exclusively.
 */
int tally_lock_downgrade(struct tally_lock *lock);

/**
 * tally_lock_upgrade - go on holding a lock exclusively
 * @lock: from tally_lock_get(), held shared
 * @token: out: the new token; NULL if of no interest
 *
 * Never waits for other users: two that wait for each other would wait for
 * ever.
 *
 * Context: process; sleeps for the network, killable.
 * Return: 0; still held shared: -EDEADLK: others hold it, keep it or wait for it,
 * -EAGAIN: release it and acquire it anew, -ENOTCONN: no link to the home,
 * -EINTR; -ESTALE: it has been lost; -EINVAL: it is not held shared; -ECANCELED: it
 * was released meanwhile; -EBUSY: another call on @lock is under way.
 */
int tally_lock_upgrade(struct tally_lock *lock, u64 *token);

/**
 * tally_lock_release - release a lock
 * @lock: from tally_lock_get()
 *
 * However it was acquired. Does not wait for the home. An upgrade that is asked
 * for is given up, and answered by -ECANCELED.
 *
 * Context: any but hard interrupts, any task; not where another call on @lock
 * may be acquiring.
 * Return: 0; -ESTALE: the lock had been lost; another may have held it while
 * this user believed to; -EINVAL: @lock does not hold it.
 */
int tally_lock_release(struct tally_lock *lock);

/**
 * tally_lock_is_valid - is the lock held, and is that certain?
 * @lock: from tally_lock_get()
 *
 * Context: any that may take a spinlock.
 * Return: true while it is held and the lease lasts. What has to be certain
 * later than now needs the token.
 */
bool tally_lock_is_valid(struct tally_lock *lock);

/**
 * tally_lock_set_key - let lockdep watch the calls that wait
 * @lock: from tally_lock_get(), before it is used otherwise
 * @name: of the class, a constant
 * @key: of the class, static
 *
 * The caller promises that what a call that waits acquired is released by the
 * same task. The "_async" calls must not be used then.
 *
 * Context: process.
 */
void tally_lock_set_key(struct tally_lock *lock, const char *name,
			struct lock_class_key *key);

/**
 * tally_lock_set_ops - say how to tell about a lock
 * @lock: from tally_lock_get(), before it is used otherwise
 * @ops: callbacks; they stay until tally_lock_put()
 * @data: argument for them
 *
 * Context: any.
 */
void tally_lock_set_ops(struct tally_lock *lock,
			const struct tally_lock_ops *ops, void *data);

/**
 * tally_lock_acquire_async - ask for a lock
 * @lock: from tally_lock_get(), with callbacks
 * @mode: as for tally_lock_acquire()
 *
 * The lock belongs to @lock from its grant, which may be before granted() runs.
 *
 * Context: any but hard interrupts; does not wait.
 * Return: 0: granted() will be called, or has been; it will not: -EBUSY: an
 * answer is due or another call is acquiring; -EALREADY: @lock holds it;
 * -ESTALE: it held it and lost it, release first; -EINVAL: no callbacks;
 * -EACCES, -EIDRM, -ENOTCONN, -ESHUTDOWN.
 */
int tally_lock_acquire_async(struct tally_lock *lock, enum tally_lock_mode mode);

/**
 * tally_lock_try_async - ask for a lock if that needs no waiting for other users
 * @lock: from tally_lock_get(), with callbacks
 * @mode: as for tally_lock_acquire()
 *
 * The answer is -EWOULDBLOCK where tally_lock_try() returns that. It comes within
 * half a lease; where the home is to be found again, within ten seconds more.
 *
 * Context: any but hard interrupts; does not wait.
 * Return: as for tally_lock_acquire_async().
 */
int tally_lock_try_async(struct tally_lock *lock, enum tally_lock_mode mode);

/**
 * tally_lock_upgrade_async - ask to hold a lock exclusively
 * @lock: from tally_lock_get(), with callbacks, held shared
 *
 * Context: any but hard interrupts; does not wait.
 * Return: 0: granted() will be called, or has been: with 0 and the new token,
 * or the errors of tally_lock_upgrade(), and the lock is still held shared
 * but for -ESTALE; it will not: -EBUSY, as for tally_lock_acquire_async();
 * -EINVAL: no callbacks, or it is not held shared; -ESTALE; -EDEADLK: another
 * user of this node asked before.
 */
int tally_lock_upgrade_async(struct tally_lock *lock);

/**
 * tally_lock_cancel_async - take back what was asked for
 * @lock: from tally_lock_get()
 *
 * Context: any but hard interrupts; does not wait.
 * Return: 0: granted() will be called with -ECANCELED, whatever else happens, and
 * @lock does not hold it then; -EALREADY: nothing is asked for, it has been
 * answered, or it is an upgrade, which does not wait.
 */
int tally_lock_cancel_async(struct tally_lock *lock);

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

/**
 * tally_region_get - begin to use a region
 * @net: network namespace of the node
 * @node: name of our node; NULL for the first one
 * @path: "ARENA/REGION" or "ARENA@NODE/REGION"
 * @timeout: jiffies
 *
 * Context: process; sleeps, killable. No locks needed.
 * Return: the region, to be given back with tally_region_put(), or the errors
 * of tally_counter_get(); -EPROTOTYPE: not a region.
 */
struct tally_region *tally_region_get(struct net *net, const char *node,
				      const char *path, long timeout);

/**
 * tally_region_put - end the use of a region
 * @region: from tally_region_get(); not usable after this
 *
 * The caller sees to it that no operation on it is under way.
 *
 * Context: process; may sleep.
 */
void tally_region_put(struct tally_region *region);

/**
 * tally_region_size - size of a region
 * @region: from tally_region_get()
 *
 * Context: any.
 * Return: bytes.
 */
u64 tally_region_size(struct tally_region *region);

/**
 * tally_region_read - read from a region
 * @region: from tally_region_get()
 * @to: kvec, bvec or user iterator; advanced by the result. Kernel memory it
 *	describes must be in the linear map or come from vmalloc (no stack), and
 *	is not touched any more when this returns
 * @pos: offset in the region
 * @timeout: jiffies; the call may last longer by the time a broken link needs
 *	to be noticed (a quarter of the lease)
 *
 * Context: process; sleeps, killable. Any number of calls may run at once.
 * Return: bytes read, fewer than asked for at the end of the region or when
 * an error came after them; 0 at or behind the end; or an errno if nothing was
 * read: -EFAULT, or those of tally_counter_read().
 */
ssize_t tally_region_read(struct tally_region *region, struct iov_iter *to,
			  u64 pos, long timeout);

/**
 * tally_region_write - write to a region
 * @region: from tally_region_get()
 * @from: as for tally_region_read()
 * @pos: offset in the region
 * @timeout: as for tally_region_read()
 *
 * What has been written is seen by every RDMA operation that is begun after
 * the return, on any node; by the home's CPU after tally_region_flush().
 *
 * Context: process; sleeps, killable. Any number of calls may run at once;
 * where their ranges overlap, either's bytes remain.
 * Return: bytes written, the beginning of what was to be written; or an errno
 * if that is none: -ENOSPC: @pos is at or behind the end; -EFAULT, or those of
 * tally_counter_read(). After -EREMOTEIO, and behind a short count, bytes may
 * have been written or may yet be.
 */
ssize_t tally_region_write(struct tally_region *region, struct iov_iter *from,
			   u64 pos, long timeout);

/**
 * tally_region_flush - let the home's CPU see what was written
 * @region: from tally_region_get()
 * @timeout: jiffies
 *
 * Covers every write of this node to this region that had returned.
 *
 * Context: process; sleeps, killable.
 * Return: 0, or the errors of tally_counter_read(); then it is not certain
 * what the home's CPU sees, and flushing may be tried again.
 */
int tally_region_flush(struct tally_region *region, long timeout);

#endif
