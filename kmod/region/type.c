// SPDX-License-Identifier: GPL-2.0
#include "region/type.h"

#include "region/client.h"
#include "region/file.h"
#include "region/home.h"
#include "region/nl.h"
#include "region/wire.h"

static int region_fs_take(struct tally_object *object,
			  const struct tally_ioc_create *arg)
{
	if (!arg->size || arg->lock_class)
		return -EINVAL;
	tally_region_home(object)->size = arg->size;
	return 0;
}

static const struct tally_type_message region_messages[] = {
	{ .type = TALLY_MSG_REGION_MAP,
	  .len = sizeof(struct tally_msg_region_map),
	  .aim = TALLY_AIM_OPEN, .malformed = "malformed REGION_MAP" },
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
	.valid		= tally_region_valid,
	.attach		= tally_region_attach,
	.error		= tally_region_error,
	.release	= tally_region_release,
	.fops		= &tally_region_ops,
	.fs_take	= region_fs_take,
	.nl_attrs	= TALLY_REGION_NL_ATTRS,
	.nl_take	= tally_region_nl_take,
	.nl_fill	= tally_region_nl_fill,
};
