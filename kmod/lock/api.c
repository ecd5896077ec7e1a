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
	struct delayed_work bound;	/* ends a try that is not answered */
};

/* Modes of the API are those of the protocol. */
static_assert((u8)TALLY_LOCK_EX == TALLY_LMODE_X);
static_assert((u8)TALLY_LOCK_SH == TALLY_LMODE_S);

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
	/* A cancellation of what was asked before may come late. */
	WRITE_ONCE(lock->req.serial, lock->req.serial + 1);
	err = upgrade ? 0 : tally_lock_req_idle(&lock->req);
	if (err)
		api_unclaim(lock);
	return err;
}

/*
 * With lock->spin. The request is answered, if that is waited for; who has been
 * told that it is cancelled hears of nothing else.
 */
static void api_answer(struct tally_lock *lock, int err)
{
	if (lock->asked == API_ASKED_NOTHING)
		return;
	lock->asked = API_ASKED_NOTHING;
	lock->err = lock->cancelled ? -ECANCELED : err;
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
	unsigned long flags;
	bool cancelled;

	spin_lock_irqsave(&lock->spin, flags);
	cancelled = lock->cancelled || lock->closing;
	spin_unlock_irqrestore(&lock->spin, flags);
	return cancelled;
}

static void api_bound(struct work_struct *work)
{
	struct tally_lock *lock = container_of(to_delayed_work(work),
					       struct tally_lock, bound);
	long left = READ_ONCE(lock->try) ?
		    tally_lock_req_try_check(&lock->req) : 0;

	if (left)
		queue_delayed_work(api_wq, &lock->bound, left);
}

/* Ask the lock itself. */
static int api_request(struct tally_lock *lock, u8 mode)
{
	u32 serial = lock->req.serial;
	int err = tally_lock_req_ask(&lock->req, mode, lock->try);
	long left;

	if (err)
		return err;
	/* From now on it may be answered, and asked for anew. */
	if (api_is_cancelled(lock))
		tally_lock_req_cancel(&lock->req, serial, -ECANCELED);
	left = lock->try ? tally_lock_req_try_check(&lock->req) : 0;
	if (left)
		mod_delayed_work(api_wq, &lock->bound, left);
	return 0;
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
	err = api_request(lock, lock->req.mode);
	return err == -EAGAIN ? -ENOTCONN : err;
}

/* What of @what is to be told now: a callback before may have made it void. */
static u8 api_take(struct tally_lock *lock, u8 what)
{
	u8 told = 0;

	spin_lock_irq(&lock->spin);
	if (!lock->closing)
		told = lock->told & what;
	lock->told &= ~what;
	spin_unlock_irq(&lock->spin);
	return told;
}

/* The answer is due. What came after all is not wanted any more. */
static void api_tell_answer(struct tally_lock *lock)
{
	u64 token = lock->token;
	int err = lock->err;

	if (lock->cancelled) {
		tally_lock_req_release(&lock->req);
		api_take(lock, API_RECALL | API_LOST);
	}
	api_unclaim(lock);
	lock->ops->granted(lock, lock->data, err, token);
}

static void api_call_back(struct work_struct *work)
{
	struct tally_lock *lock = container_of(work, struct tally_lock, work);
	int err;

	if (api_take(lock, API_REOPEN)) {
		err = api_ask_again(lock);
		spin_lock_irq(&lock->spin);
		if (err)
			api_answer(lock, err);
		spin_unlock_irq(&lock->spin);
	}
	if (api_take(lock, API_ANSWER))
		api_tell_answer(lock);
	if (api_take(lock, API_RECALL) && lock->ops->recall)
		lock->ops->recall(lock, lock->data);
	if (api_take(lock, API_LOST) && lock->ops->lost)
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
	INIT_DELAYED_WORK(&lock->bound, api_bound);
	return lock;
}
EXPORT_SYMBOL_GPL(tally_lock_get);

void tally_lock_put(struct tally_lock *lock)
{
	spin_lock_irq(&lock->spin);
	lock->closing = true;
	lock->try = false;
	spin_unlock_irq(&lock->spin);
	cancel_work_sync(&lock->work);
	cancel_delayed_work_sync(&lock->bound);
	if (READ_ONCE(lock->req.state) == TALLY_LOCK_REQ_WAITING) {
		tally_lock_req_cancel(&lock->req, lock->req.serial, -ECANCELED);
		wait_for_completion(&lock->req.wake);
	}
	tally_lock_req_release(&lock->req);
	/* After that there are no news. */
	cancel_work_sync(&lock->work);
	tally_lock_req_destroy(&lock->req);
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
	err = tally_lock_req_acquire(&lock->req, mode, try, timeout);
	if (err && !try)
		api_dep_release(lock);
	else if (!err && try)
		api_dep_acquire(lock, mode, true);
	if (!err && token)
		*token = lock->req.token;
	api_unclaim(lock);
	return err;
}

int tally_lock_acquire(struct tally_lock *lock, enum tally_lock_mode mode,
		       u64 *token, long timeout)
{
	return api_lock_acquire(lock, mode, token, false, timeout);
}
EXPORT_SYMBOL_GPL(tally_lock_acquire);

int tally_lock_try(struct tally_lock *lock, enum tally_lock_mode mode,
		   u64 *token)
{
	return api_lock_acquire(lock, mode, token, true, MAX_SCHEDULE_TIMEOUT);
}
EXPORT_SYMBOL_GPL(tally_lock_try);

int tally_lock_downgrade(struct tally_lock *lock)
{
	int err = tally_lock_req_downgrade(&lock->req);

	if (!err && lock->watched)
		lock_downgrade(&lock->map, _RET_IP_);
	return err;
}
EXPORT_SYMBOL_GPL(tally_lock_downgrade);

int tally_lock_upgrade(struct tally_lock *lock, u64 *token)
{
	int err = api_claim(lock, true);

	if (err)
		return err;
	err = tally_lock_req_upgrade(&lock->req);
	if (!err && token)
		*token = lock->req.token;
	if (!err) {
		api_dep_release(lock);
		api_dep_acquire(lock, TALLY_LMODE_X, true);
	}
	api_unclaim(lock);
	return err;
}
EXPORT_SYMBOL_GPL(tally_lock_upgrade);

int tally_lock_release(struct tally_lock *lock)
{
	int err = tally_lock_req_release(&lock->req);
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
EXPORT_SYMBOL_GPL(tally_lock_release);

bool tally_lock_is_valid(struct tally_lock *lock)
{
	return tally_lock_req_held(&lock->req);
}
EXPORT_SYMBOL_GPL(tally_lock_is_valid);

void tally_lock_set_key(struct tally_lock *lock, const char *name,
			struct lock_class_key *key)
{
	lockdep_init_map(&lock->map, name, key, 0);
	lock->watched = true;
}
EXPORT_SYMBOL_GPL(tally_lock_set_key);

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
	err = upgrade ? tally_lock_req_ask_upgrade(&lock->req) :
			api_request(lock, mode);
	if (!err)
		return 0;
	spin_lock_irqsave(&lock->spin, flags);
	if (err == -EAGAIN) {
		lock->told |= API_REOPEN;
		queue_work(api_wq, &lock->work);
		err = 0;
	} else if (lock->cancelled) {
		api_answer(lock, err);
		err = 0;
	} else {
		lock->asked = API_ASKED_NOTHING;
		api_unclaim(lock);
	}
	spin_unlock_irqrestore(&lock->spin, flags);
	return err;
}

int tally_lock_acquire_async(struct tally_lock *lock, enum tally_lock_mode mode)
{
	return api_ask(lock, API_ASKED_ACQUIRE, mode, false);
}
EXPORT_SYMBOL_GPL(tally_lock_acquire_async);

int tally_lock_try_async(struct tally_lock *lock, enum tally_lock_mode mode)
{
	return api_ask(lock, API_ASKED_ACQUIRE, mode, true);
}
EXPORT_SYMBOL_GPL(tally_lock_try_async);

int tally_lock_upgrade_async(struct tally_lock *lock)
{
	return api_ask(lock, API_ASKED_UPGRADE, TALLY_LMODE_X, true);
}
EXPORT_SYMBOL_GPL(tally_lock_upgrade_async);

int tally_lock_cancel_async(struct tally_lock *lock)
{
	unsigned long flags;
	u32 serial = 0;
	bool asked;

	spin_lock_irqsave(&lock->spin, flags);
	asked = lock->asked == API_ASKED_ACQUIRE;
	if (asked)
		serial = lock->req.serial;
	lock->cancelled |= asked;
	spin_unlock_irqrestore(&lock->spin, flags);
	if (!asked)
		return -EALREADY;
	/* Nothing, if it is not asked yet: api_request() looks. */
	tally_lock_req_cancel(&lock->req, serial, -ECANCELED);
	return 0;
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
