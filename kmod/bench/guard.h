/* SPDX-License-Identifier: GPL-2.0 */
/* A guard: what a lock protects, which shows whether it does. */
#ifndef TALLY_BENCH_GUARD_H
#define TALLY_BENCH_GUARD_H

#include <linux/compiler.h>
#include <linux/types.h>

/* The highest one that can pass. */
#define GUARD_MAX	16

/* In the middle of a pass. */
enum guard_rest {
	GUARD_NONE,
	GUARD_YIELD,	/* on one processor, all others run until they wait */
	GUARD_SLEEP,	/* the same, and for longer than a try takes */
};

/**
 * struct guard - a plain variable, and the actors that passed
 * @value: one more for each pass; comes out too small if two pass at once
 * @token: of the last pass that had one
 * @who: the actor that passed last
 * @run: so often in a row, in the window
 * @longest: longest such run
 * @width: passes in the window, 0 for none
 * @warm: passes before it
 * @open: the window begins when so many have passed
 * @close: and ends then
 * @grants: passes in the window, by actor
 * @changes: passes by another actor than the one before
 * @rest: so that all others try to get in
 */
struct guard {
	u64 value;
	u64 token;
	u32 who;
	u32 run;
	u32 longest;
	u64 width;
	u64 warm;
	u64 open;
	u64 close;
	u64 grants[GUARD_MAX + 1];
	u64 changes;
	enum guard_rest rest;
};

static inline bool guard_is_open(const struct guard *guard)
{
	u64 value = READ_ONCE(guard->value);

	return value >= guard->open && value < guard->close;
}

/* From now on all want to pass. */
void guard_begin(struct guard *guard);
/* Called by the holder of the lock; @who tells actors apart. */
void guard_pass(struct guard *guard, u32 who);
/* The same with a fencing token. -EBADE: it is not above the one before. */
int guard_pass_token(struct guard *guard, u32 who, u64 token);

#endif
