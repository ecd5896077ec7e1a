// SPDX-License-Identifier: GPL-2.0
/*
 * A user of locks by callbacks, which checks what it is told. Two nodes of this
 * kernel are needed: the lock's home, and another one:
 *
 *	insmod tally_api_user.ko home=a node=b lock=t/l
 *
 * Loading fails when something is not as it should be. In the end the lock is
 * held by the node that is not its home, until it is lost or the module goes;
 * the parameter lost counts.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/tally.h>

#define TIMEOUT		(20 * HZ)
#define USERS		3
#define ROUNDS		200

static char *home = "";
module_param(home, charp, 0444);
MODULE_PARM_DESC(home, "node that is the lock's home");
static char *node = "";
module_param(node, charp, 0444);
MODULE_PARM_DESC(node, "another node");
static char *lock = "";
module_param(lock, charp, 0444);
MODULE_PARM_DESC(lock, "ARENA/LOCK");
static bool patient;
module_param(patient, bool, 0444);
MODULE_PARM_DESC(patient, "look for it without a limit of time");
static bool crosses;
module_param(crosses, bool, 0444);
MODULE_PARM_DESC(crosses, "cancel what is being asked for, at the point lock_bind");
static int lost;
module_param(lost, int, 0444);
MODULE_PARM_DESC(lost, "how often it was lost");

/**
 * struct api_user - one that asks
 * @lock: the lock
 * @answered: granted() was called
 * @recalled: recall() was called
 * @err: the answer
 * @token: the answer
 * @answers: how many there were
 * @passes: it is released as soon as it is granted
 */
struct api_user {
	struct tally_lock *lock;
	struct completion answered;
	struct completion recalled;
	int err;
	u64 token;
	int answers;
	bool passes;
};

#define EXPECT(what)	expect(what, #what, __LINE__)

static bool failed;

static void expect(bool holds, const char *what, int line)
{
	if (holds)
		return;
	pr_err("tally_api_user: line %d: not %s\n", line, what);
	failed = true;
}

static struct api_user users[USERS];	/* the last one is at the home */
static u64 last_token;

static void test_granted(struct tally_lock *l, void *data, int err, u64 token)
{
	struct api_user *user = data;

	user->err = err;
	user->token = token;
	user->answers++;
	if (!err && user->passes)
		EXPECT(!tally_lock_release(l));
	complete(&user->answered);
}

static void test_recall(struct tally_lock *l, void *data)
{
	struct api_user *user = data;

	complete(&user->recalled);
}

static void test_lost(struct tally_lock *l, void *data)
{
	if (tally_lock_is_valid(l))
		pr_err("a lost lock is valid\n");
	WRITE_ONCE(lost, lost + 1);
}

static const struct tally_lock_ops test_ops = {
	.granted	= test_granted,
	.recall		= test_recall,
	.lost		= test_lost,
};

/* What was expected came. */
static int result(void)
{
	return failed ? -EINVAL : 0;
}

/* The answer, or -ETIMEDOUT. */
static int answer(struct api_user *user)
{
	if (!wait_for_completion_timeout(&user->answered, TIMEOUT))
		return -ETIMEDOUT;
	return user->err;
}

static int ask(struct api_user *user, bool shared, bool try)
{
	enum tally_lock_mode mode = shared ? TALLY_LOCK_SH : TALLY_LOCK_EX;

	reinit_completion(&user->answered);
	reinit_completion(&user->recalled);
	return try ? tally_lock_try_async(user->lock, mode) :
		     tally_lock_acquire_async(user->lock, mode);
}

static int take(struct api_user *user, bool shared)
{
	int err = ask(user, shared, false);

	return err ? err : answer(user);
}

static int test_exclusive(struct api_user *a, struct api_user *b)
{
	EXPECT(!take(a, false));
	EXPECT(a->token > last_token);
	EXPECT(tally_lock_is_valid(a->lock));
	EXPECT(ask(a, false, false) == -EALREADY);
	/* One that waits gets it with a higher token. */
	EXPECT(!ask(b, false, false));
	EXPECT(ask(b, false, false) == -EBUSY);
	EXPECT(tally_lock_acquire(b->lock, TALLY_LOCK_EX, NULL, HZ) == -EBUSY);
	EXPECT(!completion_done(&b->answered));
	EXPECT(!tally_lock_release(a->lock));
	EXPECT(!answer(b));
	EXPECT(b->token > a->token);
	EXPECT(tally_lock_release(a->lock) == -EINVAL);
	EXPECT(!tally_lock_release(b->lock));
	last_token = b->token;
	return result();
}

static int test_try_and_cancel(struct api_user *a, struct api_user *b)
{
	int answers = b->answers;

	EXPECT(tally_lock_cancel_async(b->lock) == -EALREADY);
	EXPECT(!take(a, false));
	EXPECT(!ask(b, false, true));
	EXPECT(answer(b) == -EWOULDBLOCK);
	EXPECT(!ask(b, true, false));
	EXPECT(!tally_lock_cancel_async(b->lock));
	EXPECT(answer(b) == -ECANCELED);
	EXPECT(tally_lock_cancel_async(b->lock) == -EALREADY);
	EXPECT(!tally_lock_is_valid(b->lock));
	EXPECT(b->answers == answers + 2);
	EXPECT(!tally_lock_release(a->lock));
	return result();
}

static int test_modes(struct api_user *a, struct api_user *b)
{
	EXPECT(!take(a, true));
	EXPECT(!take(b, true));
	reinit_completion(&a->answered);
	if (!tally_lock_upgrade_async(a->lock))
		EXPECT(answer(a) == -EDEADLK);
	EXPECT(tally_lock_is_valid(a->lock));
	EXPECT(!tally_lock_release(b->lock));
	EXPECT(tally_lock_downgrade(a->lock) == -EINVAL);
	EXPECT(!tally_lock_release(a->lock));

	EXPECT(!take(a, false));
	EXPECT(tally_lock_upgrade_async(a->lock) == -EINVAL);
	EXPECT(!tally_lock_downgrade(a->lock));
	EXPECT(!take(b, true));
	EXPECT(!tally_lock_release(b->lock));
	EXPECT(!tally_lock_release(a->lock));
	return result();
}

/* Another node wants what is held. */
static int test_recalls(struct api_user *holder, struct api_user *other)
{
	EXPECT(!take(holder, false));
	EXPECT(!ask(other, false, false));
	EXPECT(wait_for_completion_timeout(&holder->recalled, TIMEOUT));
	EXPECT(!completion_done(&other->answered));
	EXPECT(!tally_lock_release(holder->lock));
	EXPECT(!answer(other));
	EXPECT(!tally_lock_release(other->lock));
	return result();
}

/*
 * The recall comes with the grant, and is void when granted() has released: @b is on
 * the node of @a, @other is not.
 */
static int test_void_recall(struct api_user *a, struct api_user *b,
			    struct api_user *other)
{
	EXPECT(!take(a, false));
	EXPECT(!ask(other, false, false));
	EXPECT(wait_for_completion_timeout(&a->recalled, TIMEOUT));
	b->passes = true;
	EXPECT(!ask(b, false, false));
	EXPECT(!tally_lock_release(a->lock));
	EXPECT(!answer(b));
	EXPECT(!answer(other));
	b->passes = false;
	/* Behind what is told of the tenure before. */
	EXPECT(tally_lock_cancel_async(b->lock) == -EALREADY);
	reinit_completion(&b->answered);
	EXPECT(!tally_lock_try_async(b->lock, TALLY_LOCK_EX));
	EXPECT(answer(b) == -EWOULDBLOCK);
	EXPECT(!completion_done(&b->recalled));
	EXPECT(!tally_lock_release(other->lock));
	return result();
}

static int test_asker(void *data)
{
	struct api_user *user = data;
	int err = tally_lock_acquire_async(user->lock, TALLY_LOCK_EX);

	while (!kthread_should_stop())
		msleep(20);
	return err;
}

/* What is not on its way yet is cancelled: whatever comes, it is not granted. */
static int test_cancel_crosses(struct api_user *user)
{
	struct task_struct *task;
	int i;

	reinit_completion(&user->answered);
	task = kthread_run(test_asker, user, "tally_asker");
	if (IS_ERR(task))
		return PTR_ERR(task);
	for (i = 0; i < 5000 && tally_lock_cancel_async(user->lock); i++)
		usleep_range(500, 1000);
	EXPECT(i < 5000);
	EXPECT(answer(user) == -ECANCELED);
	EXPECT(!kthread_stop(task));
	EXPECT(!tally_lock_is_valid(user->lock));
	EXPECT(tally_lock_release(user->lock) == -EINVAL);
	return result();
}

static int test_paths(void)
{
	static const char * const bad[] = { "t", "/l", "t/", ".t/l", "t/.l",
					    "t@/l", "t@.n/l", "t/l/m", "-/l" };
	struct net *net = current->nsproxy->net_ns;
	int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT(PTR_ERR(tally_lock_get(net, node, bad[i], HZ)) ==
		       -EINVAL);
	return result();
}

static DEFINE_SPINLOCK(outer);

static int ask_atomic(struct api_user *user)
{
	unsigned long flags;
	int err;

	spin_lock_irqsave(&outer, flags);
	err = ask(user, false, false);
	spin_unlock_irqrestore(&outer, flags);
	return err;
}

static int release_atomic(struct api_user *user)
{
	unsigned long flags;
	int err;

	spin_lock_irqsave(&outer, flags);
	err = tally_lock_release(user->lock);
	spin_unlock_irqrestore(&outer, flags);
	return err;
}

/* A lock goes round among users that must not sleep. */
static int test_atomic(struct api_user *a, struct api_user *b)
{
	int i;

	EXPECT(!ask_atomic(a));
	for (i = 0; i < ROUNDS; i++) {
		EXPECT(!answer(a));
		EXPECT(!ask_atomic(b));
		EXPECT(!release_atomic(a));
		swap(a, b);
	}
	EXPECT(!answer(a));
	EXPECT(!release_atomic(a));
	return result();
}

/* One that waits is put: it is told nothing, and nothing is left of it. */
static int test_put(struct api_user *a, struct api_user *b)
{
	int answers = b->answers;

	EXPECT(!take(a, false));
	EXPECT(!ask(b, false, false));
	tally_lock_put(b->lock);
	b->lock = NULL;
	EXPECT(b->answers == answers);
	EXPECT(!tally_lock_release(a->lock));
	return result();
}

static int test_watched(void)
{
	struct tally_lock *l = tally_lock_get(current->nsproxy->net_ns, node,
					      lock, TIMEOUT);
	int i, err = 0;

	if (IS_ERR(l))
		return PTR_ERR(l);
	tally_lock_set_class(l);
	EXPECT(tally_lock_acquire_async(l, TALLY_LOCK_EX) == -EINVAL);
	for (i = 0; !err && i < ROUNDS; i++) {
		err = tally_lock_acquire(l, i % 2 ? TALLY_LOCK_SH :
						    TALLY_LOCK_EX, NULL,
					 TIMEOUT);
		if (!err && !(i % 4))
			err = tally_lock_downgrade(l);
		err = err ?: tally_lock_release(l);
	}
	tally_lock_put(l);
	return err ?: result();
}

static int test_all(void)
{
	struct api_user *a = &users[0], *b = &users[1], *c = &users[2];
	int err;

	if (crosses)
		return test_cancel_crosses(a);
	err = test_paths();
	err = err ?: test_exclusive(a, b);
	err = err ?: test_exclusive(a, c);
	err = err ?: test_exclusive(c, a);
	err = err ?: test_try_and_cancel(a, b);
	err = err ?: test_try_and_cancel(c, a);
	err = err ?: test_modes(a, b);
	err = err ?: test_modes(c, a);
	err = err ?: test_recalls(a, c);
	err = err ?: test_recalls(c, a);
	err = err ?: test_void_recall(a, b, c);
	err = err ?: test_atomic(a, c);
	err = err ?: test_put(a, b);
	err = err ?: test_watched();
	return err ?: take(a, false);
}

static void put_users(void)
{
	int i;

	for (i = 0; i < USERS; i++)
		if (users[i].lock)
			tally_lock_put(users[i].lock);
}

static int get_user_of(struct api_user *user, const char *name)
{
	long timeout = patient ? MAX_SCHEDULE_TIMEOUT : TIMEOUT;
	struct tally_lock *l;

	l = tally_lock_get(current->nsproxy->net_ns, name, lock, timeout);
	if (IS_ERR(l))
		return PTR_ERR(l);
	user->lock = l;
	init_completion(&user->answered);
	init_completion(&user->recalled);
	tally_lock_set_ops(l, &test_ops, user);
	return 0;
}

static int __init test_init(void)
{
	int err = 0, i;

	for (i = 0; !err && i < USERS; i++)
		err = get_user_of(&users[i], i == USERS - 1 ? home : node);
	err = err ?: test_all();
	if (err)
		put_users();
	return err;
}

static void __exit test_exit(void)
{
	put_users();
}

module_init(test_init);
module_exit(test_exit);

MODULE_DESCRIPTION("What tally tells kernel users of locks");
MODULE_LICENSE("GPL");
