// SPDX-License-Identifier: GPL-2.0
/*
 * DOC: why not ib_drain_qp(). It has no bound: it waits for ever for a QP that a
 * device has lost, as soft RoCE does when it had no memory in the middle of a
 * change of state, and nothing may keep a device's removal or a node's end
 * waiting. It also waits by way of the completion queues of ib_core only, see
 * transport/cq.c. The steps here are the same, with a bound for each.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/jiffies.h>
#include "transport/drain.h"

/* Flushing takes no time: the queues are the device's own. */
#define TALLY_DRAIN_TIMEOUT	(3 * HZ)

static void tally_drain_done(struct ib_cq *cq, struct ib_wc *wc)
{
	complete(&container_of(wc->wr_cqe, struct tally_drain, cqe)->done);
}

static void tally_drain_init(struct tally_drain *drain)
{
	drain->cqe.done = tally_drain_done;
	init_completion(&drain->done);
}

/* The work item that takes completions may be busy with messages. */
static bool tally_drain_wait(struct tally_cq *q, struct tally_drain *drain)
{
	if (wait_for_completion_timeout(&drain->done, TALLY_DRAIN_TIMEOUT))
		return true;
	flush_work(&q->work);
	return try_wait_for_completion(&drain->done);
}

/* Some devices know better; they are trusted to come to an end. */
static bool tally_drain_sq(struct ib_qp *qp, struct tally_cq *q,
			   struct tally_drain *drain)
{
	struct ib_rdma_wr wr = {
		.wr = {
			.wr_cqe = &drain->cqe,
			.opcode = IB_WR_RDMA_WRITE,
			.send_flags = IB_SEND_SIGNALED,
		},
	};

	if (qp->device->ops.drain_sq) {
		qp->device->ops.drain_sq(qp);
		return true;
	}
	return !ib_post_send(qp, &wr.wr, NULL) && tally_drain_wait(q, drain);
}

static bool tally_drain_rq(struct ib_qp *qp, struct tally_cq *q,
			   struct tally_drain *drain)
{
	struct ib_recv_wr wr = { .wr_cqe = &drain->cqe };

	if (qp->device->ops.drain_rq) {
		qp->device->ops.drain_rq(qp);
		return true;
	}
	return !ib_post_recv(qp, &wr, NULL) && tally_drain_wait(q, drain);
}

/**
 * tally_drain_qp - empty both queues of a QP
 * @qp: queue pair with a free entry in each queue and two in its CQ
 * @q: its CQ
 * @sq: mark for the send queue
 * @rq: mark for the receive queue
 *
 * Context: process; sleeps, at most 6 s, or until messages that are being
 * handled are through.
 * Return: true when both are empty.
 */
bool tally_drain_qp(struct ib_qp *qp, struct tally_cq *q,
		    struct tally_drain *sq, struct tally_drain *rq)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	bool drained;

	tally_drain_init(sq);
	tally_drain_init(rq);
	drained = !ib_modify_qp(qp, &attr, IB_QP_STATE) &&
		  tally_drain_sq(qp, q, sq) && tally_drain_rq(qp, q, rq);
	if (!drained)
		pr_warn("%s: QP %u did not empty before it was destroyed\n",
			dev_name(&qp->device->dev), qp->qp_num);
	return drained;
}
