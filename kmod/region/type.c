// SPDX-License-Identifier: GPL-2.0
#include "region/type.h"

#include "fs/file.h"
#include "home/export.h"
#include "region/nl.h"
#include <uapi/linux/tally.h>

const struct tally_type_ops tally_region_type = {
	.id		= TALLY_TYPE_REGION,
	.name		= "region",
	.object_size	= sizeof(struct tally_object),
	.open_size	= sizeof(struct tally_open),
	.fops		= &tally_region_ops,
	.nl_attrs	= TALLY_REGION_NL_ATTRS,
	.nl_take	= tally_region_nl_take,
	.nl_fill	= tally_region_nl_fill,
};
