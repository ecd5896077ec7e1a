// SPDX-License-Identifier: GPL-2.0
/* Connects the two queue pairs of a struct raw by an address of the device. */
#include <net/ipv6.h>
#include <rdma/ib_cache.h>
#include "raw.h"

/**
 * struct raw_path - where both go through
 * @port: port of the device
 * @attr: its attributes
 * @gid: its address, RoCE only
 */
struct raw_path {
	u32 port;
	struct ib_port_attr attr;
	const struct ib_gid_attr *gid;
};

/* An address that routing works for; the default one is not. */
static bool path_gid_usable(const struct ib_gid_attr *gid)
{
	const struct in6_addr *addr = (const struct in6_addr *)gid->gid.raw;

	return gid->gid_type == IB_GID_TYPE_ROCE_UDP_ENCAP &&
	       !ipv6_addr_any(addr) &&
	       !(ipv6_addr_type(addr) & IPV6_ADDR_LINKLOCAL);
}

static bool path_find_gid(struct raw_path *path, struct ib_device *ibdev)
{
	const struct ib_gid_attr *gid;
	int i;

	for (i = 0; i < path->attr.gid_tbl_len; i++) {
		gid = rdma_get_gid_attr(ibdev, path->port, i);
		if (IS_ERR(gid))
			continue;
		if (path_gid_usable(gid)) {
			path->gid = gid;
			return true;
		}
		rdma_put_gid_attr(gid);
	}
	return false;
}

static int path_find(struct raw_path *path, struct ib_device *ibdev)
{
	rdma_for_each_port(ibdev, path->port) {
		if (!rdma_ib_or_roce(ibdev, path->port) ||
		    ib_query_port(ibdev, path->port, &path->attr) ||
		    path->attr.state != IB_PORT_ACTIVE)
			continue;
		if (!rdma_protocol_roce(ibdev, path->port) ||
		    path_find_gid(path, ibdev))
			return 0;
	}
	return -EADDRNOTAVAIL;
}

static int path_to_ah(const struct raw_path *path, struct ib_device *ibdev,
		      struct rdma_ah_attr *ah)
{
	u8 mac[ETH_ALEN];
	int err;

	ah->type = rdma_ah_find_type(ibdev, path->port);
	rdma_ah_set_port_num(ah, path->port);
	if (!path->gid) {
		rdma_ah_set_dlid(ah, path->attr.lid);
		return 0;
	}
	err = rdma_read_gid_l2_fields(path->gid, NULL, mac);
	if (err)
		return err;
	rdma_ah_set_grh(ah, (union ib_gid *)&path->gid->gid, 0,
			path->gid->index, 1, 0);
	memcpy(ah->roce.dmac, mac, ETH_ALEN);
	return 0;
}

u8 raw_read_depth(const struct ib_device *ibdev)
{
	return clamp(min(ibdev->attrs.max_qp_rd_atom,
			 ibdev->attrs.max_qp_init_rd_atom), 1, 128);
}

static int path_join(const struct raw_path *path, struct ib_qp *qp,
		     struct ib_qp *other)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = path->port,
		.qp_access_flags = MEM_ACCESS,
		.path_mtu = path->attr.active_mtu,
		.dest_qp_num = other->qp_num,
		.max_dest_rd_atomic = raw_read_depth(qp->device),
		.max_rd_atomic = raw_read_depth(qp->device),
		.min_rnr_timer = 1,
		.timeout = 14,
		.retry_cnt = 6,
		.rnr_retry = 6,
	};
	int err;

	err = path_to_ah(path, qp->device, &attr.ah_attr);
	if (!err)
		err = ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX |
				   IB_QP_PORT | IB_QP_ACCESS_FLAGS);
	attr.qp_state = IB_QPS_RTR;
	if (!err)
		err = ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_AV |
				   IB_QP_PATH_MTU | IB_QP_DEST_QPN |
				   IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC |
				   IB_QP_MIN_RNR_TIMER);
	attr.qp_state = IB_QPS_RTS;
	if (!err)
		err = ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_TIMEOUT |
				   IB_QP_RETRY_CNT | IB_QP_RNR_RETRY |
				   IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC);
	return err;
}

int raw_connect(struct raw *raw)
{
	struct raw_path path = { };
	int err;

	err = path_find(&path, raw->ibdev);
	if (err)
		return err;
	err = path_join(&path, raw->side[0].qp, raw->side[1].qp);
	if (!err)
		err = path_join(&path, raw->side[1].qp, raw->side[0].qp);
	if (path.gid)
		rdma_put_gid_attr(path.gid);
	return err;
}
