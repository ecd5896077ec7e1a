// SPDX-License-Identifier: GPL-2.0
/*
 * A session from its beginning to its end, and its link in between: a control
 * conn and lanes, from READY to LIVE, and what comes in on the control conn.
 *
 * Messages, renewals of leases among them, have that conn for themselves: on a
 * lane they would wait behind atomics and READs, of which only few may be under
 * way at once.
 */
#include <crypto/algapi.h>
#include <linux/random.h>
#include <linux/rhashtable.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "base/delay.h"
#include "base/trace.h"
#include "base/work.h"
#include "session/lease.h"
#include "session/life.h"
#include "session/rpc.h"
#include "transport/cm.h"

/* How long breaking a link may take before we go on without it. */
#define LINK_DOWN_WAIT	(10 * HZ)
#define GOODBYE_WAIT	(HZ / 2)

/*
 * A conn for a lane begins to count; false when the session does not want it: a
 * link has each lane once, whatever becomes of it.
 */
static bool link_conn_begin(struct tally_session *s, u8 lane)
{
	unsigned long flags;
	bool wanted;

	spin_lock_irqsave(&s->lock, flags);
	wanted = s->state == TALLY_SESSION_OPENING &&
		 !(s->lanes_begun & BIT(lane));
	if (wanted) {
		s->lanes_begun |= BIT(lane);
		s->conns++;
	}
	spin_unlock_irqrestore(&s->lock, flags);
	if (wanted)
		tally_session_get(s);
	return wanted;
}

/* @conn: NULL when it never was made. */
static void link_conn_end(struct tally_session *s, struct tally_conn *conn,
			  int err)
{
	unsigned long flags;
	u32 i;

	spin_lock_irqsave(&s->lock, flags);
	if (s->ctrl == conn)
		s->ctrl = NULL;
	for (i = 0; conn && i < TALLY_LANES_MAX; i++)
		if (s->lane[i] == conn)
			s->lane[i] = NULL;
	s->lanes_up = 0;
	s->conns--;
	/* At once: while it is LIVE every lane is there. */
	tally_session_set_state(s, TALLY_SESSION_BROKEN, err);
	spin_unlock_irqrestore(&s->lock, flags);
	tally_session_break(s, err);
	tally_conn_put(conn);
	tally_session_put(s);
}

static void link_conn_down(struct tally_conn *conn, int err)
{
	link_conn_end(conn->owner, conn, err);
}

static void link_send_active(struct tally_session *s, u16 type, u32 nr)
{
	struct tally_msg_active active = {
		.slot = cpu_to_be16(s->peer_slot),
	};

	tally_session_send_on(s, nr, type, &active, sizeof(active));
}

/*
 * Link @nr is complete: say so, once, to the layers above. The initiator hears of
 * it before anything that they send, and may answer before the state has changed:
 * what comes then waits for that.
 */
static void link_go_live(struct tally_session *s, u32 nr)
{
	unsigned long flags;
	bool live;

	mutex_lock(&s->upcall);
	if (!s->initiator)
		link_send_active(s, TALLY_MSG_ACTIVE_ACK, nr);
	spin_lock_irqsave(&s->lock, flags);
	live = s->link_nr == nr && s->lanes_up == s->lanes &&
	       tally_session_set_state(s, TALLY_SESSION_LIVE, 0);
	/* At once: a link that breaks now waits for down() before the next. */
	if (live) {
		s->announced = true;
		s->lived = true;
	}
	spin_unlock_irqrestore(&s->lock, flags);
	if (live) {
		wake_up_all(&s->wait);
		tally_delay(LINK_LIVE);
		s->owner_ops->live(s);
		if (s->resumed)
			tally_stat_inc(&s->node->stats,
				       TALLY_STAT_SESSION_RESUMED);
		tally_node_notice(s->node, "up", s->name,
				  s->resumed ? "resumed" : "new");
		tally_rpc_resend(s);
		s->node->ops->live(s, s->resumed);
		mod_delayed_work(s->node->wq, &s->tick, 0);
	}
	mutex_unlock(&s->upcall);
}

/*
 * Say what is due, once for a link: ACTIVE when every lane is up, ACTIVE_ACK when
 * ACTIVE came besides. The last of the two that happen calls this, maybe when
 * the next link is being opened.
 */
static void link_ready(struct tally_session *s)
{
	unsigned long flags;
	bool due;
	u32 nr;

	spin_lock_irqsave(&s->lock, flags);
	nr = s->link_nr;
	due = s->state == TALLY_SESSION_OPENING && s->lanes_up == s->lanes &&
	      (s->initiator || s->active) && !s->said;
	if (due)
		s->said = true;
	spin_unlock_irqrestore(&s->lock, flags);
	if (due && s->initiator)
		link_send_active(s, TALLY_MSG_ACTIVE, nr);
	else if (due)
		link_go_live(s, nr);
}

static void link_lanes_work(struct work_struct *work)
{
	struct tally_session *s = container_of(work, typeof(*s), lanes_work);
	unsigned int noio = memalloc_noio_save();

	link_ready(s);
	memalloc_noio_restore(noio);
	tally_session_put(s);
}

/* From here on it fails with its link. Return: 0, or -ENOTCONN: that has broken. */
static int lane_join(struct tally_session *s, struct tally_conn *conn)
{
	unsigned long flags;
	bool wanted;

	spin_lock_irqsave(&s->lock, flags);
	wanted = s->state == TALLY_SESSION_OPENING;
	if (wanted)
		s->lane[conn->priv.lane] = conn;
	spin_unlock_irqrestore(&s->lock, flags);
	return wanted ? 0 : -ENOTCONN;
}

static int lane_bind(struct tally_conn *conn, struct tally_dev *dev)
{
	struct tally_session *s = conn->owner;

	if (dev != s->dev)
		return -EXDEV;
	conn->pd = s->pd;
	return lane_join(s, conn);
}

static int lane_sign(struct tally_conn *conn)
{
	struct tally_session *s = conn->owner;

	return tally_auth_tag(&s->node->auth, s->key, &conn->priv,
			      conn->shown_qpn, conn->priv.tag);
}

static void lane_up(struct tally_conn *conn)
{
	struct tally_session *s = conn->owner;
	unsigned long flags;
	bool complete;

	spin_lock_irqsave(&s->lock, flags);
	complete = s->state == TALLY_SESSION_OPENING &&
		   ++s->lanes_up == s->lanes;
	spin_unlock_irqrestore(&s->lock, flags);
	if (complete)
		tally_work_queue(s->node->wq, &s->lanes_work, &s->ref);
}

static const struct tally_conn_ops lane_ops = {
	.bind = lane_bind,
	.sign = lane_sign,
	.up = lane_up,
	.down = link_conn_down,
};

/* What goes wrong breaks the link. */
static void link_open_lane(struct tally_session *s, u8 lane)
{
	struct tally_conn_params params = {
		.ops = &lane_ops,
		.owner = s,
		.stats = &s->node->stats,
		.lease_ms = s->lease_ms,
		.priv = {
			.magic = cpu_to_be32(TALLY_WIRE_MAGIC),
			.version = cpu_to_be16(TALLY_WIRE_VERSION),
			.kind = TALLY_KIND_LANE,
			.lane = lane,
			.session = cpu_to_be64(s->id),
		},
	};
	struct tally_conn *conn;

	get_random_bytes(params.priv.nonce, sizeof(params.priv.nonce));
	if (!link_conn_begin(s, lane))
		return;
	conn = tally_conn_connect(s->node->net,
				  (struct sockaddr *)&s->addr, &params);
	if (IS_ERR(conn))
		link_conn_end(s, NULL, PTR_ERR(conn));
}

static int link_active(struct tally_session *s, u16 type, const void *body,
		       u32 len)
{
	const struct tally_msg_active *active = body;
	bool initiator = type == TALLY_MSG_ACTIVE_ACK;
	u16 slot = be16_to_cpu(active->slot);
	bool first;
	unsigned long flags;

	if (len != sizeof(*active) || initiator != s->initiator ||
	    memchr_inv(active->reserved, 0, sizeof(active->reserved)))
		return -EPROTO;
	if (initiator) {
		tally_delay(ACTIVE);
		/* The message came by this link, which stays while it is handled. */
		link_go_live(s, s->link_nr);
		return 0;
	}
	if (slot <= TALLY_SLOT_HOME || slot > TALLY_SLOT_MAX)
		return -EPROTO;
	/* The peer's words know us by this number: it comes once for a link. */
	spin_lock_irqsave(&s->lock, flags);
	first = !s->active && (!s->resumed || slot == s->my_slot);
	if (first)
		s->my_slot = slot;
	s->active = true;
	spin_unlock_irqrestore(&s->lock, flags);
	if (!first)
		return -EPROTO;
	tally_lease_renewed(s, s->asked_at);
	link_ready(s);
	return 0;
}

static int link_goodbye_came(struct tally_session *s, const void *body,
			     u32 len)
{
	const struct tally_msg_goodbye *bye = body;

	if (len != sizeof(*bye) || be32_to_cpu(bye->clean) > 1 ||
	    memchr_inv(bye->reserved, 0, sizeof(bye->reserved)))
		return -EPROTO;
	if (bye->clean)
		tally_lease_release(s);
	tally_session_fence(s, -ECONNRESET);
	return 0;
}

static int link_renew_came(struct tally_session *s, u16 type,
			   const void *body, u32 len)
{
	const struct tally_msg_renew *renew = body;

	if (len != sizeof(*renew))
		return -EPROTO;
	tally_delay(RENEW);
	if (type == TALLY_MSG_RENEW_ACK)
		return tally_lease_renewed(s, be64_to_cpu(renew->stamp));
	tally_lease_extend(s);
	tally_session_send(s, TALLY_MSG_RENEW_ACK, renew, sizeof(*renew));
	return 0;
}

static int link_dispatch(struct tally_session *s, const struct tally_hdr *hdr,
			 const void *body, u32 len)
{
	u16 type = be16_to_cpu(hdr->type);

	if (be64_to_cpu(hdr->session) != s->id ||
	    be16_to_cpu(hdr->slot) != s->peer_slot)
		return -EPROTO;
	switch (type) {
	case TALLY_MSG_ACTIVE:
	case TALLY_MSG_ACTIVE_ACK:
		return link_active(s, type, body, len);
	case TALLY_MSG_GOODBYE:
		return link_goodbye_came(s, body, len);
	case TALLY_MSG_RENEW:
	case TALLY_MSG_RENEW_ACK:
		return link_renew_came(s, type, body, len);
	}
	tally_delay(LINK_MESSAGE);
	/* See link_go_live(); LIVE follows at once. */
	if (!s->initiator && READ_ONCE(s->said))
		wait_event_timeout(s->wait, READ_ONCE(s->state) !=
				   TALLY_SESSION_OPENING, HZ);
	/* The link may have broken just now, which is nobody's fault. */
	if (!tally_session_is_live(s))
		return READ_ONCE(s->state) == TALLY_SESSION_OPENING ? -EPROTO : 0;
	if (type == TALLY_MSG_REPLY)
		return tally_rpc_receive_reply(s, hdr, body, len);
	if (type >= TALLY_MSG_ATTACH && type < TALLY_MSG_FORGET)
		return tally_rpc_receive_request(s, hdr, body, len);
	if (type >= TALLY_MSG_FORGET)
		return s->node->ops->message(s, type, body, len);
	return -EPROTO;
}

/*
 * What comes may be what memory waits for, a lock handed over among others:
 * no allocation on this way starts writing back.
 */
static void link_message(struct tally_conn *conn, const struct tally_hdr *hdr,
			 const void *body, u32 len)
{
	struct tally_session *s = conn->owner;
	unsigned int noio;
	int err;

	if (READ_ONCE(s->state) == TALLY_SESSION_OVER ||
	    READ_ONCE(s->state) == TALLY_SESSION_BROKEN)
		return;
	noio = memalloc_noio_save();
	err = link_dispatch(s, hdr, body, len);
	memalloc_noio_restore(noio);
	if (err == -ENOMEM)
		tally_session_break(s, err);	/* a message is lost only with its link */
	else if (err)
		tally_session_violation(s, "message out of place");
}

static const struct tally_conn_ops ctrl_ops = {
	.down = link_conn_down,
	.message = link_message,
};

/**
 * tally_link_open - begin a link
 * @s: session without a link, whose down() was called
 * @ctrl: its control conn; the owner's reference passes to the session
 * @lanes: how many lanes it has
 * @resumed: it was LIVE before
 * @initiator: we open the lanes
 * @key: session key of this link
 * @since: our clock (CLOCK_BOOTTIME ns) before the message that makes the peer,
 *	as home, count for this link was sent
 *
 * Context: from @ctrl's message() upcall; sleeps.
 * Return: 0; -ENOTCONN when the session cannot have a link (then @ctrl is
 * still the caller's).
 */
int tally_link_open(struct tally_session *s, struct tally_conn *ctrl, u8 lanes,
		    bool resumed, bool initiator, const u8 *key, u64 since)
{
	static atomic_t links;
	unsigned long flags;
	bool opened = false;
	u32 i;

	spin_lock_irqsave(&s->lock, flags);
	if (!s->conns && !s->announced &&
	    tally_session_set_state(s, TALLY_SESSION_OPENING, 0)) {
		opened = true;
		s->ctrl = ctrl;
		s->conns = 1;
		s->lanes = lanes;
		s->link_nr = atomic_inc_return(&links);
		s->lanes_begun = 0;
		s->resumed = resumed;
		s->active = false;
		s->said = false;
		s->initiator = initiator;
		memcpy(s->key, key, sizeof(s->key));
	}
	spin_unlock_irqrestore(&s->lock, flags);
	if (!opened)
		return -ENOTCONN;
	tally_session_get(s);
	ctrl->owner = s;
	ctrl->ops = &ctrl_ops;
	tally_lease_start(s, since, initiator);
	if (!initiator)
		return 0;
	for (i = 0; i < lanes; i++)
		link_open_lane(s, i);
	return 0;
}

/*
 * May this connection be a lane? @params: filled when it may. CM handler;
 * sleeps for the MAC. Return: why not, or TALLY_REFUSE_NONE, and
 * tally_link_lane_accepted() must follow.
 */
enum tally_refusal tally_link_lane_request(struct tally_session *s,
					   struct tally_dev *dev,
					   const struct tally_cm_req *req,
					   struct tally_conn_params *params)
{
	u8 tag[TALLY_TAG_SIZE];

	if (s->initiator || dev != s->dev || req->lane >= s->lanes ||
	    READ_ONCE(s->state) != TALLY_SESSION_OPENING)
		return TALLY_REFUSE_STALE;
	if (tally_auth_tag(&s->node->auth, s->key, req, params->peer_qpn, tag) ||
	    crypto_memneq(tag, req->tag, sizeof(tag)))
		return TALLY_REFUSE_BAD_TAG;
	if (!link_conn_begin(s, req->lane))
		return TALLY_REFUSE_STALE;
	params->ops = &lane_ops;
	params->owner = s;
	params->pd = s->pd;
	params->lease_ms = s->lease_ms;
	params->messages = false;
	return TALLY_REFUSE_NONE;
}

/*
 * What became of it: the conn, whose reference passes to the session, or NULL.
 */
void tally_link_lane_accepted(struct tally_session *s,
			      struct tally_conn *conn)
{
	if (!conn)
		link_conn_end(s, NULL, -ENOTCONN);
	else if (lane_join(s, conn))
		tally_conn_fail(conn, -ENOTCONN);
}

/* The node's last reference may go here: its workqueue ends elsewhere. */
static void session_free(struct work_struct *work)
{
	struct tally_session *s = container_of(work, typeof(*s), free_work);

	kvfree(s->rpc);
	/* Every bit of the slot has been swept. */
	if (s->peer_slot)
		xa_erase(&s->node->slots, s->peer_slot);
	s->owner_ops->put(s->peer);
	tally_node_put(s->node);
	memzero_explicit(s->key, sizeof(s->key));
	memzero_explicit(&s->secret, sizeof(s->secret));
	memzero_explicit(&s->ticket, sizeof(s->ticket));
	kfree_rcu(s, rcu);
}

static void session_unhash(struct tally_session *s)
{
	rhashtable_remove_fast(&s->node->sessions, &s->by_id,
			       tally_sessions_params);
}

/* Under s->upcall: everything made on the device is given up here. */
static void session_tell_over(struct tally_session *s)
{
	lockdep_assert_held(&s->upcall);
	tally_lease_stop(s);
	tally_rpc_close(s);
	s->node->ops->over(s);
	tally_stat_inc(&s->node->stats, TALLY_STAT_SESSION_FENCED);
	tally_node_notice(s->node, "over", s->name,
			  tally_session_why(s->error));
	trace_tally_session_fenced(s->id, s->error);
	session_unhash(s);
	tally_delay(SESSION_OVER);
	s->owner_ops->over(s);
	WRITE_ONCE(s->over, true);
	tally_dev_unwatch(s->dev, &s->watch);
	ib_dealloc_pd(s->pd);
	tally_dev_put(s->dev);
}

/*
 * Follows every change of the link, one run at a time. What is still waited
 * for queues it again.
 */
static void session_link_work(struct work_struct *work)
{
	struct tally_session *s = container_of(work, typeof(*s), link_work);
	bool settled, broken, end, lived;
	unsigned int noio;

	/* Memory may wait for what is done here. */
	noio = memalloc_noio_save();
	mutex_lock(&s->upcall);
	/* The holders hear of it before the QPs are gone. */
	if (!s->told && READ_ONCE(s->state) == TALLY_SESSION_OVER) {
		s->told = true;
		tally_delay(LOST);
		trace_tally_session_lost(s->id, s->error);
		s->node->ops->lost(s);
	}
	spin_lock_irq(&s->lock);
	settled = !s->conns;
	broken = s->state == TALLY_SESSION_BROKEN;
	lived = s->lived;
	end = s->state == TALLY_SESSION_OVER && !s->over && settled;
	spin_unlock_irq(&s->lock);
	if (settled && (broken || end) && s->announced) {
		s->announced = false;
		if (s->state == TALLY_SESSION_OVER)
			tally_node_event(s->node, "down", s->name, "over");
		else
			tally_node_notice(s->node, "down", s->name, "broken");
		s->node->ops->down(s);
	}
	if (end)
		session_tell_over(s);
	mutex_unlock(&s->upcall);
	memalloc_noio_restore(noio);
	wake_up_all(&s->wait);
	if (settled && broken && lived)
		s->owner_ops->link_lost(s);
	else if (settled && broken)
		tally_session_fence(s, s->error);	/* nothing to come back to */
	if (end)
		tally_session_put(s);	/* the one tally_session_start() took */
	tally_session_put(s);
}

static void session_gone(struct tally_dev_user *user)
{
	struct tally_session *s = container_of(user, typeof(*s), watch);

	tally_session_fence(s, -ENETDOWN);
}

/*
 * A new session, without a link. @key: that of its first one. Until
 * tally_session_start() its maker fills in all above @dev in its struct, but for
 * @node and @peer_slot. Return: a reference or NULL.
 */
struct tally_session *tally_session_alloc(struct tally_node *node,
					  struct tally_dev *dev,
					  const u8 key[TALLY_MAC_SIZE])
{
	struct tally_session *s = kzalloc(sizeof(*s), GFP_KERNEL);

	if (!s)
		return NULL;
	if (tally_auth_resume(&node->auth, key, &s->secret) ||
	    tally_auth_ticket(&node->auth, key, &s->ticket)) {
		kfree_sensitive(s);
		return NULL;
	}
	kref_init(&s->ref);
	spin_lock_init(&s->lock);
	mutex_init(&s->upcall);
	init_waitqueue_head(&s->wait);
	tally_lease_init(s);
	INIT_WORK(&s->link_work, session_link_work);
	INIT_WORK(&s->lanes_work, link_lanes_work);
	INIT_WORK(&s->free_work, session_free);
	s->node = tally_node_get(node);
	s->state = TALLY_SESSION_BROKEN;	/* no link yet */
	s->dev = dev;
	s->watch.gone = session_gone;
	return s;
}

/* All that may fail before the layers above know it. */
static int session_prepare(struct tally_session *s)
{
	struct tally_node *node = s->node;
	int err = tally_rpc_create(s);
	u32 slot;

	if (err)
		return err;
	/* The lowest: only the first ones have a bit in the words of locks. */
	err = xa_alloc(&node->slots, &slot, s,
		       XA_LIMIT(TALLY_SLOT_HOME + 1, TALLY_SLOT_MAX),
		       GFP_KERNEL);
	if (err)
		return err == -EBUSY ? -ENOSPC : err;
	s->peer_slot = slot;
	s->pd = ib_alloc_pd(s->dev->ibdev, 0);
	if (IS_ERR(s->pd))
		return PTR_ERR(s->pd);
	err = rhashtable_lookup_insert_fast(&node->sessions, &s->by_id,
					    tally_sessions_params);
	if (!err) {
		err = node->ops->created(s);
		if (err)
			session_unhash(s);
	}
	if (err)
		ib_dealloc_pd(s->pd);
	return err;
}

/*
 * A session begins. It has no link until tally_link_open(), and may be OVER
 * already when its device went away meanwhile. Process context; takes over the
 * reference when it fails: -EEXIST when the node has one of that id, -ENOMEM,
 * -ENOSPC, ...
 */
int tally_session_start(struct tally_session *s)
{
	int err;

	tally_dev_hold(s->dev);
	err = session_prepare(s);
	if (err) {
		tally_dev_put(s->dev);
		tally_session_put(s);
		return err;
	}
	tally_session_get(s);	/* ends with over() */
	tally_stat_inc(&s->node->stats, TALLY_STAT_SESSION_NEW);
	/* Last: from here on the device may end it. */
	if (tally_dev_watch(s->dev, &s->watch))
		tally_session_fence(s, -ENETDOWN);
	return 0;
}

/*
 * Break the link and wait until every QP of it is destroyed. Sleeps, bounded.
 * Return: 0 or -ETIMEDOUT.
 */
int tally_session_break_wait(struct tally_session *s, int err)
{
	tally_session_break(s, err);
	return wait_event_timeout(s->wait, !READ_ONCE(s->conns) &&
				  !READ_ONCE(s->announced), LINK_DOWN_WAIT) ?
	       0 : -ETIMEDOUT;
}

/*
 * Fence a session and wait for its end. Sleeps, bounded. Return: 0 or
 * -ETIMEDOUT.
 */
int tally_session_fence_wait(struct tally_session *s, int err)
{
	tally_session_fence(s, err);
	return wait_event_timeout(s->wait, READ_ONCE(s->over),
				  LINK_DOWN_WAIT) ? 0 : -ETIMEDOUT;
}

/*
 * Leave in good order: nothing is granted to us any more, what we hold is given
 * up, and only then we say so, whatever the state of the link. Once; process
 * context, does not wait for the peer.
 */
void tally_session_leave(struct tally_session *s)
{
	struct tally_msg_goodbye bye = { .clean = cpu_to_be32(1) };

	guard(mutex)(&s->upcall);
	if (s->leaving)
		return;
	WRITE_ONCE(s->leaving, true);
	s->left_at = jiffies;
	/* Grants look at that with the lock that leave() takes, too. */
	s->node->ops->leave(s);
	tally_delay(GOODBYE);
	tally_session_send(s, TALLY_MSG_GOODBYE, &bye, sizeof(bye));
}

/*
 * The same, and wait for the peer to hang up, at most until half a second after
 * it was told; then fence the session and wait for that, bounded.
 */
void tally_session_goodbye(struct tally_session *s)
{
	long left;

	tally_session_leave(s);
	left = READ_ONCE(s->left_at) + GOODBYE_WAIT - jiffies;
	/* A link that is being opened may still be closed by the peer. */
	if (left > 0)
		wait_event_timeout(s->wait, READ_ONCE(s->over) ||
				   READ_ONCE(s->state) >= TALLY_SESSION_BROKEN,
				   left);
	tally_session_fence_wait(s, -ESHUTDOWN);
}
