// SPDX-License-Identifier: GPL-2.0
/*
 * Conns made by rdma_cm, from either side. The handler never lets the core
 * destroy the id: whatever goes wrong becomes a failure of the conn, and its
 * close work destroys it.
 */
#include <rdma/ib_addr.h>
#include <rdma/ib_cm.h>
#include "base/delay.h"
#include "transport/cm.h"
#include "transport/msg.h"
#include "transport/qp.h"

/* Tests have senders lie. */
#ifndef tally_claim
#define tally_claim(addr)	((void)(addr))
#endif

/* For the steps that have a timeout of their own. */
static int tally_cm_ms_left(const struct tally_conn *conn)
{
	return jiffies_to_msecs(tally_conn_time_left(conn) ?: 1);
}

/* Before the route is resolved or the QP accepted: it is used there. */
static int tally_cm_set_timers(struct tally_conn *conn)
{
	u8 timeout = tally_conn_ack_timeout(conn->lease_ms);

	return rdma_set_ack_timeout(conn->id, timeout) ?:
	       rdma_set_min_rnr_timer(conn->id, IB_RNR_TIMER_000_64);
}

static int tally_cm_addr_resolved(struct tally_conn *conn)
{
	struct tally_dev *dev = tally_dev_find(conn->id->device, NULL, NULL);
	int err;

	if (!dev)
		return -ENODEV;
	tally_conn_start_timer(conn);
	err = tally_qp_set_dev(conn, dev);
	tally_dev_put(dev);
	return err ?: conn->ops->bind(conn, dev) ?:
	       tally_qp_create(conn) ?:
	       tally_msgs_start(conn) ?:
	       tally_cm_set_timers(conn) ?:
	       rdma_resolve_route(conn->id, tally_cm_ms_left(conn));
}

static int tally_cm_route_resolved(struct tally_conn *conn)
{
	struct rdma_conn_param param = {
		.private_data = &conn->priv,
		.private_data_len = sizeof(conn->priv),
		.initiator_depth = tally_conn_initiator_depth(conn),
		.responder_resources = tally_conn_responder_depth(conn),
		.retry_count = TALLY_CONN_RETRIES,
		.rnr_retry_count = TALLY_CONN_RETRIES,
	};
	int err = conn->ops->sign ? conn->ops->sign(conn) : 0;

	return err ?: rdma_connect_locked(conn->id, &param);
}

/* The passive side has decided its depths already. */
static int tally_cm_established(struct tally_conn *conn,
				const struct rdma_conn_param *rep)
{
	if (!conn->incoming) {
		conn->peer_qpn = rep->qp_num;
		conn->rd_atomic = min(tally_conn_initiator_depth(conn),
				      rep->initiator_depth);
		if (!conn->rd_atomic ||
		    rep->rnr_retry_count > TALLY_CONN_RETRIES)
			return -EPROTO;
	}
	tally_qp_set_up(conn);
	return 0;
}

/* Refused by the peer's node, or by its kernel because no node is there. */
static int tally_cm_rejected(struct tally_conn *conn,
			     struct rdma_cm_event *event)
{
	const struct tally_cm_rej *rej;
	u16 reason;
	u8 len = 0;

	rej = rdma_consumer_reject_data(conn->id, event, &len);
	if (rej && len >= sizeof(*rej) &&
	    rej->magic == cpu_to_be32(TALLY_WIRE_MAGIC)) {
		reason = be16_to_cpu(rej->reason);
		conn->refusal = reason < __TALLY_REFUSE_MAX ?
				reason : TALLY_REFUSE_MALFORMED;
		conn->peer_version = be16_to_cpu(rej->version);
	}
	return -ECONNREFUSED;
}

/* The status of these events is an errno, or zero. */
static int tally_cm_errno(const struct rdma_cm_event *event, int otherwise)
{
	return event->status < 0 ? event->status : otherwise;
}

static int tally_cm_event(struct tally_conn *conn, struct rdma_cm_event *event)
{
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		return tally_cm_addr_resolved(conn);
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		return tally_cm_route_resolved(conn);
	case RDMA_CM_EVENT_ESTABLISHED:
		return tally_cm_established(conn, &event->param.conn);
	case RDMA_CM_EVENT_REJECTED:
		return tally_cm_rejected(conn, event);
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
		return tally_cm_errno(event, -EHOSTUNREACH);
	case RDMA_CM_EVENT_CONNECT_ERROR:
		return tally_cm_errno(event, -ECONNABORTED);
	case RDMA_CM_EVENT_ADDR_CHANGE:
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		return -ECONNRESET;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return -ENETDOWN;
	default:
		return 0;
	}
}

/* Returns 0 always: only the close work destroys the id. */
static int tally_cm_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct tally_conn *conn = id->context;
	int err;

	if (READ_ONCE(conn->state) >= TALLY_CONN_CLOSING)
		return 0;
	err = tally_cm_event(conn, event);
	if (err)
		tally_conn_fail(conn, err);
	return 0;
}

/**
 * tally_conn_connect - start connecting to a node
 * @net: network namespace to resolve @dst in; pinned until the conn is gone
 * @dst: its address and port
 * @params: what the conn is to be
 *
 * up() or down() follows, within 5 s, and may come before this returns.
 *
 * Context: process.
 * Return: a conn with a reference for the owner, or an ERR_PTR().
 */
struct tally_conn *tally_conn_connect(struct net *net,
				      const struct sockaddr *dst,
				      const struct tally_conn_params *params)
{
	size_t len = rdma_addr_size(dst);
	struct tally_conn *conn;
	struct rdma_cm_id *id;
	int err;

	if (!len)
		return ERR_PTR(-EAFNOSUPPORT);
	conn = tally_conn_alloc(params, tally_qp_close);
	if (!conn)
		return ERR_PTR(-ENOMEM);
	memcpy(&conn->peer, dst, len);
	id = rdma_create_id(net, tally_cm_handler, conn, RDMA_PS_TCP,
			    IB_QPT_RC);
	if (IS_ERR(id)) {
		err = PTR_ERR(id);
		goto err_discard;
	}
	conn->id = id;
	tally_conn_begin(conn);
	/* This step has a timeout of its own; then the conn's timer runs. */
	err = rdma_resolve_addr(id, NULL, dst, tally_cm_ms_left(conn));
	if (err)
		goto err_destroy_id;
	return conn;

err_destroy_id:
	/* No event was queued: only we know the conn. */
	rdma_destroy_id(id);
err_discard:
	tally_qp_discard(conn);
	return ERR_PTR(err);
}

/*
 * The smaller of both ends and of the device, each way; zero is no use. A
 * responder keeps the results of so many READs and atomics. One that is repeated
 * after its result was overwritten gets none, although it was done, so neither
 * side may have more under way.
 */
static int tally_cm_accept_depths(struct tally_conn *conn,
				  const struct rdma_conn_param *req,
				  struct rdma_conn_param *param)
{
	*param = (struct rdma_conn_param) {
		.initiator_depth = min(tally_conn_initiator_depth(conn),
				       req->initiator_depth),
		.responder_resources = min(tally_conn_responder_depth(conn),
					   req->responder_resources),
		.rnr_retry_count = TALLY_CONN_RETRIES,
	};
	conn->rd_atomic = param->initiator_depth;
	return param->initiator_depth && param->responder_resources ? 0 :
								      -EPROTO;
}

/*
 * Where an incoming connection comes from. What the request says of that the sender
 * could make up; on RoCE an address is also where answers go, which it cannot without
 * missing them. For @id of a listener, in its handler.
 */
void tally_cm_from(struct rdma_cm_id *id, struct sockaddr_storage *from)
{
	union ib_gid claimed;

	memcpy(from, &id->route.addr.dst_addr, sizeof(*from));
	tally_claim(from);
	if (!rdma_protocol_roce(id->device, id->port_num) || !id->route.path_rec)
		return;
	if (rdma_ip2gid((struct sockaddr *)from, &claimed) ||
	    memcmp(&claimed, &id->route.path_rec->dgid, sizeof(claimed)))
		rdma_gid2ip((struct sockaddr *)from,
			    &id->route.path_rec->dgid);
}

/**
 * tally_conn_accept - take an incoming connection
 * @id: the new CM id
 * @dev: its device; the conn takes a reference of its own
 * @req: what the peer asks for
 * @params: what the conn is to be
 *
 * Context: the handler of a listening CM id.
 * Return: a conn with a reference for the owner, which owns @id now; or an
 * ERR_PTR(), then the caller rejects and lets the core destroy @id.
 */
struct tally_conn *tally_conn_accept(struct rdma_cm_id *id,
				     struct tally_dev *dev,
				     const struct rdma_conn_param *req,
				     const struct tally_conn_params *params)
{
	struct tally_conn *conn = tally_conn_alloc(params, tally_qp_close);
	struct rdma_conn_param param;
	int err;

	if (!conn)
		return ERR_PTR(-ENOMEM);
	conn->incoming = true;
	conn->id = id;
	tally_cm_from(id, &conn->peer);
	err = tally_qp_set_dev(conn, dev);
	tally_delay(ACCEPT);
	err = err ?: tally_cm_accept_depths(conn, req, &param) ?:
	      tally_qp_create(conn);
	if (err) {
		tally_qp_discard(conn);
		return ERR_PTR(err);
	}
	/* From here on the id is the conn's, which closes when something fails. */
	id->context = conn;
	id->event_handler = tally_cm_handler;
	if (!tally_conn_begin(conn))
		return conn;
	tally_conn_start_timer(conn);
	err = tally_msgs_start(conn) ?: tally_cm_set_timers(conn) ?:
	      rdma_accept(id, &param);
	if (err)
		tally_conn_fail(conn, err);
	return conn;
}
