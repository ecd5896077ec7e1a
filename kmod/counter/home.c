// SPDX-License-Identifier: GPL-2.0
/* Counters at their home: what peers ask for, and the value. */
#include "counter/home.h"

#include <linux/atomic.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "base/deadline.h"
#include "session/peer.h"
#include "transport/op.h"

/* How long the home goes on with a SET that others keep overtaking. */
#define PROXY_SET_WAIT	(5 * HZ)

/**
 * tally_counter_apply - one operation on a counter whose word the CPU owns
 * @object: a counter of an arena in cpu mode
 * @op: TALLY_COUNTER_*
 * @value: addend, value to set, or value to swap in
 * @compare: CAS: value expected
 *
 * Context: any.
 * Return: the value before it.
 */
u64 tally_counter_apply(struct tally_object *object, u8 op, u64 value,
			u64 compare)
{
	u64 *word = tally_arena_word(object->arena, object->word);
	atomic64_t *counter = (atomic64_t *)word;

	tally_stat_inc(&object->arena->node->stats, TALLY_STAT_LOCAL_OP);
	switch (op) {
	case TALLY_COUNTER_ADD:
		return atomic64_fetch_add(value, counter);
	case TALLY_COUNTER_SET:
		return atomic64_xchg(counter, value);
	case TALLY_COUNTER_CAS:
		return atomic64_cmpxchg(counter, compare, value);
	default:
		return atomic64_read(counter);
	}
}

/**
 * struct counter_proxy - an operation the home posts for a peer
 * @op: the operation, on the loopback conn
 * @req: the peer's request
 * @object: the counter, referenced
 * @set: it is a SET: go on until nobody was faster
 * @until: but not for ever
 */
struct counter_proxy {
	struct tally_op op;
	struct tally_sreq *req;
	struct tally_object *object;
	bool set;
	struct tally_until until;
};

static void proxy_reply(struct tally_sreq *req, int err, u64 old)
{
	struct tally_rep_counter rep = { .old = cpu_to_be64(old) };

	tally_sreq_reply(req, err, &rep, err ? 0 : sizeof(rep));
}

static void proxy_finish(struct counter_proxy *proxy, int err)
{
	struct tally_sreq *req = proxy->req;
	u64 old = proxy->op.old;

	tally_object_put(proxy->object);
	kfree(proxy);
	proxy_reply(req, err == -ENOTCONN ? -ENETDOWN : err, old);
}

/* When it is posted, it belongs to its completion. */
static void proxy_post(struct counter_proxy *proxy)
{
	struct tally_object *object = proxy->object;
	struct tally_conn *loop = tally_arena_loop(object->arena);

	if (!loop) {
		proxy_finish(proxy, -ENETDOWN);
		return;
	}
	proxy->op.addr = tally_arena_loop_addr(object->arena, object->word,
					       &proxy->op.rkey);
	tally_op_submit(loop, &proxy->op);
	tally_conn_put(loop);
}

static void proxy_work(struct work_struct *work)
{
	struct tally_sreq *req = container_of(work, struct tally_sreq, work);
	struct counter_proxy *proxy = req->ctx;
	struct tally_op *op = &proxy->op;

	if (op->status || !proxy->set || op->old == op->compare) {
		proxy_finish(proxy, op->status);
	} else if (!tally_until_left(&proxy->until)) {
		proxy_finish(proxy, -ETIMEDOUT);
	} else {
		op->compare = op->old;
		proxy_post(proxy);
	}
}

static void proxy_op_done(struct tally_op *op)
{
	struct counter_proxy *proxy = container_of(op, struct counter_proxy,
						   op);

	queue_work(proxy->req->session->node->wq, &proxy->req->work);
}

/* Takes over the reference to @object. */
static void proxy_start(struct tally_sreq *req, struct tally_object *object)
{
	struct tally_msg_counter *body = (void *)req->body;
	struct counter_proxy *proxy = kzalloc(sizeof(*proxy), GFP_KERNEL);
	u64 *word = tally_arena_word(object->arena, object->word);

	if (!proxy) {
		tally_object_put(object);
		proxy_reply(req, -ENOMEM, 0);
		return;
	}
	proxy->req = req;
	proxy->object = object;
	proxy->set = body->op == TALLY_COUNTER_SET;
	proxy->until = tally_until(PROXY_SET_WAIT);
	proxy->op.type = body->op == TALLY_COUNTER_ADD ? TALLY_OP_FAA :
							 TALLY_OP_CAS;
	proxy->op.value = be64_to_cpu(body->value);
	proxy->op.compare = proxy->set ? READ_ONCE(*word) :
					 be64_to_cpu(body->compare);
	proxy->op.stats = &req->session->node->stats;
	proxy->op.done = proxy_op_done;
	req->ctx = proxy;
	INIT_WORK(&req->work, proxy_work);
	proxy_post(proxy);
}

static bool request_valid(const struct tally_sreq *req)
{
	const struct tally_msg_counter *body = (const void *)req->body;

	return req->len == sizeof(*body) && !body->object.reserved &&
	       !memchr_inv(body->reserved, 0, sizeof(body->reserved)) &&
	       body->op >= TALLY_COUNTER_READ && body->op <= TALLY_COUNTER_CAS;
}

/* May this session do that? */
static int request_check(struct tally_session *s, struct tally_object *object,
			 u8 op)
{
	u8 access = tally_arena_access(object->arena, s->name);

	if (object->config.type != TALLY_TYPE_COUNTER)
		return -EPROTOTYPE;
	if (access == TALLY_ACCESS_NONE ||
	    (access == TALLY_ACCESS_RO && op != TALLY_COUNTER_READ) ||
	    !tally_object_opened(object, s))
		return -EACCES;
	return 0;
}

static void request_do(struct tally_session *s, struct tally_sreq *req)
{
	struct tally_msg_counter *body = (void *)req->body;
	struct tally_object *object;
	u64 old = 0;
	int err;

	object = tally_object_by_id(s->node, be32_to_cpu(body->object.arena),
				    be32_to_cpu(body->object.object),
				    be32_to_cpu(body->object.generation));
	if (!object) {
		proxy_reply(req, -EIDRM, 0);
		return;
	}
	err = request_check(s, object, body->op);
	if (!err && body->op == TALLY_COUNTER_READ) {
		old = tally_counter_peek(object);
	} else if (!err && object->arena->mode == TALLY_MODE_CPU) {
		old = tally_counter_apply(object, body->op,
					  be64_to_cpu(body->value),
					  be64_to_cpu(body->compare));
	} else if (!err) {
		proxy_start(req, object);
		return;
	}
	tally_object_put(object);
	proxy_reply(req, err, old);
}

/**
 * tally_counter_request - a peer wants something done with a counter of ours
 * @s: its session
 * @req: the request
 *
 * Context: process.
 * Return: true when it was a COUNTER request and is or will be answered.
 */
bool tally_counter_request(struct tally_session *s, struct tally_sreq *req)
{
	if (req->type != TALLY_MSG_COUNTER)
		return false;
	if (request_valid(req)) {
		request_do(s, req);
	} else {
		tally_session_violation(s, "malformed COUNTER");
		tally_sreq_reply(req, -EPROTO, NULL, 0);
	}
	return true;
}

/**
 * tally_counter_peek - value of a counter of ours
 * @object: the counter
 *
 * Context: any.
 * Return: its value now.
 */
u64 tally_counter_peek(struct tally_object *object)
{
	return READ_ONCE(*tally_arena_word(object->arena, object->word));
}
