// SPDX-License-Identifier: GPL-2.0
#include "counter/nl.h"

#include "counter/home.h"
#include "netlink/msg.h"

/**
 * tally_counter_nl_take - take what a request says of a new counter
 * @object: the counter, not visible yet
 * @info: the request
 *
 * Return: 0.
 */
int tally_counter_nl_take(struct tally_object *object, struct genl_info *info)
{
	if (info->attrs[TALLY_A_OBJECT_INITIAL])
		tally_counter_home(object)->initial =
			nla_get_u64(info->attrs[TALLY_A_OBJECT_INITIAL]);
	return 0;
}

/**
 * tally_counter_nl_fill - what is there to show of a counter?
 * @skb: the message
 * @hdr: its header
 * @object: the counter
 *
 * Return: 0 or -EMSGSIZE.
 */
int tally_counter_nl_fill(struct sk_buff *skb, void *hdr,
			  struct tally_object *object)
{
	return nla_put_u64_64bit(skb, TALLY_A_OBJECT_VALUE,
				 tally_counter_peek(object),
				 TALLY_A_OBJECT_PAD);
}
