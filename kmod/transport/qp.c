// SPDX-License-Identifier: GPL-2.0
/*
 * What a conn consists of below its state: queue pair, completion queue,
 * operations, messages. Made for cm.c and loop.c, closed by one work item.
 */
#include <linux/sched/mm.h>
#include "compat/compat.h"
#include "transport/msg.h"
#include "transport/op.h"
#include "transport/qp.h"

/* Nothing is posted any more. Ends with no QP and no operation in flight. */
static void tally_qp_stop(struct tally_conn *conn)
{
	bool drained;

	if (conn->ops_table)
		tally_ops_flush(conn);
	if (!conn->qp)
		return;
	if (conn->id)
		rdma_disconnect(conn->id);
	drained = tally_drain_qp(conn->qp, &conn->cq, &conn->sq_drain,
				 &conn->rq_drain);
	if (conn->msgs)
		tally_msgs_stop(conn);
	if (conn->id)
		rdma_destroy_qp(conn->id);
	else
		ib_destroy_qp(conn->qp);
	conn->qp = NULL;
	/* What did not complete by now must never complete, once it was given back. */
	if (!drained)
		tally_cq_destroy(&conn->cq);
	tally_ops_sweep(conn);
}

/* What was made for the QP, which is gone, and the reference to the device. */
static void tally_qp_free(struct tally_conn *conn)
{
	tally_cq_destroy(&conn->cq);
	tally_msgs_destroy(conn);
	tally_ops_destroy(conn);
	if (!conn->dev)
		return;
	tally_dev_unwatch(conn->dev, &conn->watch);
	tally_dev_put(conn->dev);
	conn->dev = NULL;
}

/* The close work of every conn. */
void tally_qp_close(struct work_struct *work)
{
	struct tally_conn *conn = container_of(work, typeof(*conn), close_work);
	unsigned int noio = memalloc_noio_save();

	/*
	 * Handlers that run while the state changes come to their end; those that
	 * begin later see that it is closing and do nothing.
	 */
	if (conn->id) {
		rdma_lock_handler(conn->id);
		rdma_unlock_handler(conn->id);
	}
	tally_qp_stop(conn);
	tally_conn_advance(conn, TALLY_CONN_CLOSING, TALLY_CONN_DEAD);
	if (conn->ops->down)
		conn->ops->down(conn, conn->err);
	complete_all(&conn->dead);
	/* This may wait for a datagram that is stuck; nothing waits for this. */
	if (conn->id)
		rdma_destroy_id(conn->id);
	tally_qp_free(conn);
	cancel_delayed_work_sync(&conn->timer);
	tally_conn_put(conn);
	memalloc_noio_restore(noio);
}

/* Undo all, of a conn without a QP that only its maker knows; not the CM id. */
void tally_qp_discard(struct tally_conn *conn)
{
	tally_qp_free(conn);
	tally_conn_put(conn);
	tally_conn_put(conn);
}

/* The caller has a reference to @dev. Return: -ENODEV: that goes away. */
int tally_qp_set_dev(struct tally_conn *conn, struct tally_dev *dev)
{
	int err = tally_dev_watch(dev, &conn->watch);

	if (err)
		return err;
	tally_dev_hold(dev);
	conn->dev = dev;
	conn->posts_in_bh = tally_compat_posts_in_bh(dev->ibdev);
	return 0;
}

static void tally_qp_event(struct ib_event *event, void *context)
{
	struct tally_conn *conn = context;

	switch (event->event) {
	case IB_EVENT_COMM_EST:
		if (conn->id)
			rdma_notify(conn->id, event->event);
		break;
	case IB_EVENT_SQ_DRAINED:
	case IB_EVENT_PATH_MIG:
	case IB_EVENT_QP_LAST_WQE_REACHED:
		break;
	default:
		tally_conn_fail(conn, -EIO);
	}
}

/*
 * Make the QP and all that it needs, for a conn with a device and a PD. On error
 * the caller fails or discards the conn, which undoes what was done.
 */
int tally_qp_create(struct tally_conn *conn)
{
	/* One more of everything than is used: the drain takes it. */
	struct ib_qp_init_attr attr = {
		.event_handler = tally_qp_event,
		.qp_context = conn,
		.cap = {
			.max_send_wr = TALLY_OP_DEPTH + 1,
			.max_recv_wr = 1,
			.max_send_sge = conn->dev->max_sge,
			.max_recv_sge = 1,
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};
	struct ib_qp *qp;
	int err;

	if (conn->messages) {
		attr.cap.max_send_wr += TALLY_MSG_SENDS;
		attr.cap.max_recv_wr += TALLY_MSG_DEPTH;
		attr.cap.max_send_sge = 1;
	}
	err = tally_ops_create(conn);
	if (!err && conn->messages)
		err = tally_msgs_create(conn);
	if (!err)
		err = tally_cq_create(&conn->cq, conn->dev->ibdev,
				      attr.cap.max_send_wr +
				      attr.cap.max_recv_wr,
				      conn->messages ? tally_msgs_deliver : NULL);
	if (err)
		return err;
	attr.send_cq = conn->cq.cq;
	attr.recv_cq = conn->cq.cq;
	if (conn->id) {
		err = rdma_create_qp(conn->id, conn->pd, &attr);
		qp = conn->id->qp;
	} else {
		qp = ib_create_qp(conn->pd, &attr);
		err = PTR_ERR_OR_ZERO(qp);
	}
	if (err)
		return err;
	conn->qp = qp;
	conn->qpn = qp->qp_num;
	if (conn->id && rdma_cap_ib_cm(conn->id->device, conn->id->port_num))
		conn->shown_qpn = conn->qpn;
	return 0;
}

/*
 * The connection stands: tell the owner, then deliver messages that came early.
 * In the handler of the CM id if there is one. Return: false when it is closing.
 */
bool tally_qp_set_up(struct tally_conn *conn)
{
	if (!tally_conn_advance(conn, TALLY_CONN_CONNECTING, TALLY_CONN_UP))
		return false;
	cancel_delayed_work(&conn->timer);
	if (conn->ops->up)
		conn->ops->up(conn);
	if (conn->msgs)
		tally_msgs_live(conn);
	return true;
}

