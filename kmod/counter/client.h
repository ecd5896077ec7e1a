/* SPDX-License-Identifier: GPL-2.0 */
/* Plain counters: one 64-bit word, four operations, three outcomes. */
#ifndef TALLY_COUNTER_CLIENT_H
#define TALLY_COUNTER_CLIENT_H

#include "client/handle.h"

int tally_counter_do(struct tally_handle *handle, u8 op, u64 value,
		     u64 compare, u64 *old, long timeout);
void tally_counter_release(struct tally_handle *handle);

#endif
