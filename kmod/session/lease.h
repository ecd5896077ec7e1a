/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The lease of a session, both ways, on CLOCK_BOOTTIME: session/lease_math.h has
 * both deadlines. The first that is reached ends the session on this side. Whoever
 * sees that, the timer or one that is about to act, ends it for everybody: it is
 * not renewed after that.
 */
#ifndef TALLY_LEASE_H
#define TALLY_LEASE_H

#include "session/session.h"

void tally_lease_init(struct tally_session *s);
void tally_lease_start(struct tally_session *s, u64 since, bool acked);
void tally_lease_stop(struct tally_session *s);
void tally_lease_ping(struct tally_session *s);
void tally_lease_extend(struct tally_session *s);
int tally_lease_renewed(struct tally_session *s, u64 stamp);
void tally_lease_release(struct tally_session *s);
bool tally_session_lease_valid(struct tally_session *s, u64 now);
u64 tally_session_now(struct tally_session *s);
u64 tally_session_lease_left(struct tally_session *s);

#endif
