// SPDX-License-Identifier: GPL-2.0
#include "region/type.h"

#include "netlink/msg.h"
#include "region/chunk.h"
#include "region/client.h"
#include "region/file.h"
#include "region/home.h"
#include "region/wire.h"

/* We divide by what the answer says, and keep a key for each part. */
static bool region_valid(const struct tally_rep_open *rep)
{
	u32 mrs = be32_to_cpu(rep->mrs), unit = be32_to_cpu(rep->mr_bytes);
	u64 size = be64_to_cpu(rep->size);

	return size && size <= TALLY_REGION_MAX && unit >= PAGE_SIZE &&
	       mrs <= TALLY_QUOTA_PAGES &&
	       mrs == tally_chunk_mrs(size, unit) && !rep->lock_class &&
	       !rep->lock_cache && !rep->lock_grants && !rep->lock_ms;
}

static int region_fs_take(struct tally_object *object,
			  const struct tally_ioc_create *arg)
{
	if (!arg->size || arg->lock_class)
		return -EINVAL;
	tally_region_home(object)->size = arg->size;
	return 0;
}

static int region_nl_take(struct tally_object *object, struct genl_info *info)
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

static int region_nl_fill(struct sk_buff *skb, void *hdr,
			  struct tally_object *object)
{
	return nla_put_u64_64bit(skb, TALLY_A_OBJECT_SIZE,
				 tally_region_home(object)->size,
				 TALLY_A_OBJECT_PAD);
}

static const struct tally_type_message region_messages[] = {
	{ .type = TALLY_MSG_REGION_MAP,
	  .len = sizeof(struct tally_msg_region_map),
	  .aim = TALLY_AIM_OPEN, .malformed = "malformed REGION_MAP" },
	{ .type = TALLY_MSG_REGION_ZERO,
	  .len = sizeof(struct tally_msg_region_zero),
	  .aim = TALLY_AIM_OPEN, .malformed = "malformed REGION_ZERO" },
	{}
};

const struct tally_type_ops tally_region_type = {
	.id		= TALLY_TYPE_REGION,
	.name		= "region",
	.object_size	= sizeof(struct tally_region_home),
	.open_size	= sizeof(struct tally_region_open),
	.messages	= region_messages,
	.check		= tally_region_check,
	.create		= tally_region_create,
	.deleted	= tally_region_deleted,
	.destroy	= tally_region_destroy,
	.open		= tally_region_open,
	.fill		= tally_region_fill,
	.close		= tally_region_close,
	.request	= tally_region_request,
	.created	= tally_region_session_created,
	.over		= tally_region_session_over,
	.valid		= region_valid,
	.attach		= tally_region_attach,
	.error		= tally_region_error,
	.release	= tally_region_release,
	.fops		= &tally_region_ops,
	.fs_truncate	= tally_region_zero,
	.fs_take	= region_fs_take,
	.nl_attrs	= BIT_ULL(TALLY_A_OBJECT_SIZE),
	.nl_take	= region_nl_take,
	.nl_fill	= region_nl_fill,
};
