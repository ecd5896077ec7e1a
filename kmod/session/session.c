// SPDX-License-Identifier: GPL-2.0
#include <linux/rhashtable.h>
#include "base/ref.h"
#include "base/trace.h"
#include "base/work.h"
#include "session/session.h"

const struct rhashtable_params tally_sessions_params = {
	.key_len = sizeof_field(struct tally_session, id),
	.key_offset = offsetof(struct tally_session, id),
	.head_offset = offsetof(struct tally_session, by_id),
	.automatic_shrinking = true,
};

static void session_release(struct kref *ref)
{
	struct tally_session *s = container_of(ref, struct tally_session, ref);

	queue_work(s->node->wq, &s->free_work);
}

struct tally_session *tally_session_get(struct tally_session *s)
{
	kref_get(&s->ref);
	return s;
}

/* NULL is allowed. Any context. */
void tally_session_put(struct tally_session *s)
{
	if (s)
		kref_put(&s->ref, session_release);
}

/* A session by its id, referenced, or NULL; it may be OVER. Any context. */
struct tally_session *tally_session_find(struct tally_node *node, u64 id)
{
	return tally_find_get(struct tally_session,
			      rhashtable_lookup(&node->sessions, &id,
						tally_sessions_params));
}

/*
 * The session that has a node slot, referenced, or NULL; it may be OVER. Any
 * context.
 */
struct tally_session *tally_session_at(struct tally_node *node, u16 slot)
{
	return tally_find_get(struct tally_session,
			      xa_load(&node->slots, slot));
}

/* Where the other end of its link is. False without a link. */
bool tally_session_addr(struct tally_session *s, struct sockaddr_storage *addr)
{
	unsigned long flags;
	bool known;

	spin_lock_irqsave(&s->lock, flags);
	known = s->ctrl;
	if (known)
		*addr = s->ctrl->peer;
	spin_unlock_irqrestore(&s->lock, flags);
	return known;
}

/* Is its link up? The answer may be old when it is read. */
bool tally_session_is_live(struct tally_session *s)
{
	return READ_ONCE(s->state) == TALLY_SESSION_LIVE;
}

/**
 * tally_session_lane - the lane for a word or a transfer
 * @s: the session
 * @hash: the same hash gets the same lane while the link lasts
 *
 * Operations on one word must not change places: a bit that is added before it
 * was taken away carries into the next. Two QPs have no order.
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
 * The way of a message: the control conn of the link there is, referenced, or
 * NULL. @head gets what a header says; a request and a reply have more to say.
 * @link: gets the number of the link, unless it is NULL. Any context.
 */
struct tally_conn *tally_session_link(struct tally_session *s, u16 type,
				      struct tally_msg_head *head, u32 *link)
{
	bool opening = type == TALLY_MSG_ACTIVE ||
		       type == TALLY_MSG_ACTIVE_ACK ||
		       type == TALLY_MSG_GOODBYE;
	struct tally_conn *ctrl = NULL;
	unsigned long flags;

	spin_lock_irqsave(&s->lock, flags);
	*head = (struct tally_msg_head){
		.type = type,
		.slot = s->my_slot,
		.session = s->id,
	};
	if (link)
		*link = s->link_nr;
	if (s->ctrl && (s->state == TALLY_SESSION_LIVE ||
			(opening && s->state == TALLY_SESSION_OPENING)))
		ctrl = tally_conn_get(s->ctrl);
	spin_unlock_irqrestore(&s->lock, flags);
	return ctrl;
}

/* As tally_session_send(), on link @nr or not at all; 0: on any. */
int tally_session_send_on(struct tally_session *s, u32 nr, u16 type,
			  const void *body, u32 len)
{
	struct tally_msg_head head;
	u32 link;
	struct tally_conn *ctrl = tally_session_link(s, type, &head, &link);
	int err = -ENOTCONN;

	if (!ctrl)
		return -ENOTCONN;
	if (!nr || link == nr)
		err = tally_msg_send(ctrl, &head, body, len, GFP_NOIO);
	if (err == -ENOMEM) {
		/* A message may be lost only together with its link. */
		tally_conn_fail(ctrl, err);
		err = -ENOTCONN;
	}
	tally_conn_put(ctrl);
	return err;
}

/**
 * tally_session_send - send a message that needs no reply
 * @s: the session
 * @type: enum tally_msg_type
 * @body: its body, copied
 * @len: length of the body
 *
 * Context: process; sleeps for memory.
 * Return: 0, or -ENOTCONN: not sent; the link is down or goes down.
 */
int tally_session_send(struct tally_session *s, u16 type, const void *body,
		       u32 len)
{
	return tally_session_send_on(s, 0, type, body, len);
}

/**
 * tally_session_set_state - the one place where the state changes
 * @s: the session, locked
 * @state: OPENING -> LIVE, OPENING or LIVE -> BROKEN, BROKEN -> OPENING, and
 *	anything -> OVER are legal
 * @err: why, negative errno
 *
 * Return: true when it changed.
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

	static_assert(TALLY_SESSION_OPENING == 0 && TALLY_SESSION_OVER == 3,
		      "base/trace.h knows them by number");
	lockdep_assert_held(&s->lock);
	if (!(from[state] & BIT(s->state)))
		return false;
	trace_tally_session_state(s->id, s->state, state, err);
	s->error = err;
	WRITE_ONCE(s->state, state);
	return true;
}

/* Why a session ended, from the error it was fenced with; for people. */
const char *tally_session_why(int err)
{
	switch (err) {
	case -ETIME:
		return "its lease ended";
	case -ECONNRESET:
		return "the peer said goodbye";
	case -ESHUTDOWN:
		return "this node said goodbye";
	case -ENETDOWN:
		return "the device is gone";
	case -EPROTO:
		return "the peer broke the protocol";
	case -ETIMEDOUT:
		return "the peer did not give up in time what it was asked for";
	case -EACCES:
		return "the peer did not give up what it has lost the right to";
	case -EKEYREVOKED:
		return "a memory key of the peer is no longer valid";
	case -ESTALE:
		return "the peer began a new session";
	default:
		return "its link did not come up";
	}
}

/* Leave the link: fail every conn, wake every caller. */
static void session_drop_link(struct tally_session *s, int err)
{
	struct tally_conn *conn[TALLY_LANES_MAX + 1];
	unsigned long flags;
	u32 n, i;

	/* They are referenced until their down(). */
	spin_lock_irqsave(&s->lock, flags);
	memcpy(conn, s->lane, sizeof(s->lane));
	conn[TALLY_LANES_MAX] = s->ctrl;
	for (i = 0, n = 0; i < ARRAY_SIZE(conn); i++)
		if (conn[i])
			conn[n++] = tally_conn_get(conn[i]);
	spin_unlock_irqrestore(&s->lock, flags);
	while (n) {
		tally_conn_fail(conn[--n], err);
		tally_conn_put(conn[n]);
	}
	wake_up_all(&s->wait);
	tally_work_queue(s->node->wq, &s->link_work, &s->ref);
}

/* The link is no good any more; the first error wins. Any context. */
void tally_session_break(struct tally_session *s, int err)
{
	unsigned long flags;

	spin_lock_irqsave(&s->lock, flags);
	tally_session_set_state(s, TALLY_SESSION_BROKEN, err);
	spin_unlock_irqrestore(&s->lock, flags);
	session_drop_link(s, err);
}

/**
 * tally_session_fence - end the session, now and for good
 * @s: the session
 * @err: why, negative errno
 *
 * Context: any that may take spinlocks. The ops down and over follow from
 * the session's work, when every QP is destroyed.
 * Return: true when it had not ended before.
 */
bool tally_session_fence(struct tally_session *s, int err)
{
	unsigned long flags;
	bool first;

	spin_lock_irqsave(&s->lock, flags);
	first = tally_session_set_state(s, TALLY_SESSION_OVER, err);
	spin_unlock_irqrestore(&s->lock, flags);
	if (first)
		session_drop_link(s, err);
	return first;
}

/*
 * The peer broke the rule @what: counted, told, and the link is broken. What
 * the peer held goes with its lease unless it comes back and behaves. Process
 * context.
 */
void tally_session_violation(struct tally_session *s, const char *what)
{
	tally_stat_inc(&s->node->stats, TALLY_STAT_MALFORMED);
	tally_node_notice(s->node, "violation", s->name, what);
	tally_session_break(s, -EPROTO);
}
