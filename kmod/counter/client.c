// SPDX-License-Identifier: GPL-2.0
#include "counter/client.h"

#include <linux/completion.h>
#include <linux/slab.h>
#include "counter/home.h"
#include "counter/wire.h"
#include "session/rpc.h"
#include "session/session.h"
#include "transport/op.h"

/**
 * struct counter_call - one posted operation and its caller
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

	if (cmpxchg(&call->handle->part, NULL, call))
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
	struct counter_call *call = xchg(&handle->part, NULL);

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

/**
 * tally_counter_valid - can OPEN have answered this?
 * @rep: the answer; says that it is a counter
 *
 * Return: true if so.
 */
bool tally_counter_valid(const struct tally_rep_open *rep)
{
	return !rep->size && !rep->mrs && !rep->mr_bytes && !rep->lock_class &&
	       !rep->lock_cache && !rep->lock_grants && !rep->lock_ms;
}

/**
 * tally_counter_release - the last reference to a counter's handle is gone
 * @handle: which
 */
void tally_counter_release(struct tally_handle *handle)
{
	kfree(handle->part);
}

/* @status of a completed operation as its caller is told it. */
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
 * One operation on the word by a NIC. The caller is inside; the operation
 * leaves when it has completed.
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
 * A Write is not ordered with atomics, so SET compares and swaps until no other
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
	switch (READ_ONCE(handle->view->reach)) {
	case TALLY_REACH_CPU:
		*old = tally_counter_apply(handle->object, op, value, compare);
		break;
	case TALLY_REACH_LOOP:
	case TALLY_REACH_LANE:
		return counter_nic(handle, op, value, compare, old, &until);
	case TALLY_REACH_MESSAGE:
		err = counter_message(handle, op, value, compare, old, &until);
		break;
	}
	tally_handle_leave(handle);
	return err;
}
