// SPDX-License-Identifier: GPL-2.0
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>
#include "session/lease_math.h"

static u64 lease_ns(u32 ms)
{
	return (u64)ms * NSEC_PER_MSEC;
}

/* How long after one renewal the next one is asked for. */
u64 tally_lease_renew(u32 ms)
{
	return lease_ns(ms) / 4;
}

/*
 * What a client gives away at the end: the lateness of its timer, which is a tick
 * where timers are no better, and of the task that tells the holders. @tick: ns.
 */
u64 tally_lease_slack(u32 ms, u32 tick)
{
	return div_u64(lease_ns(ms), TALLY_LEASE_MARGIN) +
	       (u64)TALLY_LEASE_TICKS * tick;
}

/* A client that asked at @asked and was answered acts before this time. */
u64 tally_lease_until(u64 asked, u32 ms, u32 tick)
{
	return asked + lease_ns(ms) - div_u64(lease_ns(ms), TALLY_LEASE_RHO) -
	       tally_lease_slack(ms, tick);
}

/*
 * The same as an answer that came @now; @until: what was so far, 0 where this is
 * the first. Return: false when it had passed: what has ended is not renewed, as
 * somebody may have acted on it.
 */
bool tally_lease_renews(u64 *until, u64 asked, u64 now, u32 ms, u32 tick)
{
	if (*until && now >= *until)
		return false;
	*until = max(*until, tally_lease_until(asked, ms, tick));
	return true;
}

/* A home that was asked at @heard takes nothing back before this time. */
u64 tally_lease_reclaim(u64 heard, u32 ms)
{
	return heard + lease_ns(ms) + div_u64(lease_ns(ms), TALLY_LEASE_RHO);
}

/*
 * Is so much left that a clock which only ticks may be asked? @coarse: what it
 * says; it is behind, but by less than a quarter of any lease.
 */
bool tally_lease_far(u64 until, u64 coarse, u32 ms)
{
	return coarse + lease_ns(ms) / 4 < until;
}
