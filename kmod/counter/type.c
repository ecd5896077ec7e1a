// SPDX-License-Identifier: GPL-2.0
#include "counter/type.h"

#include <net/genetlink.h>
#include "counter/client.h"
#include "counter/file.h"
#include "counter/home.h"
#include "counter/wire.h"
#include "home/export.h"
#include "netlink/gen.h"

static bool counter_valid(const struct tally_rep_open *rep)
{
	return !rep->size && !rep->mrs && !rep->mr_bytes && !rep->lock_class &&
	       !rep->lock_cache && !rep->lock_grants && !rep->lock_ms &&
	       !rep->lock_last;
}

static int counter_fs_take(struct tally_object *object,
			   const struct tally_ioc_create *arg)
{
	return arg->size || arg->lock_class ? -EINVAL : 0;
}

static int counter_nl_take(struct tally_object *object, struct genl_info *info)
{
	const struct nlattr *initial = info->attrs[TALLY_A_OBJECT_INITIAL];

	if (initial)
		tally_counter_home(object)->initial = nla_get_u64(initial);
	return 0;
}

static int counter_nl_read(struct sk_buff *skb, void *hdr,
			   struct tally_object *object)
{
	return nla_put_u64_64bit(skb, TALLY_A_OBJECT_VALUE,
				 tally_counter_peek(object),
				 TALLY_A_OBJECT_PAD);
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
	.valid		= counter_valid,
	.release	= tally_counter_release,
	.fops		= &tally_counter_ops,
	.fs_take	= counter_fs_take,
	.nl_attrs	= BIT_ULL(TALLY_A_OBJECT_INITIAL),
	.nl_take	= counter_nl_take,
	.nl_read	= counter_nl_read,
};
