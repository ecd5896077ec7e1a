// SPDX-License-Identifier: GPL-2.0
#include "lock/type.h"

#include "fs/file.h"
#include "home/export.h"
#include "lock/nl.h"
#include "lock/show.h"
#include <uapi/linux/tally.h>

const struct tally_type_ops tally_lock_type = {
	.id		= TALLY_TYPE_LOCK,
	.name		= "lock",
	.word		= true,
	.object_size	= sizeof(struct tally_object),
	.open_size	= sizeof(struct tally_open),
	.fops		= &tally_lock_ops,
	.nl_attrs	= TALLY_LOCK_NL_ATTRS,
	.nl_take	= tally_lock_nl_take,
	.nl_fill	= tally_lock_nl_fill,
	.nl_set		= tally_lock_nl_set,
	.nl_break	= tally_lock_nl_break,
	.nl_ask		= tally_lock_ask_start,
};
