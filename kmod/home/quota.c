// SPDX-License-Identifier: GPL-2.0
#include "home/quota.h"

/*
 * Take @amount, where no more than @limit may be taken in all, or 0 for none.
 * Refusals are counted by @node. Any context. Return: 0 or -EDQUOT.
 */
int tally_quota_charge(struct tally_node *node, atomic64_t *used, u64 amount,
		       u64 limit)
{
	if (atomic64_add_return(amount, used) <= limit || !limit)
		return 0;
	atomic64_sub(amount, used);
	tally_stat_inc(&node->stats, TALLY_STAT_QUOTA);
	return -EDQUOT;
}
