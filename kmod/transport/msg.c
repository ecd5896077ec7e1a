// SPDX-License-Identifier: GPL-2.0
/*
 * Control messages of one conn: RECV ring, send queue, delivery in order.
 * When a message may be sent is transport/credit.c's business.
 *
 * Nothing on the way of a message allocates. The RECVs and the send buffers are
 * made and mapped with the conn; a message takes a send buffer while it waits for
 * credits and until the device has sent it. Only those that find no buffer free,
 * because the peer does not take what it was sent, are allocated, as their
 * sender says, and move into buffers later.
 *
 * Sends complete in order, so only every TALLY_MSG_SIGNAL-th one asks for a
 * completion, which gives back all buffers before it. Fewer are unaccounted
 * for than there are buffers, so that the next one is always on its way while
 * a message waits.
 *
 * DOC: there is no shared receive queue. Credits promise the peer RECVs of its
 * own: from a shared queue, one peer could take those of all others, and every
 * message would need a look at its sender. Emptying a QP with one takes an
 * event that rxe does not raise before 6.12, and up to 60 s after.
 */
#include <linux/dma-mapping.h>
#include <linux/slab.h>
#include "base/stats.h"
#include "base/trace.h"
#include "compat/compat.h"
#include "transport/credit.h"
#include "transport/msg.h"

/*
 * Messages that may wait for a peer beside those in the send buffers: answers, at
 * most 16 MiB, and what is short and said of objects, of which a session may have
 * 100,000: when their arena goes, or the link has come back, each is spoken of.
 */
#define TALLY_MSG_BACKLOG	16384
#define TALLY_MSG_OBJECTS	(8 * TALLY_MSG_BACKLOG)
/* One send of so many asks for a completion. */
#define TALLY_MSG_SIGNAL	16

static_assert(2 * TALLY_MSG_SIGNAL <= TALLY_MSG_BUFFERS);

/* One RECV buffer. */
struct tally_recv {
	struct ib_cqe cqe;
	struct list_head list;
	struct ib_sge sge;
	struct ib_recv_wr wr;
	u32 len;
	u8 *buf;
};

/* One send buffer. */
struct tally_send {
	struct ib_cqe cqe;
	struct list_head list;
	struct ib_sge sge;
	bool credit;		/* it is for CREDIT only */
	bool posted;
	u8 *buf;
};

/* A message that found no send buffer. */
struct tally_late {
	struct list_head list;
	u32 len;
	bool object;	/* said of an object, not an answer */
	u8 buf[] __aligned(8);
};

/**
 * struct tally_msgs - messages of one conn; under conn->lock
 * @recvs: RECV buffers
 * @sends: send buffers, those of CREDIT last
 * @arrived: received and not delivered yet, in order; the work item's alone
 * @queue: send buffers with a message to be sent, in order
 * @wire: send buffers that were posted, in order
 * @free: send buffers that are free
 * @spare: those of CREDIT that are free
 * @late: messages to be sent after all that are in buffers, in order
 * @backlog: how many @late has: answers and the like, and what is said of objects
 * @quiet: sends since the last one that asked for a completion
 * @credits: how much may be sent
 * @live: up() was called
 * @broken: something malformed came: what follows is not looked at
 */
struct tally_msgs {
	struct tally_recv recvs[TALLY_MSG_DEPTH];
	struct tally_send sends[TALLY_MSG_SENDS];
	struct list_head arrived;
	struct list_head queue;
	struct list_head wire;
	struct list_head free;
	struct list_head spare;
	struct list_head late;
	u32 backlog[2];
	u32 quiet;
	struct tally_credits credits;
	bool live;
	bool broken;
};

static void tally_msg_write(void *buf, const struct tally_msg_head *head,
			    const void *body, u32 len)
{
	struct tally_hdr *hdr = buf;

	*hdr = (struct tally_hdr) {
		.type = cpu_to_be16(head->type),
		.len = cpu_to_be32(sizeof(*hdr) + len),
		.req = cpu_to_be16(head->req),
		.slot = cpu_to_be16(head->slot),
		.seq = cpu_to_be32(head->seq),
		.session = cpu_to_be64(head->session),
	};
	memcpy(hdr + 1, body, len);
}

static int tally_send_post(struct tally_conn *conn, struct tally_send *send)
{
	struct tally_hdr *hdr = (void *)send->buf;
	struct tally_msgs *msgs = conn->msgs;
	struct ib_send_wr wr = {
		.wr_cqe = &send->cqe,
		.sg_list = &send->sge,
		.num_sge = 1,
		.opcode = IB_WR_SEND,
	};
	int err;

	/* There are few for CREDIT, which may be all that is ever sent. */
	if (send->credit || ++msgs->quiet == TALLY_MSG_SIGNAL) {
		wr.send_flags = IB_SEND_SIGNALED;
		msgs->quiet = 0;
	}
	hdr->credit = cpu_to_be32(tally_credits_send(&msgs->credits));
	ib_dma_sync_single_for_device(conn->dev->ibdev, send->sge.addr,
				      send->sge.length, DMA_TO_DEVICE);
	trace_tally_msg_send(conn->serial, hdr);
	err = ib_post_send(conn->qp, &wr, NULL);
	if (err)
		return err;
	send->posted = true;
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

/* The send buffer for the next message, which has @len bytes, or NULL. */
static struct tally_send *tally_msgs_next(struct tally_msgs *msgs, u32 len)
{
	struct tally_send *send;

	send = list_first_entry_or_null(&msgs->free, struct tally_send, list);
	if (send) {
		send->sge.length = len;
		list_move_tail(&send->list, &msgs->queue);
	}
	return send;
}

/* Buffers became free: what waited for them moves in. */
static void tally_msgs_refill(struct tally_msgs *msgs)
{
	struct tally_late *late;
	struct tally_send *send;

	while (!list_empty(&msgs->late)) {
		late = list_first_entry(&msgs->late, struct tally_late, list);
		send = tally_msgs_next(msgs, late->len);
		if (!send)
			return;
		memcpy(send->buf, late->buf, late->len);
		msgs->backlog[late->object]--;
		list_del(&late->list);
		kfree(late);
	}
}

static void tally_send_completed(struct ib_cq *cq, struct ib_wc *wc)
{
	struct tally_send *send = container_of(wc->wr_cqe, struct tally_send,
					       cqe), *first;
	struct tally_conn *conn = tally_conn_of(cq);
	struct tally_msgs *msgs = conn->msgs;
	unsigned long flags;

	spin_lock_irqsave(&conn->lock, flags);
	if (wc->status != IB_WC_SUCCESS)
		tally_conn_wc_failed(conn, wc->status);
	while (send->posted) {
		first = list_first_entry(&msgs->wire, struct tally_send, list);
		first->posted = false;
		list_move_tail(&first->list, first->credit ? &msgs->spare :
							     &msgs->free);
	}
	tally_msgs_refill(msgs);
	tally_msgs_pump(conn);
	spin_unlock_irqrestore(&conn->lock, flags);
}

/* What the header says about itself and about our own messages. */
static bool tally_msgs_check(struct tally_msgs *msgs,
			     const struct tally_hdr *hdr, u32 len)
{
	u16 type = be16_to_cpu(hdr->type);

	if (len < sizeof(*hdr) || be32_to_cpu(hdr->len) != len ||
	    hdr->flags || hdr->reserved || !type || type >= __TALLY_MSG_MAX ||
	    (type == TALLY_MSG_CREDIT && len != sizeof(*hdr)))
		return false;
	return tally_credits_ack(&msgs->credits, be32_to_cpu(hdr->credit));
}

static void tally_msgs_malformed(struct tally_conn *conn)
{
	conn->msgs->broken = true;
	tally_stat_inc(conn->stats, TALLY_STAT_MALFORMED);
	tally_conn_fail_locked(conn, -EPROTO);
}

static void tally_recv_completed(struct ib_cq *cq, struct ib_wc *wc)
{
	struct tally_recv *recv = container_of(wc->wr_cqe, typeof(*recv), cqe);
	struct tally_conn *conn = tally_conn_of(cq);
	unsigned long flags;

	if (wc->status == IB_WC_SUCCESS) {
		recv->len = wc->byte_len;
		list_add_tail(&recv->list, &conn->msgs->arrived);
		return;
	}
	spin_lock_irqsave(&conn->lock, flags);
	if (wc->status == IB_WC_LOC_LEN_ERR)
		tally_msgs_malformed(conn);
	else
		tally_conn_wc_failed(conn, wc->status);
	spin_unlock_irqrestore(&conn->lock, flags);
}

/* Their credits count at once. What may be delivered goes to @batch. */
static void tally_msgs_take(struct tally_conn *conn, struct list_head *batch)
{
	struct tally_msgs *msgs = conn->msgs;
	struct tally_recv *recv, *next;
	unsigned long flags;

	spin_lock_irqsave(&conn->lock, flags);
	list_for_each_entry_safe(recv, next, &msgs->arrived, list) {
		list_del(&recv->list);
		tally_stat_inc(conn->stats, TALLY_STAT_RECV);
		ib_dma_sync_single_for_cpu(conn->dev->ibdev, recv->sge.addr,
					   recv->len, DMA_FROM_DEVICE);
		if (msgs->broken)
			continue;
		if (tally_msgs_check(msgs, (void *)recv->buf, recv->len))
			list_add_tail(&recv->list, batch);
		else
			tally_msgs_malformed(conn);
	}
	if (!list_empty(&msgs->queue))
		tally_msgs_pump(conn);
	spin_unlock_irqrestore(&conn->lock, flags);
}

/* Lock held, the conn not closing. */
static int tally_recvs_post(struct tally_conn *conn, struct list_head *recvs)
{
	struct ib_recv_wr *first = NULL, **link = &first;
	struct tally_recv *recv;

	list_for_each_entry(recv, recvs, list) {
		ib_dma_sync_single_for_device(conn->dev->ibdev, recv->sge.addr,
					      TALLY_MSG_SIZE, DMA_FROM_DEVICE);
		*link = &recv->wr;
		link = &recv->wr.next;
	}
	*link = NULL;
	return ib_post_recv(conn->qp, first, NULL);
}

/* The buffers go back to the ring, and the peer will be told. */
static void tally_msgs_consumed(struct tally_conn *conn,
				struct list_head *batch)
{
	unsigned long flags;
	bool begun;
	int err;

	begun = tally_compat_post_begin(conn->posts_in_bh);
	spin_lock_irqsave(&conn->lock, flags);
	if (conn->state == TALLY_CONN_UP) {
		conn->msgs->credits.consumed += list_count_nodes(batch);
		err = tally_recvs_post(conn, batch);
		if (err)
			tally_conn_fail_locked(conn, err);
		tally_msgs_pump(conn);
	}
	spin_unlock_irqrestore(&conn->lock, flags);
	tally_compat_post_end(begun);
}

/* Hand the messages that came to the conn's owner, who may sleep. */
void tally_msgs_deliver(struct tally_cq *q)
{
	struct tally_conn *conn = container_of(q, struct tally_conn, cq);
	struct tally_msgs *msgs = conn->msgs;
	const struct tally_hdr *hdr;
	struct tally_recv *recv;
	LIST_HEAD(batch);

	/* Pairs with tally_msgs_live(). */
	if (list_empty(&msgs->arrived) || !smp_load_acquire(&msgs->live))
		return;
	tally_msgs_take(conn, &batch);
	list_for_each_entry(recv, &batch, list) {
		hdr = (void *)recv->buf;
		trace_tally_msg_recv(conn->serial, hdr);
		if (hdr->type != cpu_to_be16(TALLY_MSG_CREDIT) &&
		    conn->ops->message)
			conn->ops->message(conn, hdr, hdr + 1,
					   recv->len - sizeof(*hdr));
		cond_resched();
	}
	if (!list_empty(&batch))
		tally_msgs_consumed(conn, &batch);
}

/*
 * Into a send buffer, or into *@late, which is NULL then. Return: -ENOBUFS: no
 * buffer is free, and there is no *@late.
 */
static int tally_msgs_add(struct tally_conn *conn,
			  const struct tally_msg_head *head, const void *body,
			  u32 len, struct tally_late **late)
{
	struct tally_msgs *msgs = conn->msgs;
	struct tally_send *send = NULL;
	unsigned long flags;
	bool begun;
	int err = 0;

	begun = tally_compat_post_begin(conn->posts_in_bh);
	spin_lock_irqsave(&conn->lock, flags);
	if (conn->state != TALLY_CONN_UP || !msgs) {
		err = -ENOTCONN;
		goto out;
	}
	if (list_empty(&msgs->late))
		send = tally_msgs_next(msgs, sizeof(struct tally_hdr) + len);
	if (send) {
		tally_msg_write(send->buf, head, body, len);
		tally_msgs_pump(conn);
	} else if (!*late) {
		err = -ENOBUFS;
	} else if (msgs->backlog[(*late)->object] >=
		   ((*late)->object ? TALLY_MSG_OBJECTS : TALLY_MSG_BACKLOG)) {
		/* Not for a peer that asks and never takes the answers. */
		tally_stat_inc(conn->stats, TALLY_STAT_QUOTA);
		tally_conn_fail_locked(conn, -ENOBUFS);
		err = -ENOTCONN;
	} else {
		msgs->backlog[(*late)->object]++;
		list_add_tail(&(*late)->list, &msgs->late);
		*late = NULL;
	}
out:
	spin_unlock_irqrestore(&conn->lock, flags);
	tally_compat_post_end(begun);
	return err;
}

/**
 * tally_msg_send - queue a message
 * @conn: control conn of which the caller holds a reference
 * @head: what its header is to say
 * @body: its body, copied
 * @len: length of that
 * @gfp: how to wait for memory where no send buffer is free; nothing else is
 *	waited for
 *
 * Messages arrive in the order in which they were queued.
 *
 * Context: as @gfp; with GFP_NOWAIT any but hard interrupts.
 * Return: 0, -ENOTCONN, -EMSGSIZE, or -ENOMEM: then the caller must send it
 * later or fail the conn, as a message may be dropped only with its conn.
 */
int tally_msg_send(struct tally_conn *conn, const struct tally_msg_head *head,
		   const void *body, u32 len, gfp_t gfp)
{
	u32 size = sizeof(struct tally_hdr) + len;
	struct tally_late *late = NULL;
	int err;

	if (len > TALLY_BODY_MAX)
		return -EMSGSIZE;
	err = tally_msgs_add(conn, head, body, len, &late);
	if (err != -ENOBUFS)
		return err;
	late = kmalloc(struct_size(late, buf, size), gfp);
	if (!late)
		return -ENOMEM;
	late->len = size;
	late->object = head->type >= TALLY_MSG_FORGET;
	tally_msg_write(late->buf, head, body, len);
	err = tally_msgs_add(conn, head, body, len, &late);
	kfree(late);
	return err;
}

/* The peer told how many RECVs it has; fewer than the minimum are not believed. */
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

/* The owner was told that it is up: deliver what came, and what will come. */
void tally_msgs_live(struct tally_conn *conn)
{
	/* Its owner is ready when the first message comes. */
	smp_store_release(&conn->msgs->live, true);
	tally_cq_queue(&conn->cq);
}

/* The QP is drained: deliver what came before, and nothing afterwards. */
void tally_msgs_stop(struct tally_conn *conn)
{
	flush_work(&conn->cq.work);
	/* In case the QP did not empty: what comes now is too late. */
	WRITE_ONCE(conn->msgs->live, false);
	flush_work(&conn->cq.work);
}

/* Fill the RECV ring, before the QP is connected. A lane has none. */
int tally_msgs_start(struct tally_conn *conn)
{
	struct tally_msgs *msgs = conn->msgs;
	int i, err = -ENOTCONN;
	unsigned long flags;
	LIST_HEAD(recvs);

	if (!msgs)
		return 0;
	for (i = 0; i < TALLY_MSG_DEPTH; i++)
		list_add_tail(&msgs->recvs[i].list, &recvs);
	spin_lock_irqsave(&conn->lock, flags);
	if (conn->state < TALLY_CONN_CLOSING)
		err = tally_recvs_post(conn, &recvs);
	spin_unlock_irqrestore(&conn->lock, flags);
	return err;
}

/* Return: the buffer, NULL without memory. */
static u8 *tally_msgs_map(struct tally_conn *conn, struct ib_sge *sge,
			  enum dma_data_direction dir)
{
	struct ib_device *ibdev = conn->dev->ibdev;
	u8 *buf = kzalloc(TALLY_MSG_SIZE, GFP_KERNEL);

	if (!buf)
		return NULL;
	sge->length = TALLY_MSG_SIZE;
	sge->lkey = conn->pd->local_dma_lkey;
	sge->addr = ib_dma_map_single(ibdev, buf, TALLY_MSG_SIZE, dir);
	if (!ib_dma_mapping_error(ibdev, sge->addr))
		return buf;
	kfree(buf);
	return NULL;
}

static void tally_msgs_unmap(struct tally_conn *conn, u8 *buf, u64 dma,
			     enum dma_data_direction dir)
{
	if (!buf)
		return;
	ib_dma_unmap_single(conn->dev->ibdev, dma, TALLY_MSG_SIZE, dir);
	kfree(buf);
}

static int tally_recv_init(struct tally_conn *conn, struct tally_recv *recv)
{
	recv->cqe.done = tally_recv_completed;
	recv->wr.wr_cqe = &recv->cqe;
	recv->wr.sg_list = &recv->sge;
	recv->wr.num_sge = 1;
	recv->buf = tally_msgs_map(conn, &recv->sge, DMA_FROM_DEVICE);
	return recv->buf ? 0 : -ENOMEM;
}

static int tally_send_init(struct tally_conn *conn, struct tally_send *send,
			   bool credit)
{
	const struct tally_msg_head head = { .type = TALLY_MSG_CREDIT };
	struct tally_msgs *msgs = conn->msgs;

	send->cqe.done = tally_send_completed;
	send->credit = credit;
	send->buf = tally_msgs_map(conn, &send->sge, DMA_TO_DEVICE);
	if (!send->buf)
		return -ENOMEM;
	if (credit) {
		send->sge.length = sizeof(struct tally_hdr);
		tally_msg_write(send->buf, &head, NULL, 0);
	}
	list_add_tail(&send->list, credit ? &msgs->spare : &msgs->free);
	return 0;
}

/* On error tally_msgs_destroy() frees what was made. */
int tally_msgs_create(struct tally_conn *conn)
{
	struct tally_msgs *msgs = kvzalloc(sizeof(*msgs), GFP_KERNEL);
	int i, err = 0;

	if (!msgs)
		return -ENOMEM;
	msgs->credits.depth = TALLY_CREDIT_DEPTH_MIN;
	INIT_LIST_HEAD(&msgs->arrived);
	INIT_LIST_HEAD(&msgs->queue);
	INIT_LIST_HEAD(&msgs->wire);
	INIT_LIST_HEAD(&msgs->free);
	INIT_LIST_HEAD(&msgs->spare);
	INIT_LIST_HEAD(&msgs->late);
	conn->msgs = msgs;
	for (i = 0; i < TALLY_MSG_SENDS && !err; i++)
		err = tally_send_init(conn, &msgs->sends[i],
				      i >= TALLY_MSG_BUFFERS);
	for (i = 0; i < TALLY_MSG_DEPTH && !err; i++)
		err = tally_recv_init(conn, &msgs->recvs[i]);
	return err;
}

/* The conn has no QP. */
void tally_msgs_destroy(struct tally_conn *conn)
{
	struct tally_msgs *msgs = conn->msgs;
	struct tally_late *late, *next;
	int i;

	if (!msgs)
		return;
	list_for_each_entry_safe(late, next, &msgs->late, list)
		kfree(late);
	for (i = 0; i < TALLY_MSG_SENDS; i++)
		tally_msgs_unmap(conn, msgs->sends[i].buf,
				 msgs->sends[i].sge.addr, DMA_TO_DEVICE);
	for (i = 0; i < TALLY_MSG_DEPTH; i++)
		tally_msgs_unmap(conn, msgs->recvs[i].buf,
				 msgs->recvs[i].sge.addr, DMA_FROM_DEVICE);
	kvfree(msgs);
	conn->msgs = NULL;
}
