// SPDX-License-Identifier: GPL-2.0
/*
 * The client side of locks: messages of one lock go out in their order, to its
 * home or, with the lock, to another node. Whoever runs sends them when he is
 * through, so that a message leaves without a change of tasks; he may be in
 * any context, so what has to sleep is left to a work item of the lock.
 */
#include "lock/client.h"
#include "lock/wire.h"
#include "session/session.h"
#include "base/trace.h"

/* How often to look whether a broken loopback conn is there again. */
#define LOCK_RETRY	(HZ / 50)

static struct workqueue_struct *lock_wq(struct tally_lock_client *c)
{
	return c->handle->view->node->wq;
}

/* A work of the client keeps the handle until it has run. */
static void lock_queue(struct tally_lock_client *c, struct work_struct *work)
{
	tally_handle_get(c->handle);
	if (!queue_work(lock_wq(c), work))
		tally_handle_put(c->handle);
}

void tally_lock_start_over(struct tally_lock_client *c)
{
	tally_handle_get(c->handle);
	if (!queue_delayed_work(lock_wq(c), &c->retry, LOCK_RETRY))
		tally_handle_put(c->handle);
}

void tally_lock_accuse(struct tally_lock_client *c)
{
	lock_queue(c, &c->accuse);
}

/*
 * BUSY answers a question others may ask as often as they like: where the
 * outbox fills up, theirs is left to the time limit of a try.
 */
void tally_lock_out(struct tally_lock_client *c, const struct tally_lmsg *msg)
{
	u32 waiting = c->out_tail - c->out_head;

	if (msg->type == TALLY_LM_BUSY && waiting >= TALLY_LOCK_OUTBOX / 2)
		return;
	if (waiting == TALLY_LOCK_OUTBOX) {
		/* So far ahead gets only who is answered before it asks. */
		tally_lock_accuse(c);
		return;
	}
	c->outbox[c->out_tail++ % TALLY_LOCK_OUTBOX] = *msg;
	if (!c->sending) {
		c->sending = true;
		c->send_due = true;
	}
}

/* The first one stays where it is: it may be on its way. */
void tally_lock_out_drop(struct tally_lock_client *c)
{
	u32 tail = c->out_tail, i;

	if (c->out_head == tail)
		return;
	c->out_tail = c->out_head + 1;
	for (i = c->out_tail; i != tail; i++)
		if (c->outbox[i % TALLY_LOCK_OUTBOX].type == TALLY_LM_HANDOVER)
			c->outbox[c->out_tail++ % TALLY_LOCK_OUTBOX] =
				c->outbox[i % TALLY_LOCK_OUTBOX];
}

/*
 * With c->lock: the way of the message that is sent now. Until the link to the
 * successor is known to have lasted a HANDOVER is in doubt: a break of it at any
 * later time is told to the home as LOST, which costs a GRANT that the successor
 * drops.
 */
static void lock_find_way(struct tally_lock_client *c,
			  const struct tally_lmsg *msg, struct lock_way *way)
{
	memset(way, 0, sizeof(*way));
	if (msg->type == TALLY_LM_HANDOVER) {
		if (c->next.conn && c->next_session == msg->next_session) {
			*way = c->next;
			tally_conn_get(way->conn);
		}
		c->handed = msg->next_gen;
		c->handed_to = way->head.session;
	} else if (c->session) {
		way->conn = tally_session_ctrl(c->session, TALLY_MSG_LOCK,
					       &way->head);
	}
}

/* @sent: the first one is out. False: there is none, and we send no more. */
static bool lock_out_next(struct tally_lock_client *c, bool sent,
			  struct tally_lmsg *msg, struct lock_way *way)
{
	unsigned long flags;
	bool any;

	spin_lock_irqsave(&c->lock, flags);
	c->out_head += sent;
	any = c->out_head != c->out_tail;
	if (any) {
		*msg = c->outbox[c->out_head % TALLY_LOCK_OUTBOX];
		lock_find_way(c, msg, way);
	} else {
		c->sending = false;
		c->sends++;
		tally_lock_wake_idle(c);
	}
	spin_unlock_irqrestore(&c->lock, flags);
	return any;
}

static int lock_send_msg(struct tally_handle *handle,
			 const struct tally_lmsg *msg, struct lock_way *way,
			 gfp_t gfp)
{
	struct tally_msg_lock body;
	int err;

	if (!way->conn)
		return -ENOTCONN;
	tally_lock_encode(&body, handle->view->remote_id, handle->id,
			  handle->generation, msg, NULL);
	err = tally_msg_send(way->conn, &way->head, &body, sizeof(body), NULL,
			     0, gfp);
	if (!err) {
		trace_tally_lock_message(true, handle->view->remote_id,
					 handle->id, msg->type,
					 msg->gen ?: msg->next_gen);
		tally_stat_inc(&handle->view->node->stats,
			       TALLY_STAT_LOCK_MSG);
	} else if (err == -ENOMEM && gfpflags_allow_blocking(gfp)) {
		/* A message may be lost only together with its link. */
		tally_conn_fail(way->conn, err);
		err = -ENOTCONN;
	}
	tally_conn_put(way->conn);
	return err;
}

static void lock_handover_end(struct tally_lock_client *c, int err)
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

/* Return: false when memory is to be waited for, and was not. */
static bool lock_send_all(struct tally_lock_client *c, gfp_t gfp)
{
	struct tally_lmsg msg;
	struct lock_way way;
	bool sent = false;
	int err;

	while (lock_out_next(c, sent, &msg, &way)) {
		if (tally_lock_ours(c)) {
			tally_lock_home_local(c->handle->object, &msg);
		} else {
			err = lock_send_msg(c->handle, &msg, &way, gfp);
			if (err == -ENOMEM)
				return false;
			if (msg.type == TALLY_LM_HANDOVER)
				lock_handover_end(c, err);
		}
		sent = true;
	}
	return true;
}

/* The home's side of our own locks has a mutex. */
void tally_lock_send(struct tally_lock_client *c)
{
	if (tally_lock_ours(c) || !lock_send_all(c, GFP_NOWAIT | __GFP_NOWARN))
		lock_queue(c, &c->send);
}

static void lock_send_work(struct work_struct *work)
{
	struct tally_lock_client *c = container_of(work,
						   struct tally_lock_client,
						   send);

	lock_send_all(c, GFP_NOIO);
	tally_handle_put(c->handle);
}

static bool lock_has_sent(struct tally_lock_client *c, u32 sends)
{
	unsigned long flags;
	bool has;

	spin_lock_irqsave(&c->lock, flags);
	has = !c->sending || c->sends != sends;
	spin_unlock_irqrestore(&c->lock, flags);
	return has;
}

/* A message is sent, or dropped, without waiting for the peer. */
void tally_lock_send_flush(struct tally_lock_client *c)
{
	u32 sends = READ_ONCE(c->sends);

	wait_event(c->idle, lock_has_sent(c, sends));
}

static void lock_accuse_work(struct work_struct *work)
{
	struct tally_lock_client *c = container_of(work,
						   struct tally_lock_client,
						   accuse);
	struct tally_session *s = tally_lock_session(c);

	if (s) {
		tally_session_violation(s, "lock protocol");
		tally_session_put(s);
	}
	tally_handle_put(c->handle);
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
		tally_lock_send_flush(c);
		tally_lock_home_local_reset(handle->object, false);
		tally_lock_signal(c, TALLY_LOCK_UP);
		tally_lock_send_flush(c);
		tally_lock_home_local_reset(handle->object, true);
	} else if (tally_handle_alive(handle)) {
		tally_lock_start_over(c);
	}
	if (loop)
		tally_conn_put(loop);
	tally_handle_put(handle);
}

void tally_lock_send_init(struct tally_lock_client *c)
{
	INIT_WORK(&c->send, lock_send_work);
	INIT_WORK(&c->accuse, lock_accuse_work);
	INIT_DELAYED_WORK(&c->retry, lock_retry);
}
