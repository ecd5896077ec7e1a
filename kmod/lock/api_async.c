// SPDX-License-Identifier: GPL-2.0
/*
 * The exported kernel API: locks, calls that do not wait.
 *
 * A call that acquires claims the lock until the answer is there, so that there is one
 * request at a time. Answers and other news come with a spinlock held; a work
 * item takes them to the user's callbacks.
 */
#include <linux/bitops.h>
#include <linux/export.h>
#include "lock/api_async.h"
#include "client/handle.h"
#include "compat/compat.h"

/* A lock whose session ended is found again in that time, or not. */
#define API_REOPEN_TIME		(10 * HZ)

static struct workqueue_struct *api_wq;

bool tally_api_claim(struct tally_lock *lock)
{
	return !test_and_set_bit_lock(0, &lock->claimed);
}

void tally_api_unclaim(struct tally_lock *lock)
{
	clear_bit_unlock(0, &lock->claimed);
}

/* With lock->spin. The request is answered, if that is waited for. */
static void api_answer(struct tally_lock *lock, int err)
{
	if (lock->asked == API_ASKED_NOTHING)
		return;
	lock->asked = API_ASKED_NOTHING;
	lock->err = err;
	lock->token = lock->req.token;
	lock->told |= API_ANSWER;
	queue_work(api_wq, &lock->work);
}

/* With the client's lock, in any context. */
static void api_news(struct tally_lock_req *req, enum tally_lock_news what)
{
	struct tally_lock *lock = container_of(req, struct tally_lock, req);
	unsigned long flags;

	if (!lock->ops)
		return;
	spin_lock_irqsave(&lock->spin, flags);
	switch (what) {
	case TALLY_LOCK_NEWS_GRANTED:
	case TALLY_LOCK_NEWS_FAILED:
		api_answer(lock, req->status);
		break;
	case TALLY_LOCK_NEWS_RECALL:
		lock->told |= API_RECALL;
		queue_work(api_wq, &lock->work);
		break;
	case TALLY_LOCK_NEWS_LOST:
		api_answer(lock, -ESTALE);
		lock->told |= API_LOST;
		queue_work(api_wq, &lock->work);
		break;
	}
	spin_unlock_irqrestore(&lock->spin, flags);
}

static bool api_is_cancelled(struct tally_lock *lock)
{
	bool cancelled;

	spin_lock_irq(&lock->spin);
	cancelled = lock->cancelled || lock->closing;
	spin_unlock_irq(&lock->spin);
	return cancelled;
}

/* Its session ended, so finding it again comes first. */
static int api_ask_again(struct tally_lock *lock)
{
	struct tally_handle *handle = lock->user.handle;
	int err;

	err = tally_handle_enter(handle, API_REOPEN_TIME);
	if (err)
		return err;
	tally_handle_leave(handle);
	if (api_is_cancelled(lock))
		return -ECANCELED;
	err = tally_lock_request(&lock->req, lock->try);
	if (err)
		return err == -EAGAIN ? -ENOTCONN : err;
	if (api_is_cancelled(lock))
		tally_lock_cancel(&lock->req, -ECANCELED);
	return 0;
}

static void api_reopen(struct tally_lock *lock)
{
	int err = api_ask_again(lock);

	if (!err)
		return;
	spin_lock_irq(&lock->spin);
	api_answer(lock, err);
	spin_unlock_irq(&lock->spin);
}

static void api_call_back(struct work_struct *work)
{
	struct tally_lock *lock = container_of(work, struct tally_lock, work);
	bool closing;
	u64 token;
	u8 told;
	int err;

	spin_lock_irq(&lock->spin);
	closing = lock->closing;
	told = lock->told;
	lock->told = 0;
	err = lock->err;
	token = lock->token;
	spin_unlock_irq(&lock->spin);
	if (closing)
		return;
	if (told & API_REOPEN)
		api_reopen(lock);
	if (told & API_ANSWER) {
		tally_api_unclaim(lock);
		lock->ops->granted(lock, lock->data, err, token);
	}
	if ((told & API_RECALL) && lock->ops->recall)
		lock->ops->recall(lock, lock->data);
	if ((told & API_LOST) && lock->ops->lost)
		lock->ops->lost(lock, lock->data);
}

/* The one that claimed it has no request: why it cannot make one, or 0. */
int tally_api_idle(struct tally_lock *lock)
{
	if (READ_ONCE(lock->req.state) == TALLY_LOCK_REQ_IDLE)
		return 0;
	return tally_lock_held(&lock->req) ? -EALREADY : -ESTALE;
}

void tally_api_async_init(struct tally_lock *lock)
{
	spin_lock_init(&lock->spin);
	INIT_WORK(&lock->work, api_call_back);
	lock->req.news = api_news;
}

void tally_api_async_end(struct tally_lock *lock)
{
	spin_lock_irq(&lock->spin);
	lock->closing = true;
	spin_unlock_irq(&lock->spin);
	cancel_work_sync(&lock->work);
	if (READ_ONCE(lock->req.state) == TALLY_LOCK_REQ_WAITING) {
		tally_lock_cancel(&lock->req, -ECANCELED);
		wait_for_completion(&lock->req.wake);
	}
	tally_lock_release(&lock->req);
	/* After that there are no news. */
	cancel_work_sync(&lock->work);
}

void tally_api_async_released(struct tally_lock *lock)
{
	unsigned long flags;

	spin_lock_irqsave(&lock->spin, flags);
	lock->told &= ~(API_RECALL | API_LOST);
	if (lock->asked == API_ASKED_UPGRADE)
		api_answer(lock, -ECANCELED);
	spin_unlock_irqrestore(&lock->spin, flags);
}

/**
 * tally_lock_set_ops - say how to tell about a lock
 * @lock: from tally_lock_get(), before it is used otherwise
 * @ops: callbacks; they stay until tally_lock_put()
 * @data: argument for them
 *
 * Context: any.
 */
void tally_lock_set_ops(struct tally_lock *lock,
			const struct tally_lock_ops *ops, void *data)
{
	lock->data = data;
	lock->ops = ops;
}
EXPORT_SYMBOL_GPL(tally_lock_set_ops);

/* Claimed. What is asked for is noted before the answer can come. */
static void api_begin(struct tally_lock *lock, enum api_asked asked, bool try)
{
	unsigned long flags;

	spin_lock_irqsave(&lock->spin, flags);
	lock->asked = asked;
	lock->try = try;
	lock->cancelled = false;
	spin_unlock_irqrestore(&lock->spin, flags);
}

/* No answer will come. */
static void api_not_begun(struct tally_lock *lock)
{
	api_begin(lock, API_ASKED_NOTHING, false);
	tally_api_unclaim(lock);
}

static void api_begin_reopen(struct tally_lock *lock)
{
	unsigned long flags;

	spin_lock_irqsave(&lock->spin, flags);
	lock->told |= API_REOPEN;
	queue_work(api_wq, &lock->work);
	spin_unlock_irqrestore(&lock->spin, flags);
}

/**
 * tally_lock_acquire_async - ask for a lock
 * @lock: from tally_lock_get(), with callbacks
 * @shared: beside other readers
 * @try: do not wait for other users: the answer is -EWOULDBLOCK then
 *
 * The lock belongs to @lock from the moment at which it is granted, which may be
 * before granted() runs.
 *
 * Context: any but hard interrupts; does not wait.
 * Return: 0: granted() will be called, or has been; it will not: -EBUSY: an
 * answer is due or another call is acquiring; -EALREADY: @lock holds it;
 * -ESTALE: it held it and lost it, release first; -EINVAL: no callbacks;
 * -EACCES, -EIDRM, -ENOTCONN, -ESHUTDOWN.
 */
int tally_lock_acquire_async(struct tally_lock *lock, bool shared, bool try)
{
	int err;

	if (!lock->ops)
		return -EINVAL;
	if (!tally_api_claim(lock))
		return -EBUSY;
	err = tally_api_idle(lock);
	if (err) {
		tally_api_unclaim(lock);
		return err;
	}
	lock->req.mode = shared ? TALLY_LMODE_S : TALLY_LMODE_X;
	lock->req.pid = 0;
	strscpy(lock->req.comm, "kernel", sizeof(lock->req.comm));
	api_begin(lock, API_ASKED_ACQUIRE, try);
	err = tally_lock_request(&lock->req, try);
	if (err == -EAGAIN) {
		api_begin_reopen(lock);
		return 0;
	}
	if (err)
		api_not_begun(lock);
	return err;
}
EXPORT_SYMBOL_GPL(tally_lock_acquire_async);

/**
 * tally_lock_upgrade_async - ask to hold a lock exclusively
 * @lock: from tally_lock_get(), with callbacks, held shared
 *
 * Context: any but hard interrupts; does not wait.
 * Return: 0: granted() will be called, or has been: with 0 and the new token, or
 * the errors of tally_lock_upgrade_sync(), and the lock is still held shared but
 * for -ESTALE; it will not: -EBUSY, as for tally_lock_acquire_async(); -EINVAL:
 * no callbacks, or it is not held shared; -ESTALE; -EDEADLK: another user of
 * this node asked before.
 */
int tally_lock_upgrade_async(struct tally_lock *lock)
{
	int err;

	if (!lock->ops)
		return -EINVAL;
	if (!tally_api_claim(lock))
		return -EBUSY;
	api_begin(lock, API_ASKED_UPGRADE, true);
	err = tally_lock_request_upgrade(&lock->req);
	if (err)
		api_not_begun(lock);
	return err;
}
EXPORT_SYMBOL_GPL(tally_lock_upgrade_async);

/**
 * tally_lock_cancel_async - take back what was asked for
 * @lock: from tally_lock_get()
 *
 * Context: any but hard interrupts; does not wait.
 * Return: 0: granted() will be called with -ECANCELED; -EALREADY: nothing is asked
 * for, it has been answered, or it is an upgrade, which does not wait for users.
 */
int tally_lock_cancel_async(struct tally_lock *lock)
{
	unsigned long flags;
	bool reopens;

	spin_lock_irqsave(&lock->spin, flags);
	if (lock->asked != API_ASKED_ACQUIRE) {
		spin_unlock_irqrestore(&lock->spin, flags);
		return -EALREADY;
	}
	lock->cancelled = true;
	reopens = READ_ONCE(lock->req.state) == TALLY_LOCK_REQ_IDLE;
	spin_unlock_irqrestore(&lock->spin, flags);
	return tally_lock_cancel(&lock->req, -ECANCELED) || reopens ? 0 :
								      -EALREADY;
}
EXPORT_SYMBOL_GPL(tally_lock_cancel_async);

/**
 * tally_api_locks_init - make what all users of locks share
 *
 * Return: 0 or -ENOMEM.
 */
int tally_api_locks_init(void)
{
	api_wq = tally_compat_wq("tally_api");
	return api_wq ? 0 : -ENOMEM;
}

/**
 * tally_api_locks_exit - undo tally_api_locks_init()
 *
 * No lock has a user.
 */
void tally_api_locks_exit(void)
{
	destroy_workqueue(api_wq);
}
