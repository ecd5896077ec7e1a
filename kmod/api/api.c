// SPDX-License-Identifier: GPL-2.0
/* The exported kernel API. */
#include <linux/export.h>
#include <linux/slab.h>
#include <linux/tally.h>
#include "api/api.h"
#include "counter/client.h"
#include "base/name.h"
#include "region/region.h"
#include "session/nodes.h"

struct tally_counter {
	struct tally_api_user user;
};

struct tally_region {
	struct tally_api_user user;
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

int tally_api_get(struct tally_api_user *user, struct net *net,
		  const char *name, const char *path, u8 type, long timeout)
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

void tally_api_put(struct tally_api_user *user)
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
	err = tally_api_get(&counter->user, net, node, path, TALLY_TYPE_COUNTER,
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
	tally_api_put(&counter->user);
	kfree(counter);
}
EXPORT_SYMBOL_GPL(tally_counter_put);

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
 * @old: out: its value just before, which no other add gets; not NULL
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
 * @old: out: its value just before; not NULL
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
 * @old: out: its value just before; it was set if this is @expected; not NULL
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
	err = tally_api_get(&region->user, net, node, path, TALLY_TYPE_REGION,
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
	tally_api_put(&region->user);
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
