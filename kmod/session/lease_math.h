/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The arithmetic of leases, without a clock: all times are ns of CLOCK_BOOTTIME
 * on the machine that asks, all leases L are ms. A client acts until the time
 * when it asked for the last renewal that was answered + L(1 - rho) - margin; a
 * home reclaims after the time when it was asked last + L(1 + rho). So the client
 * stops first, whatever the clocks' drift up to rho; and has been told that it did
 * if its timer is late by less than tally_lease_slack().
 */
#ifndef TALLY_LEASE_MATH_H
#define TALLY_LEASE_MATH_H

#include <linux/types.h>

#define TALLY_LEASE_RHO		500	/* drift: one part in so many */
#define TALLY_LEASE_MARGIN	64	/* margin: one part in so many */
#define TALLY_LEASE_TICKS	2	/* and so many ticks of the client */

u64 tally_lease_renew(u32 ms);
u64 tally_lease_slack(u32 ms, u32 tick);
u64 tally_lease_until(u64 asked, u32 ms, u32 tick);
bool tally_lease_renews(u64 *until, u64 asked, u64 now, u32 ms, u32 tick);
u64 tally_lease_reclaim(u64 heard, u32 ms);
bool tally_lease_far(u64 until, u64 coarse, u32 ms);

#endif
