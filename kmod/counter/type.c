// SPDX-License-Identifier: GPL-2.0
#include "counter/type.h"

#include "counter/client.h"
#include "counter/file.h"
#include "home/export.h"
#include <uapi/linux/tally.h>

const struct tally_type_ops tally_counter_type = {
	.id		= TALLY_TYPE_COUNTER,
	.name		= "counter",
	.word		= true,
	.object_size	= sizeof(struct tally_object),
	.open_size	= sizeof(struct tally_open),
	.valid		= tally_counter_valid,
	.release	= tally_counter_release,
	.fops		= &tally_counter_ops,
};
