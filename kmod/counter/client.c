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

/* Kept for the handle's next operation, as most have one at a time. */
static void counter_call_free(struct kref *ref)
{
	struct counter_call *call = container_of(ref, struct counter_call, ref);

	if (cmpxchg(&call->handle->part, NULL, call))
		kfree(call);
}

/* Nothing of it is on the wire any more. */
static void counter_op_done(struct tally_op *op)
{
	struct counter_call *call = container_of(op, struct counter_call, op);
	struct tally_handle *handle = call->handle;

	complete(&call->finished);
	tally_handle_op_failed(handle, op->status);
	tally_handle_leave(handle);
	kref_put(&call->ref, counter_call_free);
	tally_handle_put(handle);
}

static struct counter_call *counter_call_alloc(struct tally_handle *handle,
					       const struct tally_op *op)
{
	struct counter_call *call = xchg(&handle->part, NULL);

	if (!call)
		call = kmalloc(sizeof(*call), GFP_KERNEL);
	if (!call)
		return NULL;
	*call = (struct counter_call){
		.op = *op,
		.ref = KREF_INIT(2),	/* one is the completion's */
		.handle = tally_handle_get(handle),
	};
	init_completion(&call->finished);
	return call;
}

void tally_counter_release(struct tally_handle *handle)
{
	kfree(handle->part);
}

/* After -EINPROGRESS the call is the completion's alone. */
static int counter_wait(struct tally_conn *conn, struct counter_call *call,
			const struct tally_until *until)
{
	int err = tally_op_wait(conn, &call->op, &call->finished,
				tally_until_left(until), true);

	if (err == -EINPROGRESS)
		return -EREMOTEIO;
	if (err == -ENOTCONN)
		return tally_handle_no_conn(call->handle);
	return err;
}

/*
 * One operation on the word by a NIC. The caller is inside; the operation
 * leaves when it has completed.
 */
static int counter_post(struct tally_handle *handle,
			const struct tally_op *op, u64 *old,
			const struct tally_until *until)
{
	struct counter_call *call;
	struct tally_conn *conn;
	int err;

	err = -ETIMEDOUT;
	if (!tally_until_left(until))
		goto err_leave;
	err = -ENOMEM;
	call = counter_call_alloc(handle, op);
	if (!call)
		goto err_leave;
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
 * As counter_post(). A Write is not ordered with atomics, so SET compares and
 * swaps until no other was faster. The first guess costs nothing where the word
 * can be seen. An 8-byte Read may tear, adding nothing does not.
 */
static int counter_nic(struct tally_handle *handle, u8 op, u64 value,
		       u64 compare, u64 *old, const struct tally_until *until)
{
	struct tally_stats *stats = &handle->view->node->stats;
	struct tally_op word = {
		.type = TALLY_OP_CAS,
		.compare = compare,
		.value = value,
		.stats = stats,
		.done = counter_op_done,
	};
	struct tally_arena *arena = handle->view->arena;
	u64 seen = 0;
	int err;

	if (arena)
		seen = READ_ONCE(*tally_arena_word(arena, handle->word));
	if (arena && op == TALLY_COUNTER_READ) {
		*old = seen;
		tally_stat_inc(stats, TALLY_STAT_LOCAL_OP);
		tally_handle_leave(handle);
		return 0;
	}
	if (op == TALLY_COUNTER_READ)
		word.value = 0;
	if (op == TALLY_COUNTER_READ || op == TALLY_COUNTER_ADD)
		word.type = TALLY_OP_FAA;
	if (op == TALLY_COUNTER_SET)
		word.compare = seen;
	for (;;) {
		err = counter_post(handle, &word, old, until);
		if (err || op != TALLY_COUNTER_SET || *old == word.compare)
			return err;
		word.compare = *old;
		err = tally_handle_enter(handle, tally_until_left(until));
		if (err)
			return err;
	}
}

static int counter_message(struct tally_handle *handle, u8 op, u64 value,
			   u64 compare, u64 *old,
			   const struct tally_until *until)
{
	struct tally_view *view = handle->view;
	struct tally_msg_counter body = {
		.object = tally_handle_wire(handle),
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
 * @op: TALLY_COUNTER_*, one of them
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
	int err = tally_handle_enter(handle, timeout);

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
