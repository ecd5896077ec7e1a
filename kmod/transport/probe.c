// SPDX-License-Identifier: GPL-2.0
/*
 * The question whether a device's kernel QPs can post atomics. The answer
 * comes from posting some and looking at both the results and the memory: devices
 * that promise them and refuse them exist.
 */
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include "base/delay.h"
#include "transport/loop.h"
#include "transport/mr.h"
#include "transport/op.h"
#include "transport/probe.h"

#define TALLY_PROBE_TIMEOUT	(5 * HZ)
#define TALLY_PROBE_START	0x0123456789abcdefULL
#define TALLY_PROBE_ADD		0x1111111111111111ULL
#define TALLY_PROBE_SUM		(TALLY_PROBE_START + TALLY_PROBE_ADD)
#define TALLY_PROBE_SWAP	0xfedcba9876543210ULL

/* One atomic on the scratch word, and what must come of it. */
struct tally_probe_step {
	enum tally_op_type type;
	u64 compare;
	u64 value;
	u64 old;
	u64 word;
};

static const struct tally_probe_step tally_probe_steps[] = {
	{ TALLY_OP_FAA, 0, TALLY_PROBE_ADD,
	  TALLY_PROBE_START, TALLY_PROBE_SUM },
	{ TALLY_OP_CAS, TALLY_PROBE_SUM, TALLY_PROBE_SWAP,
	  TALLY_PROBE_SUM, TALLY_PROBE_SWAP },
	{ TALLY_OP_CAS, TALLY_PROBE_START, TALLY_PROBE_START,
	  TALLY_PROBE_SWAP, TALLY_PROBE_SWAP },
};

static int tally_probe_step(struct tally_conn *loop, struct tally_mr *mr,
			    const struct tally_probe_step *step)
{
	struct tally_op_task task = {
		.op.type = step->type,
		.op.rkey = mr->mr->rkey,
		.op.addr = mr->addr,
		.op.compare = step->compare,
		.op.value = step->value,
	};
	const u64 *word = sg_virt(mr->sg.sgl);
	int err = tally_op_run(loop, &task, TALLY_PROBE_TIMEOUT);

	ib_dma_sync_single_for_cpu(mr->dev->ibdev, sg_dma_address(mr->sg.sgl),
				   sizeof(*word), DMA_BIDIRECTIONAL);
	if (!err && (task.op.old != step->old ||
		     READ_ONCE(*word) != step->word))
		err = -EILSEQ;
	return err;
}

/* Something else than an atomic, to know whether the path works at all. */
static int tally_probe_read(struct tally_conn *loop, struct tally_mr *mr)
{
	struct ib_sge sge = {
		.addr = sg_dma_address(mr->sg.sgl) + sizeof(u64),
		.length = sizeof(u64),
		.lkey = loop->pd->local_dma_lkey,
	};
	struct tally_op_task task = {
		.op.type = TALLY_OP_READ,
		.op.rkey = mr->mr->rkey,
		.op.addr = mr->addr,
		.op.sge = &sge,
		.op.num_sge = 1,
	};

	return tally_op_run(loop, &task, TALLY_PROBE_TIMEOUT) ? -ENOTCONN : 0;
}

static int tally_probe_atomics(struct tally_conn *loop, struct tally_mr *mr)
{
	int i, err;

	err = tally_probe_read(loop, mr);
	if (err)
		return err;
	for (i = 0; i < ARRAY_SIZE(tally_probe_steps) && !err; i++)
		err = tally_probe_step(loop, mr, &tally_probe_steps[i]);
	return err == -EREMOTEIO ? -EOPNOTSUPP : err;
}

/*
 * A conn of its own: a device that answers an atomic by breaking the QP must
 * not break what others do.
 */
static int tally_probe_run(struct tally_dev *dev)
{
	struct tally_conn *loop = tally_loop_make(dev);
	struct page *page;
	struct tally_mr *mr;
	int err = -ENOMEM;

	if (IS_ERR(loop))
		return PTR_ERR(loop);
	tally_delay(PROBE);
	page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (!page)
		goto out;
	*(u64 *)page_address(page) = TALLY_PROBE_START;
	mr = tally_mr_create(loop, &page, 1, IB_ACCESS_REMOTE_READ |
			     IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC);
	err = PTR_ERR_OR_ZERO(mr) ?: tally_probe_atomics(loop, mr);
	/* Nothing is under way to the page any more. */
	tally_conn_close(loop, -ESHUTDOWN);
	if (!IS_ERR(mr))
		tally_mr_destroy(mr);
	__free_page(page);
out:
	tally_conn_close(loop, -ESHUTDOWN);
	tally_conn_put(loop);
	return err;
}

/* What says nothing about atomics leaves the question open. */
static enum tally_atomics tally_probe_verdict(int err)
{
	switch (err) {
	case 0:
		return TALLY_ATOMICS_YES;
	case -EOPNOTSUPP:
	case -EINVAL:
	case -EACCES:
	case -EILSEQ:
		return TALLY_ATOMICS_NO;
	default:
		return TALLY_ATOMICS_UNKNOWN;
	}
}

/**
 * tally_dev_probe - can this device's kernel QPs post atomics?
 * @dev: device
 *
 * Tried until there is an answer, which is kept.
 *
 * Context: process; sleeps.
 * Return: the answer, TALLY_ATOMICS_UNKNOWN while it cannot be tried.
 */
enum tally_atomics tally_dev_probe(struct tally_dev *dev)
{
	guard(mutex)(&dev->probe_lock);
	if (dev->atomics == TALLY_ATOMICS_UNKNOWN)
		dev->atomics = tally_probe_verdict(tally_probe_run(dev));
	return dev->atomics;
}
