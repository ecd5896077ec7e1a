/* SPDX-License-Identifier: GPL-2.0 */
/* Layout of the messages about counters: see base/wire.h. */
#ifndef TALLY_COUNTER_WIRE_H
#define TALLY_COUNTER_WIRE_H

#include "object/wire.h"

/**
 * struct tally_msg_counter - one operation on a counter, done by the home
 * @object: the counter
 * @op: TALLY_COUNTER_* (uapi)
 * @reserved: zero
 * @value: addend, value to set, or value to swap in
 * @compare: value expected by a compare and swap
 */
struct tally_msg_counter {
	struct tally_wire_object object;
	u8	op;
	u8	reserved[7];
	__be64	value;
	__be64	compare;
} __packed;

struct tally_rep_counter {
	__be64	old;
} __packed;

#endif
