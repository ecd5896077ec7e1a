// SPDX-License-Identifier: GPL-2.0
/* Counters at their home: what peers ask for, and the value. */
#include "counter/home.h"

#include <linux/atomic.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "base/deadline.h"
#include "base/delay.h"
#include "counter/wire.h"
#include "home/export.h"
#include "home/serve.h"
#include "session/rpc.h"
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
 * @open: the counter as the peer has it, referenced
 * @set: it is a SET: go on until no other operation was faster
 * @until: but not for ever
 */
struct counter_proxy {
	struct tally_op op;
	struct tally_sreq *req;
	struct tally_open *open;
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

	tally_open_put(proxy->open);
	kfree(proxy);
	tally_export_done(req->session);
	proxy_reply(req, err == -ENOTCONN ? -ENETDOWN : err, old);
}

/* When it is posted, it belongs to its completion. */
static void proxy_post(struct counter_proxy *proxy)
{
	struct tally_object *object = proxy->open->object;
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

/* Another operation was faster than a SET. 0: try again. */
static int proxy_overtaken(struct counter_proxy *proxy)
{
	tally_delay(COUNTER_SET);
	/* Both may have come to an end since the request was looked at. */
	if (READ_ONCE(proxy->req->session->state) == TALLY_SESSION_OVER)
		return -ENOTCONN;
	if (tally_open_access(proxy->open) != TALLY_ACCESS_RW)
		return -EACCES;
	return tally_until_left(&proxy->until) ? 0 : -ETIMEDOUT;
}

static void proxy_work(struct work_struct *work)
{
	struct tally_sreq *req = container_of(work, struct tally_sreq, work);
	struct counter_proxy *proxy = req->ctx;
	struct tally_op *op = &proxy->op;
	bool again = !op->status && proxy->set && op->old != op->compare;
	int err = again ? proxy_overtaken(proxy) : op->status;

	if (again && !err) {
		op->compare = op->old;
		proxy_post(proxy);
	} else {
		proxy_finish(proxy, err);
	}
}

static void proxy_op_done(struct tally_op *op)
{
	struct counter_proxy *proxy = container_of(op, typeof(*proxy), op);

	queue_work(proxy->req->session->node->wq, &proxy->req->work);
}

static void proxy_start(struct tally_sreq *req, struct tally_open *open)
{
	struct tally_msg_counter *body = (void *)req->body;
	struct tally_object *object = open->object;
	u64 *word = tally_arena_word(object->arena, object->word);
	struct counter_proxy *proxy;

	proxy = kzalloc(sizeof(*proxy), GFP_NOWAIT | __GFP_NOWARN);
	if (!proxy) {
		proxy_reply(req, -ENOMEM, 0);
		return;
	}
	proxy->req = req;
	proxy->open = tally_open_get(open);
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
	if (proxy->set)
		tally_delay(COUNTER_SET);
	tally_export_begin(req->session);
	INIT_WORK(&req->work, proxy_work);
	proxy_post(proxy);
}

void tally_counter_request(struct tally_open *open, struct tally_sreq *req)
{
	struct tally_msg_counter *body = (void *)req->body;
	struct tally_object *object = open->object;

	if (memchr_inv(body->reserved, 0, sizeof(body->reserved)) ||
	    body->op < TALLY_COUNTER_READ || body->op > TALLY_COUNTER_CAS)
		tally_serve_malformed(req, "malformed COUNTER");
	else if (body->op == TALLY_COUNTER_READ)
		proxy_reply(req, 0, tally_counter_peek(object));
	else if (tally_open_access(open) != TALLY_ACCESS_RW)
		proxy_reply(req, -EACCES, 0);
	else if (object->arena->mode == TALLY_MODE_CPU)
		proxy_reply(req, 0,
			    tally_counter_apply(object, body->op,
						be64_to_cpu(body->value),
						be64_to_cpu(body->compare)));
	else
		proxy_start(req, open);
}

/* A counter begins with its initial value. */
int tally_counter_create(struct tally_object *object, const char **reason)
{
	WRITE_ONCE(*tally_arena_word(object->arena, object->word),
		   tally_counter_home(object)->initial);
	return 0;
}

/* Its value now. Context: any. */
u64 tally_counter_peek(struct tally_object *object)
{
	return READ_ONCE(*tally_arena_word(object->arena, object->word));
}
