// SPDX-License-Identifier: GPL-2.0
/* The exported kernel API of regions. */
#include <linux/export.h>
#include <linux/tally.h>
#include "api/api.h"
#include "region/client.h"

struct tally_region {
	struct tally_api_user user;
};

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
	return tally_api_get(sizeof(struct tally_region), net, node, path,
			     TALLY_TYPE_REGION, timeout);
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
