// SPDX-License-Identifier: GPL-2.0
/* Locks for their users on this node. */
#include <linux/pid.h>
#include "lock/user.h"
#include "base/deadline.h"
#include "base/delay.h"
#include "client/handle.h"
#include "lock/wire.h"
#include "session/lease.h"
#include "session/session.h"

/* Longer than a few operations take, short beside waiting for a holder. */
#define LOCK_SOON	((long)max(HZ / 50, 2))

/*
 * The highest slot whose nodes use the words of locks. To a home a node that
 * never does is like one that posts no atomics, which it serves by messages
 * beside those that use the word. Tests set a lower one.
 */
#ifndef tally_lock_slots
#define tally_lock_slots	TALLY_LW_BIT_SLOT_MAX
#endif

/* Inside the handle: let the table stand in the session there is now. */
static int lock_bind(struct tally_lock_client *c)
{
	struct tally_view *view = c->handle->view;
	struct tally_session *s = NULL;
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
		/* A HANDOVER of before its rights changed would name it, too. */
		id = atomic_read(&s->withdrawn) ? 0 : s->id;
	}
	word = (view->reach == TALLY_REACH_LANE ||
		view->reach == TALLY_REACH_LOOP) &&
	       slot <= tally_lock_slots;
	tally_delay(LOCK_BIND);
	spin_lock_irqsave(&c->lock, flags);
	/* What ended meanwhile tells the clients that it finds bound, after this. */
	err = READ_ONCE(c->handle->error);
	if (!err && s && !tally_session_lease_valid(s, ktime_get_boottime_ns()))
		err = -ENOTCONN;
	if (!err && c->lc.st == TALLY_LC_DEAD && !tally_lc_busy(&c->lc) &&
	    (s ? c->session != s : !c->error)) {
		tally_lc_init(&c->lc, slot, id, c->last, word,
			      !s || tally_session_is_live(s));
		c->pending |= TALLY_LOCK_SET;
		c->handed = 0;
		c->error = 0;
		swap(c->session, s);
	}
	spin_unlock_irqrestore(&c->lock, flags);
	tally_session_put(s);
	return err;
}

/* @req is owned by the caller, which keeps a reference of @handle meanwhile. */
void tally_lock_req_init(struct tally_lock_req *req,
			 struct tally_handle *handle,
			 void (*news)(struct tally_lock_req *req,
				      enum tally_lock_news what))
{
	memset(req, 0, sizeof(*req));
	INIT_LIST_HEAD(&req->list);
	init_completion(&req->wake);
	req->handle = handle;
	req->news = news;
}

/* @req holds nothing and asks for nothing any more. */
void tally_lock_req_destroy(struct tally_lock_req *req)
{
	put_pid(req->asker);
}

/* Why @req cannot ask for the lock, -EALREADY or -ESTALE, or 0. */
int tally_lock_req_idle(struct tally_lock_req *req)
{
	if (READ_ONCE(req->state) == TALLY_LOCK_REQ_IDLE)
		return 0;
	return tally_lock_req_held(req) ? -EALREADY : -ESTALE;
}

/* With c->lock: must one that asks now wait for a user, as far as is known? */
static bool lock_in_use(struct tally_lock_client *c)
{
	return c->wanted && !c->wanted->try &&
	       (c->lc.st == TALLY_LC_HOLD ||
		time_after(jiffies, c->wanted->asked_at + LOCK_SOON));
}

static int lock_enqueue(struct tally_lock_req *req, bool try)
{
	struct tally_lock_client *c = tally_lock_client(req->handle);
	unsigned long flags;

	spin_lock_irqsave(&c->lock, flags);
	/* Else it is in a list. */
	if (WARN_ON_ONCE(req->state != TALLY_LOCK_REQ_IDLE)) {
		spin_unlock_irqrestore(&c->lock, flags);
		return -EBUSY;
	}
	if (!c->pinned) {
		c->pinned = true;
		tally_handle_get(req->handle);
	}
	c->used = true;
	req->try = try;
	req->asked_at = jiffies;
	req->status = 0;
	req->state = TALLY_LOCK_REQ_WAITING;
	reinit_completion(&req->wake);
	if (try && lock_in_use(c))
		tally_lock_req_end(req, -EWOULDBLOCK);
	else
		list_add_tail(&req->list, &c->queue);
	tally_lock_run_unlock(c, flags);
	return 0;
}

/* How long a try waits for the home, in jiffies. */
static long lock_try_time(struct tally_lock_client *c)
{
	return msecs_to_jiffies(c->handle->view->node->config.lease_ms / 2) + 1;
}

/* Find the lock again, if need be. One out of reach is as good as a no. */
static int lock_enter(struct tally_handle *handle, bool try, long timeout)
{
	long bound = try ? lock_try_time(tally_lock_client(handle)) : timeout;
	int err = tally_handle_enter(handle, min(timeout, bound));

	return try && err == -ETIMEDOUT ? -EWOULDBLOCK : err;
}

static int lock_result(struct tally_lock_req *req)
{
	return req->state == TALLY_LOCK_REQ_HELD ? 0 : req->status;
}

static void lock_cancel_unlock(struct tally_lock_client *c,
			       struct tally_lock_req *req, int why,
			       unsigned long flags)
	__releases(&c->lock)
{
	if (req->state == TALLY_LOCK_REQ_WAITING && c->wanted == req) {
		req->status = why;
		c->pending |= TALLY_LOCK_CANCEL;
	} else if (req->state == TALLY_LOCK_REQ_WAITING) {
		list_del_init(&req->list);
		tally_lock_req_end(req, why);
	}
	tally_lock_run_unlock(c, flags);
}

/*
 * @req, as @serial was, is not wanted any more: it ends, now or soon, with @why as
 * its status, unless it has been answered before, and may have been asked anew. Any
 * context but hard interrupts; does not wait.
 */
void tally_lock_req_cancel(struct tally_lock_req *req, u32 serial, int why)
{
	struct tally_lock_client *c = tally_lock_client(req->handle);
	unsigned long flags;

	spin_lock_irqsave(&c->lock, flags);
	if (READ_ONCE(req->serial) == serial)
		lock_cancel_unlock(c, req, why, flags);
	else
		spin_unlock_irqrestore(&c->lock, flags);
}

/*
 * A try waits for an answer, not for users: for what others of this node have
 * asked for only as long as operations take, and for the home while a holder
 * may be asked. One out of reach is as good as a no. Any context but hard
 * interrupts. Return: 0: it has been answered; else jiffies after which to look
 * again.
 */
long tally_lock_req_try_check(struct tally_lock_req *req)
{
	struct tally_lock_client *c = tally_lock_client(req->handle);
	unsigned long flags;
	long left = 0;

	spin_lock_irqsave(&c->lock, flags);
	/* Another may have been asked for by now, that waits. */
	if (req->state == TALLY_LOCK_REQ_WAITING && req->try) {
		left = c->wanted == req ? lock_try_time(c) : LOCK_SOON;
		left = max(1L, (long)(req->asked_at + left - jiffies));
	}
	if (left != 1)
		spin_unlock_irqrestore(&c->lock, flags);
	else
		lock_cancel_unlock(c, req, -EWOULDBLOCK, flags);
	return left;
}

/* Wait for the answer, or until there is no more time, or a signal. */
static int lock_wait(struct tally_lock_req *req, bool try,
		     const struct tally_until *until)
{
	long left = tally_until_left(until), ret;

	do {
		if (try)
			left = min(left, tally_lock_req_try_check(req));
		ret = req->interruptible ?
		      wait_for_completion_interruptible_timeout(&req->wake,
								left) :
		      wait_for_completion_killable_timeout(&req->wake, left);
		if (ret > 0)
			return lock_result(req);
		left = tally_until_left(until);
	} while (!ret && left);
	/* The answer may come just now. */
	tally_lock_req_cancel(req, req->serial,
			      !ret ? -ETIMEDOUT :
			      req->interruptible ? -ERESTARTSYS : -EINTR);
	wait_for_completion(&req->wake);
	return lock_result(req);
}

/* @req is idle. */
static void lock_set_asker(struct tally_lock_req *req, struct pid *pid)
{
	put_pid(req->asker);
	req->asker = pid;
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

/*
 * A free lock is had after one or two operations, whose ends we take; what ends
 * @req kicks the conn that its answer may come on. True: it has been answered;
 * there is nothing to wait for.
 */
static bool lock_help(struct tally_lock_req *req, long timeout)
{
	struct tally_lock_client *c = tally_lock_client(req->handle);
	struct tally_conn *conn = NULL;
	struct tally_op *own;
	unsigned long flags;
	bool answered;

	spin_lock_irqsave(&c->lock, flags);
	if (req->state == TALLY_LOCK_REQ_WAITING && c->op_conn)
		conn = tally_conn_get(c->op_conn);
	/* Another user's is not for this task to sit on. */
	own = c->wanted == req ? &c->op : NULL;
	req->conn = conn;
	spin_unlock_irqrestore(&c->lock, flags);
	if (!conn)
		return false;
	tally_cq_help(&conn->cq, own, &req->wake,
		      min(timeout, LOCK_SOON), &c->polls);
	spin_lock_irqsave(&c->lock, flags);
	req->conn = NULL;
	answered = req->state != TALLY_LOCK_REQ_WAITING;
	spin_unlock_irqrestore(&c->lock, flags);
	tally_conn_put(conn);
	return answered;
}

/**
 * tally_lock_req_acquire - get the lock for this task
 * @req: idle, see tally_lock_req_idle(); the caller sees to it that it stays so
 * @mode: TALLY_LMODE_*
 * @try: do not wait for any user
 * @timeout: jiffies, MAX_SCHEDULE_TIMEOUT for none
 *
 * Context: process; sleeps, killable; or, if @req says so, any signal ends it:
 * -ERESTARTSYS then.
 * Return: 0 with @req->token; -EWOULDBLOCK (@try), -ETIMEDOUT, -EINTR, -EACCES,
 * -EIDRM, -ESTALE, -ENOTCONN, -ESHUTDOWN: not acquired.
 */
int tally_lock_req_acquire(struct tally_lock_req *req, u8 mode, bool try,
			   long timeout)
{
	struct tally_until until = tally_until(timeout);
	int err;

	req->mode = mode;
	lock_set_asker(req, get_pid(task_tgid(current)));
	err = lock_enter(req->handle, try, timeout) ?: lock_ask(req, try);
	if (err)
		return err;
	timeout = tally_until_left(&until);
	if (timeout && lock_help(req, timeout))
		return lock_result(req);
	return lock_wait(req, try, &until);
}

/*
 * Ask for the lock, for the kernel. Any context but hard interrupts; does not
 * wait. 0: news() tells, or has told already; -EACCES, -EIDRM, -ESTALE,
 * -ENOTCONN, -ESHUTDOWN: it will not; -EAGAIN: only a call that sleeps can find
 * the lock again.
 */
int tally_lock_req_ask(struct tally_lock_req *req, u8 mode, bool try)
{
	req->mode = mode;
	lock_set_asker(req, NULL);
	return tally_handle_try_enter(req->handle) ?: lock_ask(req, try);
}

/*
 * Give the lock back. Any context but hard interrupts; does not wait. 0;
 * -ESTALE: it had been lost; -EINVAL: it is not held.
 */
int tally_lock_req_release(struct tally_lock_req *req)
{
	struct tally_lock_client *c = tally_lock_client(req->handle);
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&c->lock, flags);
	if (req->state == TALLY_LOCK_REQ_HELD) {
		if (!tally_lock_lease_valid(c))
			err = -ESTALE;
		list_del_init(&req->list);
		c->unlocks++;
		if (c->upgrader == req)
			tally_lock_no_upgrade(c, -ECANCELED);
	} else {
		err = req->state == TALLY_LOCK_REQ_LOST ? -ESTALE : -EINVAL;
	}
	if (req->state != TALLY_LOCK_REQ_WAITING)
		req->state = TALLY_LOCK_REQ_IDLE;
	tally_lock_run_unlock(c, flags);
	return err;
}

/* @what: TALLY_LOCK_DOWNGRADE or TALLY_LOCK_UPGRADE of one held in @mode. */
static int lock_change(struct tally_lock_req *req, u8 mode, u16 what)
{
	struct tally_lock_client *c = tally_lock_client(req->handle);
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&c->lock, flags);
	if (req->state == TALLY_LOCK_REQ_LOST)
		err = -ESTALE;
	else if (req->state != TALLY_LOCK_REQ_HELD || req->mode != mode)
		err = -EINVAL;
	else if (!tally_lock_lease_valid(c))
		err = -ESTALE;
	else if (what == TALLY_LOCK_UPGRADE && c->upgrader &&
		 !(c->upgrader == req && c->upgrade_void))
		err = -EDEADLK;
	if (!err && what == TALLY_LOCK_UPGRADE) {
		/* One that was given up is still under way, and serves. */
		if (!c->upgrader)
			c->pending |= what;
		reinit_completion(&req->wake);
		c->upgrader = req;
		c->upgrade_void = false;
	} else if (!err) {
		c->pending |= what;
		req->mode = TALLY_LMODE_S;
	}
	tally_lock_run_unlock(c, flags);
	return err;
}

/*
 * Go on holding it shared. Any context but hard interrupts; does not wait. 0;
 * -ESTALE: it has been lost; -EINVAL: it is not held exclusively.
 */
int tally_lock_req_downgrade(struct tally_lock_req *req)
{
	return lock_change(req, TALLY_LMODE_X, TALLY_LOCK_DOWNGRADE);
}

/*
 * Ask to hold it exclusively. Any context but hard interrupts; does not wait.
 * 0: news() tells GRANTED or LOST, with req->status; the errors of
 * tally_lock_req_upgrade() that are known at once: it will not.
 */
int tally_lock_req_ask_upgrade(struct tally_lock_req *req)
{
	return lock_change(req, TALLY_LMODE_S, TALLY_LOCK_UPGRADE);
}

/* Its task is killed. Others may share @req, so it stays shared for them. */
static int lock_upgrade_leave(struct tally_lock_req *req)
{
	struct tally_lock_client *c = tally_lock_client(req->handle);
	unsigned long flags;
	int err = -EINTR;

	spin_lock_irqsave(&c->lock, flags);
	if (c->upgrader != req)
		err = req->status;	/* the answer came just now */
	else if (c->pending & TALLY_LOCK_UPGRADE)
		tally_lock_no_upgrade(c, -EINTR);
	else
		c->upgrade_void = true;
	spin_unlock_irqrestore(&c->lock, flags);
	return err;
}

/*
 * Hold it exclusively, if no other user is in the way. Process context; sleeps,
 * killable. 0 with a new token; -EDEADLK: others hold it or wait for it, and
 * -EAGAIN: release it and acquire it anew, -EINTR: it is still held shared;
 * -ESTALE: it has been lost; -EINVAL: it is not held shared; -ECANCELED: it was
 * released meanwhile; -ENOTCONN: no link to the home.
 */
int tally_lock_req_upgrade(struct tally_lock_req *req)
{
	int err = tally_lock_req_ask_upgrade(req);

	if (err)
		return err;
	return wait_for_completion_killable(&req->wake) ?
	       lock_upgrade_leave(req) : req->status;
}

/* May @req's user act on the lock now? */
bool tally_lock_req_held(struct tally_lock_req *req)
{
	struct tally_lock_client *c = tally_lock_client(req->handle);
	unsigned long flags;
	bool held;

	spin_lock_irqsave(&c->lock, flags);
	held = req->state == TALLY_LOCK_REQ_HELD && tally_lock_lease_valid(c);
	spin_unlock_irqrestore(&c->lock, flags);
	return held;
}

/* Has it been held, and is no more, though nobody gave it back? */
bool tally_lock_req_lost(struct tally_lock_req *req)
{
	struct tally_lock_client *c = tally_lock_client(req->handle);
	unsigned long flags;
	bool lost;

	spin_lock_irqsave(&c->lock, flags);
	/* The one whose lease has ended is told so soon. */
	lost = req->state == TALLY_LOCK_REQ_LOST ||
	       (req->state == TALLY_LOCK_REQ_HELD && !tally_lock_lease_valid(c));
	spin_unlock_irqrestore(&c->lock, flags);
	return lost;
}

/*
 * For how many milliseconds the tenure is safe without a word of its home;
 * U64_MAX at the home itself; 0 when it is not held.
 */
u64 tally_lock_req_lease_left(struct tally_lock_req *req)
{
	struct tally_lock_client *c = tally_lock_client(req->handle);
	unsigned long flags;
	u64 left = 0;

	spin_lock_irqsave(&c->lock, flags);
	if (req->state == TALLY_LOCK_REQ_HELD)
		left = c->session ? tally_session_lease_left(c->session) :
				    U64_MAX;
	spin_unlock_irqrestore(&c->lock, flags);
	return left;
}

/* Does another node wait?  From the recall until it is released. */
bool tally_lock_req_recalled(struct tally_lock_req *req)
{
	return READ_ONCE(req->state) == TALLY_LOCK_REQ_HELD &&
	       READ_ONCE(req->recalled);
}
