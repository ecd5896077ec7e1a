/* SPDX-License-Identifier: GPL-2.0 */
/* What peers and arenas may take of this node: every limit is here. */
#ifndef TALLY_HOME_QUOTA_H
#define TALLY_HOME_QUOTA_H

#include <linux/atomic.h>
#include <linux/sizes.h>
#include "session/node.h"

/*
 * Bytes that the records of one session take here: of 100,000 counters or
 * locks that it has open, and of the keys of its regions. Tests set a lower one.
 */
#ifndef TALLY_QUOTA_BYTES
#define TALLY_QUOTA_BYTES	(64ULL * SZ_1M)
#endif
/* Pages one session may have registered: 4 GiB of 4 KiB. */
#define TALLY_QUOTA_PAGES	(1024ULL * 1024)

/**
 * struct tally_quota - what a session has taken
 * @bytes: of our memory, up to TALLY_QUOTA_BYTES
 * @pages: registered for it, up to TALLY_QUOTA_PAGES
 */
struct tally_quota {
	atomic64_t bytes;
	atomic64_t pages;
};

int tally_quota_charge(struct tally_node *node, atomic64_t *used, u64 amount,
		       u64 limit);

static inline void tally_quota_uncharge(atomic64_t *used, u64 amount)
{
	atomic64_sub(amount, used);
}

#endif
