// SPDX-License-Identifier: GPL-2.0
/*
 * The life of a conn: made by transport/cm.c or transport/loop.c, broken by anybody, closed and
 * destroyed here, by one work item.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/slab.h>
#include "compat.h"
#include "transport/conn.h"
#include "transport/dev.h"
#include "transport/msg.h"
#include "transport/op.h"
#include "base/stats.h"
#include "base/trace.h"

/* Longer than this in our close work is worth a line in the log. */
#define TALLY_CONN_STUCK	(10 * HZ)

static struct workqueue_struct *tally_conn_wq;

static void tally_conn_set_state(struct tally_conn *conn,
				 enum tally_conn_state state)
{
	lockdep_assert_held(&conn->lock);
	WARN_ON_ONCE(state <= conn->state);
	trace_tally_conn_state(conn, conn->state, state, conn->err);
	conn->state = state;
	if (state == TALLY_CONN_UP) {
		conn->was_up = true;
		tally_stat_inc(conn->stats, TALLY_STAT_CONN_UP);
	} else if (state == TALLY_CONN_CLOSING) {
		if (conn->was_up)
			tally_stat_inc(conn->stats, TALLY_STAT_CONN_DOWN);
		queue_work(tally_conn_wq, &conn->close_work);
	}
}

/**
 * tally_conn_advance - go from one state to the next
 * @conn: conn
 * @from: state it must be in
 * @to: state to go to
 *
 * Context: any.
 * Return: false when it is not in @from; it is closing then.
 */
bool tally_conn_advance(struct tally_conn *conn, enum tally_conn_state from,
			enum tally_conn_state to)
{
	unsigned long flags;
	bool done;

	spin_lock_irqsave(&conn->lock, flags);
	done = conn->state == from;
	if (done)
		tally_conn_set_state(conn, to);
	spin_unlock_irqrestore(&conn->lock, flags);
	return done;
}

/**
 * tally_conn_set_up - the connection stands: say so to the owner
 * @conn: conn
 * @from: state it must be in
 *
 * Messages that came early are delivered after the upcall.
 *
 * Context: process; the handler of the conn's CM id where it has one.
 * Return: false when the conn is already closing.
 */
bool tally_conn_set_up(struct tally_conn *conn, enum tally_conn_state from)
{
	if (!tally_conn_advance(conn, from, TALLY_CONN_UP))
		return false;
	cancel_delayed_work(&conn->timer);
	if (conn->ops->up)
		conn->ops->up(conn);
	tally_msgs_live(conn);
	return true;
}

/**
 * tally_conn_fail_locked - break a conn whose lock is held
 * @conn: conn
 * @err: why, a negative errno; the first one is kept
 *
 * Context: any, with conn->lock held.
 */
void tally_conn_fail_locked(struct tally_conn *conn, int err)
{
	lockdep_assert_held(&conn->lock);
	if (conn->state >= TALLY_CONN_CLOSING)
		return;
	conn->err = err;
	tally_conn_set_state(conn, TALLY_CONN_CLOSING);
}

/**
 * tally_conn_fail - break a conn
 * @conn: conn
 * @err: why, a negative errno; the first one is kept
 *
 * Nothing is posted on it afterwards. down() follows from the close work.
 *
 * Context: any.
 */
void tally_conn_fail(struct tally_conn *conn, int err)
{
	unsigned long flags;

	spin_lock_irqsave(&conn->lock, flags);
	tally_conn_fail_locked(conn, err);
	spin_unlock_irqrestore(&conn->lock, flags);
}

/**
 * tally_conn_close - break a conn and wait for its down()
 * @conn: conn
 * @err: why, should it not be broken already
 *
 * Context: process; none of the conn's own upcalls or completions.
 */
void tally_conn_close(struct tally_conn *conn, int err)
{
	tally_conn_fail(conn, err);
	/* Bounded by the close work, which names itself when it is stuck. */
	wait_for_completion(&conn->dead);
}

/**
 * tally_conn_is_up - can something be posted on it?
 * @conn: conn
 *
 * Return: true when it is UP; it may not be a moment later.
 */
bool tally_conn_is_up(struct tally_conn *conn)
{
	return READ_ONCE(conn->state) == TALLY_CONN_UP;
}

/**
 * tally_conn_peer_addr - address of the other side
 * @conn: conn
 * @ss: where to put it; AF_UNSPEC for a loopback conn
 */
void tally_conn_peer_addr(struct tally_conn *conn, struct sockaddr_storage *ss)
{
	*ss = conn->peer;
}

/**
 * tally_conn_dev - the device of a conn that is UP
 * @conn: conn
 *
 * Return: the device with a reference for the caller, or NULL.
 */
struct tally_dev *tally_conn_dev(struct tally_conn *conn)
{
	struct tally_dev *dev = NULL;
	unsigned long flags;

	spin_lock_irqsave(&conn->lock, flags);
	if (conn->state == TALLY_CONN_UP) {
		dev = conn->dev;
		tally_dev_hold(dev);
	}
	spin_unlock_irqrestore(&conn->lock, flags);
	return dev;
}

/**
 * tally_conn_get - take a reference
 * @conn: conn, of which the caller holds a reference
 *
 * Return: @conn.
 */
struct tally_conn *tally_conn_get(struct tally_conn *conn)
{
	kref_get(&conn->ref);
	return conn;
}

static void tally_conn_release(struct kref *ref)
{
	kfree(container_of(ref, struct tally_conn, ref));
}

/**
 * tally_conn_put - give a reference up
 * @conn: conn
 *
 * The owner's last one does not end the conn; tally_conn_fail() does.
 *
 * Context: any.
 */
void tally_conn_put(struct tally_conn *conn)
{
	kref_put(&conn->ref, tally_conn_release);
}

/**
 * tally_conn_ack_timeout - ack timeout of a QP that must notice in time
 * @lease_ms: lease of the session it serves
 *
 * Return: the largest t with (retries + 1) x 4.096 us x 2^t <= lease / 4.
 */
u8 tally_conn_ack_timeout(u32 lease_ms)
{
	u64 budget = (u64)lease_ms * (NSEC_PER_MSEC / 4);
	u64 one = 4096ULL * (TALLY_CONN_RETRIES + 1);
	u8 t = 1;

	while (t < 20 && one << (t + 1) <= budget)
		t++;
	return t;
}

/**
 * tally_conn_initiator_depth - reads and atomics it may have in flight
 * @conn: conn with a device
 *
 * Return: 1 to 255; 0 would stall the first atomic for ever.
 */
u8 tally_conn_initiator_depth(const struct tally_conn *conn)
{
	return max_t(u8, min(conn->rd_atomic, conn->dev->max_rd_atomic), 1);
}

/**
 * tally_conn_responder_depth - reads and atomics the peer may have in flight
 * @conn: conn with a device
 *
 * Return: 1 to 255; 0 would take the right to read and post atomics away.
 */
u8 tally_conn_responder_depth(const struct tally_conn *conn)
{
	return max_t(u8, min(conn->rd_atomic, conn->dev->max_dest_rd_atomic), 1);
}

static int tally_conn_wc_errno(enum ib_wc_status status)
{
	switch (status) {
	case IB_WC_RETRY_EXC_ERR:
	case IB_WC_RNR_RETRY_EXC_ERR:
	case IB_WC_RESP_TIMEOUT_ERR:
		return -ETIMEDOUT;
	case IB_WC_REM_ACCESS_ERR:
	case IB_WC_REM_INV_REQ_ERR:
		return -EACCES;
	case IB_WC_WR_FLUSH_ERR:
		return -ECONNABORTED;
	default:
		return -EIO;
	}
}

/**
 * tally_conn_wc_failed - a work request failed
 * @conn: conn
 * @status: status of its completion
 *
 * A flush on a QP that nobody tore down is how some devices report a local
 * failure, so it breaks the conn like any other error. Before it is UP a
 * flush only says that the core gave up on the QP: the event that follows
 * tells why, and must not find the conn closing already.
 *
 * Context: any, with conn->lock held.
 */
void tally_conn_wc_failed(struct tally_conn *conn, enum ib_wc_status status)
{
	lockdep_assert_held(&conn->lock);
	if (conn->state == TALLY_CONN_UP)
		tally_conn_fail_locked(conn, tally_conn_wc_errno(status));
}

static void tally_conn_timer(struct work_struct *work)
{
	struct tally_conn *conn = container_of(to_delayed_work(work),
					       struct tally_conn, timer);
	unsigned long flags;
	bool closing;

	spin_lock_irqsave(&conn->lock, flags);
	closing = conn->state >= TALLY_CONN_CLOSING;
	if (conn->state < TALLY_CONN_UP)
		tally_conn_fail_locked(conn, -ETIMEDOUT);
	spin_unlock_irqrestore(&conn->lock, flags);
	if (!closing)
		return;
	pr_warn("closing the connection to %pISpc takes longer than it should\n",
		&conn->peer);
	queue_delayed_work(tally_conn_wq, &conn->timer, TALLY_CONN_STUCK);
}

/**
 * tally_conn_start_timer - bound the time until it is UP
 * @conn: conn
 *
 * Context: a handler of the CM id, which the close work waits for before it
 * cancels the timer.
 */
void tally_conn_start_timer(struct tally_conn *conn)
{
	long left = conn->deadline - jiffies;

	queue_delayed_work(tally_conn_wq, &conn->timer, max(left, 0L));
}

/*
 * Handlers that run while the state changes come to their end; those that
 * begin later see that it is closing and do nothing.
 */
static void tally_conn_sync_handler(struct tally_conn *conn)
{
	if (!conn->id)
		return;
	rdma_lock_handler(conn->id);
	rdma_unlock_handler(conn->id);
}

static void tally_conn_destroy_qp(struct tally_conn *conn)
{
	if (conn->id)
		rdma_destroy_qp(conn->id);
	else
		ib_destroy_qp(conn->qp);
	conn->qp = NULL;
}

static void tally_conn_free_cq(struct tally_conn *conn)
{
	if (!conn->cq.cq)
		return;
	tally_compat_cq_settle(conn->dev->ibdev);
	tally_cq_destroy(&conn->cq);
}

/* Nobody posts any more. Ends with no QP and no operation in flight. */
static void tally_conn_stop(struct tally_conn *conn)
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
	tally_conn_destroy_qp(conn);
	/* What did not complete by now never must, once it was given back. */
	if (!drained)
		tally_conn_free_cq(conn);
	tally_ops_sweep(conn);
}

static void tally_conn_unprepare(struct tally_conn *conn)
{
	tally_conn_free_cq(conn);
	tally_msgs_destroy(conn);
	tally_ops_destroy(conn);
}

static void tally_conn_unset_dev(struct tally_conn *conn)
{
	struct tally_dev *dev = conn->dev;

	if (!dev)
		return;
	tally_dev_leave(dev, conn);
	conn->dev = NULL;
	tally_dev_put(dev);
}

static void tally_conn_close_work(struct work_struct *work)
{
	struct tally_conn *conn = container_of(work, struct tally_conn,
					       close_work);

	mod_delayed_work(tally_conn_wq, &conn->timer, TALLY_CONN_STUCK);
	tally_conn_sync_handler(conn);
	tally_conn_stop(conn);
	tally_conn_advance(conn, TALLY_CONN_CLOSING, TALLY_CONN_DEAD);
	if (conn->ops->down)
		conn->ops->down(conn, conn->err);
	complete_all(&conn->dead);
	/* This may wait for a datagram that is stuck; nobody waits for it. */
	if (conn->id)
		rdma_destroy_id(conn->id);
	tally_conn_unprepare(conn);
	cancel_delayed_work_sync(&conn->timer);
	tally_conn_unset_dev(conn);
	tally_conn_put(conn);
}

/**
 * tally_conn_alloc - a conn that is nothing yet
 * @params: what it shall be
 *
 * Context: process.
 * Return: a conn with the owner's reference and the close work's, or NULL.
 */
struct tally_conn *tally_conn_alloc(const struct tally_conn_params *params)
{
	struct tally_conn *conn = kzalloc(sizeof(*conn), GFP_KERNEL);

	if (!conn)
		return NULL;
	kref_init(&conn->ref);
	kref_get(&conn->ref);
	spin_lock_init(&conn->lock);
	tally_cq_init(&conn->cq);
	init_completion(&conn->dead);
	INIT_LIST_HEAD(&conn->link);
	INIT_WORK(&conn->close_work, tally_conn_close_work);
	INIT_DELAYED_WORK(&conn->timer, tally_conn_timer);
	conn->deadline = jiffies + msecs_to_jiffies(tally_conn_timeout(params->lease_ms));
	conn->ops = params->ops;
	conn->owner = params->owner;
	conn->stats = params->stats;
	conn->pd = params->pd;
	conn->messages = params->messages;
	conn->rd_atomic = params->rd_atomic ?: U8_MAX;
	conn->lease_ms = params->lease_ms ?: TALLY_LEASE_DEFAULT_MS;
	conn->priv = params->priv;
	return conn;
}

/**
 * tally_conn_discard - undo tally_conn_alloc() and what was prepared
 * @conn: conn without a QP that nobody else knows
 *
 * Its CM id is the caller's.
 */
void tally_conn_discard(struct tally_conn *conn)
{
	tally_conn_unprepare(conn);
	tally_conn_unset_dev(conn);
	tally_conn_put(conn);
	tally_conn_put(conn);
}

/**
 * tally_conn_set_dev - say which device a conn is on
 * @conn: conn
 * @dev: device; the caller's reference becomes the conn's, or is given up
 *
 * Return: 0, or -ENODEV when the device is going away.
 */
int tally_conn_set_dev(struct tally_conn *conn, struct tally_dev *dev)
{
	int err = tally_dev_join(dev, conn);

	if (err) {
		tally_dev_put(dev);
		return err;
	}
	conn->dev = dev;
	conn->posts_in_bh = tally_compat_posts_in_bh(dev->ibdev);
	return 0;
}

static void tally_conn_qp_event(struct ib_event *event, void *context)
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

/* One more of everything than is used: the drain takes it. */
static void tally_conn_qp_attr(struct tally_conn *conn,
			       struct ib_qp_init_attr *attr)
{
	struct ib_qp_cap *cap = &attr->cap;

	*attr = (struct ib_qp_init_attr) {
		.event_handler = tally_conn_qp_event,
		.qp_context = conn,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};
	cap->max_send_wr = TALLY_OP_DEPTH + 1;
	cap->max_recv_wr = 1;
	cap->max_send_sge = conn->dev->max_sge;
	cap->max_recv_sge = 1;
	if (conn->messages) {
		cap->max_send_wr += TALLY_MSG_SENDS;
		cap->max_recv_wr += TALLY_MSG_DEPTH;
		cap->max_send_sge = 1;
	}
}

/**
 * tally_conn_prepare - make all that the QP needs
 * @conn: conn with a device and a PD
 * @attr: filled in: the QP to make
 *
 * On error the caller fails or discards the conn, which undoes what was done.
 *
 * Context: process.
 * Return: 0 or a negative errno.
 */
int tally_conn_prepare(struct tally_conn *conn, struct ib_qp_init_attr *attr)
{
	int err;

	tally_conn_qp_attr(conn, attr);
	err = tally_ops_create(conn);
	if (!err && conn->messages)
		err = tally_msgs_create(conn);
	if (!err)
		err = tally_cq_create(&conn->cq, conn->dev->ibdev, conn,
				      attr->cap.max_send_wr +
				      attr->cap.max_recv_wr,
				      conn->messages ? tally_msgs_deliver :
						       NULL);
	attr->send_cq = conn->cq.cq;
	attr->recv_cq = conn->cq.cq;
	return err;
}

/**
 * tally_conn_init - make what all conns share
 *
 * Return: 0 or a negative errno.
 */
int tally_conn_init(void)
{
	int err = tally_cqs_init();

	if (err)
		return err;
	tally_conn_wq = tally_compat_wq("tally_conn");
	if (tally_conn_wq)
		return 0;
	tally_cqs_exit();
	return -ENOMEM;
}

/**
 * tally_conn_exit - undo tally_conn_init()
 *
 * Every conn must be closed; waits until the last one is freed.
 */
void tally_conn_exit(void)
{
	destroy_workqueue(tally_conn_wq);
	tally_cqs_exit();
}
