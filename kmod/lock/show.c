// SPDX-License-Identifier: GPL-2.0
/*
 * What there is to show of locks. Of a holder on another node only that node
 * knows the process; it is asked on demand, what it says is kept for a while,
 * and nothing else depends on it.
 */
#include <linux/slab.h>
#include "lock/client.h"
#include "lock/home.h"
#include "lock/show.h"
#include "lock/wire.h"
#include "netlink/gen.h"
#include "netlink/msg.h"
#include "session/lease.h"
#include "session/node.h"
#include "session/rpc.h"

/*
 * The time for all answers; for one a quarter of what is left, or of the lease:
 * those that are silent leave time for those behind them.
 */
#define WHO_LIMIT_ALL	(2 * HZ)
#define WHO_SHARE	4
/* Askings at a time, of all nodes; others see what is known without. */
#define WHO_ASKINGS	32
/* How long an answer is shown. */
#define WHO_FRESH	(3ULL * NSEC_PER_SEC)

/* What a holder said of itself. */
struct tally_lock_answer {
	u64 session;	/* id of its session, which asked */
	u64 at;		/* CLOCK_BOOTTIME ns at which it was asked */
	struct tally_rep_who rep;	/* the answer */
};

/* What `lock show` tells, at the home. */
struct lock_info {
	/*
	 * "free", "fast", "managed", "cached", "grace", "breaking"; "cached"
	 * where it can be known: of our own users, of others when asked
	 */
	const char *state;
	bool shared;			/* it is held in shared mode */
	u32 holders;			/* how many nodes hold it */
	char holder[TALLY_NAME_SIZE];	/* one of them, "" if none */
	u16 holder_slot;		/* its node slot */
	u64 token;			/* token counter */
	u64 age_ms;	/* of the user, or the node; U64_MAX: unknown (fast) */
	/*
	 * When the home could reclaim it without a word of the holder, or the
	 * holder gives it up, if that is sooner; U64_MAX: it is ours
	 */
	u64 lease_ms;
	u32 fenced;			/* nodes, by this break or the last */
	pid_t pid;			/* 0: kernel code, or not known */
	char comm[TASK_COMM_LEN];	/* name of that user, else "" */
	struct tally_lock_set set;
};

/* The holders of some locks are being asked. */
struct lock_asking {
	struct work_struct work;	/* on the waiting queue */
	struct tally_node *node;	/* our node, referenced */
	char arena[TALLY_NAME_SIZE];	/* of its locks only; "": of all */
	char lock[TALLY_NAME_SIZE];	/* this one only; "": all */
	long left;	/* jiffies that may still be waited */
	/* Node slots of those that did not answer: not asked again. */
	DECLARE_BITMAP(silent, TALLY_SLOT_MAX + 1);
};

static atomic_t askings;

static u64 who_ms_since(u64 at)
{
	return div_u64(ktime_get_boottime_ns() - at, NSEC_PER_MSEC);
}

/*
 * With c->lock: the process that asked for it. An open file may outlive that,
 * like one of a shell that had flock(1) ask: then the one that opened it. None
 * if both have gone.
 */
static void who_task(const struct tally_lock_req *req,
		     struct tally_rep_who *rep)
{
	struct task_struct *task;

	rcu_read_lock();
	task = tally_user_task(req->asker) ?: tally_user_task(req->opener);
	if (task) {
		rep->pid = cpu_to_be32(task_tgid_nr(task));
		strscpy_pad(rep->comm, task->comm, sizeof(rep->comm));
	} else if (!req->asker) {
		strscpy_pad(rep->comm, "kernel", sizeof(rep->comm));
	}
	rcu_read_unlock();
}

/* What this node has of a lock, and a user inside. Any context. */
static void who_is(struct tally_handle *handle, struct tally_rep_who *rep)
{
	struct tally_lock_client *c = tally_lock_client(handle);
	struct tally_lock_req *req;
	unsigned long flags;

	memset(rep, 0, sizeof(*rep));
	spin_lock_irqsave(&c->lock, flags);
	req = list_first_entry_or_null(&c->holders, typeof(*req), list);
	if (req) {
		rep->state = TALLY_WHO_INSIDE;
		rep->age_ms = cpu_to_be64(who_ms_since(req->granted_at));
		who_task(req, rep);
	} else if (c->lc.st == TALLY_LC_CACHED) {
		rep->state = TALLY_WHO_CACHED;
	}
	if (rep->state) {
		rep->mode = c->lc.mode;
		rep->lease_ms = cpu_to_be64(c->session ?
				tally_session_lease_left(c->session) : U64_MAX);
	}
	spin_unlock_irqrestore(&c->lock, flags);
}

/* What the holder said @ms ago. */
static void home_take(struct lock_info *info,
		      const struct tally_rep_who *rep, u64 ms)
{
	info->lease_ms = min(info->lease_ms, be64_to_cpu(rep->lease_ms));
	if (rep->state == TALLY_WHO_CACHED)
		info->state = "cached";
	if (rep->state != TALLY_WHO_INSIDE)
		return;
	info->pid = be32_to_cpu(rep->pid);
	info->age_ms = be64_to_cpu(rep->age_ms) + ms;
	strscpy(info->comm, rep->comm, sizeof(info->comm));
}

/*
 * Under h->lock: what the holder said, if it was asked lately and has had it
 * since. If it has it in another mode than we see, it speaks of another tenure.
 */
static void home_answer(struct tally_lock_home *h, struct tally_session *s,
			struct lock_info *info)
{
	const struct tally_lock_answer *answer = h->answer;

	if (answer && answer->session == s->id &&
	    ktime_get_boottime_ns() - answer->at <= WHO_FRESH &&
	    h->changed_at <= answer->at &&
	    answer->rep.mode == (info->shared ? TALLY_LMODE_S : TALLY_LMODE_X))
		home_take(info, &answer->rep, who_ms_since(answer->at));
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
			     struct lock_info *info)
{
	struct tally_session *s = tally_session_at(h->object.arena->node,
						   info->holder_slot);
	u64 now = ktime_get_boottime_ns(), until;

	if (!s)
		return;
	until = READ_ONCE(s->reclaim_at);
	info->lease_ms = until > now ? div_u64(until - now, NSEC_PER_MSEC) : 0;
	home_answer(h, s, info);
	tally_session_put(s);
}

/* Of our own users the home knows without asking. */
static void home_own_user(struct tally_lock_home *h,
			  struct lock_info *info)
{
	struct tally_handle *handle = tally_lock_home_user(h);
	struct tally_rep_who rep;

	if (!handle)
		return;
	who_is(handle, &rep);
	tally_handle_put(handle);
	if (rep.state)
		home_take(info, &rep, 0);
}

static const char *home_state(const struct tally_lh *lh, u16 holder)
{
	if (lh->grace)
		return "grace";
	if (!tally_lh_fast(lh) && !(lh->cpu && !lh->cur && !lh->shared))
		return "managed";
	return holder ? "fast" : "free";
}

static void lock_info(struct tally_object *object, struct lock_info *info)
{
	u64 *word = tally_arena_word(object->arena, object->word);
	struct tally_lock_home *h = tally_lock_home(object);
	u64 state;

	memset(info, 0, sizeof(*info));
	guard(mutex)(&h->lock);
	info->set = h->set;
	state = tally_lock_home_word(h);
	info->holder_slot = home_holder(&h->lh, state);
	info->holders = home_holders(&h->lh, state);
	info->shared = info->holder_slot && (h->lh.cur ? h->lh.down :
					     !tally_lw_owner(state));
	info->token = max(h->lh.ng, READ_ONCE(word[1])) << 8;
	info->state = home_state(&h->lh, info->holder_slot);
	/* Of a fast tenure the home does not know when it began. */
	info->age_ms = h->lh.cur ? who_ms_since(h->changed_at) : U64_MAX;
	if (info->holder_slot)
		home_slot_name(h, info->holder_slot, info->holder);
	if (info->holder_slot == TALLY_SLOT_HOME) {
		info->lease_ms = U64_MAX;
		home_own_user(h, info);
	} else if (info->holder_slot) {
		home_remote_user(h, info);
	}
	if (h->breaking)
		info->state = "breaking";
	info->fenced = h->breaking ? h->breaking->fenced : h->fenced;
}

/*
 * The name of the waiter at place @i in the queue, from 0, or -ENOENT. An
 * announced successor waits as well.
 */
static int lock_waiter(struct tally_object *object, u32 i,
		       char name[TALLY_NAME_SIZE])
{
	struct tally_lock_home *h = tally_lock_home(object);
	struct tally_lh_node *n = NULL;
	int k;

	guard(mutex)(&h->lock);
	for (k = 0; k < TALLY_LH_CHAIN && !n; k++)
		if (h->lh.suc[k] && !i--)
			n = h->lh.suc[k];
	if (!n)
		for (n = h->lh.head; n && i; n = n->next)
			i--;
	if (n)
		home_slot_name(h, n->slot, name);
	return n ? 0 : -ENOENT;
}

static int put_holder(struct sk_buff *skb, const struct lock_info *info)
{
	if (!info->holder[0] && !info->holder_slot)
		return 0;
	if ((info->lease_ms != U64_MAX &&
	     nla_put_u64_64bit(skb, TALLY_A_OBJECT_LEASE, info->lease_ms,
			       TALLY_A_OBJECT_PAD)) ||
	    (info->pid &&
	     nla_put_u32(skb, TALLY_A_OBJECT_HOLDER_PID, info->pid)) ||
	    tally_nl_put_text(skb, TALLY_A_OBJECT_HOLDER, info->holder) ||
	    tally_nl_put_text(skb, TALLY_A_OBJECT_HOLDER_COMM, info->comm) ||
	    nla_put_u32(skb, TALLY_A_OBJECT_SHARED, info->shared) ||
	    nla_put_u32(skb, TALLY_A_OBJECT_HOLDERS, info->holders) ||
	    nla_put_u32(skb, TALLY_A_OBJECT_HOLDER_SLOT, info->holder_slot) ||
	    (info->age_ms != U64_MAX &&
	     nla_put_u64_64bit(skb, TALLY_A_OBJECT_AGE, info->age_ms,
			       TALLY_A_OBJECT_PAD)))
		return -EMSGSIZE;
	return 0;
}

static int put_waiter(struct sk_buff *skb, void *object, u32 i)
{
	char name[TALLY_NAME_SIZE];

	if (lock_waiter(object, i, name))
		return -ENOENT;
	return skb ? nla_put_string(skb, TALLY_A_OBJECT_WAITER, name) : 0;
}

int tally_lock_nl_fill(struct sk_buff *skb, void *hdr,
		       struct tally_object *object)
{
	struct lock_info info;

	lock_info(object, &info);
	if (nla_put_u32(skb, TALLY_A_OBJECT_CLASS,
			tally_lock_home(object)->class) ||
	    nla_put_string(skb, TALLY_A_OBJECT_LOCK_STATE, info.state) ||
	    nla_put_u64_64bit(skb, TALLY_A_OBJECT_TOKEN, info.token,
			      TALLY_A_OBJECT_PAD) ||
	    nla_put_u32(skb, TALLY_A_OBJECT_CACHE, info.set.cache) ||
	    nla_put_u32(skb, TALLY_A_OBJECT_BUDGET, info.set.grants) ||
	    nla_put_u32(skb, TALLY_A_OBJECT_BUDGET_MS, info.set.ms) ||
	    nla_put_u32(skb, TALLY_A_OBJECT_FENCED, info.fenced) ||
	    put_holder(skb, &info))
		return -EMSGSIZE;
	return tally_nl_put_list(skb, hdr, TALLY_A_OBJECT_WAITERS, put_waiter,
				 object);
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

/* It goes to terminals. */
static void who_clean(char comm[TASK_COMM_LEN])
{
	size_t i;

	for (i = 0; i < TASK_COMM_LEN && comm[i]; i++)
		if (comm[i] < ' ' || comm[i] > '~')
			comm[i] = '?';
}

/* Ask @s, where the holder is, and keep the answer. False: there was none. */
static bool who_ask(struct tally_session *s, struct tally_lock_home *h,
		    long timeout)
{
	struct tally_object *object = &h->object;
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
		return true;
	answer->session = s->id;
	answer->at = ktime_get_boottime_ns();
	err = tally_session_call(s, TALLY_MSG_WHO, &body, sizeof(body), reply,
				 &len, timeout);
	static_assert(sizeof(answer->rep.comm) == TASK_COMM_LEN);
	memcpy(&answer->rep, reply, sizeof(answer->rep));
	if (!err && !who_valid(&answer->rep, len)) {
		tally_session_violation(s, "malformed answer to WHO");
		err = -EPROTO;
	}
	if (err) {
		kfree(answer);
		answer = NULL;	/* nor does an older one hold any more */
	} else {
		who_clean(answer->rep.comm);
	}
	scoped_guard(mutex, &h->lock)
		swap(h->answer, answer);
	kfree(answer);
	return err != -EREMOTEIO && err != -ETIMEDOUT && err != -ENOTCONN &&
	       err != -EINTR;
}

/* Ask the node that holds @h, if it is another one and @h is asked for. */
static void asking_ask(struct tally_lock_home *h, void *ctx)
{
	struct tally_object *object = &h->object;
	struct lock_asking *a = ctx;
	unsigned long start = jiffies;
	struct lock_info info;
	struct tally_session *s;
	long timeout;

	if ((a->arena[0] && strcmp(a->arena, object->arena->config.name)) ||
	    (a->lock[0] && strcmp(a->lock, object->config.name)))
		return;
	lock_info(object, &info);
	if (info.holder_slot <= TALLY_SLOT_HOME || a->left <= 0 ||
	    test_bit(info.holder_slot, a->silent))
		return;
	s = tally_session_at(a->node, info.holder_slot);
	if (!s)
		return;
	/* Will it know what is asked, and is it there? */
	if (s->peer_features & TALLY_FEATURE_WHO && tally_session_is_live(s)) {
		timeout = min_t(long, msecs_to_jiffies(s->lease_ms / 4),
				DIV_ROUND_UP(a->left, WHO_SHARE));
		if (!who_ask(s, h, timeout))
			__set_bit(info.holder_slot, a->silent);
		a->left -= jiffies - start;
	}
	tally_session_put(s);
}

static void asking_work(struct work_struct *work)
{
	struct lock_asking *a = container_of(work, struct lock_asking, work);
	char subject[2 * TALLY_NAME_SIZE];

	tally_lock_homes_each(a->node, asking_ask, a);
	snprintf(subject, sizeof(subject), "%s%s%s", a->arena,
		 a->lock[0] ? "/" : "", a->lock);
	/* Any user may ask: it must not make everybody's lists look changed. */
	tally_node_news(a->node, "locks_asked", subject);
	tally_node_put(a->node);
	kfree(a);
	atomic_dec(&askings);
}

/*
 * Begin to ask the nodes that hold locks for their users; @arena, @lock: of
 * this one only, "": all. What they say is shown for some seconds. Does not
 * wait: the end is the event "locks_asked", subject "ARENA/LOCK" or less. -EBUSY:
 * many are being asked, and any user may ask.
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

/* A home asks for the user that holds its lock. */
void tally_lock_who(struct tally_handle *handle, struct tally_sreq *req)
{
	struct tally_rep_who rep;

	who_is(handle, &rep);
	tally_sreq_reply(req, 0, &rep, sizeof(rep));
}
