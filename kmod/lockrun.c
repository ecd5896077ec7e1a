// SPDX-License-Identifier: GPL-2.0
/*
 * The client side of locks: drives lockclient.c.
 *
 * Everything that happens to a lock is noted in its client under a spinlock;
 * then tally_lock_run() turns it into events, one after the other, and carries their
 * actions out. Whoever comes while somebody runs leaves the work to him, so
 * events never nest and their order is kept. Messages are sent by a work item
 * of the lock, in order.
 */
#include <linux/slab.h>
#include "lockrun.h"
#include "lockwire.h"
#include "trace.h"

/* How often to look whether a broken loopback conn is there again. */
#define LOCK_RETRY	(HZ / 50)

bool tally_lock_ours(struct tally_lock_client *c)
{
	return c->handle->object;
}

static struct workqueue_struct *lock_wq(struct tally_lock_client *c)
{
	return c->handle->view->node->wq;
}

/* A work of the client keeps the handle until it has run. */
static void lock_queue_send(struct tally_lock_client *c)
{
	tally_handle_get(c->handle);
	if (!queue_work(lock_wq(c), &c->send))
		tally_handle_put(c->handle);
}

static void lock_queue_retry(struct tally_lock_client *c)
{
	tally_handle_get(c->handle);
	if (!queue_delayed_work(lock_wq(c), &c->retry, LOCK_RETRY))
		tally_handle_put(c->handle);
}

/* The grant counts only while the lease does; our own locks have none. */
bool tally_lock_lease_valid(struct tally_lock_client *c)
{
	return !c->session || tally_session_lease_valid(c->session);
}

void tally_lock_req_end(struct tally_lock_req *req, int status)
{
	req->state = TALLY_LOCK_REQ_IDLE;
	req->status = status;
	complete(&req->wake);
}

/* The request that was asked for has its answer; so has its wish to cancel. */
static struct tally_lock_req *lock_answered(struct tally_lock_client *c)
{
	struct tally_lock_req *req = c->wanted;

	c->wanted = NULL;
	c->cancel = false;
	return req;
}

static void lock_granted(struct tally_lock_client *c, u64 token)
{
	struct tally_lock_req *req = lock_answered(c);
	struct tally_stats *stats = &c->handle->view->node->stats;

	c->inside = req;
	c->recalled = false;
	if (!tally_lock_lease_valid(c)) {
		c->pending |= TALLY_LOCK_LOST;	/* before the user hears of it */
		return;
	}
	tally_stat_inc(stats, c->lc.fast ? TALLY_STAT_LOCK_FAST :
					   TALLY_STAT_LOCK_MANAGED);
	req->token = token;
	req->granted_at = ktime_get_boottime_ns();
	req->state = TALLY_LOCK_REQ_HELD;
	complete(&req->wake);
}

static void lock_failed(struct tally_lock_client *c, int err)
{
	struct tally_lock_req *req = lock_answered(c);

	if (err == -EBUSY)
		err = -EWOULDBLOCK;
	else if (err == -ENOTCONN && c->error)
		err = c->error;
	tally_lock_req_end(req, err);
}

static void lock_cancelled(struct tally_lock_client *c)
{
	struct tally_lock_req *req = lock_answered(c);

	tally_lock_req_end(req, req->status);
}

static void lock_lost(struct tally_lock_client *c)
{
	struct tally_lock_req *req = c->inside;

	c->inside = NULL;
	if (!req)
		return;
	if (req->state == TALLY_LOCK_REQ_WAITING) {
		tally_lock_req_end(req, c->error ?: -ENOTCONN);
		return;
	}
	tally_stat_inc(&c->handle->view->node->stats, TALLY_STAT_LOCK_LOST);
	req->state = TALLY_LOCK_REQ_LOST;
	if (req->lost)
		req->lost(req);
}

static void lock_post(struct tally_lock_client *c, u8 action)
{
	u64 slot = c->lc.slot;

	c->kind = c->lc.op;
	c->op.compare = 0;
	switch (action) {
	case TALLY_LCA_POST_CAS_FAA:
		c->op.type = TALLY_OP_CAS_FAA;
		c->op.value = slot;
		c->op.value2 = 1;
		break;
	case TALLY_LCA_POST_RELEASE_FAA:
		c->op.type = TALLY_OP_FAA;
		c->op.value = tally_lw_minus(slot);
		break;
	case TALLY_LCA_POST_READ:
		c->op.type = TALLY_OP_FAA;
		c->op.value = 0;
		break;
	case TALLY_LCA_POST_TOKEN_FAA:
		c->op.type = TALLY_OP_FAA;
		c->op.value = 1;
		break;
	}
}

static void lock_out(struct tally_lock_client *c, const struct tally_lmsg *msg)
{
	/* So far ahead gets only who is answered before it has asked. */
	if (c->out_tail - c->out_head == TALLY_LOCK_OUTBOX)
		c->violation = true;
	else
		c->outbox[c->out_tail++ % TALLY_LOCK_OUTBOX] = *msg;
	lock_queue_send(c);
}

/* Under c->lock. True: an operation is to be posted. */
static bool lock_act(struct tally_lock_client *c,
		     const struct tally_lc_actions *out)
{
	const struct tally_lc_action *a;
	bool post = false;

	WARN_ON_ONCE(out->bug);
	for (a = out->a; a < out->a + out->n; a++) {
		switch (a->kind) {
		case TALLY_LCA_SEND:
			lock_out(c, &a->msg);
			break;
		case TALLY_LCA_GRANTED:
			lock_granted(c, a->token);
			break;
		case TALLY_LCA_FAILED:
			lock_failed(c, a->err);
			break;
		case TALLY_LCA_CANCELLED:
			lock_cancelled(c);
			break;
		case TALLY_LCA_RECALL:
			c->recalled = true;
			break;
		case TALLY_LCA_LOST:
			lock_lost(c);
			break;
		case TALLY_LCA_RELEASED:
			break;
		case TALLY_LCA_VIOLATION:
		case TALLY_LCA_WORD_BAD:
			c->violation = true;
			lock_queue_send(c);
			break;
		default:
			lock_post(c, a->kind);
			post = true;
		}
	}
	return post;
}

static void lock_event_op(struct tally_lock_client *c,
			  struct tally_lc_event *ev)
{
	c->op_done = false;
	ev->kind = TALLY_LCE_OP_DONE;
	ev->op = c->kind;
	ev->broken = c->op.status != 0;
	ev->state = c->op.old;
	ev->token = c->kind == TALLY_LC_OP_ACQ ? c->op.old2 : c->op.old;
	if (ev->broken && tally_lock_ours(c))
		lock_queue_retry(c);
}

static void lock_event_msg(struct tally_lock_client *c,
			   struct tally_lc_event *ev)
{
	struct lock_in *in = list_first_entry(&c->inbox, struct lock_in, list);

	ev->kind = TALLY_LCE_MSG;
	ev->msg = in->msg;
	list_del(&in->list);
	kfree(in);
}

static void lock_event_pending(struct tally_lock_client *c,
			       struct tally_lc_event *ev)
{
	if (c->pending & TALLY_LOCK_DOWN) {
		c->pending &= ~TALLY_LOCK_DOWN;
		c->out_head = c->out_tail;	/* RESYNC says it as state */
		ev->kind = TALLY_LCE_LINK_DOWN;
	} else if (c->pending & TALLY_LOCK_UP) {
		c->pending &= ~TALLY_LOCK_UP;
		ev->kind = TALLY_LCE_LINK_UP;
	} else {
		c->pending &= ~TALLY_LOCK_LOST;
		ev->kind = TALLY_LCE_LEASE_LOST;
	}
}

static struct tally_lock_req *lock_take_first(struct tally_lock_client *c)
{
	struct tally_lock_req *req;

	req = list_first_entry_or_null(&c->queue, struct tally_lock_req, list);
	if (req)
		list_del_init(&req->list);
	return req;
}

/* The user inside left: the next of ours follows unless others wait. */
static void lock_event_unlock(struct tally_lock_client *c,
			      struct tally_lc_event *ev)
{
	c->unlock = false;
	ev->kind = TALLY_LCE_UNLOCK;
	if (c->recalled || !tally_lock_lease_valid(c))
		return;
	c->wanted = lock_take_first(c);
	if (!c->wanted)
		return;
	ev->kind = TALLY_LCE_NEXT;
	ev->try = c->wanted->try;
}

/* Under c->lock: what has happened, the oldest first as far as it matters. */
static bool lock_next_event(struct tally_lock_client *c,
			    struct tally_lc_event *ev)
{
	memset(ev, 0, sizeof(*ev));
	if (c->op_done) {
		lock_event_op(c, ev);
	} else if (!list_empty(&c->inbox)) {
		lock_event_msg(c, ev);
	} else if (c->pending) {
		lock_event_pending(c, ev);
	} else if (c->cancel) {
		c->cancel = false;
		ev->kind = TALLY_LCE_CANCEL;
	} else if (c->unlock) {
		lock_event_unlock(c, ev);
	} else if (!c->wanted && !c->inside && !list_empty(&c->queue)) {
		c->wanted = lock_take_first(c);
		ev->kind = TALLY_LCE_WANT;
		ev->try = c->wanted->try;
	} else {
		return false;
	}
	return true;
}

/* Without c->lock: done() may come at once. */
static void lock_submit(struct tally_lock_client *c)
{
	struct tally_conn *conn = NULL;
	unsigned long flags;
	u64 addr;
	u32 rkey;

	if (!tally_handle_try_enter(c->handle)) {
		conn = tally_handle_conn(c->handle, &addr, &rkey);
		if (!conn)
			tally_handle_leave(c->handle);
	}
	if (!conn) {
		spin_lock_irqsave(&c->lock, flags);
		c->op.status = -ENOTCONN;
		c->op_done = true;
		spin_unlock_irqrestore(&c->lock, flags);
		return;
	}
	c->op.rkey = rkey;
	c->op.addr = c->kind == TALLY_LC_OP_TOKEN ? addr + 8 : addr;
	c->op.addr2 = addr + 8;
	tally_op_submit(conn, &c->op);
	tally_conn_put(conn);
}

/* Under c->lock: is nothing of us left that the handle must be kept for? */
static bool lock_unpin(struct tally_lock_client *c)
{
	bool unpin = c->pinned && tally_lc_idle(&c->lc) && !c->inside &&
		     !c->wanted && list_empty(&c->queue) &&
		     (tally_lock_ours(c) || c->lc.st == TALLY_LC_DEAD);

	if (unpin)
		c->pinned = false;
	return unpin;
}

/* Any context, without c->lock; the caller keeps the handle. */
void tally_lock_run(struct tally_lock_client *c)
{
	struct tally_lc_actions out;
	struct tally_lc_event ev;
	unsigned long flags;
	bool post, unpin;

	spin_lock_irqsave(&c->lock, flags);
	if (c->running) {
		spin_unlock_irqrestore(&c->lock, flags);
		return;
	}
	c->running = true;
	while (lock_next_event(c, &ev)) {
		tally_lc_step(&c->lc, &ev, &out);
		post = lock_act(c, &out);
		if (!post)
			continue;
		spin_unlock_irqrestore(&c->lock, flags);
		lock_submit(c);
		spin_lock_irqsave(&c->lock, flags);
	}
	c->running = false;
	unpin = lock_unpin(c);
	wake_up_all(&c->idle);
	spin_unlock_irqrestore(&c->lock, flags);
	if (unpin)
		tally_handle_put(c->handle);
}

static void lock_op_done(struct tally_op *op)
{
	struct tally_lock_client *c = container_of(op, struct tally_lock_client,
						   op);
	struct tally_handle *handle = tally_handle_get(c->handle);
	unsigned long flags;

	if (op->status == -EREMOTEIO)
		tally_handle_doubt(handle);
	spin_lock_irqsave(&c->lock, flags);
	c->op_done = true;
	spin_unlock_irqrestore(&c->lock, flags);
	tally_handle_leave(handle);
	tally_lock_run(c);
	tally_handle_put(handle);
}

static bool lock_pending_taken(struct tally_lock_client *c, u8 what)
{
	unsigned long flags;
	bool taken;

	spin_lock_irqsave(&c->lock, flags);
	taken = !(c->pending & what);
	spin_unlock_irqrestore(&c->lock, flags);
	return taken;
}

/* Note it and see it taken; whoever runs does so without sleeping. */
void tally_lock_signal(struct tally_lock_client *c, u8 what)
{
	unsigned long flags;

	spin_lock_irqsave(&c->lock, flags);
	c->pending |= what;
	spin_unlock_irqrestore(&c->lock, flags);
	tally_lock_run(c);
	wait_event(c->idle, lock_pending_taken(c, what));
}

static bool lock_out_next(struct tally_lock_client *c, struct tally_lmsg *msg)
{
	unsigned long flags;
	bool any;

	spin_lock_irqsave(&c->lock, flags);
	any = c->out_head != c->out_tail;
	if (any)
		*msg = c->outbox[c->out_head++ % TALLY_LOCK_OUTBOX];
	spin_unlock_irqrestore(&c->lock, flags);
	return any;
}

struct tally_session *tally_lock_session(struct tally_lock_client *c)
{
	struct tally_session *s;
	unsigned long flags;

	spin_lock_irqsave(&c->lock, flags);
	s = c->session ? tally_session_get(c->session) : NULL;
	spin_unlock_irqrestore(&c->lock, flags);
	return s;
}

static void lock_send_remote(struct tally_handle *handle,
			     struct tally_session *s,
			     const struct tally_lmsg *msg)
{
	struct tally_msg_lock body;

	tally_lock_encode(&body, handle->view->remote_id, handle->id,
			  handle->generation, msg);
	trace_tally_lock_message(true, handle->view->remote_id, handle->id,
				 msg->type, msg->gen);
	tally_stat_inc(&handle->view->node->stats, TALLY_STAT_LOCK_MSG);
	tally_session_send(s, TALLY_MSG_LOCK, &body, sizeof(body), NULL, 0);
}

static void lock_send(struct work_struct *work)
{
	struct tally_lock_client *c = container_of(work,
						   struct tally_lock_client,
						   send);
	struct tally_handle *handle = c->handle;
	struct tally_session *s = tally_lock_session(c);
	struct tally_lmsg msg;

	while (lock_out_next(c, &msg)) {
		if (tally_lock_ours(c))
			tally_lock_home_local(handle->object, &msg);
		else if (s)
			lock_send_remote(handle, s, &msg);
	}
	if (READ_ONCE(c->violation)) {
		WRITE_ONCE(c->violation, false);
		if (s)
			tally_session_violation(s, "lock protocol");
	}
	if (s)
		tally_session_put(s);
	tally_handle_put(handle);
}

/*
 * The loopback conn broke under one of our own operations. To the table that
 * is a broken link; when there is a new one, the word says what was done.
 */
static void lock_retry(struct work_struct *work)
{
	struct tally_lock_client *c = container_of(work,
						   struct tally_lock_client,
						   retry.work);
	struct tally_handle *handle = c->handle;
	struct tally_conn *loop = tally_arena_loop(handle->object->arena);

	if (loop && tally_conn_is_up(loop)) {
		tally_lock_signal(c, TALLY_LOCK_DOWN);
		flush_work(&c->send);
		tally_lock_home_local_reset(handle->object, false);
		tally_lock_signal(c, TALLY_LOCK_UP);
		flush_work(&c->send);
		tally_lock_home_local_reset(handle->object, true);
	} else if (tally_handle_alive(handle)) {
		lock_queue_retry(c);
	}
	if (loop)
		tally_conn_put(loop);
	tally_handle_put(handle);
}

/**
 * tally_lock_client_create - make the client side of a lock
 * @handle: its handle
 *
 * Return: 0 or -ENOMEM.
 */
int tally_lock_client_create(struct tally_handle *handle)
{
	struct tally_lock_client *c = kzalloc(sizeof(*c), GFP_KERNEL);

	if (!c)
		return -ENOMEM;
	if (handle->object && tally_lock_home_attach(handle->object, handle)) {
		kfree(c);
		return -ENOMEM;
	}
	c->handle = handle;
	spin_lock_init(&c->lock);
	INIT_LIST_HEAD(&c->queue);
	INIT_LIST_HEAD(&c->inbox);
	INIT_WORK(&c->send, lock_send);
	INIT_DELAYED_WORK(&c->retry, lock_retry);
	init_waitqueue_head(&c->idle);
	c->op.done = lock_op_done;
	c->op.stats = &handle->view->node->stats;
	c->lc.st = TALLY_LC_DEAD;	/* until it is bound */
	c->lc.err = -ENOTCONN;
	handle->lock = c;
	return 0;
}

/**
 * tally_lock_client_destroy - the last reference of the handle is gone
 * @handle: its handle
 */
void tally_lock_client_destroy(struct tally_handle *handle)
{
	struct tally_lock_client *c = handle->lock;
	struct lock_in *in, *next;

	if (handle->object)
		tally_lock_home_detach(handle->object, handle);
	list_for_each_entry_safe(in, next, &c->inbox, list)
		kfree(in);
	if (c->session)
		tally_session_put(c->session);
	kfree(c);
	handle->lock = NULL;
}

/**
 * tally_lock_client_error - the lock cannot be used (any more)
 * @handle: its handle
 * @err: what its users get
 *
 * Context: process. On return every user has been told.
 */
void tally_lock_client_error(struct tally_handle *handle, int err)
{
	struct tally_lock_client *c = handle->lock;
	unsigned long flags;

	spin_lock_irqsave(&c->lock, flags);
	c->error = err;
	spin_unlock_irqrestore(&c->lock, flags);
	tally_lock_signal(c, TALLY_LOCK_LOST);
}
