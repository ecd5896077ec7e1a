// SPDX-License-Identifier: GPL-2.0
/* Locks and the other nodes: messages that come, and what sessions mean. */
#include "lock/client.h"
#include "lock/wire.h"
#include "session/peer.h"
#include "session/session.h"
#include "base/trace.h"

static bool lock_pending_taken(struct tally_lock_client *c, u8 what)
{
	unsigned long flags;
	bool taken;

	spin_lock_irqsave(&c->lock, flags);
	taken = !(c->pending & what);
	spin_unlock_irqrestore(&c->lock, flags);
	return taken;
}

/* Note it and see it taken; whoever runs does so without sleeping. */
void tally_lock_signal(struct tally_lock_client *c, u8 what)
{
	unsigned long flags;

	spin_lock_irqsave(&c->lock, flags);
	c->pending |= what;
	tally_lock_run_unlock(c, flags);
	wait_event(c->idle, lock_pending_taken(c, what));
}

struct tally_session *tally_lock_session(struct tally_lock_client *c)
{
	struct tally_session *s;
	unsigned long flags;

	spin_lock_irqsave(&c->lock, flags);
	s = c->session ? tally_session_get(c->session) : NULL;
	spin_unlock_irqrestore(&c->lock, flags);
	return s;
}

/**
 * tally_lock_client_error - the lock cannot be used (any more)
 * @handle: its handle
 * @err: what its users get
 *
 * Context: process. On return every user has been told.
 */
void tally_lock_client_error(struct tally_handle *handle, int err)
{
	struct tally_lock_client *c = handle->lock;
	unsigned long flags;

	spin_lock_irqsave(&c->lock, flags);
	c->error = err;
	spin_unlock_irqrestore(&c->lock, flags);
	tally_lock_signal(c, TALLY_LOCK_LOST);
}

/*
 * The way to a node that we could hand the lock over to. It ends with the link
 * there is now: what does not arrive is told to the home.
 */
static void lock_way_to(struct tally_node *node, const char *name,
			struct lock_way *way)
{
	struct tally_session *s;
	struct tally_peer *peer;

	peer = tally_peer_find(node, name);
	if (!peer)
		return;
	s = tally_peer_session(peer);
	tally_peer_put(peer);
	if (!s)
		return;
	way->conn = tally_session_ctrl(s, TALLY_MSG_LOCK, &way->head);
	tally_session_put(s);
}

/**
 * tally_lock_client_message - the home, or another client, says something
 * @handle: the lock
 * @msg: what
 * @next: SUCC: name of the successor, or NULL
 *
 * Context: process.
 */
void tally_lock_client_message(struct tally_handle *handle,
			       const struct tally_lmsg *msg, const char *next)
{
	struct tally_lock_client *c = handle->lock;
	struct lock_in *in = kzalloc(sizeof(*in), GFP_KERNEL | __GFP_NOFAIL);
	unsigned long flags;

	trace_tally_lock_message(false, handle->view->remote_id, handle->id,
				 msg->type, msg->gen ?: msg->next_gen);
	in->msg = *msg;
	if (next && next[0] && !handle->object)
		lock_way_to(handle->view->node, next, &in->next);
	spin_lock_irqsave(&c->lock, flags);
	list_add_tail(&in->list, &c->inbox);
	tally_lock_run_unlock(c, flags);
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

/**
 * tally_locks_session_down - the link broke; its QPs are destroyed
 * @s: the session
 */
void tally_locks_session_down(struct tally_session *s)
{
	tally_views_all(s->node, TALLY_TYPE_LOCK, lock_handed_bad, s);
	tally_views_each(s, TALLY_TYPE_LOCK, lock_link_down, s);
	tally_lock_homes_down(s);
}

/**
 * tally_locks_session_lost - the session is over: whoever holds must know
 * @s: the session
 */
void tally_locks_session_lost(struct tally_session *s)
{
	tally_views_each(s, TALLY_TYPE_LOCK, lock_session_lost, s);
}

/**
 * tally_locks_session_leave - we are about to say goodbye
 * @s: the session
 */
void tally_locks_session_leave(struct tally_session *s)
{
	tally_locks_session_lost(s);
}

/**
 * tally_locks_session_over - the session is fenced
 * @s: the session
 */
void tally_locks_session_over(struct tally_session *s)
{
	tally_locks_session_lost(s);
	tally_lock_homes_over(s);
}

/*
 * Another client hands the lock over. Its message names our session with the
 * home; that we wait, and for which generation, is for the table to judge.
 */
static int lock_handover(struct tally_session *from, u32 arena, u32 id, u32 gen,
			 const struct tally_lmsg *msg)
{
	struct tally_session *home;
	struct tally_handle *handle;

	home = tally_session_find(from->node, msg->next_session);
	if (!home)
		return 0;	/* over meanwhile */
	handle = tally_views_by_id(home, arena, id, gen);
	tally_session_put(home);
	if (!handle)
		return 0;
	if (handle->type == TALLY_TYPE_LOCK)
		tally_lock_client_message(handle, msg, NULL);
	tally_handle_put(handle);
	return 0;
}

static int lock_from_client(struct tally_session *s, u32 arena, u32 id, u32 gen,
			    const struct tally_lmsg *msg)
{
	struct tally_object *object;
	int err;

	object = tally_object_by_id(s->node, arena, id, gen);
	if (!object)
		return 0;	/* deleted meanwhile */
	err = tally_lock_home_message(s, object, msg);
	tally_object_put(object);
	return err;
}

static int lock_from_home(struct tally_session *s, u32 arena, u32 id, u32 gen,
			  const struct tally_lmsg *msg, const char *next)
{
	struct tally_handle *handle = tally_views_by_id(s, arena, id, gen);
	int err = 0;

	if (!handle)
		return 0;
	if (handle->type == TALLY_TYPE_LOCK)
		tally_lock_client_message(handle, msg, next);
	else
		err = -EPROTO;
	tally_handle_put(handle);
	return err;
}

/**
 * tally_locks_message - a lock message came
 * @s: from whom
 * @type: TALLY_MSG_LOCK or TALLY_MSG_RESYNC
 * @body: its body
 * @len: length of the body
 *
 * Return: 0; -EPROTO when the peer broke the protocol; -ENOMEM.
 */
int tally_locks_message(struct tally_session *s, u16 type, const void *body,
			u32 len)
{
	const struct tally_msg_lock *lock = body;
	struct tally_lmsg msg;
	u32 arena, id, gen;

	if (type == TALLY_MSG_RESYNC) {
		if (len)
			return -EPROTO;
		tally_lock_homes_resync_end(s);
		return 0;
	}
	if (tally_lock_decode(lock, len, &arena, &id, &gen, &msg))
		return -EPROTO;
	if (msg.type == TALLY_LM_HANDOVER)
		return lock_handover(s, arena, id, gen, &msg);
	if (msg.type < TALLY_LM_GRANT)
		return lock_from_client(s, arena, id, gen, &msg);
	return lock_from_home(s, arena, id, gen, &msg, lock->next);
}
