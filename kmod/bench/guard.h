/* SPDX-License-Identifier: GPL-2.0 */
/* A guard: what a lock protects, which shows whether it does. */
#ifndef TALLY_BENCH_GUARD_H
#define TALLY_BENCH_GUARD_H

#include <linux/types.h>

/**
 * struct guard - a plain variable, and who passed
 * @value: one more for each pass; comes out too small if two pass at once
 * @token: of the last pass that had one
 * @who: passed last
 * @run: so often in a row
 * @longest: longest such run
 * @changes: passes by somebody else than the one before
 * @yields: rest in the middle of a pass, so that all others try to get in
 */
struct guard {
	u64 value;
	u64 token;
	u32 who;
	u32 run;
	u32 longest;
	u64 changes;
	bool yields;
};

/* Called by who has the lock; all are told apart by @who. */
void guard_pass(struct guard *guard, u32 who);
/* The same with a fencing token. -EBADE: it is not above the one before. */
int guard_pass_token(struct guard *guard, u32 who, u64 token);

#endif
