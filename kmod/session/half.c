// SPDX-License-Identifier: GPL-2.0
/* Handshakes that are half open: counted, bounded in number and in time. */
#include <linux/slab.h>
#include "transport/cm.h"
#include "session/half.h"
#include "session/handshake.h"
#include "session/peer.h"

static void handshake_free(struct kref *ref)
{
	struct tally_handshake *hs = container_of(ref, struct tally_handshake,
						  ref);

	if (hs->peer)
		tally_peer_put(hs->peer);
	tally_node_put(hs->node);
	kfree(hs);
}

void tally_half_put(struct tally_handshake *hs)
{
	kref_put(&hs->ref, handshake_free);
}

/* It is over, one way or the other; its place in the counts is free. */
void tally_half_finish(struct tally_handshake *hs)
{
	struct tally_peer *peer = hs->peer;

	mutex_lock(&hs->node->lock);
	hs->finished = true;
	list_del_init(&hs->list);
	if (hs->incoming && !hs->evicted)
		hs->node->half_count--;
	mutex_unlock(&hs->node->lock);
	if (peer) {
		mutex_lock(&peer->lock);
		if (peer->attempt == hs)
			peer->attempt = NULL;
		if (hs->counted)
			peer->half_count--;
		hs->counted = false;
		mutex_unlock(&peer->lock);
	}
	if (cancel_delayed_work_sync(&hs->deadline))
		tally_half_put(hs);
}

void tally_half_arm(struct tally_handshake *hs, unsigned long wait)
{
	mutex_lock(&hs->node->lock);
	if (!hs->finished) {
		kref_get(&hs->ref);
		if (mod_delayed_work(hs->node->wq, &hs->deadline, wait))
			kref_put(&hs->ref, handshake_free);
	}
	mutex_unlock(&hs->node->lock);
}

static void handshake_deadline(struct work_struct *work)
{
	struct tally_handshake *hs = container_of(work, struct tally_handshake,
						  deadline.work);
	struct tally_node *node = hs->node;

	if (hs->expect)
		atomic64_inc(&node->stats.refused[TALLY_REFUSE_TIMEOUT]);
	tally_conn_fail(hs->conn, -ETIMEDOUT);
	tally_half_put(hs);
}

static int handshake_bind(struct tally_conn *conn, struct tally_dev *dev)
{
	conn->pd = dev->ctrl_pd;
	return 0;
}

static void handshake_start(struct work_struct *work)
{
	struct tally_handshake *hs = container_of(work, struct tally_handshake,
						  start);
	struct tally_session *old = tally_peer_session(hs->peer);

	tally_hello_fill(&hs->t.hello, hs->node, hs->peer->name,
			 old ? old->id : 0, hs->conn->qp->qp_num);
	if (old)
		tally_session_put(old);
	hs->expect = TALLY_MSG_CHALLENGE;
	tally_half_arm(hs, TALLY_HANDSHAKE_TIMEOUT);
	tally_handshake_send(hs, TALLY_MSG_HELLO, &hs->t.hello,
			     sizeof(hs->t.hello));
	tally_conn_put(hs->conn);
	tally_half_put(hs);
}

/* CM handler context. */
static void handshake_up(struct tally_conn *conn)
{
	struct tally_handshake *hs = conn->owner;

	if (hs->incoming)
		return;
	hs->conn = tally_conn_get(conn);
	kref_get(&hs->ref);
	queue_work(hs->node->wq, &hs->start);
}

static void handshake_down(struct tally_conn *conn, int err)
{
	struct tally_handshake *hs = conn->owner;

	tally_half_finish(hs);
	if (!hs->incoming)
		tally_peer_failed(hs->peer, err, hs->refusal ?: conn->refusal,
				  hs->refusal ? hs->text : NULL);
	tally_conn_put(conn);
	tally_half_put(hs);
}

static const struct tally_conn_ops handshake_ops = {
	.bind = handshake_bind,
	.up = handshake_up,
	.down = handshake_down,
	.message = tally_handshake_message,
};

static struct tally_handshake *handshake_alloc(struct tally_node *node,
					       bool incoming)
{
	struct tally_handshake *hs = kzalloc(sizeof(*hs), GFP_KERNEL);

	if (!hs)
		return NULL;
	kref_init(&hs->ref);
	INIT_LIST_HEAD(&hs->list);
	INIT_WORK(&hs->start, handshake_start);
	INIT_DELAYED_WORK(&hs->deadline, handshake_deadline);
	hs->node = tally_node_get(node);
	hs->incoming = incoming;
	hs->expect = incoming ? TALLY_MSG_HELLO : 0;
	return hs;
}

/**
 * tally_handshake_connect - begin an attempt
 * @peer: to whom; under peer->lock
 *
 * Return: 0, and tally_peer_failed() or a session follows; or an errno.
 */
int tally_handshake_connect(struct tally_peer *peer)
{
	struct tally_conn_params params = {
		.ops = &handshake_ops,
		.stats = &peer->node->stats,
		.messages = true,
		.lease_ms = peer->node->config.lease_ms,
		.priv = {
			.magic = cpu_to_be32(TALLY_WIRE_MAGIC),
			.version = cpu_to_be16(TALLY_WIRE_VERSION),
			.kind = TALLY_KIND_CONTROL,
		},
	};
	struct tally_handshake *hs = handshake_alloc(peer->node, false);
	struct tally_conn *conn;

	lockdep_assert_held(&peer->lock);
	if (!hs)
		return -ENOMEM;
	hs->peer = tally_peer_get(peer);
	kref_get(&hs->ref);	/* the conn's; ours lasts until return */
	params.owner = hs;
	peer->attempt = hs;
	conn = tally_conn_connect(peer->node->net,
				  (struct sockaddr *)&peer->addr, &params);
	if (IS_ERR(conn)) {
		peer->attempt = NULL;
		tally_half_put(hs);
		tally_half_put(hs);
		return PTR_ERR(conn);
	}
	hs->conn = conn;
	tally_half_put(hs);
	return 0;
}

/**
 * tally_handshake_cancel - give our attempt at a peer up
 * @peer: the peer
 * @err: why
 */
void tally_handshake_cancel(struct tally_peer *peer, int err)
{
	struct tally_conn *conn = NULL;

	mutex_lock(&peer->lock);
	if (peer->attempt && peer->attempt->conn)
		conn = tally_conn_get(peer->attempt->conn);
	mutex_unlock(&peer->lock);
	if (!conn)
		return;
	tally_conn_fail(conn, err);
	tally_conn_put(conn);
}

static bool same_host(const struct sockaddr_storage *a,
		      const struct sockaddr *b)
{
	if (a->ss_family != b->sa_family)
		return false;
	if (a->ss_family == AF_INET)
		return ((struct sockaddr_in *)a)->sin_addr.s_addr ==
		       ((struct sockaddr_in *)b)->sin_addr.s_addr;
	return ipv6_addr_equal(&((struct sockaddr_in6 *)a)->sin6_addr,
			       &((struct sockaddr_in6 *)b)->sin6_addr);
}

/* Under node->lock: the oldest half-open one goes when there are too many. */
static void handshake_make_room(struct tally_node *node,
				const struct sockaddr *from)
{
	struct tally_handshake *hs, *oldest = NULL, *same = NULL, *victim;
	u32 n = 0;

	lockdep_assert_held(&node->lock);
	list_for_each_entry(hs, &node->half, list) {
		if (!hs->incoming || hs->evicted || !hs->conn)
			continue;
		if (!oldest)
			oldest = hs;
		if (!same_host(&hs->from, from))
			continue;
		if (!same)
			same = hs;
		n++;
	}
	victim = n >= TALLY_HALF_OPEN_PEER ? same :
		 node->half_count >= TALLY_HALF_OPEN_MAX ? oldest : NULL;
	if (!victim)
		return;
	victim->evicted = true;
	node->half_count--;
	atomic64_inc(&node->stats.refused[TALLY_REFUSE_BUSY]);
	tally_conn_fail(victim->conn, -EBUSY);
}

static size_t sockaddr_size(const struct sockaddr *sa)
{
	return sa->sa_family == AF_INET ? sizeof(struct sockaddr_in) :
					  sizeof(struct sockaddr_in6);
}

/**
 * tally_handshake_request - somebody opens a control conn
 * @node: our node
 * @from: where from
 * @params: filled when it may
 *
 * Context: CM handler. tally_handshake_accepted() must follow.
 * Return: TALLY_REFUSE_NONE or why not.
 */
enum tally_refusal tally_handshake_request(struct tally_node *node,
					   const struct sockaddr *from,
					   struct tally_conn_params *params)
{
	struct tally_handshake *hs;
	bool running;

	hs = handshake_alloc(node, true);
	if (!hs)
		return TALLY_REFUSE_BUSY;
	memcpy(&hs->from, from, sockaddr_size(from));
	mutex_lock(&node->lock);
	running = node->state == TALLY_NODE_RUNNING;
	if (running) {
		handshake_make_room(node, from);
		list_add_tail(&hs->list, &node->half);
		node->half_count++;
	}
	mutex_unlock(&node->lock);
	if (!running) {
		tally_half_put(hs);
		return TALLY_REFUSE_SHUTDOWN;
	}
	kref_get(&hs->ref);	/* the conn's; ours lasts until accepted() */
	params->ops = &handshake_ops;
	params->owner = hs;
	params->messages = true;
	params->lease_ms = node->config.lease_ms;
	return TALLY_REFUSE_NONE;
}

/**
 * tally_handshake_accepted - what became of an accepted control conn
 * @params: as filled by tally_handshake_request()
 * @conn: the conn, whose reference passes on, or NULL
 */
void tally_handshake_accepted(struct tally_conn_params *params,
			      struct tally_conn *conn)
{
	struct tally_handshake *hs = params->owner;

	if (conn) {
		hs->conn = conn;
		tally_half_arm(hs, TALLY_HANDSHAKE_TIMEOUT);
	} else {
		tally_half_finish(hs);
		tally_half_put(hs);
	}
	tally_half_put(hs);
}

/**
 * tally_handshakes_stop - end every incoming handshake and wait
 * @node: node that stops; its listener is gone
 */
void tally_handshakes_stop(struct tally_node *node)
{
	struct tally_handshake *hs;
	struct tally_conn *conn;

	for (;;) {
		conn = NULL;
		mutex_lock(&node->lock);
		hs = list_first_entry_or_null(&node->half,
					      struct tally_handshake, list);
		if (hs)
			conn = tally_conn_get(hs->conn);
		mutex_unlock(&node->lock);
		if (!hs)
			return;
		tally_conn_close(conn, -ESHUTDOWN);
		tally_conn_put(conn);
	}
}
