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

/* In the order of the bits of tally_lock_client.pending. */
static const u8 lock_events[] = {
	TALLY_LCE_OP_DONE, TALLY_LCE_MSG, TALLY_LCE_LINK_DOWN,
	TALLY_LCE_LINK_UP, TALLY_LCE_LEASE_LOST, TALLY_LCE_HANDED_BAD,
	TALLY_LCE_SET, TALLY_LCE_CANCEL, TALLY_LCE_DOWNGRADE, TALLY_LCE_UPGRADE,
};

/* The grant counts only while the lease does; our own locks have none. */
bool tally_lock_lease_valid(struct tally_lock_client *c)
{
	return !c->session ||
	       tally_session_lease_valid(c->session, ktime_get_boottime_ns());
}

static u32 lock_now_ms(void)
{
	return div_u64(ktime_get_boottime_ns(), NSEC_PER_MSEC);
}

/* With c->lock, and last: @req may go with the task that waits for it. */
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
	req->news(req, TALLY_LOCK_NEWS_FAILED);
	lock_wake(req);
}

/* The request that was asked for has its answer; so has its wish to cancel. */
static struct tally_lock_req *lock_answered(struct tally_lock_client *c)
{
	struct tally_lock_req *req = c->wanted;

	c->wanted = NULL;
	c->pending &= ~TALLY_LOCK_CANCEL;
	return req;
}

static void lock_tell_recall(struct tally_lock_req *req)
{
	if (req->recalled)
		return;
	req->recalled = true;
	req->news(req, TALLY_LOCK_NEWS_RECALL);
}

static void lock_granted(struct tally_lock_client *c, u64 token)
{
	struct tally_lock_req *req = lock_answered(c);
	bool local = tally_token_local(token);
	u64 now = c->session && c->lc.fast && !local ?
		  tally_session_now(c->session) : ktime_get_boottime_ns();

	if (c->session && !tally_session_lease_valid(c->session, now)) {
		c->pending |= TALLY_LOCK_LOST;	/* no user of it is inside */
		tally_lock_req_end(req, c->error ?: -ENOTCONN);
		return;
	}
	list_add_tail(&req->list, &c->holders);
	tally_stat_inc(&c->handle->view->node->stats,
		       local ? TALLY_STAT_LOCK_LOCAL :
		       c->lc.fast ? TALLY_STAT_LOCK_FAST :
				    TALLY_STAT_LOCK_MANAGED);
	req->token = token;
	req->granted_at = now;
	req->recalled = false;
	/* A cancellation that came too late has left its word there. */
	req->status = 0;
	req->state = TALLY_LOCK_REQ_HELD;
	req->news(req, TALLY_LOCK_NEWS_GRANTED);
	if (tally_lc_recalled(&c->lc))
		lock_tell_recall(req);
	lock_wake(req);
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
	if (!status && !tally_lock_lease_valid(c)) {
		c->pending |= TALLY_LOCK_LOST;
		status = -ESTALE;
	}
	/* Who asked was killed: those that share the request hold it shared. */
	if (!status && c->upgrade_void) {
		c->pending |= TALLY_LOCK_DOWNGRADE;
		return;
	}
	req->status = status;
	if (!status) {
		req->mode = TALLY_LMODE_X;
		req->token = token;
		req->granted_at = ktime_get_boottime_ns();
	}
	req->news(req, TALLY_LOCK_NEWS_GRANTED);
	complete(&req->wake);
}

/* With c->lock: the one that asked for exclusive does not hold it any more. */
void tally_lock_no_upgrade(struct tally_lock_client *c, int status)
{
	c->upgrader->status = status;
	complete(&c->upgrader->wake);
	c->upgrader = NULL;
	c->pending &= ~TALLY_LOCK_UPGRADE;
}

/* Users that left, or changed their mode, left what was lost. */
static void lock_lost(struct tally_lock_client *c)
{
	struct tally_lock_req *req, *next;

	c->unlocks = 0;
	c->pending &= ~TALLY_LOCK_DOWNGRADE;
	list_for_each_entry_safe(req, next, &c->holders, list) {
		list_del_init(&req->list);
		tally_stat_inc(&c->handle->view->node->stats,
			       TALLY_STAT_LOCK_LOST);
		req->state = TALLY_LOCK_REQ_LOST;
		req->news(req, TALLY_LOCK_NEWS_LOST);
		if (c->upgrader == req)
			tally_lock_no_upgrade(c, -ESTALE);
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
		.tail = msg->last << 8 | msg->flags,
		.pass = msg->pass,
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
	msg->flags = out->tail;
	msg->last = out->tail >> 8;
	msg->pass = out->pass;
}

/*
 * With c->lock. A home asks one question at a time that BUSY answers, and any
 * message has it look at the word, which is all that LOOK says.
 */
static void lock_out(struct tally_lock_client *c, const struct tally_lmsg *msg)
{
	u8 waiting = c->out_tail - c->out_head;
	bool hint = msg->type == TALLY_LM_BUSY || msg->type == TALLY_LM_LOOK;

	if (hint && waiting >= TALLY_LOCK_OUTBOX / 2)
		return;
	if (waiting == TALLY_LOCK_OUTBOX) {
		/* Only a home that answers unasked fills the outbox. */
		lock_accuse(c);
		return;
	}
	c->outbox[c->out_tail++ % TALLY_LOCK_OUTBOX] = out_pack(msg);
}

/*
 * With c->lock: nothing that waits goes to the home: RESYNC says it as state.
 * The first one stays where it is: it may be on its way.
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

/* Under c->lock. Returns the operation that is to be posted, or NULL. */
static const struct tally_lc_action *
lock_act(struct tally_lock_client *c, const struct tally_lc_actions *out)
{
	const struct tally_lc_action *a, *post = NULL;
	struct tally_lock_req *req;

	WARN_ON_ONCE(out->bug);
	for (a = out->a; a < out->a + out->n; a++) {
		switch (a->kind) {
		case TALLY_LCA_POST_CAS_FAA ... TALLY_LCA_POST_TOKEN_FAA:
			post = a;
			break;
		case TALLY_LCA_SEND:
		case TALLY_LCA_HANDOVER:
			lock_out(c, &a->msg);
			break;
		case TALLY_LCA_GRANTED:
			lock_granted(c, a->token);
			break;
		case TALLY_LCA_FAILED:
			tally_lock_req_end(lock_answered(c),
					   a->err == -EBUSY ? -EWOULDBLOCK :
					   a->err == -ENOTCONN && c->error ?
					   c->error : a->err);
			break;
		case TALLY_LCA_CANCELLED:
			req = lock_answered(c);
			tally_lock_req_end(req, req->status);
			break;
		case TALLY_LCA_UPGRADED:
		case TALLY_LCA_NOT_UPGRADED:
			lock_upgrade_answered(c, a->err, a->token);
			break;
		case TALLY_LCA_RECALL:
			c->recalled_at = lock_now_ms();
			list_for_each_entry(req, &c->holders, list)
				lock_tell_recall(req);
			break;
		case TALLY_LCA_LOST:
			lock_lost(c);
			break;
		case TALLY_LCA_VIOLATION:
		case TALLY_LCA_WORD_BAD:
			lock_accuse(c);
			break;
		}
	}
	return post;
}

static void lock_event_pending(struct tally_lock_client *c,
			       struct tally_lc_event *ev, unsigned int bit)
{
	c->pending &= ~BIT(bit);
	ev->kind = lock_events[bit];
	switch (ev->kind) {
	case TALLY_LCE_OP_DONE:
		ev->op = c->lc.op;
		ev->broken = c->op.status != 0;
		ev->state = c->op.old;
		ev->token = c->op.type == TALLY_OP_FAA ? c->op.old : c->op.old2;
		if (ev->broken && tally_lock_ours(c))
			tally_lock_home_loop_broken(c->handle->object);
		break;
	case TALLY_LCE_MSG:
		ev->msg = c->in;
		ev->linked = c->in_linked;
		break;
	case TALLY_LCE_LINK_DOWN:
		lock_out_drop(c);
		break;
	case TALLY_LCE_HANDED_BAD:
		ev->msg.next_gen = c->handed;
		c->handed = 0;
		break;
	case TALLY_LCE_SET:
		ev->cache = c->set.cache;
		ev->budget = c->set.grants;
		break;
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
	req->asked_at = jiffies;
	c->wanted = req;
	ev->kind = TALLY_LCE_WANT;
	ev->mode = req->mode;
	ev->try = req->try;
	ev->direct = (s32)((u32)jiffies - c->managed_until) < 0;
}

/* Under c->lock: what has happened, the oldest first as far as it matters. */
static bool lock_next_event(struct tally_lock_client *c,
			    struct tally_lc_event *ev)
{
	unsigned long pending = c->pending;

	/* A downgrade that is under way comes before an upgrade. */
	if (c->lc.st != TALLY_LC_HOLD && c->lc.st != TALLY_LC_DEAD)
		pending &= ~TALLY_LOCK_UPGRADE;
	if (!pending && !c->unlocks && (c->wanted || list_empty(&c->queue)))
		return false;
	/* The rest of the message is there where it came. */
	memset(ev, 0, offsetofend(struct tally_lc_event, msg.type));
	if (pending)
		lock_event_pending(c, ev, __ffs(pending));
	else if (c->unlocks)
		lock_event_unlock(c, ev);
	else
		lock_event_want(c, ev);
	return true;
}

/* Under c->lock: make @a an operation on the word, or it has ended. */
static bool lock_route(struct tally_lock_client *c,
		       const struct tally_lc_action *a)
{
	u64 addr;
	u32 rkey;

	c->op.compare = a->compare;
	/* A READ is a FAA of nothing: on the same lane, in order. */
	c->op.value = a->kind == TALLY_LCA_POST_TOKEN_FAA ? 1 : a->value;
	c->op.value2 = 1;
	c->op.type = a->kind == TALLY_LCA_POST_CAS_FAA ? TALLY_OP_CAS_FAA :
		     a->kind == TALLY_LCA_POST_FAA_FAA ? TALLY_OP_FAA_FAA :
							 TALLY_OP_FAA;
	if (!tally_handle_try_enter(c->handle)) {
		c->op_conn = tally_handle_conn(c->handle, &addr, &rkey);
		if (!c->op_conn)
			tally_handle_leave(c->handle);
	}
	if (!c->op_conn) {
		c->op.status = -ENOTCONN;
		c->pending |= TALLY_LOCK_OP_DONE;
		return false;
	}
	c->op.rkey = rkey;
	c->op.addr = a->kind == TALLY_LCA_POST_TOKEN_FAA ? addr + 8 : addr;
	c->op.addr2 = addr + 8;
	return true;
}

/*
 * With c->lock: the way of the message that is sent now. Until the link to the
 * successor is known to have lasted a HANDOVER is in doubt: a later break is
 * told to the home as LOST, which costs a GRANT that the successor drops.
 */
static struct tally_conn *lock_find_way(struct tally_lock_client *c,
					struct tally_lmsg *msg,
					struct tally_msg_head *head)
{
	if (msg->type != TALLY_LM_HANDOVER)
		return c->session ? tally_session_link(c->session,
						       TALLY_MSG_LOCK, head,
						       NULL) : NULL;
	c->handed = msg->next_gen;
	c->handed_to = c->next.session;
	*head = (struct tally_msg_head){
		.type = TALLY_MSG_LOCK,
		.slot = c->next.slot,
		.session = c->next.session,
	};
	msg->next_session = c->next.home_session;
	msg->last = c->next.proof;
	return c->next.conn && c->next.gen == msg->next_gen ?
	       tally_conn_get(c->next.conn) : NULL;
}

static int lock_send_msg(struct tally_handle *handle,
			 const struct tally_lmsg *msg, struct tally_conn *conn,
			 const struct tally_msg_head *head, gfp_t gfp)
{
	struct tally_stats *stats = &handle->view->node->stats;
	struct tally_msg_lock body;
	int err;

	if (!conn)
		return -ENOTCONN;
	tally_lock_encode(&body, handle->view->remote_id, handle->id,
			  handle->generation, msg);
	err = tally_msg_send(conn, head, &body, sizeof(body), gfp);
	if (!err) {
		trace_tally_lock_message(true, handle->view->remote_id,
					 handle->id, msg->type,
					 msg->gen ?: msg->next_gen);
		tally_stat_inc(stats, TALLY_STAT_LOCK_MSG);
		if (msg->type == TALLY_LM_HANDOVER)
			tally_stat_inc(stats, TALLY_STAT_LOCK_HANDED);
	}
	tally_conn_put(conn);
	return err;
}

static void lock_note(struct tally_lock_client *c, u16 what)
{
	unsigned long flags;

	spin_lock_irqsave(&c->lock, flags);
	c->pending |= what;
	tally_lock_run_unlock(c, flags);
}

/* Return: false when a buffer is to be waited for. */
static bool lock_send_all(struct tally_lock_client *c, gfp_t gfp)
{
	struct tally_msg_head head;
	struct tally_conn *conn;
	struct tally_lmsg msg;
	unsigned long flags;
	int err;

	spin_lock_irqsave(&c->lock, flags);
	while (c->out_head != c->out_tail) {
		out_unpack(&c->outbox[c->out_head % TALLY_LOCK_OUTBOX], &msg);
		conn = lock_find_way(c, &msg, &head);
		spin_unlock_irqrestore(&c->lock, flags);
		if (tally_lock_ours(c)) {
			tally_lock_home_local(c->handle->object, TALLY_LHE_MSG,
					      &msg);
		} else {
			err = lock_send_msg(c->handle, &msg, conn, &head, gfp);
			if (err == -ENOMEM)
				return false;
			if (err && msg.type == TALLY_LM_HANDOVER)
				lock_note(c, TALLY_LOCK_HANDED_BAD);
		}
		spin_lock_irqsave(&c->lock, flags);
		c->out_head++;
	}
	c->sending = false;
	c->sends++;
	wake_up_var(c);
	spin_unlock_irqrestore(&c->lock, flags);
	return true;
}

static void lock_work(struct work_struct *work)
{
	struct tally_lock_client *c = container_of(work, typeof(*c), work);
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
	if (s)
		tally_session_violation(s, "lock protocol");
	tally_session_put(s);
	/* A message may be lost only with its link: buffers become free. */
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

/*
 * With c->lock: the request that comes first waits for a user of this node, so
 * tries behind it are in vain.
 */
static void lock_no_tries(struct tally_lock_client *c)
{
	struct tally_lock_req *req, *next;

	if (!c->wanted || c->lc.st != TALLY_LC_HOLD)
		return;
	list_for_each_entry_safe(req, next, &c->queue, list) {
		if (!req->try)
			continue;
		list_del_init(&req->list);
		tally_lock_req_end(req, -EWOULDBLOCK);
	}
}

/*
 * Do what has been noted, unless that is being done. Any context; the caller
 * has c->lock, which is given up, and keeps the handle.
 */
void tally_lock_run_unlock(struct tally_lock_client *c, unsigned long flags)
	__releases(&c->lock)
{
	const struct tally_lc_action *post;
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
		post = lock_act(c, &out);
		if (!post || !lock_route(c, post))
			continue;
		/* Done() may come at once, and gives the op's reference up. */
		conn = tally_conn_get(c->op_conn);
		spin_unlock_irqrestore(&c->lock, flags);
		tally_op_submit(conn, &c->op);
		tally_conn_put(conn);
		spin_lock_irqsave(&c->lock, flags);
	}
	lock_no_tries(c);
	c->running = false;
	send = !c->sending && c->out_head != c->out_tail;
	c->sending |= send;
	/* Is nothing of us left that the handle must be kept for? */
	unpin = c->pinned && tally_lc_idle(&c->lc) && !c->wanted &&
		list_empty(&c->holders) && list_empty(&c->queue) &&
		(tally_lock_ours(c) || c->lc.st == TALLY_LC_DEAD);
	c->pinned &= !unpin;
	wake_up_var(c);
	spin_unlock_irqrestore(&c->lock, flags);
	if (send)
		lock_send(c);
	if (unpin)
		tally_handle_put(c->handle);
}

static void lock_op_done(struct tally_op *op)
{
	struct tally_lock_client *c = container_of(op, typeof(*c), op);
	struct tally_handle *handle = tally_handle_get(c->handle);
	struct tally_conn *conn;
	unsigned long flags;

	tally_handle_op_failed(handle, op->status);
	spin_lock_irqsave(&c->lock, flags);
	c->pending |= TALLY_LOCK_OP_DONE;
	conn = c->op_conn;
	c->op_conn = NULL;
	tally_handle_leave(handle);
	tally_lock_run_unlock(c, flags);
	tally_conn_put(conn);
	tally_handle_put(handle);
}

/* A waiter queues first, then looks with c->lock, with which it is woken. */
static bool lock_taken(struct tally_lock_client *c, u16 what)
{
	unsigned long flags;
	bool taken;

	spin_lock_irqsave(&c->lock, flags);
	taken = !(c->pending & what);
	spin_unlock_irqrestore(&c->lock, flags);
	return taken;
}

static bool lock_has_sent(struct tally_lock_client *c, u16 sends)
{
	unsigned long flags;
	bool has;

	spin_lock_irqsave(&c->lock, flags);
	has = c->out_head == c->out_tail || c->sends != sends;
	spin_unlock_irqrestore(&c->lock, flags);
	return has;
}

/*
 * Tell the table something, and see it taken; with a link that goes or comes
 * what is in the outbox leaves it, too: what was taken out must not go out on
 * the next link. Process context; waits for tasks that do not sleep: messages
 * are sent, or dropped, without waiting for the peer.
 */
void tally_lock_signal(struct tally_lock_client *c, u16 what)
{
	u16 sends;

	lock_note(c, what);
	wait_var_event(c, lock_taken(c, what));
	sends = READ_ONCE(c->sends);
	if (what & (TALLY_LOCK_DOWN | TALLY_LOCK_UP))
		wait_var_event(c, lock_has_sent(c, sends));
}

/* The lock cannot be used (any more): every user has been told on return. */
void tally_lock_client_error(struct tally_handle *handle, int err)
{
	struct tally_lock_client *c = tally_lock_client(handle);
	unsigned long flags;

	spin_lock_irqsave(&c->lock, flags);
	c->error = err;
	spin_unlock_irqrestore(&c->lock, flags);
	/* What it may attach to again hears nothing of what was before. */
	tally_lock_signal(c, err == -ENOTCONN ?
			  TALLY_LOCK_DOWN | TALLY_LOCK_LOST : TALLY_LOCK_LOST);
	spin_lock_irqsave(&c->lock, flags);
	c->handed = 0;
	c->pending &= ~TALLY_LOCK_HANDED_BAD;
	spin_unlock_irqrestore(&c->lock, flags);
}

/*
 * The way to a node that we could hand the lock over to. It ends with the link
 * there is now: what does not arrive is told to the home.
 */
static void lock_way_to(struct tally_node *node, const char *name,
			struct tally_lock_way *way)
{
	struct tally_peer *peer = tally_peer_find(node, name);
	struct tally_session *s = peer ? tally_peer_session(peer) : NULL;
	struct tally_msg_head head;

	tally_peer_put(peer);
	if (!s)
		return;
	way->conn = tally_session_link(s, TALLY_MSG_LOCK, &head, NULL);
	way->session = head.session;
	way->slot = head.slot;
	tally_session_put(s);
}

/*
 * The home, or another client, says something; @next: SUCC: name of the
 * successor, or NULL. Process context. Needs no memory: there is room for one
 * message, and while the one that runs has not taken it, which needs no other
 * task, the next one waits.
 */
void tally_lock_client_message(struct tally_handle *handle,
			       const struct tally_lmsg *msg, const char *next)
{
	struct tally_lock_client *c = tally_lock_client(handle);
	struct tally_lock_way way = {
		.home_session = msg->next_session,
		.gen = msg->next_gen,
		.proof = msg->last,
	};
	unsigned long flags;

	trace_tally_lock_message(false, handle->view->remote_id, handle->id,
				 msg->type, msg->gen ?: msg->next_gen);
	if (next && next[0] && !handle->object)
		lock_way_to(handle->view->node, next, &way);
	spin_lock_irqsave(&c->lock, flags);
	while (c->pending & TALLY_LOCK_IN) {
		spin_unlock_irqrestore(&c->lock, flags);
		wait_var_event(c, lock_taken(c, TALLY_LOCK_IN));
		spin_lock_irqsave(&c->lock, flags);
	}
	if (msg->type == TALLY_LM_SET) {	/* no matter of the table's */
		c->set = (struct tally_lock_set){
			.cache = msg->flags & TALLY_LMF_CACHE,
			.grants = msg->gen,
			.ms = msg->last,
		};
		c->pending |= TALLY_LOCK_SET;
	} else {
		c->pending |= TALLY_LOCK_IN;
		c->in = *msg;
		c->in_linked = way.conn;
		if (way.conn)
			swap(c->next, way);
	}
	tally_lock_run_unlock(c, flags);
	tally_conn_put(way.conn);
}

/*
 * The loopback conn is there again after an operation of our own users broke.
 * To the table that is a broken link; now the word says what was done.
 */
static void lock_local_reset(struct tally_handle *handle)
{
	struct tally_lock_client *c = tally_lock_client(handle);

	tally_lock_signal(c, TALLY_LOCK_DOWN);
	tally_lock_home_local(handle->object, TALLY_LHE_LINK_DOWN, NULL);
	tally_lock_signal(c, TALLY_LOCK_UP);
	tally_lock_home_local(handle->object, TALLY_LHE_RESYNC_END, NULL);
}

const struct tally_lock_local tally_lock_local = {
	.message = tally_lock_client_message,
	.reset = lock_local_reset,
};

static struct tally_lock_client *lock_create(struct tally_handle *handle)
{
	struct tally_lock_client *c = kmem_cache_zalloc(lock_clients,
							GFP_KERNEL);

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

int tally_lock_client_attach(struct tally_handle *handle,
			     const struct tally_rep_open *rep)
{
	struct tally_lock_client *c = handle->part ?: lock_create(handle);
	struct tally_session *old = NULL;
	unsigned long flags;

	if (!c)
		return -ENOMEM;
	spin_lock_irqsave(&c->lock, flags);
	c->set = (struct tally_lock_set){
		.cache = rep->lock_cache,
		.grants = be16_to_cpu(rep->lock_grants),
		.ms = be16_to_cpu(rep->lock_ms),
	};
	c->last = be64_to_cpu(rep->lock_last);
	if (handle->part) {
		/* Opened anew, be it in the same session: it is bound anew, too. */
		if (c->lc.st == TALLY_LC_DEAD)
			swap(c->session, old);
		c->pending |= TALLY_LOCK_SET;
		tally_lock_run_unlock(c, flags);
		tally_session_put(old);
		return 0;
	}
	spin_unlock_irqrestore(&c->lock, flags);
	handle->part = c;
	if (handle->object)
		tally_lock_home_attach(handle->object, handle, false);
	return 0;
}

/*
 * With c->lock: nothing of us is left at the home, or will be, once it has all
 * messages that were sent; and none of its own is due before that.
 */
static bool lock_spare(struct tally_lock_client *c)
{
	return tally_lc_idle(&c->lc) && c->lc.st != TALLY_LC_DEAD &&
	       c->lc.up && !c->lc.unsynced && !c->running && !c->pending &&
	       !c->unlocks && !c->wanted && !c->upgrader && !c->op_conn &&
	       list_empty(&c->queue) && list_empty(&c->holders) &&
	       !c->sending && c->out_head == c->out_tail;
}

/*
 * The lock may be opened again in this session, see the end of the head of
 * lock/fsm_client.h. That what was handed over last did not arrive nobody says then,
 * but the home grants it once more when the lock is closed.
 */
bool tally_lock_client_spare(struct tally_handle *handle)
{
	struct tally_lock_client *c = tally_lock_client(handle);
	unsigned long flags;
	bool spare;

	spin_lock_irqsave(&c->lock, flags);
	spare = c->pinned && !c->used && lock_spare(c);
	c->used = false;
	c->pinned &= !spare;
	spin_unlock_irqrestore(&c->lock, flags);
	return spare;
}

void tally_lock_client_destroy(struct tally_handle *handle)
{
	struct tally_lock_client *c = tally_lock_client(handle);

	if (handle->object)
		tally_lock_home_attach(handle->object, handle, true);
	tally_conn_put(c->next.conn);
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
