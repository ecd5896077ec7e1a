// SPDX-License-Identifier: GPL-2.0
#include "client/view.h"

#include <linux/slab.h>
#include <linux/user_namespace.h>
#include "session/peer.h"
#include "session/rpc.h"
#include "session/session.h"

#define VIEW_PAUSE	msecs_to_jiffies(20)	/* before asking again */

/**
 * tally_view_wait - wait until something of a view changes
 * @view: which; its lock is held, and given up meanwhile
 * @until: when to give up
 *
 * Context: process, sleeps, killable.
 * Return: 0, -ETIMEDOUT, -EINTR.
 */
int tally_view_wait(struct tally_view *view, const struct tally_until *until)
{
	u32 changes = view->changes;
	long ret;

	lockdep_assert_held(&view->lock);
	mutex_unlock(&view->lock);
	ret = wait_event_killable_timeout(view->wait,
					  READ_ONCE(view->changes) != changes,
					  tally_until_left(until));
	mutex_lock(&view->lock);
	if (ret < 0)
		return -EINTR;
	return ret ? 0 : -ETIMEDOUT;
}

/**
 * tally_view_changed - wake who waits for a change
 * @view: which; its lock is held
 */
void tally_view_changed(struct tally_view *view)
{
	lockdep_assert_held(&view->lock);
	WRITE_ONCE(view->changes, view->changes + 1);
	wake_up_all(&view->wait);
}

/**
 * tally_view_get - take a reference
 * @view: of which the caller has one already
 *
 * Context: any.
 * Return: @view.
 */
struct tally_view *tally_view_get(struct tally_view *view)
{
	kref_get(&view->ref);
	return view;
}

static void view_release(struct kref *ref)
{
	struct tally_view *view = container_of(ref, struct tally_view, ref);
	struct tally_views *views = view->node->views;

	if (view->arena)
		tally_arena_unwatch(view->arena, &view->watch);
	mutex_lock(&views->lock);
	list_del(&view->list);
	mutex_unlock(&views->lock);
	if (view->session)
		tally_session_put(view->session);
	if (view->arena)
		tally_arena_put(view->arena);
	tally_node_put(view->node);
	mutex_destroy(&view->lock);
	kfree(view);
}

/**
 * tally_view_put - drop a reference
 * @view: freed when it was the last
 *
 * Context: process.
 */
void tally_view_put(struct tally_view *view)
{
	kref_put(&view->ref, view_release);
}

/**
 * tally_view_next - walk the views of a node
 * @node: which
 * @prev: where to go on, put by this call; NULL to begin
 *
 * Context: process.
 * Return: a reference, or NULL at the end.
 */
struct tally_view *tally_view_next(struct tally_node *node,
				   struct tally_view *prev)
{
	struct tally_views *views = node->views;
	struct tally_view *view;

	mutex_lock(&views->lock);
	view = prev ? prev : list_entry(&views->list, struct tally_view, list);
	list_for_each_entry_continue(view, &views->list, list)
		if (kref_get_unless_zero(&view->ref))
			break;
	if (list_entry_is_head(view, &views->list, list))
		view = NULL;
	mutex_unlock(&views->lock);
	if (prev)
		tally_view_put(prev);
	return view;
}

/**
 * tally_view_alive - is it still the arena of that name?
 * @view: which
 *
 * Context: any.
 * Return: false when it can never be used again.
 */
bool tally_view_alive(struct tally_view *view)
{
	return !tally_view_final(READ_ONCE(view->error));
}

/**
 * tally_view_session - the session with the home of a view
 * @view: which
 *
 * Context: any.
 * Return: a reference, or NULL when it is ours or the session is OVER.
 */
struct tally_session *tally_view_session(struct tally_view *view)
{
	struct tally_session *s;
	unsigned long flags;

	spin_lock_irqsave(&view->spin, flags);
	s = view->session;
	if (s)
		tally_session_get(s);
	spin_unlock_irqrestore(&view->spin, flags);
	return s;
}

/**
 * tally_view_fail - a view and its handles cannot be used any more
 * @view: which
 * @err: why; anything but -ENOTCONN is for good, the first of these stays
 *
 * The session stays, if there is one: FORGOTTEN may still have to be said.
 *
 * Context: process, no locks held.
 */
void tally_view_fail(struct tally_view *view, int err)
{
	struct tally_handle *handle = NULL;
	bool fresh;

	mutex_lock(&view->lock);
	fresh = !tally_view_final(view->error);
	if (fresh) {
		WRITE_ONCE(view->error, err);
		tally_view_changed(view);
	}
	mutex_unlock(&view->lock);
	if (!fresh)
		return;
	while ((handle = tally_handle_next(view, handle)))
		tally_handle_fail(handle, err);
}

static int view_pause(const struct tally_until *until)
{
	long left = tally_until_left(until);

	if (!left)
		return -ETIMEDOUT;
	schedule_timeout_killable(min_t(long, left, VIEW_PAUSE));
	return fatal_signal_pending(current) ? -EINTR : 0;
}

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
		if (err != -EAGAIN)
			break;
		err = view_pause(until);
		if (err)
			return err;
	}
	if (err != -EREMOTEIO)
		return err;
	if (fatal_signal_pending(current))
		return -EINTR;
	return tally_until_left(until) ? -ENOTCONN : -ETIMEDOUT;
}

static bool view_reply_valid(struct tally_view *view,
			     const struct tally_rep_attach *rep, u32 len)
{
	u32 words = be32_to_cpu(rep->words);
	bool direct = rep->path == TALLY_PATH_DIRECT;

	if (len != sizeof(*rep) || rep->reserved || rep->reserved2 ||
	    !rep->arena)
		return false;
	if (rep->mode != TALLY_MODE_NIC && rep->mode != TALLY_MODE_CPU)
		return false;
	if (rep->access != TALLY_ACCESS_RO && rep->access != TALLY_ACCESS_RW)
		return false;
	if (direct && (rep->mode != TALLY_MODE_NIC ||
		       view->node->config.no_atomics))
		return false;
	if (!direct && (rep->path != TALLY_PATH_MESSAGE || rep->rkey ||
			rep->addr))
		return false;
	if (!words || words > TALLY_WORDS_MAX ||
	    !IS_ALIGNED(words, TALLY_ENTRY_SIZE) ||
	    !IS_ALIGNED(be64_to_cpu(rep->addr), sizeof(u64)))
		return false;
	if (be32_to_cpu(rep->perm) & ~0777)
		return false;
	return uid_valid(make_kuid(&init_user_ns, be32_to_cpu(rep->uid))) &&
	       gid_valid(make_kgid(&init_user_ns, be32_to_cpu(rep->gid)));
}

static bool session_is_over(struct tally_session *s)
{
	return READ_ONCE(s->state) == TALLY_SESSION_OVER;
}

static void view_set_session(struct tally_view *view, struct tally_session *s,
			     const struct tally_rep_attach *rep)
{
	unsigned long flags;

	lockdep_assert_held(&view->lock);
	tally_session_get(s);
	spin_lock_irqsave(&view->spin, flags);
	view->session = s;
	view->rkey = be32_to_cpu(rep->rkey);
	view->addr = be64_to_cpu(rep->addr);
	view->reach = rep->path == TALLY_PATH_DIRECT ? TALLY_REACH_LANE :
						       TALLY_REACH_MESSAGE;
	spin_unlock_irqrestore(&view->spin, flags);
	view->home_incarnation = s->peer_incarnation;
	view->remote_id = be32_to_cpu(rep->arena);
	view->words = be32_to_cpu(rep->words);
	view->mode = rep->mode;
}

/*
 * The session's over() takes view->lock after the state became OVER: either
 * this sees the state, or over() sees the session in the view.
 */
static int view_accept(struct tally_view *view, struct tally_session *s,
		       const struct tally_rep_attach *rep)
{
	lockdep_assert_held(&view->lock);
	if (tally_view_final(view->error))
		return view->error;
	if (view->remote_id && view->remote_id != be32_to_cpu(rep->arena))
		return -EIDRM;
	if (session_is_over(s) || (view->session && view->session != s))
		return -ENOTCONN;
	if (!view->session)
		view_set_session(view, s, rep);
	view->access = rep->access;
	view->uid = make_kuid(&init_user_ns, be32_to_cpu(rep->uid));
	view->gid = make_kgid(&init_user_ns, be32_to_cpu(rep->gid));
	view->perm = be32_to_cpu(rep->perm);
	WRITE_ONCE(view->error, 0);
	return 0;
}

static int view_attach_session(struct tally_view *view,
			       struct tally_session *s,
			       const struct tally_until *until)
{
	struct tally_msg_attach body = {};
	struct tally_rep_attach rep;
	u32 len = sizeof(rep);
	int err;

	if (view->home_incarnation &&
	    view->home_incarnation != s->peer_incarnation) {
		tally_view_fail(view, -ESTALE);
		return -ESTALE;
	}
	strscpy(body.arena, view->name, sizeof(body.arena));
	err = tally_view_ask(s, TALLY_MSG_ATTACH, &body, sizeof(body), &rep,
			     &len, until);
	if (!err && !view_reply_valid(view, &rep, len)) {
		tally_session_violation(s, "malformed answer to ATTACH");
		err = -EPROTO;
	}
	if (err == -ENOENT && view->remote_id)
		err = -EIDRM;
	/* What was never there cannot go: nobody must look for it again. */
	if ((err == -EIDRM || err == -ESTALE) && !view->remote_id)
		err = -ENOENT;
	if (!err) {
		mutex_lock(&view->lock);
		err = view_accept(view, s, &rep);
		mutex_unlock(&view->lock);
	}
	if (err == -EIDRM)
		tally_view_fail(view, err);
	return err;
}

static int view_attach_remote(struct tally_view *view,
			      const struct tally_until *until)
{
	struct tally_peer *peer = tally_peer_find(view->node, view->home);
	struct tally_session *s;
	int err = -ENOTCONN;

	if (!peer)
		return -ENOTCONN;
	s = tally_peer_session(peer);
	if (s) {
		err = view_attach_session(view, s, until);
		tally_session_put(s);
	}
	tally_peer_put(peer);
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
	mutex_lock(&view->lock);
	mutex_lock(&arena->lock);
	view->mode = arena->mode;
	view->reach = arena->mode == TALLY_MODE_NIC ? TALLY_REACH_LOOP :
						      TALLY_REACH_CPU;
	view->words = arena->config.words;
	view->access = TALLY_ACCESS_RW;
	view->uid = arena->config.uid;
	view->gid = arena->config.gid;
	view->perm = arena->config.perm;
	mutex_unlock(&arena->lock);
	if (!tally_view_final(view->error))
		WRITE_ONCE(view->error, 0);
	err = view->error;
	mutex_unlock(&view->lock);
	return err;
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
	bool settled;
	int err = 0;

	mutex_lock(&view->lock);
	while (view->attaching && !err)
		err = tally_view_wait(view, until);
	settled = err || tally_view_final(view->error) ||
		  (!view->error && !again);
	if (settled) {
		err = err ? err : view->error;
		mutex_unlock(&view->lock);
		return err;
	}
	view->attaching = true;
	mutex_unlock(&view->lock);

	err = view->arena ? view_attach_local(view, until) :
			    view_attach_remote(view, until);

	mutex_lock(&view->lock);
	view->attaching = false;
	tally_view_changed(view);
	mutex_unlock(&view->lock);
	return err;
}

static void view_gone(struct tally_watch *watch)
{
	struct tally_view *view = container_of(watch, struct tally_view, watch);

	if (!kref_get_unless_zero(&view->ref))
		return;
	tally_view_fail(view, -EIDRM);
	tally_view_put(view);
}

/**
 * tally_view_alloc - a view that is attached to nothing yet
 * @node: of which
 * @home: name of the home
 * @name: name of the arena
 * @arena: the arena when it is ours, else NULL
 *
 * Return: the view, which the caller puts into the list, or NULL.
 */
struct tally_view *tally_view_alloc(struct tally_node *node, const char *home,
				    const char *name,
				    struct tally_arena *arena)
{
	struct tally_view *view = kzalloc(sizeof(*view), GFP_KERNEL_ACCOUNT);

	if (!view)
		return NULL;
	kref_init(&view->ref);
	spin_lock_init(&view->spin);
	mutex_init(&view->lock);
	init_waitqueue_head(&view->wait);
	INIT_LIST_HEAD(&view->watch.list);
	view->watch.gone = view_gone;
	INIT_LIST_HEAD(&view->handles);
	INIT_LIST_HEAD(&view->early);
	strscpy(view->name, name, sizeof(view->name));
	strscpy(view->home, home, sizeof(view->home));
	view->node = tally_node_get(node);
	view->arena = arena ? tally_arena_get(arena) : NULL;
	view->error = -ENOTCONN;
	return view;
}

/**
 * tally_views_start - make the views of a node that starts
 * @node: which
 *
 * Return: 0 or -ENOMEM.
 */
int tally_views_start(struct tally_node *node)
{
	struct tally_views *views = kzalloc(sizeof(*views), GFP_KERNEL);

	if (!views)
		return -ENOMEM;
	mutex_init(&views->lock);
	INIT_LIST_HEAD(&views->list);
	mutex_init(&views->owed_lock);
	INIT_LIST_HEAD(&views->owed);
	node->views = views;
	return 0;
}

/**
 * tally_views_stop - a node ends: nothing of it can be used any more
 * @node: which; all its sessions are OVER
 *
 * Context: process, does not wait for the network.
 */
void tally_views_stop(struct tally_node *node)
{
	struct tally_views *views = node->views;
	struct tally_view *view = NULL;

	mutex_lock(&views->lock);
	views->stopped = true;
	mutex_unlock(&views->lock);
	while ((view = tally_view_next(node, view)))
		tally_view_fail(view, -ESHUTDOWN);
}

/**
 * tally_views_free - the last reference to the node is gone
 * @node: which
 */
void tally_views_free(struct tally_node *node)
{
	if (!node->views)
		return;
	mutex_destroy(&node->views->lock);
	mutex_destroy(&node->views->owed_lock);
	kfree(node->views);
	node->views = NULL;
}
