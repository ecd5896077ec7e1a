/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters of what a node did. Work requests are counted where they are
 * posted, so that wire operations can be checked against the device's own.
 */
#ifndef TALLY_STATS_H
#define TALLY_STATS_H

#include <linux/atomic.h>
#include <linux/types.h>
#include "wire.h"

#define TALLY_STATS(X) \
	X(POST_FAA, "post_faa") \
	X(POST_CAS, "post_cas") \
	X(POST_READ, "post_read") \
	X(POST_WRITE, "post_write") \
	X(POST_SEND, "post_send") \
	X(POST_REG, "post_reg") \
	X(RECV, "recv") \
	X(OP_ERROR, "op_error") \
	X(UNKNOWN, "unknown_outcome") \
	X(LOCAL_OP, "local_op") \
	X(BYTES_READ, "bytes_read") \
	X(BYTES_WRITTEN, "bytes_written") \
	X(CONN_UP, "conn_up") \
	X(CONN_DOWN, "conn_down") \
	X(SESSION_NEW, "session_new") \
	X(SESSION_RESUMED, "session_resumed") \
	X(SESSION_FENCED, "session_fenced") \
	X(LEASE_LOST, "lease_lost") \
	X(RPC_SENT, "rpc_sent") \
	X(RPC_SERVED, "rpc_served") \
	X(RPC_REPLAYED, "rpc_replayed") \
	X(QUOTA, "quota_refused") \
	X(MALFORMED, "malformed") \
	X(FORGET, "forget_sent") \
	X(LOCK_FAST, "lock_fast") \
	X(LOCK_MANAGED, "lock_managed") \
	X(LOCK_MSG, "lock_message") \
	X(LOCK_LOST, "lock_lost")

enum tally_stat {
#define X(id, name) TALLY_STAT_##id,
	TALLY_STATS(X)
#undef X
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
