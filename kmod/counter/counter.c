// SPDX-License-Identifier: GPL-2.0
#include "counter/counter.h"

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "transport/op.h"
#include "session/rpc.h"
#include "session/session.h"

/* How long the home goes on with a SET that others keep overtaking. */
#define PROXY_SET_WAIT	(5 * HZ)

/**
 * struct counter_call - one posted operation and who waits for it
 * @op: the operation
 * @finished: it has completed
 * @ref: the waiter and the completion
 * @handle: referenced and entered until the operation has completed, even
 *	when the waiter gave up: the word may not be used again before that
 */
struct counter_call {
	struct tally_op op;
	struct completion finished;
	struct kref ref;
	struct tally_handle *handle;
};

/* What is to be done with the word: see struct tally_op. */
struct counter_word {
	enum tally_op_type type;
	u64 compare;
	u64 value;
};

/* Kept for the handle's next operation, as most have one at a time. */
static void counter_call_free(struct kref *ref)
{
	struct counter_call *call = container_of(ref, struct counter_call, ref);

	if (cmpxchg(&call->handle->spare, NULL, call))
		kfree(call);
}

/* Nothing of it is on the wire any more. */
static void counter_call_end(struct counter_call *call)
{
	struct tally_handle *handle = call->handle;

	if (call->op.status == -EREMOTEIO)
		tally_handle_doubt(handle);
	tally_handle_leave(handle);
	kref_put(&call->ref, counter_call_free);
	tally_handle_put(handle);
}

static void counter_op_done(struct tally_op *op)
{
	struct counter_call *call = container_of(op, struct counter_call, op);

	complete(&call->finished);
	counter_call_end(call);
}

static struct counter_call *counter_call_alloc(struct tally_handle *handle)
{
	struct counter_call *call = xchg(&handle->spare, NULL);

	if (!call)
		call = kmalloc(sizeof(*call), GFP_KERNEL);
	if (!call)
		return NULL;
	memset(call, 0, sizeof(*call));
	init_completion(&call->finished);
	kref_init(&call->ref);
	kref_get(&call->ref);	/* for the completion */
	call->handle = tally_handle_get(handle);
	call->op.stats = &handle->view->node->stats;
	call->op.done = counter_op_done;
	return call;
}

/* @status of a completed operation as its caller gets to know it. */
static int counter_status(struct tally_handle *handle, int status)
{
	struct tally_session *s;

	if (status == -ENOTCONN)
		return tally_handle_no_conn(handle);
	if (status != -EACCES)
		return status;
	/* The key is void: only a new session brings another. */
	s = tally_view_session(handle->view);
	if (s) {
		tally_session_fence(s, -EACCES);
		tally_session_put(s);
	}
	return status;
}

/* After -EINPROGRESS the call is the completion's alone. */
static int counter_wait(struct tally_conn *conn, struct counter_call *call,
			const struct tally_until *until)
{
	int err = tally_op_wait(conn, &call->op, &call->finished,
				tally_until_left(until), true);

	return err == -EINPROGRESS ? -EREMOTEIO :
				     counter_status(call->handle, err);
}

/*
 * One operation on the word by a NIC. The caller is inside; the operation leaves
 * for him when it has completed.
 */
static int counter_post(struct tally_handle *handle,
			const struct counter_word *op, u64 *old,
			const struct tally_until *until)
{
	struct counter_call *call;
	struct tally_conn *conn;
	int err;

	err = -ETIMEDOUT;
	if (!tally_until_left(until))
		goto err_leave;
	err = -ENOMEM;
	call = counter_call_alloc(handle);
	if (!call)
		goto err_leave;
	call->op.type = op->type;
	call->op.compare = op->compare;
	call->op.value = op->value;
	conn = tally_handle_conn(handle, &call->op.addr, &call->op.rkey);
	if (!conn) {
		err = tally_handle_no_conn(handle);
		goto err_free;
	}
	tally_op_submit(conn, &call->op);
	err = counter_wait(conn, call, until);
	if (!err)
		*old = call->op.old;
	tally_conn_put(conn);
	kref_put(&call->ref, counter_call_free);
	return err;

err_free:
	tally_handle_put(handle);
	kfree(call);	/* that of a handle which fails is not kept */
err_leave:
	tally_handle_leave(handle);
	return err;
}

/*
 * A Write is not ordered with atomics, so SET compares and swaps until nobody
 * was faster. The first guess costs nothing where the word can be seen.
 */
static int counter_post_set(struct tally_handle *handle, u64 value, u64 guess,
			    u64 *old, const struct tally_until *until)
{
	struct counter_word op = {
		.type = TALLY_OP_CAS,
		.compare = guess,
		.value = value,
	};
	int err;

	for (;;) {
		err = counter_post(handle, &op, old, until);
		if (err || *old == op.compare)
			return err;
		op.compare = *old;
		err = tally_handle_enter(handle, tally_until_left(until));
		if (err)
			return err;
	}
}

/* As counter_post(). */
static int counter_nic(struct tally_handle *handle, u8 op, u64 value,
		       u64 compare, u64 *old, const struct tally_until *until)
{
	struct counter_word post = { .type = TALLY_OP_FAA };
	struct tally_arena *arena = handle->view->arena;
	u64 seen = 0;

	if (arena)
		seen = READ_ONCE(*tally_arena_word(arena, handle->word));
	switch (op) {
	case TALLY_COUNTER_READ:
		if (arena) {
			*old = seen;
			tally_stat_inc(&handle->view->node->stats,
				       TALLY_STAT_LOCAL_OP);
			tally_handle_leave(handle);
			return 0;
		}
		/* An 8-byte Read may tear, adding nothing does not. */
		break;
	case TALLY_COUNTER_ADD:
		post.value = value;
		break;
	case TALLY_COUNTER_CAS:
		post.type = TALLY_OP_CAS;
		post.compare = compare;
		post.value = value;
		break;
	case TALLY_COUNTER_SET:
		return counter_post_set(handle, value, seen, old, until);
	}
	return counter_post(handle, &post, old, until);
}

/* The CPU owns the word. */
static u64 counter_cpu(struct tally_object *object, u8 op, u64 value,
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

static int counter_message(struct tally_handle *handle, u8 op, u64 value,
			   u64 compare, u64 *old,
			   const struct tally_until *until)
{
	struct tally_view *view = handle->view;
	struct tally_msg_counter body = {
		.object.arena = cpu_to_be32(view->remote_id),
		.object.object = cpu_to_be32(handle->id),
		.object.generation = cpu_to_be32(handle->generation),
		.op = op,
		.value = cpu_to_be64(value),
		.compare = cpu_to_be64(compare),
	};
	struct tally_session *s = tally_view_session(view);
	struct tally_rep_counter rep;
	u32 len = sizeof(rep);
	int err;

	if (!s)
		return tally_handle_no_conn(handle);
	err = tally_session_call(s, TALLY_MSG_COUNTER, &body, sizeof(body),
				 &rep, &len, tally_until_left(until));
	if (!err && len != sizeof(rep)) {
		tally_session_violation(s, "malformed answer to COUNTER");
		tally_stat_inc(&view->node->stats, TALLY_STAT_UNKNOWN);
		err = -EREMOTEIO;
	}
	if (!err)
		*old = be64_to_cpu(rep.old);
	tally_session_put(s);
	return err;
}

/**
 * tally_counter_do - one operation on a counter
 * @handle: the counter
 * @op: TALLY_COUNTER_*
 * @value: addend, value to set, or value to swap in
 * @compare: CAS: value expected
 * @old: gets the value before it, when it was done
 * @timeout: in jiffies, MAX_SCHEDULE_TIMEOUT for none
 *
 * Context: process, sleeps, killable.
 * Return: 0; not done: an errno that says why; -EREMOTEIO: unknown.
 */
int tally_counter_do(struct tally_handle *handle, u8 op, u64 value,
		     u64 compare, u64 *old, long timeout)
{
	struct tally_until until = tally_until(timeout);
	int err;

	if (op < TALLY_COUNTER_READ || op > TALLY_COUNTER_CAS)
		return -EINVAL;
	err = tally_handle_enter(handle, timeout);
	if (err)
		return err;
	if (handle->type != TALLY_TYPE_COUNTER) {
		err = -EPROTOTYPE;
		goto out;
	}
	switch (READ_ONCE(handle->view->reach)) {
	case TALLY_REACH_CPU:
		*old = counter_cpu(handle->object, op, value, compare);
		break;
	case TALLY_REACH_LOOP:
	case TALLY_REACH_LANE:
		return counter_nic(handle, op, value, compare, old, &until);
	case TALLY_REACH_MESSAGE:
		err = counter_message(handle, op, value, compare, old, &until);
		break;
	}
out:
	tally_handle_leave(handle);
	return err;
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
		old = counter_cpu(object, body->op, be64_to_cpu(body->value),
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
