// SPDX-License-Identifier: GPL-2.0
#include <linux/ktime.h>
#include "session/lease.h"
#include "session/node.h"

static u64 lease_ns(struct tally_session *s)
{
	return (u64)s->lease_ms * NSEC_PER_MSEC;
}

/* What a client may count from the moment it asked. */
static u64 lease_client(struct tally_session *s)
{
	u64 lease = lease_ns(s);

	return lease - div_u64(lease, TALLY_LEASE_RHO) -
	       div_u64(lease, TALLY_LEASE_MARGIN);
}

/* What the home must wait from the moment it was asked. */
static u64 lease_home(struct tally_session *s)
{
	return lease_ns(s) + div_u64(lease_ns(s), TALLY_LEASE_RHO);
}

/*
 * Renew every quarter of the lease; never sleep past a deadline. The two
 * deadlines end the session on their own side, the client's before the
 * home's.
 */
static void lease_tick(struct work_struct *work)
{
	struct tally_session *s = container_of(work, struct tally_session,
					       tick.work);
	u64 now = ktime_get_boottime_ns(), next, until;
	unsigned long flags;

	spin_lock_irqsave(&s->lock, flags);
	until = min(s->valid_until, s->reclaim_at);
	spin_unlock_irqrestore(&s->lock, flags);
	if (now >= until) {
		tally_stat_inc(&s->node->stats, TALLY_STAT_LEASE_LOST);
		tally_session_fence(s, -ENOTCONN);
		return;
	}
	tally_session_ping(s);
	next = min(lease_ns(s) / 4, until - now);
	queue_delayed_work(s->node->wq, &s->tick, nsecs_to_jiffies(next) + 1);
}

/**
 * tally_lease_init - prepare the lease of a new session
 * @s: the session
 */
void tally_lease_init(struct tally_session *s)
{
	INIT_DELAYED_WORK(&s->tick, lease_tick);
}

/**
 * tally_lease_start - a link begins
 * @s: the session
 * @since: our clock before the message that made the peer count was sent
 */
void tally_lease_start(struct tally_session *s, u64 since)
{
	unsigned long flags;

	spin_lock_irqsave(&s->lock, flags);
	s->valid_until = max(s->valid_until, since + lease_client(s));
	s->reclaim_at = max(s->reclaim_at,
			    ktime_get_boottime_ns() + lease_home(s));
	spin_unlock_irqrestore(&s->lock, flags);
	queue_delayed_work(s->node->wq, &s->tick,
			   nsecs_to_jiffies(lease_ns(s) / 4) + 1);
}

/**
 * tally_lease_kick - renew now
 * @s: session whose link is up
 */
void tally_lease_kick(struct tally_session *s)
{
	mod_delayed_work(s->node->wq, &s->tick, 0);
}

/**
 * tally_lease_stop - no more renewals; waits for one under way
 * @s: session, OVER
 */
void tally_lease_stop(struct tally_session *s)
{
	cancel_delayed_work_sync(&s->tick);
}

/**
 * tally_lease_extend - the peer asked for a renewal
 * @s: the session
 */
void tally_lease_extend(struct tally_session *s)
{
	unsigned long flags;

	spin_lock_irqsave(&s->lock, flags);
	s->reclaim_at = max(s->reclaim_at,
			    ktime_get_boottime_ns() + lease_home(s));
	spin_unlock_irqrestore(&s->lock, flags);
}

/**
 * tally_lease_renewed - the peer answered a renewal
 * @s: the session
 * @stamp: our clock when we asked, as it came back
 *
 * Return: 0; -EPROTO for a time that has not been yet.
 */
int tally_lease_renewed(struct tally_session *s, u64 stamp)
{
	unsigned long flags;

	if (stamp > ktime_get_boottime_ns())
		return -EPROTO;
	spin_lock_irqsave(&s->lock, flags);
	s->valid_until = max(s->valid_until, stamp + lease_client(s));
	spin_unlock_irqrestore(&s->lock, flags);
	return 0;
}

/**
 * tally_lease_release - the peer left in good order
 * @s: the session
 */
void tally_lease_release(struct tally_session *s)
{
	unsigned long flags;

	spin_lock_irqsave(&s->lock, flags);
	s->reclaim_at = ktime_get_boottime_ns();
	spin_unlock_irqrestore(&s->lock, flags);
}

/**
 * tally_session_lease_valid - may we still act on what its home gave us?
 * @s: the session
 * @now: CLOCK_BOOTTIME, ns
 *
 * Context: any.
 * Return: true while the lease runs and the session is not OVER.
 */
bool tally_session_lease_valid(struct tally_session *s, u64 now)
{
	return READ_ONCE(s->state) != TALLY_SESSION_OVER &&
	       now < READ_ONCE(s->valid_until);
}

/**
 * tally_session_lease_left - how long the lease still runs
 * @s: the session
 *
 * Return: milliseconds, 0 when it is over.
 */
u64 tally_session_lease_left(struct tally_session *s)
{
	u64 now = ktime_get_boottime_ns(), until = READ_ONCE(s->valid_until);

	if (READ_ONCE(s->state) == TALLY_SESSION_OVER || now >= until)
		return 0;
	return div_u64(until - now, NSEC_PER_MSEC);
}
