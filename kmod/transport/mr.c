// SPDX-License-Identifier: GPL-2.0
/* Memory regions: made of pages, registered by a QP, known by (key, address). */
#include <linux/random.h>
#include <linux/slab.h>
#include "base/trace.h"
#include "transport/mr.h"
#include "transport/op.h"

/* How long a device may take to register. */
#define TALLY_MR_TIMEOUT	(2 * HZ)

static int tally_mr_map(struct tally_mr *mr, struct page **pages, u32 n)
{
	if (sg_alloc_table_from_pages(&mr->sg, pages, n, 0,
				      (unsigned long)n << PAGE_SHIFT,
				      GFP_KERNEL))
		return -ENOMEM;
	if (ib_dma_map_sgtable_attrs(mr->dev->ibdev, &mr->sg,
				     DMA_BIDIRECTIONAL, 0)) {
		sg_free_table(&mr->sg);
		return -ENOMEM;
	}
	return 0;
}

static void tally_mr_unmap(struct tally_mr *mr)
{
	ib_dma_unmap_sgtable_attrs(mr->dev->ibdev, &mr->sg, DMA_BIDIRECTIONAL,
				   0);
	sg_free_table(&mr->sg);
}

static int tally_mr_alloc(struct tally_mr *mr, struct ib_pd *pd, u32 n)
{
	struct ib_mr *ibmr = ib_alloc_mr(pd, IB_MR_TYPE_MEM_REG, n);
	u64 page = get_random_u32() | 1;
	int mapped;

	if (IS_ERR(ibmr))
		return PTR_ERR(ibmr);
	mapped = ib_map_mr_sg(ibmr, mr->sg.sgl, mr->sg.nents, NULL, PAGE_SIZE);
	if (mapped != mr->sg.nents) {
		ib_dereg_mr(ibmr);
		return mapped < 0 ? mapped : -EINVAL;
	}
	ib_update_fast_reg_key(ibmr, ib_inc_rkey(ibmr->rkey));
	/*
	 * The address may be any with the same offset in the page; what the
	 * mapping proposes can be the kernel's own. Far below 2^64, where some
	 * devices get their range checks wrong.
	 */
	ibmr->iova = page << PAGE_SHIFT | (ibmr->iova & ~PAGE_MASK);
	mr->addr = ibmr->iova;
	mr->mr = ibmr;
	return 0;
}

/* The work request points to the MR: it must have ended before this returns. */
static int tally_mr_register(struct tally_conn *conn, struct tally_mr *mr,
			     int access)
{
	struct tally_op_task task = {
		.op.type = TALLY_OP_REG,
		.op.mr = mr->mr,
		.op.access = access | IB_ACCESS_LOCAL_WRITE,
	};
	int err = tally_op_run(conn, &task, TALLY_MR_TIMEOUT);

	trace_tally_mr_register(conn->serial, mr->mr->rkey, mr->addr,
				mr->mr->length, err);
	return err;
}

/**
 * tally_mr_create - register memory
 * @conn: conn that is UP; its PD is the memory's
 * @pages: pages, which must stay until tally_mr_destroy()
 * @n: their number, at most dev->max_mr_pages
 * @access: IB_ACCESS_*
 *
 * The memory stays registered when @conn is closed.
 *
 * Context: process; sleeps until the device has done it, at most 2 s and
 * what closing @conn takes.
 * Return: the region, or an ERR_PTR().
 */
struct tally_mr *tally_mr_create(struct tally_conn *conn, struct page **pages,
				 u32 n, int access)
{
	struct tally_dev *dev = tally_conn_dev(conn);
	struct tally_mr *mr;
	int err = -EINVAL;

	if (!dev)
		return ERR_PTR(-ENOTCONN);
	if (!n || n > dev->max_mr_pages)
		goto err_put;
	err = -ENOMEM;
	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr)
		goto err_put;
	mr->dev = dev;
	mr->conn = conn->serial;
	err = tally_mr_map(mr, pages, n);
	if (err)
		goto err_free;
	err = tally_mr_alloc(mr, conn->pd, n);
	if (err)
		goto err_unmap;
	err = tally_mr_register(conn, mr, access);
	if (err)
		goto err_dereg;
	return mr;

err_dereg:
	ib_dereg_mr(mr->mr);
err_unmap:
	tally_mr_unmap(mr);
err_free:
	kfree(mr);
err_put:
	tally_dev_put(dev);
	return ERR_PTR(err);
}

/* No peer can reach the pages on return. Sleeps. NULL is allowed. */
void tally_mr_destroy(struct tally_mr *mr)
{
	if (!mr)
		return;
	trace_tally_mr_destroy(mr->conn, mr->mr->rkey, mr->addr,
			       mr->mr->length, 0);
	ib_dereg_mr(mr->mr);
	tally_mr_unmap(mr);
	tally_dev_put(mr->dev);
	kfree(mr);
}
