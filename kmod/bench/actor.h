/* SPDX-License-Identifier: GPL-2.0 */
/* An actor: one thread of control with what it calls upon. */
#ifndef TALLY_BENCH_ACTOR_H
#define TALLY_BENCH_ACTOR_H

#include <linux/tally.h>
#include "raw.h"

struct guard;
struct samples;

/**
 * struct actor - what one thread uses
 * @raw: for the baseline
 * @who: tells it from others, not 0
 * @seed: of random pauses
 * @guard: what a lock protects, the same for all
 * @samples: nanoseconds of each call while the guard's window is open; NULL: no
 *	matter
 * @counter: for the subject, as the next ones; NULL what is not used
 * @cpu: a counter of an arena in mode cpu
 * @lock: a lock
 * @cached: a lock that the node keeps
 * @cpu_lock: a lock of an arena in mode cpu
 * @region: a region
 * @size: bytes of a transfer
 * @count: transfers posted at once (baseline)
 * @block: source and sink of the subject's transfers
 */
struct actor {
	struct raw *raw;
	u32 who;
	u32 seed;
	struct guard *guard;
	struct samples *samples;
	struct tally_counter *counter;
	struct tally_counter *cpu;
	struct tally_lock *lock;
	struct tally_lock *cached;
	struct tally_lock *cpu_lock;
	struct tally_region *region;
	u32 size;
	u32 count;
	void *block;
};

/* One call of something. 0 or an errno. */
typedef int (*actor_call)(struct actor *a);

int actor_raw_faa(struct actor *a);
int actor_raw_cas(struct actor *a);
int actor_raw_cas_faa(struct actor *a);
int actor_raw_lock(struct actor *a);
int actor_raw_shared(struct actor *a);
int actor_raw_write8(struct actor *a);
int actor_raw_write(struct actor *a);
int actor_raw_read(struct actor *a);
int actor_raw_rw_write(struct actor *a);
int actor_raw_send(struct actor *a);
int actor_counter_add(struct actor *a);
int actor_cpu_add(struct actor *a);
int actor_lock_cold(struct actor *a);
int actor_lock_shared(struct actor *a);
int actor_lock_cached(struct actor *a);
int actor_lock_cpu(struct actor *a);
/* With others, something passed while it is held. */
int actor_lock_pass(struct actor *a);
int actor_spin_pass(struct actor *a);
int actor_backoff_pass(struct actor *a);
int actor_ticket_pass(struct actor *a);
int actor_region_write(struct actor *a);
int actor_region_read(struct actor *a);

/* @calls calls, each one's nanoseconds added to @samples (NULL: no matter). */
int actor_run(struct actor *a, actor_call call, u32 calls,
	      struct samples *samples);

#endif
