/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The lease of a session, both ways, on CLOCK_BOOTTIME. As a client we act
 * until the send time of the last renewal that was answered + L(1 - rho) -
 * margin; as home we reclaim after the receive time of the last renewal +
 * L(1 + rho). So the client always stops first, whatever the clocks' drift
 * up to rho.
 */
#ifndef TALLY_LEASE_H
#define TALLY_LEASE_H

#include "session/session.h"

#define TALLY_LEASE_RHO		500	/* drift: one part in so many */
#define TALLY_LEASE_MARGIN	64	/* margin: one part in so many */

void tally_lease_tick(struct work_struct *work);
void tally_lease_start(struct tally_session *s, u64 since, bool acked);
void tally_lease_ping(struct tally_session *s);
void tally_lease_extend(struct tally_session *s);
int tally_lease_renewed(struct tally_session *s, u64 stamp);
void tally_lease_release(struct tally_session *s);
bool tally_session_lease_valid(struct tally_session *s, u64 now);
u64 tally_session_now(struct tally_session *s);
u64 tally_session_lease_left(struct tally_session *s);

#endif
