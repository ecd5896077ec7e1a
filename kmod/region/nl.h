/* SPDX-License-Identifier: GPL-2.0 */
/* Regions and netlink; see struct tally_type_ops. */
#ifndef TALLY_REGION_NL_H
#define TALLY_REGION_NL_H

#include <net/genetlink.h>
#include "netlink/gen.h"

struct tally_object;

#define TALLY_REGION_NL_ATTRS	BIT_ULL(TALLY_A_OBJECT_SIZE)

int tally_region_nl_take(struct tally_object *object, struct genl_info *info);
int tally_region_nl_fill(struct sk_buff *skb, void *hdr,
			 struct tally_object *object);

#endif
