// SPDX-License-Identifier: GPL-2.0
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include "base/trace.h"
#include "compat/timer_compat.h"
#include "session/lease.h"
#include "session/lease_math.h"

/* The lease has ended; any context that may take spinlocks. */
static void lease_ended(struct tally_session *s)
{
	if (!tally_session_fence(s, -ETIME))
		return;
	trace_tally_lease_expired(s->id, min(s->valid_until, s->reclaim_at));
	tally_stat_inc(&s->node->stats, TALLY_STAT_LEASE_LOST);
}

/* We asked at @since and were answered: we may act for some time after it. */
static void lease_client(struct tally_session *s, u64 since)
{
	unsigned long flags;
	u64 until;
	bool runs;

	spin_lock_irqsave(&s->lock, flags);
	until = s->valid_until;
	runs = tally_lease_renews(&until, since, ktime_get_boottime_ns(),
				  s->lease_ms, TICK_NSEC);
	WRITE_ONCE(s->valid_until, until);
	trace_tally_lease_client(s->id, until);
	spin_unlock_irqrestore(&s->lock, flags);
	if (!runs)
		lease_ended(s);
}

/*
 * The peer asked for a renewal: we wait that long before we take anything back.
 */
void tally_lease_extend(struct tally_session *s)
{
	unsigned long flags;

	spin_lock_irqsave(&s->lock, flags);
	s->reclaim_at = max(s->reclaim_at,
			    tally_lease_reclaim(ktime_get_boottime_ns(),
						s->lease_ms));
	trace_tally_lease_home(s->id, s->reclaim_at);
	spin_unlock_irqrestore(&s->lock, flags);
}

/*
 * A deadline was there when this was set; it may have been put off meanwhile. The
 * clock goes on while the machine sleeps: what ended meanwhile ends as it wakes.
 */
static enum hrtimer_restart lease_expires(struct hrtimer *timer)
{
	struct tally_session *s = container_of(timer, typeof(*s), expiry);
	unsigned long flags;
	u64 deadline;

	spin_lock_irqsave(&s->lock, flags);
	deadline = min(s->valid_until, s->reclaim_at);
	spin_unlock_irqrestore(&s->lock, flags);
	if (READ_ONCE(s->state) == TALLY_SESSION_OVER)
		return HRTIMER_NORESTART;
	/* A link that begins may set it beside us. */
	if (ktime_get_boottime_ns() < deadline)
		hrtimer_start(timer, ns_to_ktime(deadline), HRTIMER_MODE_ABS);
	else
		lease_ended(s);
	return HRTIMER_NORESTART;
}

static void lease_tick_after(struct tally_session *s)
{
	queue_delayed_work(s->node->wq, &s->tick,
			   nsecs_to_jiffies(tally_lease_renew(s->lease_ms)) + 1);
}

static void lease_tick(struct work_struct *work)
{
	struct tally_session *s = container_of(work, typeof(*s), tick.work);

	tally_lease_ping(s);
	lease_tick_after(s);
}

/* Of a new session. */
void tally_lease_init(struct tally_session *s)
{
	INIT_DELAYED_WORK(&s->tick, lease_tick);
	tally_compat_hrtimer(&s->expiry, lease_expires, CLOCK_BOOTTIME,
			     HRTIMER_MODE_ABS);
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
	/* At once if it has ended; else it looks for the deadlines there are. */
	hrtimer_start(&s->expiry, ns_to_ktime(READ_ONCE(s->valid_until)),
		      HRTIMER_MODE_ABS);
	lease_tick_after(s);
}

/* The session is OVER: there will be no more links. */
void tally_lease_stop(struct tally_session *s)
{
	cancel_delayed_work_sync(&s->tick);
	hrtimer_cancel(&s->expiry);
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
 * context that may take spinlocks. Return: true while the lease runs, and the
 * session is neither OVER nor being left.
 */
bool tally_session_lease_valid(struct tally_session *s, u64 now)
{
	u64 until = READ_ONCE(s->valid_until);

	if (READ_ONCE(s->state) == TALLY_SESSION_OVER || READ_ONCE(s->leaving))
		return false;
	if (until && now >= until)
		lease_ended(s);
	return now < until;
}

/*
 * The time, for what the home answered a round trip ago: the fine clock is read
 * only when a tick that came late could make a difference. Any context.
 */
u64 tally_session_now(struct tally_session *s)
{
	u64 now = ktime_get_coarse_boottime_ns();

	return tally_lease_far(READ_ONCE(s->valid_until), now, s->lease_ms) ?
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
