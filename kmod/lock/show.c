// SPDX-License-Identifier: GPL-2.0
/*
 * What there is to show of locks. Of a holder on another node only that node
 * knows the process; it is asked on demand, what it
 * says is kept for a while, and nothing else depends on it.
 */
#include <linux/slab.h>
#include "home/export.h"
#include "lock/home.h"
#include "object/type.h"
#include "lock/show.h"
#include "lock/user.h"
#include "lock/wire.h"
#include "session/lease.h"
#include "session/node.h"
#include "session/peer.h"
#include "session/lease.h"
#include "session/rpc.h"

/*
 * The time for all answers; for one a quarter of what is left, or of the lease: those
 * that are silent leave time for those behind them.
 */
#define WHO_LIMIT_ALL	(2 * HZ)
#define WHO_SHARE	4
/* Askings at a time, of all nodes; others see what is known without. */
#define WHO_ASKINGS	32
/* How long an answer is shown. */
#define WHO_FRESH	(3ULL * NSEC_PER_SEC)

/**
 * struct tally_lock_answer - what a holder said of itself
 * @session: id of its session, which asked
 * @at: CLOCK_BOOTTIME ns at which it was asked
 * @rep: the answer
 */
struct tally_lock_answer {
	u64 session;
	u64 at;
	struct tally_rep_who rep;
};

/**
 * struct lock_asking - the holders of some locks are being asked
 * @work: does it; on the queue for what waits for peers
 * @node: our node, referenced
 * @arena: of its locks only; "": of all
 * @lock: this one only; "": all
 * @left: jiffies that may still be waited
 * @silent: node slots of those that did not answer, which are not asked again
 */
struct lock_asking {
	struct work_struct work;
	struct tally_node *node;
	char arena[TALLY_NAME_SIZE];
	char lock[TALLY_NAME_SIZE];
	long left;
	DECLARE_BITMAP(silent, TALLY_SLOT_MAX + 1);
};

static atomic_t askings;

/* It goes to terminals. */
static void who_comm(char comm[TASK_COMM_LEN], const struct tally_rep_who *rep)
{
	size_t i;

	static_assert(sizeof(rep->comm) == TASK_COMM_LEN);
	for (i = 0; i < TASK_COMM_LEN - 1 && rep->comm[i]; i++)
		comm[i] = rep->comm[i] >= ' ' && rep->comm[i] <= '~' ?
			  rep->comm[i] : '?';
	comm[i] = '\0';
}

/*
 * Under h->lock: what the holder said, if it was asked lately and has had it since.
 * If it has it in another mode than we see, it speaks of another tenure.
 */
static void home_answer(struct tally_lock_home *h, struct tally_session *s,
			struct tally_lock_info *info)
{
	const struct tally_lock_answer *answer = h->answer;
	u64 now = ktime_get_boottime_ns(), ms;

	if (!answer || answer->session != s->id ||
	    now - answer->at > WHO_FRESH || h->changed_at > answer->at ||
	    answer->rep.mode != (info->shared ? TALLY_LMODE_S : TALLY_LMODE_X))
		return;
	ms = div_u64(now - answer->at, NSEC_PER_MSEC);
	info->lease_ms = min(info->lease_ms,
			     be64_to_cpu(answer->rep.lease_ms));
	if (answer->rep.state == TALLY_WHO_CACHED) {
		info->state = "cached";
		return;
	}
	info->pid = be32_to_cpu(answer->rep.pid);
	info->age_ms = be64_to_cpu(answer->rep.age_ms) + ms;
	who_comm(info->comm, &answer->rep);
}

static void home_slot_name(struct tally_lock_home *h, u16 slot, char *name)
{
	struct tally_node *node = h->object.arena->node;
	struct tally_session *s;

	if (slot == TALLY_SLOT_HOME) {
		strscpy(name, node->config.name, TALLY_NAME_SIZE);
		return;
	}
	s = tally_session_at(node, slot);
	strscpy(name, s ? s->name : "?", TALLY_NAME_SIZE);
	if (s)
		tally_session_put(s);
}

/* One that has it: there may be several readers. */
static u16 home_holder(const struct tally_lh *lh, u64 state)
{
	if (lh->cur)
		return lh->cur->slot;
	if (lh->shared)
		return lh->shared->slot;
	if (tally_lw_owner(state))
		return tally_lw_owner(state);
	return tally_lw_bits(state) ? __ffs64(tally_lw_bits(state)) + 1 : 0;
}

/* Bits of nodes that wait are no holds; of others the home cannot tell. */
static u32 home_holders(const struct tally_lh *lh, u64 state)
{
	const struct tally_lh_node *n;
	u64 bits = tally_lw_bits(state);
	u32 count = (lh->cur || tally_lw_owner(state)) ? 1 : 0;

	for (n = lh->shared; n; n = n->next) {
		bits &= ~tally_lh_slot_mask(n->slot);
		count++;
	}
	for (n = lh->head; n; n = n->next)
		bits &= ~tally_lh_slot_mask(n->slot);
	return count + hweight64(bits);
}

static void home_remote_user(struct tally_lock_home *h,
			     struct tally_lock_info *info)
{
	struct tally_session *s;
	u64 now = ktime_get_boottime_ns(), until;

	s = tally_session_at(h->object.arena->node, info->holder_slot);
	if (!s)
		return;
	until = READ_ONCE(s->reclaim_at);
	info->lease_ms = until > now ? div_u64(until - now, NSEC_PER_MSEC) : 0;
	home_answer(h, s, info);
	tally_session_put(s);
}

/* Of our own users the home knows without asking. */
static void home_own_user(struct tally_lock_home *h,
			  struct tally_lock_info *info)
{
	struct tally_handle *handle = tally_lock_home_user(h);
	struct tally_lock_user user;

	if (!handle)
		return;
	tally_lock_client_user(handle, &user);
	tally_handle_put(handle);
	if (user.state == TALLY_WHO_CACHED)
		info->state = "cached";
	if (user.state != TALLY_WHO_INSIDE)
		return;
	info->pid = user.pid;
	strscpy(info->comm, user.comm, sizeof(info->comm));
	info->age_ms = div_u64(ktime_get_boottime_ns() - user.since,
			       NSEC_PER_MSEC);
}

static const char *home_state(const struct tally_lh *lh, u16 holder)
{
	if (lh->grace)
		return "grace";
	if (!tally_lh_fast(lh) && !(lh->cpu && !lh->cur && !lh->shared))
		return "managed";
	return holder ? "fast" : "free";
}

/**
 * tally_lock_info - what there is to show of a lock
 * @object: the lock
 * @info: filled
 */
void tally_lock_info(struct tally_object *object, struct tally_lock_info *info)
{
	u64 *word = tally_arena_word(object->arena, object->word);
	struct tally_lock_home *h = tally_lock_home(object);
	struct tally_lh_node *n;
	u64 state;
	int k;

	memset(info, 0, sizeof(*info));
	mutex_lock(&h->lock);
	info->set = h->set;
	state = h->lh.cpu ? 0 : READ_ONCE(word[0]);
	info->holder_slot = home_holder(&h->lh, state);
	info->holders = home_holders(&h->lh, state);
	info->shared = info->holder_slot && !h->lh.cur &&
		       !tally_lw_owner(state);
	info->token = max(h->lh.ng, READ_ONCE(word[1])) << 8;
	info->state = home_state(&h->lh, info->holder_slot);
	for (n = h->lh.head; n; n = n->next)
		info->waiters++;
	/* An announced successor waits as well. */
	for (k = 0; k < TALLY_LH_CHAIN; k++)
		info->waiters += h->lh.suc[k] ? 1 : 0;
	info->age_ms = U64_MAX;
	/* Of a fast tenure the home does not know when it began. */
	if (h->lh.cur)
		info->age_ms = div_u64(ktime_get_boottime_ns() -
				       h->changed_at, NSEC_PER_MSEC);
	if (info->holder_slot)
		home_slot_name(h, info->holder_slot, info->holder);
	info->lease_ms = info->holder_slot == TALLY_SLOT_HOME ? U64_MAX : 0;
	if (info->holder_slot == TALLY_SLOT_HOME)
		home_own_user(h, info);
	else if (info->holder_slot)
		home_remote_user(h, info);
	if (h->breaking)
		info->state = "breaking";
	info->fenced = h->breaking ? h->breaking->fenced : h->fenced;
	mutex_unlock(&h->lock);
}

/**
 * tally_lock_waiter - a waiter's name
 * @object: the lock
 * @i: place in the queue, from 0
 * @name: gets the name of the node
 *
 * Return: 0 or -ENOENT.
 */
int tally_lock_waiter(struct tally_object *object, u32 i,
		      char name[TALLY_NAME_SIZE])
{
	struct tally_lock_home *h = tally_lock_home(object);
	struct tally_lh_node *n = NULL;
	int k;

	mutex_lock(&h->lock);
	for (k = 0; k < TALLY_LH_CHAIN && !n; k++)
		if (h->lh.suc[k] && !i--)
			n = h->lh.suc[k];
	if (!n)
		for (n = h->lh.head; n && i; n = n->next)
			i--;
	if (n)
		home_slot_name(h, n->slot, name);
	mutex_unlock(&h->lock);
	return n ? 0 : -ENOENT;
}

static bool who_valid(const struct tally_rep_who *rep, u32 len)
{
	if (len != sizeof(*rep) || rep->state > TALLY_WHO_INSIDE ||
	    memchr_inv(rep->reserved, 0, sizeof(rep->reserved)) ||
	    be32_to_cpu(rep->pid) > S32_MAX)
		return false;
	if (rep->state != TALLY_WHO_INSIDE &&
	    (rep->pid || rep->age_ms ||
	     memchr_inv(rep->comm, 0, sizeof(rep->comm))))
		return false;
	if (rep->state == TALLY_WHO_NOTHING)
		return !rep->mode;
	return rep->mode == TALLY_LMODE_X || rep->mode == TALLY_LMODE_S;
}

/* Is it worth asking: will it know what is asked, and is it there? */
static bool who_may_ask(struct tally_session *s)
{
	return (s->peer_features & TALLY_FEATURE_WHO) &&
	       tally_session_is_live(s);
}

/* Anything but -EREMOTEIO, -ETIMEDOUT, -ENOTCONN and -EINTR was an answer. */
static bool who_was_silent(int err)
{
	return err == -EREMOTEIO || err == -ETIMEDOUT || err == -ENOTCONN ||
	       err == -EINTR;
}

static void who_keep(struct tally_lock_home *h, struct tally_lock_answer *answer)
{
	mutex_lock(&h->lock);
	swap(h->answer, answer);
	mutex_unlock(&h->lock);
	kfree(answer);
}

/* Ask @s, where the holder is. Return: 0 or why there is no answer. */
static int who_ask(struct tally_session *s, struct tally_object *object,
		   long timeout)
{
	struct tally_wire_object body = {
		.arena = cpu_to_be32(object->arena->id),
		.object = cpu_to_be32(object->id),
		.generation = cpu_to_be32(object->generation),
	};
	struct tally_lock_answer *answer = kzalloc(sizeof(*answer), GFP_KERNEL);
	/* One byte more than it has, to see that it is too long. */
	u8 reply[sizeof(answer->rep) + 1] = {};
	u32 len = sizeof(reply);
	int err;

	if (!answer)
		return -ENOMEM;
	answer->session = s->id;
	answer->at = ktime_get_boottime_ns();
	err = tally_session_call(s, TALLY_MSG_WHO, &body, sizeof(body), reply,
				 &len, timeout);
	memcpy(&answer->rep, reply, sizeof(answer->rep));
	if (!err && !who_valid(&answer->rep, len)) {
		tally_session_violation(s, "malformed answer to WHO");
		err = -EPROTO;
	}
	if (err) {
		kfree(answer);
		answer = NULL;	/* nor does an older one hold any more */
	}
	who_keep(tally_lock_home(object), answer);
	return err;
}

/* Ask the node that holds @object, if it is another one. */
static void asking_ask(struct lock_asking *a, struct tally_object *object)
{
	unsigned long start = jiffies;
	struct tally_lock_info info;
	struct tally_session *s;
	long timeout;

	tally_lock_info(object, &info);
	if (info.holder_slot <= TALLY_SLOT_HOME || a->left <= 0 ||
	    test_bit(info.holder_slot, a->silent))
		return;
	s = tally_session_at(a->node, info.holder_slot);
	if (!s)
		return;
	if (who_may_ask(s)) {
		timeout = min_t(long, msecs_to_jiffies(s->lease_ms / 4),
				DIV_ROUND_UP(a->left, WHO_SHARE));
		if (who_was_silent(who_ask(s, object, timeout)))
			__set_bit(info.holder_slot, a->silent);
		a->left -= jiffies - start;
	}
	tally_session_put(s);
}

static void asking_arena(struct lock_asking *a, struct tally_arena *arena)
{
	struct tally_object *object;
	u32 after = 0;

	while ((object = tally_object_next(arena, after))) {
		after = object->id;
		if (object->config.type == tally_type(TALLY_TYPE_LOCK) &&
		    (!a->lock[0] || !strcmp(a->lock, object->config.name)))
			asking_ask(a, object);
		tally_object_put(object);
	}
}

static void asking_work(struct work_struct *work)
{
	struct lock_asking *a = container_of(work, struct lock_asking, work);
	char subject[2 * TALLY_NAME_SIZE];
	struct tally_arena *arena;
	u32 after = 0;

	while ((arena = tally_arena_next(a->node, after))) {
		after = arena->id;
		if (!a->arena[0] || !strcmp(a->arena, arena->config.name))
			asking_arena(a, arena);
		tally_arena_put(arena);
	}
	snprintf(subject, sizeof(subject), "%s%s%s", a->arena,
		 a->lock[0] ? "/" : "", a->lock);
	tally_node_event(a->node, "locks_asked", subject, "");
	tally_node_put(a->node);
	kfree(a);
	atomic_dec(&askings);
}

/**
 * tally_lock_ask_start - begin to ask the nodes that hold locks for their users
 * @node: our node
 * @arena: of the locks of this arena only, "" of all
 * @lock: only this one of them, "": all
 *
 * What they say is shown by tally_lock_info() from then on, for some seconds. The
 * end, a few seconds later at most, is the event "locks_asked", with the subject
 * "ARENA/LOCK", "ARENA" or "".
 *
 * Context: process; does not wait.
 * Return: 0, -ENOMEM, -EBUSY: many are being asked, and any user may ask.
 */
int tally_lock_ask_start(struct tally_node *node, const char *arena,
			 const char *lock)
{
	struct lock_asking *a;

	if (!atomic_add_unless(&askings, 1, WHO_ASKINGS))
		return -EBUSY;
	a = kzalloc(sizeof(*a), GFP_KERNEL);
	if (!a) {
		atomic_dec(&askings);
		return -ENOMEM;
	}
	INIT_WORK(&a->work, asking_work);
	a->node = tally_node_get(node);
	strscpy(a->arena, arena, sizeof(a->arena));
	strscpy(a->lock, lock, sizeof(a->lock));
	a->left = WHO_LIMIT_ALL;
	queue_work(node->wait_wq, &a->work);
	return 0;
}

static void who_fill(struct tally_rep_who *rep, struct tally_session *s,
		     const struct tally_lock_user *user)
{
	u64 now = ktime_get_boottime_ns();

	memset(rep, 0, sizeof(*rep));
	rep->state = user->state;
	rep->mode = user->mode;
	if (user->state)
		rep->lease_ms = cpu_to_be64(tally_session_lease_left(s));
	if (user->state != TALLY_WHO_INSIDE)
		return;
	rep->pid = cpu_to_be32(user->pid);
	rep->age_ms = cpu_to_be64(div_u64(now - user->since, NSEC_PER_MSEC));
	strscpy_pad(rep->comm, user->comm, sizeof(rep->comm));
}

/**
 * tally_lock_who - a home asks for the user that holds its lock
 * @handle: the lock
 * @req: WHO
 *
 * Context: Rx.
 */
void tally_lock_who(struct tally_handle *handle, struct tally_sreq *req)
{
	struct tally_lock_user user;
	struct tally_rep_who rep;

	tally_lock_client_user(handle, &user);
	who_fill(&rep, req->session, &user);
	tally_sreq_reply(req, 0, &rep, sizeof(rep));
}
