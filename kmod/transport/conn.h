/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A conn: one reliable connected QP, its CQ and its rdma_cm_id.
 *
 *	NEW -> CONNECTING -> UP -> CLOSING -> DEAD
 *
 * One function changes the state, under the conn's lock. The change to CLOSING
 * queues the close work, which disconnects, drains and destroys the QP, and
 * then calls down(), once. The first error wins. One that comes while the conn is
 * NEW, which is its maker's alone, takes effect when it leaves that state.
 */
#ifndef TALLY_CONN_H
#define TALLY_CONN_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>
#include "base/wire.h"
#include "transport/cq.h"
#include "transport/dev.h"
#include "transport/drain.h"

struct tally_conn;
struct tally_msgs;
struct tally_ops_table;
struct tally_stats;

/* Send queue retries; 7 would mean for ever on some devices. */
#define TALLY_CONN_RETRIES	6
#define TALLY_LEASE_DEFAULT_MS	2000

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
 * @sign: its QP is made: complete conn->priv, which is sent next. As @bind; may
 *	be NULL.
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
	int (*sign)(struct tally_conn *conn);
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
 * @peer_qpn: see struct tally_conn, incoming conns only
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
	u32 peer_qpn;
	struct tally_cm_req priv;
};

/**
 * struct tally_conn - one connection
 * @serial: tells conns apart in traces
 * @ref: owner, close work, every caller that uses it
 * @ops: upcalls; changed only inside message()
 * @owner: belongs to the owner
 * @stats: where work requests are counted
 * @dev: device, referenced from the moment it is known
 * @watch: fails the conn when @dev goes away
 * @pd: protection domain of @qp, borrowed
 * @id: CM id, NULL for a loopback conn
 * @qp: queue pair, NULL before it is made and after it is destroyed
 * @qpn: its number, which stays; 0 before it is made
 * @shown_qpn: @qpn as the CM tells it to the other side; 0: it tells none, as with iWARP
 * @peer_qpn: that of the other side as its CM told it, before it is UP; 0 where
 *	the CM tells none
 * @cq: its completion queue, for both directions
 * @lock: protects @state, @err, posting, and the tables of transport/op.c and
 *	transport/msg.c; taken in softirq context: spin_lock_irqsave
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
 * @timer: bounds connecting; later warns when closing takes too long
 * @deadline: jiffies by which it must be UP
 * @peer: address of the other side, family 0 for a loopback conn
 * @sq_drain: mark at the end of the send queue
 * @rq_drain: mark at the end of the receive queue
 * @posts_in_bh: posting is faster with bottom halves off, see compat.h
 */
struct tally_conn {
	u32 serial;
	struct kref ref;
	const struct tally_conn_ops *ops;
	void *owner;
	struct tally_stats *stats;
	struct tally_dev *dev;
	struct tally_dev_user watch;
	struct ib_pd *pd;
	struct rdma_cm_id *id;
	struct ib_qp *qp;
	u32 qpn;
	u32 shown_qpn;
	u32 peer_qpn;
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
	struct sockaddr_storage peer;
	struct tally_drain sq_drain;
	struct tally_drain rq_drain;
	bool posts_in_bh;
};

/* The conn of a completion's queue. */
static inline struct tally_conn *tally_conn_of(struct ib_cq *cq)
{
	return container_of(cq->cq_context, struct tally_conn, cq);
}

int tally_conn_init(void);
void tally_conn_exit(void);

struct tally_conn *tally_conn_alloc(const struct tally_conn_params *params,
				    work_func_t close);
struct tally_conn *tally_conn_get(struct tally_conn *conn);
void tally_conn_put(struct tally_conn *conn);
bool tally_conn_begin(struct tally_conn *conn);
bool tally_conn_advance(struct tally_conn *conn, enum tally_conn_state from,
			enum tally_conn_state to);
void tally_conn_fail(struct tally_conn *conn, int err);
void tally_conn_fail_locked(struct tally_conn *conn, int err);
void tally_conn_wc_failed(struct tally_conn *conn, enum ib_wc_status status);
void tally_conn_close(struct tally_conn *conn, int err);
bool tally_conn_is_up(struct tally_conn *conn);
struct tally_dev *tally_conn_dev(struct tally_conn *conn);
long tally_conn_time_left(const struct tally_conn *conn);
void tally_conn_start_timer(struct tally_conn *conn);
u8 tally_conn_ack_timeout(u32 lease_ms);
u8 tally_conn_initiator_depth(const struct tally_conn *conn);
u8 tally_conn_responder_depth(const struct tally_conn *conn);

#endif
