/* SPDX-License-Identifier: GPL-2.0 */
/* Plain counters: one 64-bit word, four operations, three outcomes. */
#ifndef TALLY_COUNTER_CLIENT_H
#define TALLY_COUNTER_CLIENT_H

#include "client/view.h"

/*
 * One operation on a counter, by whatever path its view has. @op is
 * TALLY_COUNTER_*; @old gets the value before it. Sleeps, killable; @timeout
 * in jiffies. SET is a compare-and-swap loop where the NIC owns the word (a
 * Write would not be ordered with atomics); each round is one operation.
 * Return: 0, or not done: an errno that says why; -EREMOTEIO: unknown.
 */
int tally_counter_do(struct tally_handle *handle, u8 op, u64 value,
		     u64 compare, u64 *old, long timeout);

#endif
