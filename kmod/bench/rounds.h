/* SPDX-License-Identifier: GPL-2.0 */
/* Rounds: baseline and subject measured by turns, and what comes out. */
#ifndef TALLY_BENCH_ROUNDS_H
#define TALLY_BENCH_ROUNDS_H

#include "stage.h"

#define ROUNDS_MIN	9
#define ROUNDS_MAX	99

/**
 * struct rounds_side - what came out of one side
 * @value: median of the rounds' medians: picoseconds of a transfer or call
 * @p50: nanoseconds of a call, over all calls; 0 for throughput
 * @p99: the same
 * @p999: the same
 * @rate: calls in a second
 * @calls: calls made
 * @changes: those with a lock that another one had before
 * @posts: work requests on common words (baseline)
 */
struct rounds_side {
	u64 value;
	u64 p50;
	u64 p99;
	u64 p999;
	u64 rate;
	u64 calls;
	u64 changes;
	u64 posts;
};

/**
 * struct rounds_result - what came out
 * @wait: how the baseline waits: the best way
 * @waits: picoseconds of the baseline with each way, from few calls
 * @base: the baseline
 * @subject: the subject, zero where there is none
 * @ratio: median of the rounds' ratios in millionths: time of the subject in
 *	times of the baseline
 * @low: a quarter of the rounds' ratios is not above this
 * @high: three quarters are not above this
 */
struct rounds_result {
	enum raw_wait wait;
	u64 waits[RAW_WAITS];
	struct rounds_side base;
	struct rounds_side subject;
	u64 ratio;
	u64 low;
	u64 high;
};

/*
 * -EBADE: what a lock protects does not come out right.
 * @progress is called with the number of each round.
 */
int rounds_run(struct stage *stage, const struct figure *figure,
	       struct actor *actors, u32 rounds, u32 calls,
	       void (*progress)(u32 round), struct rounds_result *result);

#endif
