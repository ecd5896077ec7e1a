/* SPDX-License-Identifier: GPL-2.0 */
/* Lock messages between host form (lock/msg.h) and wire form (base/wire.h). */
#ifndef TALLY_LOCK_WIRE_H
#define TALLY_LOCK_WIRE_H

#include "base/wire.h"
#include "lock/msg.h"

void tally_lock_encode(struct tally_msg_lock *body, u32 arena, u32 object,
		       u32 generation, const struct tally_lmsg *msg);
int tally_lock_decode(const struct tally_msg_lock *body,
		      struct tally_lmsg *msg);

#endif
