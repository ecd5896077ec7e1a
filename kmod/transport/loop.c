// SPDX-License-Identifier: GPL-2.0
/*
 * A QP connected to itself, on an address of its own device. It makes what
 * the home does to its words atomic with what the peers do.
 */
#include <linux/in6.h>
#include <linux/random.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>
#include "transport/loop.h"
#include "transport/qp.h"

/* Where the loop goes through. */
struct tally_loop_path {
	u32 port;
	struct ib_port_attr attr;
	const struct ib_gid_attr *gid;	/* RoCE only */
};

/* An address that routing works for; the default GID is not one. */
static bool tally_loop_gid_usable(const struct ib_gid_attr *gid)
{
	const struct in6_addr *addr = (const struct in6_addr *)gid->gid.raw;

	return gid->gid_type == IB_GID_TYPE_ROCE_UDP_ENCAP &&
	       !ipv6_addr_any(addr) &&
	       !(ipv6_addr_type(addr) & IPV6_ADDR_LINKLOCAL);
}

static const struct ib_gid_attr *tally_loop_find_gid(struct ib_device *ibdev,
						     u32 port, int len)
{
	const struct ib_gid_attr *gid;
	int i;

	for (i = 0; i < len; i++) {
		gid = rdma_get_gid_attr(ibdev, port, i);
		if (IS_ERR(gid))
			continue;
		if (tally_loop_gid_usable(gid))
			return gid;
		rdma_put_gid_attr(gid);
	}
	return NULL;
}

static bool tally_loop_try_port(struct ib_device *ibdev, u32 port,
				struct tally_loop_path *path)
{
	if (!rdma_ib_or_roce(ibdev, port) ||
	    ib_query_port(ibdev, port, &path->attr) ||
	    path->attr.state != IB_PORT_ACTIVE)
		return false;
	path->port = port;
	path->gid = NULL;
	if (!rdma_protocol_roce(ibdev, port))
		return true;
	path->gid = tally_loop_find_gid(ibdev, port, path->attr.gid_tbl_len);
	return path->gid;
}

static int tally_loop_find_path(struct ib_device *ibdev,
				struct tally_loop_path *path)
{
	bool capable = false;
	u32 port;

	rdma_for_each_port(ibdev, port) {
		if (tally_loop_try_port(ibdev, port, path))
			return 0;
		capable |= rdma_ib_or_roce(ibdev, port);
	}
	return capable ? -EADDRNOTAVAIL : -EOPNOTSUPP;
}

static int tally_loop_set_av(struct ib_device *ibdev,
			     const struct tally_loop_path *path,
			     struct rdma_ah_attr *ah)
{
	ah->type = rdma_ah_find_type(ibdev, path->port);
	rdma_ah_set_port_num(ah, path->port);
	if (!path->gid) {
		rdma_ah_set_dlid(ah, path->attr.lid);
		return 0;
	}
	rdma_ah_set_grh(ah, (union ib_gid *)&path->gid->gid, 0,
			path->gid->index, 1, 0);
	/* Kernel users bring the destination's MAC: here it is our own. */
	return rdma_read_gid_l2_fields(path->gid, NULL, ah->roce.dmac);
}

static int tally_loop_to_init(struct ib_qp *qp, u32 port)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = port,
		.qp_access_flags = IB_ACCESS_LOCAL_WRITE |
				   IB_ACCESS_REMOTE_READ |
				   IB_ACCESS_REMOTE_WRITE |
				   IB_ACCESS_REMOTE_ATOMIC,
	};

	return ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX |
			    IB_QP_PORT | IB_QP_ACCESS_FLAGS);
}

static int tally_loop_to_rtr(struct tally_conn *conn,
			     const struct tally_loop_path *path, u32 psn)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_RTR,
		.path_mtu = path->attr.active_mtu,
		.dest_qp_num = conn->qpn,
		.rq_psn = psn,
		.max_dest_rd_atomic = tally_conn_responder_depth(conn),
		.min_rnr_timer = IB_RNR_TIMER_000_64,
	};
	return tally_loop_set_av(conn->dev->ibdev, path, &attr.ah_attr) ?:
	       ib_modify_qp(conn->qp, &attr, IB_QP_STATE | IB_QP_AV |
			    IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN |
			    IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER);
}

static int tally_loop_to_rts(struct tally_conn *conn, u32 psn)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_RTS,
		.timeout = tally_conn_ack_timeout(conn->lease_ms),
		.retry_cnt = TALLY_CONN_RETRIES,
		.rnr_retry = TALLY_CONN_RETRIES,
		.sq_psn = psn,
		.max_rd_atomic = min(tally_conn_initiator_depth(conn),
				     tally_conn_responder_depth(conn)),
	};

	conn->rd_atomic = attr.max_rd_atomic;
	return ib_modify_qp(conn->qp, &attr, IB_QP_STATE | IB_QP_TIMEOUT |
			    IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_SQ_PSN |
			    IB_QP_MAX_QP_RD_ATOMIC);
}

static int tally_loop_connect(struct tally_conn *conn)
{
	u32 psn = get_random_u32() & 0xffffff;
	struct tally_loop_path path;
	int err = tally_loop_find_path(conn->dev->ibdev, &path);

	if (err)
		return err;
	err = tally_qp_create(conn) ?:
	      tally_loop_to_init(conn->qp, path.port) ?:
	      tally_loop_to_rtr(conn, &path, psn) ?:
	      tally_loop_to_rts(conn, psn);
	if (path.gid)
		rdma_put_gid_attr(path.gid);
	return err;
}

/* It closes: the next caller gets another. */
static void tally_loop_down(struct tally_conn *conn, int err)
{
	struct tally_dev *dev = conn->dev;

	if (!dev)
		return;
	guard(mutex)(&dev->loop_lock);
	if (dev->loop == conn) {
		dev->loop = NULL;
		tally_conn_put(conn);
	}
}

static const struct tally_conn_ops tally_loop_ops = {
	.down = tally_loop_down,
};

/**
 * tally_loop_make - make a conn to the device itself
 * @dev: device
 *
 * Context: process.
 * Return: a conn that is UP, with a reference for the caller; or an
 * ERR_PTR(): -ENODEV when the device goes away, -EADDRNOTAVAIL while it has no
 * address, -EOPNOTSUPP when it cannot connect to itself.
 */
struct tally_conn *tally_loop_make(struct tally_dev *dev)
{
	struct tally_conn_params params = {
		.ops = &tally_loop_ops,
		.pd = dev->home_pd,
	};
	struct tally_conn *conn = tally_conn_alloc(&params,
						   tally_qp_close);
	int err;

	if (!conn)
		return ERR_PTR(-ENOMEM);
	err = tally_qp_set_dev(conn, dev) ?: tally_loop_connect(conn);
	if (err)
		tally_conn_fail(conn, err);
	if (tally_conn_begin(conn) && tally_qp_set_up(conn))
		return conn;
	err = conn->err;
	tally_conn_put(conn);
	return ERR_PTR(err);
}

/**
 * tally_dev_loop - the loopback conn of a device
 * @dev: device
 *
 * Made on first use, and anew when the last one broke. What was in flight on
 * that one may be undecided: wait for its end with tally_conn_close() first.
 *
 * Context: process; sleeps.
 * Return: a conn with a reference for the caller, or an ERR_PTR() as
 * tally_loop_make().
 */
struct tally_conn *tally_dev_loop(struct tally_dev *dev)
{
	struct tally_conn *loop;

	guard(mutex)(&dev->loop_lock);
	loop = dev->loop;
	if (loop && !tally_conn_is_up(loop)) {
		tally_conn_put(loop);
		loop = NULL;
	}
	if (!loop)
		loop = tally_loop_make(dev);
	dev->loop = IS_ERR(loop) ? NULL : tally_conn_get(loop);
	return loop;
}
