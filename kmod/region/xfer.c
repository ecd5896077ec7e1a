// SPDX-License-Identifier: GPL-2.0
/*
 * Every chunk in flight holds a reference to its transfer, so that a caller
 * that is killed or times out can leave: the last completion hands the transfer
 * to a work item, which unpins the pages. That is bounded, because every posted
 * operation completes when its QP dies. A caller whose buffer is kernel memory
 * waits instead: nothing else keeps that memory alive.
 *
 * Only a chunk in flight is inside the handle. What else a transfer waits for (its
 * caller's pages, keys, room) may take any time, and the home waits for none of it
 * when it wants the object forgotten.
 *
 * Not by rdma_rw_ctx_*(), which are as fast (1.00 of the same requests posted
 * plainly, from 4 KiB to 1 MiB: "tally bench figure rw"), but post by themselves,
 * past the conn's queue, its credit of Reads and its sweep at the end of a QP.
 */
#include "region/xfer.h"

#include <linux/dma-mapping.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include "base/delay.h"
#include "base/trace.h"
#include "region/chunk.h"
#include "region/pages.h"
#include "session/session.h"
#include "transport/op.h"

/* Of one chunk, where the memory lies together. */
#define XFER_CHUNK	SZ_1M
/* Chunks of one transfer at a time. */
#define XFER_WINDOW	16
/* Bytes of all transfers of a device; a chunk counts as some at least. */
#define XFER_DEVICE	SZ_8M
#define XFER_LEAST	SZ_128K

struct xfer;

/**
 * struct xfer_slot - one chunk
 * @xfer: its transfer, referenced from submission to completion
 * @op: the operation
 * @finished: completed by it
 * @conn: lane it went out on, referenced while the slot is in use
 * @dev: its device, likewise; outlives the QP
 * @lkey: key for local memory in the lane's PD
 * @lane: which one
 * @bytes: what it takes of the device's limit
 * @pages: local memory
 * @sge: the same as the device sees it
 */
struct xfer_slot {
	struct xfer *xfer;
	struct tally_op op;
	struct completion finished;
	struct tally_conn *conn;
	struct tally_dev *dev;
	u32 lkey;
	u32 lane;
	u32 bytes;
	struct tally_pages pages;
	struct ib_sge sge[TALLY_PAGES_MAX];
};

/**
 * struct xfer - one transfer
 * @ref: the caller, and each chunk in flight
 * @id: names it in traces
 * @args: copied from the caller
 * @iter: the caller's iterator; only used by the caller
 * @left: bytes not yet put into a chunk
 * @done: length of the acknowledged prefix
 * @err: why no more chunks are sent, 0 while they are
 * @broken: a chunk failed: the prefix ends there, and its error is the result
 * @touched: some chunk reached the target, or may have
 * @head: number of chunks submitted
 * @tail: number of chunks looked at again
 * @abandoned: the caller left chunks in flight to @cleanup
 * @cleanup: gives back what an abandoned transfer holds
 * @slots: entries of @slot
 * @slot: the chunks, used in a ring
 */
struct xfer {
	struct kref ref;
	u32 id;
	struct tally_xfer_args args;
	struct iov_iter *iter;
	u64 left;
	u64 done;
	int err;
	bool broken;
	bool touched;
	u32 head;
	u32 tail;
	bool abandoned;
	struct work_struct cleanup;
	u32 slots;
	struct xfer_slot slot[] __counted_by(slots);
};

static struct workqueue_struct *xfer_wq;
static atomic_t xfer_ids;
/* For room on a device. */
static DECLARE_WAIT_QUEUE_HEAD(xfer_wait);

static enum dma_data_direction xfer_dir(const struct xfer *x)
{
	return x->args.write ? DMA_TO_DEVICE : DMA_FROM_DEVICE;
}

static void xfer_unmap(struct xfer_slot *slot, u32 n)
{
	struct ib_device *ibdev = slot->dev->ibdev;
	u32 i;

	for (i = 0; i < n; i++)
		ib_dma_unmap_page(ibdev, slot->sge[i].addr,
				  slot->sge[i].length, xfer_dir(slot->xfer));
}

static int xfer_map(struct xfer_slot *slot)
{
	struct ib_device *ibdev = slot->dev->ibdev;
	const struct bio_vec *vec = slot->pages.vec;
	u32 i;

	for (i = 0; i < slot->pages.n; i++, vec++) {
		slot->sge[i].addr = ib_dma_map_page(ibdev, vec->bv_page,
						    vec->bv_offset, vec->bv_len,
						    xfer_dir(slot->xfer));
		if (ib_dma_mapping_error(ibdev, slot->sge[i].addr)) {
			xfer_unmap(slot, i);
			return -ENOMEM;
		}
		slot->sge[i].length = vec->bv_len;
		slot->sge[i].lkey = slot->lkey;
	}
	return 0;
}

/* The chunk is not on the wire: unmap, unpin. */
static void xfer_slot_release(struct xfer_slot *slot)
{
	if (!slot->conn)
		return;
	xfer_unmap(slot, slot->pages.n);
	tally_pages_release(&slot->pages, !slot->xfer->args.write);
	tally_dev_put(slot->dev);
	tally_conn_put(slot->conn);
	slot->conn = NULL;
}

static void xfer_cleanup(struct work_struct *work)
{
	struct xfer *x = container_of(work, struct xfer, cleanup);
	u32 i;

	for (i = 0; i < x->slots; i++)
		xfer_slot_release(x->slot + i);
	tally_handle_put(x->args.handle);
	kvfree(x);
}

static void xfer_free(struct kref *ref)
{
	struct xfer *x = container_of(ref, struct xfer, ref);

	if (x->abandoned)
		queue_work(xfer_wq, &x->cleanup);
	else
		kvfree(x);
}

static void xfer_bytes_put(struct xfer_slot *slot)
{
	atomic_sub(slot->bytes, &slot->dev->busy_bytes);
	if (wq_has_sleeper(&xfer_wait))
		wake_up_all(&xfer_wait);
}

/* The last one may go beyond the limit, so that large ones get there, too. */
static bool xfer_bytes_fit(atomic_t *busy, u32 bytes)
{
	int old = atomic_read(busy);

	do {
		if (old >= XFER_DEVICE)
			return false;
	} while (!atomic_try_cmpxchg(busy, &old, old + bytes));
	return true;
}

/* Bulk must not fill the queues of a device that also carries leases. */
static int xfer_bytes_get(struct xfer_slot *slot)
{
	const struct tally_xfer_args *args = &slot->xfer->args;
	atomic_t *busy = &slot->dev->busy_bytes;
	bool fit = false;
	long left = tally_until_left(&args->until);

	slot->bytes = max_t(u32, slot->pages.len, XFER_LEAST);
	if (!left)
		return -ETIMEDOUT;
	left = wait_event_killable_timeout(xfer_wait,
					   READ_ONCE(args->handle->error) ||
					   (fit = xfer_bytes_fit(busy, slot->bytes)),
					   left);
	if (fit)
		return 0;
	if (left < 0)
		return -EINTR;
	return left ? -EAGAIN : -ETIMEDOUT;
}

/**
 * tally_xfer_ended - a handle has an error: nothing waits for room for it
 * @handle: which
 *
 * Context: any.
 */
void tally_xfer_ended(struct tally_handle *handle)
{
	if (wq_has_sleeper(&xfer_wait))
		wake_up_all(&xfer_wait);
}

static void xfer_op_done(struct tally_op *op)
{
	struct xfer_slot *slot = container_of(op, struct xfer_slot, op);
	struct xfer *x = slot->xfer;

	tally_handle_op_failed(x->args.handle, op->status);
	if (!op->status && x->args.wrote)
		x->args.wrote(&x->args, slot->lane);
	xfer_bytes_put(slot);
	tally_handle_leave(x->args.handle);
	complete(&slot->finished);
	kref_put(&x->ref, xfer_free);
}

/* Device and PD are there for certain only while the conn is UP. */
static int xfer_take_lane(struct xfer_slot *slot, u32 lane)
{
	struct tally_xfer_args *args = &slot->xfer->args;
	struct tally_conn *conn = tally_session_lane(args->session,
						     args->handle->hash + lane);
	unsigned long flags;

	slot->conn = NULL;
	slot->pages.n = 0;
	if (!conn)
		return tally_handle_no_conn(args->handle);
	spin_lock_irqsave(&conn->lock, flags);
	if (conn->state == TALLY_CONN_UP) {
		kref_get(&conn->dev->ref);
		slot->conn = conn;
		slot->dev = conn->dev;
		slot->lkey = conn->pd->local_dma_lkey;
	}
	spin_unlock_irqrestore(&conn->lock, flags);
	if (slot->conn)
		return 0;
	tally_conn_put(conn);
	return tally_handle_no_conn(args->handle);
}

/* Bytes that the device takes in one piece. */
static u32 xfer_piece(struct ib_device *ibdev)
{
	if (ib_uses_virt_dma(ibdev))
		return XFER_CHUNK;
	return clamp_t(size_t, dma_max_mapping_size(ibdev->dma_device),
		       PAGE_SIZE, XFER_CHUNK);
}

/* Fill a slot with the next bytes and map them for its lane's device. */
static int xfer_fill(struct xfer_slot *slot, u32 len)
{
	struct ib_device *ibdev = slot->dev->ibdev;
	struct xfer *x = slot->xfer;
	int err;

	/*
	 * What a device reads into must be a memory region on iWARP, where the
	 * answer to a Read is a Write, and the peer's key for it would have to
	 * allow that. We map local memory and do not register it.
	 */
	if (!x->args.write &&
	    rdma_protocol_iwarp(ibdev, rdma_start_port(ibdev)))
		return -EOPNOTSUPP;
	err = tally_pages_fill(&slot->pages, x->iter, len,
			       min_t(u32, TALLY_PAGES_MAX, slot->dev->max_sge),
			       xfer_piece(ibdev));
	if (err)
		return err;
	x->left -= slot->pages.len;
	err = xfer_map(slot);
	if (err) {
		tally_pages_release(&slot->pages, false);
		return err;
	}
	return xfer_bytes_get(slot);
}

/* Nothing is waited for from here until the chunk is on its way. */
static int xfer_enter(struct xfer_slot *slot)
{
	struct tally_xfer_args *args = &slot->xfer->args;
	int err;

	tally_delay(XFER);
	err = tally_handle_try_enter(args->handle);
	if (!err) {
		err = args->check(args);
		if (err)
			tally_handle_leave(args->handle);
	}
	if (err)
		xfer_bytes_put(slot);
	return err;
}

/* Send the next chunk from a free slot. */
static int xfer_send(struct xfer *x)
{
	struct xfer_slot *slot = x->slot + x->head % x->slots;
	u32 lane = x->args.lane + x->head % TALLY_LANES_MAX;
	struct tally_xfer_key key;
	struct tally_chunk chunk;
	int err;

	chunk = tally_chunk_next(x->args.pos, x->left, x->args.unit,
				 XFER_CHUNK);
	err = x->args.key(&x->args, chunk.mr, &key);
	if (err)
		return err;
	slot->xfer = x;
	slot->lane = lane;
	err = xfer_take_lane(slot, lane) ?: xfer_fill(slot, chunk.len) ?:
	      xfer_enter(slot);
	if (err) {
		xfer_slot_release(slot);
		return err;
	}
	x->args.pos += slot->pages.len;
	slot->op = (struct tally_op){
		.type = x->args.write ? TALLY_OP_WRITE : TALLY_OP_READ,
		.rkey = key.rkey,
		.addr = key.addr + chunk.offset,
		.sge = slot->sge,
		.num_sge = slot->pages.n,
		.stats = &x->args.handle->view->node->stats,
		.done = xfer_op_done,
	};
	init_completion(&slot->finished);
	kref_get(&x->ref);
	x->head++;
	tally_op_submit(slot->conn, &slot->op);
	if (x->args.wrote)
		x->args.wrote(&x->args, lane);
	return 0;
}

/* Look at the oldest chunk in flight; the first error ends the transfer. */
static void xfer_reap(struct xfer *x)
{
	struct xfer_slot *slot = x->slot + x->tail++ % x->slots;
	bool ours;
	int err;

	/* The caller can only leave pages behind that are pinned. */
	err = tally_op_wait(slot->conn, &slot->op, &slot->finished,
			    tally_until_left(&x->args.until),
			    slot->pages.pinned);
	ours = err != -EINPROGRESS;
	if (!ours)
		err = -EREMOTEIO;
	if (!err || err == -EREMOTEIO)
		x->touched = true;
	if (err && !x->broken) {
		x->broken = true;
		x->err = err;
	}
	if (!x->broken)
		x->done += slot->pages.len;
	if (ours)
		xfer_slot_release(slot);
	else
		x->abandoned = true;
}

static void xfer_drive(struct xfer *x)
{
	while (x->left && !x->err) {
		if (x->head - x->tail == x->slots)
			xfer_reap(x);
		else if (READ_ONCE(x->args.handle->error))
			x->err = -EAGAIN;	/* may have ended its lanes, too */
		else
			x->err = xfer_send(x);
	}
	while (x->tail != x->head)
		xfer_reap(x);
}

/* Slots are not cleared: each is filled when it is used. */
static struct xfer *xfer_create(const struct tally_xfer_args *args,
				struct iov_iter *iter)
{
	size_t left = iov_iter_count(iter);
	struct xfer *x;
	u32 slots, i;

	/* One for each chunk, if no pages lie together. */
	slots = min_t(size_t, 2 + left / (TALLY_PAGES_MAX * PAGE_SIZE),
		      XFER_WINDOW);
	x = kvmalloc(struct_size(x, slot, slots), GFP_KERNEL);
	if (!x)
		return NULL;
	memset(x, 0, sizeof(*x));
	kref_init(&x->ref);
	INIT_WORK(&x->cleanup, xfer_cleanup);
	x->id = atomic_inc_return(&xfer_ids);
	x->slots = slots;
	for (i = 0; i < slots; i++)
		x->slot[i].conn = NULL;
	x->args = *args;
	x->iter = iter;
	x->left = left;
	return x;
}

/**
 * tally_xfer_run - move bytes between an iterator and another node
 * @args: what and where; the handle has been opened
 * @iter: user, kvec or bvec iterator
 *
 * The handle is left when nothing of the transfer is on the wire any more, which may
 * be after the return. @iter is advanced by the result.
 *
 * Context: process; sleeps, killable.
 * Return: bytes of the acknowledged prefix, or an errno if there are none:
 * -EFAULT, -ENOMEM, -ENOTCONN, -ETIMEDOUT, -EINTR, -EIDRM: nothing was sent; -EAGAIN:
 * nothing was sent, as the handle has to be opened again;
 * -EACCES: the target refused; -EREMOTEIO: unknown.
 */
ssize_t tally_xfer_run(const struct tally_xfer_args *args,
		       struct iov_iter *iter)
{
	struct xfer *x = xfer_create(args, iter);
	size_t left = iov_iter_count(iter);
	ssize_t ret;

	if (!x)
		return -ENOMEM;
	trace_tally_xfer_begin(x->id, args->session->id,
			       args->handle->view->remote_id, args->handle->id,
			       args->write, args->pos, left);
	xfer_drive(x);
	ret = x->done;
	/* A later chunk of a write may be there although the first is not. */
	if (!ret)
		ret = x->args.write && x->touched ? -EREMOTEIO : x->err;
	trace_tally_xfer_end(x->id, x->done, x->err);
	iov_iter_revert(iter, left - iov_iter_count(iter) - x->done);
	if (x->abandoned)
		tally_handle_get(args->handle);
	kref_put(&x->ref, xfer_free);
	return ret;
}

int tally_xfer_init(void)
{
	xfer_wq = alloc_workqueue("tally_xfer", WQ_UNBOUND, 0);
	return xfer_wq ? 0 : -ENOMEM;
}

/*
 * Every conn is dead by now, so every operation has completed: waits for
 * abandoned transfers to be cleaned up.
 */
void tally_xfer_exit(void)
{
	destroy_workqueue(xfer_wq);
}
