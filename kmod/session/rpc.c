// SPDX-License-Identifier: GPL-2.0
#include <linux/err.h>
#include <linux/slab.h>
#include "base/delay.h"
#include "base/trace.h"
#include "session/rpc.h"

/* To end a session, unless its device does not let go of what was posted. */
#define RPC_FENCE_WAIT	(10 * HZ)

/* Slots that questions for the holders of a lock may take. */
#define RPC_WHO_MAX	4

/**
 * struct rpc_call - one request of ours
 * @ref: caller and slot table
 * @done: completed when @status is set
 * @status: outcome
 * @link: number of the link it was last sent on
 * @type: message type
 * @slot: its slot
 * @seq: its number in the slot
 * @len: length of @body
 * @reply_len: length of @reply
 * @body: kept to be sent again after a resume
 * @reply: what came
 */
struct rpc_call {
	struct kref ref;
	struct completion done;
	int status;
	u32 link;
	u16 type;
	u16 slot;
	u32 seq;
	u32 len;
	u32 reply_len;
	u8 body[TALLY_BODY_MAX];
	u8 reply[TALLY_REPLY_MAX];
};

enum sreq_state {
	SREQ_IDLE,
	SREQ_BUSY,
	SREQ_DONE,
};

/**
 * struct tally_rpc - the slots of a session, both ways
 * @lock: protects our slots at the peer
 * @call: what is in them, NULL: free
 * @seq: last number used in each
 * @reply_lock: protects states and replies of the peer's slots here; held while
 *	a reply is sent, so that the replay of a request and its end cannot pass
 *	each other
 * @req: one for each of them
 */
struct tally_rpc {
	spinlock_t lock;	/* our slots */
	struct rpc_call *call[TALLY_RPC_SLOTS];
	u32 seq[TALLY_RPC_SLOTS];
	struct mutex reply_lock;	/* the peer's */
	struct tally_sreq req[TALLY_RPC_SLOTS];
};

static void rpc_call_free(struct kref *ref)
{
	kfree(container_of(ref, struct rpc_call, ref));
}

static void rpc_call_put(struct rpc_call *call)
{
	kref_put(&call->ref, rpc_call_free);
}

/* Make the slots of a new session; kvfree() is all at its end. 0 or -ENOMEM. */
int tally_rpc_create(struct tally_session *s)
{
	struct tally_rpc *rpc = kvzalloc(sizeof(*rpc), GFP_KERNEL);
	u32 i;

	if (!rpc)
		return -ENOMEM;
	spin_lock_init(&rpc->lock);
	mutex_init(&rpc->reply_lock);
	for (i = 0; i < TALLY_RPC_SLOTS; i++) {
		rpc->req[i].session = s;
		rpc->req[i].slot = i;
	}
	s->rpc = rpc;
	return 0;
}

/*
 * A caller does not wait long for the answer to WHO, and a peer that never
 * answers keeps the slots: it is not given all of them.
 */
static bool rpc_slot_allowed(struct tally_rpc *rpc,
			     const struct rpc_call *call)
{
	u32 i, open = 0;

	lockdep_assert_held(&rpc->lock);
	if (call->type != TALLY_MSG_WHO)
		return true;
	for (i = 0; i < TALLY_RPC_SLOTS; i++)
		if (rpc->call[i] && rpc->call[i]->type == TALLY_MSG_WHO)
			open++;
	return open < RPC_WHO_MAX;
}

/* Take a free slot for @call, if there is one. */
static bool rpc_slot_take(struct tally_rpc *rpc, struct rpc_call *call)
{
	bool taken;
	u32 slot = 0;

	spin_lock(&rpc->lock);
	while (slot < TALLY_RPC_SLOTS && rpc->call[slot])
		slot++;
	taken = slot < TALLY_RPC_SLOTS && rpc_slot_allowed(rpc, call);
	if (taken) {
		rpc->call[slot] = call;
		call->slot = slot;
		call->seq = ++rpc->seq[slot];
		kref_get(&call->ref);
	}
	spin_unlock(&rpc->lock);
	return taken;
}

/* What is in a slot of ours, referenced, or NULL. */
static struct rpc_call *rpc_slot_get(struct tally_rpc *rpc, u32 slot)
{
	struct rpc_call *call;

	spin_lock(&rpc->lock);
	call = rpc->call[slot];
	if (call)
		kref_get(&call->ref);
	spin_unlock(&rpc->lock);
	return call;
}

/*
 * Empty the slot if @call is still in it. A number that was never sent is
 * given back: the peer expects numbers without gaps.
 */
static bool rpc_slot_clear(struct tally_session *s, struct rpc_call *call,
			   bool unsent)
{
	struct tally_rpc *rpc = s->rpc;
	bool mine;

	spin_lock(&rpc->lock);
	mine = rpc->call[call->slot] == call;
	if (mine) {
		rpc->call[call->slot] = NULL;
		if (unsent)
			rpc->seq[call->slot]--;
	}
	spin_unlock(&rpc->lock);
	if (mine) {
		wake_up_all(&s->wait);
		rpc_call_put(call);
	}
	return mine;
}

static int rpc_slot_wait(struct tally_session *s, struct rpc_call *call,
			 long *timeout)
{
	bool taken = false;
	long left;

	left = wait_event_killable_timeout(s->wait,
					   !tally_session_is_live(s) ||
					   (taken = rpc_slot_take(s->rpc,
								  call)),
					   *timeout);
	if (taken) {
		*timeout = max(left, 1L);
		return 0;
	}
	if (left == 0)
		return -ETIMEDOUT;
	return left < 0 ? -EINTR : -ENOTCONN;
}

static int rpc_transmit(struct tally_conn *ctrl, struct tally_msg_head *head,
			const struct rpc_call *call)
{
	head->type = call->type;
	head->req = call->slot;
	head->seq = call->seq;
	return tally_msg_send(ctrl, head, call->body, call->len, GFP_NOIO);
}

/*
 * First transmission. A resume may have sent the request on a newer link in
 * the meantime: then it is on its way, whatever became of our own try.
 */
static int rpc_first_send(struct tally_session *s, struct rpc_call *call)
{
	struct tally_msg_head head;
	struct tally_conn *ctrl;
	bool superseded;
	u32 link;
	int err;

	ctrl = tally_session_link(s, call->type, &head, &link);
	if (!ctrl) {
		rpc_slot_clear(s, call, true);
		return -ENOTCONN;
	}
	spin_lock(&s->rpc->lock);
	superseded = call->link > link;
	if (!superseded)
		call->link = link;
	spin_unlock(&s->rpc->lock);
	if (superseded) {
		tally_conn_put(ctrl);
		return 0;
	}
	trace_tally_rpc_call(s->id, call->slot, call->seq, call->type, 0);
	err = rpc_transmit(ctrl, &head, call);
	if (err == -ENOMEM)
		tally_conn_fail(ctrl, err);
	tally_conn_put(ctrl);
	if (err) {
		spin_lock(&s->rpc->lock);
		superseded = call->link != link;
		spin_unlock(&s->rpc->lock);
		if (!superseded && rpc_slot_clear(s, call, true))
			return err;
	}
	tally_stat_inc(&s->node->stats, TALLY_STAT_RPC_SENT);
	return 0;
}

/* A home that renews its lease all that time and does not answer is no home. */
static void rpc_wait_sure(struct tally_session *s, struct rpc_call *call,
			  long timeout)
{
	if (wait_for_completion_timeout(&call->done, timeout))
		return;
	tally_session_fence(s, -ETIMEDOUT);
	wait_for_completion_timeout(&call->done, RPC_FENCE_WAIT);
}

static int rpc_wait(struct tally_session *s, struct rpc_call *call,
		    void *reply, u32 *reply_len, long timeout)
{
	if (wait_for_completion_killable_timeout(&call->done, timeout) <= 0) {
		/* It stays in its slot until the reply or the end. */
		tally_stat_inc(&s->node->stats, TALLY_STAT_UNKNOWN);
		return -EREMOTEIO;
	}
	if (reply && reply_len) {
		*reply_len = min(*reply_len, call->reply_len);
		memcpy(reply, call->reply, *reply_len);
	}
	if (call->status == -EREMOTEIO)
		tally_stat_inc(&s->node->stats, TALLY_STAT_UNKNOWN);
	return call->status;
}

/* A request that is on its way, or ERR_PTR. *@timeout: gets what is left. */
static struct rpc_call *rpc_begin(struct tally_session *s, u16 type,
				  const void *body, u32 len, long *timeout)
{
	struct rpc_call *call;
	int err;

	if (WARN_ON_ONCE(len > TALLY_BODY_MAX))
		return ERR_PTR(-EMSGSIZE);
	call = kmalloc(sizeof(*call), GFP_NOIO);
	if (!call)
		return ERR_PTR(-ENOMEM);
	memset(call, 0, offsetof(struct rpc_call, body));
	kref_init(&call->ref);
	init_completion(&call->done);
	call->type = type;
	call->len = len;
	memcpy(call->body, body, len);

	/* A caller that asks again and again ends here. */
	err = *timeout > 0 ? rpc_slot_wait(s, call, timeout) : -ETIMEDOUT;
	err = err ?: rpc_first_send(s, call);
	if (!err)
		return call;
	rpc_call_put(call);
	return ERR_PTR(err);
}

/**
 * tally_session_call - send a request and wait for its reply
 * @s: session, referenced by the caller
 * @type: enum tally_msg_type, 32 to 63
 * @body: body of the request, copied
 * @len: its length
 * @reply: gets the body of the reply, may be NULL
 * @reply_len: in: size of @reply; out: bytes stored
 * @timeout: jiffies
 *
 * Context: process; sleeps, killable.
 * Return: 0; the home's errno; -ENOTCONN, -ETIMEDOUT, -EINTR: not sent;
 * -ENOMEM; -EREMOTEIO: sent, the outcome is unknown.
 */
int tally_session_call(struct tally_session *s, u16 type, const void *body,
		       u32 len, void *reply, u32 *reply_len, long timeout)
{
	struct rpc_call *call = rpc_begin(s, type, body, len, &timeout);
	int err;

	if (IS_ERR(call)) {
		if (reply_len)
			*reply_len = 0;
		return PTR_ERR(call);
	}
	err = rpc_wait(s, call, reply, reply_len, timeout);
	rpc_call_put(call);
	return err;
}

/**
 * tally_session_call_sure - send a request that is not done after its caller returns
 * @s: session, referenced by the caller
 * @type: enum tally_msg_type, 32 to 63; its reply has no body
 * @body: body of the request, copied
 * @len: its length
 * @timeout: jiffies, to be sent
 *
 * For what does harm when it is late: a caller that is killed gives back the locks
 * under which it asked. It waits for the reply, or the end of the session, which comes
 * when there is no reply for a lease and %TALLY_RPC_SURE more. The home has to do
 * nothing of it while the session has no link.
 *
 * Context: process; sleeps, killable only until it is sent; with that bound, and 10 s.
 * Return: as tally_session_call(); after -EREMOTEIO the session ends.
 */
int tally_session_call_sure(struct tally_session *s, u16 type, const void *body,
			    u32 len, long timeout)
{
	struct rpc_call *call = rpc_begin(s, type, body, len, &timeout);
	int err;

	if (IS_ERR(call))
		return PTR_ERR(call);
	rpc_wait_sure(s, call, TALLY_RPC_SURE + msecs_to_jiffies(s->lease_ms));
	err = rpc_wait(s, call, NULL, NULL, 1);
	rpc_call_put(call);
	return err;
}

/*
 * Send open requests again on a new link, but only what had been given to an
 * older one: a request that never was is about to be sent by its own caller.
 */
void tally_rpc_resend(struct tally_session *s)
{
	struct tally_rpc *rpc = s->rpc;
	struct tally_msg_head head;
	u32 link, i;
	struct tally_conn *ctrl = tally_session_link(s, 0, &head, &link);
	struct rpc_call *call;
	bool claimed;
	int err = 0;

	if (!ctrl)
		return;
	for (i = 0; !err && i < TALLY_RPC_SLOTS; i++) {
		call = rpc_slot_get(rpc, i);
		if (!call)
			continue;
		spin_lock(&rpc->lock);
		claimed = rpc->call[i] == call && call->link &&
			  call->link < link;
		if (claimed)
			call->link = link;
		spin_unlock(&rpc->lock);
		if (claimed)
			err = rpc_transmit(ctrl, &head, call);
		if (err)
			tally_conn_fail(ctrl, err);
		rpc_call_put(call);
	}
	tally_conn_put(ctrl);
}

static void rpc_finish(struct tally_session *s, struct rpc_call *call,
		       int status)
{
	trace_tally_rpc_done(s->id, call->slot, call->seq, call->type, status);
	call->status = status;
	complete_all(&call->done);
	rpc_slot_clear(s, call, false);
}

/* End every open request of a session that is OVER; its outcome is unknown. */
void tally_rpc_close(struct tally_session *s)
{
	struct rpc_call *call;
	u32 i;

	for (i = 0; i < TALLY_RPC_SLOTS; i++) {
		call = rpc_slot_get(s->rpc, i);
		if (!call)
			continue;
		rpc_finish(s, call, -EREMOTEIO);
		rpc_call_put(call);
	}
}

/*
 * A REPLY came; -EPROTO when it answers nothing we asked. Errnos that mean
 * something to the kernel alone, from ERESTARTSYS on, are no answers: our
 * callers return what comes.
 */
int tally_rpc_receive_reply(struct tally_session *s,
			    const struct tally_hdr *hdr, const void *body,
			    u32 len)
{
	const struct tally_msg_reply *rep = body;
	u32 slot = be16_to_cpu(hdr->req);
	struct rpc_call *call;
	int err = -EPROTO;
	u32 status;

	if (slot >= TALLY_RPC_SLOTS || len < sizeof(*rep) || rep->reserved)
		return -EPROTO;
	call = rpc_slot_get(s->rpc, slot);
	if (!call)
		return -EPROTO;
	status = be32_to_cpu(rep->status);
	if (call->seq == be32_to_cpu(hdr->seq) && status < ERESTARTSYS) {
		call->reply_len = len - sizeof(*rep);
		memcpy(call->reply, rep + 1, call->reply_len);
		rpc_finish(s, call, -(int)status);
		err = 0;
	}
	rpc_call_put(call);
	return err;
}

/*
 * Under rpc->reply_lock. It goes by the link that the request came by last, or
 * not at all: on a later one the request comes once more, and is answered once.
 */
static void rpc_send_reply(struct tally_sreq *req)
{
	const struct tally_msg_reply *rep = (const void *)req->body;
	struct tally_session *s = req->session;
	struct tally_msg_head head;
	struct tally_conn *ctrl;
	u32 link;
	int err;

	ctrl = tally_session_link(s, TALLY_MSG_REPLY, &head, &link);
	if (!ctrl || link != req->link) {
		tally_conn_put(ctrl);
		return;
	}
	trace_tally_rpc_reply(s->id, req->slot, req->seq, req->type,
			      -(int)be32_to_cpu(rep->status));
	head.req = req->slot;
	head.seq = req->seq;
	err = tally_msg_send(ctrl, &head, req->body, req->len, GFP_NOIO);
	if (err)
		tally_conn_fail(ctrl, err);
	tally_conn_put(ctrl);
}

/**
 * tally_sreq_reply - answer a request, exactly once
 * @req: the request; not to be touched after it
 * @status: 0 or a negative errno
 * @body: body of the answer, copied; may be NULL
 * @len: its length, at most TALLY_REPLY_MAX
 *
 * Context: process; sleeps.
 */
void tally_sreq_reply(struct tally_sreq *req, int status, const void *body,
		      u32 len)
{
	struct tally_msg_reply *rep = (void *)req->body;
	struct tally_session *s = req->session;

	if (WARN_ON_ONCE(len > TALLY_REPLY_MAX))
		len = 0;
	mutex_lock(&s->rpc->reply_lock);
	if (len)
		memmove(rep + 1, body, len);
	rep->status = cpu_to_be32(-status);
	rep->reserved = 0;
	req->len = sizeof(*rep) + len;
	req->state = SREQ_DONE;
	rpc_send_reply(req);
	mutex_unlock(&s->rpc->reply_lock);
	tally_session_put(s);
}

/* A request came; -EPROTO when slot or number are not what may come now. */
int tally_rpc_receive_request(struct tally_session *s,
			      const struct tally_hdr *hdr, const void *body,
			      u32 len)
{
	u32 slot = be16_to_cpu(hdr->req), seq = be32_to_cpu(hdr->seq);
	struct tally_rpc *rpc = s->rpc;
	struct tally_sreq *req;

	if (slot >= TALLY_RPC_SLOTS)
		return -EPROTO;
	req = &rpc->req[slot];
	tally_delay(REQUEST);
	scoped_guard(mutex, &rpc->reply_lock) {
		if (req->state != SREQ_IDLE && seq == req->seq) {
			tally_stat_inc(&s->node->stats,
				       TALLY_STAT_RPC_REPLAYED);
			req->link = s->link_nr;
			if (req->state == SREQ_DONE)
				rpc_send_reply(req);
			return 0;
		}
		if (req->state == SREQ_BUSY || seq != req->seq + 1)
			return -EPROTO;
		req->state = SREQ_BUSY;
		/* It came by this link, which stays while it is handled. */
		req->link = s->link_nr;
		req->seq = seq;
		req->type = be16_to_cpu(hdr->type);
		req->len = len;
		memcpy(req->body, body, len);
	}
	trace_tally_rpc_request(s->id, slot, seq, req->type, 0);
	tally_stat_inc(&s->node->stats, TALLY_STAT_RPC_SERVED);
	tally_session_get(s);
	s->node->ops->request(s, req);
	return 0;
}
