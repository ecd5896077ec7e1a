// SPDX-License-Identifier: GPL-2.0
#include "base/delay.h"
#include "client/views.h"

#include "client/handle.h"
#include "client/owed.h"
#include "session/session.h"

/**
 * tally_views_each - do something with the handles of a session
 * @node: our node
 * @s: session with the home, or NULL for the handles of all homes
 * @type: TALLY_TYPE_* of the handles
 * @fn: called for each, without locks
 * @ctx: given to @fn
 *
 * Context: process.
 */
void tally_views_each(struct tally_node *node, struct tally_session *s, u8 type,
		      void (*fn)(struct tally_handle *handle, void *ctx),
		      void *ctx)
{
	struct tally_handle *handle = NULL;
	struct tally_view *view = NULL;

	while ((view = tally_view_next(node, view))) {
		if (s && READ_ONCE(view->session) != s)
			continue;
		while ((handle = tally_handle_next(view, handle)))
			if (READ_ONCE(handle->made) && handle->ops->id == type)
				fn(handle, ctx);
	}
}

/* Takes @owed over. @why: -EIDRM, or -ENOTCONN: it may be opened again. */
static int forget_object(struct tally_session *s, struct tally_view *view,
			 u32 id, u32 generation, struct tally_owed *owed,
			 int why)
{
	struct tally_handle *handle;
	bool live = false;
	int err = 0;

	mutex_lock(&view->lock);
	rcu_read_lock();
	handle = tally_handle_known(s, view->remote_id, id, generation);
	/* Another view's, which a home called the same, may be freed after this. */
	if (handle && handle->view != view)
		handle = NULL;
	rcu_read_unlock();
	if (handle) {
		live = kref_get_unless_zero(&handle->ref);
		/* Being closed: that, or failing that the release, answers. */
		if (!live)
			tally_handle_forget(handle, owed);
	} else if (view->opening) {
		err = tally_early_add(view, owed);
	} else {
		tally_owed_queue(owed, s, view->remote_id, 0);
	}
	mutex_unlock(&view->lock);
	if (live) {
		tally_handle_fail(handle, why);
		tally_handle_forget(handle, owed);
		tally_handle_put(handle);
	}
	return err;
}

/*
 * What this node may do in an arena has changed. It is attached to again by the next
 * that uses it, whose ATTACH is answered when all that was open is forgotten.
 */
static void view_withdraw(struct tally_view *view)
{
	struct tally_handle *handle = NULL;

	scoped_guard(mutex, &view->lock) {
		if (!view->error)
			WRITE_ONCE(view->error, -ENOTCONN);
		tally_view_changed(view);
	}
	while ((handle = tally_handle_next(view, handle)))
		tally_handle_fail(handle, -ENOTCONN);
}

/**
 * tally_views_forget - a home wants an object, or an arena, forgotten
 * @s: session with it
 * @body: struct tally_wire_object
 * @len: its length
 *
 * Context: process.
 * Return: 0; -EPROTO when it broke the protocol; -ENOMEM: close the link, it
 * will be said again.
 */
int tally_views_forget(struct tally_session *s, const void *body, u32 len)
{
	const struct tally_wire_object *which = body;
	struct tally_owed *owed;
	struct tally_view *view;
	u32 arena, id, generation;
	int err = 0, why;

	if (len != sizeof(*which))
		return -EPROTO;
	why = which->round ? -ENOTCONN : -EIDRM;
	arena = be32_to_cpu(which->arena);
	id = be32_to_cpu(which->object);
	generation = be32_to_cpu(which->generation);
	if (!id && generation)
		return -EPROTO;
	owed = tally_owed_alloc(s, which);
	if (!owed)
		return -ENOMEM;
	tally_delay(FORGET);
	if (which->round)
		atomic_inc(&s->withdrawn);
	/* What is just being attached is found, or sees this. */
	smp_mb__after_atomic();
	view = tally_view_by_id(s, arena);
	if (view && id) {
		err = forget_object(s, view, id, generation, owed, why);
	} else {
		/* What is still inside is owed for each object on its own. */
		if (view && which->round)
			view_withdraw(view);
		else if (view)
			tally_view_fail(view, why);
		tally_owed_queue(owed, s, arena, 0);
	}
	tally_view_put(view);
	return err;
}

/**
 * tally_views_session_live - the link of a session is up
 * @s: which
 * @resumed: it was up before
 *
 * With a new link no operation of the old one is in doubt any more. A home
 * that started again has other arenas under the same names.
 */
void tally_views_session_live(struct tally_session *s, bool resumed)
{
	struct tally_view *view = NULL;
	bool stale;

	tally_owed_flush(s);
	while ((view = tally_view_next(s->node, view))) {
		mutex_lock(&view->lock);
		if (view->session == s) {
			WRITE_ONCE(view->silent, 0);
			tally_view_changed(view);
		}
		stale = !resumed && view->remote_id &&
			view->known.key.home != s->peer_incarnation &&
			!strcmp(view->home, s->name);
		mutex_unlock(&view->lock);
		if (stale)
			tally_view_fail(view, -ESTALE);
	}
}

/* Returns whether it had that session. */
static bool view_drop(struct tally_view *view, struct tally_session *s)
{
	unsigned long flags;

	guard(mutex)(&view->lock);
	if (view->session != s)
		return false;
	spin_lock_irqsave(&view->spin, flags);
	view->session = NULL;
	spin_unlock_irqrestore(&view->spin, flags);
	if (!view->error)
		WRITE_ONCE(view->error, -ENOTCONN);
	tally_early_settle(view);
	tally_view_changed(view);
	return true;
}

/**
 * tally_views_session_over - a session ended
 * @s: fenced
 *
 * Its handles are -ENOTCONN until they are opened again.
 *
 * Context: process.
 */
void tally_views_session_over(struct tally_session *s)
{
	struct tally_handle *handle = NULL;
	struct tally_view *view = NULL;

	tally_owed_flush(s);
	while ((view = tally_view_next(s->node, view))) {
		if (!view_drop(view, s))
			continue;
		while ((handle = tally_handle_next(view, handle)))
			tally_handle_fail(handle, -ENOTCONN);
		tally_session_put(s);
	}
}
