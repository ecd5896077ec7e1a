// SPDX-License-Identifier: GPL-2.0
/*
 * The client side of locks: drives lock/fsm_client.c.
 *
 * Everything that happens to a lock is noted in its client under a spinlock;
 * then tally_lock_run_unlock() turns it into events, one after the other, and
 * carries their actions out. While it runs, others only note: events never nest
 * and their order is kept. The one that runs sends, too, when it is through, so
 * that a message leaves without a change of tasks; it may be in any context, so
 * what has to sleep is left to a work item of the lock.
 */
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include "base/trace.h"
#include "base/work.h"
#include "client/handle.h"
#include "lock/client.h"
#include "lock/home.h"
#include "lock/wire.h"
#include "session/lease.h"
#include "session/node.h"
#include "session/peer.h"
#include "transport/msg.h"

/* How long a lock that was contended is taken for managed. */
#define LOCK_MANAGED	(HZ / 50 ?: 1)

static struct kmem_cache *lock_clients;

/* The grant counts only while the lease does; our own locks have none. */
bool tally_lock_lease_valid(struct tally_lock_client *c, u64 now)
{
	return !c->session || tally_session_lease_valid(c->session, now);
}

static u32 lock_now_ms(void)
{
	return div_u64(ktime_get_boottime_ns(), NSEC_PER_MSEC);
}

static void lock_tell(struct tally_lock_req *req, enum tally_lock_news what)
{
	if (req->news)
		req->news(req, what);
}

/* With c->lock, and last: @req may go with the one that waits for it. */
static void lock_wake(struct tally_lock_req *req)
{
	struct tally_conn *conn = req->conn;

	complete(&req->wake);
	if (conn)
		tally_cq_kick(&conn->cq);
}

/* With c->lock: the request ends without the lock. */
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

/* @status: 0: the upgrader has @token, else why it has not. */
static void lock_upgrade_answered(struct tally_lock_client *c, int status,
				  u64 token)
{
	struct tally_lock_req *req = c->upgrader;

	c->upgrader = NULL;
	/* It has released the lock. */
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

/* Users that left, or changed their mode, left what was lost. */
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
	struct tally_lock_req *req;

	switch (a->kind) {
	case TALLY_LCA_GRANTED:
		lock_granted(c, a->token);
		break;
	case TALLY_LCA_FAILED:
		lock_failed(c, a->err);
		break;
	case TALLY_LCA_CANCELLED:
		req = lock_answered(c);
		tally_lock_req_end(req, req->status);
		break;
	case TALLY_LCA_UPGRADED:
		lock_upgrade_answered(c, 0, a->token);
		break;
	case TALLY_LCA_NOT_UPGRADED:
		lock_upgrade_answered(c, a->err, 0);
		break;
	case TALLY_LCA_RECALL:
		c->recalled_at = lock_now_ms();
		list_for_each_entry(req, &c->holders, list)
			lock_tell_recall(req);
		break;
	case TALLY_LCA_LOST:
		lock_lost(c);
		break;
	}
}

/* A work of the client keeps the handle until it has run. */
static void lock_queue(struct tally_lock_client *c)
{
	tally_work_queue(c->handle->view->node->wq, &c->work, &c->handle->ref);
}

/* With c->lock: the home broke the protocol. */
static void lock_accuse(struct tally_lock_client *c)
{
	c->accuse = true;
	lock_queue(c);
}

static struct tally_lock_out out_pack(const struct tally_lmsg *msg)
{
	return (struct tally_lock_out){
		.head = (msg->gen ?: msg->next_gen) << 8 | msg->type << 2 |
			msg->mode,
		.tail = msg->type == TALLY_LM_HANDOVER ? msg->next_session :
			msg->last << 8 | msg->flags,
	};
}

static u8 out_type(const struct tally_lock_out *out)
{
	return out->head >> 2 & 0x3f;
}

static void out_unpack(const struct tally_lock_out *out, struct tally_lmsg *msg)
{
	memset(msg, 0, sizeof(*msg));
	msg->type = out_type(out);
	msg->mode = out->head & 3;
	if (msg->type == TALLY_LM_HANDOVER || msg->type == TALLY_LM_LOST)
		msg->next_gen = out->head >> 8;
	else
		msg->gen = out->head >> 8;
	if (msg->type == TALLY_LM_HANDOVER) {
		msg->next_session = out->tail;
	} else {
		msg->flags = out->tail;
		msg->last = out->tail >> 8;
	}
}

/*
 * With c->lock. A home asks only one question after the other that BUSY answers,
 * and any message has it look at the word, which is all that LOOK says.
 */
static void lock_out(struct tally_lock_client *c, const struct tally_lmsg *msg)
{
	u8 waiting = c->out_tail - c->out_head;
	bool hint = msg->type == TALLY_LM_BUSY || msg->type == TALLY_LM_LOOK;

	if (hint && waiting >= TALLY_LOCK_OUTBOX / 2)
		return;
	if (waiting == TALLY_LOCK_OUTBOX) {
		/* Only a home that answers before it is asked fills the outbox. */
		lock_accuse(c);
		return;
	}
	c->outbox[c->out_tail++ % TALLY_LOCK_OUTBOX] = out_pack(msg);
	if (!c->sending) {
		c->sending = true;
		c->send_due = true;
	}
}

/*
 * With c->lock: nothing that waits goes to the home: RESYNC says it as state. The
 * first one stays where it is: it may be on its way.
 */
static void lock_out_drop(struct tally_lock_client *c)
{
	u8 tail = c->out_tail, i;

	if (c->out_head == tail)
		return;
	c->out_tail = c->out_head + 1;
	for (i = c->out_tail; i != tail; i++)
		if (out_type(&c->outbox[i % TALLY_LOCK_OUTBOX]) ==
		    TALLY_LM_HANDOVER)
			c->outbox[c->out_tail++ % TALLY_LOCK_OUTBOX] =
				c->outbox[i % TALLY_LOCK_OUTBOX];
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
			lock_out(c, &a->msg);
			break;
		case TALLY_LCA_RELEASED:
			break;
		case TALLY_LCA_VIOLATION:
		case TALLY_LCA_WORD_BAD:
			lock_accuse(c);
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
		tally_lock_home_loop_broken(c->handle->object);
}

static void lock_event_set(struct tally_lock_client *c,
			   struct tally_lc_event *ev)
{
	ev->kind = TALLY_LCE_SET;
	ev->cache = c->set.cache;
	ev->budget = c->set.grants;
}

static void lock_event_msg(struct tally_lock_client *c,
			   struct tally_lc_event *ev)
{
	ev->kind = TALLY_LCE_MSG;
	ev->msg = c->in;
	ev->linked = c->in_linked;
	c->in_full = false;
}

static void lock_event_pending(struct tally_lock_client *c,
			       struct tally_lc_event *ev)
{
	if (c->pending & TALLY_LOCK_DOWN) {
		c->pending &= ~TALLY_LOCK_DOWN;
		lock_out_drop(c);
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

static void lock_event_unlock(struct tally_lock_client *c,
			      struct tally_lc_event *ev)
{
	bool recalled = tally_lc_recalled(&c->lc);

	c->unlocks--;
	ev->kind = TALLY_LCE_UNLOCK;
	/* The time that local users may use up has passed. */
	ev->late = recalled && lock_now_ms() - c->recalled_at >= c->set.ms;
	if (recalled && !c->lc.fast)
		c->managed_until = (u32)jiffies + LOCK_MANAGED;
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
	ev->direct = (s32)((u32)jiffies - c->managed_until) < 0;
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
	else if (c->in_full)
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

/*
 * With c->lock: the way of the message that is sent now. Until the link to the
 * successor is known to have lasted a HANDOVER is in doubt: a break of it at any
 * later time is told to the home as LOST, which costs a GRANT that the successor
 * drops.
 */
static struct tally_conn *lock_find_way(struct tally_lock_client *c,
					const struct tally_lmsg *msg,
					struct tally_msg_head *head)
{
	if (msg->type != TALLY_LM_HANDOVER)
		return c->session ? tally_session_ctrl(c->session,
						       TALLY_MSG_LOCK, head) :
				    NULL;
	c->handed = msg->next_gen;
	c->handed_to = c->next.session;
	*head = (struct tally_msg_head){
		.type = TALLY_MSG_LOCK,
		.slot = c->next.slot,
		.session = c->next.session,
	};
	return c->next.conn && c->next.home_session == msg->next_session ?
	       tally_conn_get(c->next.conn) : NULL;
}

/* With c->lock: something is taken or sent that may be waited for. */
static void lock_wake_idle(struct tally_lock_client *c)
{
	/* A waiter comes into the queue first, and looks with c->lock then. */
	wake_up_var(c);
}

/* @sent: the first one is out. False: there is none, and we send no more. */
static bool lock_out_next(struct tally_lock_client *c, bool sent,
			  struct tally_lmsg *msg, struct tally_msg_head *head,
			  struct tally_conn **conn)
{
	unsigned long flags;
	bool any;

	spin_lock_irqsave(&c->lock, flags);
	c->out_head += sent;
	any = c->out_head != c->out_tail;
	if (any) {
		out_unpack(&c->outbox[c->out_head % TALLY_LOCK_OUTBOX], msg);
		*conn = lock_find_way(c, msg, head);
	} else {
		c->sending = false;
		c->sends++;
		lock_wake_idle(c);
	}
	spin_unlock_irqrestore(&c->lock, flags);
	return any;
}

static int lock_send_msg(struct tally_handle *handle,
			 const struct tally_lmsg *msg, struct tally_conn *conn,
			 const struct tally_msg_head *head, gfp_t gfp)
{
	struct tally_msg_lock body;
	int err;

	if (!conn)
		return -ENOTCONN;
	tally_lock_encode(&body, handle->view->remote_id, handle->id,
			  handle->generation, msg, NULL);
	err = tally_msg_send(conn, head, &body, sizeof(body), gfp);
	if (!err) {
		trace_tally_lock_message(true, handle->view->remote_id,
					 handle->id, msg->type,
					 msg->gen ?: msg->next_gen);
		tally_stat_inc(&handle->view->node->stats,
			       TALLY_STAT_LOCK_MSG);
	}
	tally_conn_put(conn);
	return err;
}

static void lock_handed(struct tally_lock_client *c, int err)
{
	unsigned long flags;

	if (!err) {
		tally_stat_inc(&c->handle->view->node->stats,
			       TALLY_STAT_LOCK_HANDED);
		return;
	}
	spin_lock_irqsave(&c->lock, flags);
	c->pending |= TALLY_LOCK_HANDED_BAD;
	tally_lock_run_unlock(c, flags);
}

/* Return: false when a buffer is to be waited for. */
static bool lock_send_all(struct tally_lock_client *c, gfp_t gfp)
{
	struct tally_msg_head head;
	struct tally_conn *conn;
	struct tally_lmsg msg;
	bool sent = false;
	int err;

	while (lock_out_next(c, sent, &msg, &head, &conn)) {
		if (tally_lock_ours(c)) {
			tally_lock_home_local(c->handle->object, &msg);
		} else {
			err = lock_send_msg(c->handle, &msg, conn, &head, gfp);
			if (err == -ENOMEM)
				return false;
			if (msg.type == TALLY_LM_HANDOVER)
				lock_handed(c, err);
		}
		sent = true;
	}
	return true;
}

static void lock_work(struct work_struct *work)
{
	struct tally_lock_client *c = container_of(work,
						   struct tally_lock_client,
						   work);
	struct tally_session *s = NULL;
	unsigned long flags;
	bool send;

	spin_lock_irqsave(&c->lock, flags);
	if (c->accuse && c->session)
		s = tally_session_get(c->session);
	c->accuse = false;
	send = c->send_later;
	c->send_later = false;
	spin_unlock_irqrestore(&c->lock, flags);
	if (s) {
		tally_session_violation(s, "lock protocol");
		tally_session_put(s);
	}
	/* A message may be lost only together with its link: buffers become free. */
	while (send && !lock_send_all(c, GFP_NOIO))
		schedule_timeout_uninterruptible(1);
	tally_handle_put(c->handle);
}

/* The outbox is ours to empty. The home's side of our own locks has a mutex. */
static void lock_send(struct tally_lock_client *c)
{
	unsigned long flags;

	if (!tally_lock_ours(c) && lock_send_all(c, GFP_NOWAIT | __GFP_NOWARN))
		return;
	spin_lock_irqsave(&c->lock, flags);
	c->send_later = true;
	spin_unlock_irqrestore(&c->lock, flags);
	lock_queue(c);
}

/**
 * tally_lock_run_unlock - do what has been noted, unless that is being done
 * @c: the client, locked; unlocked on return
 * @flags: what locking it gave
 *
 * Context: any; the caller keeps the handle.
 */
void tally_lock_run_unlock(struct tally_lock_client *c, unsigned long flags)
	__releases(&c->lock)
{
	struct tally_lc_actions out;
	struct tally_lc_event ev;
	struct tally_conn *conn;
	bool send, unpin;
	u8 state;

	if (c->running) {
		spin_unlock_irqrestore(&c->lock, flags);
		return;
	}
	c->running = true;
	while (lock_next_event(c, &ev)) {
		state = c->lc.st;
		tally_lc_step(&c->lc, &ev, &out);
		trace_tally_lock_client(c->handle->view->remote_id,
					c->handle->id, state, ev.kind,
					ev.msg.type, c->lc.st, c->lc.tenure);
		if (!lock_act(c, &out) || !lock_route(c))
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
	lock_wake_idle(c);
	spin_unlock_irqrestore(&c->lock, flags);
	if (send)
		lock_send(c);
	if (unpin)
		tally_handle_put(c->handle);
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

static bool lock_pending_taken(struct tally_lock_client *c, u8 what)
{
	unsigned long flags;
	bool taken;

	spin_lock_irqsave(&c->lock, flags);
	taken = !(c->pending & what);
	spin_unlock_irqrestore(&c->lock, flags);
	return taken;
}

/**
 * tally_lock_signal - tell the table something, and see it taken
 * @c: the client
 * @what: TALLY_LOCK_*
 *
 * Context: process; waits for the one that runs, which does not sleep.
 */
void tally_lock_signal(struct tally_lock_client *c, u8 what)
{
	unsigned long flags;

	spin_lock_irqsave(&c->lock, flags);
	c->pending |= what;
	tally_lock_run_unlock(c, flags);
	wait_var_event(c, lock_pending_taken(c, what));
}

static bool lock_has_sent(struct tally_lock_client *c, u16 sends)
{
	unsigned long flags;
	bool has;

	spin_lock_irqsave(&c->lock, flags);
	has = !c->sending || c->sends != sends;
	spin_unlock_irqrestore(&c->lock, flags);
	return has;
}

/**
 * tally_lock_send_flush - see what is in the outbox leave it
 * @c: the client
 *
 * A message is sent, or dropped, without waiting for the peer.
 *
 * Context: process.
 */
void tally_lock_send_flush(struct tally_lock_client *c)
{
	u16 sends = READ_ONCE(c->sends);

	wait_var_event(c, lock_has_sent(c, sends));
}

/**
 * tally_lock_session - the session the table stands in
 * @c: the client
 *
 * Context: any.
 * Return: a reference, or NULL.
 */
struct tally_session *tally_lock_session(struct tally_lock_client *c)
{
	struct tally_session *s;
	unsigned long flags;

	spin_lock_irqsave(&c->lock, flags);
	s = c->session ? tally_session_get(c->session) : NULL;
	spin_unlock_irqrestore(&c->lock, flags);
	return s;
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
	struct tally_lock_client *c = tally_lock_client(handle);
	unsigned long flags;

	spin_lock_irqsave(&c->lock, flags);
	c->error = err;
	spin_unlock_irqrestore(&c->lock, flags);
	tally_lock_signal(c, TALLY_LOCK_LOST);
}

/*
 * The way to a node that we could hand the lock over to. It ends with the link
 * there is now: what does not arrive is told to the home.
 */
static void lock_way_to(struct tally_node *node, const char *name,
			struct tally_lock_way *way)
{
	struct tally_msg_head head;
	struct tally_session *s;
	struct tally_peer *peer;

	peer = tally_peer_find(node, name);
	if (!peer)
		return;
	s = tally_peer_session(peer);
	tally_peer_put(peer);
	if (!s)
		return;
	way->conn = tally_session_ctrl(s, TALLY_MSG_LOCK, &head);
	way->session = head.session;
	way->slot = head.slot;
	tally_session_put(s);
}

static bool lock_in_taken(struct tally_lock_client *c)
{
	unsigned long flags;
	bool taken;

	spin_lock_irqsave(&c->lock, flags);
	taken = !c->in_full;
	spin_unlock_irqrestore(&c->lock, flags);
	return taken;
}

/* With c->lock: settings are no matter of the table's messages. */
static void lock_in(struct tally_lock_client *c, const struct tally_lmsg *msg,
		    struct tally_lock_way *way)
{
	if (msg->type == TALLY_LM_SET) {
		c->set = (struct tally_lock_set){
			.cache = msg->flags & TALLY_LMF_CACHE,
			.grants = msg->gen,
			.ms = msg->last,
		};
		c->pending |= TALLY_LOCK_SET;
		return;
	}
	c->in = *msg;
	c->in_full = true;
	c->in_linked = way->conn;
	if (way->conn)
		swap(c->next, *way);
}

/**
 * tally_lock_client_message - the home, or another client, says something
 * @handle: the lock
 * @msg: what
 * @next: SUCC: name of the successor, or NULL
 *
 * Needs no memory: there is room for one message, and while the one that runs
 * has not taken it, which needs no other task, the next one waits.
 *
 * Context: process.
 */
void tally_lock_client_message(struct tally_handle *handle,
			       const struct tally_lmsg *msg, const char *next)
{
	struct tally_lock_client *c = tally_lock_client(handle);
	struct tally_lock_way way = { .home_session = msg->next_session };
	unsigned long flags;

	trace_tally_lock_message(false, handle->view->remote_id, handle->id,
				 msg->type, msg->gen ?: msg->next_gen);
	if (next && next[0] && !handle->object)
		lock_way_to(handle->view->node, next, &way);
	spin_lock_irqsave(&c->lock, flags);
	while (c->in_full) {
		spin_unlock_irqrestore(&c->lock, flags);
		wait_var_event(c, lock_in_taken(c));
		spin_lock_irqsave(&c->lock, flags);
	}
	lock_in(c, msg, &way);
	tally_lock_run_unlock(c, flags);
	if (way.conn)
		tally_conn_put(way.conn);
}

/*
 * The loopback conn is there again after an operation of our own users broke. To
 * the table that is a broken link; now the word says what was done.
 */
static void lock_local_reset(struct tally_handle *handle)
{
	struct tally_lock_client *c = tally_lock_client(handle);

	tally_lock_signal(c, TALLY_LOCK_DOWN);
	tally_lock_send_flush(c);
	tally_lock_home_local_reset(handle->object, false);
	tally_lock_signal(c, TALLY_LOCK_UP);
	tally_lock_send_flush(c);
	tally_lock_home_local_reset(handle->object, true);
}

static void lock_local_message(struct tally_handle *handle,
			       const struct tally_lmsg *msg)
{
	tally_lock_client_message(handle, msg, NULL);
}

const struct tally_lock_local tally_lock_local = {
	.message = lock_local_message,
	.reset = lock_local_reset,
};

static struct tally_lock_client *lock_create(struct tally_handle *handle)
{
	struct tally_lock_client *c;

	c = kmem_cache_zalloc(lock_clients, GFP_KERNEL);
	if (!c)
		return NULL;
	c->handle = handle;
	spin_lock_init(&c->lock);
	INIT_LIST_HEAD(&c->queue);
	INIT_LIST_HEAD(&c->holders);
	INIT_WORK(&c->work, lock_work);
	c->managed_until = jiffies;
	c->op.done = lock_op_done;
	c->op.stats = &handle->view->node->stats;
	c->lc.st = TALLY_LC_DEAD;	/* until it is bound */
	c->lc.err = -ENOTCONN;
	return c;
}

/**
 * tally_lock_client_attach - a handle is a lock, or still is
 * @handle: the handle
 * @rep: what its home says of it
 *
 * Return: 0 or -ENOMEM.
 */
int tally_lock_client_attach(struct tally_handle *handle,
			     const struct tally_rep_open *rep)
{
	struct tally_lock_client *c = tally_lock_client(handle);
	unsigned long flags;
	bool made = c;

	if (!made)
		c = lock_create(handle);
	if (!c)
		return -ENOMEM;
	spin_lock_irqsave(&c->lock, flags);
	c->set = (struct tally_lock_set){
		.cache = rep->lock_cache,
		.grants = be16_to_cpu(rep->lock_grants),
		.ms = be16_to_cpu(rep->lock_ms),
	};
	spin_unlock_irqrestore(&c->lock, flags);
	if (made)
		return 0;
	handle->part = c;
	if (handle->object)
		tally_lock_home_attach(handle->object, handle);
	return 0;
}

/**
 * tally_lock_client_destroy - the last reference of the handle is gone
 * @handle: its handle
 */
void tally_lock_client_destroy(struct tally_handle *handle)
{
	struct tally_lock_client *c = tally_lock_client(handle);

	if (handle->object)
		tally_lock_home_detach(handle->object, handle);
	if (c->next.conn)
		tally_conn_put(c->next.conn);
	if (c->session)
		tally_session_put(c->session);
	kmem_cache_free(lock_clients, c);
	handle->part = NULL;
}

/* A cache of its own, so that a lock takes no more than it needs. */
int tally_lock_clients_init(void)
{
	lock_clients = kmem_cache_create("tally_lock_client",
					 sizeof(struct tally_lock_client), 0,
					 SLAB_ACCOUNT, NULL);
	return lock_clients ? 0 : -ENOMEM;
}

void tally_lock_clients_exit(void)
{
	kmem_cache_destroy(lock_clients);
}
