// SPDX-License-Identifier: GPL-2.0
/* Locks for their users, and what sessions mean to them. */
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include "lockrun.h"
#include "lockwire.h"
#include "trace.h"

/* Inside the handle: let the table stand in the session there is now. */
static int lock_bind(struct tally_lock_client *c)
{
	struct tally_view *view = c->handle->view;
	struct tally_session *s = NULL, *old = NULL;
	u16 slot = TALLY_SLOT_HOME;
	unsigned long flags;
	bool word;

	if (view->access != TALLY_ACCESS_RW)
		return -EACCES;
	if (!tally_lock_ours(c)) {
		s = tally_view_session(view);
		if (!s)
			return -ENOTCONN;
		slot = s->my_slot;
	}
	word = (view->reach == TALLY_REACH_LANE ||
		view->reach == TALLY_REACH_LOOP) &&
	       slot <= TALLY_LW_BIT_SLOT_MAX;
	spin_lock_irqsave(&c->lock, flags);
	if (c->lc.st == TALLY_LC_DEAD && !tally_lc_busy(&c->lc) &&
	    (s ? c->session != s : !c->error)) {
		tally_lc_init(&c->lc, slot, word,
			      !s || tally_session_is_live(s));
		c->error = 0;
		old = c->session;
		c->session = s;
		s = NULL;
	}
	spin_unlock_irqrestore(&c->lock, flags);
	if (old)
		tally_session_put(old);
	if (s)
		tally_session_put(s);
	return 0;
}

/**
 * tally_lock_req_init - prepare a request
 * @req: owned by the caller
 * @handle: the lock; the caller keeps a reference while it uses @req
 */
void tally_lock_req_init(struct tally_lock_req *req,
			 struct tally_handle *handle)
{
	memset(req, 0, sizeof(*req));
	INIT_LIST_HEAD(&req->list);
	init_completion(&req->wake);
	req->handle = handle;
}

static int lock_enqueue(struct tally_lock_req *req, bool try)
{
	struct tally_lock_client *c = req->handle->lock;
	unsigned long flags;

	req->pid = task_tgid_nr(current);
	get_task_comm(req->comm, current);
	req->try = try;
	spin_lock_irqsave(&c->lock, flags);
	if (req->state == TALLY_LOCK_REQ_HELD ||
	    req->state == TALLY_LOCK_REQ_WAITING) {
		spin_unlock_irqrestore(&c->lock, flags);
		return -EDEADLK;
	}
	if (!c->pinned) {
		c->pinned = true;
		tally_handle_get(req->handle);
	}
	req->status = 0;
	req->state = TALLY_LOCK_REQ_WAITING;
	reinit_completion(&req->wake);
	if (try && (c->inside || c->wanted || !list_empty(&c->queue)))
		tally_lock_req_end(req, -EWOULDBLOCK);
	else
		list_add_tail(&req->list, &c->queue);
	spin_unlock_irqrestore(&c->lock, flags);
	tally_lock_run(c);
	return 0;
}

static int lock_result(struct tally_lock_req *req)
{
	return req->state == TALLY_LOCK_REQ_HELD ? 0 : req->status;
}

/* The caller does not wait any longer; the answer may have come just now. */
static int lock_give_up(struct tally_lock_req *req, int why)
{
	struct tally_lock_client *c = req->handle->lock;
	unsigned long flags;

	spin_lock_irqsave(&c->lock, flags);
	if (!list_empty(&req->list)) {
		list_del_init(&req->list);
		tally_lock_req_end(req, why);
	} else if (c->wanted == req) {
		req->status = why;
		c->cancel = true;
	}
	spin_unlock_irqrestore(&c->lock, flags);
	tally_lock_run(c);
	wait_for_completion(&req->wake);
	if (why == -EINTR && req->state == TALLY_LOCK_REQ_HELD) {
		tally_lock_release(req);
		return -EINTR;
	}
	return lock_result(req);
}

static long lock_wait(struct tally_lock_req *req, long timeout)
{
	if (req->interruptible)
		return wait_for_completion_interruptible_timeout(&req->wake,
								 timeout);
	return wait_for_completion_killable_timeout(&req->wake, timeout);
}

/**
 * tally_lock_acquire - get the lock
 * @req: request, prepared with tally_lock_req_init() or released
 * @try: do not wait for anybody
 * @timeout: jiffies, MAX_SCHEDULE_TIMEOUT for none
 *
 * Context: process; sleeps, killable; or, if @req says so, any signal ends it.
 * Return: 0 with @req->token; -EWOULDBLOCK (@try), -ETIMEDOUT, -EINTR,
 * -EDEADLK (@req has or awaits it), -EACCES, -EIDRM, -ESTALE, -ENOTCONN,
 * -ESHUTDOWN: not acquired.
 */
int tally_lock_acquire(struct tally_lock_req *req, bool try, long timeout)
{
	struct tally_handle *handle = req->handle;
	long left;
	int err;

	err = tally_handle_enter(handle, timeout);
	if (err)
		return err;
	err = lock_bind(handle->lock);
	if (!err)
		err = lock_enqueue(req, try);
	tally_handle_leave(handle);
	if (err)
		return err;
	left = lock_wait(req, timeout);
	if (left > 0)
		return lock_result(req);
	return lock_give_up(req, left ? -EINTR : -ETIMEDOUT);
}

/**
 * tally_lock_release - give the lock back
 * @req: request that acquired it
 *
 * Context: any but hard interrupts; does not wait.
 * Return: 0; -ESTALE: it had been lost; -EINVAL: it is not held.
 */
int tally_lock_release(struct tally_lock_req *req)
{
	struct tally_lock_client *c = req->handle->lock;
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&c->lock, flags);
	if (req->state == TALLY_LOCK_REQ_HELD) {
		if (!tally_lock_lease_valid(c))
			err = -ESTALE;
		c->inside = NULL;
		c->unlock = true;
	} else {
		err = req->state == TALLY_LOCK_REQ_LOST ? -ESTALE : -EINVAL;
	}
	if (req->state != TALLY_LOCK_REQ_WAITING)
		req->state = TALLY_LOCK_REQ_IDLE;
	spin_unlock_irqrestore(&c->lock, flags);
	tally_lock_run(c);
	return err;
}

/**
 * tally_lock_held - may its holder act on it now?
 * @req: request that acquired it
 *
 * Return: true while it is held and the lease is valid.
 */
bool tally_lock_held(struct tally_lock_req *req)
{
	struct tally_lock_client *c = req->handle->lock;
	unsigned long flags;
	bool held;

	spin_lock_irqsave(&c->lock, flags);
	held = req->state == TALLY_LOCK_REQ_HELD && tally_lock_lease_valid(c);
	spin_unlock_irqrestore(&c->lock, flags);
	return held;
}

/**
 * tally_lock_lease_left - how long the tenure is safe without its home
 * @req: request that acquired it
 *
 * Return: milliseconds; U64_MAX at the home itself; 0 when it is not held.
 */
u64 tally_lock_lease_left(struct tally_lock_req *req)
{
	struct tally_session *s;
	u64 left = U64_MAX;

	if (!tally_lock_held(req))
		return 0;
	s = tally_lock_session(req->handle->lock);
	if (!s)
		return left;
	left = tally_session_lease_left(s);
	tally_session_put(s);
	return left;
}

/**
 * tally_lock_client_message - the home says something
 * @handle: the lock
 * @msg: what
 *
 * Context: process.
 */
void tally_lock_client_message(struct tally_handle *handle,
			       const struct tally_lmsg *msg)
{
	struct tally_lock_client *c = handle->lock;
	struct lock_in *in = kmalloc(sizeof(*in), GFP_KERNEL | __GFP_NOFAIL);
	unsigned long flags;

	trace_tally_lock_message(false, handle->view->remote_id, handle->id,
				 msg->type, msg->gen);
	in->msg = *msg;
	spin_lock_irqsave(&c->lock, flags);
	list_add_tail(&in->list, &c->inbox);
	spin_unlock_irqrestore(&c->lock, flags);
	tally_lock_run(c);
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
	flush_work(&c->send);
}

static void lock_link_down(struct tally_handle *handle, void *ctx)
{
	if (!lock_in_session(handle->lock, ctx, false))
		return;
	tally_lock_signal(handle->lock, TALLY_LOCK_DOWN);
	/* What it has taken from the outbox must not go out on the next link. */
	flush_work(&handle->lock->send);
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
	tally_session_send(s, TALLY_MSG_RESYNC, NULL, 0, NULL, 0);
}

/**
 * tally_locks_session_down - the link broke; its QPs are destroyed
 * @s: the session
 */
void tally_locks_session_down(struct tally_session *s)
{
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
	struct tally_handle *handle;
	struct tally_object *object;
	struct tally_lmsg msg;
	u32 arena, id, gen;
	int err = 0;

	if (type == TALLY_MSG_RESYNC) {
		if (len)
			return -EPROTO;
		tally_lock_homes_resync_end(s);
		return 0;
	}
	if (tally_lock_decode(lock, len, &arena, &id, &gen, &msg))
		return -EPROTO;
	if (msg.type < TALLY_LM_GRANT) {
		object = tally_object_by_id(s->node, arena, id, gen);
		if (!object)
			return 0;	/* deleted meanwhile */
		err = tally_lock_home_message(s, object, &msg);
		tally_object_put(object);
		return err;
	}
	handle = tally_views_by_id(s, arena, id, gen);
	if (!handle)
		return 0;
	if (handle->type == TALLY_TYPE_LOCK)
		tally_lock_client_message(handle, &msg);
	else
		err = -EPROTO;
	tally_handle_put(handle);
	return err;
}
