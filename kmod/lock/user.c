// SPDX-License-Identifier: GPL-2.0
/* Locks for their users on this node. */
#include <linux/sched/signal.h>
#include "lock/user.h"
#include "base/delay.h"
#include "client/handle.h"
#include "lock/wire.h"
#include "session/lease.h"
#include "session/session.h"

/* Longer than a few operations take, short beside waiting for a holder. */
#define LOCK_HELP	((long)max(HZ / 50, 2))

/*
 * The highest slot whose nodes use the words of locks. What a slot may have in the
 * word is for its node alone to put there: one that never does is to a home like
 * a node that posts no atomics, which it serves by messages beside those that use
 * the word. Tests set a lower one.
 */
#ifndef tally_lock_slots
#define tally_lock_slots	TALLY_LW_BIT_SLOT_MAX
#endif

/* Inside the handle: let the table stand in the session there is now. */
static int lock_bind(struct tally_lock_client *c)
{
	struct tally_view *view = c->handle->view;
	struct tally_session *s = NULL, *old = NULL;
	u16 slot = TALLY_SLOT_HOME;
	unsigned long flags;
	u64 id = 0;
	bool word;
	int err;

	if (view->access != TALLY_ACCESS_RW)
		return -EACCES;
	if (!tally_lock_ours(c)) {
		s = tally_view_session(view);
		if (!s)
			return -ENOTCONN;
		slot = s->my_slot;
		id = s->id;
	}
	word = (view->reach == TALLY_REACH_LANE ||
		view->reach == TALLY_REACH_LOOP) &&
	       slot <= tally_lock_slots;
	tally_delay(lock_bind);
	spin_lock_irqsave(&c->lock, flags);
	/* What ended meanwhile tells the clients that it finds bound, after this. */
	err = READ_ONCE(c->handle->error);
	if (!err && s && READ_ONCE(s->state) == TALLY_SESSION_OVER)
		err = -ENOTCONN;
	if (!err && c->lc.st == TALLY_LC_DEAD && !tally_lc_busy(&c->lc) &&
	    (s ? c->session != s : !c->error)) {
		tally_lc_init(&c->lc, slot, id, word,
			      !s || tally_session_is_live(s));
		c->pending |= TALLY_LOCK_SET;
		c->handed = 0;
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
	return err;
}

static bool lock_lease_valid(struct tally_lock_client *c)
{
	return tally_lock_lease_valid(c, ktime_get_boottime_ns());
}

/* With c->lock: it has been granted, though its user may not know yet. */
static bool lock_is_holder(struct tally_lock_client *c,
			   struct tally_lock_req *req)
{
	struct tally_lock_req *holder;

	list_for_each_entry(holder, &c->holders, list)
		if (holder == req)
			return true;
	return false;
}

/* With c->lock: the one that asked for exclusive has left. */
static void lock_no_upgrade(struct tally_lock_client *c)
{
	c->upgrader = NULL;
	c->upgrade = false;
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
	req->mode = TALLY_LMODE_X;
}

/**
 * tally_lock_req_by_task - make it the request of this task
 * @req: request that is neither held nor awaited
 * @mode: TALLY_LMODE_*
 */
void tally_lock_req_by_task(struct tally_lock_req *req, u8 mode)
{
	req->mode = mode;
	req->pid = task_tgid_nr(current);
	get_task_comm(req->comm, current);
}

static int lock_enqueue(struct tally_lock_req *req, bool try)
{
	struct tally_lock_client *c = tally_lock_client(req->handle);
	unsigned long flags;

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
	req->try = try;
	req->status = 0;
	req->state = TALLY_LOCK_REQ_WAITING;
	reinit_completion(&req->wake);
	if (try && (c->wanted || !list_empty(&c->queue)))
		tally_lock_req_end(req, -EWOULDBLOCK);
	else
		list_add_tail(&req->list, &c->queue);
	tally_lock_run_unlock(c, flags);
	return 0;
}

static int lock_result(struct tally_lock_req *req)
{
	return req->state == TALLY_LOCK_REQ_HELD ? 0 : req->status;
}

/**
 * tally_lock_cancel - a request is not wanted any more
 * @req: the request
 * @why: what its status becomes
 *
 * Context: any but hard interrupts; does not wait.
 * Return: true if it ends, now or soon, without the lock; false if it has been
 * answered before.
 */
bool tally_lock_cancel(struct tally_lock_req *req, int why)
{
	struct tally_lock_client *c = tally_lock_client(req->handle);
	unsigned long flags;
	bool waits;

	spin_lock_irqsave(&c->lock, flags);
	waits = req->state == TALLY_LOCK_REQ_WAITING;
	if (waits && c->wanted == req) {
		req->status = why;
		c->cancel = true;
	} else if (waits && !list_empty(&req->list) &&
		   !lock_is_holder(c, req)) {
		list_del_init(&req->list);
		tally_lock_req_end(req, why);
	}
	tally_lock_run_unlock(c, flags);
	return waits;
}

/* The caller does not wait any longer; the answer may have come just now. */
static int lock_give_up(struct tally_lock_req *req, int why)
{
	tally_lock_cancel(req, why);
	wait_for_completion(&req->wake);
	if (why == -EINTR && req->state == TALLY_LOCK_REQ_HELD) {
		tally_lock_release(req);
		return -EINTR;
	}
	return lock_result(req);
}

/* A try asks the holder, which may be out of reach: that is as good as a no. */
static long lock_try_limit(struct tally_lock_req *req)
{
	u32 lease = req->handle->view->node->config.lease_ms;

	return msecs_to_jiffies(lease / 2) + 1;
}

/* Inside the handle, which is left. */
static int lock_ask(struct tally_lock_req *req, bool try)
{
	/* With the answer, @req may go. */
	struct tally_handle *handle = req->handle;
	int err = 0;

	/* One that dies now would have died just after. */
	if (READ_ONCE(tally_lock_client(handle)->lc.st) == TALLY_LC_DEAD)
		err = lock_bind(tally_lock_client(handle));

	if (!err)
		err = lock_enqueue(req, try);
	tally_handle_leave(handle);
	return err;
}

static long lock_wait(struct tally_lock_req *req, long timeout)
{
	if (req->interruptible)
		return wait_for_completion_interruptible_timeout(&req->wake,
								 timeout);
	return wait_for_completion_killable_timeout(&req->wake, timeout);
}

/* The one that ends @req kicks the conn its answer may come on, which is referenced. */
static struct tally_conn *lock_help_begin(struct tally_lock_req *req)
{
	struct tally_lock_client *c = tally_lock_client(req->handle);
	struct tally_conn *conn = NULL;
	unsigned long flags;

	spin_lock_irqsave(&c->lock, flags);
	if (req->state == TALLY_LOCK_REQ_WAITING && c->op_conn)
		conn = tally_conn_get(c->op_conn);
	req->conn = conn;
	spin_unlock_irqrestore(&c->lock, flags);
	return conn;
}

/* True: it has been answered. */
static bool lock_help_end(struct tally_lock_req *req)
{
	struct tally_lock_client *c = tally_lock_client(req->handle);
	unsigned long flags;
	bool answered;

	spin_lock_irqsave(&c->lock, flags);
	req->conn = NULL;
	answered = req->state != TALLY_LOCK_REQ_WAITING;
	spin_unlock_irqrestore(&c->lock, flags);
	return answered;
}

/*
 * A free lock is had after one or two operations, whose ends we take. True: it
 * has been answered; there is nothing to wait for.
 */
static bool lock_help(struct tally_lock_req *req, long timeout)
{
	struct tally_conn *conn = lock_help_begin(req);
	bool answered;

	if (!conn)
		return false;
	tally_cq_help(&conn->cq, &req->wake, min(timeout, LOCK_HELP),
		      &tally_lock_client(req->handle)->polls);
	answered = lock_help_end(req);
	tally_conn_put(conn);
	return answered;
}

/**
 * tally_lock_acquire - get the lock
 * @req: request, prepared with tally_lock_req_init() or released
 * @try: do not wait for any user
 * @timeout: jiffies, MAX_SCHEDULE_TIMEOUT for none
 *
 * Context: process; sleeps, killable; or, if @req says so, any signal ends it.
 * Return: 0 with @req->token; -EWOULDBLOCK (@try), -ETIMEDOUT, -EINTR,
 * -EDEADLK (@req has or awaits it), -EACCES, -EIDRM, -ESTALE, -ENOTCONN,
 * -ESHUTDOWN: not acquired.
 */
int tally_lock_acquire(struct tally_lock_req *req, bool try, long timeout)
{
	long limit = lock_try_limit(req);
	long left;
	int err;

	err = tally_handle_enter(req->handle, timeout);
	if (!err)
		err = lock_ask(req, try);
	if (err)
		return err;
	if (timeout > 0 && lock_help(req, timeout))
		return lock_result(req);
	try &= limit < timeout;
	left = lock_wait(req, try ? limit : timeout);
	if (left > 0)
		return lock_result(req);
	if (left)
		return lock_give_up(req, -EINTR);
	return lock_give_up(req, try ? -EWOULDBLOCK : -ETIMEDOUT);
}

/**
 * tally_lock_request - ask for the lock
 * @req: request, prepared with tally_lock_req_init() or released, with news()
 * @try: do not wait for any user
 *
 * Context: any but hard interrupts; does not wait.
 * Return: 0: news() tells, or has told already; -EDEADLK, -EACCES, -EIDRM,
 * -ESTALE, -ENOTCONN, -ESHUTDOWN: it will not; -EAGAIN: only a call that sleeps
 * can find the lock again.
 */
int tally_lock_request(struct tally_lock_req *req, bool try)
{
	int err = tally_handle_try_enter(req->handle);

	return err ?: lock_ask(req, try);
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
	struct tally_lock_client *c = tally_lock_client(req->handle);
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&c->lock, flags);
	if (req->state == TALLY_LOCK_REQ_HELD) {
		if (!lock_lease_valid(c))
			err = -ESTALE;
		list_del_init(&req->list);
		c->unlocks++;
		if (c->upgrader == req)
			lock_no_upgrade(c);
	} else {
		err = req->state == TALLY_LOCK_REQ_LOST ? -ESTALE : -EINVAL;
	}
	if (req->state != TALLY_LOCK_REQ_WAITING)
		req->state = TALLY_LOCK_REQ_IDLE;
	tally_lock_run_unlock(c, flags);
	return err;
}

/* With c->lock: why @req cannot change the mode it holds the lock in, or 0. */
static int lock_held_in(struct tally_lock_client *c, struct tally_lock_req *req,
			u8 mode)
{
	if (req->state == TALLY_LOCK_REQ_LOST)
		return -ESTALE;
	if (req->state != TALLY_LOCK_REQ_HELD || req->mode != mode)
		return -EINVAL;
	return lock_lease_valid(c) ? 0 : -ESTALE;
}

/**
 * tally_lock_downgrade - go on holding it shared
 * @req: request that holds it exclusively
 *
 * Context: any but hard interrupts; does not wait.
 * Return: 0; -ESTALE: it has been lost; -EINVAL: it is not held exclusively.
 */
int tally_lock_downgrade(struct tally_lock_req *req)
{
	struct tally_lock_client *c = tally_lock_client(req->handle);
	unsigned long flags;
	int err;

	spin_lock_irqsave(&c->lock, flags);
	err = lock_held_in(c, req, TALLY_LMODE_X);
	if (!err) {
		req->mode = TALLY_LMODE_S;
		c->downgrade = true;
	}
	tally_lock_run_unlock(c, flags);
	return err;
}

/**
 * tally_lock_request_upgrade - ask to hold it exclusively
 * @req: request that holds it shared
 *
 * Context: any but hard interrupts; does not wait.
 * Return: 0: news() tells GRANTED or LOST, with req->status; the errors of
 * tally_lock_upgrade() that are known at once: it will not.
 */
int tally_lock_request_upgrade(struct tally_lock_req *req)
{
	struct tally_lock_client *c = tally_lock_client(req->handle);
	unsigned long flags;
	int err;

	spin_lock_irqsave(&c->lock, flags);
	err = lock_held_in(c, req, TALLY_LMODE_S);
	if (!err && c->upgrader)
		err = -EDEADLK;
	if (!err) {
		reinit_completion(&req->wake);
		c->upgrader = req;
		c->upgrade = true;
	}
	tally_lock_run_unlock(c, flags);
	return err;
}

/**
 * tally_lock_upgrade - hold it exclusively, if no other user is in the way
 * @req: request that holds it shared
 *
 * Context: process; sleeps, killable.
 * Return: 0 with a new @req->token; -EDEADLK: others hold it or wait for it,
 * and -EAGAIN: release it and acquire it anew: it is still held shared;
 * -ESTALE: it has been lost; -EINVAL: it is not held shared; -ENOTCONN: no link
 * to the home; -EINTR: unknown, only to be released.
 */
int tally_lock_upgrade(struct tally_lock_req *req)
{
	int err = tally_lock_request_upgrade(req);

	if (err)
		return err;
	err = wait_for_completion_killable(&req->wake);
	return err ? -EINTR : req->status;
}

/**
 * tally_lock_held - may its holder act on it now?
 * @req: request that acquired it
 *
 * Return: true while it is held and the lease is valid.
 */
bool tally_lock_held(struct tally_lock_req *req)
{
	struct tally_lock_client *c = tally_lock_client(req->handle);
	unsigned long flags;
	bool held;

	spin_lock_irqsave(&c->lock, flags);
	held = req->state == TALLY_LOCK_REQ_HELD && lock_lease_valid(c);
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
	s = tally_lock_session(tally_lock_client(req->handle));
	if (!s)
		return left;
	left = tally_session_lease_left(s);
	tally_session_put(s);
	return left;
}

/**
 * tally_lock_recalled - does another node wait?
 * @req: request that acquired it
 *
 * Return: true from the recall until it is released.
 */
bool tally_lock_recalled(struct tally_lock_req *req)
{
	return READ_ONCE(req->state) == TALLY_LOCK_REQ_HELD &&
	       READ_ONCE(req->recalled);
}

/**
 * tally_lock_client_user - what this node has of a lock, and a user inside
 * @handle: the lock
 * @user: filled
 *
 * Context: any.
 */
void tally_lock_client_user(struct tally_handle *handle,
			    struct tally_lock_user *user)
{
	struct tally_lock_client *c = tally_lock_client(handle);
	struct tally_lock_req *req;
	unsigned long flags;

	memset(user, 0, sizeof(*user));
	spin_lock_irqsave(&c->lock, flags);
	req = list_first_entry_or_null(&c->holders, struct tally_lock_req,
				       list);
	if (req) {
		user->state = TALLY_WHO_INSIDE;
		user->pid = req->pid;
		strscpy(user->comm, req->comm, sizeof(user->comm));
		user->since = req->granted_at;
	} else if (c->lc.st == TALLY_LC_CACHED) {
		user->state = TALLY_WHO_CACHED;
	}
	if (user->state)
		user->mode = c->lc.mode;
	spin_unlock_irqrestore(&c->lock, flags);
}
