/* SPDX-License-Identifier: GPL-2.0 */
/* Counters at their home: one 64-bit word each. */
#ifndef TALLY_COUNTER_HOME_H
#define TALLY_COUNTER_HOME_H

#include "home/arena.h"

/* One operation where the CPU owns the word: the value before it. */
u64 tally_counter_apply(struct tally_object *object, u8 op, u64 value,
			u64 compare);
/* The home's side of COUNTER requests; true when it was one. */
bool tally_counter_request(struct tally_session *s, struct tally_sreq *req);
/* Value at the home, for `show`: a CPU read of the word. */
u64 tally_counter_peek(struct tally_object *object);

#endif
