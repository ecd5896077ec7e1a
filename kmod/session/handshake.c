// SPDX-License-Identifier: GPL-2.0
/*
 *	initiator			responder
 *	HELLO		------------>	known? name free? which direction wins?
 *	proof good?	<------------	CHALLENGE (+ proof)
 *	PROVE		------------>	proof good? only now fence what was before
 *	join session	<------------	READY (session, slot, lanes)
 *	lanes		============>	tags good?
 *	ACTIVE		------------>
 *			<------------	ACTIVE_ACK
 *
 * Nothing of an existing session is touched before the proof. Handshakes that
 * are half open are bounded in number and in time.
 */
#include <crypto/algapi.h>
#include <linux/ctype.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include "base/delay.h"
#include "base/name.h"
#include "base/trace.h"
#include "base/work.h"
#include "session/handshake.h"
#include "session/lease.h"
#include "transport/cm.h"

#define HANDSHAKE_TIMEOUT	(5 * HZ)
/* A refused initiator hangs up; after this time we do. */
#define REFUSED_WAIT		HZ
#define HALF_OPEN_MAX		32
#define HALF_OPEN_PEER		4
/* So many times that with those that are being closed, to make room. */
#define HALF_OPEN_CLOSING	2
/* Tests say what they like. */
#ifndef tally_cpus
#define tally_cpus()		num_online_cpus()
#endif

/**
 * struct tally_handshake - one attempt, either direction
 * @list: in node->half if @incoming, under node->half_lock, like @evicted and
 *	@finished
 * @ref: conn (until it passes to a session), works
 * @node: our node, referenced
 * @peer: referenced; incoming: NULL until HELLO named it
 * @conn: its conn; the owner's reference is ours
 * @incoming: the peer connected
 * @known: from the address of a configured peer
 * @counted: it counts in peer->half_count
 * @evicted: told to go, no longer counts
 * @finished: off the list
 * @expect: message that must come next, 0: none may
 * @t: what both sides said
 * @since: our clock before the peer's lease began
 * @from: where it came from
 * @refusal: why one side turned the other away
 * @text: the sentence that says so; where it is empty, the usual one is sent
 * @start: sends HELLO
 * @deadline: ends the attempt
 */
struct tally_handshake {
	struct list_head list;
	struct kref ref;
	struct tally_node *node;
	struct tally_peer *peer;
	struct tally_conn *conn;
	bool incoming;
	bool known;
	bool counted;
	bool evicted;
	bool finished;
	u16 expect;
	struct tally_transcript t;
	u64 since;
	struct sockaddr_storage from;
	u16 refusal;
	char text[128];
	struct work_struct start;
	struct delayed_work deadline;
};

static void handshake_free(struct kref *ref)
{
	struct tally_handshake *hs = container_of(ref, typeof(*hs), ref);

	tally_peer_put(hs->peer);
	tally_node_put(hs->node);
	kfree(hs);
}

static void handshake_put(struct tally_handshake *hs)
{
	kref_put(&hs->ref, handshake_free);
}

/* It has ended, one way or the other; its place in the counts is free. */
static void handshake_finish(struct tally_handshake *hs)
{
	struct tally_peer *peer = hs->peer;

	spin_lock(&hs->node->half_lock);
	hs->finished = true;
	list_del_init(&hs->list);
	spin_unlock(&hs->node->half_lock);
	if (peer) {
		guard(mutex)(&peer->lock);
		if (peer->attempt == hs)
			peer->attempt = NULL;
		if (hs->counted)
			peer->half_count--;
		hs->counted = false;
	}
	if (cancel_delayed_work_sync(&hs->deadline))
		handshake_put(hs);
}

/* End it after @wait jiffies, unless it is finished. */
static void handshake_arm(struct tally_handshake *hs, unsigned long wait)
{
	spin_lock(&hs->node->half_lock);
	if (!hs->finished)
		tally_work_delay(hs->node->wq, &hs->deadline, &hs->ref, wait);
	spin_unlock(&hs->node->half_lock);
}

static void handshake_deadline(struct work_struct *work)
{
	struct tally_handshake *hs = container_of(work, struct tally_handshake,
						  deadline.work);

	if (hs->expect)
		atomic64_inc(&hs->node->stats.refused[TALLY_REFUSE_TIMEOUT]);
	tally_conn_fail(hs->conn, -ETIMEDOUT);
	handshake_put(hs);
}

static int handshake_send(struct tally_handshake *hs, u16 type,
			  const void *body, u32 len)
{
	struct tally_msg_head head = { .type = type };
	int err = tally_msg_send(hs->conn, &head, body, len, GFP_NOIO);

	if (err)
		tally_conn_fail(hs->conn, err);
	return err;
}

/* HELLO or CHALLENGE of ours. @resume: session to go on with, or 0. */
static void hello_fill(struct tally_handshake *hs,
		       struct tally_msg_hello *hello, u64 resume)
{
	struct tally_node *node = hs->node;
	u32 atomics = node->config.no_atomics ? 0 : TALLY_FEATURE_ATOMICS;

	*hello = (struct tally_msg_hello) {
		.version = cpu_to_be16(TALLY_WIRE_VERSION),
		.abi = TALLY_ABI,
		.lanes = min_t(u32, tally_cpus(), TALLY_LANES_MAX),
		.features = cpu_to_be32(TALLY_FEATURE_WHO | atomics),
		.incarnation = cpu_to_be64(node->incarnation),
		.epoch = cpu_to_be64(node->config.epoch),
		.resume = cpu_to_be64(resume),
		.qpn = cpu_to_be32(hs->conn->shown_qpn),
		.lease_ms = cpu_to_be32(node->config.lease_ms),
		.depth = cpu_to_be16(TALLY_MSG_DEPTH),
		.auth = tally_peer_secret(hs->peer)->len != 0,
	};
	strscpy(hello->from, node->config.name, sizeof(hello->from));
	strscpy(hello->to, hs->peer->name, sizeof(hello->to));
	get_random_bytes(hello->nonce, sizeof(hello->nonce));
}

static bool hello_well_formed(const struct tally_msg_hello *hello)
{
	u32 lease = be32_to_cpu(hello->lease_ms);
	u16 depth = be16_to_cpu(hello->depth);

	return tally_name_field_valid(hello->from, sizeof(hello->from)) &&
	       tally_name_field_valid(hello->to, sizeof(hello->to)) &&
	       !memchr_inv(hello->reserved, 0, sizeof(hello->reserved)) &&
	       hello->auth <= 1 && hello->incarnation &&
	       hello->lanes >= 1 && hello->lanes <= TALLY_LANES_MAX &&
	       depth >= 16 && depth <= 4096 &&
	       be64_to_cpu(hello->epoch) <= TALLY_EPOCH_MAX &&
	       lease >= TALLY_LEASE_MIN && lease <= TALLY_LEASE_MAX;
}

/*
 * Everything but the proof and whether we know the sender. A relay that passes
 * on what others sign has a QP of its own.
 */
static enum tally_refusal hello_check(struct tally_handshake *hs,
				      const struct tally_msg_hello *hello,
				      u32 len)
{
	if (len < sizeof(hello->version))
		return TALLY_REFUSE_MALFORMED;
	if (be16_to_cpu(hello->version) != TALLY_WIRE_VERSION)
		return TALLY_REFUSE_VERSION;
	if (len != sizeof(*hello) || !hello_well_formed(hello))
		return TALLY_REFUSE_MALFORMED;
	if (hello->abi != TALLY_ABI)
		return TALLY_REFUSE_ABI;
	if (strcmp(hello->to, hs->node->config.name))
		return TALLY_REFUSE_WRONG_NAME;
	if (be32_to_cpu(hello->qpn) == hs->conn->peer_qpn)
		return TALLY_REFUSE_NONE;
	strscpy(hs->text, "the queue pair is not the one that its node signed",
		sizeof(hs->text));
	return TALLY_REFUSE_AUTH;
}

static const char * const refusals[__TALLY_REFUSE_MAX] = {
	[TALLY_REFUSE_VERSION] =
		"the two nodes speak different versions of the protocol",
	[TALLY_REFUSE_UNKNOWN_PEER] = "no peer of that name is configured here",
	[TALLY_REFUSE_WRONG_NAME] = "the node at that address has another name",
	[TALLY_REFUSE_AUTH] =
		"the proof of the key is wrong: the two nodes need the same",
	[TALLY_REFUSE_AUTH_MISMATCH] =
		"one side has a cluster key and the other has none",
	[TALLY_REFUSE_COLLISION] =
		"the connection in the other direction is kept",
	[TALLY_REFUSE_BUSY] =
		"too many handshakes or sessions at once; it will be tried again",
	[TALLY_REFUSE_ABI] = "the two machines have different byte orders",
	[TALLY_REFUSE_EPOCH] =
		"the epoch is lower than one seen before; add the node with a higher one",
	[TALLY_REFUSE_SHUTDOWN] = "the node is being stopped",
};

/* Turn the other side away, saying why. */
static void handshake_refuse(struct tally_handshake *hs,
			     enum tally_refusal reason)
{
	struct tally_msg_refuse body = {
		.reason = cpu_to_be16(reason),
		.version = cpu_to_be16(TALLY_WIRE_VERSION),
	};

	if (!hs->text[0])
		strscpy(hs->text, refusals[reason] ?:
			"the handshake was not as it should be", sizeof(hs->text));
	strscpy(body.text, hs->text, sizeof(body.text));
	atomic64_inc(&hs->node->stats.refused[reason]);
	trace_tally_handshake_refuse(hs->conn, hs->incoming, reason);
	tally_node_notice(hs->node, "refused",
			  hs->peer ? hs->peer->name : "?", hs->text);
	hs->refusal = reason;
	hs->expect = 0;
	if (!handshake_send(hs, TALLY_MSG_REFUSE, &body, sizeof(body)))
		handshake_arm(hs, REFUSED_WAIT);
}

/* The other side turned us away. */
static void handshake_refused(struct tally_handshake *hs, const void *body,
			      u32 len)
{
	const struct tally_msg_refuse *refuse = body;
	char *c;

	if (len == sizeof(*refuse)) {
		hs->refusal = be16_to_cpu(refuse->reason);
		if (hs->refusal >= __TALLY_REFUSE_MAX)
			hs->refusal = TALLY_REFUSE_MALFORMED;
		strscpy(hs->text, refuse->text, sizeof(hs->text));
		/* It has proved nothing, and is going to be logged. */
		for (c = hs->text; *c; c++)
			if (!isascii(*c) || !isprint(*c))
				*c = '?';
	}
	hs->expect = 0;
	tally_conn_fail(hs->conn, -ECONNREFUSED);
}

static enum tally_refusal handshake_meet(struct tally_handshake *hs)
{
	u64 epoch = be64_to_cpu(hs->t.hello.epoch);
	struct tally_handshake *mine;
	struct tally_peer *peer;

	if (!tally_node_running(hs->node))
		return TALLY_REFUSE_SHUTDOWN;
	peer = tally_peer_find(hs->node, hs->t.hello.from);
	if (!peer)
		return TALLY_REFUSE_UNKNOWN_PEER;
	hs->peer = peer;
	if (hs->t.hello.auth != !!tally_peer_secret(peer)->len)
		return TALLY_REFUSE_AUTH_MISMATCH;
	guard(mutex)(&peer->lock);
	mine = peer->attempt;
	if (peer->dead)
		return TALLY_REFUSE_UNKNOWN_PEER;
	if (epoch < peer->seen_epoch)
		return TALLY_REFUSE_EPOCH;
	/* Both connect: the link that the smaller name opened goes on. */
	if (mine && mine->conn && tally_conn_is_up(mine->conn) &&
	    strcmp(peer->node->config.name, peer->name) < 0)
		return TALLY_REFUSE_COLLISION;
	hs->counted = true;
	peer->half_count++;
	return TALLY_REFUSE_NONE;
}

/* Responder: HELLO came. */
static enum tally_refusal handshake_hello(struct tally_handshake *hs,
					  const void *body, u32 len)
{
	enum tally_refusal reason = hello_check(hs, body, len);
	struct tally_msg_hello *challenge = &hs->t.challenge;

	if (!reason) {
		memcpy(&hs->t.hello, body, sizeof(hs->t.hello));
		reason = handshake_meet(hs);
	}
	if (reason)
		return reason;
	tally_msgs_set_depth(hs->conn, be16_to_cpu(hs->t.hello.depth));
	hello_fill(hs, challenge, 0);
	if (tally_auth_prove(&hs->node->auth, tally_peer_secret(hs->peer),
			     TALLY_LABEL_RESPONDER, &hs->t, challenge->mac))
		return TALLY_REFUSE_AUTH;
	hs->expect = TALLY_MSG_PROVE;
	handshake_send(hs, TALLY_MSG_CHALLENGE, challenge, sizeof(*challenge));
	return TALLY_REFUSE_NONE;
}

/* The session that HELLO wants to go on with, referenced, or NULL. */
static struct tally_session *handshake_old(const struct tally_handshake *hs)
{
	struct tally_session *s = tally_peer_any_session(hs->peer);

	if (s && s->id == be64_to_cpu(hs->t.hello.resume))
		return s;
	tally_session_put(s);
	return NULL;
}

static int prove_fill(struct tally_handshake *hs, struct tally_msg_prove *prove)
{
	struct tally_auth *auth = &hs->node->auth;
	struct tally_session *old = handshake_old(hs);
	int err;

	memset(prove, 0, sizeof(*prove));
	err = tally_auth_prove(auth, tally_peer_secret(hs->peer),
			       TALLY_LABEL_INITIATOR, &hs->t, prove->mac);
	if (!err && old)
		err = tally_auth_prove(auth, &old->secret, TALLY_LABEL_RESUME,
				       &hs->t, prove->resume);
	tally_session_put(old);
	return err;
}

/* Initiator: CHALLENGE came. */
static enum tally_refusal handshake_challenge(struct tally_handshake *hs,
					      const void *body, u32 len)
{
	enum tally_refusal reason = hello_check(hs, body, len);
	struct tally_msg_hello *challenge = &hs->t.challenge;
	const struct tally_secret *secret = tally_peer_secret(hs->peer);
	struct tally_msg_prove prove;

	if (reason)
		return reason;
	memcpy(challenge, body, sizeof(*challenge));
	if (strcmp(challenge->from, hs->peer->name))
		return TALLY_REFUSE_WRONG_NAME;
	if (challenge->auth != !!secret->len)
		return TALLY_REFUSE_AUTH_MISMATCH;
	if (!tally_auth_proved(&hs->node->auth, secret, TALLY_LABEL_RESPONDER,
			       &hs->t, challenge->mac))
		return TALLY_REFUSE_AUTH;
	if (be64_to_cpu(challenge->epoch) < hs->peer->seen_epoch)
		return TALLY_REFUSE_EPOCH;
	if (prove_fill(hs, &prove))
		return TALLY_REFUSE_AUTH;
	tally_msgs_set_depth(hs->conn, be16_to_cpu(challenge->depth));
	hs->expect = TALLY_MSG_READY;
	hs->since = ktime_get_boottime_ns();
	handshake_send(hs, TALLY_MSG_PROVE, &prove, sizeof(prove));
	return TALLY_REFUSE_NONE;
}

/*
 * Is the initiator the other end of that session? The incarnation it tells to all
 * that it meets, and third nodes are told the id.
 */
static bool handshake_resumes(struct tally_handshake *hs,
			      const struct tally_session *old,
			      const struct tally_msg_prove *prove)
{
	const struct tally_msg_hello *hello = &hs->t.hello;

	return old->id == be64_to_cpu(hello->resume) &&
	       old->peer_incarnation == be64_to_cpu(hello->incarnation) &&
	       tally_auth_proved(&hs->node->auth, &old->secret,
				 TALLY_LABEL_RESUME, &hs->t, prove->resume);
}

/*
 * Under peer->admit: what becomes of an older session of that peer when a
 * proved HELLO came? *@s: the one to resume, referenced, or NULL for a new.
 */
static enum tally_refusal handshake_settle(struct tally_handshake *hs,
					   const struct tally_msg_prove *prove,
					   struct tally_session **s)
{
	struct tally_session *old = tally_peer_any_session(hs->peer);
	enum tally_refusal reason = TALLY_REFUSE_NONE;
	bool resumes;

	*s = NULL;
	if (!old)
		return TALLY_REFUSE_NONE;
	resumes = handshake_resumes(hs, old, prove);
	if (!resumes && tally_session_is_live(old)) {
		/* A dead one shows itself by this; its successor tries again. */
		tally_lease_ping(old);
		reason = TALLY_REFUSE_NAME_IN_USE;
	} else if (resumes && old->dev == hs->conn->dev &&
		   !tally_session_break_wait(old, -ENOTCONN)) {
		*s = old;
		return TALLY_REFUSE_NONE;
	} else if (tally_session_fence_wait(old, -ESTALE)) {
		reason = TALLY_REFUSE_BUSY;
	}
	tally_session_put(old);
	return reason;
}

/* Of the link; a resumed one may have others, as processors come and go. */
static u8 handshake_lanes(const struct tally_handshake *hs)
{
	return min(hs->t.hello.lanes, hs->t.challenge.lanes);
}

static int handshake_send_ready(struct tally_handshake *hs,
				struct tally_session *s, bool resumed,
				const u8 *key)
{
	struct tally_msg_ready ready = {
		.session = cpu_to_be64(s->id),
		.slot = cpu_to_be16(s->peer_slot),
		.lanes = handshake_lanes(hs),
		.resumed = resumed,
		.lease_ms = cpu_to_be32(s->lease_ms),
	};

	if (!resumed && !tally_peer_secret(hs->peer)->len)
		memcpy(ready.key, key, sizeof(ready.key));
	return tally_auth_ready(&hs->node->auth, key, &ready, ready.mac) ?:
	       handshake_send(hs, TALLY_MSG_READY, &ready, sizeof(ready));
}

static const struct tally_msg_hello *theirs(const struct tally_handshake *hs)
{
	return hs->incoming ? &hs->t.hello : &hs->t.challenge;
}

static struct tally_session *
handshake_new_session(struct tally_handshake *hs, u64 id, u16 my_slot,
		      const u8 key[TALLY_MAC_SIZE])
{
	const struct tally_msg_hello *a = &hs->t.hello, *b = &hs->t.challenge;
	struct tally_session *s = tally_session_alloc(hs->node, hs->conn->dev,
						      key);
	int err;

	if (!s)
		return ERR_PTR(-ENOMEM);
	s->id = id;
	s->peer_incarnation = be64_to_cpu(theirs(hs)->incarnation);
	s->peer_epoch = be64_to_cpu(theirs(hs)->epoch);
	s->peer_features = be32_to_cpu(theirs(hs)->features);
	s->my_slot = my_slot;
	s->lease_ms = min(be32_to_cpu(a->lease_ms), be32_to_cpu(b->lease_ms));
	err = tally_peer_session_start(hs->peer, s);
	return err ? ERR_PTR(err) : s;
}

/* The conn is the session's now: the handshake is done. */
static void handshake_done(struct tally_handshake *hs)
{
	struct tally_peer *peer = hs->peer;

	scoped_guard(mutex, &peer->lock)
		peer->seen_epoch = max(peer->seen_epoch,
				       be64_to_cpu(theirs(hs)->epoch));
	handshake_finish(hs);
	handshake_put(hs);
}

/* Responder, under peer->admit: the initiator proved itself. */
static enum tally_refusal handshake_admit(struct tally_handshake *hs,
					  const struct tally_msg_prove *prove)
{
	enum tally_refusal reason;
	struct tally_session *s;
	u8 key[TALLY_MAC_SIZE];
	bool resumed;

	reason = handshake_settle(hs, prove, &s);
	if (reason == TALLY_REFUSE_NAME_IN_USE)
		snprintf(hs->text, sizeof(hs->text),
			 "it is in use by %pISpc, asked for by %pISpc",
			 &hs->peer->addr, &hs->from);
	if (reason)
		return reason;
	resumed = s;
	if (tally_auth_session_key(&hs->node->auth, s ? &s->secret :
				   tally_peer_secret(hs->peer), &hs->t, key)) {
		tally_session_put(s);
		return TALLY_REFUSE_AUTH;
	}
	if (!s)
		s = handshake_new_session(hs, get_random_u64() ?: 1, 0, key);
	if (IS_ERR(s))
		return TALLY_REFUSE_BUSY;
	tally_handshake_cancel(hs->peer, -ENOTCONN);
	/* The lanes may come as soon as READY is out. */
	if (tally_link_open(s, hs->conn, handshake_lanes(hs), resumed, false,
			    key, ktime_get_boottime_ns())) {
		reason = TALLY_REFUSE_BUSY;
	} else {
		if (handshake_send_ready(hs, s, resumed, key))
			tally_conn_fail(hs->conn, -EPROTO);
		handshake_done(hs);
	}
	tally_session_put(s);
	return reason;
}

static enum tally_refusal handshake_prove(struct tally_handshake *hs,
					  const struct tally_msg_prove *prove,
					  u32 len)
{
	enum tally_refusal reason;
	struct tally_peer *peer;

	if (len != sizeof(*prove))
		return TALLY_REFUSE_MALFORMED;
	if (!tally_auth_proved(&hs->node->auth, tally_peer_secret(hs->peer),
			       TALLY_LABEL_INITIATOR, &hs->t, prove->mac))
		return TALLY_REFUSE_AUTH;
	/* Not waited for: it would keep what carries the messages of others. */
	if (!mutex_trylock(&hs->peer->admit))
		return TALLY_REFUSE_BUSY;
	/* An admission frees the handshake. */
	peer = tally_peer_get(hs->peer);
	reason = handshake_admit(hs, prove);
	mutex_unlock(&peer->admit);
	tally_peer_put(peer);
	return reason;
}

static bool ready_well_formed(struct tally_handshake *hs,
			      const struct tally_msg_ready *ready)
{
	const struct tally_msg_hello *a = &hs->t.hello, *b = &hs->t.challenge;
	u16 slot = be16_to_cpu(ready->slot);

	return ready->session && slot > TALLY_SLOT_HOME &&
	       slot <= TALLY_SLOT_MAX && ready->resumed <= 1 &&
	       ready->lanes == handshake_lanes(hs) &&
	       be32_to_cpu(ready->lease_ms) == min(be32_to_cpu(a->lease_ms),
						   be32_to_cpu(b->lease_ms));
}

/*
 * Initiator: is READY right, and what is the link's key? @secret: what that is made
 * of; without it READY brings it.
 */
static bool handshake_ready_key(struct tally_handshake *hs,
				const struct tally_secret *secret,
				const struct tally_msg_ready *ready,
				u8 key[TALLY_MAC_SIZE])
{
	struct tally_auth *auth = &hs->node->auth;
	u8 mac[TALLY_MAC_SIZE];

	if (!secret->len)
		memcpy(key, ready->key, TALLY_MAC_SIZE);
	else if (tally_auth_session_key(auth, secret, &hs->t, key))
		return false;
	return !tally_auth_ready(auth, key, ready, mac) &&
	       !crypto_memneq(mac, ready->mac, sizeof(mac));
}

/*
 * Initiator: the session that goes on, referenced, or ERR_PTR; only after its users
 * were told that the link was down. @key: gets the link's.
 */
static struct tally_session *handshake_go_on(struct tally_handshake *hs,
					     const struct tally_msg_ready *ready,
					     u8 key[TALLY_MAC_SIZE])
{
	struct tally_session *old = handshake_old(hs);
	int err;

	if (!old)
		return ERR_PTR(-ESTALE);
	if (!handshake_ready_key(hs, &old->secret, ready, key))
		err = -EACCES;
	else if (old->id != be64_to_cpu(ready->session) ||
		 old->my_slot != be16_to_cpu(ready->slot))
		err = -ESTALE;
	else
		err = tally_session_break_wait(old, -ENOTCONN);
	if (!err)
		return old;
	tally_session_put(old);
	return ERR_PTR(err);
}

/* Initiator: the session READY speaks of, as handshake_go_on(). */
static struct tally_session *handshake_join(struct tally_handshake *hs,
					    const struct tally_msg_ready *ready,
					    u8 key[TALLY_MAC_SIZE])
{
	struct tally_session *old;
	int err = 0;

	if (ready->resumed)
		return handshake_go_on(hs, ready, key);
	if (!handshake_ready_key(hs, tally_peer_secret(hs->peer), ready, key))
		return ERR_PTR(-EACCES);
	old = tally_peer_any_session(hs->peer);
	if (old)
		err = tally_session_fence_wait(old, -ESTALE);
	tally_session_put(old);
	return err ? ERR_PTR(err) :
		     handshake_new_session(hs, be64_to_cpu(ready->session),
					   be16_to_cpu(ready->slot), key);
}

static enum tally_refusal handshake_ready(struct tally_handshake *hs,
					  const struct tally_msg_ready *ready,
					  u32 len)
{
	struct tally_session *s;
	u8 key[TALLY_MAC_SIZE];

	tally_delay(READY);
	if (len != sizeof(*ready) || !ready_well_formed(hs, ready))
		return TALLY_REFUSE_MALFORMED;
	s = handshake_join(hs, ready, key);
	if (s == ERR_PTR(-EACCES))
		return TALLY_REFUSE_AUTH;
	if (IS_ERR(s)) {
		tally_conn_fail(hs->conn, PTR_ERR(s));
		return TALLY_REFUSE_NONE;
	}
	if (tally_link_open(s, hs->conn, ready->lanes, ready->resumed, true, key,
			    hs->since))
		tally_conn_fail(hs->conn, -ENOTCONN);
	else
		handshake_done(hs);
	tally_session_put(s);
	return TALLY_REFUSE_NONE;
}

static void handshake_message(struct tally_conn *conn,
			      const struct tally_hdr *hdr, const void *body,
			      u32 len)
{
	struct tally_handshake *hs = conn->owner;
	enum tally_refusal reason = TALLY_REFUSE_MALFORMED;
	u16 type = be16_to_cpu(hdr->type);
	unsigned int noio;

	hs->conn = conn;
	trace_tally_handshake_step(conn, hs->incoming, type);
	if (type == TALLY_MSG_REFUSE) {
		handshake_refused(hs, body, len);
		return;
	}
	if (!hs->expect)
		return;
	/* A resumed session may be what memory waits for. */
	noio = memalloc_noio_save();
	if (type != hs->expect || hdr->session || hdr->slot)
		tally_stat_inc(&hs->node->stats, TALLY_STAT_MALFORMED);
	else if (type == TALLY_MSG_HELLO)
		reason = handshake_hello(hs, body, len);
	else if (type == TALLY_MSG_CHALLENGE)
		reason = handshake_challenge(hs, body, len);
	else if (type == TALLY_MSG_PROVE)
		reason = handshake_prove(hs, body, len);
	else
		reason = handshake_ready(hs, body, len);
	/* Where it was not refused, it may have been freed. */
	if (reason)
		handshake_refuse(hs, reason);
	memalloc_noio_restore(noio);
}

static int handshake_bind(struct tally_conn *conn, struct tally_dev *dev)
{
	conn->pd = dev->ctrl_pd;
	return 0;
}

static void handshake_start(struct work_struct *work)
{
	struct tally_handshake *hs = container_of(work, typeof(*hs), start);
	struct tally_session *old = tally_peer_session(hs->peer);

	tally_delay(HELLO);
	hello_fill(hs, &hs->t.hello, old ? old->id : 0);
	tally_session_put(old);
	hs->expect = TALLY_MSG_CHALLENGE;
	handshake_arm(hs, HANDSHAKE_TIMEOUT);
	handshake_send(hs, TALLY_MSG_HELLO, &hs->t.hello,
		       sizeof(hs->t.hello));
	tally_conn_put(hs->conn);
	handshake_put(hs);
}

/* CM handler context. */
static void handshake_up(struct tally_conn *conn)
{
	struct tally_handshake *hs = conn->owner;

	if (hs->incoming)
		return;
	hs->conn = tally_conn_get(conn);
	tally_work_queue(hs->node->wq, &hs->start, &hs->ref);
}

static void handshake_down(struct tally_conn *conn, int err)
{
	struct tally_handshake *hs = conn->owner;

	handshake_finish(hs);
	if (!hs->incoming)
		tally_peer_failed(hs->peer, err, hs->refusal ?: conn->refusal,
				  hs->text);
	else if (hs->peer && hs->refusal == TALLY_REFUSE_AUTH)
		tally_peer_unproved(hs->peer, refusals[TALLY_REFUSE_AUTH]);
	tally_conn_put(conn);
	handshake_put(hs);
}

static const struct tally_conn_ops handshake_ops = {
	.bind = handshake_bind,
	.up = handshake_up,
	.down = handshake_down,
	.message = handshake_message,
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

/*
 * Begin an attempt, under peer->lock. Return: 0, and tally_peer_failed() or a
 * session follows; or an errno.
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
	params.owner = hs;	/* its reference is the conn's from here on */
	peer->attempt = hs;
	conn = tally_conn_connect(peer->node->net,
				  (struct sockaddr *)&peer->addr, &params);
	if (IS_ERR(conn)) {
		peer->attempt = NULL;
		handshake_put(hs);
		return PTR_ERR(conn);
	}
	/* It may be down already, which waits for peer->lock. */
	hs->conn = conn;
	return 0;
}

/* Give our attempt at a peer up, if there is one. */
void tally_handshake_cancel(struct tally_peer *peer, int err)
{
	struct tally_conn *conn = NULL;

	scoped_guard(mutex, &peer->lock)
		if (peer->attempt && peer->attempt->conn)
			conn = tally_conn_get(peer->attempt->conn);
	if (!conn)
		return;
	tally_conn_fail(conn, err);
	tally_conn_put(conn);
}

static bool same_host(const struct sockaddr_storage *a,
		      const struct sockaddr_storage *b)
{
	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return ((struct sockaddr_in *)a)->sin_addr.s_addr ==
		       ((struct sockaddr_in *)b)->sin_addr.s_addr;
	return ipv6_addr_equal(&((struct sockaddr_in6 *)a)->sin6_addr,
			       &((struct sockaddr_in6 *)b)->sin6_addr);
}

/* Any context. */
static bool host_is_known(struct tally_node *node,
			  const struct sockaddr_storage *from)
{
	struct tally_peer *peer;
	unsigned long id;
	bool known = false;

	rcu_read_lock();
	xa_for_each(&node->peers, id, peer) {
		known = same_host(&peer->addr, from);
		if (known)
			break;
	}
	rcu_read_unlock();
	return known;
}

/*
 * Under node->half_lock: one half-open handshake goes when there are too many, the
 * oldest of the same host or the oldest; from hosts of configured peers only if
 * there is no other. Return: false when those that go have not gone yet.
 */
static bool handshake_make_room(struct tally_node *node,
				const struct tally_handshake *incoming)
{
	struct tally_handshake *hs, *oldest = NULL, *same = NULL, *victim;
	u32 all = 0, all_open = 0, n = 0, n_open = 0;
	bool is_same;

	lockdep_assert_held(&node->half_lock);
	list_for_each_entry(hs, &node->half, list) {
		is_same = same_host(&hs->from, &incoming->from);
		all++;
		n += is_same;
		if (hs->evicted)
			continue;
		all_open++;
		n_open += is_same;
		if (!hs->conn)
			continue;
		if (!oldest || (oldest->known && !hs->known))
			oldest = hs;
		if (is_same && !same)
			same = hs;
	}
	if (n >= HALF_OPEN_CLOSING * HALF_OPEN_PEER ||
	    (!incoming->known && all >= HALF_OPEN_CLOSING * HALF_OPEN_MAX))
		return false;
	victim = n_open >= HALF_OPEN_PEER ? same :
		 all_open >= HALF_OPEN_MAX ? oldest : NULL;
	if (!victim)
		return true;
	victim->evicted = true;
	atomic64_inc(&node->stats.refused[TALLY_REFUSE_BUSY]);
	tally_conn_fail(victim->conn, -EBUSY);
	return true;
}

/*
 * May this connection from @from try to become a link? @params: filled when it
 * may. CM handler. Return: why not, or TALLY_REFUSE_NONE, and
 * tally_handshake_accepted() must follow.
 */
enum tally_refusal tally_handshake_request(struct tally_node *node,
					   const struct sockaddr *from,
					   struct tally_conn_params *params)
{
	struct tally_handshake *hs = handshake_alloc(node, true);
	enum tally_refusal reason = TALLY_REFUSE_NONE;

	if (!hs)
		return TALLY_REFUSE_BUSY;
	memcpy(&hs->from, from, from->sa_family == AF_INET ?
	       sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
	hs->known = host_is_known(node, &hs->from);
	spin_lock(&node->half_lock);
	if (node->state != TALLY_NODE_RUNNING || node->paused)
		reason = TALLY_REFUSE_SHUTDOWN;
	else if (!handshake_make_room(node, hs))
		reason = TALLY_REFUSE_BUSY;
	else
		list_add_tail(&hs->list, &node->half);
	spin_unlock(&node->half_lock);
	if (reason) {
		handshake_put(hs);
		return reason;
	}
	kref_get(&hs->ref);	/* the conn's; ours lasts until accepted() */
	params->ops = &handshake_ops;
	params->owner = hs;
	params->messages = true;
	params->lease_ms = node->config.lease_ms;
	return TALLY_REFUSE_NONE;
}

/* What became of it. @conn: the conn, whose reference passes on, or NULL. */
void tally_handshake_accepted(struct tally_conn_params *params,
			      struct tally_conn *conn)
{
	struct tally_handshake *hs = params->owner;

	if (conn) {
		hs->conn = conn;
		handshake_arm(hs, HANDSHAKE_TIMEOUT);
	} else {
		handshake_finish(hs);
		handshake_put(hs);
	}
	handshake_put(hs);
}

/*
 * End every incoming handshake of a node that stops and whose listener is gone,
 * and wait.
 */
void tally_handshakes_stop(struct tally_node *node)
{
	struct tally_handshake *hs;
	struct tally_conn *conn;

	for (;;) {
		spin_lock(&node->half_lock);
		hs = list_first_entry_or_null(&node->half, typeof(*hs), list);
		conn = hs ? tally_conn_get(hs->conn) : NULL;
		spin_unlock(&node->half_lock);
		if (!conn)
			return;
		tally_conn_close(conn, -ESHUTDOWN);
		tally_conn_put(conn);
	}
}
