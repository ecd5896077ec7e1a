// SPDX-License-Identifier: GPL-2.0
#include <linux/delay.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include "guard.h"
#include "spin.h"

void guard_begin(struct guard *guard)
{
	u64 open = READ_ONCE(guard->value) + guard->warm;

	WRITE_ONCE(guard->open, open);
	WRITE_ONCE(guard->close, guard->width ? open + guard->width : 0);
}

static void guard_rest(enum guard_rest rest)
{
	if (rest == GUARD_SLEEP)
		usleep_range(100, 200);
	else if (rest == GUARD_YIELD)
		spin_rest();
}

void guard_pass(struct guard *guard, u32 who)
{
	u64 value = READ_ONCE(guard->value);

	guard_rest(READ_ONCE(guard->rest));
	if (guard->who != who)
		guard->changes++;
	if (guard_is_open(guard)) {
		guard->run = guard->who == who ? guard->run + 1 : 1;
		guard->longest = max(guard->longest, guard->run);
		guard->grants[who]++;
	}
	guard->who = who;
	WRITE_ONCE(guard->value, value + 1);
}

int guard_pass_token(struct guard *guard, u32 who, u64 token)
{
	u64 before = guard->token;

	guard_pass(guard, who);
	guard->token = token;
	return token > before ? 0 : -EBADE;
}
