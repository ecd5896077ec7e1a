// SPDX-License-Identifier: GPL-2.0
#include "client/view.h"

#include <linux/err.h>
#include <linux/slab.h>
#include "base/trace.h"
#include "session/session.h"

static const struct rhashtable_params view_names = {
	.key_len = 2 * TALLY_NAME_SIZE,
	.key_offset = offsetof(struct tally_view, name),
	.head_offset = offsetof(struct tally_view, by_name),
	.automatic_shrinking = true,
};

static_assert(offsetof(struct tally_view, home) ==
	      offsetof(struct tally_view, name) + TALLY_NAME_SIZE);

static const struct rhashtable_params handle_names = {
	.key_len = sizeof_field(struct tally_handle, name),
	.key_offset = offsetof(struct tally_handle, name),
	.head_offset = offsetof(struct tally_handle, by_name),
	.automatic_shrinking = true,
};

static const struct rhashtable_params known_ids = {
	.key_len = sizeof(struct tally_key),
	.key_offset = offsetof(struct tally_known, key),
	.head_offset = offsetof(struct tally_known, node),
	.automatic_shrinking = true,
};

/**
 * tally_view_tables - make the tables of a node
 * @views: of it
 *
 * Return: 0 or a negative errno.
 */
int tally_view_tables(struct tally_views *views)
{
	int err = rhltable_init(&views->by_name, &view_names);

	if (err)
		return err;
	err = rhltable_init(&views->by_id, &known_ids);
	if (err)
		rhltable_destroy(&views->by_name);
	return err;
}

/**
 * tally_view_tables_free - undo tally_view_tables()
 * @views: no view is left
 */
void tally_view_tables_free(struct tally_views *views)
{
	rhltable_destroy(&views->by_name);
	rhltable_destroy(&views->by_id);
}

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
 * tally_view_changed - something changed that callers may wait for
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
	rhltable_remove(&views->by_name, &view->by_name, view_names);
	mutex_unlock(&views->lock);
	if (view->known.key.arena)
		rhltable_remove(&views->by_id, &view->known.node, known_ids);
	rhltable_destroy(&view->names);
	if (view->session)
		tally_session_put(view->session);
	if (view->arena)
		tally_arena_put(view->arena);
	tally_node_put(view->node);
	mutex_destroy(&view->lock);
	kfree_rcu(view, rcu);
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
 * tally_view_named - the usable view of an arena
 * @views: of a node, locked
 * @home: name of the home
 * @name: name of the arena
 * @arena: the arena when it is ours, else NULL
 *
 * Return: a reference or NULL.
 */
struct tally_view *tally_view_named(struct tally_views *views,
				    const char *home, const char *name,
				    struct tally_arena *arena)
{
	char key[2][TALLY_NAME_SIZE] = {};
	struct tally_view *view;
	struct rhlist_head *at, *all;

	lockdep_assert_held(&views->lock);
	strscpy(key[0], name, sizeof(key[0]));
	strscpy(key[1], home, sizeof(key[1]));
	rcu_read_lock();
	all = rhltable_lookup(&views->by_name, key, view_names);
	rhl_for_each_entry_rcu(view, at, all, by_name)
		if (view->arena == arena && tally_view_alive(view) &&
		    kref_get_unless_zero(&view->ref))
			goto out;
	view = NULL;
out:
	rcu_read_unlock();
	return view;
}

/**
 * tally_view_by_id - a view as its home calls it
 * @s: session with the home
 * @arena: id of the arena
 *
 * Context: process.
 * Return: a reference, or NULL.
 */
struct tally_view *tally_view_by_id(struct tally_session *s, u32 arena)
{
	struct tally_key key = { .home = s->peer_incarnation, .arena = arena };
	struct tally_view *view, *found = NULL;
	struct rhlist_head *at, *all;
	struct tally_known *known;

	rcu_read_lock();
	all = rhltable_lookup(&s->node->views->by_id, &key, known_ids);
	rhl_for_each_entry_rcu(known, at, all, node) {
		view = container_of(known, struct tally_view, known);
		if (READ_ONCE(view->session) != s)
			continue;
		found = view;
		if (tally_view_alive(view))
			break;
	}
	if (found && !kref_get_unless_zero(&found->ref))
		found = NULL;
	rcu_read_unlock();
	return found;
}

/**
 * tally_view_know - from now on it is found by what its home calls it
 * @view: attached to another home for the first time; locked
 * @home: the home's incarnation
 * @arena: the arena's id there
 *
 * Return: 0 or a negative errno.
 */
int tally_view_know(struct tally_view *view, u64 home, u32 arena)
{
	int err;

	lockdep_assert_held(&view->lock);
	view->known.key.home = home;
	view->known.key.arena = arena;
	err = rhltable_insert(&view->node->views->by_id, &view->known.node,
			      known_ids);
	if (err)
		view->known.key = (struct tally_key){};
	else
		view->remote_id = arena;
	return err;
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
 * tally_handle_get - take a reference
 * @handle: of which the caller has one already
 *
 * Context: any.
 * Return: @handle.
 */
struct tally_handle *tally_handle_get(struct tally_handle *handle)
{
	kref_get(&handle->ref);
	return handle;
}

static void handle_release(struct kref *ref)
{
	struct tally_handle *handle = container_of(ref, struct tally_handle,
						   ref);

	queue_work(handle->view->node->wait_wq, &handle->release_work);
}

/**
 * tally_handle_put - drop a reference
 * @handle: closed and freed later, from the node's workqueue, when it was the
 *	last
 *
 * Context: any.
 */
void tally_handle_put(struct tally_handle *handle)
{
	kref_put(&handle->ref, handle_release);
}

/**
 * tally_handle_next - walk the handles of a view
 * @view: which
 * @prev: where to go on, put by this call; NULL to begin
 *
 * Context: process, view->lock not held.
 * Return: a reference, or NULL at the end.
 */
struct tally_handle *tally_handle_next(struct tally_view *view,
				       struct tally_handle *prev)
{
	struct tally_handle *handle;

	mutex_lock(&view->lock);
	handle = prev ? prev : list_entry(&view->handles, struct tally_handle,
					  list);
	list_for_each_entry_continue(handle, &view->handles, list)
		if (kref_get_unless_zero(&handle->ref))
			break;
	if (list_entry_is_head(handle, &view->handles, list))
		handle = NULL;
	mutex_unlock(&view->lock);
	if (prev)
		tally_handle_put(prev);
	return handle;
}

/**
 * tally_handle_add - put a handle into its view
 * @handle: new, with view and name; the view is locked
 *
 * Return: 0 or a negative errno.
 */
int tally_handle_add(struct tally_handle *handle)
{
	struct tally_view *view = handle->view;
	int err;

	lockdep_assert_held(&view->lock);
	err = rhltable_insert(&view->names, &handle->by_name, handle_names);
	if (!err)
		list_add_tail(&handle->list, &view->handles);
	return err;
}

/**
 * tally_handle_del - take a handle out of its view
 * @handle: its last reference is gone; the view is locked
 */
void tally_handle_del(struct tally_handle *handle)
{
	struct tally_view *view = handle->view;

	lockdep_assert_held(&view->lock);
	list_del(&handle->list);
	rhltable_remove(&view->names, &handle->by_name, handle_names);
	if (!view->arena && handle->known.key.arena)
		rhltable_remove(&view->node->views->by_id, &handle->known.node,
				known_ids);
}

/**
 * tally_handle_know - from now on it is found by what its home calls it
 * @handle: made, of another home
 *
 * Return: 0 or a negative errno.
 */
int tally_handle_know(struct tally_handle *handle)
{
	struct tally_view *view = handle->view;
	int err;

	handle->known.key = view->known.key;
	handle->known.key.object = handle->id;
	err = rhltable_insert(&view->node->views->by_id, &handle->known.node,
			      known_ids);
	if (err)
		handle->known.key = (struct tally_key){};
	return err;
}

/**
 * tally_handle_named - a handle that may be usable, by its name
 * @view: its view, locked
 * @name: its name
 *
 * Return: the handle, whose last reference may be gone already, or NULL.
 */
struct tally_handle *tally_handle_named(struct tally_view *view,
					const char *name)
{
	char key[TALLY_NAME_SIZE] = {};
	struct tally_handle *handle;
	struct rhlist_head *at, *all;

	lockdep_assert_held(&view->lock);
	strscpy(key, name, sizeof(key));
	rcu_read_lock();
	all = rhltable_lookup(&view->names, key, handle_names);
	rhl_for_each_entry_rcu(handle, at, all, by_name)
		if (!tally_view_final(READ_ONCE(handle->error)))
			goto out;
	handle = NULL;
out:
	rcu_read_unlock();
	return handle;
}

/**
 * tally_handle_known - a handle as its home calls it, without a reference
 * @s: session with the home
 * @arena: id of the arena
 * @id: id of the object
 * @generation: of that id
 *
 * Context: any; under RCU, or with the lock of its view.
 * Return: the handle, whose last reference may be gone already; NULL where
 * there is none, or it is just being opened.
 */
struct tally_handle *tally_handle_known(struct tally_session *s, u32 arena,
					u32 id, u32 generation)
{
	const struct tally_key key = {
		.home = s->peer_incarnation,
		.arena = arena,
		.object = id,
	};
	struct tally_handle *handle, *found = NULL;
	struct rhlist_head *at, *all;
	struct tally_known *known;

	rcu_read_lock();
	all = rhltable_lookup(&s->node->views->by_id, &key, known_ids);
	rhl_for_each_entry_rcu(known, at, id ? all : NULL, node) {
		handle = container_of(known, struct tally_handle, known);
		if (handle->generation != generation ||
		    READ_ONCE(handle->view->session) != s ||
		    READ_ONCE(handle->opening))
			continue;
		found = handle;
		if (!tally_view_final(READ_ONCE(handle->error)))
			break;
	}
	rcu_read_unlock();
	return found;
}

/**
 * tally_views_by_id - a handle as its home calls it
 * @s: session with the home
 * @arena: id of the arena
 * @id: id of the object
 * @generation: of that id
 *
 * Context: any.
 * Return: a reference, or NULL: there is none, or it is just being opened.
 */
struct tally_handle *tally_views_by_id(struct tally_session *s, u32 arena,
				       u32 id, u32 generation)
{
	struct tally_handle *handle;

	rcu_read_lock();
	handle = tally_handle_known(s, arena, id, generation);
	if (handle && !kref_get_unless_zero(&handle->ref))
		handle = NULL;
	rcu_read_unlock();
	return handle;
}

/**
 * tally_handle_alive - is it still the object of that name?
 * @handle: which
 *
 * Context: any.
 * Return: false when it can never be used again.
 */
bool tally_handle_alive(struct tally_handle *handle)
{
	return !tally_view_final(READ_ONCE(handle->error)) &&
	       tally_view_alive(handle->view);
}

/**
 * tally_handle_fail - a handle cannot be used any more
 * @handle: which
 * @err: why; -ENOTCONN until it is opened again, anything else for good
 *
 * Its users are told before the caller goes on.
 *
 * Context: process, no locks held.
 */
void tally_handle_fail(struct tally_handle *handle, int err)
{
	unsigned long flags;
	bool tell;

	spin_lock_irqsave(&handle->spin, flags);
	tell = !tally_view_final(handle->error) && handle->error != err;
	if (tell)
		WRITE_ONCE(handle->error, err);
	tell = tell && handle->made;
	spin_unlock_irqrestore(&handle->spin, flags);
	if (!tell)
		return;
	trace_tally_handle_error(handle->name, handle->id, err);
	if (handle->ops->error)
		handle->ops->error(handle, err);
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

/* Its release waits for us, so that no reference is needed. */
static void view_gone(struct tally_watch *watch)
{
	tally_view_fail(container_of(watch, struct tally_view, watch), -EIDRM);
}

/**
 * tally_view_create - a view that is attached to nothing yet
 * @node: of which; its views are locked
 * @home: name of the home
 * @name: name of the arena
 * @arena: the arena when it is ours, else NULL
 *
 * Return: a reference, or an error pointer.
 */
struct tally_view *tally_view_create(struct tally_node *node, const char *home,
				     const char *name,
				     struct tally_arena *arena)
{
	struct tally_view *view = kzalloc(sizeof(*view), GFP_KERNEL_ACCOUNT);
	struct tally_views *views = node->views;
	int err = -ENOMEM;

	lockdep_assert_held(&views->lock);
	if (!view)
		return ERR_PTR(err);
	kref_init(&view->ref);
	spin_lock_init(&view->spin);
	mutex_init(&view->lock);
	init_waitqueue_head(&view->wait);
	INIT_LIST_HEAD(&view->handles);
	INIT_LIST_HEAD(&view->early);
	strscpy(view->name, name, sizeof(view->name));
	strscpy(view->home, home, sizeof(view->home));
	view->error = -ENOTCONN;
	err = rhltable_init(&view->names, &handle_names);
	if (err)
		goto err_free;
	err = rhltable_insert(&views->by_name, &view->by_name, view_names);
	if (err)
		goto err_names;
	list_add_tail(&view->list, &views->list);
	view->node = tally_node_get(node);
	if (arena) {
		view->arena = tally_arena_get(arena);
		view->watch.gone = view_gone;
		tally_arena_watch(arena, &arena->watches, &view->watch);
	}
	return view;

err_names:
	rhltable_destroy(&view->names);
err_free:
	mutex_destroy(&view->lock);
	kfree(view);
	return ERR_PTR(err);
}
