// SPDX-License-Identifier: GPL-2.0
#include "home/quota.h"

/*
 * Take @amount, where no more than @limit may be taken in all, or 0 for none.
 * Refusals are counted by @node. Any context. Return: 0 or -EDQUOT.
 */
int tally_quota_charge(struct tally_node *node, atomic64_t *used, u64 amount,
		       u64 limit)
{
	s64 old = atomic64_read(used);

	do {
		if (limit && (amount > limit || old > limit - amount)) {
			tally_stat_inc(&node->stats, TALLY_STAT_QUOTA);
			return -EDQUOT;
		}
	} while (!atomic64_try_cmpxchg(used, &old, old + amount));
	return 0;
}
