// SPDX-License-Identifier: GPL-2.0
/*
 * Control messages of one conn: RECV ring, send queue, delivery in order.
 * When a message may be sent is transport/credit.h's business.
 */
#include <linux/dma-mapping.h>
#include <linux/slab.h>
#include "compat/compat.h"
#include "transport/credit.h"
#include "transport/dev.h"
#include "transport/msg.h"
#include "base/stats.h"
#include "base/trace.h"

/*
 * Messages that may wait for the peer. One that keeps to the protocol has 4096
 * objects open at most, and about each there are less than four things to say.
 */
#define TALLY_MSG_BACKLOG 16384

/* One RECV buffer. */
struct tally_recv {
	struct ib_cqe cqe;
	struct list_head list;
	u64 dma;
	u32 len;
	u8 *buf;
};

/* One message to send. */
struct tally_send {
	struct ib_cqe cqe;
	struct list_head list;
	bool credit;		/* one of the spare ones */
	u64 dma;
	u32 len;
	u8 buf[] __aligned(8);
};

/**
 * struct tally_msgs - messages of one conn; under conn->lock
 * @recvs: RECV buffers
 * @arrived: received and not delivered yet, in order
 * @queue: to be sent, in order
 * @wire: given to the QP and not completed
 * @spare: CREDIT buffers that are free
 * @backlog: length of @queue
 * @in_sq: ordinary messages in @wire
 * @credits: how much may be sent
 * @live: up() was called
 * @broken: something malformed came: what follows is not looked at
 */
struct tally_msgs {
	struct tally_recv recvs[TALLY_MSG_DEPTH];
	struct list_head arrived;
	struct list_head queue;
	struct list_head wire;
	struct list_head spare;
	u32 backlog;
	u32 in_sq;
	struct tally_credits credits;
	bool live;
	bool broken;
};

static void tally_send_unmap(struct tally_conn *conn, struct tally_send *send)
{
	ib_dma_unmap_single(conn->dev->ibdev, send->dma, send->len,
			    DMA_TO_DEVICE);
}

static int tally_send_post(struct tally_conn *conn, struct tally_send *send)
{
	struct ib_device *ibdev = conn->dev->ibdev;
	struct tally_msgs *msgs = conn->msgs;
	struct tally_hdr *hdr = (void *)send->buf;
	struct ib_sge sge = {
		.length = send->len,
		.lkey = conn->pd->local_dma_lkey,
	};
	struct ib_send_wr wr = {
		.wr_cqe = &send->cqe,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
	};
	int err;

	hdr->credit = cpu_to_be32(tally_credits_send(&msgs->credits));
	send->dma = ib_dma_map_single(ibdev, send->buf, send->len,
				      DMA_TO_DEVICE);
	if (ib_dma_mapping_error(ibdev, send->dma))
		return -ENOMEM;
	sge.addr = send->dma;
	trace_tally_msg_send(conn, hdr);
	err = ib_post_send(conn->qp, &wr, NULL);
	if (err) {
		tally_send_unmap(conn, send);
		return err;
	}
	if (!send->credit) {
		msgs->in_sq++;
		msgs->backlog--;
	}
	list_move_tail(&send->list, &msgs->wire);
	tally_stat_inc(conn->stats, TALLY_STAT_POST_SEND);
	return 0;
}

/* Send what may be sent. Lock held. */
static void tally_msgs_pump(struct tally_conn *conn)
{
	struct tally_msgs *msgs = conn->msgs;
	struct tally_send *send;
	int err = 0;

	if (conn->state != TALLY_CONN_UP)
		return;
	while (!err && !list_empty(&msgs->queue) &&
	       msgs->in_sq < TALLY_MSG_DEPTH &&
	       tally_credits_may_send(&msgs->credits)) {
		send = list_first_entry(&msgs->queue, struct tally_send, list);
		err = tally_send_post(conn, send);
	}
	if (!err && !list_empty(&msgs->spare) &&
	    tally_credits_owe(&msgs->credits)) {
		send = list_first_entry(&msgs->spare, struct tally_send, list);
		err = tally_send_post(conn, send);
	}
	if (err)
		tally_conn_fail_locked(conn, err);
}

static void tally_send_completed(struct ib_cq *cq, struct ib_wc *wc)
{
	struct tally_send *send = container_of(wc->wr_cqe, struct tally_send,
					       cqe);
	struct tally_conn *conn = tally_conn_of(cq);
	struct tally_msgs *msgs = conn->msgs;
	unsigned long flags;

	tally_send_unmap(conn, send);
	spin_lock_irqsave(&conn->lock, flags);
	if (wc->status != IB_WC_SUCCESS)
		tally_conn_wc_failed(conn, wc->status);
	if (send->credit) {
		list_move(&send->list, &msgs->spare);
		send = NULL;
	} else {
		list_del(&send->list);
		msgs->in_sq--;
	}
	tally_msgs_pump(conn);
	spin_unlock_irqrestore(&conn->lock, flags);
	kfree(send);
}

/* Lock held, the conn not closing. */
static int tally_recv_post(struct tally_conn *conn, struct tally_recv *recv)
{
	struct ib_sge sge = {
		.addr = recv->dma,
		.length = TALLY_MSG_SIZE,
		.lkey = conn->pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = {
		.wr_cqe = &recv->cqe,
		.sg_list = &sge,
		.num_sge = 1,
	};

	ib_dma_sync_single_for_device(conn->dev->ibdev, recv->dma,
				      TALLY_MSG_SIZE, DMA_FROM_DEVICE);
	return ib_post_recv(conn->qp, &wr, NULL);
}

/* What the header says about itself and about our own messages. */
static bool tally_msgs_check(struct tally_msgs *msgs,
			     const struct tally_hdr *hdr, u32 len)
{
	u16 type;

	if (len < sizeof(*hdr) || be32_to_cpu(hdr->len) != len)
		return false;
	if (hdr->flags || hdr->reserved)
		return false;
	type = be16_to_cpu(hdr->type);
	if (!type || type >= __TALLY_MSG_MAX)
		return false;
	if (type == TALLY_MSG_CREDIT && len != sizeof(*hdr))
		return false;
	return tally_credits_ack(&msgs->credits, be32_to_cpu(hdr->credit));
}

static void tally_msgs_malformed(struct tally_conn *conn)
{
	conn->msgs->broken = true;
	tally_stat_inc(conn->stats, TALLY_STAT_MALFORMED);
	tally_conn_fail_locked(conn, -EPROTO);
}

/* Its credit counts at once; the message waits for its turn. Lock held. */
static void tally_recv_arrived(struct tally_conn *conn,
			       struct tally_recv *recv, u32 len)
{
	const struct tally_hdr *hdr = (void *)recv->buf;
	struct tally_msgs *msgs = conn->msgs;

	tally_stat_inc(conn->stats, TALLY_STAT_RECV);
	if (msgs->broken)
		return;
	if (!tally_msgs_check(msgs, hdr, len)) {
		tally_msgs_malformed(conn);
		return;
	}
	recv->len = len;
	list_add_tail(&recv->list, &msgs->arrived);
	tally_msgs_pump(conn);
}

static void tally_recv_completed(struct ib_cq *cq, struct ib_wc *wc)
{
	struct tally_recv *recv = container_of(wc->wr_cqe, struct tally_recv,
					       cqe);
	struct tally_conn *conn = tally_conn_of(cq);
	unsigned long flags;

	ib_dma_sync_single_for_cpu(conn->dev->ibdev, recv->dma,
				   TALLY_MSG_SIZE, DMA_FROM_DEVICE);
	spin_lock_irqsave(&conn->lock, flags);
	if (wc->status == IB_WC_SUCCESS)
		tally_recv_arrived(conn, recv, wc->byte_len);
	else if (wc->status == IB_WC_LOC_LEN_ERR)
		tally_msgs_malformed(conn);
	else
		tally_conn_wc_failed(conn, wc->status);
	spin_unlock_irqrestore(&conn->lock, flags);
}

static struct tally_recv *tally_msgs_next(struct tally_conn *conn)
{
	struct tally_msgs *msgs = conn->msgs;
	struct tally_recv *recv = NULL;
	unsigned long flags;

	spin_lock_irqsave(&conn->lock, flags);
	if (msgs->live)
		recv = list_first_entry_or_null(&msgs->arrived,
						struct tally_recv, list);
	if (recv)
		list_del_init(&recv->list);
	spin_unlock_irqrestore(&conn->lock, flags);
	return recv;
}

/* The buffer goes back to the ring, and the peer will be told. */
static void tally_recv_consumed(struct tally_conn *conn,
				struct tally_recv *recv)
{
	unsigned long flags;
	int err;

	spin_lock_irqsave(&conn->lock, flags);
	if (conn->state == TALLY_CONN_UP) {
		err = tally_recv_post(conn, recv);
		if (err)
			tally_conn_fail_locked(conn, err);
		conn->msgs->credits.consumed++;
		tally_msgs_pump(conn);
	}
	spin_unlock_irqrestore(&conn->lock, flags);
}

/**
 * tally_msgs_deliver - hand the messages that came to the conn's owner
 * @conn: control conn
 *
 * Context: the work item of its completion queue; sleeps as its owner does.
 */
void tally_msgs_deliver(struct tally_conn *conn)
{
	const struct tally_hdr *hdr;
	struct tally_recv *recv;

	while ((recv = tally_msgs_next(conn))) {
		hdr = (void *)recv->buf;
		trace_tally_msg_recv(conn, hdr);
		if (hdr->type != cpu_to_be16(TALLY_MSG_CREDIT) &&
		    conn->ops->message)
			conn->ops->message(conn, hdr, hdr + 1,
					   recv->len - sizeof(*hdr));
		tally_recv_consumed(conn, recv);
		cond_resched();
	}
}

static struct tally_send *tally_send_make(const struct tally_msg_head *head,
					  const void *body, u32 len,
					  const void *more, u32 more_len,
					  gfp_t gfp)
{
	u32 size = sizeof(struct tally_hdr) + len + more_len;
	struct tally_send *send;
	struct tally_hdr *hdr;
	u8 *to;

	send = kzalloc(struct_size(send, buf, size), gfp);
	if (!send)
		return NULL;
	send->cqe.done = tally_send_completed;
	send->len = size;
	hdr = (void *)send->buf;
	to = (u8 *)(hdr + 1);
	hdr->type = cpu_to_be16(head->type);
	hdr->len = cpu_to_be32(send->len);
	hdr->req = cpu_to_be16(head->req);
	hdr->slot = cpu_to_be16(head->slot);
	hdr->seq = cpu_to_be32(head->seq);
	hdr->session = cpu_to_be64(head->session);
	if (len)
		memcpy(to, body, len);
	if (more_len)
		memcpy(to + len, more, more_len);
	return send;
}

/* Not for a peer that asks and never takes the answers. Lock held. */
static bool tally_msgs_has_room(struct tally_conn *conn)
{
	if (conn->state != TALLY_CONN_UP || !conn->msgs)
		return false;
	if (conn->msgs->backlog < TALLY_MSG_BACKLOG)
		return true;
	tally_stat_inc(conn->stats, TALLY_STAT_QUOTA);
	tally_conn_fail_locked(conn, -ENOBUFS);
	return false;
}

static int tally_msgs_enqueue(struct tally_conn *conn, struct tally_send *send)
{
	unsigned long flags;
	int err = -ENOTCONN;
	bool begun;

	begun = tally_compat_post_begin(conn->posts_in_bh);
	spin_lock_irqsave(&conn->lock, flags);
	if (tally_msgs_has_room(conn)) {
		list_add_tail(&send->list, &conn->msgs->queue);
		conn->msgs->backlog++;
		tally_msgs_pump(conn);
		err = 0;
	}
	spin_unlock_irqrestore(&conn->lock, flags);
	tally_compat_post_end(begun);
	return err;
}

/**
 * tally_msg_send - queue a message
 * @conn: control conn of which the caller holds a reference
 * @head: what its header shall say
 * @body: first part of the body, copied
 * @len: its length
 * @more: second part
 * @more_len: its length, or 0
 * @gfp: how to wait for memory; nothing else is waited for
 *
 * Messages arrive in the order in which they were queued.
 *
 * Context: as @gfp; with GFP_NOWAIT any but hard interrupts.
 * Return: 0, -ENOTCONN, -EMSGSIZE, or -ENOMEM: then the caller must send it
 * later or fail the conn, as a message may be dropped only with its conn.
 */
int tally_msg_send(struct tally_conn *conn, const struct tally_msg_head *head,
		   const void *body, u32 len, const void *more, u32 more_len,
		   gfp_t gfp)
{
	struct tally_send *send;
	int err;

	if (len > TALLY_BODY_MAX || more_len > TALLY_BODY_MAX - len)
		return -EMSGSIZE;
	send = tally_send_make(head, body, len, more, more_len, gfp);
	if (!send)
		return -ENOMEM;
	err = tally_msgs_enqueue(conn, send);
	if (err)
		kfree(send);
	return err;
}

/**
 * tally_msgs_set_depth - the peer said how many RECVs it has
 * @conn: control conn
 * @depth: their number; fewer than everybody has are not believed
 */
void tally_msgs_set_depth(struct tally_conn *conn, u16 depth)
{
	unsigned long flags;

	spin_lock_irqsave(&conn->lock, flags);
	if (conn->state == TALLY_CONN_UP && conn->msgs) {
		tally_credits_set_depth(&conn->msgs->credits, depth);
		tally_msgs_pump(conn);
	}
	spin_unlock_irqrestore(&conn->lock, flags);
}

/**
 * tally_msgs_live - deliver what came, and what will come
 * @conn: conn whose owner was told that it is up
 */
void tally_msgs_live(struct tally_conn *conn)
{
	unsigned long flags;

	spin_lock_irqsave(&conn->lock, flags);
	if (conn->msgs) {
		conn->msgs->live = true;
		tally_cq_queue(&conn->cq);
	}
	spin_unlock_irqrestore(&conn->lock, flags);
}

/**
 * tally_msgs_stop - deliver what came before the QP was drained
 * @conn: closing conn, its QP drained
 *
 * No message is delivered afterwards.
 */
void tally_msgs_stop(struct tally_conn *conn)
{
	struct tally_msgs *msgs = conn->msgs;
	unsigned long flags;

	tally_cq_flush(&conn->cq);
	/* In case the QP did not empty: what comes now is too late. */
	spin_lock_irqsave(&conn->lock, flags);
	msgs->live = false;
	spin_unlock_irqrestore(&conn->lock, flags);
	tally_cq_flush(&conn->cq);
}

/**
 * tally_msgs_start - fill the RECV ring
 * @conn: control conn with a QP, not connected yet; others have no ring
 *
 * Return: 0 or a negative errno.
 */
int tally_msgs_start(struct tally_conn *conn)
{
	struct tally_msgs *msgs = conn->msgs;
	unsigned long flags;
	int i, err = 0;

	if (!msgs)
		return 0;
	spin_lock_irqsave(&conn->lock, flags);
	for (i = 0; i < TALLY_MSG_DEPTH && !err; i++) {
		if (conn->state >= TALLY_CONN_CLOSING)
			err = -ENOTCONN;
		else
			err = tally_recv_post(conn, &msgs->recvs[i]);
	}
	spin_unlock_irqrestore(&conn->lock, flags);
	return err;
}

static int tally_recv_init(struct tally_conn *conn, struct tally_recv *recv)
{
	struct ib_device *ibdev = conn->dev->ibdev;
	void *buf;

	recv->cqe.done = tally_recv_completed;
	INIT_LIST_HEAD(&recv->list);
	buf = kmalloc(TALLY_MSG_SIZE, GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	recv->dma = ib_dma_map_single(ibdev, buf, TALLY_MSG_SIZE,
				      DMA_FROM_DEVICE);
	if (ib_dma_mapping_error(ibdev, recv->dma)) {
		kfree(buf);
		return -ENOMEM;
	}
	recv->buf = buf;
	return 0;
}

static void tally_recv_free(struct tally_conn *conn, struct tally_recv *recv)
{
	if (!recv->buf)
		return;
	ib_dma_unmap_single(conn->dev->ibdev, recv->dma, TALLY_MSG_SIZE,
			    DMA_FROM_DEVICE);
	kfree(recv->buf);
}

static int tally_msgs_fill(struct tally_conn *conn, struct tally_msgs *msgs)
{
	struct tally_msg_head head = { .type = TALLY_MSG_CREDIT };
	struct tally_send *send;
	int i, err;

	for (i = 0; i < TALLY_MSG_CREDITS; i++) {
		send = tally_send_make(&head, NULL, 0, NULL, 0, GFP_KERNEL);
		if (!send)
			return -ENOMEM;
		send->credit = true;
		list_add_tail(&send->list, &msgs->spare);
	}
	for (i = 0; i < TALLY_MSG_DEPTH; i++) {
		err = tally_recv_init(conn, &msgs->recvs[i]);
		if (err)
			return err;
	}
	return 0;
}

/**
 * tally_msgs_create - make RECV ring and send queue
 * @conn: control conn with a device
 *
 * Return: 0 or -ENOMEM; tally_msgs_destroy() frees what was made.
 */
int tally_msgs_create(struct tally_conn *conn)
{
	struct tally_msgs *msgs = kvzalloc(sizeof(*msgs), GFP_KERNEL);

	if (!msgs)
		return -ENOMEM;
	tally_credits_init(&msgs->credits);
	INIT_LIST_HEAD(&msgs->arrived);
	INIT_LIST_HEAD(&msgs->queue);
	INIT_LIST_HEAD(&msgs->wire);
	INIT_LIST_HEAD(&msgs->spare);
	conn->msgs = msgs;
	return tally_msgs_fill(conn, msgs);
}

/**
 * tally_msgs_destroy - undo tally_msgs_create()
 * @conn: conn without a QP; without messages nothing is done
 */
void tally_msgs_destroy(struct tally_conn *conn)
{
	struct tally_msgs *msgs = conn->msgs;
	struct tally_send *send, *next;
	int i;

	if (!msgs)
		return;
	/* Every send completes in the drain, unless the device lost it. */
	list_for_each_entry(send, &msgs->wire, list)
		tally_send_unmap(conn, send);
	list_splice(&msgs->queue, &msgs->wire);
	list_splice(&msgs->spare, &msgs->wire);
	list_for_each_entry_safe(send, next, &msgs->wire, list)
		kfree(send);
	for (i = 0; i < TALLY_MSG_DEPTH; i++)
		tally_recv_free(conn, &msgs->recvs[i]);
	kvfree(msgs);
	conn->msgs = NULL;
}
