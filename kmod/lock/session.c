// SPDX-License-Identifier: GPL-2.0
/*
 * What sessions bring to locks, on both sides: messages, links that break and
 * come back, snapshots, leases, ends; see struct tally_type_ops.
 */
#include <linux/slab.h>
#include "base/delay.h"
#include "base/trace.h"
#include "client/views.h"
#include "home/export.h"
#include "lock/client.h"
#include "lock/home.h"
#include "lock/session.h"
#include "lock/wire.h"
#include "object/type.h"
#include "session/session.h"

/* What locks keep of a session, on both sides. */
struct lock_session {
	struct tally_session *session;	/* referenced while later is queued */
	bool resyncing;	/* between a break and the end of the peer's snapshot */
	u8 ending;	/* TALLY_CLASS_* of locks that are told of its end */
	struct delayed_work later;	/* ends external locks, frees this */
};

static struct lock_session **lock_session(struct tally_session *s)
{
	return (struct lock_session **)
		tally_export_private(s, tally_type(TALLY_TYPE_LOCK));
}

/* What happened to a session, for those locks that stand in it. */
struct lock_telling {
	struct tally_session *session;
	u16 what;
};

static void lock_tell(struct tally_handle *handle, void *ctx)
{
	struct tally_lock_client *c = tally_lock_client(handle);
	const struct lock_telling *t = ctx;
	unsigned long flags;
	bool in;

	spin_lock_irqsave(&c->lock, flags);
	/* One that was made while its link came up is up already. */
	in = c->session == t->session &&
	     !(t->what == TALLY_LOCK_UP && c->lc.up);
	spin_unlock_irqrestore(&c->lock, flags);
	if (in)
		tally_lock_signal(c, t->what);
}

static void locks_tell(struct tally_session *s, u16 what)
{
	struct lock_telling t = { .session = s, .what = what };

	tally_views_each(s->node, s, TALLY_TYPE_LOCK, lock_tell, &t);
}

/* What was handed over through this link may not have arrived. */
static void lock_handed_bad(struct tally_handle *handle, void *ctx)
{
	struct tally_lock_client *c = tally_lock_client(handle);
	struct tally_session *s = ctx;
	unsigned long flags;

	spin_lock_irqsave(&c->lock, flags);
	if (c->handed && c->handed_to == s->id)
		c->pending |= TALLY_LOCK_HANDED_BAD;
	tally_lock_run_unlock(c, flags);
}

static void home_link_down(struct tally_open *open)
{
	tally_lock_home_event(open, TALLY_LHE_LINK_DOWN, NULL);
}

/* The session has ended: tell every lock of ours of the class that is next. */
static void home_end(struct tally_lock_home *h, void *ctx)
{
	struct lock_session *ls = ctx;

	if (h->class != ls->ending)
		return;
	guard(mutex)(&h->lock);
	tally_lock_home_session_end(h, ls->session);
}

/*
 * Locks of class external wait for the lease the dead holder may count on.
 * When our node stops they are deleted, not granted on.
 */
static void homes_end_external(struct work_struct *work)
{
	struct lock_session *ls = container_of(work, typeof(*ls), later.work);
	struct tally_session *s = ls->session;
	u64 now = ktime_get_boottime_ns();
	unsigned long wait;

	/* What never was LIVE could not attach to anything. */
	if (tally_node_running(s->node) && s->lived && now < s->reclaim_at) {
		wait = nsecs_to_jiffies(s->reclaim_at - now) + 1;
		queue_delayed_work(s->node->wq, &ls->later,
				   min(wait, (unsigned long)HZ / 10));
		return;
	}
	ls->ending = TALLY_CLASS_EXTERNAL;
	if (tally_node_running(s->node))
		tally_lock_homes_each(s->node, home_end, ls);
	kfree(ls);
	tally_session_put(s);
}

int tally_locks_session_created(struct tally_session *s)
{
	struct lock_session *ls = kzalloc(sizeof(*ls), GFP_KERNEL);

	if (!ls)
		return -ENOMEM;
	ls->session = s;
	INIT_DELAYED_WORK(&ls->later, homes_end_external);
	*lock_session(s) = ls;
	return 0;
}

/*
 * A session opens a lock of ours. One that is fenced, maybe because it closed the
 * lock while it held it, does not any more: its end takes one open from the lock.
 */
int tally_locks_open(struct tally_open *open)
{
	struct tally_lock_open *lo = tally_lock_open(open);
	struct tally_lock_home *h = tally_lock_home(open->object);
	struct tally_session *s = open->attach->session;
	bool resyncing = READ_ONCE((*lock_session(s))->resyncing);

	guard(mutex)(&h->lock);
	if (READ_ONCE(s->state) == TALLY_SESSION_OVER)
		return -ENOTCONN;
	/* It had the lock before its rights changed, which is still in the word. */
	if (tally_lh_sweeping(&h->lh, s->peer_slot))
		return -EAGAIN;
	tally_lh_node_init(&lo->n, s->peer_slot, s->id, !resyncing);
	hlist_add_head(&lo->list, &h->opens);
	return 0;
}

/* The link to a home is up; where it was before, we say what we have. */
void tally_locks_session_live(struct tally_session *s, bool resumed)
{
	if (!resumed)
		return;
	locks_tell(s, TALLY_LOCK_UP);
	tally_session_send(s, TALLY_MSG_RESYNC, NULL, 0);
}

/* The link broke; its QPs are destroyed. */
void tally_locks_session_down(struct tally_session *s)
{
	tally_views_each(s->node, NULL, TALLY_TYPE_LOCK, lock_handed_bad, s);
	locks_tell(s, TALLY_LOCK_DOWN);
	WRITE_ONCE((*lock_session(s))->resyncing, true);
	tally_export_each(s, tally_type(TALLY_TYPE_LOCK), home_link_down);
}

/* The session has ended: holders must know. */
void tally_locks_session_lost(struct tally_session *s)
{
	locks_tell(s, TALLY_LOCK_LOST);
}

/* The session is fenced: its QPs are destroyed. */
void tally_locks_session_over(struct tally_session *s)
{
	struct lock_session *ls = *lock_session(s);

	tally_locks_session_lost(s);
	ls->ending = TALLY_CLASS_REGION;
	tally_lock_homes_each(s->node, home_end, ls);
	*lock_session(s) = NULL;
	tally_session_get(s);
	queue_delayed_work(s->node->wq, &ls->later, 0);
}

/* The successor is told by a third node, which is home of nothing here. */
enum tally_aim tally_lock_aim(const void *body)
{
	const struct tally_msg_lock *lock = body;

	if (lock->type == TALLY_LM_HANDOVER)
		return TALLY_AIM_SESSION;
	return lock->type < TALLY_LM_GRANT ? TALLY_AIM_OPEN : TALLY_AIM_HANDLE;
}

/* A client says something about a lock of ours. */
int tally_lock_message(struct tally_open *open, u16 type, const void *body,
		       u32 len)
{
	struct tally_object *object = open->object;
	struct tally_lmsg msg;

	if (tally_lock_decode(body, &msg) ||
	    tally_open_access(open) != TALLY_ACCESS_RW)
		return -EPROTO;
	trace_tally_lock_message(false, object->arena->id, object->id, msg.type,
				 msg.gen);
	tally_lock_home_event(open, TALLY_LHE_MSG, &msg);
	return 0;
}

/* The home of a lock says something. */
int tally_lock_notice(struct tally_handle *handle, u16 type, const void *body,
		      u32 len)
{
	const struct tally_msg_lock *lock = body;
	struct tally_lmsg msg;

	if (tally_lock_decode(lock, &msg))
		return -EPROTO;
	tally_lock_client_message(handle, &msg, lock->next);
	return 0;
}

/*
 * It is only accused: its link may be what another home's locks go over, and the
 * home of this one may have told it nonsense to have it cut off.
 */
static void lock_forged(struct tally_session *from)
{
	tally_stat_inc(&from->node->stats, TALLY_STAT_MALFORMED);
	tally_node_event(from->node, "violation", from->name,
			 "a lock handed over that it does not have");
}

/*
 * Another client hands the lock over. Its message names our session with the
 * home, whose word it must have; that we wait, and for which generation, is for
 * the table to judge.
 */
static int lock_handover(struct tally_session *from,
			 const struct tally_msg_lock *lock)
{
	struct tally_session *home;
	struct tally_handle *handle;
	struct tally_lmsg msg;
	bool proven;

	if (tally_lock_decode(lock, &msg))
		return -EPROTO;
	tally_delay(HANDOVER);
	home = tally_session_find(from->node, msg.next_session);
	if (!home)
		return 0;	/* ended meanwhile */
	proven = msg.last == tally_lock_proof(&home->ticket, &lock->object,
					      msg.next_gen, msg.pass);
	handle = tally_views_by_id(home, &lock->object);
	tally_session_put(home);
	if (!proven)
		lock_forged(from);
	if (!proven || !handle) {
		tally_handle_put(handle);
		return 0;
	}
	if (handle->ops == tally_type(TALLY_TYPE_LOCK))
		tally_lock_client_message(handle, &msg, NULL);
	tally_handle_put(handle);
	return 0;
}

/* A lock is handed over to us, or a client has said all it has. */
int tally_lock_news(struct tally_session *s, u16 type, const void *body,
		    u32 len)
{
	struct lock_session *ls = *lock_session(s);

	if (type != TALLY_MSG_RESYNC)
		return lock_handover(s, body);
	/* Each walks all that it has open, so it counts once a link. */
	if (!READ_ONCE(ls->resyncing))
		return 0;
	WRITE_ONCE(ls->resyncing, false);
	tally_export_each(s, tally_type(TALLY_TYPE_LOCK),
			  tally_lock_home_resync_end);
	return 0;
}
