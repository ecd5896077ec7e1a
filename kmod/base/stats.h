/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters of what a node did. Work requests are counted where they are
 * posted, so that wire operations can be checked against the device's own.
 */
#ifndef TALLY_STATS_H
#define TALLY_STATS_H

#include <linux/atomic.h>
#include <linux/types.h>
#include "base/wire.h"

enum tally_stat {
	TALLY_STAT_POST_FAA,
	TALLY_STAT_POST_CAS,
	TALLY_STAT_POST_READ,
	TALLY_STAT_POST_WRITE,
	TALLY_STAT_POST_SEND,
	TALLY_STAT_POST_REG,
	TALLY_STAT_DOORBELL,
	TALLY_STAT_RECV,
	TALLY_STAT_OP_ERROR,
	TALLY_STAT_UNKNOWN,
	TALLY_STAT_LOCAL_OP,
	TALLY_STAT_BYTES_READ,
	TALLY_STAT_BYTES_WRITTEN,
	TALLY_STAT_CONN_UP,
	TALLY_STAT_CONN_DOWN,
	TALLY_STAT_SESSION_NEW,
	TALLY_STAT_SESSION_RESUMED,
	TALLY_STAT_SESSION_FENCED,
	TALLY_STAT_LEASE_LOST,
	TALLY_STAT_RPC_SENT,
	TALLY_STAT_RPC_SERVED,
	TALLY_STAT_RPC_REPLAYED,
	TALLY_STAT_QUOTA,
	TALLY_STAT_MALFORMED,
	TALLY_STAT_FORGET,
	TALLY_STAT_LOCK_FAST,
	TALLY_STAT_LOCK_MANAGED,
	TALLY_STAT_LOCK_LOCAL,
	TALLY_STAT_LOCK_HANDED,
	TALLY_STAT_LOCK_MSG,
	TALLY_STAT_LOCK_LOST,
	__TALLY_STAT_MAX
};

/**
 * struct tally_stats - counters of one node
 * @count: by enum tally_stat
 * @refused: connections and handshakes turned away, by enum tally_refusal
 */
struct tally_stats {
	atomic64_t count[__TALLY_STAT_MAX];
	atomic64_t refused[__TALLY_REFUSE_MAX];
};

static inline void tally_stat_add(struct tally_stats *s, enum tally_stat stat,
				  u64 n)
{
	if (s)
		atomic64_add(n, &s->count[stat]);
}

static inline void tally_stat_inc(struct tally_stats *s, enum tally_stat stat)
{
	tally_stat_add(s, stat, 1);
}

const char *tally_stat_name(enum tally_stat stat);
const char *tally_refusal_name(enum tally_refusal reason);

#endif
