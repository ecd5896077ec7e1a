// SPDX-License-Identifier: GPL-2.0
#include <linux/bottom_half.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>
#include "raw.h"

#define RAW_DEPTH	4
#define RAW_ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ | \
			 IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC)

/* The page has the word at its beginning, and results in its second half. */
struct raw {
	struct ib_device *ibdev;
	bool polled;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *qp;
	struct ib_mr *mr;
	struct page *page;
	u64 dma;
	struct ib_cqe cqe;
	struct completion done;
	enum ib_wc_status status;
	u32 port;
	struct ib_port_attr attr;
	const struct ib_gid_attr *gid;	/* RoCE only */
};

static bool raw_gid_usable(const struct ib_gid_attr *gid)
{
	const struct in6_addr *addr = (const struct in6_addr *)gid->gid.raw;

	return gid->gid_type == IB_GID_TYPE_ROCE_UDP_ENCAP &&
	       !ipv6_addr_any(addr) &&
	       !(ipv6_addr_type(addr) & IPV6_ADDR_LINKLOCAL);
}

static bool raw_port_usable(struct raw *raw, u32 port)
{
	const struct ib_gid_attr *gid;
	int i;

	if (!rdma_ib_or_roce(raw->ibdev, port) ||
	    ib_query_port(raw->ibdev, port, &raw->attr) ||
	    raw->attr.state != IB_PORT_ACTIVE)
		return false;
	raw->port = port;
	if (!rdma_protocol_roce(raw->ibdev, port))
		return true;
	for (i = 0; i < raw->attr.gid_tbl_len; i++) {
		gid = rdma_get_gid_attr(raw->ibdev, port, i);
		if (IS_ERR(gid))
			continue;
		if (raw_gid_usable(gid)) {
			raw->gid = gid;
			return true;
		}
		rdma_put_gid_attr(gid);
	}
	return false;
}

static int raw_find_port(struct raw *raw)
{
	u32 port;

	rdma_for_each_port(raw->ibdev, port)
		if (raw_port_usable(raw, port))
			return 0;
	return -EADDRNOTAVAIL;
}

static int raw_set_path(struct raw *raw, struct rdma_ah_attr *ah)
{
	u8 mac[ETH_ALEN];
	int err;

	ah->type = rdma_ah_find_type(raw->ibdev, raw->port);
	rdma_ah_set_port_num(ah, raw->port);
	if (!raw->gid) {
		rdma_ah_set_dlid(ah, raw->attr.lid);
		return 0;
	}
	err = rdma_read_gid_l2_fields(raw->gid, NULL, mac);
	if (err)
		return err;
	rdma_ah_set_grh(ah, (union ib_gid *)&raw->gid->gid, 0,
			raw->gid->index, 1, 0);
	memcpy(ah->roce.dmac, mac, ETH_ALEN);
	return 0;
}

static int raw_connect(struct raw *raw)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = raw->port,
		.qp_access_flags = RAW_ACCESS,
		.path_mtu = raw->attr.active_mtu,
		.dest_qp_num = raw->qp->qp_num,
		.max_dest_rd_atomic = 1,
		.max_rd_atomic = 1,
		.min_rnr_timer = 1,
		.timeout = 14,
		.retry_cnt = 6,
		.rnr_retry = 6,
	};
	int err;

	err = raw_set_path(raw, &attr.ah_attr);
	if (!err)
		err = ib_modify_qp(raw->qp, &attr,
				   IB_QP_STATE | IB_QP_PKEY_INDEX |
				   IB_QP_PORT | IB_QP_ACCESS_FLAGS);
	attr.qp_state = IB_QPS_RTR;
	if (!err)
		err = ib_modify_qp(raw->qp, &attr, IB_QP_STATE | IB_QP_AV |
				   IB_QP_PATH_MTU | IB_QP_DEST_QPN |
				   IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC |
				   IB_QP_MIN_RNR_TIMER);
	attr.qp_state = IB_QPS_RTS;
	if (!err)
		err = ib_modify_qp(raw->qp, &attr, IB_QP_STATE |
				   IB_QP_TIMEOUT | IB_QP_RETRY_CNT |
				   IB_QP_RNR_RETRY | IB_QP_SQ_PSN |
				   IB_QP_MAX_QP_RD_ATOMIC);
	return err;
}

static int raw_make_qp(struct raw *raw)
{
	struct ib_qp_init_attr attr = {
		.cap = {
			.max_send_wr = RAW_DEPTH,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
	};
	struct ib_cq *cq;

	cq = ib_alloc_cq(raw->ibdev, raw, 2 * RAW_DEPTH, 0,
			 raw->polled ? IB_POLL_DIRECT : IB_POLL_UNBOUND_WORKQUEUE);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	raw->cq = cq;
	attr.send_cq = cq;
	attr.recv_cq = cq;
	raw->qp = ib_create_qp(raw->pd, &attr);
	if (!IS_ERR(raw->qp))
		return raw_connect(raw);
	ib_free_cq(cq);
	raw->cq = NULL;
	return PTR_ERR(raw->qp);
}

static void raw_completed(struct ib_cq *cq, struct ib_wc *wc)
{
	struct raw *raw = cq->cq_context;

	raw->status = wc->status;
	complete(&raw->done);
}

/* Post one request and wait. With bottom halves off rxe is faster on 6.1. */
static int raw_run(struct raw *raw, struct ib_send_wr *wr)
{
	const struct ib_send_wr *bad;
	int err;

	reinit_completion(&raw->done);
	raw->cqe.done = raw_completed;
	wr->wr_cqe = &raw->cqe;
	wr->send_flags = IB_SEND_SIGNALED;
	local_bh_disable();
	err = ib_post_send(raw->qp, wr, &bad);
	local_bh_enable();
	if (err)
		return err;
	if (raw->polled)
		while (!try_wait_for_completion(&raw->done)) {
			ib_process_cq_direct(raw->cq, -1);
			cond_resched();
		}
	else
		wait_for_completion(&raw->done);
	return raw->status == IB_WC_SUCCESS ? 0 : -EIO;
}

static int raw_register(struct raw *raw)
{
	struct scatterlist sg;
	struct ib_reg_wr wr = {
		.wr.opcode = IB_WR_REG_MR,
		.access = RAW_ACCESS,
	};

	raw->mr = ib_alloc_mr(raw->pd, IB_MR_TYPE_MEM_REG, 1);
	if (IS_ERR(raw->mr))
		return PTR_ERR(raw->mr);
	sg_init_table(&sg, 1);
	sg_set_page(&sg, raw->page, PAGE_SIZE, 0);
	sg_dma_address(&sg) = raw->dma;
	sg_dma_len(&sg) = PAGE_SIZE;
	if (ib_map_mr_sg(raw->mr, &sg, 1, NULL, PAGE_SIZE) != 1)
		return -EINVAL;
	ib_update_fast_reg_key(raw->mr, ib_inc_rkey(raw->mr->rkey));
	wr.mr = raw->mr;
	wr.key = raw->mr->rkey;
	return raw_run(raw, &wr.wr);
}

int raw_faa(struct raw *raw)
{
	struct ib_sge sge = {
		.addr = raw->dma + PAGE_SIZE / 2,
		.length = sizeof(u64),
		.lkey = raw->pd->local_dma_lkey,
	};
	struct ib_atomic_wr wr = {
		.wr.opcode = IB_WR_ATOMIC_FETCH_AND_ADD,
		.wr.sg_list = &sge,
		.wr.num_sge = 1,
		.remote_addr = raw->mr->iova,
		.rkey = raw->mr->rkey,
		.compare_add = 1,
	};

	return raw_run(raw, &wr.wr);
}

void raw_destroy(struct raw *raw)
{
	if (!IS_ERR_OR_NULL(raw->qp)) {
		ib_drain_qp(raw->qp);
		ib_destroy_qp(raw->qp);
	}
	if (!IS_ERR_OR_NULL(raw->mr))
		ib_dereg_mr(raw->mr);
	if (raw->cq)
		ib_free_cq(raw->cq);
	if (raw->dma)
		ib_dma_unmap_page(raw->ibdev, raw->dma, PAGE_SIZE,
				  DMA_BIDIRECTIONAL);
	if (raw->page)
		__free_page(raw->page);
	if (raw->gid)
		rdma_put_gid_attr(raw->gid);
	ib_dealloc_pd(raw->pd);
	kfree(raw);
}

static int raw_set_up(struct raw *raw)
{
	u64 dma;
	int err;

	raw->page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (!raw->page)
		return -ENOMEM;
	dma = ib_dma_map_page(raw->ibdev, raw->page, 0, PAGE_SIZE,
			      DMA_BIDIRECTIONAL);
	if (ib_dma_mapping_error(raw->ibdev, dma))
		return -ENOMEM;
	raw->dma = dma;
	err = raw_find_port(raw);
	if (!err)
		err = raw_make_qp(raw);
	if (!err)
		err = raw_register(raw);
	return err;
}

struct raw *raw_create(struct ib_device *ibdev, bool polled)
{
	struct raw *raw = kzalloc(sizeof(*raw), GFP_KERNEL);
	int err;

	if (!raw)
		return ERR_PTR(-ENOMEM);
	raw->ibdev = ibdev;
	raw->polled = polled;
	init_completion(&raw->done);
	raw->pd = ib_alloc_pd(ibdev, 0);
	if (IS_ERR(raw->pd)) {
		err = PTR_ERR(raw->pd);
		kfree(raw);
		return ERR_PTR(err);
	}
	err = raw_set_up(raw);
	if (!err)
		return raw;
	raw_destroy(raw);
	return ERR_PTR(err);
}
