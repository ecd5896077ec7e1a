// SPDX-License-Identifier: GPL-2.0
/*
 * The word is given back by compare-and-swap as well: verbs promise an order of
 * atomics among each other only, not of a Write and an atomic; and the old value
 * shows that no other actor got in.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include "spin.h"

#define SPIN_TIMEOUT	(10 * HZ)
/*
 * Microseconds: the first pause is at most one round trip, the longest one as
 * many as there may be contenders.
 */
#define PAUSE_MIN	8
#define PAUSE_MAX	128

static int word_give(struct raw *raw, enum raw_word word, u64 who)
{
	u64 old;
	int err;

	err = raw_word_cas(raw, word, who, 0, &old);
	if (err)
		return err;
	return old == who ? 0 : -EBADE;
}

/*
 * What runs on one processor is all contenders and their devices. Unless it
 * yields, one that looks in vain goes on doing so for a whole tick, together with
 * the worker of its queue pair, which makes every handoff one or two ticks long.
 */
void spin_rest(void)
{
	if (num_online_cpus() > 1)
		cond_resched();
	else
		yield();
}

int spin_take(struct raw *raw, u64 who)
{
	unsigned long end = jiffies + SPIN_TIMEOUT;
	u64 old;
	int err;

	do {
		err = raw_word_cas(raw, RAW_WORD_SPIN, 0, who, &old);
		if (err || !old)
			return err;
		spin_rest();
	} while (time_before(jiffies, end));
	return -ETIMEDOUT;
}

int spin_give(struct raw *raw, u64 who)
{
	return word_give(raw, RAW_WORD_SPIN, who);
}

/* A pause of any length up to @limit. */
static void spin_pause(u32 limit, u32 *seed)
{
	u32 us;

	*seed = *seed * 1664525 + 1013904223;
	us = 1 + (*seed >> 8) % limit;
	usleep_range(us, us + 1);
}

int backoff_take(struct raw *raw, u64 who, u32 *seed)
{
	unsigned long end = jiffies + SPIN_TIMEOUT;
	u32 limit = PAUSE_MIN;
	u64 old;
	int err;

	do {
		err = raw_word_cas(raw, RAW_WORD_BACKOFF, 0, who, &old);
		if (err || !old)
			return err;
		spin_pause(limit, seed);
		limit = min(2 * limit, PAUSE_MAX);
	} while (time_before(jiffies, end));
	return -ETIMEDOUT;
}

int backoff_give(struct raw *raw, u64 who)
{
	return word_give(raw, RAW_WORD_BACKOFF, who);
}
