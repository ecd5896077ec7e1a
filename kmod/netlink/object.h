/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_NETLINK_OBJECT_H
#define TALLY_NETLINK_OBJECT_H

#include <linux/types.h>

struct sk_buff;

/* A tally_nl_fill. */
bool tally_nl_fill_object(struct sk_buff *skb, void *hdr, void *entry);

#endif
