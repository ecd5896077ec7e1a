/* SPDX-License-Identifier: GPL-2.0 */
/* A window: how a lock serves those that want it all the time. */
#ifndef TALLY_BENCH_WINDOW_H
#define TALLY_BENCH_WINDOW_H

#include "figure.h"

/**
 * struct window_result - what was seen in several: times are those of the one with
 *	the middle p99 / p50, the last three those of the worst
 * @p50: nanoseconds from one release of an actor to its next one
 * @p99: the same
 * @p999: the same
 * @rate: grants in a second
 * @jain: Jain's index of what each got, in millionths
 * @slowest: grants of the actor that got the fewest
 * @longest: most grants in a row to the same
 */
struct window_result {
	u64 p50;
	u64 p99;
	u64 p999;
	u64 rate;
	u64 jain;
	u64 slowest;
	u64 longest;
};

/* -EBADE: what the lock protects does not come out right. */
int window_run(const struct figure *figure, struct actor *actors, u32 n,
	       struct window_result *result);

#endif
