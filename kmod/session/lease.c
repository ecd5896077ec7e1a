// SPDX-License-Identifier: GPL-2.0
#include <linux/ktime.h>
#include "base/trace.h"
#include "session/lease.h"

static u64 lease_ns(struct tally_session *s)
{
	return (u64)s->lease_ms * NSEC_PER_MSEC;
}

/* We asked at @since and were answered: we may act for some time after it. */
static void lease_client(struct tally_session *s, u64 since)
{
	u64 lease = lease_ns(s);
	unsigned long flags;

	spin_lock_irqsave(&s->lock, flags);
	s->valid_until = max(s->valid_until, since + lease -
			     div_u64(lease, TALLY_LEASE_RHO) -
			     div_u64(lease, TALLY_LEASE_MARGIN));
	trace_tally_lease_client(s->id, s->valid_until);
	spin_unlock_irqrestore(&s->lock, flags);
}

/*
 * The peer asked for a renewal: we wait that long before we take anything back.
 */
void tally_lease_extend(struct tally_session *s)
{
	u64 lease = lease_ns(s);
	unsigned long flags;

	spin_lock_irqsave(&s->lock, flags);
	s->reclaim_at = max(s->reclaim_at, ktime_get_boottime_ns() + lease +
			    div_u64(lease, TALLY_LEASE_RHO));
	trace_tally_lease_home(s->id, s->reclaim_at);
	spin_unlock_irqrestore(&s->lock, flags);
}

/*
 * Renew every quarter of the lease; never sleep past a deadline. The two
 * deadlines end the session on their own side, the client's before the
 * home's.
 */
void tally_lease_tick(struct work_struct *work)
{
	struct tally_session *s = container_of(work, typeof(*s), tick.work);
	u64 now = ktime_get_boottime_ns(), next, deadline;
	unsigned long flags;

	spin_lock_irqsave(&s->lock, flags);
	deadline = min(s->valid_until, s->reclaim_at);
	spin_unlock_irqrestore(&s->lock, flags);
	if (now >= deadline) {
		trace_tally_lease_expired(s->id, deadline);
		tally_stat_inc(&s->node->stats, TALLY_STAT_LEASE_LOST);
		tally_session_fence(s, -ENOTCONN);
		return;
	}
	tally_lease_ping(s);
	next = min(lease_ns(s) / 4, deadline - now);
	queue_delayed_work(s->node->wq, &s->tick, nsecs_to_jiffies(next) + 1);
}

/*
 * A link begins. @since: our clock before the message that makes the peer count
 * was sent. @acked: it was answered; else tally_lease_renewed() will say so,
 * and until then only a session that never was LIVE counts from it, as it holds
 * nothing.
 */
void tally_lease_start(struct tally_session *s, u64 since, bool acked)
{
	s->asked_at = since;
	if (acked || !s->lived)
		lease_client(s, since);
	tally_lease_extend(s);
	queue_delayed_work(s->node->wq, &s->tick,
			   nsecs_to_jiffies(lease_ns(s) / 4) + 1);
}

/* Ask for a renewal now; a dead peer shows itself by a broken link. */
void tally_lease_ping(struct tally_session *s)
{
	struct tally_msg_renew renew = {
		.stamp = cpu_to_be64(ktime_get_boottime_ns()),
		.epoch = cpu_to_be64(s->peer_epoch),
	};

	tally_session_send(s, TALLY_MSG_RENEW, &renew, sizeof(renew));
}

/*
 * The peer answered what we asked at @stamp, our clock, as it came back.
 * Return: 0, or -EPROTO for a time that has not been yet.
 */
int tally_lease_renewed(struct tally_session *s, u64 stamp)
{
	if (stamp > ktime_get_boottime_ns())
		return -EPROTO;
	lease_client(s, stamp);
	return 0;
}

/* The peer left in good order. */
void tally_lease_release(struct tally_session *s)
{
	unsigned long flags;

	spin_lock_irqsave(&s->lock, flags);
	s->reclaim_at = ktime_get_boottime_ns();
	trace_tally_lease_home(s->id, s->reclaim_at);
	spin_unlock_irqrestore(&s->lock, flags);
}

/*
 * May we still act on what its home gave us? @now: CLOCK_BOOTTIME, ns. Any
 * context. Return: true while the lease runs and the session is not OVER.
 */
bool tally_session_lease_valid(struct tally_session *s, u64 now)
{
	return READ_ONCE(s->state) != TALLY_SESSION_OVER &&
	       now < READ_ONCE(s->valid_until);
}

/*
 * The time, for what the home answered a round trip ago: the fine clock is read
 * only when a tick that came late could make a difference. Any context.
 */
u64 tally_session_now(struct tally_session *s)
{
	u64 now = ktime_get_coarse_boottime_ns();

	return now + lease_ns(s) / 4 < READ_ONCE(s->valid_until) ?
	       now : ktime_get_boottime_ns();
}

/* How long that is so, in milliseconds. */
u64 tally_session_lease_left(struct tally_session *s)
{
	u64 now = ktime_get_boottime_ns();

	if (!tally_session_lease_valid(s, now))
		return 0;
	return div_u64(READ_ONCE(s->valid_until) - now, NSEC_PER_MSEC);
}
