// SPDX-License-Identifier: GPL-2.0
/*
 * What sessions mean to locks, on both sides: links that break and come back,
 * snapshots, leases, ends.
 */
#include "base/trace.h"
#include "lock/client.h"
#include "lock/home.h"
#include "lock/type.h"
#include "lock/recover.h"
#include "session/session.h"

typedef void (*home_fn)(struct tally_lock_home *h, struct tally_session *s);

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
	struct tally_lock_client *c = handle->lock;

	/* One that was made during this walk is up already. */
	if (!lock_in_session(c, ctx, true))
		return;
	tally_lock_signal(c, TALLY_LOCK_UP);
	tally_lock_send_flush(c);
}

static void lock_link_down(struct tally_handle *handle, void *ctx)
{
	if (!lock_in_session(handle->lock, ctx, false))
		return;
	tally_lock_signal(handle->lock, TALLY_LOCK_DOWN);
	/* What it has taken from the outbox must not go out on the next link. */
	tally_lock_send_flush(handle->lock);
}

static void lock_session_lost(struct tally_handle *handle, void *ctx)
{
	if (lock_in_session(handle->lock, ctx, false))
		tally_lock_signal(handle->lock, TALLY_LOCK_LOST);
}

/* What was handed over through this link may not have arrived. */
static void lock_handed_bad(struct tally_handle *handle, void *ctx)
{
	struct tally_lock_client *c = handle->lock;
	struct tally_session *s = ctx;
	unsigned long flags;

	spin_lock_irqsave(&c->lock, flags);
	if (c->handed && c->handed_to == s->id)
		c->pending |= TALLY_LOCK_HANDED_BAD;
	tally_lock_run_unlock(c, flags);
}

/* Every lock of our arenas that is not deleted; @class < 0: of any class. */
static void homes_each(struct tally_session *s, int class, home_fn fn)
{
	struct tally_object *object;
	struct tally_arena *arena;
	u32 id = 0, after;

	while ((arena = tally_arena_next(s->node, id))) {
		id = arena->id;
		after = 0;
		while ((object = tally_object_next(arena, after))) {
			after = object->id;
			if (object->config.type == &tally_lock_type &&
			    (class < 0 || tally_lock_home(object)->class == class)) {
				mutex_lock(&tally_lock_home(object)->lock);
				fn(tally_lock_home(object), s);
				mutex_unlock(&tally_lock_home(object)->lock);
			}
			tally_object_put(object);
		}
		tally_arena_put(arena);
	}
}

static void home_link_down(struct tally_lock_home *h, struct tally_session *s)
{
	struct home_node *hn = tally_lock_home_node(h, s->peer_slot);
	struct tally_lh_event ev = { .kind = TALLY_LHE_LINK_DOWN };

	if (!hn)
		return;
	ev.node = &hn->n;
	tally_lock_home_step(h, &ev);
}

/*
 * Locks of class external wait for the lease the dead holder may count on.
 * When our node stops they are deleted, not granted on.
 */
static void homes_end_external(struct work_struct *work)
{
	struct tally_session *s = container_of(work, struct tally_session,
					       later.work);
	u64 now = ktime_get_boottime_ns();
	unsigned long wait;

	if (tally_node_running(s->node) && now < s->reclaim_at) {
		wait = nsecs_to_jiffies(s->reclaim_at - now) + 1;
		queue_delayed_work(s->node->wq, &s->later,
				   min(wait, (unsigned long)HZ / 10));
		return;
	}
	if (tally_node_running(s->node))
		homes_each(s, TALLY_CLASS_EXTERNAL, tally_lock_home_session_end);
	tally_session_put(s);
}

/**
 * tally_locks_session_created - a new session
 * @s: the session
 */
void tally_locks_session_created(struct tally_session *s)
{
	INIT_DELAYED_WORK(&s->later, homes_end_external);
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
	tally_views_each(s, TALLY_TYPE_LOCK, lock_link_up, s);
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
	s->resyncing = false;
	homes_each(s, -1, tally_lock_home_resync_end);
	return 0;
}

/**
 * tally_locks_session_down - the link broke; its QPs are destroyed
 * @s: the session
 */
void tally_locks_session_down(struct tally_session *s)
{
	tally_views_all(s->node, TALLY_TYPE_LOCK, lock_handed_bad, s);
	tally_views_each(s, TALLY_TYPE_LOCK, lock_link_down, s);
	s->resyncing = true;
	homes_each(s, -1, home_link_down);
}

/**
 * tally_locks_session_lost - the session is over: holders must know
 * @s: the session
 */
void tally_locks_session_lost(struct tally_session *s)
{
	tally_views_each(s, TALLY_TYPE_LOCK, lock_session_lost, s);
}

/**
 * tally_locks_session_over - the session is fenced: its QPs are destroyed
 * @s: the session
 */
void tally_locks_session_over(struct tally_session *s)
{
	tally_locks_session_lost(s);
	homes_each(s, TALLY_CLASS_REGION, tally_lock_home_session_end);
	tally_session_get(s);
	queue_delayed_work(s->node->wq, &s->later, 0);
}
