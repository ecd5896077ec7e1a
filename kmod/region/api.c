// SPDX-License-Identifier: GPL-2.0
/* The exported kernel API of regions. */
#include <linux/export.h>
#include <linux/tally.h>
#include "api/api.h"
#include "region/client.h"

struct tally_region {
	struct tally_api_user user;
};

struct tally_region *tally_region_get(struct net *net, const char *node,
				      const char *path, long timeout)
{
	return tally_api_get(sizeof(struct tally_region), net, node, path,
			     TALLY_TYPE_REGION, timeout);
}
EXPORT_SYMBOL_GPL(tally_region_get);

void tally_region_put(struct tally_region *region)
{
	tally_api_put(&region->user);
}
EXPORT_SYMBOL_GPL(tally_region_put);

u64 tally_region_size(struct tally_region *region)
{
	return region->user.handle->size;
}
EXPORT_SYMBOL_GPL(tally_region_size);

ssize_t tally_region_read(struct tally_region *region, struct iov_iter *to,
			  u64 pos, long timeout)
{
	return tally_region_rw(region->user.handle, to, pos, false, timeout);
}
EXPORT_SYMBOL_GPL(tally_region_read);

ssize_t tally_region_write(struct tally_region *region, struct iov_iter *from,
			   u64 pos, long timeout)
{
	return tally_region_rw(region->user.handle, from, pos, true, timeout);
}
EXPORT_SYMBOL_GPL(tally_region_write);

int tally_region_flush(struct tally_region *region, long timeout)
{
	int err = tally_handle_try_enter(region->user.handle);

	/* What was not flushed before it ended is not going to be. */
	if (err && err != -EAGAIN)
		return err;
	if (!err)
		tally_handle_leave(region->user.handle);
	return tally_region_sync(region->user.handle, timeout);
}
EXPORT_SYMBOL_GPL(tally_region_flush);
