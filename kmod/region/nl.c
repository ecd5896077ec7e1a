// SPDX-License-Identifier: GPL-2.0
#include "region/nl.h"

#include "netlink/msg.h"
#include "region/home.h"

/**
 * tally_region_nl_take - take what a request says of a new region
 * @object: the region, not visible yet
 * @info: the request
 *
 * Return: 0 or -EINVAL.
 */
int tally_region_nl_take(struct tally_object *object, struct genl_info *info)
{
	const struct nlattr *size = info->attrs[TALLY_A_OBJECT_SIZE];
	struct tally_region_home *region = tally_region_home(object);

	if (GENL_REQ_ATTR_CHECK(info, TALLY_A_OBJECT_SIZE))
		return -EINVAL;
	region->size = nla_get_u64(size);
	if (region->size <= TALLY_REGION_MAX)
		return 0;
	return tally_nl_fail(info->extack, size, "a region has at most 1 TiB",
			     -EINVAL);
}

/**
 * tally_region_nl_fill - what is there to show of a region?
 * @skb: the message
 * @hdr: its header
 * @object: the region
 *
 * Return: 0 or -EMSGSIZE.
 */
int tally_region_nl_fill(struct sk_buff *skb, void *hdr,
			 struct tally_object *object)
{
	return nla_put_u64_64bit(skb, TALLY_A_OBJECT_SIZE,
				 tally_region_home(object)->size,
				 TALLY_A_OBJECT_PAD);
}
