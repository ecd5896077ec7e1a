// SPDX-License-Identifier: GPL-2.0
/*
 * Only one task takes completions at a time, so that they are handled in order:
 * an operation's last one ends it, and must not overtake its first. It is not
 * preempted meanwhile, so that others need not wait for a slow task. A task that
 * was told of a completion asks for the next event when none is left, and looks
 * again if one came meanwhile.
 *
 * DOC: why neither ib_alloc_cq() nor ib_cq_pool_get(). With either, a
 * completion goes through a work item of ib_core. To the caller of a short
 * operation that was as long again as the operation itself (measured with soft
 * RoCE), and a message went through two work items: a lock was handed over in 5.6
 * halves of a ping-pong instead of 5.2. IB_POLL_DIRECT has no event to sleep on. A
 * queue of the pool is shared: a message handler that sleeps would hold up all its
 * users, and none of them can wait for what is under way on one QP only.
 */
#include <linux/bottom_half.h>
#include <linux/cpumask.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include "compat/compat.h"
#include "transport/cq.h"

/* Batches after which the work item lets others run. */
#define TALLY_CQ_BUDGET	32

/* One wait in so many tries the full number of polls. */
#define TALLY_CQ_RETRY	64

/* State: callers may come in; one is inside; it is to look at the queue. */
#define TALLY_CQ_OPEN	BIT(0)
#define TALLY_CQ_WAITER	BIT(1)
#define TALLY_CQ_EVENT	BIT(2)

static unsigned int polls = 200;
module_param(polls, uint, 0644);
MODULE_PARM_DESC(polls, "how many times to poll for a completion before sleeping; 0: never");

static struct workqueue_struct *tally_cq_wq;
/* For queues of control conns, whose work may sleep. */
static struct workqueue_struct *tally_msg_wq;

/* Have the work item run, now or again. Any context. */
void tally_cq_queue(struct tally_cq *q)
{
	queue_work(q->after ? tally_msg_wq : tally_cq_wq, &q->work);
}

/* With bottom halves off. Return: how many, -EBUSY while another task does. */
static int tally_cq_poll(struct tally_cq *q)
{
	int n = -EBUSY, i;

	if (!test_and_set_bit_lock(0, &q->taken)) {
		n = ib_poll_cq(q->cq, TALLY_CQ_BATCH, q->wc);
		for (i = 0; i < n; i++)
			q->wc[i].wr_cqe->done(q->cq, &q->wc[i]);
		clear_bit_unlock(0, &q->taken);
	}
	return n;
}

static int tally_cq_take(struct tally_cq *q)
{
	int n;

	local_bh_disable();
	n = tally_cq_poll(q);
	local_bh_enable();
	return n;
}

/* Ask for an event at the next completion. True: it is there already. */
static bool tally_cq_arm(struct tally_cq *q)
{
	return ib_req_notify_cq(q->cq, IB_CQ_NEXT_COMP |
				       IB_CQ_REPORT_MISSED_EVENTS) > 0;
}

/* The waiter may have what it waits for. Any context. */
void tally_cq_kick(struct tally_cq *q)
{
	if (wq_has_sleeper(&q->wait))
		wake_up(&q->wait);
}

static void tally_cq_work(struct work_struct *work)
{
	struct tally_cq *q = container_of(work, struct tally_cq, work);
	unsigned int noio = memalloc_noio_save();
	int budget = TALLY_CQ_BUDGET, n;
	bool more;

	do {
		n = tally_cq_take(q);
		if (q->after)
			q->after(q);
		/* Less than a full batch: asking tells whether there is more. */
		more = n < 0 || n == TALLY_CQ_BATCH || tally_cq_arm(q);
	} while (more && n >= 0 && --budget);
	tally_cq_kick(q);
	if (more)
		tally_cq_queue(q);
	memalloc_noio_restore(noio);
}

/* Is there a caller to tell this event to, which heeded the last one? */
static bool tally_cq_tell(struct tally_cq *q)
{
	int state = atomic_read(&q->state);

	do {
		if (!(state & TALLY_CQ_WAITER) || (state & TALLY_CQ_EVENT))
			return false;
	} while (!atomic_try_cmpxchg(&q->state, &state,
				     state | TALLY_CQ_EVENT));
	tally_cq_kick(q);
	return true;
}

/* The device has something; some devices hold locks of their own here. */
static void tally_cq_event(struct ib_cq *cq, void *context)
{
	struct tally_cq *q = context;

	void *alone = READ_ONCE(q->alone);

	/* Looks again: another one may have been posted before it was told. */
	if (!alone || alone != READ_ONCE(q->own) || !tally_cq_tell(q) ||
	    alone != READ_ONCE(q->alone) || alone != READ_ONCE(q->own))
		tally_cq_queue(q);
}

static bool tally_cq_is(struct tally_cq *q, int state)
{
	return atomic_read(&q->state) & state;
}

/*
 * An operation was posted: @op, if no other one is in flight. A caller that was told
 * of an event, and does not get to run, must not hold up the others. The conn's lock
 * is held.
 */
void tally_cq_posted(struct tally_cq *q, void *op)
{
	WRITE_ONCE(q->alone, q->flying++ ? NULL : op);
	/* The event is seen here, or what it is told by sees this. */
	smp_mb();
	if (tally_cq_is(q, TALLY_CQ_EVENT))
		tally_cq_queue(q);
}

/* One has completed: @op is left, if it is one. The conn's lock is held. */
void tally_cq_retired(struct tally_cq *q, void *op)
{
	WRITE_ONCE(q->alone, --q->flying == 1 ? op : NULL);
}

static void tally_cq_forget(struct tally_cq *q)
{
	atomic_andnot(TALLY_CQ_EVENT, &q->state);
	/* Before the queue is looked at, so that a later event stays. */
	smp_mb__after_atomic();
}

/*
 * We alone were told of an event, which is the last one until we ask. Not to be
 * preempted between: the next one would be told to no task meanwhile.
 */
static void tally_cq_heed(struct tally_cq *q)
{
	local_bh_disable();
	tally_cq_forget(q);
	if (tally_cq_poll(q) >= 0 && tally_cq_arm(q))
		atomic_or(TALLY_CQ_EVENT, &q->state);
	local_bh_enable();
}

static bool tally_cq_enter(struct tally_cq *q)
{
	return atomic_cmpxchg(&q->state, TALLY_CQ_OPEN,
			      TALLY_CQ_OPEN | TALLY_CQ_WAITER) == TALLY_CQ_OPEN;
}

/* What came and is not the caller's is for the work item. */
static void tally_cq_leave(struct tally_cq *q)
{
	int state = atomic_read(&q->state);

	do {
		while (state & TALLY_CQ_EVENT) {
			local_bh_disable();
			tally_cq_forget(q);
			if (tally_cq_arm(q))
				tally_cq_queue(q);
			local_bh_enable();
			state = atomic_read(&q->state);
		}
	} while (!atomic_try_cmpxchg(&q->state, &state,
				     state & ~TALLY_CQ_WAITER));
	if (!(state & TALLY_CQ_OPEN))
		wake_up(&q->wait);
}

/*
 * To sleep and wake up takes longer than some operations. Polls that bring
 * nothing make the next ones fewer; now and then all are tried again. With one
 * processor, they would only keep a soft device from working.
 */
static bool tally_cq_spin(struct tally_cq *q, struct completion *done,
			  struct tally_polls *p)
{
	u32 most = READ_ONCE(polls), budget = min(p->budget, most), i;

	if (!(p->waits++ % TALLY_CQ_RETRY))
		budget = most;
	if (num_online_cpus() == 1)
		return false;
	for (i = 0; i < budget; i++) {
		cond_resched();
		tally_cq_take(q);
		if (completion_done(done)) {
			p->budget = most;
			return true;
		}
		cpu_relax();
	}
	p->budget = p->budget / 2 + 1;
	return false;
}

static long tally_cq_left(struct tally_cq *q)
{
	return max((long)(READ_ONCE(q->deadline) - jiffies), 0L);
}

static void tally_cq_expire(struct work_struct *work)
{
	struct tally_cq *q = container_of(work, struct tally_cq, expiry.work);
	long left = tally_cq_left(q);

	if (!tally_cq_is(q, TALLY_CQ_WAITER))
		return;
	if (left)
		mod_delayed_work(tally_cq_wq, &q->expiry, left);
	else
		tally_cq_kick(q);
}

/*
 * To set a timer and cancel it costs more than the rest of a wait, and most waits
 * end long before their time. So it is left to run, and serves later waits as
 * well, unless they are to end earlier.
 */
static void tally_cq_set_deadline(struct tally_cq *q, long left)
{
	left = min_t(long, left, MAX_JIFFY_OFFSET);
	WRITE_ONCE(q->deadline, jiffies + left);
	/* It sees this deadline, or we see that it is not pending. */
	smp_mb();
	if (!delayed_work_pending(&q->expiry) ||
	    time_before(q->deadline, READ_ONCE(q->expiry.timer.expires)))
		mod_delayed_work(tally_cq_wq, &q->expiry, left);
}

/* Return: what is left of the time; it ends early when @q is destroyed. */
static long tally_cq_sleep(struct tally_cq *q, struct completion *done,
			   long left)
{
	int err = 0;

	tally_cq_set_deadline(q, left);
	while (!err && left && tally_cq_is(q, TALLY_CQ_OPEN) &&
	       !completion_done(done)) {
		err = wait_event_killable(q->wait, completion_done(done) ||
					  tally_cq_is(q, TALLY_CQ_EVENT) ||
					  !tally_cq_is(q, TALLY_CQ_OPEN) ||
					  !tally_cq_left(q));
		if (tally_cq_is(q, TALLY_CQ_EVENT))
			tally_cq_heed(q);
		left = tally_cq_left(q);
	}
	return err ?: left;
}

/**
 * tally_cq_help - wait for something, taking completions
 * @q: queue of the operations that may bring it
 * @own: the operation whose completion the caller is to be told of
 * @done: what is waited for; a kick of @q follows its completion, unless that
 *	comes from taking completions
 * @timeout: in jiffies, after which only it is waited for
 * @p: what was learnt from former waits of this kind
 *
 * Nothing is done while another caller waits. The caller goes on to wait for
 * @done, which is not used up.
 *
 * Context: process; ends early when killed.
 * Return: what is left of @timeout; negative: killed.
 */
long tally_cq_help(struct tally_cq *q, void *own, struct completion *done,
		   long timeout, struct tally_polls *p)
{
	if (!tally_cq_enter(q))
		return timeout;
	WRITE_ONCE(q->own, own);
	if (!tally_cq_spin(q, done, p))
		timeout = tally_cq_sleep(q, done, timeout);
	WRITE_ONCE(q->own, NULL);
	tally_cq_leave(q);
	return timeout;
}

/**
 * tally_cq_wait - wait for an operation
 * @q: queue its completion comes to
 * @own: the operation
 * @done: what it completes
 * @timeout: in jiffies, MAX_SCHEDULE_TIMEOUT for none
 *
 * Context: process; killable.
 * Return: positive: it is done; 0: it timed out; negative: killed.
 */
long tally_cq_wait(struct tally_cq *q, void *own, struct completion *done,
		   long timeout)
{
	if (timeout > 0)
		timeout = tally_cq_help(q, own, done, timeout, &q->polls);
	if (timeout < 0)
		return timeout;
	return wait_for_completion_killable_timeout(done, timeout);
}

/* No caller can come in until it is created. */
void tally_cq_init(struct tally_cq *q)
{
	atomic_set(&q->state, 0);
	init_waitqueue_head(&q->wait);
	INIT_WORK(&q->work, tally_cq_work);
	INIT_DELAYED_WORK(&q->expiry, tally_cq_expire);
}

/*
 * Make the device's queue, for @entries completions. The work item goes on with
 * @after when it took some; then no caller takes any.
 */
int tally_cq_create(struct tally_cq *q, struct ib_device *ibdev,
		    int entries, void (*after)(struct tally_cq *q))
{
	static atomic_t next;
	struct ib_cq_init_attr attr = {
		.cqe = entries,
		.comp_vector = (u32)atomic_inc_return(&next) %
			       clamp_t(u32, ibdev->num_comp_vectors, 1,
				       num_online_cpus()),
	};
	struct ib_cq *cq;

	cq = ib_create_cq(ibdev, tally_cq_event, NULL, q, &attr);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	q->cq = cq;
	q->after = after;
	if (!after)
		atomic_set(&q->state, TALLY_CQ_OPEN);
	if (tally_cq_arm(q))
		tally_cq_queue(q);
	return 0;
}

/* No QP uses it any more, or it was never created. Waits for a caller inside. */
void tally_cq_destroy(struct tally_cq *q)
{
	if (!q->cq)
		return;
	tally_compat_cq_settle(q->cq->device);
	atomic_andnot(TALLY_CQ_OPEN, &q->state);
	wake_up_all(&q->wait);
	wait_event(q->wait, !tally_cq_is(q, TALLY_CQ_WAITER));
	cancel_delayed_work_sync(&q->expiry);
	cancel_work_sync(&q->work);
	ib_destroy_cq(q->cq);
	q->cq = NULL;
}

int tally_cqs_init(void)
{
	tally_cq_wq = tally_compat_wq("tally_cq");
	if (!tally_cq_wq)
		return -ENOMEM;
	tally_msg_wq = tally_compat_wq("tally_msg");
	if (tally_msg_wq)
		return 0;
	destroy_workqueue(tally_cq_wq);
	return -ENOMEM;
}

/* Every queue must be destroyed. */
void tally_cqs_exit(void)
{
	destroy_workqueue(tally_msg_wq);
	destroy_workqueue(tally_cq_wq);
}
