// SPDX-License-Identifier: GPL-2.0
#include "counter/type.h"

#include "counter/client.h"
#include "counter/file.h"
#include "counter/home.h"
#include "counter/nl.h"
#include "counter/wire.h"
#include "home/export.h"

static int counter_fs_take(struct tally_object *object,
			   const struct tally_ioc_create *arg)
{
	return arg->size || arg->lock_class ? -EINVAL : 0;
}

static const struct tally_type_message counter_messages[] = {
	{ .type = TALLY_MSG_COUNTER, .len = sizeof(struct tally_msg_counter),
	  .aim = TALLY_AIM_OPEN, .malformed = "malformed COUNTER" },
	{}
};

const struct tally_type_ops tally_counter_type = {
	.id		= TALLY_TYPE_COUNTER,
	.name		= "counter",
	.word		= true,
	.object_size	= sizeof(struct tally_counter_home),
	.open_size	= sizeof(struct tally_open),
	.messages	= counter_messages,
	.create		= tally_counter_create,
	.request	= tally_counter_request,
	.valid		= tally_counter_valid,
	.release	= tally_counter_release,
	.fops		= &tally_counter_ops,
	.fs_take	= counter_fs_take,
	.nl_attrs	= TALLY_COUNTER_NL_ATTRS,
	.nl_take	= tally_counter_nl_take,
	.nl_fill	= tally_counter_nl_fill,
};
