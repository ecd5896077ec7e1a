/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A conn: one reliable connected QP, its CQ and its rdma_cm_id.
 *
 *	NEW -> CONNECTING -> UP -> CLOSING -> DEAD
 *
 * One function changes the state, under the conn's lock. Whoever turns it to
 * CLOSING hands the conn to its close work, which disconnects, drains and
 * destroys the QP, and then says down(), once. The first error wins.
 */
#ifndef TALLY_CONN_H
#define TALLY_CONN_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>
#include "transport/cq.h"
#include "transport/drain.h"
#include "base/wire.h"

struct tally_conn;
struct tally_dev;
struct tally_msgs;
struct tally_ops_table;
struct tally_stats;

enum tally_conn_state {
	TALLY_CONN_NEW,
	TALLY_CONN_CONNECTING,
	TALLY_CONN_UP,
	TALLY_CONN_CLOSING,
	TALLY_CONN_DEAD,
};

/**
 * struct tally_conn_ops - upcalls of a conn to its owner
 * @bind: the device is known: set conn->pd (a PD of @dev), return 0 or an
 *	errno to give up. CM handler context. Outgoing conns only.
 * @up: connected. CM handler context: may take spinlocks and queue work.
 *	Like down() it may come before the call that made the conn returns.
 * @down: the QP is destroyed and every operation has completed; @err is the
 *	first error (negative errno). Work context, exactly once, for every
 *	conn that was returned to its owner. After it no upcall comes.
 * @message: one control message, in order, work context; header fields
 *	type, len and credit have been checked; @body has @len bytes. The
 *	owner may change conn->ops and conn->owner here.
 */
struct tally_conn_ops {
	int (*bind)(struct tally_conn *conn, struct tally_dev *dev);
	void (*up)(struct tally_conn *conn);
	void (*down)(struct tally_conn *conn, int err);
	void (*message)(struct tally_conn *conn, const struct tally_hdr *hdr,
			const void *body, u32 len);
};

/**
 * struct tally_conn_params - what a conn is made with
 * @ops: upcalls
 * @owner: conn->owner
 * @stats: where work requests are counted; outlives the conn
 * @pd: protection domain, incoming conns only (see bind)
 * @messages: true for a control conn: it gets a RECV ring and credits
 * @rd_atomic: wish for reads and atomics in flight, each way; 0: maximum
 * @lease_ms: QP timers are derived from it
 * @priv: private data of the connection request, outgoing only
 */
struct tally_conn_params {
	const struct tally_conn_ops *ops;
	void *owner;
	struct tally_stats *stats;
	struct ib_pd *pd;
	bool messages;
	u8 rd_atomic;
	u32 lease_ms;
	struct tally_cm_req priv;
};

/**
 * struct tally_conn - one connection
 * @ref: owner, close work, every caller that uses it
 * @ops: upcalls; changed only inside message()
 * @owner: belongs to the owner
 * @stats: where work requests are counted
 * @dev: device, referenced from the moment it is known
 * @pd: protection domain of @qp, borrowed
 * @id: CM id, NULL for a loopback conn
 * @qp: queue pair, NULL before it is made and after it is destroyed
 * @cq: its completion queue, for both directions
 * @lock: protects @state, @err, posting, and the tables of transport/op.c and transport/msg.c;
 *	taken in softirq context: spin_lock_irqsave
 * @state: see above
 * @err: first error
 * @refusal: enum tally_refusal the peer gave in its rejection, or 0
 * @peer_version: wire version the peer gave in its rejection, or 0
 * @messages: it is a control conn
 * @incoming: the peer connected to us
 * @rd_atomic: negotiated reads and atomics in flight
 * @lease_ms: what its timers were derived from
 * @priv: private data of the request, sent or received
 * @ops_table: operations in flight, transport/op.c
 * @msgs: RECV ring, send queue and credits, transport/msg.c; NULL on a lane
 * @close_work: see above
 * @dead: completed after down()
 * @timer: bounds connecting; later says who closes for too long
 * @deadline: jiffies by which it must be UP
 * @link: in the device's list of conns, under that list's lock
 * @peer: address of the other side, family 0 for a loopback conn
 * @was_up: it has been UP
 * @sq_drain: mark at the end of the send queue
 * @rq_drain: mark at the end of the receive queue
 * @posts_in_bh: posting is faster with bottom halves off, see compat.h
 */
struct tally_conn {
	struct kref ref;
	const struct tally_conn_ops *ops;
	void *owner;
	struct tally_stats *stats;
	struct tally_dev *dev;
	struct ib_pd *pd;
	struct rdma_cm_id *id;
	struct ib_qp *qp;
	struct tally_cq cq;
	spinlock_t lock;	/* see above */
	enum tally_conn_state state;
	int err;
	u16 refusal;
	u16 peer_version;
	bool messages;
	bool incoming;
	u8 rd_atomic;
	u32 lease_ms;
	struct tally_cm_req priv;
	struct tally_ops_table *ops_table;
	struct tally_msgs *msgs;
	struct work_struct close_work;
	struct completion dead;
	struct delayed_work timer;
	unsigned long deadline;
	struct list_head link;
	struct sockaddr_storage peer;
	struct tally_drain sq_drain;
	struct tally_drain rq_drain;
	bool was_up;
	bool posts_in_bh;
};

int tally_conn_init(void);
void tally_conn_exit(void);

/* Start connecting to @dst; up() or down() follows. Does not sleep long. */
struct tally_conn *tally_conn_connect(struct net *net,
				      const struct sockaddr *dst,
				      const struct tally_conn_params *params);
/*
 * Take an incoming connection, inside the listener's handler only. On error
 * the caller rejects. @dev is referenced anew by the conn.
 */
struct tally_conn *tally_conn_accept(struct rdma_cm_id *id,
				     struct tally_dev *dev,
				     const struct rdma_conn_param *req,
				     const struct tally_conn_params *params);
/* A conn whose QP is connected to itself, UP on return; sleeps. */
struct tally_conn *tally_conn_loop(struct tally_dev *dev,
				   struct tally_stats *stats);

struct tally_conn *tally_conn_get(struct tally_conn *conn);
void tally_conn_put(struct tally_conn *conn);
/* Any context. The first call wins; down() follows from the close work. */
void tally_conn_fail(struct tally_conn *conn, int err);
/* tally_conn_fail() and wait until it is dead; not from its own upcalls. */
void tally_conn_close(struct tally_conn *conn, int err);
bool tally_conn_is_up(struct tally_conn *conn);
/* Address of the other side, for messages; AF_UNSPEC for a loopback conn. */
void tally_conn_peer_addr(struct tally_conn *conn, struct sockaddr_storage *ss);

/*
 * Inside the transport: transport/cm.c and transport/loop.c make conns out of these, transport/op.c, transport/msg.c
 * and transport/mr.c live on a conn.
 */

/* Send queue retries; 7 would mean for ever on some devices. */
#define TALLY_CONN_RETRIES	6
/* From the start of a connect to UP. */
#define TALLY_CONN_TIMEOUT_MS	5000
#define TALLY_LEASE_DEFAULT_MS	2000

/*
 * How long an attempt may take, in ms. The CM sends a lost request again only
 * after seconds: it is given up early enough that a link that comes back
 * within the lease finds time for another attempt.
 */
static inline u32 tally_conn_timeout(u32 lease_ms)
{
	return clamp_t(u32, (lease_ms ?: TALLY_LEASE_DEFAULT_MS) / 8, 1000,
		       TALLY_CONN_TIMEOUT_MS);
}

/* A conn in NEW, with two references: the owner's and the close work's. */
struct tally_conn *tally_conn_alloc(const struct tally_conn_params *params);
/* Free a conn that was never returned to its owner and has no QP. */
void tally_conn_discard(struct tally_conn *conn);
/* Takes over a reference to @dev, also on error. */
int tally_conn_set_dev(struct tally_conn *conn, struct tally_dev *dev);
/* Make all that the QP needs, and say in @attr what QP is needed. */
int tally_conn_prepare(struct tally_conn *conn, struct ib_qp_init_attr *attr);
bool tally_conn_advance(struct tally_conn *conn, enum tally_conn_state from,
			enum tally_conn_state to);
/* CONNECTING or NEW -> UP, with the upcall; false when it is closing. */
bool tally_conn_set_up(struct tally_conn *conn, enum tally_conn_state from);
/* From a CM handler: fail the conn at its deadline. */
void tally_conn_start_timer(struct tally_conn *conn);
/* tally_conn_fail() with conn->lock held. */
void tally_conn_fail_locked(struct tally_conn *conn, int err);
/* Its device with a reference of its own, NULL unless the conn is UP. */
struct tally_dev *tally_conn_dev(struct tally_conn *conn);
u8 tally_conn_ack_timeout(u32 lease_ms);
u8 tally_conn_initiator_depth(const struct tally_conn *conn);
u8 tally_conn_responder_depth(const struct tally_conn *conn);
/* A work request failed, and so did the conn. With conn->lock held. */
void tally_conn_wc_failed(struct tally_conn *conn, enum ib_wc_status status);

#endif
