/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An op: one operation posted on a conn, as one or two chained work requests.
 * The caller owns it from tally_op_submit() until done() is called, and may
 * submit it again from there. Nothing is allocated. What cannot be posted
 * because the send queue is full waits in the conn and is posted as others
 * complete.
 */
#ifndef TALLY_OP_H
#define TALLY_OP_H

#include <linux/completion.h>
#include <linux/list.h>
#include <rdma/ib_verbs.h>
#include "transport/conn.h"

enum tally_op_type {
	TALLY_OP_FAA,		/* fetch and add */
	TALLY_OP_CAS,		/* compare and swap */
	TALLY_OP_CAS_FAA,	/* CAS on one word, then FAA on another */
	TALLY_OP_FAA_FAA,	/* FAA on one word, then FAA on another */
	TALLY_OP_READ,		/* into op->sge */
	TALLY_OP_WRITE,		/* from op->sge */
	TALLY_OP_REG,		/* register op->mr with op->access */
};

/**
 * struct tally_op - one operation
 * @type: what to do
 * @rkey: key of the remote memory
 * @addr: address of the (first) remote word or of the remote bytes
 * @compare: expected value, CAS only
 * @value: addend or value to swap in
 * @addr2: second word, same rkey
 * @value2: addend of the second word
 * @sge: local elements (READ, WRITE), mapped by the caller, with the PD's
 *	local DMA key; must stay until done()
 * @num_sge: how many
 * @mr: memory region to register, mapped by the caller (REG)
 * @access: IB_ACCESS_* (REG)
 * @stats: counters of the node that asked; NULL: those of the conn
 * @done: called once for each submission, with no lock held, in completion
 *	context (the CQ's workqueue, or a task that polls it), from
 *	tally_op_submit() when the conn is not up, or from tally_op_wait()
 *	when that takes the op back; must not sleep
 * @status: 0; -ETIMEDOUT, -EINTR: taken back before it was posted; -ENOTCONN:
 *	never posted; -EACCES: the target refused, nothing was done; -EREMOTEIO:
 *	posted and broken, the outcome is unknown; -EINVAL: refused at posting
 *	(by the device), nothing was done;
 *	-EOPNOTSUPP: the device cannot do it, nothing was done
 * @old: previous value of the (first) word
 * @old2: previous value of the second word
 * @conn: set while submitted
 * @list: in the conn's queue or table, under conn->lock
 * @posted: it is on the wire; under conn->lock
 * @counted: its caller gave up and counted the unknown outcome
 * @slot: result slot while posted
 * @serial: which of the conn's operations it is, 0 before it was posted
 * @cqe: completion of its last work request
 * @first_cqe: of the first of two
 */
struct tally_op {
	enum tally_op_type type;
	u32 rkey;
	u64 addr;
	u64 compare;
	u64 value;
	u64 addr2;
	u64 value2;
	struct ib_sge *sge;
	int num_sge;
	struct ib_mr *mr;
	int access;
	struct tally_stats *stats;
	void (*done)(struct tally_op *op);
	int status;
	u64 old;
	u64 old2;
	/* private to transport/op.c */
	struct tally_conn *conn;
	struct list_head list;
	bool posted;
	bool counted;
	u16 slot;
	u32 serial;
	struct ib_cqe cqe;
	struct ib_cqe first_cqe;
};

/**
 * struct tally_op_task - an op whose caller stays until it has completed
 * @op: the operation; all that is not set is zero
 * @finished: it has completed
 */
struct tally_op_task {
	struct tally_op op;
	struct completion finished;
};

/* Send queue entries for ops on one conn. */
#define TALLY_OP_DEPTH	128

/* Around the life of the QP: made before it, flushed, swept and freed after. */
int tally_ops_create(struct tally_conn *conn);
void tally_ops_destroy(struct tally_conn *conn);
void tally_ops_flush(struct tally_conn *conn);
void tally_ops_sweep(struct tally_conn *conn);

void tally_op_submit(struct tally_conn *conn, struct tally_op *op);
int tally_op_wait(struct tally_conn *conn, struct tally_op *op,
		  struct completion *finished, long timeout, bool may_leave);
int tally_op_run(struct tally_conn *conn, struct tally_op_task *task,
		 long timeout);

#endif
