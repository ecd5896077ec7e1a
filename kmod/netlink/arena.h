/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_NETLINK_ARENA_H
#define TALLY_NETLINK_ARENA_H

#include <linux/types.h>

struct sk_buff;

/* A tally_nl_fill. */
bool tally_nl_fill_arena(struct sk_buff *skb, void *hdr, void *entry);

#endif
