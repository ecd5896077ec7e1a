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
 * Nothing of an existing session is touched before the proof.
 */
#include <linux/random.h>
#include "session/half.h"
#include "session/handshake.h"
#include "session/hello.h"
#include "session/peer.h"

/* A refused initiator hangs up; we help after this time. */
#define REFUSED_WAIT	HZ

int tally_handshake_send(struct tally_handshake *hs, u16 type,
			 const void *body, u32 len)
{
	struct tally_msg_head head = { .type = type };
	int err;

	err = tally_msg_send(hs->conn, &head, body, len, NULL, 0, GFP_NOIO);
	if (err)
		tally_conn_fail(hs->conn, err);
	return err;
}

static const char *refusal_sentence(enum tally_refusal reason)
{
	switch (reason) {
	case TALLY_REFUSE_VERSION:
		return "the two nodes speak different versions of the protocol";
	case TALLY_REFUSE_UNKNOWN_PEER:
		return "no peer of that name is configured here";
	case TALLY_REFUSE_WRONG_NAME:
		return "the node at that address has another name";
	case TALLY_REFUSE_AUTH:
		return "the proof of the cluster key is wrong";
	case TALLY_REFUSE_AUTH_MISMATCH:
		return "one side has a cluster key and the other has none";
	case TALLY_REFUSE_COLLISION:
		return "the connection in the other direction goes on";
	case TALLY_REFUSE_ABI:
		return "the two machines have different byte orders";
	case TALLY_REFUSE_EPOCH:
		return "the epoch is lower than one seen before";
	case TALLY_REFUSE_SHUTDOWN:
		return "the node is being stopped";
	default:
		return "the handshake was not followed";
	}
}

/* Turn the other side away, saying why. @text: NULL for the usual sentence. */
static void handshake_refuse(struct tally_handshake *hs,
			     enum tally_refusal reason, const char *text)
{
	struct tally_msg_refuse body = {
		.reason = cpu_to_be16(reason),
		.version = cpu_to_be16(TALLY_WIRE_VERSION),
	};

	if (!text)
		text = refusal_sentence(reason);
	strscpy(body.text, text, sizeof(body.text));
	atomic64_inc(&hs->node->stats.refused[reason]);
	tally_node_event(hs->node, "refused",
			 hs->peer ? hs->peer->name : "?", text);
	if (!hs->incoming) {
		hs->refusal = reason;
		strscpy(hs->text, text, sizeof(hs->text));
	}
	hs->expect = 0;
	if (!tally_handshake_send(hs, TALLY_MSG_REFUSE, &body, sizeof(body)))
		tally_half_arm(hs, REFUSED_WAIT);
}

/* The other side turned us away. */
static void handshake_refused(struct tally_handshake *hs, const void *body,
			      u32 len)
{
	const struct tally_msg_refuse *refuse = body;

	if (len == sizeof(*refuse)) {
		hs->refusal = be16_to_cpu(refuse->reason);
		if (hs->refusal >= __TALLY_REFUSE_MAX)
			hs->refusal = TALLY_REFUSE_MALFORMED;
		strscpy(hs->text, refuse->text, sizeof(hs->text));
	}
	hs->expect = 0;
	tally_conn_fail(hs->conn, -ECONNREFUSED);
}

/* Both sides connect: the link that the smaller name opened goes on. */
static bool handshake_collides(struct tally_peer *peer)
{
	struct tally_handshake *mine = peer->attempt;

	lockdep_assert_held(&peer->lock);
	return mine && mine->conn && tally_conn_is_up(mine->conn) &&
	       strcmp(peer->node->config.name, peer->name) < 0;
}

static enum tally_refusal handshake_meet(struct tally_handshake *hs)
{
	u64 epoch = be64_to_cpu(hs->t.hello.epoch);
	enum tally_refusal reason = TALLY_REFUSE_NONE;
	struct tally_peer *peer;

	if (!tally_node_running(hs->node))
		return TALLY_REFUSE_SHUTDOWN;
	peer = tally_peer_find(hs->node, hs->t.hello.from);
	if (!peer)
		return TALLY_REFUSE_UNKNOWN_PEER;
	hs->peer = peer;
	mutex_lock(&peer->lock);
	if (peer->dead)
		reason = TALLY_REFUSE_UNKNOWN_PEER;
	else if (epoch < peer->seen_epoch)
		reason = TALLY_REFUSE_EPOCH;
	else if (handshake_collides(peer))
		reason = TALLY_REFUSE_COLLISION;
	if (!reason) {
		hs->counted = true;
		peer->half_count++;
	}
	mutex_unlock(&peer->lock);
	return reason;
}

/* Responder: HELLO came. */
static void handshake_hello(struct tally_handshake *hs, const void *body,
			    u32 len)
{
	enum tally_refusal reason = tally_hello_check(body, len, hs->node);
	struct tally_msg_hello *challenge = &hs->t.challenge;

	if (!reason) {
		memcpy(&hs->t.hello, body, sizeof(hs->t.hello));
		reason = handshake_meet(hs);
	}
	if (reason) {
		handshake_refuse(hs, reason, NULL);
		return;
	}
	tally_msgs_set_depth(hs->conn, be16_to_cpu(hs->t.hello.depth));
	tally_hello_fill(challenge, hs->node, hs->peer->name, 0,
			 hs->conn->qp->qp_num);
	if (tally_hello_sign(hs->node, TALLY_LABEL_RESPONDER, &hs->t,
			     challenge->mac)) {
		handshake_refuse(hs, TALLY_REFUSE_AUTH, NULL);
		return;
	}
	hs->expect = TALLY_MSG_PROVE;
	tally_handshake_send(hs, TALLY_MSG_CHALLENGE, challenge, sizeof(*challenge));
}

/* Initiator: CHALLENGE came. */
static void handshake_challenge(struct tally_handshake *hs, const void *body,
				u32 len)
{
	enum tally_refusal reason = tally_hello_check(body, len, hs->node);
	struct tally_msg_hello *challenge = &hs->t.challenge;
	struct tally_msg_prove prove;

	if (!reason) {
		memcpy(challenge, body, sizeof(*challenge));
		if (strcmp(challenge->from, hs->peer->name))
			reason = TALLY_REFUSE_WRONG_NAME;
		else if (!tally_hello_proved(hs->node, TALLY_LABEL_RESPONDER,
					     &hs->t, challenge->mac))
			reason = TALLY_REFUSE_AUTH;
		else if (be64_to_cpu(challenge->epoch) < hs->peer->seen_epoch)
			reason = TALLY_REFUSE_EPOCH;
	}
	if (!reason && tally_hello_sign(hs->node, TALLY_LABEL_INITIATOR,
					&hs->t, prove.mac))
		reason = TALLY_REFUSE_AUTH;
	if (reason) {
		handshake_refuse(hs, reason, NULL);
		return;
	}
	tally_msgs_set_depth(hs->conn, be16_to_cpu(challenge->depth));
	hs->expect = TALLY_MSG_READY;
	hs->since = ktime_get_boottime_ns();
	tally_handshake_send(hs, TALLY_MSG_PROVE, &prove, sizeof(prove));
}

static void handshake_params(struct tally_handshake *hs,
			     const struct tally_msg_hello *peer,
			     struct tally_session_params *p)
{
	const struct tally_msg_hello *a = &hs->t.hello, *b = &hs->t.challenge;

	p->node = hs->node;
	p->peer = hs->peer;
	p->incarnation = be64_to_cpu(peer->incarnation);
	p->features = be32_to_cpu(peer->features);
	p->lanes = min(a->lanes, b->lanes);
	p->lease_ms = min(be32_to_cpu(a->lease_ms), be32_to_cpu(b->lease_ms));
	p->initiator = !hs->incoming;
}

/*
 * Under peer->admit: what becomes of an older session of that peer when a
 * proved HELLO came? *@s: the one to resume, referenced, or NULL for a new.
 */
static enum tally_refusal handshake_settle(struct tally_handshake *hs,
					   struct tally_session **s)
{
	u64 incarnation = be64_to_cpu(hs->t.hello.incarnation);
	u64 resume = be64_to_cpu(hs->t.hello.resume);
	struct tally_session *old = tally_peer_any_session(hs->peer);
	enum tally_refusal reason = TALLY_REFUSE_NONE;

	*s = NULL;
	if (!old)
		return TALLY_REFUSE_NONE;
	if (old->peer_incarnation != incarnation &&
	    tally_session_is_live(old)) {
		/* A dead one shows itself by this; its successor tries again. */
		tally_session_ping(old);
		reason = TALLY_REFUSE_NAME_IN_USE;
	} else if (old->peer_incarnation == incarnation &&
		   resume == old->id && old->dev == hs->conn->dev &&
		   !tally_session_break_link(old, -ENOTCONN)) {
		*s = old;
		return TALLY_REFUSE_NONE;
	} else if (tally_session_finish(old, -ENOTCONN)) {
		reason = TALLY_REFUSE_BUSY;
	}
	tally_session_put(old);
	return reason;
}

static void handshake_name_in_use(struct tally_handshake *hs)
{
	struct sockaddr_storage here = hs->peer->addr;
	char text[128];

	snprintf(text, sizeof(text), "the name %s is in use by %pISpc, asked for by %pISpc",
		 hs->peer->name, &here, &hs->from);
	handshake_refuse(hs, TALLY_REFUSE_NAME_IN_USE, text);
}

static int handshake_send_ready(struct tally_handshake *hs,
				struct tally_session *s, bool resumed,
				const u8 *key)
{
	struct tally_msg_ready ready = {
		.session = cpu_to_be64(s->id),
		.slot = cpu_to_be16(s->peer_slot),
		.lanes = s->lanes,
		.resumed = resumed,
		.lease_ms = cpu_to_be32(s->lease_ms),
	};
	int err;

	if (!hs->node->auth.key_len)
		memcpy(ready.key, key, sizeof(ready.key));
	err = tally_ready_sign(hs->node, key, &ready, ready.mac);
	if (err)
		return err;
	return tally_handshake_send(hs, TALLY_MSG_READY, &ready, sizeof(ready));
}

static struct tally_session *handshake_new_session(struct tally_handshake *hs,
						   u64 id, u16 my_slot,
						   const u8 *key)
{
	const struct tally_msg_hello *theirs = hs->incoming ? &hs->t.hello :
							      &hs->t.challenge;
	struct tally_session_params params = { .id = id, .my_slot = my_slot };
	struct tally_session *s;

	handshake_params(hs, theirs, &params);
	memcpy(params.key, key, sizeof(params.key));
	s = tally_session_create(hs->conn, &params);
	if (!IS_ERR(s) && !tally_peer_session_set(hs->peer, s)) {
		tally_session_finish(s, -ESHUTDOWN);
		tally_session_put(s);
		return ERR_PTR(-ESHUTDOWN);
	}
	return s;
}

/* The conn is the session's now: the handshake is done. */
static void handshake_done(struct tally_handshake *hs)
{
	tally_peer_saw_epoch(hs->peer, be64_to_cpu(hs->incoming ?
						   hs->t.hello.epoch :
						   hs->t.challenge.epoch));
	tally_half_finish(hs);
	tally_half_put(hs);
}

/* Responder: the initiator proved itself. */
static void handshake_admit(struct tally_handshake *hs)
{
	struct tally_session *s;
	u8 key[TALLY_MAC_SIZE];
	enum tally_refusal reason;
	u64 id = get_random_u64();
	bool resumed;

	reason = handshake_settle(hs, &s);
	resumed = s;
	if (reason == TALLY_REFUSE_NAME_IN_USE) {
		handshake_name_in_use(hs);
		return;
	}
	if (!reason && tally_hello_session_key(hs->node, &hs->t, key))
		reason = TALLY_REFUSE_AUTH;
	if (!reason && !s)
		s = handshake_new_session(hs, id ?: 1, 0, key);
	if (reason || IS_ERR(s)) {
		handshake_refuse(hs, reason ?: TALLY_REFUSE_BUSY, NULL);
		return;
	}
	tally_handshake_cancel(hs->peer, -ENOTCONN);
	/* The lanes may come as soon as READY is out. */
	if (tally_session_open_link(s, hs->conn, resumed, false, key,
				    ktime_get_boottime_ns())) {
		handshake_refuse(hs, TALLY_REFUSE_BUSY, NULL);
		tally_session_put(s);
		return;
	}
	if (handshake_send_ready(hs, s, resumed, key))
		tally_conn_fail(hs->conn, -EPROTO);
	tally_session_put(s);
	handshake_done(hs);
}

static void handshake_prove(struct tally_handshake *hs, const void *body,
			    u32 len)
{
	const struct tally_msg_prove *prove = body;
	struct tally_peer *peer;

	if (len != sizeof(*prove)) {
		handshake_refuse(hs, TALLY_REFUSE_MALFORMED, NULL);
		return;
	}
	if (!tally_hello_proved(hs->node, TALLY_LABEL_INITIATOR, &hs->t,
				prove->mac)) {
		handshake_refuse(hs, TALLY_REFUSE_AUTH, NULL);
		return;
	}
	/* Who is admitted frees the handshake. */
	peer = tally_peer_get(hs->peer);
	mutex_lock(&peer->admit);
	handshake_admit(hs);
	mutex_unlock(&peer->admit);
	tally_peer_put(peer);
}

static bool ready_well_formed(struct tally_handshake *hs,
			      const struct tally_msg_ready *ready)
{
	const struct tally_msg_hello *a = &hs->t.hello, *b = &hs->t.challenge;
	u16 slot = be16_to_cpu(ready->slot);

	return ready->session && slot > TALLY_SLOT_HOME &&
	       slot <= TALLY_SLOT_MAX && ready->resumed <= 1 &&
	       ready->lanes == min(a->lanes, b->lanes) &&
	       be32_to_cpu(ready->lease_ms) == min(be32_to_cpu(a->lease_ms),
						   be32_to_cpu(b->lease_ms));
}

/* Initiator: is READY right, and which key has the session? */
static bool handshake_ready_key(struct tally_handshake *hs,
				const struct tally_msg_ready *ready,
				u8 key[TALLY_MAC_SIZE])
{
	u8 mac[TALLY_MAC_SIZE];

	if (hs->node->auth.key_len) {
		if (tally_hello_session_key(hs->node, &hs->t, key))
			return false;
	} else {
		memcpy(key, ready->key, TALLY_MAC_SIZE);
	}
	return !tally_ready_sign(hs->node, key, ready, mac) &&
	       tally_auth_equal(mac, ready->mac, sizeof(mac));
}

/* Initiator: the session READY speaks of, referenced, or ERR_PTR. */
static struct tally_session *handshake_join(struct tally_handshake *hs,
					    const struct tally_msg_ready *ready,
					    const u8 *key)
{
	struct tally_session *old = tally_peer_any_session(hs->peer);
	u64 id = be64_to_cpu(ready->session);
	int err = 0;

	if (ready->resumed) {
		if (old && old->id == id &&
		    old->my_slot == be16_to_cpu(ready->slot))
			return old;
		err = -ESTALE;
	}
	if (old) {
		if (!err)
			err = tally_session_finish(old, -ENOTCONN);
		tally_session_put(old);
	}
	if (err)
		return ERR_PTR(err);
	return handshake_new_session(hs, id, be16_to_cpu(ready->slot), key);
}

static void handshake_ready(struct tally_handshake *hs, const void *body,
			    u32 len)
{
	const struct tally_msg_ready *ready = body;
	struct tally_session *s;
	u8 key[TALLY_MAC_SIZE];

	if (len != sizeof(*ready) || !ready_well_formed(hs, ready)) {
		handshake_refuse(hs, TALLY_REFUSE_MALFORMED, NULL);
		return;
	}
	if (!handshake_ready_key(hs, ready, key)) {
		handshake_refuse(hs, TALLY_REFUSE_AUTH, NULL);
		return;
	}
	s = handshake_join(hs, ready, key);
	if (IS_ERR(s)) {
		tally_conn_fail(hs->conn, PTR_ERR(s));
		return;
	}
	if (tally_session_open_link(s, hs->conn, ready->resumed, true, key,
				    hs->since))
		tally_conn_fail(hs->conn, -ENOTCONN);
	else
		handshake_done(hs);
	tally_session_put(s);
}

void tally_handshake_message(struct tally_conn *conn,
			     const struct tally_hdr *hdr, const void *body,
			     u32 len)
{
	struct tally_handshake *hs = conn->owner;
	u16 type = be16_to_cpu(hdr->type);

	hs->conn = conn;
	if (type == TALLY_MSG_REFUSE) {
		handshake_refused(hs, body, len);
		return;
	}
	if (!hs->expect)
		return;
	if (type != hs->expect || hdr->session || hdr->slot) {
		tally_stat_inc(&hs->node->stats, TALLY_STAT_MALFORMED);
		handshake_refuse(hs, TALLY_REFUSE_MALFORMED, NULL);
		return;
	}
	switch (type) {
	case TALLY_MSG_HELLO:
		handshake_hello(hs, body, len);
		break;
	case TALLY_MSG_CHALLENGE:
		handshake_challenge(hs, body, len);
		break;
	case TALLY_MSG_PROVE:
		handshake_prove(hs, body, len);
		break;
	case TALLY_MSG_READY:
		handshake_ready(hs, body, len);
		break;
	}
}
