// SPDX-License-Identifier: GPL-2.0
/* The life of a conn: its state, its first error, its references. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/slab.h>
#include "base/stats.h"
#include "base/trace.h"
#include "compat/compat.h"
#include "transport/conn.h"

/* From the start of a connect to UP. */
#define TALLY_CONN_TIMEOUT_MS	5000
/* Longer than this in the close work is worth a line in the log. */
#define TALLY_CONN_STUCK	(10 * HZ)

static struct workqueue_struct *tally_conn_wq;

static void tally_conn_set_state(struct tally_conn *conn,
				 enum tally_conn_state state)
{
	lockdep_assert_held(&conn->lock);
	WARN_ON_ONCE(state <= conn->state);
	trace_tally_conn_state(conn->serial, conn->qpn, conn->state, state,
			       conn->err);
	if (conn->state == TALLY_CONN_UP && state == TALLY_CONN_CLOSING)
		tally_stat_inc(conn->stats, TALLY_STAT_CONN_DOWN);
	conn->state = state;
	if (state == TALLY_CONN_UP)
		tally_stat_inc(conn->stats, TALLY_STAT_CONN_UP);
	if (state == TALLY_CONN_CLOSING) {
		/* The close work is watched: one that is stuck gets a line in the log. */
		mod_delayed_work(tally_conn_wq, &conn->timer, TALLY_CONN_STUCK);
		queue_work(tally_conn_wq, &conn->close_work);
	}
}

/* It is in NEW, and no longer its maker's alone. Return: false: it closes now. */
bool tally_conn_begin(struct tally_conn *conn)
{
	unsigned long flags;
	bool failed;

	spin_lock_irqsave(&conn->lock, flags);
	failed = conn->err;
	tally_conn_set_state(conn, failed ? TALLY_CONN_CLOSING :
					    TALLY_CONN_CONNECTING);
	spin_unlock_irqrestore(&conn->lock, flags);
	return !failed;
}

/* Return: false when it is not in @from; it is closing then. */
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

/* tally_conn_fail() with conn->lock held. */
void tally_conn_fail_locked(struct tally_conn *conn, int err)
{
	lockdep_assert_held(&conn->lock);
	if (conn->err)
		return;
	conn->err = err;
	if (conn->state != TALLY_CONN_NEW)
		tally_conn_set_state(conn, TALLY_CONN_CLOSING);
}

/*
 * Break a conn, in any context; the first error is kept. Nothing is posted on it
 * afterwards. down() follows from the close work.
 */
void tally_conn_fail(struct tally_conn *conn, int err)
{
	unsigned long flags;

	spin_lock_irqsave(&conn->lock, flags);
	tally_conn_fail_locked(conn, err);
	spin_unlock_irqrestore(&conn->lock, flags);
}

/* Break it and wait for its down(). Not in its own upcalls or completions. */
void tally_conn_close(struct tally_conn *conn, int err)
{
	tally_conn_fail(conn, err);
	/* Bounded by the close work, which names itself when it is stuck. */
	wait_for_completion(&conn->dead);
}

/* For any context, without the lock: it may not be a moment later. */
bool tally_conn_is_up(struct tally_conn *conn)
{
	return READ_ONCE(conn->state) == TALLY_CONN_UP;
}

/* Return: a reference to the device of a conn that is UP, or NULL. */
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

/* Return: the largest t with (retries + 1) x 4.096 us x 2^t <= lease / 4. */
u8 tally_conn_ack_timeout(u32 lease_ms)
{
	u64 budget = (u64)lease_ms * (NSEC_PER_MSEC / 4);
	u64 one = 4096ULL * (TALLY_CONN_RETRIES + 1);
	u8 t = 1;

	while (t < 20 && one << (t + 1) <= budget)
		t++;
	return t;
}

/*
 * READs and atomics it may have in flight. Return: 1 to 255; 0 would stall the
 * first atomic for ever.
 */
u8 tally_conn_initiator_depth(const struct tally_conn *conn)
{
	return max_t(u8, min(conn->rd_atomic, conn->dev->max_rd_atomic), 1);
}

/* Those of the peer; 0 would take the right to read and post atomics away. */
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

/*
 * A work request failed. Lock held. A flush of a QP that was not torn down is
 * how some devices report a local failure, so it breaks the conn like any other
 * error. Before it is UP a flush only says that the core gave up on the QP: the
 * event that follows tells why, and must not find the conn closing already.
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

/*
 * Bound the time until it is UP. In a handler of the CM id: the close work waits
 * for that before it cancels the timer.
 */
void tally_conn_start_timer(struct tally_conn *conn)
{
	queue_delayed_work(tally_conn_wq, &conn->timer,
			   tally_conn_time_left(conn));
}

/* Return: jiffies left to connect, 0 when none are. */
long tally_conn_time_left(const struct tally_conn *conn)
{
	return max_t(long, conn->deadline - jiffies, 0);
}

static void tally_conn_gone(struct tally_dev_user *user)
{
	tally_conn_fail(container_of(user, struct tally_conn, watch),
			-ENETDOWN);
}

/* Return: a conn in NEW with the owner's reference and the close work's, or NULL. */
struct tally_conn *tally_conn_alloc(const struct tally_conn_params *params,
				    work_func_t close)
{
	static atomic_t serial;
	struct tally_conn *conn = kzalloc(sizeof(*conn), GFP_KERNEL);
	u32 timeout;

	if (!conn)
		return NULL;
	conn->serial = atomic_inc_return(&serial);
	kref_init(&conn->ref);
	kref_get(&conn->ref);
	spin_lock_init(&conn->lock);
	tally_cq_init(&conn->cq);
	init_completion(&conn->dead);
	conn->watch.gone = tally_conn_gone;
	conn->watch.last = true;
	INIT_WORK(&conn->close_work, close);
	INIT_DELAYED_WORK(&conn->timer, tally_conn_timer);
	conn->ops = params->ops;
	conn->owner = params->owner;
	conn->stats = params->stats;
	conn->pd = params->pd;
	conn->messages = params->messages;
	conn->rd_atomic = params->rd_atomic ?: U8_MAX;
	conn->lease_ms = params->lease_ms ?: TALLY_LEASE_DEFAULT_MS;
	conn->peer_qpn = params->peer_qpn;
	/*
	 * The CM sends a lost request again only after seconds. It is given up
	 * early enough that a link that comes back within the lease finds time
	 * for another attempt.
	 */
	timeout = clamp_t(u32, conn->lease_ms / 8, 1000, TALLY_CONN_TIMEOUT_MS);
	conn->deadline = jiffies + msecs_to_jiffies(timeout);
	conn->priv = params->priv;
	return conn;
}

struct tally_conn *tally_conn_get(struct tally_conn *conn)
{
	kref_get(&conn->ref);
	return conn;
}

static void tally_conn_release(struct kref *ref)
{
	kfree(container_of(ref, struct tally_conn, ref));
}

/* NULL is allowed. The owner's last does not end it: tally_conn_fail() does. */
void tally_conn_put(struct tally_conn *conn)
{
	if (conn)
		kref_put(&conn->ref, tally_conn_release);
}

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

/* Every conn must be closed; waits until the last one is freed. */
void tally_conn_exit(void)
{
	destroy_workqueue(tally_conn_wq);
	tally_cqs_exit();
}
