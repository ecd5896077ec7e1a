// SPDX-License-Identifier: GPL-2.0
/*
 * What sessions and homes tell us about what we use: a session ended, an
 * object is to be forgotten, and our answers to that.
 */
#include <linux/slab.h>
#include "home/export.h"
#include "session/session.h"
#include "client/view.h"

/* A FORGET that came while something was being opened; maybe just that. */
#define VIEW_EARLY_MAX	4096

struct view_early {
	struct list_head list;
	u32 id;
	u32 generation;
};

/* A FORGOTTEN that has to be said, and cannot be on link number @doubt. */
struct view_owed {
	struct list_head list;
	struct tally_session *session;	/* compared only */
	struct tally_wire_object body;
	u32 doubt;
};

/* Say what can be said. The list is kept in order. */
static void owed_flush(struct tally_views *views, struct tally_session *s)
{
	struct view_owed *owed, *next;

	mutex_lock(&views->owed_lock);
	list_for_each_entry_safe(owed, next, &views->owed, list) {
		if (owed->session != s ||
		    owed->doubt == READ_ONCE(s->link_nr))
			continue;
		if (tally_session_send(s, TALLY_MSG_FORGOTTEN, &owed->body,
				       sizeof(owed->body)))
			break;
		list_del(&owed->list);
		kfree(owed);
	}
	mutex_unlock(&views->owed_lock);
}

static void owed_drop(struct tally_views *views, struct tally_session *s)
{
	struct view_owed *owed, *next;

	mutex_lock(&views->owed_lock);
	list_for_each_entry_safe(owed, next, &views->owed, list) {
		if (owed->session == s) {
			list_del(&owed->list);
			kfree(owed);
		}
	}
	mutex_unlock(&views->owed_lock);
}

/**
 * tally_views_owe - tell a home that an object is forgotten
 * @s: session with it
 * @arena: id of the arena
 * @object: id of the object, 0 for the arena itself
 * @generation: of that id
 * @doubt: number of the link on which an operation ended unknown, or 0
 *
 * It is said now, or as soon as there is a link again, and not at all when
 * the session is OVER, which says the same.
 *
 * Context: process.
 */
void tally_views_owe(struct tally_session *s, u32 arena, u32 object,
		     u32 generation, u32 doubt)
{
	struct tally_views *views = s->node->views;
	struct view_owed *owed;

	owed = kzalloc(sizeof(*owed), GFP_KERNEL | __GFP_NOFAIL);
	owed->session = s;
	owed->body.arena = cpu_to_be32(arena);
	owed->body.object = cpu_to_be32(object);
	owed->body.generation = cpu_to_be32(generation);
	owed->doubt = doubt;
	mutex_lock(&views->owed_lock);
	list_add_tail(&owed->list, &views->owed);
	mutex_unlock(&views->owed_lock);
	owed_flush(views, s);
	/* over() empties the list after the state became OVER; so does this. */
	if (READ_ONCE(s->state) == TALLY_SESSION_OVER)
		owed_drop(views, s);
}

/**
 * tally_view_early - was an object deleted while it was being opened?
 * @view: its view, locked
 * @id: its id
 * @generation: of that id
 *
 * Return: true when it was.
 */
bool tally_view_early(struct tally_view *view, u32 id, u32 generation)
{
	struct view_early *early;

	lockdep_assert_held(&view->lock);
	list_for_each_entry(early, &view->early, list)
		if (early->id == id && early->generation == generation)
			return true;
	return false;
}

static int early_add(struct tally_view *view, u32 id, u32 generation)
{
	struct view_early *early;

	lockdep_assert_held(&view->lock);
	if (tally_view_early(view, id, generation))
		return 0;
	if (view->early_count == VIEW_EARLY_MAX)
		return -EPROTO;
	early = kzalloc(sizeof(*early), GFP_KERNEL);
	if (!early)
		return -ENOMEM;
	early->id = id;
	early->generation = generation;
	list_add_tail(&early->list, &view->early);
	view->early_count++;
	return 0;
}

/**
 * tally_view_settle - nothing is being opened: what came early is forgotten
 * @view: locked
 */
void tally_view_settle(struct tally_view *view)
{
	struct view_early *early, *next;

	lockdep_assert_held(&view->lock);
	list_for_each_entry_safe(early, next, &view->early, list) {
		if (view->session)
			tally_views_owe(view->session, view->remote_id,
					early->id, early->generation, 0);
		list_del(&early->list);
		kfree(early);
	}
	view->early_count = 0;
}

/* The view of that arena that has this session, referenced, or NULL. */
static struct tally_view *view_of(struct tally_session *s, u32 arena)
{
	struct tally_view *view = NULL;
	bool found = false;

	while (!found && (view = tally_view_next(s->node, view))) {
		mutex_lock(&view->lock);
		found = view->session == s && view->remote_id == arena;
		mutex_unlock(&view->lock);
		if (found)
			break;
	}
	return view;
}

/* With view->lock. Its last reference may be gone already. */
static struct tally_handle *handle_of(struct tally_view *view, u32 id,
				      u32 generation)
{
	struct tally_handle *handle;

	lockdep_assert_held(&view->lock);
	list_for_each_entry(handle, &view->handles, list)
		if (handle->id == id && handle->generation == generation &&
		    !handle->opening)
			return handle;
	return NULL;
}

/**
 * tally_views_by_id - the handle of an object as its home calls it
 * @s: session with the home
 * @arena: id of the arena
 * @id: id of the object
 * @generation: of that id
 *
 * Context: process.
 * Return: a reference or NULL.
 */
struct tally_handle *tally_views_by_id(struct tally_session *s, u32 arena,
				       u32 id, u32 generation)
{
	struct tally_view *view = view_of(s, arena);
	struct tally_handle *handle;

	if (!view)
		return NULL;
	mutex_lock(&view->lock);
	handle = handle_of(view, id, generation);
	if (handle && !kref_get_unless_zero(&handle->ref))
		handle = NULL;
	mutex_unlock(&view->lock);
	tally_view_put(view);
	return handle;
}

/**
 * tally_views_each - do something with the handles of a session
 * @s: session with the home
 * @type: TALLY_TYPE_* of the handles
 * @fn: called for each, without locks
 * @ctx: given to @fn
 *
 * Context: process.
 */
void tally_views_each(struct tally_session *s, u8 type,
		      void (*fn)(struct tally_handle *handle, void *ctx),
		      void *ctx)
{
	struct tally_handle *handle = NULL;
	struct tally_view *view = NULL;

	while ((view = tally_view_next(s->node, view))) {
		if (READ_ONCE(view->session) != s)
			continue;
		while ((handle = tally_handle_next(view, handle)))
			if (READ_ONCE(handle->made) && handle->type == type)
				fn(handle, ctx);
	}
}

/**
 * tally_views_all - call a function for every handle of a node
 * @node: our node
 * @type: TALLY_TYPE_* of the objects
 * @fn: the function
 * @ctx: its second argument
 *
 * Context: process.
 */
void tally_views_all(struct tally_node *node, u8 type,
		     void (*fn)(struct tally_handle *handle, void *ctx),
		     void *ctx)
{
	struct tally_handle *handle = NULL;
	struct tally_view *view = NULL;

	while ((view = tally_view_next(node, view)))
		while ((handle = tally_handle_next(view, handle)))
			if (READ_ONCE(handle->made) && handle->type == type)
				fn(handle, ctx);
}

static int forget_object(struct tally_session *s, struct tally_view *view,
			 u32 id, u32 generation)
{
	struct tally_handle *handle;
	bool leaving = false;
	bool early = false;
	int err = 0;

	mutex_lock(&view->lock);
	handle = handle_of(view, id, generation);
	if (handle && !kref_get_unless_zero(&handle->ref)) {
		/* Being closed: that, or failing that the release, answers. */
		tally_handle_forget(handle);
		leaving = true;
	} else if (!handle && view->opening) {
		err = early_add(view, id, generation);
		early = true;
	}
	mutex_unlock(&view->lock);
	if (leaving || early)
		return err;
	if (!handle) {
		tally_views_owe(s, view->remote_id, id, generation, 0);
		return 0;
	}
	tally_handle_fail(handle, -EIDRM);
	tally_handle_forget(handle);
	tally_handle_put(handle);
	return 0;
}

/**
 * tally_views_forget - a home wants an object forgotten
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
	struct tally_view *view;
	u32 arena, id, generation;
	int err = 0;

	if (len != sizeof(*which) || which->reserved)
		return -EPROTO;
	arena = be32_to_cpu(which->arena);
	id = be32_to_cpu(which->object);
	generation = be32_to_cpu(which->generation);
	if (!id && generation)
		return -EPROTO;
	view = view_of(s, arena);
	if (view && id) {
		err = forget_object(s, view, id, generation);
	} else {
		/* What is still inside is owed for each object on its own. */
		if (view)
			tally_view_fail(view, -EIDRM);
		tally_views_owe(s, arena, id, generation, 0);
	}
	if (view)
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

	owed_flush(s->node->views, s);
	while ((view = tally_view_next(s->node, view))) {
		mutex_lock(&view->lock);
		if (view->session == s)
			tally_view_changed(view);
		stale = !resumed && !view->arena && view->home_incarnation &&
			view->home_incarnation != s->peer_incarnation &&
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
	bool mine;

	mutex_lock(&view->lock);
	mine = view->session == s;
	if (mine) {
		spin_lock_irqsave(&view->spin, flags);
		view->session = NULL;
		spin_unlock_irqrestore(&view->spin, flags);
		if (!view->error)
			WRITE_ONCE(view->error, -ENOTCONN);
		tally_view_settle(view);
		tally_view_changed(view);
	}
	mutex_unlock(&view->lock);
	return mine;
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

	owed_drop(s->node->views, s);
	while ((view = tally_view_next(s->node, view))) {
		if (!view_drop(view, s))
			continue;
		while ((handle = tally_handle_next(view, handle)))
			tally_handle_fail(handle, -ENOTCONN);
		tally_session_put(s);
	}
}
