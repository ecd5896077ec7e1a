// SPDX-License-Identifier: GPL-2.0
#include "client/view.h"

#include <linux/err.h>
#include <linux/slab.h>
#include "base/ref.h"
#include "base/trace.h"
#include "object/wire.h"
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

/* Make the views of a node that starts. 0 or a negative errno. */
int tally_views_start(struct tally_node *node)
{
	struct tally_views *views = kzalloc(sizeof(*views), GFP_KERNEL);
	int err;

	if (!views)
		return -ENOMEM;
	err = rhltable_init(&views->by_name, &view_names);
	if (err)
		goto err_free;
	err = rhltable_init(&views->by_id, &known_ids);
	if (err)
		goto err_names;
	mutex_init(&views->lock);
	INIT_LIST_HEAD(&views->list);
	mutex_init(&views->owed_lock);
	INIT_LIST_HEAD(&views->owed);
	node->views = views;
	return 0;

err_names:
	rhltable_destroy(&views->by_name);
err_free:
	kfree(views);
	return err;
}

/* A node ends, its sessions are OVER: nothing of it can be used any more. */
void tally_views_stop(struct tally_node *node)
{
	struct tally_views *views = node->views;
	struct tally_view *view = NULL;

	scoped_guard(mutex, &views->lock)
		views->stopped = true;
	while ((view = tally_view_next(node, view)))
		tally_view_fail(view, -ESHUTDOWN);
}

/* The last reference to the node is gone. */
void tally_views_free(struct tally_node *node)
{
	struct tally_views *views = node->views;

	if (!views)
		return;
	rhltable_destroy(&views->by_name);
	rhltable_destroy(&views->by_id);
	mutex_destroy(&views->lock);
	mutex_destroy(&views->owed_lock);
	kfree(views);
	node->views = NULL;
}

/*
 * Wait until something of a view changes. Its lock is given up meanwhile.
 * Return: 0, -ETIMEDOUT, -EINTR when killed.
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

/* Look what of view->closing can be closed now. Any context. */
void tally_view_close(struct tally_view *view)
{
	tally_view_get(view);
	if (!queue_work(view->node->wait_wq, &view->close_work))
		tally_view_put(view);
}

/* Something changed that callers may wait for. */
void tally_view_changed(struct tally_view *view)
{
	lockdep_assert_held(&view->lock);
	WRITE_ONCE(view->changes, view->changes + 1);
	wake_up_all(&view->wait);
	/* What waits for a link to be closed on, or for the end of the session. */
	if (!list_empty(&view->closing))
		tally_view_close(view);
}

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
	tally_session_put(view->session);
	tally_arena_put(view->arena);
	tally_node_put(view->node);
	mutex_destroy(&view->lock);
	kfree_rcu(view, rcu);
}

/* NULL is allowed. Context: process. */
void tally_view_put(struct tally_view *view)
{
	if (view)
		kref_put(&view->ref, view_release);
}

/*
 * Walk the views of a node: puts @prev, which is NULL to begin. Return a
 * reference, or NULL at the end. Context: process.
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
	tally_view_put(prev);
	return view;
}

/* A view as its home calls it, referenced, or NULL. */
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
		/* One that is being freed may stand beside its successor. */
		if (READ_ONCE(view->session) != s || !kref_read(&view->ref))
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

/* From now on it is found by what its home calls it. 0 or a negative errno. */
int tally_views_know(struct tally_node *node, struct tally_known *known,
		     struct tally_key key)
{
	int err;

	known->key = key;
	err = rhltable_insert(&node->views->by_id, &known->node, known_ids);
	if (err)
		known->key = (struct tally_key){};
	return err;
}

/* Is it still the arena of that name? If not, it can never be used again. */
bool tally_view_alive(struct tally_view *view)
{
	return !tally_view_final(READ_ONCE(view->error));
}

/*
 * The session with the home, referenced; NULL when it is ours or the session is
 * OVER. Context: any.
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

struct tally_handle *tally_handle_get(struct tally_handle *handle)
{
	kref_get(&handle->ref);
	return handle;
}

static void handle_release(struct kref *ref)
{
	struct tally_handle *handle = container_of(ref, typeof(*handle), ref);

	queue_work(handle->view->node->wait_wq, &handle->release_work);
}

/*
 * Closed and freed later, from the node's workqueue, when it was the last
 * reference. NULL is allowed. Context: any.
 */
void tally_handle_put(struct tally_handle *handle)
{
	if (handle)
		kref_put(&handle->ref, handle_release);
}

/* As tally_view_next(), without view->lock. */
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
	tally_handle_put(prev);
	return handle;
}

/* Put a new handle, with a name, into its view. 0 or a negative errno. */
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

/* Take a handle whose last reference is gone out of its view. */
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

/*
 * A handle that may be usable, by its name, whose last reference may be gone
 * already; or NULL.
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

/* As tally_handle_known(), with a reference. Context: any. */
struct tally_handle *
tally_views_by_id(struct tally_session *s,
		  const struct tally_wire_object *which)
{
	return tally_find_get(struct tally_handle,
			      tally_handle_known(s, be32_to_cpu(which->arena),
						 be32_to_cpu(which->object),
						 be32_to_cpu(which->generation)));
}

/* What its home calls it, in a message. */
struct tally_wire_object tally_handle_wire(const struct tally_handle *handle)
{
	return (struct tally_wire_object){
		.arena = cpu_to_be32(handle->view->remote_id),
		.object = cpu_to_be32(handle->id),
		.generation = cpu_to_be32(handle->generation),
	};
}

/* Is it still the object of that name? If not, it can never be used again. */
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

	scoped_guard(mutex, &view->lock) {
		if (tally_view_final(view->error))
			return;
		WRITE_ONCE(view->error, err);
		tally_view_changed(view);
	}
	while ((handle = tally_handle_next(view, handle)))
		tally_handle_fail(handle, err);
}

/* Its release waits for us, so that no reference is needed. */
static void view_gone(struct tally_watch *watch)
{
	tally_view_fail(container_of(watch, struct tally_view, watch), -EIDRM);
}

/* The usable view of that arena, if there is one, referenced. */
static struct tally_view *view_named(struct tally_views *views,
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

static struct tally_view *view_create(struct tally_node *node,
				      const char *home, const char *name,
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
	INIT_LIST_HEAD(&view->closing);
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
	kfree(view);
	return ERR_PTR(err);
}

/**
 * tally_view_of - the usable view of an arena, made if there is none
 * @node: our node
 * @home: name of the home
 * @name: name of the arena
 * @arena: the arena when it is ours, else NULL
 *
 * Context: process.
 * Return: a reference to a view that may have to be attached yet, or an error
 * pointer.
 */
struct tally_view *tally_view_of(struct tally_node *node, const char *home,
				 const char *name, struct tally_arena *arena)
{
	struct tally_views *views = node->views;

	guard(mutex)(&views->lock);
	if (views->stopped)
		return ERR_PTR(-ESHUTDOWN);
	return view_named(views, home, name, arena) ?:
	       view_create(node, home, name, arena);
}
