// SPDX-License-Identifier: GPL-2.0
/*
 * The client side of locks: drives lock/fsm_client.c.
 *
 * Everything that happens to a lock is noted in its client under a spinlock;
 * then tally_lock_run_unlock() turns it into events, one after the other, and
 * carries their actions out. Whoever comes while somebody runs leaves the work to him, so
 * events never nest and their order is kept.
 */
#include "lock/client.h"
#include "base/trace.h"
#include "session/lease.h"
#include "session/session.h"

/* How long a lock that was contended is taken for managed. */
#define LOCK_MANAGED	(HZ / 50 ?: 1)

/* The grant counts only while the lease does; our own locks have none. */
bool tally_lock_lease_valid(struct tally_lock_client *c, u64 now)
{
	return !c->session || tally_session_lease_valid(c->session, now);
}

static void lock_tell(struct tally_lock_req *req, enum tally_lock_news what)
{
	if (req->news)
		req->news(req, what);
}

/* With c->lock, and last: who waits may go with @req, the conn is taken after. */
static void lock_wake(struct tally_lock_req *req)
{
	struct tally_conn *conn = req->conn;

	complete(&req->wake);
	if (conn)
		tally_cq_kick(&conn->cq);
}

void tally_lock_req_end(struct tally_lock_req *req, int status)
{
	req->state = TALLY_LOCK_REQ_IDLE;
	req->status = status;
	lock_tell(req, TALLY_LOCK_NEWS_FAILED);
	lock_wake(req);
}

/* The request that was asked for has its answer; so has its wish to cancel. */
static struct tally_lock_req *lock_answered(struct tally_lock_client *c)
{
	struct tally_lock_req *req = c->wanted;

	c->wanted = NULL;
	c->cancel = false;
	return req;
}

static void lock_tell_recall(struct tally_lock_req *req)
{
	if (req->recalled || req->state != TALLY_LOCK_REQ_HELD)
		return;
	req->recalled = true;
	lock_tell(req, TALLY_LOCK_NEWS_RECALL);
}

static void lock_count_grant(struct tally_lock_client *c, u64 token)
{
	struct tally_stats *stats = &c->handle->view->node->stats;

	if (tally_token_local(token))
		tally_stat_inc(stats, TALLY_STAT_LOCK_LOCAL);
	else if (c->lc.fast)
		tally_stat_inc(stats, TALLY_STAT_LOCK_FAST);
	else
		tally_stat_inc(stats, TALLY_STAT_LOCK_MANAGED);
}

static void lock_granted(struct tally_lock_client *c, u64 token)
{
	struct tally_lock_req *req = lock_answered(c);
	u64 now = ktime_get_boottime_ns();

	list_add_tail(&req->list, &c->holders);
	if (!tally_lock_lease_valid(c, now)) {
		c->pending |= TALLY_LOCK_LOST;	/* before the user hears of it */
		return;
	}
	lock_count_grant(c, token);
	req->token = token;
	req->granted_at = now;
	req->recalled = false;
	/* A cancellation that came too late has left its word there. */
	req->status = 0;
	req->state = TALLY_LOCK_REQ_HELD;
	lock_tell(req, TALLY_LOCK_NEWS_GRANTED);
	if (tally_lc_recalled(&c->lc))
		lock_tell_recall(req);
	lock_wake(req);
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

static void lock_recalled(struct tally_lock_client *c)
{
	struct tally_lock_req *req;

	c->recalled_at = ktime_get_boottime_ns();
	list_for_each_entry(req, &c->holders, list)
		lock_tell_recall(req);
}

/* @status: 0: the upgrader has @token, else why it has not. */
static void lock_upgrade_answered(struct tally_lock_client *c, int status,
				  u64 token)
{
	struct tally_lock_req *req = c->upgrader;

	c->upgrader = NULL;
	/* Whoever asked has released it. */
	if (!req)
		return;
	req->status = status;
	if (!status) {
		req->mode = TALLY_LMODE_X;
		req->token = token;
		req->granted_at = ktime_get_boottime_ns();
	}
	lock_tell(req, TALLY_LOCK_NEWS_GRANTED);
	complete(&req->wake);
}

static void lock_lose(struct tally_lock_client *c, struct tally_lock_req *req)
{
	list_del_init(&req->list);
	if (req->state == TALLY_LOCK_REQ_WAITING) {
		tally_lock_req_end(req, c->error ?: -ENOTCONN);
		return;
	}
	tally_stat_inc(&c->handle->view->node->stats, TALLY_STAT_LOCK_LOST);
	req->state = TALLY_LOCK_REQ_LOST;
	lock_tell(req, TALLY_LOCK_NEWS_LOST);
	if (c->upgrader == req) {
		c->upgrader = NULL;
		c->upgrade = false;
		req->status = -ESTALE;
		complete(&req->wake);
	}
}

/* Whoever left, or changed its mode, left what was lost. */
static void lock_lost(struct tally_lock_client *c)
{
	struct tally_lock_req *req, *next;

	c->unlocks = 0;
	c->downgrade = false;
	list_for_each_entry_safe(req, next, &c->holders, list)
		lock_lose(c, req);
}

static void lock_post(struct tally_lock_client *c,
		      const struct tally_lc_action *a)
{
	c->op.compare = a->compare;
	c->op.value = a->value;
	c->op.value2 = 1;
	switch (a->kind) {
	case TALLY_LCA_POST_CAS_FAA:
		c->op.type = TALLY_OP_CAS_FAA;
		break;
	case TALLY_LCA_POST_FAA_FAA:
		c->op.type = TALLY_OP_FAA_FAA;
		break;
	case TALLY_LCA_POST_TOKEN_FAA:
		c->op.value = 1;
		fallthrough;
	default:
		/* A READ is a FAA of nothing: on the same lane, in order. */
		c->op.type = TALLY_OP_FAA;
	}
}

/* Under c->lock: what users are told. */
static void lock_answer(struct tally_lock_client *c,
			const struct tally_lc_action *a)
{
	switch (a->kind) {
	case TALLY_LCA_GRANTED:
		lock_granted(c, a->token);
		break;
	case TALLY_LCA_FAILED:
		lock_failed(c, a->err);
		break;
	case TALLY_LCA_CANCELLED:
		lock_cancelled(c);
		break;
	case TALLY_LCA_UPGRADED:
		lock_upgrade_answered(c, 0, a->token);
		break;
	case TALLY_LCA_NOT_UPGRADED:
		lock_upgrade_answered(c, a->err, 0);
		break;
	case TALLY_LCA_RECALL:
		lock_recalled(c);
		break;
	case TALLY_LCA_LOST:
		lock_lost(c);
		break;
	}
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
		case TALLY_LCA_POST_CAS_FAA ... TALLY_LCA_POST_TOKEN_FAA:
			lock_post(c, a);
			post = true;
			break;
		case TALLY_LCA_SEND:
		case TALLY_LCA_HANDOVER:
			tally_lock_out(c, &a->msg);
			break;
		case TALLY_LCA_RELEASED:
			break;
		case TALLY_LCA_VIOLATION:
		case TALLY_LCA_WORD_BAD:
			tally_lock_accuse(c);
			break;
		default:
			lock_answer(c, a);
		}
	}
	return post;
}

static void lock_event_op(struct tally_lock_client *c,
			  struct tally_lc_event *ev)
{
	bool pair = c->op.type == TALLY_OP_CAS_FAA ||
		    c->op.type == TALLY_OP_FAA_FAA;

	c->op_done = false;
	ev->kind = TALLY_LCE_OP_DONE;
	ev->op = c->lc.op;
	ev->broken = c->op.status != 0;
	ev->state = c->op.old;
	ev->token = pair ? c->op.old2 : c->op.old;
	if (ev->broken && tally_lock_ours(c))
		tally_lock_start_over(c);
}

static void lock_event_set(struct tally_lock_client *c,
			   struct tally_lc_event *ev)
{
	ev->kind = TALLY_LCE_SET;
	ev->cache = c->handle->set.cache;
	ev->budget = c->handle->set.grants;
}

/* Settings are no matter of the table's messages: a SET becomes an event. */
static void lock_event_msg(struct tally_lock_client *c,
			   struct tally_lc_event *ev)
{
	struct lock_in *in = list_first_entry(&c->inbox, struct lock_in, list);

	ev->kind = TALLY_LCE_MSG;
	ev->msg = in->msg;
	if (in->msg.type == TALLY_LM_SET) {
		c->handle->set = (struct tally_lock_set){
			.cache = in->msg.flags & TALLY_LMF_CACHE,
			.grants = in->msg.gen,
			.ms = in->msg.last,
		};
		lock_event_set(c, ev);
	}
	ev->linked = in->next.conn;
	if (ev->linked) {
		swap(c->next, in->next);
		c->next_session = in->msg.next_session;
	}
	list_del(&in->list);
	tally_lock_in_free(in);
}

static void lock_event_pending(struct tally_lock_client *c,
			       struct tally_lc_event *ev)
{
	if (c->pending & TALLY_LOCK_DOWN) {
		c->pending &= ~TALLY_LOCK_DOWN;
		tally_lock_out_drop(c);
		ev->kind = TALLY_LCE_LINK_DOWN;
	} else if (c->pending & TALLY_LOCK_UP) {
		c->pending &= ~TALLY_LOCK_UP;
		ev->kind = TALLY_LCE_LINK_UP;
	} else if (c->pending & TALLY_LOCK_LOST) {
		c->pending &= ~TALLY_LOCK_LOST;
		ev->kind = TALLY_LCE_LEASE_LOST;
	} else if (c->pending & TALLY_LOCK_HANDED_BAD) {
		c->pending &= ~TALLY_LOCK_HANDED_BAD;
		ev->kind = TALLY_LCE_HANDED_BAD;
		ev->msg.next_gen = c->handed;
		c->handed = 0;
	} else {
		c->pending = 0;
		lock_event_set(c, ev);
	}
}

/* Has the time after the recall passed that local users may use up? */
static bool lock_late(struct tally_lock_client *c)
{
	u64 ms = div_u64(ktime_get_boottime_ns() - c->recalled_at,
			 NSEC_PER_MSEC);

	return ms >= c->handle->set.ms;
}

static void lock_event_unlock(struct tally_lock_client *c,
			      struct tally_lc_event *ev)
{
	bool recalled = tally_lc_recalled(&c->lc);

	c->unlocks--;
	ev->kind = TALLY_LCE_UNLOCK;
	ev->late = recalled && lock_late(c);
	if (recalled && !c->lc.fast)
		c->managed_until = jiffies + LOCK_MANAGED;
}

static void lock_event_want(struct tally_lock_client *c,
			    struct tally_lc_event *ev)
{
	struct tally_lock_req *req;

	req = list_first_entry(&c->queue, struct tally_lock_req, list);
	list_del_init(&req->list);
	c->wanted = req;
	ev->kind = TALLY_LCE_WANT;
	ev->mode = req->mode;
	ev->try = req->try;
	ev->direct = time_before(jiffies, c->managed_until);
}

/* A downgrade that is under way comes before an upgrade. */
static bool lock_settled(struct tally_lock_client *c)
{
	return c->lc.st == TALLY_LC_HOLD || c->lc.st == TALLY_LC_DEAD;
}

/* What users did, in the order in which it matters. */
static bool lock_next_user_event(struct tally_lock_client *c,
				 struct tally_lc_event *ev)
{
	if (c->cancel) {
		c->cancel = false;
		ev->kind = TALLY_LCE_CANCEL;
	} else if (c->downgrade) {
		c->downgrade = false;
		ev->kind = TALLY_LCE_DOWNGRADE;
	} else if (c->upgrade && lock_settled(c)) {
		c->upgrade = false;
		ev->kind = TALLY_LCE_UPGRADE;
	} else if (c->unlocks) {
		lock_event_unlock(c, ev);
	} else if (!c->wanted && !list_empty(&c->queue)) {
		lock_event_want(c, ev);
	} else {
		return false;
	}
	return true;
}

/* Under c->lock: what has happened, the oldest first as far as it matters. */
static bool lock_next_event(struct tally_lock_client *c,
			    struct tally_lc_event *ev)
{
	memset(ev, 0, sizeof(*ev));
	if (c->op_done)
		lock_event_op(c, ev);
	else if (!list_empty(&c->inbox))
		lock_event_msg(c, ev);
	else if (c->pending)
		lock_event_pending(c, ev);
	else
		return lock_next_user_event(c, ev);
	return true;
}

/* Under c->lock: find the operation's way to the word, or it has ended. */
static bool lock_route(struct tally_lock_client *c)
{
	u64 addr;
	u32 rkey;

	if (!tally_handle_try_enter(c->handle)) {
		c->op_conn = tally_handle_conn(c->handle, &addr, &rkey);
		if (!c->op_conn)
			tally_handle_leave(c->handle);
	}
	if (!c->op_conn) {
		c->op.status = -ENOTCONN;
		c->op_done = true;
		return false;
	}
	c->op.rkey = rkey;
	c->op.addr = c->lc.op == TALLY_LC_OP_TOKEN ? addr + 8 : addr;
	c->op.addr2 = addr + 8;
	return true;
}

/* Under c->lock: is nothing of us left that the handle must be kept for? */
static bool lock_unpin(struct tally_lock_client *c)
{
	bool unpin = c->pinned && tally_lc_idle(&c->lc) && !c->wanted &&
		     list_empty(&c->holders) && list_empty(&c->queue) &&
		     (tally_lock_ours(c) || c->lc.st == TALLY_LC_DEAD);

	if (unpin)
		c->pinned = false;
	return unpin;
}

/**
 * tally_lock_run_unlock - do what has been noted, unless somebody is at it
 * @c: the client, locked; unlocked on return
 * @flags: what locking it gave
 *
 * Context: any; the caller keeps the handle.
 */
void tally_lock_run_unlock(struct tally_lock_client *c, unsigned long flags)
	__releases(&c->lock)
{
	struct tally_conn *conn;
	bool send, unpin;

	if (c->running) {
		spin_unlock_irqrestore(&c->lock, flags);
		return;
	}
	c->running = true;
	while (lock_next_event(c, &c->ev)) {
		tally_lc_step(&c->lc, &c->ev, &c->out);
		if (!lock_act(c, &c->out) || !lock_route(c))
			continue;
		/* Done() may come at once, and gives the op's reference up. */
		conn = tally_conn_get(c->op_conn);
		spin_unlock_irqrestore(&c->lock, flags);
		tally_op_submit(conn, &c->op);
		tally_conn_put(conn);
		spin_lock_irqsave(&c->lock, flags);
	}
	c->running = false;
	send = c->send_due;
	c->send_due = false;
	unpin = lock_unpin(c);
	tally_lock_wake_idle(c);
	spin_unlock_irqrestore(&c->lock, flags);
	if (send)
		tally_lock_send(c);
	if (unpin)
		tally_handle_put(c->handle);
}

void tally_lock_run(struct tally_lock_client *c)
{
	unsigned long flags;

	spin_lock_irqsave(&c->lock, flags);
	tally_lock_run_unlock(c, flags);
}

static void lock_op_done(struct tally_op *op)
{
	struct tally_lock_client *c = container_of(op, struct tally_lock_client,
						   op);
	struct tally_handle *handle = tally_handle_get(c->handle);
	struct tally_conn *conn;
	unsigned long flags;

	if (op->status == -EREMOTEIO)
		tally_handle_doubt(handle);
	spin_lock_irqsave(&c->lock, flags);
	c->op_done = true;
	conn = c->op_conn;
	c->op_conn = NULL;
	tally_handle_leave(handle);
	tally_lock_run_unlock(c, flags);
	tally_conn_put(conn);
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
	INIT_LIST_HEAD(&c->holders);
	INIT_LIST_HEAD(&c->inbox);
	tally_lock_send_init(c);
	init_waitqueue_head(&c->idle);
	c->managed_until = jiffies;
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
		tally_lock_in_free(in);
	if (c->next.conn)
		tally_conn_put(c->next.conn);
	if (c->session)
		tally_session_put(c->session);
	kfree(c);
	handle->lock = NULL;
}
