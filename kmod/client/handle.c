// SPDX-License-Identifier: GPL-2.0
#include "client/handle.h"

#include <linux/err.h>
#include <linux/jhash.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include "base/delay.h"
#include "base/name.h"
#include "base/trace.h"
#include "client/attach.h"
#include "client/idle.h"
#include "client/owed.h"
#include "object/wire.h"
#include "session/session.h"

#define HANDLE_CLOSE_WAIT	(5 * HZ)
/* A home that says something all the time is not waited for. */
#define HANDLE_TRIES		4

static int handle_make(struct tally_handle *handle,
		       const struct tally_rep_open *rep)
{
	struct tally_view *view = handle->view;
	struct tally_key key = view->known.key;
	unsigned long flags;
	int err = 0;

	handle->id = be32_to_cpu(rep->object);
	handle->generation = be32_to_cpu(rep->generation);
	handle->word = be32_to_cpu(rep->word);
	handle->size = be64_to_cpu(rep->size);
	handle->ops = tally_type(rep->type);
	handle->hash = jhash_3words(view->remote_id, handle->id,
				    handle->word, 0);
	if (handle->ops->attach)
		err = handle->ops->attach(handle, rep);
	if (err)
		return err;
	key.object = handle->id;
	if (!handle->object)
		err = tally_views_know(view->node, &handle->known, key);
	if (err) {
		if (handle->ops->release)
			handle->ops->release(handle);
		handle->part = NULL;
		return err;
	}
	if (handle->ops->spare && !handle->object)
		tally_idle_add(handle);
	spin_lock_irqsave(&handle->spin, flags);
	WRITE_ONCE(handle->made, true);
	spin_unlock_irqrestore(&handle->spin, flags);
	return 0;
}

/* It can be used from here on, unless something came between. */
static int handle_opened(struct tally_handle *handle, struct tally_session *s,
			 const int *missed)
{
	struct tally_view *view = handle->view;
	unsigned long flags;
	int err;

	lockdep_assert_held(&view->lock);
	if (view->session != s)
		return -ENOTCONN;
	if (view->error)	/* without a final one it is to be attached again */
		return tally_view_final(view->error) ? view->error : -EAGAIN;
	if (tally_early_find(view, handle->id, handle->generation) ||
	    (handle->object && READ_ONCE(handle->object->deleted)))
		return -EIDRM;
	WRITE_ONCE(handle->opening, false);
	/* What the home says finds it from here on, or was counted before. */
	smp_mb();
	if (missed && atomic_read(&s->missed) != *missed) {
		WRITE_ONCE(handle->opening, true);
		return -EAGAIN;
	}
	spin_lock_irqsave(&handle->spin, flags);
	err = tally_view_final(handle->error) ? handle->error : 0;
	if (!err)	/* what it was made of is seen by those that enter */
		smp_store_release(&handle->error, 0);
	spin_unlock_irqrestore(&handle->spin, flags);
	return err;
}

/*
 * The first time it becomes that object, later it must still be that one.
 * Only the opener does this, so nothing else changes the handle meanwhile;
 * FORGET leaves alone what is being opened. @s: NULL: it is ours.
 */
static int handle_become(struct tally_handle *handle, struct tally_session *s,
			 const struct tally_rep_open *rep, const int *missed)
{
	int err = 0;

	if (!handle->made)
		err = handle_make(handle, rep);
	else if (handle->id != be32_to_cpu(rep->object) ||
		 handle->generation != be32_to_cpu(rep->generation) ||
		 handle->word != be32_to_cpu(rep->word) ||
		 handle->size != be64_to_cpu(rep->size) ||
		 handle->ops->id != rep->type)
		err = -EIDRM;
	else if (handle->ops->attach)
		err = handle->ops->attach(handle, rep);
	if (err)
		return err;
	guard(mutex)(&handle->view->lock);
	return handle_opened(handle, s, missed);
}

static void handle_gone(struct tally_watch *watch)
{
	struct tally_handle *handle = container_of(watch, struct tally_handle,
						   watch);

	/* Its release waits for us. */
	if (!kref_get_unless_zero(&handle->ref))
		return;
	tally_handle_fail(handle, -EIDRM);
	tally_handle_put(handle);
}

/* What a try before this one left behind gives way, unless it was used. */
static void handle_take_object(struct tally_handle *handle,
			       struct tally_object *object)
{
	struct tally_object *old = handle->object;

	if (handle->made || old == object) {
		tally_object_put(object);
		return;
	}
	if (old) {
		tally_arena_unwatch(handle->view->arena, &handle->watch);
		tally_object_put(old);
	}
	handle->object = object;
	handle->watch.gone = handle_gone;
	tally_arena_watch(object->arena, &object->watches, &handle->watch);
}

static int handle_open_local(struct tally_handle *handle)
{
	struct tally_arena *arena = handle->view->arena;
	struct tally_object *object = tally_object_find(arena, handle->name);
	struct tally_rep_open rep;

	if (!object)
		return -ENOENT;
	scoped_guard(mutex, &arena->lock)
		tally_object_fill(object, NULL, &rep);
	handle_take_object(handle, object);
	return handle_become(handle, NULL, &rep, NULL);
}

static bool reply_valid(const struct tally_view *view,
			const struct tally_rep_open *rep, u32 len)
{
	const struct tally_type_ops *ops = tally_type(rep->type);
	u32 word = be32_to_cpu(rep->word);

	return len == sizeof(*rep) && rep->object && !rep->reserved &&
	       IS_ALIGNED(word, TALLY_ENTRY_SIZE) &&
	       word <= view->words - TALLY_ENTRY_SIZE &&
	       ops && (!ops->valid || ops->valid(rep));
}

static int handle_open_session(struct tally_handle *handle,
			       struct tally_session *s,
			       const struct tally_until *until,
			       const int *missed)
{
	struct tally_view *view = handle->view;
	struct tally_msg_open body = {
		.arena = cpu_to_be32(view->remote_id),
	};
	struct tally_rep_open rep;
	u32 len = sizeof(rep);
	int err;

	strscpy(body.object, handle->name, sizeof(body.object));
	err = tally_view_ask(s, TALLY_MSG_OPEN, &body, sizeof(body), &rep,
			     &len, until);
	if (err == -EIDRM)
		tally_view_fail(view, err);	/* the whole arena is gone */
	if (err == -ENOTCONN && READ_ONCE(view->error) == err &&
	    READ_ONCE(view->session) == s)
		return -EAGAIN;	/* rights changed since it was attached */
	if (err)
		return err;
	tally_delay(OPENED);
	if (!reply_valid(view, &rep, len)) {
		tally_session_violation(s, "malformed answer to OPEN");
		return -EPROTO;
	}
	return handle_become(handle, s, &rep, missed);
}

static int handle_open_remote(struct tally_handle *handle,
			      const struct tally_until *until)
{
	struct tally_view *view = handle->view;
	struct tally_session *s = tally_view_session(view);
	int err, tries = HANDLE_TRIES, missed;

	if (!s)
		return -ENOTCONN;
	/* What the home says between its answer and the end finds no handle. */
	do {
		missed = atomic_read(&s->missed);
		smp_rmb();	/* before the answer */
		err = handle_open_session(handle, s, until,
					  --tries ? &missed : NULL);
	} while (err == -EAGAIN && tries);
	trace_tally_handle_open(s->id, handle->name, view->remote_id,
				handle->id, err);
	tally_session_put(s);
	/* It had an id here, and now the name is free. */
	if (err == -ENOENT && handle->made)
		err = -EIDRM;
	return err;
}

/* A node that stops ends its sessions first: that is no mere lack of one. */
static int handle_why(struct tally_view *view, int err)
{
	if (err == -ENOTCONN && !tally_node_running(view->node))
		return -ESHUTDOWN;
	return err;
}

static int handle_open_once(struct tally_handle *handle,
			    const struct tally_until *until)
{
	struct tally_view *view = handle->view;
	int err = READ_ONCE(handle->error);

	if (err != -ENOTCONN)
		return err;
	/* Not while it counts as opening: the home may wait for the end of that. */
	err = tally_view_attach(view, false, until);
	if (err == -EIDRM)
		tally_handle_fail(handle, err);
	if (err)
		return err;
	mutex_lock(&view->lock);
	while (handle->opening && !err)
		err = tally_view_wait(view, until);
	if (err || READ_ONCE(handle->error) != -ENOTCONN) {
		err = err ? err : READ_ONCE(handle->error);
		mutex_unlock(&view->lock);
		return err;
	}
	WRITE_ONCE(handle->opening, true);
	view->opening++;
	mutex_unlock(&view->lock);

	err = view->arena ? handle_open_local(handle) :
			    handle_open_remote(handle, until);
	if (err == -EIDRM)
		tally_handle_fail(handle, err);

	mutex_lock(&view->lock);
	/* handle_opened() has done it, and another may be opening it by now. */
	if (err)
		WRITE_ONCE(handle->opening, false);
	if (!--view->opening)
		tally_early_settle(view);
	tally_view_changed(view);
	mutex_unlock(&view->lock);
	return err;
}

/* Its home has no room for what we have open. */
static bool handle_make_room(struct tally_handle *handle,
			     const struct tally_until *until)
{
	struct tally_session *s = tally_view_session(handle->view);
	bool some = s && tally_idle_close(s, until);

	tally_session_put(s);
	return some;
}

/**
 * tally_handle_open - open a handle (again) unless it is open
 * @handle: which
 * @until: when to give up
 *
 * One caller does it, the others wait for the outcome.
 *
 * Context: process, sleeps, killable.
 * Return: 0 or the handle's error; -ENOENT, -EACCES, -EDQUOT, -ETIMEDOUT,
 * -EINTR, …
 */
int tally_handle_open(struct tally_handle *handle,
		      const struct tally_until *until)
{
	int err, tries = HANDLE_TRIES;

	/* With other rights than those it was attached with: attaching waits. */
	do
		err = handle_open_once(handle, until);
	while (err == -EAGAIN ||
	       (err == -EDQUOT && --tries && handle_make_room(handle, until)));
	return err;
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
	int err;

	atomic_inc(&handle->inside);
	/* What sets the error and then looks inside sees us, or we the error. */
	smp_mb__after_atomic();
	/* Pairs with handle_opened(). */
	err = smp_load_acquire(&handle->error);
	if (err)
		tally_handle_leave(handle);
	return err == -ENOTCONN ? -EAGAIN : err;
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
			return handle_why(handle->view, err);
	}
}

/* False when nobody can be that. */
static bool stat_take(const struct tally_rep_stat *rep,
		      struct tally_owner *owner)
{
	owner->uid = make_kuid(&init_user_ns, be32_to_cpu(rep->uid));
	owner->gid = make_kgid(&init_user_ns, be32_to_cpu(rep->gid));
	owner->perm = be32_to_cpu(rep->perm) & 0777;
	owner->changed = be64_to_cpu(rep->changed);
	return uid_valid(owner->uid) && gid_valid(owner->gid) &&
	       owner->perm == be32_to_cpu(rep->perm) && !rep->reserved;
}

static int stat_remote(struct tally_view *view, struct tally_handle *handle,
		       struct tally_owner *owner,
		       const struct tally_until *until)
{
	struct tally_session *s = tally_view_session(view);
	struct tally_wire_object body = {
		.arena = cpu_to_be32(view->remote_id),
	};
	struct tally_rep_stat rep;
	u32 len = sizeof(rep);
	int err;

	if (!s)
		return -ENOTCONN;
	if (handle)
		body = tally_handle_wire(handle);
	err = tally_view_ask(s, TALLY_MSG_STAT, &body, sizeof(body), &rep,
			     &len, until);
	if (!err && (len != sizeof(rep) || !stat_take(&rep, owner))) {
		tally_session_violation(s, "malformed answer to STAT");
		err = -EPROTO;
	}
	/* Rights changed since it was opened, or attached. */
	if (err == -ENOTCONN && READ_ONCE(view->session) == s &&
	    READ_ONCE(*(handle ? &handle->error : &view->error)) == err)
		err = -EAGAIN;
	tally_session_put(s);
	return err;
}

/**
 * tally_handle_stat - whose an object or arena is, as its home has it now
 * @view: the arena
 * @handle: an object of it, or NULL
 * @owner: gets it
 * @until: when to give up
 *
 * Context: process, sleeps, killable.
 * Return: 0 or the error of the view or handle; -EACCES, -ETIMEDOUT, -EINTR.
 */
int tally_handle_stat(struct tally_view *view, struct tally_handle *handle,
		      struct tally_owner *owner,
		      const struct tally_until *until)
{
	int err;

	if (view->arena) {
		guard(mutex)(&view->arena->lock);
		*owner = handle ? handle->object->config.owner :
				  view->arena->config.owner;
		return 0;
	}
	/* Not inside: FORGOTTEN waits for what is. */
	do {
		err = handle ? tally_handle_open(handle, until) :
			       tally_view_attach(view, false, until);
		err = err ?: stat_remote(view, handle, owner, until);
	} while (err == -EAGAIN);
	return handle_why(view, err);
}

/* An operation has ended. Context: any. */
void tally_handle_leave(struct tally_handle *handle)
{
	int left = atomic_dec_return(&handle->inside);

	WARN_ON_ONCE(left < 0);
	/* Where the last reference is gone, the release sees to it. */
	if (!left && READ_ONCE(handle->forget) &&
	    kref_get_unless_zero(&handle->ref) &&
	    !queue_work(handle->view->node->wq, &handle->forget_work))
		tally_handle_put(handle);
}

/**
 * tally_handle_op_failed - an operation that is still inside has failed
 * @handle: which
 * @err: how: -EREMOTEIO, it is unknown; -EACCES, the key is void, and as no right is
 *	lost that way, only a new session brings another; anything else, or 0: nothing
 *
 * Context: any.
 */
void tally_handle_op_failed(struct tally_handle *handle, int err)
{
	struct tally_session *s = NULL;

	if (err == -EREMOTEIO || err == -EACCES)
		s = tally_view_session(handle->view);
	if (s && err == -EREMOTEIO)
		WRITE_ONCE(handle->doubt, READ_ONCE(s->link_nr));
	else if (s)
		tally_session_fence(s, -EKEYREVOKED);
	tally_session_put(s);
}

/* Say FORGOTTEN if it is owed and no operation is inside. */
static void handle_say_forgotten(struct tally_handle *handle)
{
	struct tally_view *view = handle->view;
	struct tally_owed *owed = NULL;
	struct tally_session *s;
	unsigned long flags;

	spin_lock_irqsave(&handle->spin, flags);
	/* Error and @forget are set: what is still inside will see to it. */
	smp_mb();
	if (!atomic_read(&handle->inside))
		swap(owed, handle->forget);
	spin_unlock_irqrestore(&handle->spin, flags);
	if (!owed)
		return;
	s = tally_view_session(view);
	if (!s) {
		kfree(owed);
		return;
	}
	tally_owed_queue(owed, s, view->remote_id, READ_ONCE(handle->doubt));
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
 * @owed: the answer, taken over
 *
 * Context: process.
 */
void tally_handle_forget(struct tally_handle *handle, struct tally_owed *owed)
{
	unsigned long flags;
	bool dying = !kref_read(&handle->ref);

	spin_lock_irqsave(&handle->spin, flags);
	swap(handle->forget, owed);
	spin_unlock_irqrestore(&handle->spin, flags);
	kfree(owed);	/* asked for twice */
	if (!dying)
		handle_say_forgotten(handle);
}

/*
 * Tell the home that this node uses it no more. The name is not opened again before
 * it is known what became of that: a CLOSE that the home does late would end what was
 * opened after it, so a home that does not answer loses the session. Return: 0;
 * -ENOTCONN, -ENOMEM: it was not told; or another errno.
 */
static int handle_close(struct tally_handle *handle, struct tally_session *s)
{
	long timeout = max_t(long, HANDLE_CLOSE_WAIT,
			     2 * msecs_to_jiffies(s->lease_ms));
	struct tally_wire_object body = tally_handle_wire(handle);
	u32 len = 0;
	int err;

	err = tally_session_call(s, TALLY_MSG_CLOSE, &body, sizeof(body), NULL,
				 &len, timeout);
	/* It was sent; -ETIMEDOUT would be that it was not. */
	if (err == -EREMOTEIO && READ_ONCE(s->state) != TALLY_SESSION_OVER)
		tally_session_fence(s, -ETIMEDOUT);
	return err;
}

/* Nothing of it is left at its home, or @told: its home knows. */
static void handle_end(struct tally_handle *handle, bool told)
{
	struct tally_view *view = handle->view;
	struct tally_session *s = tally_view_session(view);

	mutex_lock(&view->lock);
	tally_handle_del(handle);
	tally_view_changed(view);
	mutex_unlock(&view->lock);
	if (handle->closing_in)
		atomic_dec(&view->node->views->closing);
	tally_idle_closed(handle);
	/* Out of the tables: FORGET that does not find it is answered. */
	if (s && handle->forget && !told)
		tally_owed_queue(handle->forget, s, view->remote_id,
				 handle->doubt);
	else
		kfree(handle->forget);
	tally_session_put(s);
	if (handle->object)
		tally_object_put(handle->object);
	kfree_rcu(handle, rcu);
	tally_view_put(view);
}

/* With view->lock: the session whose home has to be told, or NULL. */
static struct tally_session *handle_open_in(const struct tally_handle *handle)
{
	struct tally_session *s = handle->view->session;

	return s && s->id == handle->closing_in && !READ_ONCE(handle->error) ?
	       s : NULL;
}

/*
 * With view->lock: one that can be closed, or whose home has nothing of it any more.
 * Where an operation of this link ended unknown, it may still be executed, and nothing
 * must be promised before the next link or the end of the session.
 */
static struct tally_handle *view_closable(struct tally_view *view)
{
	struct tally_handle *handle;
	struct tally_session *s;

	list_for_each_entry(handle, &view->closing, closing) {
		s = handle_open_in(handle);
		if (!s || (tally_session_is_live(s) &&
			   handle->doubt != READ_ONCE(s->link_nr)))
			return handle;
	}
	return NULL;
}

/* Takes it out of view->closing. @s: gets the session to tell, referenced, or NULL. */
static struct tally_handle *view_close_next(struct tally_view *view,
					    struct tally_session **s)
{
	struct tally_handle *handle;

	guard(mutex)(&view->lock);
	handle = view_closable(view);
	if (!handle)
		return NULL;
	list_del_init(&handle->closing);
	*s = handle_open_in(handle);
	if (*s)
		tally_session_get(*s);
	return handle;
}

/* There was no memory, or the link broke before it was told, which may not show yet. */
static void handle_close_later(struct tally_handle *handle)
{
	schedule_timeout_uninterruptible(1);
	guard(mutex)(&handle->view->lock);
	list_add(&handle->closing, &handle->view->closing);
}

/*
 * One after the other, so that a home which does not answer holds up nothing but
 * this. What has to wait for a link waits in the list.
 */
static void view_close_work(struct work_struct *work)
{
	struct tally_view *view = container_of(work, struct tally_view,
					       close_work);
	struct tally_handle *handle;
	struct tally_session *s;
	int err;

	while ((handle = view_close_next(view, &s))) {
		err = s ? handle_close(handle, s) : -ESHUTDOWN;
		tally_session_put(s);
		if (err == -ENOTCONN || err == -ENOMEM)
			handle_close_later(handle);
		else
			handle_end(handle, !err);
	}
	tally_view_put(view);
}

static void handle_release_work(struct work_struct *work)
{
	struct tally_handle *handle = container_of(work, struct tally_handle,
						   release_work);
	struct tally_view *view = handle->view;
	struct tally_session *s;

	if (handle->object)
		tally_arena_unwatch(view->arena, &handle->watch);
	/* A look at it has ended then, which asks its type. */
	if (handle->made && handle->ops->spare && !handle->object)
		tally_idle_del(handle);
	if (handle->made && handle->ops->release)
		handle->ops->release(handle);
	WARN_ON_ONCE(atomic_read(&handle->inside));
	s = tally_view_session(view);
	if (!s || READ_ONCE(handle->error)) {
		tally_session_put(s);
		handle_end(handle, false);
		return;
	}
	handle->closing_in = s->id;
	atomic_inc(&view->node->views->closing);
	tally_session_put(s);
	tally_view_get(view);
	mutex_lock(&view->lock);
	list_add_tail(&handle->closing, &view->closing);
	tally_view_close(view);
	mutex_unlock(&view->lock);
	/* By now it may be gone. */
	tally_view_put(view);
}

static struct tally_handle *handle_create(struct tally_view *view,
					  const char *name)
{
	struct tally_handle *handle = kzalloc(sizeof(*handle),
					      GFP_KERNEL_ACCOUNT);
	int err;

	if (!handle)
		return ERR_PTR(-ENOMEM);
	kref_init(&handle->ref);
	spin_lock_init(&handle->spin);
	INIT_LIST_HEAD(&handle->idle);
	INIT_LIST_HEAD(&handle->closing);
	if (!view->close_work.func)
		INIT_WORK(&view->close_work, view_close_work);
	INIT_WORK(&handle->forget_work, handle_forget_work);
	INIT_WORK(&handle->release_work, handle_release_work);
	strscpy(handle->name, name, sizeof(handle->name));
	handle->view = view;
	handle->error = -ENOTCONN;
	err = tally_handle_add(handle);
	if (err) {
		kfree(handle);
		return ERR_PTR(err);
	}
	tally_view_get(view);
	return handle;
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
	while ((handle = tally_handle_named(view, name))) {
		if (kref_get_unless_zero(&handle->ref))
			return handle;
		/* Before others that nobody waits for. */
		if (!list_empty(&handle->closing))
			list_move(&handle->closing, &view->closing);
		err = tally_view_wait(view, until);
		if (err)
			return ERR_PTR(err);
	}
	if (tally_view_final(view->error))
		return ERR_PTR(view->error);
	return handle_create(view, name);
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
		scoped_guard(mutex, &view->lock)
			handle = handle_of_name(view, name, &until);
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
	return handle_why(handle->view, READ_ONCE(handle->error) ?:
			  (handle->view->arena ? -ENETDOWN : -ENOTCONN));
}
