// SPDX-License-Identifier: GPL-2.0
#include <linux/slab.h>
#include "session/lease.h"
#include "session/link.h"
#include "session/node.h"
#include "session/peer.h"
#include "session/rpc.h"
#include "session/session.h"
#include "base/trace.h"

/* How long taking a link down may take before we go on without it. */
#define LINK_DOWN_WAIT	(10 * HZ)
#define GOODBYE_WAIT	(HZ / 2)

static const struct tally_session_ops *upper(void)
{
	return &tally_node_ops()->session;
}

/* The node's last reference may go here: its workqueue ends elsewhere. */
static void session_free(struct work_struct *work)
{
	struct tally_session *s = container_of(work, struct tally_session,
					       free_work);

	tally_rpc_destroy(s);
	tally_node_slot_put(s->node, s->peer_slot);
	tally_peer_put(s->peer);
	tally_node_put(s->node);
	memzero_explicit(s->key, sizeof(s->key));
	kfree(s);
}

static void session_release(struct kref *ref)
{
	struct tally_session *s = container_of(ref, struct tally_session, ref);

	queue_work(s->node->wq, &s->free_work);
}

/**
 * tally_session_get - take a reference
 * @s: a session the caller may use
 *
 * Return: @s.
 */
struct tally_session *tally_session_get(struct tally_session *s)
{
	kref_get(&s->ref);
	return s;
}

/**
 * tally_session_put - give a reference back
 * @s: from tally_session_get() or a function that says so
 *
 * Context: any.
 */
void tally_session_put(struct tally_session *s)
{
	kref_put(&s->ref, session_release);
}

/**
 * tally_session_is_live - is its link up?
 * @s: the session
 *
 * Return: the answer, which may be old when it is read.
 */
bool tally_session_is_live(struct tally_session *s)
{
	return READ_ONCE(s->state) == TALLY_SESSION_LIVE;
}

/**
 * tally_session_lane - the lane for a word or a transfer
 * @s: the session
 * @hash: the same hash gets the same lane while the link lasts
 *
 * Context: any.
 * Return: a referenced conn, or NULL when there is no link.
 */
struct tally_conn *tally_session_lane(struct tally_session *s, u32 hash)
{
	struct tally_conn *conn = NULL;
	unsigned long flags;

	spin_lock_irqsave(&s->lock, flags);
	if (s->state == TALLY_SESSION_LIVE)
		conn = tally_conn_get(s->lane[hash % s->lanes]);
	spin_unlock_irqrestore(&s->lock, flags);
	return conn;
}

/*
 * The one place where the state changes. Legal: OPENING -> LIVE, OPENING or
 * LIVE -> BROKEN, BROKEN -> OPENING, anything -> OVER.
 */
bool tally_session_set_state(struct tally_session *s,
			     enum tally_session_state state, int err)
{
	static const u8 from[] = {
		[TALLY_SESSION_OPENING] = BIT(TALLY_SESSION_BROKEN),
		[TALLY_SESSION_LIVE] = BIT(TALLY_SESSION_OPENING),
		[TALLY_SESSION_BROKEN] = BIT(TALLY_SESSION_OPENING) |
					 BIT(TALLY_SESSION_LIVE),
		[TALLY_SESSION_OVER] = BIT(TALLY_SESSION_OPENING) |
				       BIT(TALLY_SESSION_LIVE) |
				       BIT(TALLY_SESSION_BROKEN),
	};

	lockdep_assert_held(&s->lock);
	if (!(from[state] & BIT(s->state)))
		return false;
	trace_tally_session_state(s->id, s->state, state, err);
	s->error = err;
	WRITE_ONCE(s->state, state);
	return true;
}

/* Fail every conn of the link; they are referenced until their down(). */
static void session_fail_conns(struct tally_session *s, int err)
{
	struct tally_conn *conn[TALLY_LANES_MAX + 1];
	unsigned long flags;
	u32 n = 0, i;

	spin_lock_irqsave(&s->lock, flags);
	if (s->ctrl)
		conn[n++] = tally_conn_get(s->ctrl);
	for (i = 0; i < TALLY_LANES_MAX; i++)
		if (s->lane[i])
			conn[n++] = tally_conn_get(s->lane[i]);
	spin_unlock_irqrestore(&s->lock, flags);
	for (i = 0; i < n; i++) {
		tally_conn_fail(conn[i], err);
		tally_conn_put(conn[i]);
	}
}

/* A work of the session; it holds a reference until it has run. */
void tally_session_queue(struct tally_session *s, struct work_struct *work)
{
	tally_session_get(s);
	if (!queue_work(s->node->wq, work))
		tally_session_put(s);
}

/* The link is no good any more. The first error wins. */
void tally_session_break(struct tally_session *s, int err)
{
	unsigned long flags;

	spin_lock_irqsave(&s->lock, flags);
	tally_session_set_state(s, TALLY_SESSION_BROKEN, err);
	spin_unlock_irqrestore(&s->lock, flags);
	session_fail_conns(s, err);
	tally_rpc_link_down(s);
	tally_session_queue(s, &s->link_work);
}

/**
 * tally_session_fence - fence: the session is over, now and for good
 * @s: the session
 * @err: why, negative errno
 *
 * Context: any that may take spinlocks. The ops down and over follow from
 * the session's work, when every QP is destroyed.
 */
void tally_session_fence(struct tally_session *s, int err)
{
	unsigned long flags;
	bool first;

	spin_lock_irqsave(&s->lock, flags);
	first = tally_session_set_state(s, TALLY_SESSION_OVER, err);
	if (first)
		s->ending = true;
	spin_unlock_irqrestore(&s->lock, flags);
	if (!first)
		return;
	session_fail_conns(s, err);
	tally_rpc_link_down(s);
	tally_session_queue(s, &s->link_work);
}

/**
 * tally_session_violation - the peer broke the protocol
 * @s: its session
 * @what: which rule, for the log of events
 *
 * Counted; the link is closed. What the peer held goes with its lease unless
 * it comes back and behaves.
 */
void tally_session_violation(struct tally_session *s, const char *what)
{
	tally_stat_inc(&s->node->stats, TALLY_STAT_MALFORMED);
	tally_node_event(s->node, "violation", s->name, what);
	tally_session_break(s, -EPROTO);
}

static void session_gone(struct tally_dev_user *user)
{
	struct tally_session *s = container_of(user, struct tally_session,
					       watch);

	tally_session_fence(s, -ENETDOWN);
}

/* Under s->upcall. */
static void session_tell_down(struct tally_session *s)
{
	lockdep_assert_held(&s->upcall);
	if (!s->announced)
		return;
	s->announced = false;
	tally_node_event(s->node, "down", s->name,
			 s->state == TALLY_SESSION_OVER ? "over" : "broken");
	upper()->down(s);
}

/* Under s->upcall: the holders hear of it before the QPs are gone. */
static void session_tell_lost(struct tally_session *s)
{
	lockdep_assert_held(&s->upcall);
	if (s->told || READ_ONCE(s->state) != TALLY_SESSION_OVER)
		return;
	s->told = true;
	upper()->lost(s);
}

/* Under s->upcall: everything made on the device is given up here. */
static void session_tell_over(struct tally_session *s)
{
	lockdep_assert_held(&s->upcall);
	tally_lease_stop(s);
	tally_rpc_abort(s);
	upper()->over(s);
	tally_stat_inc(&s->node->stats, TALLY_STAT_SESSION_FENCED);
	tally_node_event(s->node, "over", s->name, "");
	tally_dev_unwatch(s->dev, &s->watch);
	ib_dealloc_pd(s->pd);
	tally_dev_put(s->dev);
	tally_peer_session_over(s->peer, s);
	WRITE_ONCE(s->over, true);
	wake_up_all(&s->wait);
}

/*
 * Follows every change of the link, one run at a time. What is still waited
 * for queues it again.
 */
static void session_link_work(struct work_struct *work)
{
	struct tally_session *s = container_of(work, struct tally_session,
					       link_work);
	bool settled, broken, end, lived;

	mutex_lock(&s->upcall);
	session_tell_lost(s);
	spin_lock_irq(&s->lock);
	settled = !s->conns;
	broken = s->state == TALLY_SESSION_BROKEN;
	lived = s->lived;
	end = s->ending && settled;
	if (end)
		s->ending = false;
	spin_unlock_irq(&s->lock);
	if (settled && (broken || end))
		session_tell_down(s);
	if (end)
		session_tell_over(s);
	mutex_unlock(&s->upcall);
	wake_up_all(&s->wait);
	if (settled && broken && lived)
		tally_peer_reconnect(s->peer);
	else if (settled && broken)
		tally_session_fence(s, s->error);	/* nothing to come back to */
	if (end)
		tally_session_put(s);	/* the one create() took */
	tally_session_put(s);
}

/* Fills @head for a message of @type. Return: as tally_session_ctrl(). */
static struct tally_conn *session_ctrl(struct tally_session *s, bool opening,
				       u16 type, struct tally_msg_head *head)
{
	struct tally_conn *ctrl = NULL;
	unsigned long flags;

	*head = (struct tally_msg_head){
		.type = type,
		.slot = s->my_slot,
		.session = s->id,
	};
	spin_lock_irqsave(&s->lock, flags);
	if (s->state == TALLY_SESSION_LIVE ||
	    (opening && s->state == TALLY_SESSION_OPENING))
		ctrl = s->ctrl ? tally_conn_get(s->ctrl) : NULL;
	spin_unlock_irqrestore(&s->lock, flags);
	return ctrl;
}

/**
 * tally_session_ctrl - the way of a one-way message
 * @s: the session
 * @type: enum tally_msg_type
 * @head: filled: what its header says
 *
 * Context: any.
 * Return: the control conn of the link there is, referenced, or NULL.
 */
struct tally_conn *tally_session_ctrl(struct tally_session *s, u16 type,
				      struct tally_msg_head *head)
{
	return session_ctrl(s, false, type, head);
}

int tally_session_transmit(struct tally_session *s, bool opening, u16 type,
			   const void *body, u32 len, const void *more,
			   u32 more_len)
{
	struct tally_msg_head head;
	struct tally_conn *ctrl;
	int err;

	ctrl = session_ctrl(s, opening, type, &head);
	if (!ctrl)
		return -ENOTCONN;
	err = tally_msg_send(ctrl, &head, body, len, more, more_len, GFP_NOIO);
	if (err == -ENOMEM) {
		/* A message may be lost only together with its link. */
		tally_conn_fail(ctrl, err);
		err = -ENOTCONN;
	}
	tally_conn_put(ctrl);
	return err;
}

static int session_pd(struct tally_session *s, struct tally_dev *dev)
{
	struct ib_pd *pd = ib_alloc_pd(dev->ibdev, 0);

	if (IS_ERR(pd))
		return PTR_ERR(pd);
	s->pd = pd;
	s->watch.gone = session_gone;
	if (tally_dev_watch(dev, &s->watch)) {
		ib_dealloc_pd(pd);
		return -ENETDOWN;
	}
	kref_get(&dev->ref);
	s->dev = dev;
	return 0;
}

static struct tally_session *
session_alloc(const struct tally_session_params *params)
{
	struct tally_session *s = kzalloc(sizeof(*s), GFP_KERNEL);

	if (!s)
		return NULL;
	kref_init(&s->ref);
	spin_lock_init(&s->lock);
	mutex_init(&s->upcall);
	init_waitqueue_head(&s->wait);
	INIT_WORK(&s->link_work, session_link_work);
	INIT_WORK(&s->lanes_work, tally_link_lanes_work);
	INIT_WORK(&s->free_work, session_free);
	tally_lease_init(s);
	s->node = tally_node_get(params->node);
	s->peer = tally_peer_get(params->peer);
	strscpy(s->name, s->peer->name, sizeof(s->name));
	s->addr = s->peer->addr;
	s->id = params->id;
	s->peer_incarnation = params->incarnation;
	s->peer_features = params->features;
	s->my_slot = params->my_slot;
	s->lanes = params->lanes;
	s->lease_ms = params->lease_ms;
	memcpy(s->key, params->key, sizeof(s->key));
	s->state = TALLY_SESSION_BROKEN;	/* no link yet */
	return s;
}

/**
 * tally_session_create - a new session with a peer
 * @ctrl: authenticated control conn: says which device
 * @params: what was agreed
 *
 * Context: process; sleeps. It has no link until tally_session_open_link().
 * Return: the session, referenced for the caller, or ERR_PTR.
 */
struct tally_session *
tally_session_create(struct tally_conn *ctrl,
		     const struct tally_session_params *params)
{
	struct tally_session *s = session_alloc(params);
	int err = -ENOMEM;

	if (!s)
		return ERR_PTR(-ENOMEM);
	if (tally_rpc_create(s))
		goto err_put;
	err = tally_node_slot_get(s->node, s);
	if (err < 0)
		goto err_put;
	s->peer_slot = err;
	err = session_pd(s, ctrl->dev);
	if (err)
		goto err_put;
	err = upper()->created(s);
	if (err)
		goto err_pd;
	tally_stat_inc(&s->node->stats, TALLY_STAT_SESSION_NEW);
	return tally_session_get(s);	/* the first ends with over() */

err_pd:
	tally_dev_unwatch(s->dev, &s->watch);
	ib_dealloc_pd(s->pd);
	tally_dev_put(s->dev);
err_put:
	tally_session_put(s);
	return ERR_PTR(err);
}

/**
 * tally_session_break_link - take the link down and wait for it
 * @s: the session
 * @err: why
 *
 * Context: process; sleeps, bounded.
 * Return: 0 when every QP of it is destroyed; -ETIMEDOUT.
 */
int tally_session_break_link(struct tally_session *s, int err)
{
	tally_session_break(s, err);
	if (!wait_event_timeout(s->wait, !READ_ONCE(s->conns) &&
				!READ_ONCE(s->announced), LINK_DOWN_WAIT))
		return -ETIMEDOUT;
	return 0;
}

/**
 * tally_session_finish - end a session and wait for it
 * @s: the session
 * @err: why
 *
 * Context: process; sleeps, bounded.
 * Return: 0 when it is over; -ETIMEDOUT.
 */
int tally_session_finish(struct tally_session *s, int err)
{
	tally_session_fence(s, err);
	if (!wait_event_timeout(s->wait, READ_ONCE(s->over), LINK_DOWN_WAIT))
		return -ETIMEDOUT;
	return 0;
}

/**
 * tally_session_send - send a one-way message
 * @s: the session
 * @type: enum tally_msg_type
 * @body: first part of the body, copied
 * @len: its length
 * @more: second part, may be NULL
 * @more_len: its length
 *
 * Context: process; sleeps for memory.
 * Return: 0, or -ENOTCONN: not sent; the link is down or goes down.
 */
int tally_session_send(struct tally_session *s, u16 type, const void *body,
		       u32 len, const void *more, u32 more_len)
{
	return tally_session_transmit(s, false, type, body, len, more, more_len);
}

/**
 * tally_session_ping - renew the lease now
 * @s: the session; a dead peer shows itself by a broken link
 */
void tally_session_ping(struct tally_session *s)
{
	struct tally_msg_renew renew = {
		.stamp = cpu_to_be64(ktime_get_boottime_ns()),
		.epoch = cpu_to_be64(READ_ONCE(s->peer->seen_epoch)),
	};

	tally_session_transmit(s, false, TALLY_MSG_RENEW, &renew, sizeof(renew),
			       NULL, 0);
}

/**
 * tally_session_goodbye - leave in good order
 * @s: the session
 *
 * Context: process; waits for the peer to hang up, at most half a second,
 * then ends the session and waits for that, bounded.
 */
void tally_session_goodbye(struct tally_session *s)
{
	struct tally_msg_goodbye bye = { .clean = cpu_to_be32(1) };

	mutex_lock(&s->upcall);
	if (s->announced)
		upper()->leave(s);
	mutex_unlock(&s->upcall);
	if (!tally_session_transmit(s, true, TALLY_MSG_GOODBYE, &bye, sizeof(bye),
				    NULL, 0))
		wait_event_timeout(s->wait, READ_ONCE(s->over) ||
				   READ_ONCE(s->state) >= TALLY_SESSION_BROKEN,
				   GOODBYE_WAIT);
	tally_session_finish(s, -ESHUTDOWN);
}
