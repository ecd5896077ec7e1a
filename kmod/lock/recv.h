/* SPDX-License-Identifier: GPL-2.0 */
/* Lock messages that come. */
#ifndef TALLY_LOCK_RECV_H
#define TALLY_LOCK_RECV_H

#include <linux/types.h>

struct tally_session;

int tally_locks_message(struct tally_session *s, u16 type, const void *body,
			u32 len);

#endif
