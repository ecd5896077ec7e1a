// SPDX-License-Identifier: GPL-2.0
/* What is posted: the same work requests as tally's calls post. */
#include <linux/bottom_half.h>
#include <linux/scatterlist.h>
#include <rdma/rw.h>
#include "raw.h"

/* The words' page: target words, results, the message sent, messages come. */
#define RESULTS		1024
#define MESSAGE		2048
#define ARRIVED		3072
/* RECVs that are ready at each side. */
#define RECVS		8
/* One Send of so many is signalled, so that the queue empties. */
#define SIGNAL_EACH	16

struct ib_sge raw_word_sge(const struct raw *raw, u32 offset, u32 len)
{
	return (struct ib_sge) {
		.addr = raw->words->dma + offset,
		.length = len,
		.lkey = raw->pd->local_dma_lkey,
	};
}

static void raw_atomic(struct raw *raw, struct ib_atomic_wr *wr,
		       struct ib_sge *sge, int word, enum ib_wr_opcode opcode)
{
	*sge = raw_word_sge(raw, RESULTS + word * sizeof(u64), sizeof(u64));
	*wr = (struct ib_atomic_wr) {
		.wr.wr_cqe = &raw->last,
		.wr.send_flags = IB_SEND_SIGNALED,
		.wr.opcode = opcode,
		.wr.sg_list = sge,
		.wr.num_sge = 1,
		.remote_addr = raw->target.words + word * sizeof(u64),
		.rkey = raw->target.words_key,
		.compare_add = 1,
		.swap = 1,
	};
}

int raw_faa(struct raw *raw)
{
	struct ib_atomic_wr wr;
	struct ib_sge sge;

	raw_atomic(raw, &wr, &sge, 0, IB_WR_ATOMIC_FETCH_AND_ADD);
	return raw_run(raw, &wr.wr);
}

int raw_cas(struct raw *raw)
{
	struct ib_atomic_wr wr;
	struct ib_sge sge;

	raw_atomic(raw, &wr, &sge, 0, IB_WR_ATOMIC_CMP_AND_SWP);
	return raw_run(raw, &wr.wr);
}

/* One doorbell; the first, of @opcode, is not signalled. */
static int raw_and_faa(struct raw *raw, enum ib_wr_opcode opcode)
{
	struct ib_atomic_wr wr[2];
	struct ib_sge sge[2];

	raw_atomic(raw, &wr[0], &sge[0], 0, opcode);
	raw_atomic(raw, &wr[1], &sge[1], 1, IB_WR_ATOMIC_FETCH_AND_ADD);
	wr[0].wr.wr_cqe = &raw->quiet;
	wr[0].wr.send_flags = 0;
	wr[0].wr.next = &wr[1].wr;
	return raw_run(raw, &wr[0].wr);
}

int raw_cas_faa(struct raw *raw)
{
	return raw_and_faa(raw, IB_WR_ATOMIC_CMP_AND_SWP);
}

int raw_lock(struct raw *raw)
{
	int err = raw_cas_faa(raw);

	return err ? err : raw_faa(raw);
}

int raw_shared(struct raw *raw)
{
	int err = raw_and_faa(raw, IB_WR_ATOMIC_FETCH_AND_ADD);

	return err ? err : raw_faa(raw);
}

int raw_write8(struct raw *raw)
{
	struct ib_sge sge = raw_word_sge(raw, RESULTS, sizeof(u64));
	struct ib_rdma_wr wr = {
		.wr.wr_cqe = &raw->last,
		.wr.send_flags = IB_SEND_SIGNALED,
		.wr.opcode = IB_WR_RDMA_WRITE,
		.wr.sg_list = &sge,
		.wr.num_sge = 1,
		.remote_addr = raw->target.words,
		.rkey = raw->target.words_key,
	};

	return raw_run(raw, &wr.wr);
}

/* A work request for each RAW_CHUNK at most, one doorbell, one completion. */
static int raw_transfer(struct raw *raw, u32 size, u32 count,
			enum ib_wr_opcode opcode)
{
	struct ib_rdma_wr *wr = raw->wrs;
	struct ib_sge *sge = raw->sges;
	u32 each = min(size, RAW_CHUNK);
	u32 n = count * (size / each), i;

	if (WARN_ON_ONCE(!n || n > RAW_DEPTH))
		return -EINVAL;
	for (i = 0; i < n; i++, wr++, sge++) {
		u32 offset = i * each % RAW_BULK;

		*sge = (struct ib_sge) {
			.addr = raw->from->dma + offset,
			.length = each,
			.lkey = raw->pd->local_dma_lkey,
		};
		*wr = (struct ib_rdma_wr) {
			.wr.next = &wr[1].wr,
			.wr.wr_cqe = &raw->quiet,
			.wr.opcode = opcode,
			.wr.sg_list = sge,
			.wr.num_sge = 1,
			.remote_addr = raw->target.to[offset / MEM_UNIT] +
				       offset % MEM_UNIT,
			.rkey = raw->target.to_key[offset / MEM_UNIT],
		};
	}
	wr--;
	wr->wr.next = NULL;
	wr->wr.wr_cqe = &raw->last;
	wr->wr.send_flags = IB_SEND_SIGNALED;
	return raw_run(raw, &raw->wrs[0].wr);
}

int raw_write(struct raw *raw, u32 size, u32 count)
{
	return raw_transfer(raw, size, count, IB_WR_RDMA_WRITE);
}

int raw_read(struct raw *raw, u32 size, u32 count)
{
	return raw_transfer(raw, size, count, IB_WR_RDMA_READ);
}

/* What a transfer by the core's own contexts costs: made, posted and torn down. */
int raw_rw_write(struct raw *raw, u32 size)
{
	struct ib_qp *qp = raw->side[0].qp;
	struct rdma_rw_ctx ctx;
	struct scatterlist sg;
	int err;

	sg_init_table(&sg, 1);
	sg_set_page(&sg, raw->from->page, size, 0);
	err = rdma_rw_ctx_init(&ctx, qp, qp->port, &sg, 1, 0, raw->target.to[0],
			       raw->target.to_key[0], DMA_TO_DEVICE);
	if (err < 0)
		return err;
	raw_begin(raw);
	local_bh_disable();
	err = rdma_rw_ctx_post(&ctx, qp, qp->port, &raw->last, NULL);
	local_bh_enable();
	if (!err)
		err = raw_wait(raw);
	rdma_rw_ctx_destroy(&ctx, qp, qp->port, &sg, 1, DMA_TO_DEVICE);
	return err;
}

static int raw_recv_post(struct raw *raw, struct raw_side *side)
{
	struct ib_sge sge = raw_word_sge(raw, ARRIVED, RAW_MESSAGE);
	struct ib_recv_wr wr = {
		.wr_cqe = &side->recv,
		.sg_list = &sge,
		.num_sge = 1,
	};

	return ib_post_recv(side->qp, &wr, NULL);
}

static int raw_send_post(struct raw *raw, struct raw_side *side)
{
	struct ib_sge sge = raw_word_sge(raw, MESSAGE, RAW_MESSAGE);
	struct ib_send_wr wr = {
		.wr_cqe = &raw->quiet,
		.opcode = IB_WR_SEND,
		.sg_list = &sge,
		.num_sge = 1,
	};
	const struct ib_send_wr *bad;
	int err;

	if (!(++side->sends % SIGNAL_EACH))
		wr.send_flags = IB_SEND_SIGNALED;
	local_bh_disable();
	err = ib_post_send(side->qp, &wr, &bad);
	local_bh_enable();
	return err;
}

/* Side 1 answers at once, side 0 has its answer. */
static void raw_received(struct ib_cq *cq, struct ib_wc *wc)
{
	struct raw_side *side = container_of(wc->wr_cqe, struct raw_side, recv);
	struct raw *raw = cq->cq_context;
	bool answer = side == &raw->side[1];

	if (wc->status != IB_WC_SUCCESS || raw_recv_post(raw, side) ||
	    (answer && raw_send_post(raw, side)))
		raw_finish(raw, IB_WC_GENERAL_ERR);
	else if (!answer)
		raw_finish(raw, IB_WC_SUCCESS);
}

int raw_recv_prepare(struct raw *raw)
{
	int err = 0, i;

	for (i = 0; !err && i < 2 * RECVS; i++) {
		raw->side[i % 2].recv.done = raw_received;
		if (raw->side[i % 2].qp)
			err = raw_recv_post(raw, &raw->side[i % 2]);
	}
	return err;
}

int raw_send(struct raw *raw)
{
	int err;

	raw_begin(raw);
	err = raw_send_post(raw, &raw->side[0]);
	return err ? err : raw_wait(raw);
}
