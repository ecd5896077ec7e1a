/* SPDX-License-Identifier: GPL-2.0 */
/* Counters at their home: one 64-bit word each. */
#ifndef TALLY_COUNTER_HOME_H
#define TALLY_COUNTER_HOME_H

#include "home/object.h"

/**
 * struct tally_counter_home - a counter of ours
 * @object: what all objects have
 * @initial: the value it began with
 */
struct tally_counter_home {
	struct tally_object object;
	u64 initial;
};

static inline struct tally_counter_home *
tally_counter_home(struct tally_object *object)
{
	return container_of(object, struct tally_counter_home, object);
}

int tally_counter_create(struct tally_object *object, const char **reason);
u64 tally_counter_apply(struct tally_object *object, u8 op, u64 value,
			u64 compare);
void tally_counter_request(struct tally_open *open, struct tally_sreq *req);
u64 tally_counter_peek(struct tally_object *object);

#endif
