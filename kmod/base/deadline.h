/* SPDX-License-Identifier: GPL-2.0 */
/* One deadline for a call that waits several times. */
#ifndef TALLY_UNTIL_H
#define TALLY_UNTIL_H

#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/sched.h>

/**
 * struct tally_until - when a call gives up
 * @at: in jiffies
 * @never: it does not
 */
struct tally_until {
	unsigned long at;
	bool never;
};

/* @timeout in jiffies, MAX_SCHEDULE_TIMEOUT for none. */
static inline struct tally_until tally_until(long timeout)
{
	return (struct tally_until) {
		.at = jiffies + max(timeout, 0L),
		.never = timeout == MAX_SCHEDULE_TIMEOUT,
	};
}

/* Jiffies left, 0 when none are. */
static inline long tally_until_left(const struct tally_until *until)
{
	if (until->never)
		return MAX_SCHEDULE_TIMEOUT;
	return max((long)(until->at - jiffies), 0L);
}

#endif
