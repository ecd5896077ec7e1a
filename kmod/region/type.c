// SPDX-License-Identifier: GPL-2.0
#include "region/type.h"

#include "home/export.h"
#include "region/client.h"
#include "region/file.h"
#include <uapi/linux/tally.h>

const struct tally_type_ops tally_region_type = {
	.id		= TALLY_TYPE_REGION,
	.name		= "region",
	.object_size	= sizeof(struct tally_object),
	.open_size	= sizeof(struct tally_open),
	.valid		= tally_region_valid,
	.attach		= tally_region_attach,
	.error		= tally_region_error,
	.release	= tally_region_release,
	.fops		= &tally_region_ops,
};
