// SPDX-License-Identifier: GPL-2.0
/*
 * The exported kernel API: locks.
 *
 * A call that acquires claims the lock until the answer is there, so that there
 * is one request at a time. Answers to the calls that do not wait, and other
 * news, come with a spinlock held; a work item takes them to the callbacks.
 */
#include <linux/bitops.h>
#include <linux/export.h>
#include <linux/lockdep.h>
#include <linux/tally.h>
#include "api/api.h"
#include "client/handle.h"
#include "compat/compat.h"
#include "lock/api.h"
#include "lock/user.h"

/* A lock whose session ended is found again in that time, or not. */
#define API_REOPEN_TIME		(10 * HZ)

/* What was not told yet. */
#define API_ANSWER	BIT(0)
#define API_RECALL	BIT(1)
#define API_LOST	BIT(2)
#define API_REOPEN	BIT(3)	/* to be found again, then asked for */

/* What granted() is to be called for. */
enum api_asked {
	API_ASKED_NOTHING,
	API_ASKED_ACQUIRE,
	API_ASKED_UPGRADE,
};

/* A kernel user of a lock. */
struct tally_lock {
	struct tally_api_user user;	/* as every user */
	struct tally_lock_req req;	/* its one request */
	const struct tally_lock_ops *ops;	/* callbacks, or NULL */
	void *data;	/* the callbacks' argument */
	unsigned long claimed;	/* bit 0: acquiring, until it is answered */
	bool watched;	/* by lockdep */
	struct lockdep_map map;	/* for lockdep */
	spinlock_t spin;	/* all below; nests in the client's lock */
	enum api_asked asked;	/* whose answer is due */
	bool try;	/* it does not want to wait */
	bool cancelled;	/* it does not want the lock any more */
	bool closing;	/* it is being put */
	u8 told;	/* API_* */
	int err;	/* the answer */
	u64 token;	/* the answer */
	struct work_struct work;	/* calls back */
};

static struct workqueue_struct *api_wq;

static void api_unclaim(struct tally_lock *lock)
{
	clear_bit_unlock(0, &lock->claimed);
}

/* To acquire it, or @upgrade what is held: 0, or why that cannot be asked. */
static int api_claim(struct tally_lock *lock, bool upgrade)
{
	int err;

	if (test_and_set_bit_lock(0, &lock->claimed))
		return -EBUSY;
	err = upgrade ? 0 : tally_lock_req_idle(&lock->req);
	if (err)
		api_unclaim(lock);
	return err;
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
	int err = tally_handle_enter(handle, API_REOPEN_TIME);

	if (err)
		return err;
	tally_handle_leave(handle);
	if (api_is_cancelled(lock))
		return -ECANCELED;
	err = tally_lock_request(&lock->req, lock->req.mode, lock->try);
	if (err)
		return err == -EAGAIN ? -ENOTCONN : err;
	if (api_is_cancelled(lock))
		tally_lock_cancel(&lock->req, -ECANCELED);
	return 0;
}

static void api_call_back(struct work_struct *work)
{
	struct tally_lock *lock = container_of(work, struct tally_lock, work);
	int err, reopen_err;
	bool closing;
	u64 token;
	u8 told;

	spin_lock_irq(&lock->spin);
	closing = lock->closing;
	told = lock->told;
	lock->told = 0;
	err = lock->err;
	token = lock->token;
	spin_unlock_irq(&lock->spin);
	if (closing)
		return;
	reopen_err = told & API_REOPEN ? api_ask_again(lock) : 0;
	if (reopen_err) {
		spin_lock_irq(&lock->spin);
		api_answer(lock, reopen_err);
		spin_unlock_irq(&lock->spin);
	}
	if (told & API_ANSWER) {
		api_unclaim(lock);
		lock->ops->granted(lock, lock->data, err, token);
	}
	if ((told & API_RECALL) && lock->ops->recall)
		lock->ops->recall(lock, lock->data);
	if ((told & API_LOST) && lock->ops->lost)
		lock->ops->lost(lock, lock->data);
}

static void api_dep_acquire(struct tally_lock *lock, u8 mode, bool try)
{
	if (!lock->watched)
		return;
	if (mode == TALLY_LMODE_S)
		lock_acquire_shared(&lock->map, 0, try, NULL, _RET_IP_);
	else
		lock_acquire_exclusive(&lock->map, 0, try, NULL, _RET_IP_);
}

static void api_dep_release(struct tally_lock *lock)
{
	if (lock->watched)
		lock_release(&lock->map, _RET_IP_);
}

/**
 * tally_lock_get - begin to use a lock
 * @net: network namespace of the node
 * @node: name of our node; NULL for the first one
 * @path: "ARENA/LOCK" or "ARENA@NODE/LOCK"
 * @timeout: jiffies
 *
 * What is returned is one user: it holds the lock or does not. Users on one
 * node exclude each other as users on different nodes do.
 *
 * Context: process; sleeps, killable. No locks needed.
 * Return: the lock, to be given back with tally_lock_put(), or the errors of
 * tally_counter_get(); -EPROTOTYPE: not a lock.
 */
struct tally_lock *tally_lock_get(struct net *net, const char *node,
				  const char *path, long timeout)
{
	struct tally_lock *lock = tally_api_get(sizeof(*lock), net, node, path,
						TALLY_TYPE_LOCK, timeout);

	if (IS_ERR(lock))
		return lock;
	tally_lock_req_init(&lock->req, lock->user.handle, api_news);
	spin_lock_init(&lock->spin);
	INIT_WORK(&lock->work, api_call_back);
	return lock;
}
EXPORT_SYMBOL_GPL(tally_lock_get);

/**
 * tally_lock_put - end the use of a lock; releases it if it is held
 * @lock: from tally_lock_get(); not usable after this
 *
 * What is still asked for is cancelled; callbacks that run are waited for, and
 * none comes any more. The caller sees to it that no other call is under way.
 *
 * Context: process; sleeps, until the home has answered a request that it knows
 * of or its session has ended. Not from a callback.
 */
void tally_lock_put(struct tally_lock *lock)
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
	tally_api_put(&lock->user);
}
EXPORT_SYMBOL_GPL(tally_lock_put);

static int api_lock_acquire(struct tally_lock *lock, u8 mode, u64 *token,
			    bool try, long timeout)
{
	int err = api_claim(lock, false);

	if (err)
		return err;
	if (!try)
		api_dep_acquire(lock, mode, false);
	err = tally_lock_acquire(&lock->req, mode, try, timeout);
	if (err && !try)
		api_dep_release(lock);
	else if (!err && try)
		api_dep_acquire(lock, mode, true);
	if (!err && token)
		*token = lock->req.token;
	api_unclaim(lock);
	return err;
}

/**
 * tally_lock_acquire_sync - wait for a lock and take it
 * @lock: from tally_lock_get()
 * @token: out: fencing token of the tenure, larger than those of all tenures
 *	before; NULL if of no interest
 * @timeout: jiffies
 *
 * Context: process; sleeps, killable. The lock belongs to @lock, not to the
 * task.
 * Return: 0; not acquired: -EALREADY: @lock holds it; -EBUSY: another call on
 * @lock is acquiring; -ESTALE: @lock held it and lost it, release first, or
 * the home started again; -EACCES, -EIDRM, -ENOTCONN, -ENETDOWN, -ESHUTDOWN,
 * -ETIMEDOUT, -EINTR, -ENOMEM.
 */
int tally_lock_acquire_sync(struct tally_lock *lock, u64 *token, long timeout)
{
	return api_lock_acquire(lock, TALLY_LMODE_X, token, false, timeout);
}
EXPORT_SYMBOL_GPL(tally_lock_acquire_sync);

/**
 * tally_lock_try - take a lock if that needs no waiting for other holders
 * @lock: from tally_lock_get()
 * @token: out: as for tally_lock_acquire_sync()
 *
 * Context: process; sleeps for the network, killable.
 * Return: 0; -EWOULDBLOCK: another user holds it; else the errors of
 * tally_lock_acquire_sync().
 */
int tally_lock_try(struct tally_lock *lock, u64 *token)
{
	return api_lock_acquire(lock, TALLY_LMODE_X, token, true,
				MAX_SCHEDULE_TIMEOUT);
}
EXPORT_SYMBOL_GPL(tally_lock_try);

/**
 * tally_lock_acquire_shared - wait for a lock and take it beside other readers
 * @lock: from tally_lock_get()
 * @token: out: fencing token, larger than those of all exclusive tenures before
 *	and smaller than those of all after it; NULL if of no interest
 * @timeout: jiffies
 *
 * Writers that wait let no further readers pass.
 *
 * Context: process; sleeps, killable.
 * Return: 0, or the errors of tally_lock_acquire_sync().
 */
int tally_lock_acquire_shared(struct tally_lock *lock, u64 *token,
			      long timeout)
{
	return api_lock_acquire(lock, TALLY_LMODE_S, token, false, timeout);
}
EXPORT_SYMBOL_GPL(tally_lock_acquire_shared);

/**
 * tally_lock_try_shared - take a lock shared if that needs no waiting for users
 * @lock: from tally_lock_get()
 * @token: out: as for tally_lock_acquire_shared()
 *
 * Context: process; sleeps for the network, killable.
 * Return: 0; -EWOULDBLOCK: one has it exclusively or waits for that; else
 * the errors of tally_lock_acquire_sync().
 */
int tally_lock_try_shared(struct tally_lock *lock, u64 *token)
{
	return api_lock_acquire(lock, TALLY_LMODE_S, token, true,
				MAX_SCHEDULE_TIMEOUT);
}
EXPORT_SYMBOL_GPL(tally_lock_try_shared);

/**
 * tally_lock_downgrade_sync - go on holding a lock shared
 * @lock: from tally_lock_get(), held exclusively
 *
 * No other user has it exclusively in between. Does not wait for the home.
 *
 * Context: process; any task.
 * Return: 0; -ESTALE: it has been lost; -EINVAL: it is not held exclusively.
 */
int tally_lock_downgrade_sync(struct tally_lock *lock)
{
	int err = tally_lock_downgrade(&lock->req);

	if (!err && lock->watched)
		lock_downgrade(&lock->map, _RET_IP_);
	return err;
}
EXPORT_SYMBOL_GPL(tally_lock_downgrade_sync);

/**
 * tally_lock_upgrade_sync - go on holding a lock exclusively
 * @lock: from tally_lock_get(), held shared
 * @token: out: the new token; NULL if of no interest
 *
 * Never waits for other users: two that wait for each other would wait for
 * ever.
 *
 * Context: process; sleeps for the network, killable.
 * Return: 0; still held shared: -EDEADLK: others hold it or wait for it,
 * -EAGAIN: release it and acquire it anew, -ENOTCONN: no link to the home;
 * -ESTALE: it has been lost; -EINVAL: it is not held shared; -EBUSY: another
 * call on @lock is under way; -EINTR: only to be released.
 */
int tally_lock_upgrade_sync(struct tally_lock *lock, u64 *token)
{
	int err = api_claim(lock, true);

	if (err)
		return err;
	err = tally_lock_upgrade(&lock->req);
	if (!err && token)
		*token = lock->req.token;
	if (!err) {
		api_dep_release(lock);
		api_dep_acquire(lock, TALLY_LMODE_X, true);
	}
	api_unclaim(lock);
	return err;
}
EXPORT_SYMBOL_GPL(tally_lock_upgrade_sync);

/**
 * tally_lock_release_sync - release a lock
 * @lock: from tally_lock_get()
 *
 * However it was acquired. Does not wait for the home. An upgrade that is asked
 * for is given up, and answered by -ECANCELED.
 *
 * Context: any but hard interrupts, any task; not where another call on @lock
 * may be acquiring.
 * Return: 0; -ESTALE: the lock had been lost; another may have held it while
 * this user believed to; -EINVAL: @lock does not hold it.
 */
int tally_lock_release_sync(struct tally_lock *lock)
{
	int err = tally_lock_release(&lock->req);
	unsigned long flags;

	if (err == -EINVAL)
		return err;
	if (lock->ops) {
		spin_lock_irqsave(&lock->spin, flags);
		lock->told &= ~(API_RECALL | API_LOST);
		if (lock->asked == API_ASKED_UPGRADE)
			api_answer(lock, -ECANCELED);
		spin_unlock_irqrestore(&lock->spin, flags);
	}
	api_dep_release(lock);
	return err;
}
EXPORT_SYMBOL_GPL(tally_lock_release_sync);

/**
 * tally_lock_is_valid - is the lock held, and is that certain?
 * @lock: from tally_lock_get()
 *
 * Context: any that may take a spinlock.
 * Return: true while it is held and the lease lasts. What has to be certain
 * later than now needs the token.
 */
bool tally_lock_is_valid(struct tally_lock *lock)
{
	return tally_lock_held(&lock->req);
}
EXPORT_SYMBOL_GPL(tally_lock_is_valid);

/**
 * tally_lock_set_key - let lockdep watch the calls that wait
 * @lock: from tally_lock_get(), before it is used otherwise
 * @name: of the class, a constant
 * @key: of the class, static
 *
 * The caller promises that what a call that waits acquired is released by the
 * same task. The "_async" calls must not be used then.
 *
 * Context: process.
 */
void tally_lock_set_key(struct tally_lock *lock, const char *name,
			struct lock_class_key *key)
{
	lockdep_init_map(&lock->map, name, key, 0);
	lock->watched = true;
}
EXPORT_SYMBOL_GPL(tally_lock_set_key);

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

static int api_ask(struct tally_lock *lock, enum api_asked asked, u8 mode,
		   bool try)
{
	bool upgrade = asked == API_ASKED_UPGRADE;
	unsigned long flags;
	int err;

	if (!lock->ops)
		return -EINVAL;
	err = api_claim(lock, upgrade);
	if (err)
		return err;
	/* What is asked for is noted before the answer can come. */
	spin_lock_irqsave(&lock->spin, flags);
	lock->asked = asked;
	lock->try = try;
	lock->cancelled = false;
	spin_unlock_irqrestore(&lock->spin, flags);
	err = upgrade ? tally_lock_request_upgrade(&lock->req) :
			tally_lock_request(&lock->req, mode, try);
	if (!err)
		return 0;
	spin_lock_irqsave(&lock->spin, flags);
	if (err == -EAGAIN) {
		lock->told |= API_REOPEN;
		queue_work(api_wq, &lock->work);
	} else {
		lock->asked = API_ASKED_NOTHING;
		api_unclaim(lock);
	}
	spin_unlock_irqrestore(&lock->spin, flags);
	return err == -EAGAIN ? 0 : err;
}

/**
 * tally_lock_acquire_async - ask for a lock
 * @lock: from tally_lock_get(), with callbacks
 * @shared: beside other readers
 * @try: do not wait for other users: the answer is -EWOULDBLOCK then
 *
 * The lock belongs to @lock from its grant, which may be before granted() runs.
 *
 * Context: any but hard interrupts; does not wait.
 * Return: 0: granted() will be called, or has been; it will not: -EBUSY: an
 * answer is due or another call is acquiring; -EALREADY: @lock holds it;
 * -ESTALE: it held it and lost it, release first; -EINVAL: no callbacks;
 * -EACCES, -EIDRM, -ENOTCONN, -ESHUTDOWN.
 */
int tally_lock_acquire_async(struct tally_lock *lock, bool shared, bool try)
{
	return api_ask(lock, API_ASKED_ACQUIRE,
		       shared ? TALLY_LMODE_S : TALLY_LMODE_X, try);
}
EXPORT_SYMBOL_GPL(tally_lock_acquire_async);

/**
 * tally_lock_upgrade_async - ask to hold a lock exclusively
 * @lock: from tally_lock_get(), with callbacks, held shared
 *
 * Context: any but hard interrupts; does not wait.
 * Return: 0: granted() will be called, or has been: with 0 and the new token,
 * or the errors of tally_lock_upgrade_sync(), and the lock is still held shared
 * but for -ESTALE; it will not: -EBUSY, as for tally_lock_acquire_async();
 * -EINVAL: no callbacks, or it is not held shared; -ESTALE; -EDEADLK: another
 * user of this node asked before.
 */
int tally_lock_upgrade_async(struct tally_lock *lock)
{
	return api_ask(lock, API_ASKED_UPGRADE, TALLY_LMODE_X, true);
}
EXPORT_SYMBOL_GPL(tally_lock_upgrade_async);

/**
 * tally_lock_cancel_async - take back what was asked for
 * @lock: from tally_lock_get()
 *
 * Context: any but hard interrupts; does not wait.
 * Return: 0: granted() will be called with -ECANCELED; -EALREADY: nothing is
 * asked for, it has been answered, or it is an upgrade, which does not wait.
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

int tally_api_locks_init(void)
{
	api_wq = tally_compat_wq("tally_api");
	return api_wq ? 0 : -ENOMEM;
}

/* No lock has a user. */
void tally_api_locks_exit(void)
{
	destroy_workqueue(api_wq);
}
