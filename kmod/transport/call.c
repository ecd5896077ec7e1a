// SPDX-License-Identifier: GPL-2.0
/* Calls: operations that somebody waits for. */
#include <linux/sched.h>
#include <linux/slab.h>
#include "transport/conn.h"
#include "transport/op.h"
#include "base/stats.h"

static struct kmem_cache *tally_call_cache;

static void tally_call_release(struct kref *ref)
{
	kmem_cache_free(tally_call_cache,
			container_of(ref, struct tally_call, ref));
}

/**
 * tally_call_alloc - an op to wait for
 *
 * Return: a call with a reference for the caller and all of its op zero, or
 * NULL.
 */
struct tally_call *tally_call_alloc(void)
{
	struct tally_call *call = kmem_cache_zalloc(tally_call_cache,
						    GFP_KERNEL);

	if (!call)
		return NULL;
	kref_init(&call->ref);
	init_completion(&call->finished);
	INIT_LIST_HEAD(&call->op.list);
	return call;
}

/**
 * tally_call_put - give a reference to a call up
 * @call: call
 */
void tally_call_put(struct tally_call *call)
{
	kref_put(&call->ref, tally_call_release);
}

static void tally_call_done(struct tally_op *op)
{
	struct tally_call *call = container_of(op, struct tally_call, op);

	complete(&call->finished);
	tally_call_put(call);
}

/**
 * tally_op_give_up - stop waiting for an operation
 * @conn: where it was submitted; the caller holds a reference
 * @op: submitted operation that cannot be cancelled
 *
 * Context: any.
 * Return: true when it is on the wire, and its outcome is now counted as
 * unknown; false when it completed: done() was or will be called.
 */
bool tally_op_give_up(struct tally_conn *conn, struct tally_op *op)
{
	unsigned long flags;
	bool posted;

	spin_lock_irqsave(&conn->lock, flags);
	posted = op->posted;
	if (posted) {
		op->counted = true;
		tally_stat_inc(op->stats ?: conn->stats, TALLY_STAT_UNKNOWN);
	}
	spin_unlock_irqrestore(&conn->lock, flags);
	return posted;
}

static long tally_call_wait(struct tally_conn *conn, struct tally_call *call,
			    long timeout)
{
	return tally_cq_wait(&conn->cq, &call->finished, timeout);
}

/**
 * tally_call_run - submit an op and wait for it
 * @conn: conn of which the caller holds a reference
 * @call: call whose op is filled in, except done
 * @timeout: jiffies, MAX_SCHEDULE_TIMEOUT for none; with 0 only the time in
 *	the queue is bounded, to nothing
 *
 * After -EREMOTEIO the op may still be in flight; only the reference may be
 * given up then.
 *
 * Context: process.
 * Return: 0 with op.old set; op.status; -ETIMEDOUT, -EINTR: not posted;
 * -EREMOTEIO: posted and given up (deadline or fatal signal) or broken.
 */
int tally_call_run(struct tally_conn *conn, struct tally_call *call,
		   long timeout)
{
	struct tally_op *op = &call->op;
	long left = 0;

	op->done = tally_call_done;
	reinit_completion(&call->finished);
	kref_get(&call->ref);
	tally_op_submit(conn, op);
	if (timeout)
		left = tally_call_wait(conn, call, timeout);
	if (left > 0)
		return op->status;
	if (tally_op_cancel(op)) {
		tally_call_put(call);
		return left ? -EINTR : -ETIMEDOUT;
	}
	if (!timeout)
		left = tally_call_wait(conn, call, MAX_SCHEDULE_TIMEOUT);
	if (left > 0)
		return op->status;
	if (tally_op_give_up(conn, op))
		return -EREMOTEIO;
	/* It completed meanwhile; its done() is running or has run. */
	wait_for_completion(&call->finished);
	return op->status;
}

/**
 * tally_op_init - make what all operations share
 *
 * Return: 0 or -ENOMEM.
 */
int tally_op_init(void)
{
	tally_call_cache = KMEM_CACHE(tally_call, 0);
	return tally_call_cache ? 0 : -ENOMEM;
}

/**
 * tally_op_exit - undo tally_op_init()
 *
 * Every conn must be closed, so that no call is in flight.
 */
void tally_op_exit(void)
{
	kmem_cache_destroy(tally_call_cache);
}
