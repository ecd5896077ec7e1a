// SPDX-License-Identifier: GPL-2.0
/*
 * What sessions mean to locks, on both sides: links that break and come back,
 * snapshots, leases, ends.
 */
#include <linux/slab.h>
#include "client/views.h"
#include "home/export.h"
#include "lock/client.h"
#include "lock/home.h"
#include "object/type.h"
#include "lock/recover.h"
#include "session/session.h"

/**
 * struct lock_session - what locks keep of a session, on both sides
 * @session: the session; referenced while @later is queued
 * @resyncing: between a break and the end of the peer's snapshot
 * @later: ends locks of class external after the lease, and frees this
 */
struct lock_session {
	struct tally_session *session;
	bool resyncing;
	struct delayed_work later;
};

static struct lock_session **lock_session(struct tally_session *s)
{
	return (struct lock_session **)
		tally_export_private(s, tally_type(TALLY_TYPE_LOCK));
}

static bool lock_in_session(struct tally_lock_client *c,
			    struct tally_session *s, bool down)
{
	unsigned long flags;
	bool in;

	spin_lock_irqsave(&c->lock, flags);
	in = c->session == s && !(down && c->lc.up);
	spin_unlock_irqrestore(&c->lock, flags);
	return in;
}

static void lock_link_up(struct tally_handle *handle, void *ctx)
{
	struct tally_lock_client *c = tally_lock_client(handle);

	/* One that was made during this walk is up already. */
	if (!lock_in_session(c, ctx, true))
		return;
	tally_lock_signal(c, TALLY_LOCK_UP);
	tally_lock_send_flush(c);
}

static void lock_link_down(struct tally_handle *handle, void *ctx)
{
	if (!lock_in_session(tally_lock_client(handle), ctx, false))
		return;
	tally_lock_signal(tally_lock_client(handle), TALLY_LOCK_DOWN);
	/* What it has taken from the outbox must not go out on the next link. */
	tally_lock_send_flush(tally_lock_client(handle));
}

static void lock_session_lost(struct tally_handle *handle, void *ctx)
{
	if (lock_in_session(tally_lock_client(handle), ctx, false))
		tally_lock_signal(tally_lock_client(handle), TALLY_LOCK_LOST);
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

/* The session has ended: tell every lock of ours of that class. */
static void homes_end(struct tally_session *s, u8 class)
{
	const struct tally_type_ops *type = tally_type(TALLY_TYPE_LOCK);
	struct tally_lock_home *h;
	struct tally_object *object;
	struct tally_arena *arena;
	u32 id = 0, after;

	while ((arena = tally_arena_next(s->node, id))) {
		id = arena->id;
		after = 0;
		while ((object = tally_object_next(arena, after))) {
			after = object->id;
			h = tally_lock_home(object);
			if (object->config.type == type &&
			    h->class == class) {
				mutex_lock(&h->lock);
				tally_lock_home_session_end(h, s);
				mutex_unlock(&h->lock);
			}
			tally_object_put(object);
		}
		tally_arena_put(arena);
		cond_resched();
	}
}

/*
 * Locks of class external wait for the lease the dead holder may count on.
 * When our node stops they are deleted, not granted on.
 */
static void homes_end_external(struct work_struct *work)
{
	struct lock_session *ls = container_of(work, struct lock_session,
					       later.work);
	struct tally_session *s = ls->session;
	u64 now = ktime_get_boottime_ns();
	unsigned long wait;

	if (tally_node_running(s->node) && now < s->reclaim_at) {
		wait = nsecs_to_jiffies(s->reclaim_at - now) + 1;
		queue_delayed_work(s->node->wq, &ls->later,
				   min(wait, (unsigned long)HZ / 10));
		return;
	}
	if (tally_node_running(s->node))
		homes_end(s, TALLY_CLASS_EXTERNAL);
	kfree(ls);
	tally_session_put(s);
}

/**
 * tally_locks_session_created - a new session
 * @s: the session
 *
 * Return: 0 or -ENOMEM.
 */
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

/**
 * tally_locks_open - a session opens a lock of ours
 * @open: new
 *
 * Return: 0.
 */
int tally_locks_open(struct tally_open *open)
{
	struct lock_session *ls = *lock_session(open->attach->session);

	return tally_lock_home_open(open, READ_ONCE(ls->resyncing));
}

/**
 * tally_locks_session_live - the link to a home is up
 * @s: session with it
 * @resumed: it was up before: say what we have
 */
void tally_locks_session_live(struct tally_session *s, bool resumed)
{
	if (!resumed)
		return;
	tally_views_each(s->node, s, TALLY_TYPE_LOCK, lock_link_up, s);
	tally_session_send(s, TALLY_MSG_RESYNC, NULL, 0);
}

/**
 * tally_locks_resync_end - a client has said all it has
 * @s: session with it
 *
 * Return: 0.
 */
int tally_locks_resync_end(struct tally_session *s)
{
	WRITE_ONCE((*lock_session(s))->resyncing, false);
	tally_export_each(s, tally_type(TALLY_TYPE_LOCK),
			  tally_lock_home_resync_end);
	return 0;
}

/**
 * tally_locks_session_down - the link broke; its QPs are destroyed
 * @s: the session
 */
void tally_locks_session_down(struct tally_session *s)
{
	tally_views_each(s->node, NULL, TALLY_TYPE_LOCK, lock_handed_bad, s);
	tally_views_each(s->node, s, TALLY_TYPE_LOCK, lock_link_down, s);
	WRITE_ONCE((*lock_session(s))->resyncing, true);
	tally_export_each(s, tally_type(TALLY_TYPE_LOCK),
			  tally_lock_home_link_down);
}

/**
 * tally_locks_session_lost - the session has ended: holders must know
 * @s: the session
 */
void tally_locks_session_lost(struct tally_session *s)
{
	tally_views_each(s->node, s, TALLY_TYPE_LOCK, lock_session_lost, s);
}

/**
 * tally_locks_session_over - the session is fenced: its QPs are destroyed
 * @s: the session
 */
void tally_locks_session_over(struct tally_session *s)
{
	struct lock_session *ls = *lock_session(s);

	tally_locks_session_lost(s);
	homes_end(s, TALLY_CLASS_REGION);
	*lock_session(s) = NULL;
	tally_session_get(s);
	queue_delayed_work(s->node->wq, &ls->later, 0);
}
