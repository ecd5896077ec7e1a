// SPDX-License-Identifier: GPL-2.0
/*
 * Operations: posting, the queue of what does not fit, and completions.
 *
 * Everything is decided under conn->lock. As nothing is posted unless the
 * conn is UP, and the drain begins after it ceased to be, nothing is ever
 * posted behind the drain. Send queue entries are counted by work request: an
 * op gives all of its own back with its last completion, the only one that is
 * asked for. Done() is called with no lock held.
 */
#include <linux/bitmap.h>
#include <linux/dma-mapping.h>
#include <linux/slab.h>
#include "compat/compat.h"
#include "transport/conn.h"
#include "transport/dev.h"
#include "transport/op.h"
#include "base/stats.h"
#include "base/trace.h"

/* An atomic's result words: one, or two for a chain. */
#define TALLY_OP_WORDS	2
#define TALLY_OP_SLOT	(TALLY_OP_WORDS * sizeof(u64))
#define TALLY_OP_RESULTS	(TALLY_OP_DEPTH * TALLY_OP_SLOT)

/* The work requests of one op, while they are posted. */
struct tally_op_wrs {
	union {
		struct ib_send_wr send;
		struct ib_rdma_wr rdma;
		struct ib_atomic_wr atomic;
		struct ib_reg_wr reg;
	} wr[TALLY_OP_WORDS];
	struct ib_sge sge[TALLY_OP_WORDS];
};

/**
 * struct tally_ops_table - operations of one conn
 * @words: results, a slot for each op
 * @dma: their address for the device
 * @slots: slots in use
 * @serial: number of operations posted
 * @credits: free entries of the send queue
 * @pending: not posted yet, in order
 * @posted: on the wire
 * @wrs: of what is being posted; kernels that clear the stack would do so in vain
 */
struct tally_ops_table {
	u64 *words;
	u64 dma;
	DECLARE_BITMAP(slots, TALLY_OP_DEPTH);
	u32 serial;
	int credits;
	struct list_head pending;
	struct list_head posted;
	struct tally_op_wrs wrs;
};

/* What each type is made of: one work request, or a FAA behind it. */
static const struct tally_op_kind {
	enum ib_wr_opcode opcode;
	enum tally_stat stat;
	int num_wrs;
} tally_op_kinds[] = {
	[TALLY_OP_FAA] = {
		IB_WR_ATOMIC_FETCH_AND_ADD, TALLY_STAT_POST_FAA, 1 },
	[TALLY_OP_CAS] = {
		IB_WR_ATOMIC_CMP_AND_SWP, TALLY_STAT_POST_CAS, 1 },
	[TALLY_OP_CAS_FAA] = {
		IB_WR_ATOMIC_CMP_AND_SWP, TALLY_STAT_POST_CAS, 2 },
	[TALLY_OP_FAA_FAA] = {
		IB_WR_ATOMIC_FETCH_AND_ADD, TALLY_STAT_POST_FAA, 2 },
	[TALLY_OP_READ] = { IB_WR_RDMA_READ, TALLY_STAT_POST_READ, 1 },
	[TALLY_OP_WRITE] = { IB_WR_RDMA_WRITE, TALLY_STAT_POST_WRITE, 1 },
	[TALLY_OP_REG] = { IB_WR_REG_MR, TALLY_STAT_POST_REG, 1 },
};

static int tally_op_num_wrs(const struct tally_op *op)
{
	return tally_op_kinds[op->type].num_wrs;
}

/* They come first in the enum. */
static bool tally_op_is_atomic(const struct tally_op *op)
{
	return op->type <= TALLY_OP_FAA_FAA;
}

static bool tally_op_valid(const struct tally_op *op)
{
	return !tally_op_is_atomic(op) ||
	       (IS_ALIGNED(op->addr, sizeof(u64)) &&
		(tally_op_num_wrs(op) == 1 ||
		 IS_ALIGNED(op->addr2, sizeof(u64))));
}

static struct tally_stats *tally_op_stats(const struct tally_op *op,
					  const struct tally_conn *conn)
{
	return op->stats ?: conn->stats;
}

static u64 tally_op_bytes(const struct tally_op *op)
{
	u64 bytes = 0;
	int i;

	for (i = 0; i < op->num_sge; i++)
		bytes += op->sge[i].length;
	return bytes;
}

static void tally_op_count_posted(const struct tally_op *op,
				  struct tally_stats *stats)
{
	tally_stat_inc(stats, TALLY_STAT_DOORBELL);
	tally_stat_inc(stats, tally_op_kinds[op->type].stat);
	if (tally_op_num_wrs(op) == 2)
		tally_stat_inc(stats, TALLY_STAT_POST_FAA);
}

static void tally_op_count_done(const struct tally_op *op,
				struct tally_stats *stats)
{
	if (op->status == -EREMOTEIO) {
		if (!op->counted)
			tally_stat_inc(stats, TALLY_STAT_UNKNOWN);
	} else if (op->status) {
		tally_stat_inc(stats, TALLY_STAT_OP_ERROR);
	} else if (op->type == TALLY_OP_READ) {
		tally_stat_add(stats, TALLY_STAT_BYTES_READ,
			       tally_op_bytes(op));
	} else if (op->type == TALLY_OP_WRITE) {
		tally_stat_add(stats, TALLY_STAT_BYTES_WRITTEN,
			       tally_op_bytes(op));
	}
}

static void tally_ops_finish(struct tally_conn *conn, struct list_head *ops)
{
	struct tally_op *op, *next;

	/* done() may submit the op again, and so move it to another list. */
	list_for_each_entry_safe(op, next, ops, list) {
		list_del_init(&op->list);
		tally_op_count_done(op, tally_op_stats(op, conn));
		trace_tally_op_done(conn->serial, op->serial, op->type,
				    op->status);
		op->done(op);
	}
}

/* Only the op whose own completion says so was refused by the target. */
static int tally_op_wc_status(enum ib_wc_status status)
{
	switch (status) {
	case IB_WC_SUCCESS:
		return 0;
	case IB_WC_REM_ACCESS_ERR:
	case IB_WC_REM_INV_REQ_ERR:
		return -EACCES;
	default:
		return -EREMOTEIO;
	}
}

/* The op leaves the send queue, to be finished with @ended. Lock held. */
static void tally_op_retire(struct tally_conn *conn, struct tally_op *op,
			    struct list_head *ended)
{
	struct tally_ops_table *table = conn->ops_table;

	list_move_tail(&op->list, ended);
	op->posted = false;
	op->conn = NULL;
	table->credits += tally_op_num_wrs(op);
	tally_cq_retired(&conn->cq,
			 list_first_entry_or_null(&table->posted,
						  struct tally_op, list));
	if (tally_op_is_atomic(op))
		__clear_bit(op->slot, table->slots);
}

static void tally_op_take_results(struct tally_conn *conn, struct tally_op *op)
{
	struct tally_ops_table *table = conn->ops_table;
	unsigned long offset = op->slot * TALLY_OP_SLOT;
	const u64 *words = table->words + op->slot * TALLY_OP_WORDS;

	ib_dma_sync_single_for_cpu(conn->dev->ibdev, table->dma + offset,
				   TALLY_OP_SLOT, DMA_FROM_DEVICE);
	op->old = READ_ONCE(words[0]);
	op->old2 = READ_ONCE(words[1]);
	ib_dma_sync_single_for_device(conn->dev->ibdev, table->dma + offset,
				      TALLY_OP_SLOT, DMA_FROM_DEVICE);
}

/* A failure of the first of two. The second is flushed and ends the op. */
static void tally_op_first_completed(struct ib_cq *cq, struct ib_wc *wc)
{
	struct tally_op *op = container_of(wc->wr_cqe, typeof(*op), first_cqe);
	struct tally_conn *conn = tally_conn_of(cq);
	unsigned long flags;

	if (wc->status == IB_WC_SUCCESS)
		return;
	spin_lock_irqsave(&conn->lock, flags);
	if (!op->status)
		op->status = tally_op_wc_status(wc->status);
	tally_conn_wc_failed(conn, wc->status);
	spin_unlock_irqrestore(&conn->lock, flags);
}

static void tally_op_build_atomics(struct tally_conn *conn,
				   struct tally_op *op,
				   struct tally_op_wrs *wrs)
{
	u64 dma = conn->ops_table->dma + op->slot * TALLY_OP_SLOT;
	int i;

	for (i = 0; i < tally_op_num_wrs(op); i++) {
		wrs->sge[i] = (struct ib_sge) {
			.addr = dma + i * sizeof(u64),
			.length = sizeof(u64),
			.lkey = conn->pd->local_dma_lkey,
		};
		wrs->wr[i].atomic = (struct ib_atomic_wr) {
			.wr.opcode = IB_WR_ATOMIC_FETCH_AND_ADD,
			.wr.sg_list = &wrs->sge[i],
			.wr.num_sge = 1,
			.remote_addr = i ? op->addr2 : op->addr,
			.compare_add = i ? op->value2 : op->value,
			.rkey = op->rkey,
		};
	}
	if (tally_op_kinds[op->type].opcode == IB_WR_ATOMIC_CMP_AND_SWP) {
		wrs->wr[0].atomic.wr.opcode = IB_WR_ATOMIC_CMP_AND_SWP;
		wrs->wr[0].atomic.compare_add = op->compare;
		wrs->wr[0].atomic.swap = op->value;
	}
}

/* Only the last one is signalled; the first completes if it fails. */
static void tally_op_build(struct tally_conn *conn, struct tally_op *op,
			   struct tally_op_wrs *wrs)
{
	int last = tally_op_num_wrs(op) - 1;

	if (tally_op_is_atomic(op))
		tally_op_build_atomics(conn, op, wrs);
	else if (op->type == TALLY_OP_REG)
		wrs->wr[0].reg = (struct ib_reg_wr) {
			.wr.opcode = IB_WR_REG_MR,
			.mr = op->mr,
			.key = op->mr->rkey,
			.access = op->access,
		};
	else
		wrs->wr[0].rdma = (struct ib_rdma_wr) {
			.wr.opcode = tally_op_kinds[op->type].opcode,
			.wr.sg_list = op->sge,
			.wr.num_sge = op->num_sge,
			.remote_addr = op->addr,
			.rkey = op->rkey,
		};
	op->first_cqe.done = tally_op_first_completed;
	if (last) {
		wrs->wr[0].send.wr_cqe = &op->first_cqe;
		wrs->wr[0].send.next = &wrs->wr[1].send;
	}
	wrs->wr[last].send.wr_cqe = &op->cqe;
	wrs->wr[last].send.send_flags = IB_SEND_SIGNALED;
}

/* Lock held, conn UP, and there are credits for it. */
static int tally_op_post(struct tally_conn *conn, struct tally_op *op)
{
	struct tally_ops_table *table = conn->ops_table;
	const struct ib_send_wr *bad = NULL;
	struct tally_op_wrs *wrs = &table->wrs;
	int err;

	if (tally_op_is_atomic(op))
		op->slot = find_first_zero_bit(table->slots, TALLY_OP_DEPTH);
	tally_op_build(conn, op, wrs);
	op->serial = ++table->serial;
	trace_tally_op_post(conn->serial, op->serial, op->type, op->addr,
			    op->rkey);
	err = ib_post_send(conn->qp, &wrs->wr[0].send, &bad);
	if (err && bad == &wrs->wr[1].send) {
		/* Half of it is on the wire, and only the end of the QP ends it. */
		op->status = -EREMOTEIO;
		tally_conn_fail_locked(conn, err);
	} else if (err) {
		/* These two say something of the op, all others of the conn. */
		if (err == -EINVAL || err == -EOPNOTSUPP)
			return err;
		tally_conn_fail_locked(conn, err);
		return -ENOTCONN;
	}
	if (tally_op_is_atomic(op))
		__set_bit(op->slot, table->slots);
	table->credits -= tally_op_num_wrs(op);
	tally_cq_posted(&conn->cq, op);
	op->posted = true;
	list_add_tail(&op->list, &table->posted);
	tally_op_count_posted(op, tally_op_stats(op, conn));
	return 0;
}

/* Post what fits, in order; what cannot be posted goes to @refused. */
static void tally_ops_pump(struct tally_conn *conn, struct list_head *refused)
{
	struct tally_ops_table *table = conn->ops_table;
	struct tally_op *op, *next;

	list_for_each_entry_safe(op, next, &table->pending, list) {
		if (conn->state != TALLY_CONN_UP ||
		    table->credits < tally_op_num_wrs(op))
			break;
		list_del_init(&op->list);
		op->status = tally_op_post(conn, op) ?: op->status;
		if (op->posted)
			continue;
		op->conn = NULL;
		list_add_tail(&op->list, refused);
	}
}

static void tally_op_completed(struct ib_cq *cq, struct ib_wc *wc)
{
	struct tally_op *op = container_of(wc->wr_cqe, struct tally_op, cqe);
	struct tally_conn *conn = tally_conn_of(cq);
	unsigned long flags;
	LIST_HEAD(ended);
	bool begun;

	begun = tally_compat_post_begin(conn->posts_in_bh);
	spin_lock_irqsave(&conn->lock, flags);
	if (wc->status != IB_WC_SUCCESS)
		tally_conn_wc_failed(conn, wc->status);
	if (!op->status) {
		op->status = tally_op_wc_status(wc->status);
		/* When a second one is refused, the first was done. */
		if (op->status && tally_op_num_wrs(op) == 2)
			op->status = -EREMOTEIO;
	}
	if (!op->status && tally_op_is_atomic(op))
		tally_op_take_results(conn, op);
	tally_op_retire(conn, op, &ended);
	tally_ops_pump(conn, &ended);
	spin_unlock_irqrestore(&conn->lock, flags);
	tally_compat_post_end(begun);
	tally_ops_finish(conn, &ended);
}

/**
 * tally_op_submit - start an operation
 * @conn: conn of which the caller holds a reference
 * @op: what to do; the conn's until done() is called
 *
 * It waits in the conn while the send queue is full. Operations of one conn
 * are posted in the order in which they were submitted.
 *
 * Context: any. Done() may be called before this returns.
 */
void tally_op_submit(struct tally_conn *conn, struct tally_op *op)
{
	LIST_HEAD(refused);
	unsigned long flags;
	bool begun;

	begun = tally_compat_post_begin(conn->posts_in_bh);
	spin_lock_irqsave(&conn->lock, flags);
	op->status = tally_op_valid(op) ? 0 : -EINVAL;
	if (conn->state != TALLY_CONN_UP)
		op->status = -ENOTCONN;
	op->conn = NULL;
	op->posted = false;
	op->counted = false;
	op->serial = 0;
	op->cqe.done = tally_op_completed;
	if (op->status) {
		list_add_tail(&op->list, &refused);
	} else {
		op->conn = conn;
		list_add_tail(&op->list, &conn->ops_table->pending);
		tally_ops_pump(conn, &refused);
	}
	spin_unlock_irqrestore(&conn->lock, flags);
	tally_compat_post_end(begun);
	tally_ops_finish(conn, &refused);
}

/* True: it was not posted yet and is the caller's again. */
static bool tally_op_cancel(struct tally_conn *conn, struct tally_op *op)
{
	bool cancelled = false;
	unsigned long flags;

	spin_lock_irqsave(&conn->lock, flags);
	if (op->conn && !op->posted) {
		list_del_init(&op->list);
		op->conn = NULL;
		cancelled = true;
	}
	spin_unlock_irqrestore(&conn->lock, flags);
	return cancelled;
}

/* True: it is on the wire, and its outcome is now counted as unknown. */
static bool tally_op_give_up(struct tally_conn *conn, struct tally_op *op)
{
	unsigned long flags;
	bool posted;

	spin_lock_irqsave(&conn->lock, flags);
	posted = op->posted;
	if (posted) {
		op->counted = true;
		tally_stat_inc(tally_op_stats(op, conn), TALLY_STAT_UNKNOWN);
	}
	spin_unlock_irqrestore(&conn->lock, flags);
	return posted;
}

/**
 * tally_op_wait - wait for a submitted operation
 * @conn: where it was submitted; the caller holds a reference
 * @op: the operation; what it is part of must outlive this call
 * @finished: completed by its done()
 * @timeout: jiffies, MAX_SCHEDULE_TIMEOUT for none
 * @may_leave: the caller can go while @op is on the wire, because everything
 *	that belongs to it stays until done()
 *
 * When it times out or the task is killed, an op that was not posted yet is
 * taken back: its done() is called here, with -ETIMEDOUT or -EINTR. One that
 * was posted is left, or waited for if @may_leave is false; its QP ends it.
 *
 * Context: process; killable.
 * Return: @op->status, done() was called; or -EINPROGRESS: it is on the wire,
 * its outcome was counted as unknown, and done() will be called.
 */
int tally_op_wait(struct tally_conn *conn, struct tally_op *op,
		  struct completion *finished, long timeout, bool may_leave)
{
	long left = tally_cq_wait(&conn->cq, op, finished, timeout);

	if (left > 0)
		return op->status;
	if (tally_op_cancel(conn, op)) {
		op->status = left ? -EINTR : -ETIMEDOUT;
		op->done(op);
	} else if (may_leave && tally_op_give_up(conn, op)) {
		return -EINPROGRESS;
	}
	wait_for_completion(finished);
	return op->status;
}

static void tally_op_task_done(struct tally_op *op)
{
	complete(&container_of(op, struct tally_op_task, op)->finished);
}

/**
 * tally_op_run - do one operation, and stay until it has completed
 * @conn: conn of which the caller holds a reference
 * @task: what to do, done excepted; may be on the stack
 * @timeout: jiffies
 *
 * A device that does not complete it in time loses the conn.
 *
 * Context: process; not killable.
 * Return: the op's status; -ETIMEDOUT: it was not posted.
 */
int tally_op_run(struct tally_conn *conn, struct tally_op_task *task,
		 long timeout)
{
	task->op.done = tally_op_task_done;
	init_completion(&task->finished);
	tally_op_submit(conn, &task->op);
	if (!wait_for_completion_timeout(&task->finished, timeout)) {
		if (tally_op_cancel(conn, &task->op))
			return -ETIMEDOUT;
		tally_conn_fail(conn, -ETIMEDOUT);
		wait_for_completion(&task->finished);
	}
	return task->op.status;
}

static void tally_ops_end(struct tally_conn *conn, struct list_head *from,
			  int status)
{
	struct tally_op *op, *next;
	unsigned long flags;
	LIST_HEAD(ended);

	spin_lock_irqsave(&conn->lock, flags);
	list_for_each_entry_safe(op, next, from, list) {
		op->status = op->status ?: status;
		op->conn = NULL;
		if (op->posted)
			tally_op_retire(conn, op, &ended);
		else
			list_move_tail(&op->list, &ended);
	}
	spin_unlock_irqrestore(&conn->lock, flags);
	tally_ops_finish(conn, &ended);
	tally_cq_kick(&conn->cq);
}

/* The conn closes: give back what was never posted. */
void tally_ops_flush(struct tally_conn *conn)
{
	tally_ops_end(conn, &conn->ops_table->pending, -ENOTCONN);
}

/* The QP is destroyed: give back what cannot complete any more. */
void tally_ops_sweep(struct tally_conn *conn)
{
	tally_ops_end(conn, &conn->ops_table->posted, -EREMOTEIO);
}

/* On error tally_ops_destroy() frees what was made. */
int tally_ops_create(struct tally_conn *conn)
{
	struct tally_ops_table *table = kzalloc(sizeof(*table), GFP_KERNEL);
	struct ib_device *ibdev = conn->dev->ibdev;
	u64 *words;

	if (!table)
		return -ENOMEM;
	conn->ops_table = table;
	INIT_LIST_HEAD(&table->pending);
	INIT_LIST_HEAD(&table->posted);
	table->credits = TALLY_OP_DEPTH;
	words = kzalloc(TALLY_OP_RESULTS, GFP_KERNEL);
	if (!words)
		return -ENOMEM;
	table->dma = ib_dma_map_single(ibdev, words, TALLY_OP_RESULTS,
				       DMA_FROM_DEVICE);
	if (ib_dma_mapping_error(ibdev, table->dma)) {
		kfree(words);
		return -ENOMEM;
	}
	table->words = words;
	return 0;
}

/* The conn has no QP. */
void tally_ops_destroy(struct tally_conn *conn)
{
	struct tally_ops_table *table = conn->ops_table;

	if (!table)
		return;
	if (table->words)
		ib_dma_unmap_single(conn->dev->ibdev, table->dma,
				    TALLY_OP_RESULTS, DMA_FROM_DEVICE);
	kfree(table->words);
	kfree(table);
	conn->ops_table = NULL;
}
