// SPDX-License-Identifier: GPL-2.0
#include <linux/err.h>
#include <linux/slab.h>
#include "lock/client.h"
#include "base/name.h"
#include "region/region.h"
#include "client/view.h"
#include "session/session.h"

#define HANDLE_CLOSE_WAIT	(5 * HZ)

static void handle_unmake(struct tally_handle *handle)
{
	if (handle->type == TALLY_TYPE_LOCK)
		tally_lock_client_destroy(handle);
	else if (handle->type == TALLY_TYPE_REGION)
		tally_region_client_destroy(handle);
}

/**
 * tally_handle_fail - a handle cannot be used any more
 * @handle: which
 * @err: why; -ENOTCONN until it is opened again, anything else for good
 *
 * The users of a lock or region are told before the caller goes on.
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
	if (handle->type == TALLY_TYPE_LOCK)
		tally_lock_client_error(handle, err);
	else if (handle->type == TALLY_TYPE_REGION)
		tally_region_client_reset(handle);
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
 * tally_handle_try_enter - begin an operation without sleeping
 * @handle: which; the caller's reference stays until it has left
 *
 * Context: any.
 * Return: 0; -EAGAIN when it has to be opened again; the handle's error.
 */
int tally_handle_try_enter(struct tally_handle *handle)
{
	unsigned long flags;
	int err;

	spin_lock_irqsave(&handle->spin, flags);
	err = handle->error;
	if (!err)
		handle->inside++;
	spin_unlock_irqrestore(&handle->spin, flags);
	return err == -ENOTCONN ? -EAGAIN : err;
}

/**
 * tally_handle_leave - an operation has ended
 * @handle: which
 *
 * Context: any.
 */
void tally_handle_leave(struct tally_handle *handle)
{
	unsigned long flags;
	bool say;

	spin_lock_irqsave(&handle->spin, flags);
	WARN_ON_ONCE(!handle->inside);
	say = !--handle->inside && handle->forget;
	spin_unlock_irqrestore(&handle->spin, flags);
	/* Where the last reference is gone, the release sees to it. */
	if (!say || !kref_get_unless_zero(&handle->ref))
		return;
	if (!queue_work(handle->view->node->wq, &handle->forget_work))
		tally_handle_put(handle);
}

/**
 * tally_handle_doubt - an operation on the word ended unknown
 * @handle: which; the caller is inside
 *
 * Context: any.
 */
void tally_handle_doubt(struct tally_handle *handle)
{
	struct tally_view *view = handle->view;
	unsigned long flags;
	u32 link = 0;

	spin_lock_irqsave(&view->spin, flags);
	if (view->session)
		link = READ_ONCE(view->session->link_nr);
	spin_unlock_irqrestore(&view->spin, flags);
	spin_lock_irqsave(&handle->spin, flags);
	handle->doubt = link;
	spin_unlock_irqrestore(&handle->spin, flags);
}

/* Say FORGOTTEN if it is owed and nobody is inside. */
static void handle_say_forgotten(struct tally_handle *handle)
{
	struct tally_view *view = handle->view;
	struct tally_session *s;
	unsigned long flags;
	u32 doubt;
	bool say;

	spin_lock_irqsave(&handle->spin, flags);
	say = handle->forget && !handle->inside;
	if (say)
		handle->forget = false;
	doubt = handle->doubt;
	spin_unlock_irqrestore(&handle->spin, flags);
	if (!say)
		return;
	s = tally_view_session(view);
	if (!s)
		return;
	tally_views_owe(s, view->remote_id, handle->id, handle->generation,
			doubt);
	tally_session_put(s);
}

static void handle_forget_work(struct work_struct *work)
{
	struct tally_handle *handle = container_of(work, struct tally_handle,
						   forget_work);

	handle_say_forgotten(handle);
	tally_handle_put(handle);
}

/**
 * tally_handle_forget - the home wants this object forgotten
 * @handle: which, referenced and failed already; or, with view->lock held,
 *	one whose last reference is gone: its release sees to it
 *
 * Context: process.
 */
void tally_handle_forget(struct tally_handle *handle)
{
	unsigned long flags;
	bool dying = !kref_read(&handle->ref);

	spin_lock_irqsave(&handle->spin, flags);
	handle->forget = true;
	spin_unlock_irqrestore(&handle->spin, flags);
	if (!dying)
		handle_say_forgotten(handle);
}

/*
 * Where an operation of this link ended unknown, it may still be executed, and
 * nothing must be promised before the next link or the end of the session.
 */
static bool handle_without_doubt(struct tally_handle *handle,
				 struct tally_session *s)
{
	/* By then the link is back or the session is OVER. */
	struct tally_until until =
		tally_until(2 * msecs_to_jiffies(s->lease_ms));
	struct tally_view *view = handle->view;
	bool doubt;
	int err = 0;

	mutex_lock(&view->lock);
	do {
		doubt = view->session == s &&
			handle->doubt == READ_ONCE(s->link_nr);
		if (doubt)
			err = tally_view_wait(view, &until);
	} while (doubt && !err);
	mutex_unlock(&view->lock);
	return !doubt;
}

/* Tell the home that nobody here uses it. */
static bool handle_close(struct tally_handle *handle, struct tally_session *s)
{
	struct tally_until until = tally_until(HANDLE_CLOSE_WAIT);
	struct tally_wire_object body = {
		.arena = cpu_to_be32(handle->view->remote_id),
		.object = cpu_to_be32(handle->id),
		.generation = cpu_to_be32(handle->generation),
	};
	u32 len = 0;

	return !tally_view_ask(s, TALLY_MSG_CLOSE, &body, sizeof(body), NULL,
			       &len, &until);
}

static void handle_release_work(struct work_struct *work)
{
	struct tally_handle *handle = container_of(work, struct tally_handle,
						   release_work);
	struct tally_view *view = handle->view;
	struct tally_session *s;
	bool closed = false;

	if (handle->made)
		handle_unmake(handle);
	WARN_ON_ONCE(handle->inside);
	s = tally_view_session(view);
	if (s && !READ_ONCE(handle->error) && handle_without_doubt(handle, s))
		closed = handle_close(handle, s);
	mutex_lock(&view->lock);
	list_del(&handle->list);
	tally_view_changed(view);
	mutex_unlock(&view->lock);
	/* Out of the list: a FORGET that did not find it is answered at once. */
	if (s && handle->forget && !closed)
		tally_views_owe(s, view->remote_id, handle->id,
				handle->generation, handle->doubt);
	if (s)
		tally_session_put(s);
	if (handle->object) {
		tally_arena_unwatch(view->arena, &handle->watch);
		tally_object_put(handle->object);
	}
	kfree(handle->spare);
	kfree(handle);
	tally_view_put(view);
}

static void handle_gone(struct tally_watch *watch)
{
	struct tally_handle *handle = container_of(watch, struct tally_handle,
						   watch);

	if (!kref_get_unless_zero(&handle->ref))
		return;
	tally_handle_fail(handle, -EIDRM);
	tally_handle_put(handle);
}

static struct tally_handle *handle_alloc(struct tally_view *view,
					 const char *name)
{
	struct tally_handle *handle = kzalloc(sizeof(*handle),
					      GFP_KERNEL_ACCOUNT);

	if (!handle)
		return NULL;
	kref_init(&handle->ref);
	INIT_LIST_HEAD(&handle->watch.list);
	handle->watch.gone = handle_gone;
	spin_lock_init(&handle->spin);
	INIT_WORK(&handle->forget_work, handle_forget_work);
	INIT_WORK(&handle->release_work, handle_release_work);
	strscpy(handle->name, name, sizeof(handle->name));
	handle->view = tally_view_get(view);
	handle->error = -ENOTCONN;
	return handle;
}

/* A node that stops ends its sessions first: that is no mere lack of one. */
static int handle_why(struct tally_handle *handle, int err)
{
	if (err == -ENOTCONN && !tally_node_running(handle->view->node))
		return -ESHUTDOWN;
	return err;
}

/**
 * tally_handle_enter - begin an operation
 * @handle: which; the caller's reference stays until it has left
 * @timeout: in jiffies, MAX_SCHEDULE_TIMEOUT for none
 *
 * Where the session ended and the same start of the home has a new one, the
 * arena is attached to and the object opened again first.
 *
 * Context: process, sleeps, killable.
 * Return: 0 or the handle's error; -ETIMEDOUT, -EINTR.
 */
int tally_handle_enter(struct tally_handle *handle, long timeout)
{
	struct tally_until until = tally_until(timeout);
	int err;

	for (;;) {
		err = tally_handle_try_enter(handle);
		if (err != -EAGAIN)
			return err;
		err = tally_handle_open(handle, &until);
		if (err)
			return handle_why(handle, err);
	}
}

/*
 * The usable handle of that name, made if there is none; not opened yet. One
 * that is just being closed is waited for: CLOSE comes before the next OPEN.
 */
static struct tally_handle *handle_of_name(struct tally_view *view,
					   const char *name,
					   const struct tally_until *until)
{
	struct tally_handle *handle;
	int err;

	lockdep_assert_held(&view->lock);
again:
	list_for_each_entry(handle, &view->handles, list) {
		if (tally_view_final(READ_ONCE(handle->error)) ||
		    strcmp(handle->name, name))
			continue;
		if (kref_get_unless_zero(&handle->ref))
			return handle;
		err = tally_view_wait(view, until);
		if (err)
			return ERR_PTR(err);
		goto again;
	}
	if (tally_view_final(view->error))
		return ERR_PTR(view->error);
	handle = handle_alloc(view, name);
	if (!handle)
		return ERR_PTR(-ENOMEM);
	list_add_tail(&handle->list, &view->handles);
	return handle;
}

/**
 * tally_handle_find - find an object by name
 * @view: its arena
 * @name: its name
 * @timeout: in jiffies, MAX_SCHEDULE_TIMEOUT for none
 *
 * Context: process, sleeps, killable.
 * Return: a reference, or an error pointer: -ENOENT, -EDQUOT and the errors
 * of tally_view_find().
 */
struct tally_handle *tally_handle_find(struct tally_view *view,
				       const char *name, long timeout)
{
	struct tally_until until = tally_until(timeout);
	struct tally_handle *handle;
	int err;

	if (!tally_name_valid(name, strlen(name)))
		return ERR_PTR(-ENOENT);
	/* A handle of an object that is gone is replaced. */
	do {
		mutex_lock(&view->lock);
		handle = handle_of_name(view, name, &until);
		mutex_unlock(&view->lock);
		if (IS_ERR(handle))
			return handle;
		err = tally_handle_open(handle, &until);
		if (!err)
			return handle;
		tally_handle_put(handle);
	} while (err == -EIDRM && tally_view_alive(view));
	return ERR_PTR(err);
}

/**
 * tally_handle_conn - conn and address for operations on the word
 * @handle: which; the caller is inside
 * @addr: gets the address of its first word
 * @rkey: gets the key
 *
 * Context: any.
 * Return: a reference, or NULL while there is no way.
 */
struct tally_conn *tally_handle_conn(struct tally_handle *handle, u64 *addr,
				     u32 *rkey)
{
	struct tally_view *view = handle->view;
	struct tally_conn *conn = NULL;
	unsigned long flags;

	if (view->arena) {
		conn = tally_arena_loop(view->arena);
		*addr = tally_arena_loop_addr(view->arena, handle->word, rkey);
		return conn;
	}
	spin_lock_irqsave(&view->spin, flags);
	if (view->session && view->reach == TALLY_REACH_LANE)
		conn = tally_session_lane(view->session, handle->hash);
	*addr = view->addr + handle->word;
	*rkey = view->rkey;
	spin_unlock_irqrestore(&view->spin, flags);
	return conn;
}

/**
 * tally_handle_no_conn - why there is no way to the word
 * @handle: which
 *
 * Context: any.
 * Return: the handle's error, -ENETDOWN (own device gone), -ENOTCONN, or
 * -ESHUTDOWN when the node is being stopped.
 */
int tally_handle_no_conn(struct tally_handle *handle)
{
	int err = READ_ONCE(handle->error);

	if (err)
		return handle_why(handle, err);
	return handle->view->arena ? -ENETDOWN : handle_why(handle, -ENOTCONN);
}
