/* SPDX-License-Identifier: GPL-2.0 */
/* Between session/session.c, which owns the state, and session/link.c. */
#ifndef TALLY_LINK_H
#define TALLY_LINK_H

#include "session/session.h"

/* The one place where the state changes; with s->lock. */
bool tally_session_set_state(struct tally_session *s,
			     enum tally_session_state state, int err);
/* Queue a work of the session; it holds a reference until it has run. */
void tally_session_queue(struct tally_session *s, struct work_struct *work);
/* The link is no good any more. Any context. */
void tally_session_break(struct tally_session *s, int err);
/* @opening: also while the lanes are being connected. */
int tally_session_transmit(struct tally_session *s, bool opening, u16 type,
			   const void *body, u32 len, const void *more,
			   u32 more_len);
/* All lanes are up: say so to the peer. */
void tally_link_lanes_work(struct work_struct *work);

#endif
