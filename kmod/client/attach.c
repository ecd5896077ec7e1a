// SPDX-License-Identifier: GPL-2.0
#include "client/attach.h"

#include "base/delay.h"
#include "base/trace.h"
#include "object/wire.h"
#include "session/peer.h"
#include "session/rpc.h"
#include "session/session.h"

#define VIEW_PAUSE	msecs_to_jiffies(20)	/* before asking again */

/**
 * tally_view_ask - a request that may be repeated
 * @s: session with the home
 * @type: enum tally_msg_type
 * @body: its body
 * @len: length of it
 * @reply: gets the reply
 * @reply_len: in: size of @reply, out: length of what came
 * @until: when to give up
 *
 * Attaching, opening, closing and listing change nothing that matters when it
 * is unknown whether they were done: unknown is "not done" here.
 *
 * Context: process, sleeps, killable.
 * Return: 0 or a negative errno, never -EREMOTEIO or -EAGAIN.
 */
int tally_view_ask(struct tally_session *s, u16 type, const void *body,
		   u32 len, void *reply, u32 *reply_len,
		   const struct tally_until *until)
{
	u32 size = *reply_len;
	int err;

	for (;;) {
		*reply_len = size;
		err = tally_session_call(s, type, body, len, reply, reply_len,
					 tally_until_left(until));
		if (err != -EAGAIN && err != -EREMOTEIO)
			return err;
		if (err == -EAGAIN)
			schedule_timeout_killable(min_t(long, VIEW_PAUSE,
							tally_until_left(until)));
		if (fatal_signal_pending(current))
			return -EINTR;
		if (!tally_until_left(until))
			return -ETIMEDOUT;
		if (err == -EREMOTEIO)
			return -ENOTCONN;
	}
}

static bool view_reply_valid(struct tally_view *view,
			     const struct tally_rep_attach *rep, u32 len)
{
	u32 words = be32_to_cpu(rep->words);
	bool direct = rep->path == TALLY_PATH_DIRECT &&
		      rep->mode == TALLY_MODE_NIC &&
		      !view->node->config.no_atomics;

	return len == sizeof(*rep) && rep->arena && !rep->reserved &&
	       (rep->mode == TALLY_MODE_NIC || rep->mode == TALLY_MODE_CPU) &&
	       (rep->access == TALLY_ACCESS_RO ||
		rep->access == TALLY_ACCESS_RW) &&
	       (direct || (rep->path == TALLY_PATH_MESSAGE && !rep->rkey &&
			   !rep->addr)) &&
	       words && words <= TALLY_WORDS_MAX &&
	       IS_ALIGNED(words, TALLY_ENTRY_SIZE) &&
	       IS_ALIGNED(be64_to_cpu(rep->addr), sizeof(u64));
}

/*
 * The session's over() takes view->lock after the state became OVER: either
 * this sees the state, or over() sees the session in the view.
 */
static int view_accept(struct tally_view *view, struct tally_session *s,
		       const struct tally_rep_attach *rep, int withdrawn)
{
	struct tally_key key = {
		.home = s->peer_incarnation,
		.arena = be32_to_cpu(rep->arena),
	};
	unsigned long flags;
	int err = 0;

	lockdep_assert_held(&view->lock);
	if (tally_view_final(view->error))
		return view->error;
	if (view->remote_id && view->remote_id != key.arena)
		return -EIDRM;
	if (READ_ONCE(s->state) == TALLY_SESSION_OVER ||
	    (view->session && view->session != s))
		return -ENOTCONN;
	if (!view->remote_id)
		err = tally_views_know(view->node, &view->known, key);
	if (err)
		return err;
	view->remote_id = key.arena;
	spin_lock_irqsave(&view->spin, flags);
	if (!view->session)
		WRITE_ONCE(view->session, tally_session_get(s));
	view->rkey = be32_to_cpu(rep->rkey);
	view->addr = be64_to_cpu(rep->addr);
	view->reach = rep->path == TALLY_PATH_DIRECT ?
		      TALLY_REACH_LANE : TALLY_REACH_MESSAGE;
	spin_unlock_irqrestore(&view->spin, flags);
	view->words = be32_to_cpu(rep->words);
	WRITE_ONCE(view->access, rep->access);
	/* Pairs with tally_views_forget(). */
	smp_mb();
	if (atomic_read(&s->withdrawn) != withdrawn)
		return -EAGAIN;
	WRITE_ONCE(view->error, 0);
	return 0;
}

/* Once; -EAGAIN: the home may have said after its answer that it is void. */
static int view_attach_try(struct tally_view *view, struct tally_session *s,
			   const struct tally_until *until)
{
	int err, withdrawn = atomic_read(&s->withdrawn);
	struct tally_msg_attach body = {};
	struct tally_rep_attach rep;
	u32 len = sizeof(rep);

	if (view->remote_id &&
	    view->known.key.home != s->peer_incarnation) {
		tally_view_fail(view, -ESTALE);
		return -ESTALE;
	}
	strscpy(body.arena, view->name, sizeof(body.arena));
	err = tally_view_ask(s, TALLY_MSG_ATTACH, &body, sizeof(body), &rep,
			     &len, until);
	tally_delay(ATTACHED);
	if (!err && !view_reply_valid(view, &rep, len)) {
		tally_session_violation(s, "malformed answer to ATTACH");
		err = -EPROTO;
	}
	if (err == -ENOENT && view->remote_id)
		err = -EIDRM;
	/* What was never there cannot go: it is not to be looked for again. */
	if ((err == -EIDRM || err == -ESTALE) && !view->remote_id)
		err = -ENOENT;
	if (!err) {
		guard(mutex)(&view->lock);
		err = view_accept(view, s, &rep, withdrawn);
	}
	trace_tally_view_attach(s->id, view->name, view->remote_id, 0, err);
	if (err == -EIDRM)
		tally_view_fail(view, err);
	return err;
}

static int view_attach_session(struct tally_view *view,
			       struct tally_session *s,
			       const struct tally_until *until)
{
	int err;

	while ((err = view_attach_try(view, s, until)) == -EAGAIN)
		schedule_timeout_killable(min_t(long, VIEW_PAUSE,
						tally_until_left(until)));
	return err;
}

static int view_attach_remote(struct tally_view *view,
			      const struct tally_until *until)
{
	struct tally_peer *peer = tally_peer_find(view->node, view->home);
	struct tally_session *s = peer ? tally_peer_session(peer) : NULL;
	int err;

	tally_peer_put(peer);
	if (!s)
		return -ENOTCONN;
	err = view_attach_session(view, s, until);
	tally_session_put(s);
	return err;
}

static int view_attach_local(struct tally_view *view,
			     const struct tally_until *until)
{
	struct tally_arena *arena = view->arena;
	int err = 0;

	/* Once it has a mode, an operation says what is missing. */
	if (!READ_ONCE(arena->mode))
		err = tally_arena_wait_ready(arena, tally_until_left(until));
	else if (READ_ONCE(arena->state) == TALLY_ARENA_DEAD)
		err = -EIDRM;
	if (err == -EIDRM)
		tally_view_fail(view, err);
	if (err)
		return err;
	guard(mutex)(&view->lock);
	guard(mutex)(&arena->lock);
	view->reach = arena->mode == TALLY_MODE_NIC ? TALLY_REACH_LOOP :
						      TALLY_REACH_CPU;
	view->words = arena->config.words;
	view->access = TALLY_ACCESS_RW;
	if (!tally_view_final(view->error))
		WRITE_ONCE(view->error, 0);
	return view->error;
}

/**
 * tally_view_attach - make a view usable
 * @view: which
 * @again: ask its home even if it is usable already
 * @until: when to give up
 *
 * One caller does it, the others wait for the outcome.
 *
 * Context: process, sleeps, killable, no locks held.
 * Return: 0, -ENOTCONN, -ESTALE, -EIDRM, -ENOENT, -EACCES, -ESHUTDOWN,
 * -ETIMEDOUT, -EINTR, …
 */
int tally_view_attach(struct tally_view *view, bool again,
		      const struct tally_until *until)
{
	int err = 0;

	scoped_guard(mutex, &view->lock) {
		while (view->attaching && !err)
			err = tally_view_wait(view, until);
		if (err || tally_view_final(view->error) ||
		    (!view->error && !again))
			return err ?: view->error;
		view->attaching = true;
	}

	err = view->arena ? view_attach_local(view, until) :
			    view_attach_remote(view, until);

	guard(mutex)(&view->lock);
	view->attaching = false;
	tally_view_changed(view);
	return err;
}

/**
 * tally_view_may_write - may this node write in the arena?
 * @view: attached
 * @until: when to give up
 *
 * The home says when that changes, and then it is attached again.
 *
 * Context: process, sleeps, killable, no locks held.
 * Return: 0, -EACCES or what tally_view_attach() returns.
 */
int tally_view_may_write(struct tally_view *view,
			 const struct tally_until *until)
{
	int err = tally_view_attach(view, false, until);

	if (!err && READ_ONCE(view->access) != TALLY_ACCESS_RW)
		err = -EACCES;
	return err;
}
