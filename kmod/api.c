// SPDX-License-Identifier: GPL-2.0
/* The exported kernel API. */
#include <linux/export.h>
#include <linux/slab.h>
#include <linux/tally.h>
#include "counter.h"
#include "lock.h"
#include "name.h"
#include "region.h"

/**
 * struct api_user - a kernel user of an object
 * @handle: the object, referenced
 * @user: tells the node
 */
struct api_user {
	struct tally_handle *handle;
	struct tally_user user;
};

struct tally_counter {
	struct api_user user;
};

struct tally_region {
	struct api_user user;
};

/**
 * struct tally_lock - a kernel user of a lock
 * @user: as every user
 * @req: its one request
 * @busy: held while acquiring
 */
struct tally_lock {
	struct api_user user;
	struct tally_lock_req req;
	struct mutex busy;	/* see above */
};

/* Find "ARENA/OBJECT" or "ARENA@NODE/OBJECT". */
static struct tally_handle *api_find_path(struct tally_node *node,
					  const char *path, long timeout)
{
	const char *slash = strchr(path, '/');
	char arena[2 * TALLY_NAME_SIZE];
	struct tally_handle *handle;
	struct tally_view *view;

	if (!slash || slash - path >= sizeof(arena))
		return ERR_PTR(-EINVAL);
	memcpy(arena, path, slash - path);
	arena[slash - path] = '\0';
	if (!tally_name_valid(slash + 1, strlen(slash + 1)))
		return ERR_PTR(-EINVAL);
	view = tally_view_find(node, arena, timeout);
	if (IS_ERR(view))
		return ERR_CAST(view);
	handle = tally_handle_find(view, slash + 1, timeout);
	tally_view_put(view);
	return handle;
}

static int api_get(struct api_user *user, struct net *net, const char *name,
		   const char *path, u8 type, long timeout)
{
	struct tally_node *node = tally_node_find(net, name);
	struct tally_handle *handle;

	if (!node)
		return -ENODEV;
	handle = api_find_path(node, path, timeout);
	tally_node_put(node);
	if (IS_ERR(handle))
		return PTR_ERR(handle);
	if (handle->type != type) {
		tally_handle_put(handle);
		return -EPROTOTYPE;
	}
	user->handle = handle;
	tally_user_add(handle->view->node, &user->user, "kernel",
		       handle->view->name, handle->name);
	return 0;
}

static void api_put(struct api_user *user)
{
	tally_user_del(user->handle->view->node, &user->user);
	tally_handle_put(user->handle);
}

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
					const char *path, long timeout)
{
	struct tally_counter *counter = kzalloc(sizeof(*counter), GFP_KERNEL);
	int err;

	if (!counter)
		return ERR_PTR(-ENOMEM);
	err = api_get(&counter->user, net, node, path, TALLY_TYPE_COUNTER,
		      timeout);
	if (!err)
		return counter;
	kfree(counter);
	return ERR_PTR(err);
}
EXPORT_SYMBOL_GPL(tally_counter_get);

/**
 * tally_counter_put - end the use of a counter
 * @counter: from tally_counter_get(); not usable after this
 *
 * The caller sees to it that no operation on it is under way.
 *
 * Context: process; may sleep.
 */
void tally_counter_put(struct tally_counter *counter)
{
	api_put(&counter->user);
	kfree(counter);
}
EXPORT_SYMBOL_GPL(tally_counter_put);

/**
 * tally_counter_read - read a counter
 * @counter: from tally_counter_get()
 * @value: out: its value at some time during the call
 * @timeout: jiffies
 *
 * Context: process; sleeps, killable. Any number of calls may run at once.
 * Return: 0; not done: -EACCES, -EIDRM, -ENOTCONN, -ENETDOWN, -ESHUTDOWN,
 * -ESTALE, -ETIMEDOUT, -EINTR, -ENOMEM; -EREMOTEIO: unknown.
 */
int tally_counter_read(struct tally_counter *counter, u64 *value, long timeout)
{
	return tally_counter_do(counter->user.handle, TALLY_COUNTER_READ, 0, 0,
				value, timeout);
}
EXPORT_SYMBOL_GPL(tally_counter_read);

/**
 * tally_counter_add - add to a counter
 * @counter: from tally_counter_get()
 * @value: what to add, modulo 2^64
 * @old: out: its value just before; no other add gets the same one
 * @timeout: jiffies
 *
 * Context: process; sleeps, killable. Any number of calls may run at once.
 * Return: 0, or the errors of tally_counter_read(); after -EREMOTEIO it may
 * have been added or may yet be.
 */
int tally_counter_add(struct tally_counter *counter, u64 value, u64 *old,
		      long timeout)
{
	return tally_counter_do(counter->user.handle, TALLY_COUNTER_ADD, value,
				0, old, timeout);
}
EXPORT_SYMBOL_GPL(tally_counter_add);

/**
 * tally_counter_set - set a counter
 * @counter: from tally_counter_get()
 * @value: new value
 * @old: out: its value just before
 * @timeout: jiffies
 *
 * Context: process; sleeps, killable. Any number of calls may run at once.
 * Return: 0, or the errors of tally_counter_read(); after -EREMOTEIO it may
 * have been set or may yet be.
 */
int tally_counter_set(struct tally_counter *counter, u64 value, u64 *old,
		      long timeout)
{
	return tally_counter_do(counter->user.handle, TALLY_COUNTER_SET, value,
				0, old, timeout);
}
EXPORT_SYMBOL_GPL(tally_counter_set);

/**
 * tally_counter_cas - set a counter if it has an expected value
 * @counter: from tally_counter_get()
 * @expected: the value it must have
 * @value: new value
 * @old: out: its value just before; it was set if this is @expected
 * @timeout: jiffies
 *
 * Context: process; sleeps, killable. Any number of calls may run at once.
 * Return: 0, also when it was not set, or the errors of
 * tally_counter_read(); after -EREMOTEIO it may have been set or may yet be.
 */
int tally_counter_cas(struct tally_counter *counter, u64 expected, u64 value,
		      u64 *old, long timeout)
{
	return tally_counter_do(counter->user.handle, TALLY_COUNTER_CAS, value,
				expected, old, timeout);
}
EXPORT_SYMBOL_GPL(tally_counter_cas);

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
	struct tally_lock *lock = kzalloc(sizeof(*lock), GFP_KERNEL);
	int err;

	if (!lock)
		return ERR_PTR(-ENOMEM);
	err = api_get(&lock->user, net, node, path, TALLY_TYPE_LOCK, timeout);
	if (err) {
		kfree(lock);
		return ERR_PTR(err);
	}
	mutex_init(&lock->busy);
	tally_lock_req_init(&lock->req, lock->user.handle);
	return lock;
}
EXPORT_SYMBOL_GPL(tally_lock_get);

/**
 * tally_lock_put - end the use of a lock; releases it if it is held
 * @lock: from tally_lock_get(); not usable after this
 *
 * The caller sees to it that no other call on it is under way.
 *
 * Context: process; may sleep.
 */
void tally_lock_put(struct tally_lock *lock)
{
	tally_lock_release(&lock->req);
	mutex_destroy(&lock->busy);
	api_put(&lock->user);
	kfree(lock);
}
EXPORT_SYMBOL_GPL(tally_lock_put);

static int api_lock_acquire(struct tally_lock *lock, u8 mode, u64 *token,
			    bool try, long timeout)
{
	int err;

	if (!mutex_trylock(&lock->busy))
		return -EBUSY;
	if (READ_ONCE(lock->req.state) != TALLY_LOCK_REQ_IDLE) {
		err = tally_lock_held(&lock->req) ? -EALREADY : -ESTALE;
	} else {
		tally_lock_req_by_task(&lock->req, mode);
		err = tally_lock_acquire(&lock->req, try, timeout);
	}
	if (!err && token)
		*token = lock->req.token;
	mutex_unlock(&lock->busy);
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
 * Return: 0; -EWOULDBLOCK: somebody else holds it; else the errors of
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
 * Return: 0; -EWOULDBLOCK: somebody has it exclusively or waits for that; else
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
 * Nobody else has it exclusively in between. Does not wait for the home.
 *
 * Context: process; any task.
 * Return: 0; -ESTALE: it has been lost; -EINVAL: it is not held exclusively.
 */
int tally_lock_downgrade_sync(struct tally_lock *lock)
{
	return tally_lock_downgrade(&lock->req);
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

	if (!mutex_trylock(&lock->busy))
		return -EBUSY;
	err = tally_lock_upgrade(&lock->req);
	if (!err && token)
		*token = lock->req.token;
	mutex_unlock(&lock->busy);
	return err;
}
EXPORT_SYMBOL_GPL(tally_lock_upgrade_sync);

/**
 * tally_lock_release_sync - release a lock
 * @lock: from tally_lock_get()
 *
 * Does not wait for the home. Context: process; any task.
 * Return: 0; -ESTALE: the lock had been lost; another may have held it while
 * this user believed to; -EINVAL: @lock does not hold it.
 */
int tally_lock_release_sync(struct tally_lock *lock)
{
	return tally_lock_release(&lock->req);
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
				      const char *path, long timeout)
{
	struct tally_region *region = kzalloc(sizeof(*region), GFP_KERNEL);
	int err;

	if (!region)
		return ERR_PTR(-ENOMEM);
	err = api_get(&region->user, net, node, path, TALLY_TYPE_REGION,
		      timeout);
	if (!err)
		return region;
	kfree(region);
	return ERR_PTR(err);
}
EXPORT_SYMBOL_GPL(tally_region_get);

/**
 * tally_region_put - end the use of a region
 * @region: from tally_region_get(); not usable after this
 *
 * The caller sees to it that no operation on it is under way.
 *
 * Context: process; may sleep.
 */
void tally_region_put(struct tally_region *region)
{
	api_put(&region->user);
	kfree(region);
}
EXPORT_SYMBOL_GPL(tally_region_put);

/**
 * tally_region_size - size of a region
 * @region: from tally_region_get()
 *
 * Context: any.
 * Return: bytes.
 */
u64 tally_region_size(struct tally_region *region)
{
	return region->user.handle->size;
}
EXPORT_SYMBOL_GPL(tally_region_size);

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
			  u64 pos, long timeout)
{
	return tally_region_rw(region->user.handle, to, pos, false, timeout);
}
EXPORT_SYMBOL_GPL(tally_region_read);

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
			   u64 pos, long timeout)
{
	return tally_region_rw(region->user.handle, from, pos, true, timeout);
}
EXPORT_SYMBOL_GPL(tally_region_write);

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
int tally_region_flush(struct tally_region *region, long timeout)
{
	return tally_region_sync(region->user.handle, timeout);
}
EXPORT_SYMBOL_GPL(tally_region_flush);
