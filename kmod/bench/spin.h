/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What one would write without tally: a word that names the holder, taken
 * by compare-and-swap until that works, at once or after a pause that grows.
 */
#ifndef TALLY_BENCH_SPIN_H
#define TALLY_BENCH_SPIN_H

#include "raw.h"

/* Between two looks: on one processor, nothing happens before others run. */
void spin_rest(void);

/* @who is not 0. -ETIMEDOUT: its holder did not give it back. */
int spin_take(struct raw *raw, u64 who);
int spin_give(struct raw *raw, u64 who);
/* @seed: of the pauses; changes. */
int backoff_take(struct raw *raw, u64 who, u32 *seed);
int backoff_give(struct raw *raw, u64 who);

#endif
