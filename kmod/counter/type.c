// SPDX-License-Identifier: GPL-2.0
#include "counter/type.h"

#include "fs/file.h"
#include "home/export.h"
#include "counter/nl.h"
#include <uapi/linux/tally.h>

const struct tally_type_ops tally_counter_type = {
	.id		= TALLY_TYPE_COUNTER,
	.name		= "counter",
	.word		= true,
	.object_size	= sizeof(struct tally_object),
	.open_size	= sizeof(struct tally_open),
	.fops		= &tally_counter_ops,
	.nl_attrs	= TALLY_COUNTER_NL_ATTRS,
	.nl_take	= tally_counter_nl_take,
	.nl_fill	= tally_counter_nl_fill,
};
