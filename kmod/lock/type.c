// SPDX-License-Identifier: GPL-2.0
#include "lock/type.h"

#include "fs/file.h"
#include "home/export.h"
#include <uapi/linux/tally.h>

const struct tally_type_ops tally_lock_type = {
	.id		= TALLY_TYPE_LOCK,
	.name		= "lock",
	.word		= true,
	.object_size	= sizeof(struct tally_object),
	.open_size	= sizeof(struct tally_open),
	.fops		= &tally_lock_ops,
};
