// SPDX-License-Identifier: GPL-2.0
/* The exported kernel API: locks, calls that wait. */
#include <linux/export.h>
#include "lock/api_async.h"

static void api_dep_acquire(struct tally_lock *lock, u8 mode, bool try)
{
	if (!lock->watched)
		return;
	if (mode == TALLY_LMODE_S)
		lock_acquire_shared(&lock->map, 0, try, NULL, _RET_IP_);
	else
		lock_acquire_exclusive(&lock->map, 0, try, NULL, _RET_IP_);
}

static void api_dep_release(struct tally_lock *lock)
{
	if (lock->watched)
		lock_release(&lock->map, _RET_IP_);
}

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
				  const char *path, long timeout)
{
	struct tally_lock *lock = tally_api_get(sizeof(*lock), net, node, path,
						TALLY_TYPE_LOCK, timeout);

	if (IS_ERR(lock))
		return lock;
	tally_lock_req_init(&lock->req, lock->user.handle);
	tally_api_async_init(lock);
	return lock;
}
EXPORT_SYMBOL_GPL(tally_lock_get);

/**
 * tally_lock_put - end the use of a lock; releases it if it is held
 * @lock: from tally_lock_get(); not usable after this
 *
 * What is still asked for is cancelled; callbacks that run are waited for, and
 * none comes any more. The caller sees to it that no other call is under way.
 *
 * Context: process; sleeps, until the home has answered a request that it knows
 * of or its session has ended. Not from a callback.
 */
void tally_lock_put(struct tally_lock *lock)
{
	tally_api_async_end(lock);
	tally_api_put(&lock->user);
}
EXPORT_SYMBOL_GPL(tally_lock_put);

static int api_lock_acquire(struct tally_lock *lock, u8 mode, u64 *token,
			    bool try, long timeout)
{
	int err;

	if (!tally_api_claim(lock))
		return -EBUSY;
	err = tally_api_idle(lock);
	if (err)
		goto out;
	tally_lock_req_by_task(&lock->req, mode);
	if (!try)
		api_dep_acquire(lock, mode, false);
	err = tally_lock_acquire(&lock->req, try, timeout);
	if (err && !try)
		api_dep_release(lock);
	else if (!err && try)
		api_dep_acquire(lock, mode, true);
	if (!err && token)
		*token = lock->req.token;
out:
	tally_api_unclaim(lock);
	return err;
}

/**
 * tally_lock_acquire_sync - wait for a lock and take it
 * @lock: from tally_lock_get()
 * @token: out: fencing token of the tenure, larger than those of all tenures
 *	before; NULL if of no interest
 * @timeout: jiffies
 *
 * Context: process; sleeps, killable. The lock belongs to @lock, not to the
 * task.
 * Return: 0; not acquired: -EALREADY: @lock holds it; -EBUSY: another call on
 * @lock is acquiring; -ESTALE: @lock held it and lost it, release first, or
 * the home started again; -EACCES, -EIDRM, -ENOTCONN, -ENETDOWN, -ESHUTDOWN,
 * -ETIMEDOUT, -EINTR, -ENOMEM.
 */
int tally_lock_acquire_sync(struct tally_lock *lock, u64 *token, long timeout)
{
	return api_lock_acquire(lock, TALLY_LMODE_X, token, false, timeout);
}
EXPORT_SYMBOL_GPL(tally_lock_acquire_sync);

/**
 * tally_lock_try - take a lock if that needs no waiting for other holders
 * @lock: from tally_lock_get()
 * @token: out: as for tally_lock_acquire_sync()
 *
 * Context: process; sleeps for the network, killable.
 * Return: 0; -EWOULDBLOCK: another user holds it; else the errors of
 * tally_lock_acquire_sync().
 */
int tally_lock_try(struct tally_lock *lock, u64 *token)
{
	return api_lock_acquire(lock, TALLY_LMODE_X, token, true,
				MAX_SCHEDULE_TIMEOUT);
}
EXPORT_SYMBOL_GPL(tally_lock_try);

/**
 * tally_lock_acquire_shared - wait for a lock and take it beside other readers
 * @lock: from tally_lock_get()
 * @token: out: fencing token, larger than those of all exclusive tenures before
 *	and smaller than those of all after it; NULL if of no interest
 * @timeout: jiffies
 *
 * Writers that wait let no further readers pass.
 *
 * Context: process; sleeps, killable.
 * Return: 0, or the errors of tally_lock_acquire_sync().
 */
int tally_lock_acquire_shared(struct tally_lock *lock, u64 *token,
			      long timeout)
{
	return api_lock_acquire(lock, TALLY_LMODE_S, token, false, timeout);
}
EXPORT_SYMBOL_GPL(tally_lock_acquire_shared);

/**
 * tally_lock_try_shared - take a lock shared if that needs no waiting for users
 * @lock: from tally_lock_get()
 * @token: out: as for tally_lock_acquire_shared()
 *
 * Context: process; sleeps for the network, killable.
 * Return: 0; -EWOULDBLOCK: one has it exclusively or waits for that; else
 * the errors of tally_lock_acquire_sync().
 */
int tally_lock_try_shared(struct tally_lock *lock, u64 *token)
{
	return api_lock_acquire(lock, TALLY_LMODE_S, token, true,
				MAX_SCHEDULE_TIMEOUT);
}
EXPORT_SYMBOL_GPL(tally_lock_try_shared);

/**
 * tally_lock_downgrade_sync - go on holding a lock shared
 * @lock: from tally_lock_get(), held exclusively
 *
 * No other user has it exclusively in between. Does not wait for the home.
 *
 * Context: process; any task.
 * Return: 0; -ESTALE: it has been lost; -EINVAL: it is not held exclusively.
 */
int tally_lock_downgrade_sync(struct tally_lock *lock)
{
	int err = tally_lock_downgrade(&lock->req);

	if (!err && lock->watched)
		lock_downgrade(&lock->map, _RET_IP_);
	return err;
}
EXPORT_SYMBOL_GPL(tally_lock_downgrade_sync);

/**
 * tally_lock_upgrade_sync - go on holding a lock exclusively
 * @lock: from tally_lock_get(), held shared
 * @token: out: the new token; NULL if of no interest
 *
 * Never waits for other users: two that wait for each other would wait for
 * ever.
 *
 * Context: process; sleeps for the network, killable.
 * Return: 0; still held shared: -EDEADLK: others hold it or wait for it,
 * -EAGAIN: release it and acquire it anew, -ENOTCONN: no link to the home;
 * -ESTALE: it has been lost; -EINVAL: it is not held shared; -EBUSY: another
 * call on @lock is under way; -EINTR: only to be released.
 */
int tally_lock_upgrade_sync(struct tally_lock *lock, u64 *token)
{
	int err;

	if (!tally_api_claim(lock))
		return -EBUSY;
	err = tally_lock_upgrade(&lock->req);
	if (!err && token)
		*token = lock->req.token;
	if (!err) {
		api_dep_release(lock);
		api_dep_acquire(lock, TALLY_LMODE_X, true);
	}
	tally_api_unclaim(lock);
	return err;
}
EXPORT_SYMBOL_GPL(tally_lock_upgrade_sync);

/**
 * tally_lock_release_sync - release a lock
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
int tally_lock_release_sync(struct tally_lock *lock)
{
	int err = tally_lock_release(&lock->req);

	if (err == -EINVAL)
		return err;
	tally_api_async_released(lock);
	api_dep_release(lock);
	return err;
}
EXPORT_SYMBOL_GPL(tally_lock_release_sync);

/**
 * tally_lock_is_valid - is the lock held, and is that certain?
 * @lock: from tally_lock_get()
 *
 * Context: any that may take a spinlock.
 * Return: true while it is held and the lease lasts. What has to be certain
 * later than now needs the token.
 */
bool tally_lock_is_valid(struct tally_lock *lock)
{
	return tally_lock_held(&lock->req);
}
EXPORT_SYMBOL_GPL(tally_lock_is_valid);

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
			struct lock_class_key *key)
{
	lockdep_init_map(&lock->map, name, key, 0);
	lock->watched = true;
}
EXPORT_SYMBOL_GPL(tally_lock_set_key);
