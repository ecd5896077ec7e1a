// SPDX-License-Identifier: GPL-2.0
/*
 * The home side of locks: drives lock/fsm_home.c. All steps of one lock run
 * under its mutex, in process context; completions of its own operations on the
 * word are noted and taken up by a work item.
 */
#include <linux/mempool.h>
#include <linux/random.h>
#include <linux/slab.h>
#include "base/work.h"
#include "client/view.h"
#include "home/admin.h"
#include "home/export.h"
#include "lock/home.h"
#include "lock/wire.h"
#include "transport/op.h"
#include "session/lease_math.h"
#include "session/session.h"
#include "base/trace.h"

/* How often to look whether a broken loopback conn is there again. */
#define HOME_RETRY	(HZ / 50)
/* Operations in reserve for when memory is short, for all locks. */
#define HOME_OPS	16

/* One operation of the home on the word. */
struct home_op {
	struct tally_op op;	/* the operation */
	struct tally_lock_home *home;	/* its lock */
	u8 kind;	/* enum tally_lh_event_kind that its completion is */
	u16 slot;	/* slot that is swept */
	bool done;	/* it has completed, not yet taken up */
};

static siphash_key_t home_key;	/* makes passes */
static mempool_t *home_ops;
static const struct tally_lock_local *home_local;

static struct tally_node *home_node_of(struct tally_lock_home *h)
{
	return h->object.arena->node;
}

/* Any context. At the latest after @delay. */
static void home_queue(struct tally_lock_home *h, unsigned long delay)
{
	struct delayed_work *work = &h->work;

	if (delay && delayed_work_pending(work) &&
	    (!timer_pending(&work->timer) ||
	     time_before_eq(work->timer.expires, jiffies + delay)))
		return;
	tally_work_delay(home_node_of(h)->wq, work, &h->object.ref, delay);
}

static void home_op_done(struct tally_op *op)
{
	struct home_op *hop = container_of(op, struct home_op, op);
	struct tally_lock_home *h = hop->home;
	struct tally_object *object = &h->object;

	/* With what it says; it is taken, and freed, from now on. */
	smp_store_release(&hop->done, true);
	home_queue(h, 0);
	tally_object_put(object);
}

/*
 * Under h->lock. What cannot be posted now counts as broken. While it is posted
 * it keeps the object, and with that the entry whose words it aims at.
 */
static struct home_op *home_post(struct tally_lock_home *h, u8 kind, u16 slot,
				 const struct tally_op *op)
{
	struct tally_arena *arena = h->object.arena;
	struct tally_conn *loop = tally_arena_loop(arena);
	struct home_op *hop = NULL;
	u64 addr;
	u32 rkey;

	lockdep_assert_held(&h->lock);
	if (loop)
		hop = mempool_alloc(home_ops, GFP_NOWAIT);
	if (!hop) {
		h->broken = true;
		home_queue(h, loop ? 1 : HOME_RETRY);
		tally_conn_put(loop);
		return NULL;
	}
	addr = tally_arena_loop_addr(arena, h->object.word, &rkey);
	*hop = (struct home_op){
		.op = *op,
		.home = h,
		.kind = kind,
		.slot = slot,
	};
	hop->op.done = home_op_done;
	hop->op.stats = &arena->node->stats;
	hop->op.rkey = rkey;
	hop->op.addr += addr;	/* it was an offset */
	hop->op.addr2 += addr;
	tally_object_get(&h->object);
	tally_op_submit(loop, &hop->op);
	tally_conn_put(loop);
	return hop;
}

/* The handle of our own users, referenced, or NULL. */
struct tally_handle *tally_lock_home_user(struct tally_lock_home *h)
{
	struct tally_handle *handle;

	spin_lock(&h->local_lock);
	handle = h->local;
	if (handle && !kref_get_unless_zero(&handle->ref))
		handle = NULL;
	spin_unlock(&h->local_lock);
	return handle;
}

/* What only the holder of @gen gets. Ids begin anew with each start of a node. */
static u64 home_pass(struct tally_lock_home *h, u64 gen)
{
	const struct tally_object *object = &h->object;

	return siphash_4u64(home_node_of(h)->incarnation,
			    (u64)object->arena->id << 32 | object->id,
			    object->generation, gen, &home_key);
}

/* SUCC names a node; our own users are reached by REL and GRANT. */
static void home_name_next(struct tally_lock_home *h, u16 slot,
			   struct tally_msg_lock *body)
{
	u64 gen = be64_to_cpu(body->next_gen), pass = home_pass(h, gen);
	struct tally_session *next;

	next = slot > TALLY_SLOT_HOME ?
	       tally_session_at(home_node_of(h), slot) : NULL;
	/* What was handed to it before its rights changed would look like this. */
	if (next && !tally_export_withdrew(next)) {
		strscpy(body->next, next->name, sizeof(body->next));
		body->pass = cpu_to_be64(pass ^
					 home_pass(h, be64_to_cpu(body->gen)));
		body->last = cpu_to_be64(tally_lock_proof(&next->ticket,
							  &body->object, gen,
							  pass));
	}
	tally_session_put(next);
}

static void home_send_own(struct tally_lock_home *h,
			  const struct tally_lmsg *msg)
{
	struct tally_handle *handle = tally_lock_home_user(h);

	if (!handle)
		return;
	home_local->message(handle, msg, NULL);
	tally_handle_put(handle);
}

/* A session without a live conn gets nothing: RESYNC makes up for it. */
static void home_send(struct tally_lock_home *h, u16 slot,
		      struct tally_lmsg *msg)
{
	struct tally_node *node = home_node_of(h);
	struct tally_msg_lock body;
	struct tally_session *s;

	if (msg->type == TALLY_LM_GRANT || msg->type == TALLY_LM_UPGRADED)
		msg->pass = home_pass(h, msg->gen);
	if (slot == TALLY_SLOT_HOME) {
		home_send_own(h, msg);
		return;
	}
	s = tally_session_at(node, slot);
	if (!s)
		return;
	tally_lock_encode(&body, h->object.arena->id, h->object.id,
			  h->object.generation, msg);
	if (msg->type == TALLY_LM_SUCC)
		home_name_next(h, msg->next_slot, &body);
	trace_tally_lock_message(true, h->object.arena->id, h->object.id,
				 msg->type, msg->gen);
	tally_stat_inc(&node->stats, TALLY_STAT_LOCK_MSG);
	tally_session_send(s, TALLY_MSG_LOCK, &body, sizeof(body));
	tally_session_put(s);
}

static void home_act(struct tally_lock_home *h, struct tally_lh_action *a)
{
	struct tally_op op = { .type = TALLY_OP_FAA };
	struct tally_session *s;

	switch (a->kind) {
	case TALLY_LHA_POST_SETW:
		op.value = TALLY_LW_W;
		h->main = home_post(h, TALLY_LHE_SETW_DONE, 0, &op);
		break;
	case TALLY_LHA_POST_CLRW:
		if (a->delta) {
			op.type = TALLY_OP_FAA_FAA;
			op.addr = 8;
		}
		op.value2 = tally_lw_minus(TALLY_LW_W);
		op.value = a->delta ?: op.value2;
		h->main = home_post(h, TALLY_LHE_CLRW_DONE, 0, &op);
		break;
	case TALLY_LHA_POST_SWEEP:
		op.value = tally_lw_minus(a->delta);
		h->sweep = home_post(h, TALLY_LHE_SWEEP_DONE, a->slot, &op);
		break;
	case TALLY_LHA_SEND:
		home_send(h, a->slot, &a->msg);
		break;
	case TALLY_LHA_VALUE_BAD:
		break;	/* locks have no value block */
	case TALLY_LHA_VIOLATION:
		WARN_ON_ONCE(a->slot == TALLY_SLOT_HOME);
		s = tally_session_at(home_node_of(h), a->slot);
		if (!s)
			break;
		tally_session_violation(s, "lock protocol");
		tally_session_put(s);
		break;
	case TALLY_LHA_WORD_BAD:
		tally_node_notice(home_node_of(h), "lock_word_bad",
				  h->object.config.name,
				  "the word holds what it cannot hold");
		h->bad = true;
		home_queue(h, 0);
		break;
	}
}

/* The state word as it is now; 0 where there is none. */
u64 tally_lock_home_word(struct tally_lock_home *h)
{
	if (h->lh.cpu)
		return 0;
	return READ_ONCE(*tally_arena_word(h->object.arena, h->object.word));
}

/* Under h->lock: one event, with the words as they are now. */
void tally_lock_home_step(struct tally_lock_home *h, struct tally_lh_event *ev)
{
	u64 *word = tally_arena_word(h->object.arena, h->object.word);
	struct tally_lh_node *cur = h->lh.cur;
	struct tally_lh_actions out;
	u8 state;
	u32 i;

	lockdep_assert_held(&h->lock);
	if (h->dead)
		return;
	do {
		ev->state = tally_lock_home_word(h);
		smp_rmb();	/* state first: see pump in lock/fsm_home.c */
		ev->token = h->lh.cpu ? 0 : READ_ONCE(word[1]);
		state = h->lh.hm;
		tally_lh_step(&h->lh, ev, &out);
		trace_tally_lock_home(h->object.arena->id, h->object.id,
				      state, ev->kind, ev->msg.type,
				      ev->node ? ev->node->slot : ev->slot,
				      h->lh.hm,
				      h->lh.cur ? h->lh.cur->slot : 0,
				      h->lh.ng);
		WARN_ON_ONCE(out.bug);
		for (i = 0; i < out.n; i++)
			home_act(h, &out.a[i]);
		ev->kind = TALLY_LHE_MORE;
	} while (out.more);
	if (cur != h->lh.cur)
		h->changed_at = ktime_get_boottime_ns();
	if (h->breaking && !tally_lh_breaking(&h->lh))
		mod_delayed_work(home_node_of(h)->wq, &h->breaking->work, 0);
}

/* Under h->lock. */
static void home_op_take(struct tally_lock_home *h, struct home_op **at)
{
	struct home_op *hop = *at;
	struct tally_lh_event ev = {};

	/* What home_op_done() said is there with it. */
	if (!hop || !smp_load_acquire(&hop->done))
		return;
	*at = NULL;
	ev.kind = hop->kind;
	ev.slot = hop->slot;
	ev.old = hop->op.type == TALLY_OP_FAA_FAA ? hop->op.old2 : hop->op.old;
	if (hop->op.status)
		h->broken = true;
	else
		tally_lock_home_step(h, &ev);
	mempool_free(hop, home_ops);
}

static bool home_loop_up(struct tally_lock_home *h)
{
	struct tally_conn *loop = tally_arena_loop(h->object.arena);
	bool up = loop && tally_conn_is_up(loop);

	tally_conn_put(loop);
	return up;
}

/* Under h->lock: with a new loopback conn the word says what was done. */
static void home_mend(struct tally_lock_home *h)
{
	struct tally_lh_event ev = { .kind = TALLY_LHE_LOOP_RESET };

	if (!h->broken || h->main || h->sweep)
		return;
	if (h->lh.cpu) {
		h->broken = false;	/* there is no word any more */
	} else if (home_loop_up(h)) {
		h->broken = false;
		tally_lock_home_step(h, &ev);
	} else if (!h->dead) {
		home_queue(h, HOME_RETRY);
	}
}

/*
 * How long others may have the lock that this one knows nothing of, in jiffies; 0:
 * they have not. What a crashed home granted may be held for a lease of its after our
 * start; and one of that name that was deleted until all know it. *@tenure: raised
 * to what such a one has given.
 */
static unsigned long home_grace_left(struct tally_lock_home *h, u64 *tenure)
{
	struct tally_node *node = home_node_of(h);
	u64 end = tally_lease_reclaim(node->started, node->config.grace_ms);
	bool haunted = tally_object_haunted(&h->object, tenure);
	u64 now = ktime_get_boottime_ns();

	if (h->class == TALLY_CLASS_EXTERNAL && !node->config.clean && now < end)
		return nsecs_to_jiffies(end - now) + 1;
	return haunted ? HOME_RETRY : 0;
}

/* Under h->lock. @left, @tenure: what home_grace_left() said before. */
static void home_grace(struct tally_lock_home *h, unsigned long left,
		       u64 tenure)
{
	struct tally_lh_event ev = { .kind = TALLY_LHE_GRACE_OVER };

	if (!h->lh.grace || h->dead)
		return;
	if (left) {
		home_queue(h, left);
	} else {
		h->lh.ng = max(h->lh.ng, tenure);
		tally_lock_home_step(h, &ev);
	}
}

/* What a deleted lock was held for is its memory: it stays as long as that. */
static void home_linger(struct tally_lock_home *h)
{
	u64 now = ktime_get_boottime_ns(), until = h->object.used_until;

	if (h->dead && now < until && tally_node_running(home_node_of(h)))
		home_queue(h, min(nsecs_to_jiffies(until - now) + 1, HZ / 10));
}

/* Under h->lock: one whose session has ended may not know it yet. */
static void home_used_by(struct tally_lock_home *h, struct tally_session *s)
{
	struct tally_object *object = &h->object;

	if (h->class != TALLY_CLASS_EXTERNAL)
		return;
	WRITE_ONCE(object->used_until, max(object->used_until,
					   READ_ONCE(s->reclaim_at)));
	home_linger(h);
}

/*
 * Under h->lock: sessions whose fields are out of the word, or that a deleted
 * lock does not keep any more: their slots are free as far as this lock goes.
 */
static void home_put_swept(struct tally_lock_home *h)
{
	struct tally_session *s;
	u16 slot;

	for (slot = 1; h->swept >> (slot - 1); slot++) {
		if (!(h->swept & tally_lh_slot_mask(slot)) ||
		    (!h->dead && tally_lh_sweeping(&h->lh, slot)))
			continue;
		h->swept &= ~tally_lh_slot_mask(slot);
		s = tally_session_at(home_node_of(h), slot);
		if (WARN_ON_ONCE(!s))
			continue;
		tally_session_put(s);
		tally_session_put(s);
	}
}

/* An operation of our own users broke: they start over when they can. */
static void home_local_mend(struct tally_lock_home *h)
{
	struct tally_handle *handle = tally_lock_home_user(h);
	bool use = handle && !READ_ONCE(h->dead);

	if (use && !home_loop_up(h)) {
		home_queue(h, HOME_RETRY);
	} else {
		WRITE_ONCE(h->local_broken, false);
		if (use)
			home_local->reset(handle);
	}
	tally_handle_put(handle);
}

/* Under h->lock: made before its arena had a mode, and not used by anybody yet? */
static void home_take_mode(struct tally_lock_home *h)
{
	if (READ_ONCE(h->object.arena->mode) != TALLY_MODE_CPU || h->lh.cpu)
		return;
	h->broken = false;
	tally_lh_init(&h->lh, TALLY_LH_CPU |
		      (h->lh.grace ? TALLY_LH_GRACE : 0), h->lh.ng);
}

static void home_work(struct work_struct *work)
{
	struct tally_lock_home *h = container_of(work, typeof(*h), work.work);
	const char *reason;
	unsigned long left;
	u64 tenure = 0;
	bool bad;

	left = READ_ONCE(h->lh.grace) ? home_grace_left(h, &tenure) : 0;

	mutex_lock(&h->lock);
	home_op_take(h, &h->main);
	home_op_take(h, &h->sweep);
	home_take_mode(h);
	home_mend(h);
	home_grace(h, left, tenure);
	home_put_swept(h);
	home_linger(h);
	bad = h->bad && !h->dead;
	mutex_unlock(&h->lock);
	if (READ_ONCE(h->local_broken))
		home_local_mend(h);
	if (bad)
		tally_object_del(h->object.arena, h->object.config.name,
				 TALLY_TYPE_LOCK, &reason);
	tally_object_put(&h->object);
}

/* Not visible yet: its words may be written by the CPU. */
int tally_lock_home_create(struct tally_object *object, const char **reason)
{
	struct tally_lock_home *h = tally_lock_home(object);
	struct tally_arena *arena = object->arena;
	u64 *word = tally_arena_word(arena, object->word);
	u64 tenure = tally_tenure_first(arena->node->config.epoch);
	u8 mode = READ_ONCE(arena->mode);
	u32 flags = 0;

	mutex_init(&h->lock);
	spin_lock_init(&h->local_lock);
	INIT_DELAYED_WORK(&h->work, home_work);
	tally_lh_node_init(&h->own, TALLY_SLOT_HOME, 0, true);
	h->changed_at = ktime_get_boottime_ns();
	if (mode == TALLY_MODE_CPU)
		flags |= TALLY_LH_CPU;
	if (home_grace_left(h, &tenure))
		flags |= TALLY_LH_GRACE;
	WRITE_ONCE(word[0], tally_lh_init(&h->lh, flags, tenure));
	WRITE_ONCE(word[1], tenure);
	if (flags & TALLY_LH_GRACE)
		home_queue(h, 1);
	return 0;
}

void tally_lock_home_fill(struct tally_object *object, struct tally_open *open,
			  struct tally_rep_open *rep)
{
	struct tally_lock_home *h = tally_lock_home(object);

	rep->lock_class = h->class;
	guard(mutex)(&h->lock);
	home_take_mode(h);
	rep->lock_cache = h->set.cache;
	rep->lock_grants = cpu_to_be16(h->set.grants);
	rep->lock_ms = cpu_to_be16(h->set.ms);
	rep->lock_last = cpu_to_be64(h->lh.ng);
}

/*
 * The next lock of that name begins behind the numbers of a deleted one: said when it
 * is deleted, and by each that had it open when it cannot make its second word
 * larger any more. What no lock of this start of ours comes to was written by a peer
 * that broke the protocol.
 */
static void home_keep_tenure(struct tally_lock_home *h)
{
	struct tally_arena *arena = h->object.arena;
	u64 *word = tally_arena_word(arena, h->object.word);
	u64 tenure = max(READ_ONCE(h->lh.ng), READ_ONCE(word[1]));

	if (tenure >= tally_tenure_first(arena->node->config.epoch + 1))
		return;
	guard(mutex)(&arena->lock);
	arena->tenure = max(arena->tenure, tenure);
}

/* The name of the lock is gone: nothing is granted any more, nor broken. */
void tally_lock_home_delete(struct tally_object *object)
{
	struct tally_lock_home *h = tally_lock_home(object);
	struct tally_lock_open *lo;
	struct hlist_node *next;

	mutex_lock(&h->lock);
	h->dead = true;
	if (h->breaking)
		mod_delayed_work(home_node_of(h)->wq, &h->breaking->work, 0);
	/* It points to no open any more. */
	tally_lh_init(&h->lh, TALLY_LH_CPU, h->lh.ng);
	hlist_for_each_entry_safe(lo, next, &h->opens, list) {
		if (!test_bit(TALLY_LOCK_KEPT, &lo->open.flags))
			continue;
		home_used_by(h, lo->open.attach->session);
		hlist_del_init(&lo->list);
		tally_open_put(&lo->open);
	}
	mutex_unlock(&h->lock);
	/* What waits for the end of the grace keeps the node: no longer. */
	home_queue(h, 0);
	home_keep_tenure(h);
}

/* No work is queued and no operation posted: each has a reference. */
void tally_lock_home_destroy(struct tally_object *object)
{
	struct tally_lock_home *h = tally_lock_home(object);

	scoped_guard(mutex, &h->lock)
		home_put_swept(h);
	kfree(h->answer);
}

/* Under h->lock. */
static void home_event(struct tally_lock_home *h, struct tally_lh_node *node,
		       u8 kind, const struct tally_lmsg *msg)
{
	struct tally_lh_event ev = {
		.kind = kind,
		.node = node,
		.slot = node->slot,
	};

	if (msg) {
		ev.msg = *msg;
		ev.proven = msg->pass && msg->pass == home_pass(h, msg->gen);
	}
	tally_lock_home_step(h, &ev);
}

/* Under h->lock: has a session that closed the lock nothing of it any more? */
static bool home_is_idle(struct tally_lock_home *h, struct tally_lh_node *node)
{
	u64 state;

	/* What it gave back on a link that broke it lists in no snapshot. */
	if (!node->up)
		home_event(h, node, TALLY_LHE_RESYNC_END, NULL);
	state = tally_lock_home_word(h);
	return tally_lh_node_idle(&h->lh, node) &&
	       tally_lw_owner(state) != node->slot &&
	       !(tally_lw_bits(state) & tally_lh_slot_mask(node->slot));
}

/*
 * A session closed the lock, or has ended. What it has is taken from it when
 * its session ends, and that may be later: a lock of class external waits for
 * the lease. A session that goes on and has something still broke the protocol.
 * One that has not may open it again: what it handed over is granted once more,
 * as it will not say that it was lost.
 */
void tally_lock_home_close(struct tally_open *open)
{
	struct tally_lock_open *lo = tally_lock_open(open);
	struct tally_session *s = open->attach->session;
	struct tally_lock_home *h = tally_lock_home(open->object);
	bool over = READ_ONCE(s->state) == TALLY_SESSION_OVER;
	bool given_up = !over && tally_attach_withdrawn(open->attach);
	bool fence = false, dead;

	mutex_lock(&h->lock);
	dead = h->dead;
	if (hlist_unhashed(&lo->list)) {
		/* Its session has ended. */
	} else if (given_up || (!over && !dead && home_is_idle(h, &lo->n))) {
		/*
		 * As it says. Where its rights changed its key is gone: what is
		 * left is the home's.
		 */
		tally_lock_home_session_end(h, s);
	} else if (dead) {
		if (over)
			home_used_by(h, s);
		hlist_del_init(&lo->list);
	} else {
		set_bit(TALLY_LOCK_KEPT, &open->flags);
		tally_open_get(open);
		/* One that was told that the lock is deleted may close it. */
		fence = !over && !READ_ONCE(open->object->deleted);
	}
	mutex_unlock(&h->lock);
	if (dead)
		home_keep_tenure(h);
	if (fence) {
		tally_session_violation(s, "a lock closed while it is held");
		tally_session_fence(s, -EPROTO);
	}
}

/*
 * The last reference is gone. One that was closed is in no list, so that only
 * one that was not quite made takes the mutex here, in process context.
 */
void tally_lock_home_forget(struct tally_open *open)
{
	struct tally_lock_home *h = tally_lock_home(open->object);
	struct tally_lock_open *lo = tally_lock_open(open);

	if (hlist_unhashed(&lo->list))
		return;
	guard(mutex)(&h->lock);
	hlist_del_init(&lo->list);
}

/* A session says something, or its link breaks; @msg: NULL, or what it says. */
void tally_lock_home_event(struct tally_open *open, u8 kind,
			   const struct tally_lmsg *msg)
{
	struct tally_lock_open *lo = tally_lock_open(open);
	struct tally_lock_home *h = tally_lock_home(open->object);

	guard(mutex)(&h->lock);
	/* One that is to forget the lock is not heard any more, until its end. */
	if (!hlist_unhashed(&lo->list) &&
	    (kind == TALLY_LHE_LINK_DOWN ||
	     !tally_attach_withdrawn(open->attach)))
		home_event(h, &lo->n, kind, msg);
}

/* To the table its link broke, and comes back with the next open, if at all. */
void tally_lock_home_withdraw(struct tally_open *open)
{
	tally_lock_home_event(open, TALLY_LHE_LINK_DOWN, NULL);
}

/* The same of our own users. */
void tally_lock_home_local(struct tally_object *object, u8 kind,
			   const struct tally_lmsg *msg)
{
	struct tally_lock_home *h = tally_lock_home(object);

	guard(mutex)(&h->lock);
	home_event(h, &h->own, kind, msg);
}

/* Under h->lock. */
static void home_send_set(struct tally_lock_home *h, u16 slot)
{
	struct tally_lmsg msg = {
		.type = TALLY_LM_SET,
		.flags = h->set.cache ? TALLY_LMF_CACHE : 0,
		.gen = h->set.grants,
		.last = h->set.ms,
	};

	home_send(h, slot, &msg);
}

/* A client has said all it has. */
void tally_lock_home_resync_end(struct tally_open *open)
{
	struct tally_lock_home *h = tally_lock_home(open->object);

	tally_lock_home_event(open, TALLY_LHE_RESYNC_END, NULL);
	guard(mutex)(&h->lock);
	if (h->set_changed && !h->dead &&
	    !tally_attach_withdrawn(open->attach))
		home_send_set(h, tally_lock_open(open)->n.slot);
}

/*
 * Under h->lock: a client is fenced, or closed the lock, and what it had is free; its slot is taken
 * until its field is out of the word.
 */
void tally_lock_home_session_end(struct tally_lock_home *h,
				 struct tally_session *s)
{
	u64 mask = tally_lh_slot_mask(s->peer_slot);
	struct tally_lh_event ev = {
		.kind = TALLY_LHE_SESSION_END,
		.slot = s->peer_slot,
	};
	struct tally_lock_open *lo;

	lockdep_assert_held(&h->lock);
	hlist_for_each_entry(lo, &h->opens, list)
		if (lo->open.attach->session == s)
			break;
	if (lo)
		ev.node = &lo->n;
	tally_lock_home_step(h, &ev);
	if (!h->dead && tally_lh_sweeping(&h->lh, s->peer_slot) &&
	    mask & ~h->swept) {
		h->swept |= mask;
		tally_session_get(s);
	}
	if (!lo)
		return;
	hlist_del_init(&lo->list);
	if (test_bit(TALLY_LOCK_KEPT, &lo->open.flags))
		tally_open_put(&lo->open);
}

/* An operation of our own users broke. Any context. */
void tally_lock_home_loop_broken(struct tally_object *object)
{
	struct tally_lock_home *h = tally_lock_home(object);

	WRITE_ONCE(h->local_broken, true);
	/* The work is seen to be pending, or it sees this. */
	smp_mb();
	home_queue(h, HOME_RETRY);
}

/* Our own node uses the lock by @handle, or (@gone) does not any more. */
void tally_lock_home_attach(struct tally_object *object,
			    struct tally_handle *handle, bool gone)
{
	struct tally_lock_home *h = tally_lock_home(object);

	spin_lock(&h->local_lock);
	if (!gone)
		h->local = handle;
	else if (h->local == handle)
		h->local = NULL;
	spin_unlock(&h->local_lock);
}

/*
 * Change the settings; -EIDRM: it was deleted. Every node that has it open is
 * told; one whose link is down when it resumes. Process context; does not wait
 * for the network.
 */
int tally_lock_home_set(struct tally_object *object,
			const struct tally_lock_set *set)
{
	struct tally_lock_home *h = tally_lock_home(object);
	struct tally_lock_open *lo;

	guard(mutex)(&h->lock);
	if (h->dead)
		return -EIDRM;
	h->set = *set;
	h->set_changed = true;
	home_send_set(h, TALLY_SLOT_HOME);
	hlist_for_each_entry(lo, &h->opens, list)
		home_send_set(h, lo->n.slot);
	return 0;
}

/*
 * Call @fn for each lock of @node, referenced meanwhile, until there is none.
 * Process context.
 */
void tally_lock_homes_each(struct tally_node *node,
			   void (*fn)(struct tally_lock_home *h, void *ctx),
			   void *ctx)
{
	const struct tally_type_ops *type = tally_type(TALLY_TYPE_LOCK);
	u32 arena_id = 0, object_id;
	struct tally_object *object;
	struct tally_arena *arena;

	while ((arena = tally_arena_next(node, arena_id))) {
		arena_id = arena->id;
		object_id = 0;
		while ((object = tally_object_next(arena, object_id))) {
			object_id = object->id;
			if (object->config.type == type)
				fn(tally_lock_home(object), ctx);
			tally_object_put(object);
		}
		tally_arena_put(arena);
		cond_resched();
	}
}

/* @local: how homes of locks reach the users on this node */
int tally_lock_homes_init(const struct tally_lock_local *local)
{
	home_local = local;
	get_random_bytes(&home_key, sizeof(home_key));
	home_ops = mempool_create_kmalloc_pool(HOME_OPS,
					       sizeof(struct home_op));
	return home_ops ? 0 : -ENOMEM;
}

void tally_lock_homes_exit(void)
{
	mempool_destroy(home_ops);
}
