// SPDX-License-Identifier: GPL-2.0
/*
 * The client side of locks: messages of one lock go out in their order, by a
 * work item of the lock, to its home or, with the lock, to another node.
 */
#include "lockrun.h"
#include "lockwire.h"
#include "peer.h"
#include "trace.h"

/* How often to look whether a broken loopback conn is there again. */
#define LOCK_RETRY	(HZ / 50)

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

void tally_lock_start_over(struct tally_lock_client *c)
{
	tally_handle_get(c->handle);
	if (!queue_delayed_work(lock_wq(c), &c->retry, LOCK_RETRY))
		tally_handle_put(c->handle);
}

void tally_lock_accuse(struct tally_lock_client *c)
{
	c->violation = true;
	lock_queue_send(c);
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
	lock_queue_send(c);
}

void tally_lock_out_drop(struct tally_lock_client *c)
{
	u32 tail = c->out_tail, i;

	c->out_tail = c->out_head;
	for (i = c->out_head; i != tail; i++)
		if (c->outbox[i % TALLY_LOCK_OUTBOX].type == TALLY_LM_HANDOVER)
			c->outbox[c->out_tail++ % TALLY_LOCK_OUTBOX] =
				c->outbox[i % TALLY_LOCK_OUTBOX];
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

static int lock_send_remote(struct tally_handle *handle,
			    struct tally_session *s,
			    const struct tally_lmsg *msg)
{
	struct tally_msg_lock body;

	tally_lock_encode(&body, handle->view->remote_id, handle->id,
			  handle->generation, msg, NULL);
	trace_tally_lock_message(true, handle->view->remote_id, handle->id,
				 msg->type, msg->gen ?: msg->next_gen);
	tally_stat_inc(&handle->view->node->stats, TALLY_STAT_LOCK_MSG);
	return tally_session_send(s, TALLY_MSG_LOCK, &body, sizeof(body), NULL,
				  0);
}

/* Our session with the announced successor, referenced, or NULL. */
static struct tally_session *lock_next_session(struct tally_lock_client *c,
					       const struct tally_lmsg *msg)
{
	char name[TALLY_NAME_SIZE];
	struct tally_session *s;
	struct tally_peer *peer;
	unsigned long flags;
	bool known;

	spin_lock_irqsave(&c->lock, flags);
	known = c->next_session == msg->next_session;
	strscpy(name, c->next, sizeof(name));
	spin_unlock_irqrestore(&c->lock, flags);
	peer = known ? tally_peer_find(c->handle->view->node, name) : NULL;
	if (!peer)
		return NULL;
	s = tally_peer_session(peer);
	tally_peer_put(peer);
	return s;
}

/*
 * Until the link to the successor is known to have lasted the delivery is in
 * doubt: a break of it at any later time is told to the home as LOST, which
 * costs a GRANT that the successor drops.
 */
static void lock_send_handover(struct tally_lock_client *c,
			       const struct tally_lmsg *msg)
{
	struct tally_session *s = lock_next_session(c, msg);
	unsigned long flags;
	int err = -ENOTCONN;

	spin_lock_irqsave(&c->lock, flags);
	c->handed = msg->next_gen;
	c->handed_to = s ? s->id : 0;
	spin_unlock_irqrestore(&c->lock, flags);
	if (s) {
		err = lock_send_remote(c->handle, s, msg);
		tally_session_put(s);
	}
	if (!err) {
		tally_stat_inc(&c->handle->view->node->stats,
			       TALLY_STAT_LOCK_HANDED);
		return;
	}
	spin_lock_irqsave(&c->lock, flags);
	c->pending |= TALLY_LOCK_HANDED_BAD;
	tally_lock_run_unlock(c, flags);
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
		if (msg.type == TALLY_LM_HANDOVER)
			lock_send_handover(c, &msg);
		else if (tally_lock_ours(c))
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
		tally_lock_start_over(c);
	}
	if (loop)
		tally_conn_put(loop);
	tally_handle_put(handle);
}

void tally_lock_send_init(struct tally_lock_client *c)
{
	INIT_WORK(&c->send, lock_send);
	INIT_DELAYED_WORK(&c->retry, lock_retry);
}
