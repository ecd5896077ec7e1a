// SPDX-License-Identifier: GPL-2.0
#include <linux/bottom_half.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include "far.h"

#define RAW_CQES	(4 * (RAW_DEPTH + 1))
/* Longer than an emulated machine needs for what is posted at once. */
#define RAW_FAR_TIMEOUT	(30 * HZ)

static const char * const wait_names[RAW_WAITS] = {
	[RAW_SPIN]	= "spin",
	[RAW_DIRECT]	= "direct",
	[RAW_EVENT]	= "event",
};

const char *raw_wait_name(enum raw_wait wait)
{
	return wait_names[wait];
}

void raw_finish(struct raw *raw, enum ib_wc_status status)
{
	raw->status = status;
	if (raw->wait == RAW_EVENT)
		complete(&raw->done);
	else
		WRITE_ONCE(raw->finished, true);
}

static void raw_last_completed(struct ib_cq *cq, struct ib_wc *wc)
{
	raw_finish(cq->cq_context, wc->status);
}

static void raw_quiet_completed(struct ib_cq *cq, struct ib_wc *wc)
{
	if (wc->status != IB_WC_SUCCESS)
		raw_finish(cq->cq_context, wc->status);
}

/* Another machine may be gone without a word. Our own device answers always. */
static int raw_spin(struct raw *raw)
{
	unsigned long end = jiffies + RAW_FAR_TIMEOUT;

	while (!READ_ONCE(raw->finished)) {
		ib_process_cq_direct(raw->cq, 16);
		cond_resched();
		if (!raw->far)
			continue;
		if (fatal_signal_pending(current))
			return -EINTR;
		if (time_after(jiffies, end))
			return -ETIMEDOUT;
	}
	return 0;
}

static void raw_event(struct ib_cq *cq, void *context)
{
	complete(&((struct raw *)context)->done);
}

static int raw_sleep(struct raw *raw)
{
	long left;

	if (!raw->far) {
		wait_for_completion(&raw->done);
		return 0;
	}
	left = wait_for_completion_killable_timeout(&raw->done,
						    RAW_FAR_TIMEOUT);
	if (left > 0)
		return 0;
	return left ? -EINTR : -ETIMEDOUT;
}

static int raw_direct(struct raw *raw)
{
	int err;

	while (!READ_ONCE(raw->finished)) {
		err = raw_sleep(raw);
		if (err)
			return err;
		do {
			ib_process_cq_direct(raw->cq, 16);
		} while (ib_req_notify_cq(raw->cq, IB_CQ_NEXT_COMP |
					  IB_CQ_REPORT_MISSED_EVENTS) > 0);
	}
	return 0;
}

int raw_wait(struct raw *raw)
{
	int err;

	if (raw->wait == RAW_EVENT)
		err = raw_sleep(raw);
	else if (raw->wait == RAW_DIRECT)
		err = raw_direct(raw);
	else
		err = raw_spin(raw);
	if (err)
		return err;
	return raw->status == IB_WC_SUCCESS ? 0 : -EIO;
}

/* What an event says stays true: the queue is to be looked at. */
void raw_begin(struct raw *raw)
{
	raw->finished = false;
	if (raw->wait == RAW_EVENT)
		reinit_completion(&raw->done);
}

/* With bottom halves off soft RoCE that works in tasklets is faster. */
int raw_run(struct raw *raw, const struct ib_send_wr *wr)
{
	const struct ib_send_wr *bad;
	int err;

	raw_begin(raw);
	local_bh_disable();
	err = ib_post_send(raw->side[0].qp, wr, &bad);
	local_bh_enable();
	return err ? err : raw_wait(raw);
}

static int raw_register(void *arg, struct ib_reg_wr *wr)
{
	struct raw *raw = arg;

	wr->wr.wr_cqe = &raw->last;
	wr->wr.send_flags = IB_SEND_SIGNALED;
	return raw_run(raw, &wr->wr);
}

int raw_register_mem(struct raw *raw, struct mem *mem)
{
	return mem_register(mem, raw->pd, raw_register, raw);
}

static struct ib_cq *raw_make_cq(struct raw *raw)
{
	struct ib_cq_init_attr attr = { .cqe = RAW_CQES };
	struct ib_cq *cq;

	if (raw->wait != RAW_DIRECT)
		return ib_alloc_cq(raw->ibdev, raw, RAW_CQES, 0,
				   raw->wait == RAW_EVENT ? IB_POLL_WORKQUEUE :
							    IB_POLL_DIRECT);
	cq = ib_create_cq(raw->ibdev, raw_event, NULL, raw, &attr);
	if (!IS_ERR(cq))
		ib_req_notify_cq(cq, IB_CQ_NEXT_COMP);
	return cq;
}

/* A queue that is not polled by others is not waited for. */
static void raw_free_cq(struct raw *raw)
{
	if (raw->wait != RAW_DIRECT) {
		ib_free_cq(raw->cq);
		return;
	}
	/* A tasklet of soft RoCE may be about to say that something came. */
	synchronize_rcu();
	ib_destroy_cq(raw->cq);
}

static void raw_drain(struct raw *raw, struct ib_qp *qp)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	if (raw->wait != RAW_DIRECT)
		ib_drain_qp(qp);
	else
		ib_modify_qp(qp, &attr, IB_QP_STATE);
}

void raw_fill_qp_attr(const struct raw *raw, struct ib_qp_init_attr *attr)
{
	*attr = (struct ib_qp_init_attr) {
		.cap = {
			.max_send_wr = RAW_DEPTH + 1,
			.max_recv_wr = RAW_DEPTH + 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
			.max_rdma_ctxs = 1,
		},
		.port_num = 1,	/* which contexts of rdma_rw are made for */
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.send_cq = raw->cq,
		.recv_cq = raw->cq,
	};
}

static int raw_make_qps(struct raw *raw)
{
	struct ib_cq *cq = raw_make_cq(raw);
	struct ib_qp_init_attr attr;
	int i;

	if (IS_ERR(cq))
		return PTR_ERR(cq);
	raw->cq = cq;
	raw_fill_qp_attr(raw, &attr);
	for (i = 0; i < 2; i++) {
		raw->side[i].qp = ib_create_qp(raw->pd, &attr);
		if (IS_ERR(raw->side[i].qp))
			return PTR_ERR(raw->side[i].qp);
	}
	return raw_connect(raw);
}

static void raw_aim(struct raw *raw)
{
	struct raw_target *target = &raw->target;
	int i;

	target->words = raw->words->mr[0]->iova;
	target->words_key = raw->words->mr[0]->rkey;
	for (i = 0; raw->to && i < MEM_KEYS; i++) {
		target->to[i] = raw->to->mr[i]->iova;
		target->to_key[i] = raw->to->mr[i]->rkey;
	}
}

static int raw_make_mem(struct raw *raw, bool bulk)
{
	int err;

	raw->words = mem_create(raw->ibdev, PAGE_SIZE);
	if (IS_ERR(raw->words))
		return PTR_ERR(raw->words);
	err = raw_register_mem(raw, raw->words);
	if (err || !bulk)
		return err;
	raw->from = mem_create(raw->ibdev, RAW_BULK);
	if (IS_ERR(raw->from))
		return PTR_ERR(raw->from);
	raw->to = mem_create(raw->ibdev, RAW_BULK);
	if (IS_ERR(raw->to))
		return PTR_ERR(raw->to);
	return raw_register_mem(raw, raw->to);
}

void raw_drop_qps(struct raw *raw)
{
	int i;

	for (i = 0; i < 2; i++)
		if (!IS_ERR_OR_NULL(raw->side[i].qp))
			raw_drain(raw, raw->side[i].qp);
	for (i = 0; i < 2; i++) {
		if (IS_ERR_OR_NULL(raw->side[i].qp))
			continue;
		if (raw->far)
			far_destroy_qp(raw->far);
		else
			ib_destroy_qp(raw->side[i].qp);
		raw->side[i].qp = NULL;
	}
	/* What they flushed is not for the next user. */
	if (raw->cq && raw->wait != RAW_EVENT)
		ib_process_cq_direct(raw->cq, -1);
}

void raw_destroy(struct raw *raw)
{
	if (IS_ERR_OR_NULL(raw))
		return;
	if (raw->far)
		far_destroy(raw->far);
	raw_drop_qps(raw);
	mem_destroy(raw->common);
	mem_destroy(raw->words);
	mem_destroy(raw->from);
	mem_destroy(raw->to);
	if (raw->cq)
		raw_free_cq(raw);
	ib_dealloc_pd(raw->pd);
	kfree(raw);
}

struct raw *raw_create(struct ib_device *ibdev, enum raw_wait wait, bool bulk)
{
	struct raw *raw = kzalloc(sizeof(*raw), GFP_KERNEL);
	int err;

	if (!raw)
		return ERR_PTR(-ENOMEM);
	raw->ibdev = ibdev;
	raw->wait = wait;
	raw->last.done = raw_last_completed;
	raw->quiet.done = raw_quiet_completed;
	init_completion(&raw->done);
	raw->pd = ib_alloc_pd(ibdev, 0);
	if (IS_ERR(raw->pd)) {
		err = PTR_ERR(raw->pd);
		kfree(raw);
		return ERR_PTR(err);
	}
	err = raw_make_qps(raw);
	if (!err)
		err = raw_make_mem(raw, bulk);
	if (!err) {
		raw_aim(raw);
		err = raw_recv_prepare(raw);
	}
	if (!err)
		return raw;
	raw_destroy(raw);
	return ERR_PTR(err);
}
