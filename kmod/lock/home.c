// SPDX-License-Identifier: GPL-2.0
/*
 * The home side of locks: drives lock/fsm_home.c. All steps of one lock run under
 * its mutex, in process context; completions of its own operations on the word
 * are noted and taken up by a work item.
 */
#include <linux/mempool.h>
#include <linux/slab.h>
#include "base/work.h"
#include "client/view.h"
#include "home/admin.h"
#include "home/export.h"
#include "lock/home.h"
#include "lock/wire.h"
#include "transport/op.h"
#include "session/session.h"
#include "base/trace.h"

/* How often to look whether a broken loopback conn is there again. */
#define HOME_RETRY	(HZ / 50)
/* A deleted lock may still give so many tokens by operations on the wire. */
#define HOME_TENURE_GAP	(TALLY_SLOT_MAX + 1)
/* Operations in reserve for when memory is short, for all locks. */
#define HOME_OPS	16

/**
 * struct home_op - one operation of the home on the word
 * @op: the operation
 * @home: its lock
 * @kind: enum tally_lh_event_kind that its completion is
 * @slot: slot that is swept
 * @done: it has completed, not yet taken up
 */
struct home_op {
	struct tally_op op;
	struct tally_lock_home *home;
	u8 kind;
	u16 slot;
	bool done;
};

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
 * Under h->lock. What cannot be posted now counts as broken. While it is posted it
 * keeps the object, and with that the entry whose words it aims at.
 */
static struct home_op *home_post(struct tally_lock_home *h, u8 kind,
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
		if (loop)
			tally_conn_put(loop);
		return NULL;
	}
	addr = tally_arena_loop_addr(arena, h->object.word, &rkey);
	hop->op = *op;
	hop->op.done = home_op_done;
	hop->op.stats = &arena->node->stats;
	hop->op.rkey = rkey;
	hop->op.addr += addr;	/* it was an offset */
	hop->op.addr2 += addr;
	hop->home = h;
	hop->kind = kind;
	hop->slot = 0;
	hop->done = false;
	tally_object_get(&h->object);
	tally_op_submit(loop, &hop->op);
	tally_conn_put(loop);
	return hop;
}

static void home_post_setw(struct tally_lock_home *h)
{
	struct tally_op op = {
		.type = TALLY_OP_FAA,
		.value = TALLY_LW_W,
	};

	h->main = home_post(h, TALLY_LHE_SETW_DONE, &op);
}

static void home_post_clrw(struct tally_lock_home *h, u64 delta)
{
	struct tally_op op = {
		.type = delta ? TALLY_OP_FAA_FAA : TALLY_OP_FAA,
		.addr = delta ? 8 : 0,
		.value = delta ?: tally_lw_minus(TALLY_LW_W),
		.value2 = tally_lw_minus(TALLY_LW_W),
	};

	h->main = home_post(h, TALLY_LHE_CLRW_DONE, &op);
}

static void home_post_sweep(struct tally_lock_home *h, u16 slot, u64 field)
{
	struct tally_op op = {
		.type = TALLY_OP_FAA,
		.value = tally_lw_minus(field),
	};

	h->sweep = home_post(h, TALLY_LHE_SWEEP_DONE, &op);
	if (h->sweep)
		h->sweep->slot = slot;
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

static void home_send_local(struct tally_lock_home *h,
			    const struct tally_lmsg *msg)
{
	struct tally_handle *handle = tally_lock_home_user(h);

	if (!handle)
		return;
	home_local->message(handle, msg);
	tally_handle_put(handle);
}

/* The node a SUCC names; our own users are reached through REL and GRANT. */
static void home_next_name(struct tally_lock_home *h,
			   const struct tally_lmsg *msg, char *name)
{
	struct tally_session *s;

	name[0] = '\0';
	if (!msg->next_slot || msg->next_slot == TALLY_SLOT_HOME)
		return;
	s = tally_session_at(home_node_of(h), msg->next_slot);
	if (!s)
		return;
	strscpy(name, s->name, TALLY_NAME_SIZE);
	tally_session_put(s);
}

/* A session without a live conn gets nothing: RESYNC makes up for it. */
static void home_send(struct tally_lock_home *h, u16 slot,
		      const struct tally_lmsg *msg)
{
	struct tally_object *object = &h->object;
	struct tally_node *node = home_node_of(h);
	char next[TALLY_NAME_SIZE];
	struct tally_msg_lock body;
	struct tally_session *s;

	if (slot == TALLY_SLOT_HOME) {
		home_send_local(h, msg);
		return;
	}
	s = tally_session_at(node, slot);
	if (!s)
		return;
	home_next_name(h, msg, next);
	tally_lock_encode(&body, object->arena->id, object->id,
			  object->generation, msg, next);
	trace_tally_lock_message(true, object->arena->id, object->id,
				 msg->type, msg->gen);
	tally_stat_inc(&node->stats, TALLY_STAT_LOCK_MSG);
	tally_session_send(s, TALLY_MSG_LOCK, &body, sizeof(body));
	tally_session_put(s);
}

static void home_violation(struct tally_lock_home *h, u16 slot)
{
	struct tally_session *s;

	if (WARN_ON_ONCE(slot == TALLY_SLOT_HOME))
		return;
	s = tally_session_at(home_node_of(h), slot);
	if (!s)
		return;
	tally_session_violation(s, "lock protocol");
	tally_session_put(s);
}

static void home_act(struct tally_lock_home *h,
		     const struct tally_lh_action *a)
{
	switch (a->kind) {
	case TALLY_LHA_POST_SETW:
		home_post_setw(h);
		break;
	case TALLY_LHA_POST_CLRW:
		home_post_clrw(h, a->delta);
		break;
	case TALLY_LHA_POST_SWEEP:
		home_post_sweep(h, a->slot, a->delta);
		break;
	case TALLY_LHA_SEND:
		home_send(h, a->slot, &a->msg);
		break;
	case TALLY_LHA_VALUE_BAD:
		break;	/* locks have no value block */
	case TALLY_LHA_VIOLATION:
		home_violation(h, a->slot);
		break;
	case TALLY_LHA_WORD_BAD:
		tally_node_event(home_node_of(h), "lock_word_bad",
				 h->object.config.name,
				 "the word holds what it cannot hold");
		h->bad = true;
		home_queue(h, 0);
		break;
	}
}

static void home_read_word(struct tally_lock_home *h, struct tally_lh_event *ev)
{
	u64 *word;

	if (h->lh.cpu)
		return;
	word = tally_arena_word(h->object.arena, h->object.word);
	ev->state = READ_ONCE(word[0]);
	smp_rmb();	/* state first: see pump in lock/fsm_home.c */
	ev->token = READ_ONCE(word[1]);
}

/**
 * tally_lock_home_step - one event, with the words as they are now
 * @h: the lock, locked
 * @ev: what happened
 */
void tally_lock_home_step(struct tally_lock_home *h, struct tally_lh_event *ev)
{
	struct tally_lh_node *cur = h->lh.cur;
	struct tally_lh_actions out;
	u8 state;
	u32 i;

	lockdep_assert_held(&h->lock);
	if (h->dead)
		return;
	do {
		home_read_word(h, ev);
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

/* Under h->lock: with a new loopback conn the word says what was done. */
static void home_mend(struct tally_lock_home *h)
{
	struct tally_lh_event ev = { .kind = TALLY_LHE_LOOP_RESET };
	struct tally_conn *loop;

	if (!h->broken || h->main || h->sweep)
		return;
	loop = tally_arena_loop(h->object.arena);
	if (loop && tally_conn_is_up(loop)) {
		h->broken = false;
		tally_lock_home_step(h, &ev);
	} else if (!h->dead) {
		home_queue(h, HOME_RETRY);
	}
	if (loop)
		tally_conn_put(loop);
}

/* What a crashed home granted may be held for one lease after our start. */
static u64 home_grace_end(struct tally_object *object)
{
	struct tally_node *node = object->arena->node;
	u64 lease = (u64)node->config.lease_ms * NSEC_PER_MSEC;

	return node->started + lease + lease / 500;
}

/* Under h->lock. */
static void home_grace(struct tally_lock_home *h)
{
	struct tally_lh_event ev = { .kind = TALLY_LHE_GRACE_OVER };
	u64 now = ktime_get_boottime_ns(), end = home_grace_end(&h->object);

	if (!h->lh.grace || h->dead)
		return;
	if (now >= end)
		tally_lock_home_step(h, &ev);
	else
		home_queue(h, nsecs_to_jiffies(end - now) + 1);
}

/*
 * Under h->lock: sessions whose fields are out of the word, or that a deleted lock
 * does not keep any more: their slots are free as far as this lock goes.
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

/* An operation of our own users broke: they start over when that is possible. */
static void home_local_mend(struct tally_lock_home *h)
{
	struct tally_conn *loop = tally_arena_loop(h->object.arena);
	struct tally_handle *handle = tally_lock_home_user(h);

	if (handle && !READ_ONCE(h->dead) &&
	    !(loop && tally_conn_is_up(loop))) {
		home_queue(h, HOME_RETRY);
	} else {
		WRITE_ONCE(h->local_broken, false);
		if (handle && !READ_ONCE(h->dead))
			home_local->reset(handle);
	}
	if (handle)
		tally_handle_put(handle);
	if (loop)
		tally_conn_put(loop);
}

static void home_work(struct work_struct *work)
{
	struct tally_lock_home *h = container_of(work, struct tally_lock_home,
						 work.work);
	const char *reason;
	bool bad;

	mutex_lock(&h->lock);
	home_op_take(h, &h->main);
	home_op_take(h, &h->sweep);
	home_mend(h);
	home_grace(h);
	home_put_swept(h);
	bad = h->bad && !h->dead;
	mutex_unlock(&h->lock);
	if (READ_ONCE(h->local_broken))
		home_local_mend(h);
	if (bad)
		tally_object_del(h->object.arena, h->object.config.name,
				 TALLY_TYPE_LOCK, &reason);
	tally_object_put(&h->object);
}

static u64 home_first_tenure(struct tally_object *object)
{
	struct tally_arena *arena = object->arena;
	u64 tenure = tally_tenure_first(arena->node->config.epoch);

	mutex_lock(&arena->lock);
	tenure = max(tenure, arena->tenure);
	mutex_unlock(&arena->lock);
	return tenure;
}

static bool home_needs_grace(struct tally_object *object)
{
	return tally_lock_home(object)->class == TALLY_CLASS_EXTERNAL &&
	       !object->arena->node->config.clean &&
	       ktime_get_boottime_ns() < home_grace_end(object);
}

/**
 * tally_lock_home_check - is a lock of that class possible?
 * @object: the lock
 * @reason: says why not
 *
 * Return: 0 or -EINVAL.
 */
int tally_lock_home_check(struct tally_object *object, const char **reason)
{
	if (tally_lock_home(object)->class <= TALLY_CLASS_REGION)
		return 0;
	*reason = "not a class this type can have";
	return -EINVAL;
}

/**
 * tally_lock_home_create - make the home side of a lock
 * @object: not visible yet: its words may be written by the CPU
 * @reason: says why when it fails
 *
 * Return: 0, or -EAGAIN while the arena has no mode yet.
 */
int tally_lock_home_create(struct tally_object *object, const char **reason)
{
	struct tally_lock_home *h = tally_lock_home(object);
	struct tally_arena *arena = object->arena;
	u64 *word = tally_arena_word(arena, object->word);
	u64 tenure = home_first_tenure(object);
	u8 mode = READ_ONCE(arena->mode);
	u32 flags = 0;

	if (mode == TALLY_MODE_AUTO) {
		*reason = "the arena has not found its mode yet";
		return -EAGAIN;
	}
	mutex_init(&h->lock);
	spin_lock_init(&h->local_lock);
	INIT_DELAYED_WORK(&h->work, home_work);
	tally_lh_node_init(&h->own, TALLY_SLOT_HOME, 0, true);
	h->changed_at = ktime_get_boottime_ns();
	if (mode == TALLY_MODE_CPU)
		flags |= TALLY_LH_CPU;
	if (home_needs_grace(object))
		flags |= TALLY_LH_GRACE;
	WRITE_ONCE(word[0], tally_lh_init(&h->lh, flags, tenure));
	WRITE_ONCE(word[1], tenure);
	if (flags & TALLY_LH_GRACE)
		home_queue(h, 1);
	return 0;
}

/**
 * tally_lock_home_fill - a lock's part of what OPEN answers
 * @object: the lock
 * @open: not used
 * @rep: its class and settings are filled in
 */
void tally_lock_home_fill(struct tally_object *object, struct tally_open *open,
			  struct tally_rep_open *rep)
{
	struct tally_lock_home *h = tally_lock_home(object);

	rep->lock_class = h->class;
	mutex_lock(&h->lock);
	rep->lock_cache = h->set.cache;
	rep->lock_grants = cpu_to_be16(h->set.grants);
	rep->lock_ms = cpu_to_be16(h->set.ms);
	mutex_unlock(&h->lock);
}

/**
 * tally_lock_home_delete - the name of the lock is gone
 * @object: its object
 *
 * Nothing is granted any more, nor broken. Its numbers live on in the arena.
 */
void tally_lock_home_delete(struct tally_object *object)
{
	struct tally_arena *arena = object->arena;
	u64 *word = tally_arena_word(arena, object->word), tenure;
	struct tally_lock_home *h = tally_lock_home(object);
	struct tally_lock_open *lo;
	struct hlist_node *next;

	mutex_lock(&h->lock);
	h->dead = true;
	if (h->breaking)
		mod_delayed_work(home_node_of(h)->wq, &h->breaking->work, 0);
	tenure = max(h->lh.ng, READ_ONCE(word[1]));
	/* It points to no open any more. */
	tally_lh_init(&h->lh, TALLY_LH_CPU, h->lh.ng);
	hlist_for_each_entry_safe(lo, next, &h->opens, list) {
		if (!test_bit(TALLY_LOCK_KEPT, &lo->open.flags))
			continue;
		hlist_del_init(&lo->list);
		tally_open_put(&lo->open);
	}
	mutex_unlock(&h->lock);
	/* What waits for the end of the grace keeps the node: not any longer. */
	home_queue(h, 0);
	mutex_lock(&arena->lock);
	arena->tenure = max(arena->tenure, tenure + HOME_TENURE_GAP);
	mutex_unlock(&arena->lock);
}

/**
 * tally_lock_home_destroy - no node can reach the lock any more
 * @object: its object; no work is queued and no operation posted, each has a
 *	reference, and so has each open
 */
void tally_lock_home_destroy(struct tally_object *object)
{
	struct tally_lock_home *h = tally_lock_home(object);

	mutex_lock(&h->lock);
	home_put_swept(h);
	mutex_unlock(&h->lock);
	kfree(h->answer);
}

static struct tally_lock_open *home_open(struct tally_open *open)
{
	return container_of(open, struct tally_lock_open, open);
}

static struct tally_lock_home *home_of(struct tally_open *open)
{
	return tally_lock_home(open->object);
}

/**
 * tally_lock_home_open - a session opens the lock
 * @open: new
 * @resyncing: it has not said yet what it had before its link broke
 *
 * A session that is fenced, maybe because it closed the lock while it held it, opens
 * it no more: its end takes one open from the lock.
 *
 * Return: 0, -ENOTCONN.
 */
int tally_lock_home_open(struct tally_open *open, bool resyncing)
{
	struct tally_lock_open *lo = home_open(open);
	struct tally_session *s = open->attach->session;
	struct tally_lock_home *h = home_of(open);
	int err = -ENOTCONN;

	mutex_lock(&h->lock);
	if (READ_ONCE(s->state) != TALLY_SESSION_OVER) {
		tally_lh_node_init(&lo->n, s->peer_slot, s->id, !resyncing);
		hlist_add_head(&lo->list, &h->opens);
		err = 0;
	}
	mutex_unlock(&h->lock);
	return err;
}

/* Under h->lock: has the session anything of the lock? */
static bool home_has_something(struct tally_lock_home *h,
			       struct tally_lock_open *lo)
{
	struct tally_lh_event ev = {};
	u16 slot = lo->n.slot;

	home_read_word(h, &ev);
	return !tally_lh_node_idle(&h->lh, &lo->n) ||
	       tally_lw_owner(ev.state) == slot ||
	       tally_lw_bits(ev.state) & tally_lh_slot_mask(slot);
}

/**
 * tally_lock_home_close - a session closed the lock, or has ended
 * @open: as it had it
 *
 * What it has is taken from it when its session ends, and that may be later: a
 * lock of class external waits for the lease. A session that goes on and has
 * something still broke the protocol.
 */
void tally_lock_home_close(struct tally_open *open)
{
	struct tally_lock_open *lo = home_open(open);
	struct tally_session *s = open->attach->session;
	struct tally_lock_home *h = home_of(open);
	bool over = READ_ONCE(s->state) == TALLY_SESSION_OVER;
	bool fence = false;

	mutex_lock(&h->lock);
	if (hlist_unhashed(&lo->list)) {
		/* Its session has ended. */
	} else if (h->dead || (!over && !home_has_something(h, lo))) {
		hlist_del_init(&lo->list);
	} else {
		set_bit(TALLY_LOCK_KEPT, &open->flags);
		tally_open_get(open);
		/* One that was told that the lock is deleted may close it. */
		fence = !over && !READ_ONCE(open->object->deleted);
	}
	mutex_unlock(&h->lock);
	if (fence) {
		tally_session_violation(s, "a lock closed while it is held");
		tally_session_fence(s, -EPROTO);
	}
}

/**
 * tally_lock_home_forget - the last reference to an open is gone
 * @open: which; one that was closed is in no list, so that only one that was
 *	not quite made takes the mutex here, in process context
 */
void tally_lock_home_forget(struct tally_open *open)
{
	struct tally_lock_open *lo = home_open(open);

	if (hlist_unhashed(&lo->list))
		return;
	mutex_lock(&home_of(open)->lock);
	hlist_del_init(&lo->list);
	mutex_unlock(&home_of(open)->lock);
}

/* One event of a session. */
static void home_event(struct tally_open *open, struct tally_lh_event *ev)
{
	struct tally_lock_open *lo = home_open(open);
	struct tally_lock_home *h = home_of(open);

	mutex_lock(&h->lock);
	ev->node = &lo->n;
	ev->slot = lo->n.slot;
	if (!hlist_unhashed(&lo->list))
		tally_lock_home_step(h, ev);
	mutex_unlock(&h->lock);
}

/**
 * tally_lock_home_message - a client says something
 * @open: the lock as it has it
 * @msg: what it says
 *
 * Return: 0, or -EPROTO: it may not say that.
 */
int tally_lock_home_message(struct tally_open *open,
			    const struct tally_lmsg *msg)
{
	struct tally_lh_event ev = { .kind = TALLY_LHE_MSG, .msg = *msg };
	struct tally_object *object = open->object;

	if (tally_open_access(open) != TALLY_ACCESS_RW)
		return -EPROTO;
	trace_tally_lock_message(false, object->arena->id, object->id,
				 msg->type, msg->gen);
	home_event(open, &ev);
	return 0;
}

/**
 * tally_lock_home_link_down - the link of a client broke; its QPs are destroyed
 * @open: a lock as it has it
 */
void tally_lock_home_link_down(struct tally_open *open)
{
	struct tally_lh_event ev = { .kind = TALLY_LHE_LINK_DOWN };

	home_event(open, &ev);
}

static struct tally_lmsg home_set_msg(struct tally_lock_home *h)
{
	return (struct tally_lmsg){
		.type = TALLY_LM_SET,
		.flags = h->set.cache ? TALLY_LMF_CACHE : 0,
		.gen = h->set.grants,
		.last = h->set.ms,
	};
}

/* Under h->lock. */
static void home_send_set(struct tally_lock_home *h, struct tally_session *s)
{
	struct tally_object *object = &h->object;
	struct tally_lmsg msg = home_set_msg(h);
	struct tally_msg_lock body;

	tally_lock_encode(&body, object->arena->id, object->id,
			  object->generation, &msg, NULL);
	tally_session_send(s, TALLY_MSG_LOCK, &body, sizeof(body));
}

/**
 * tally_lock_home_resync_end - a client has said all it has
 * @open: a lock as it has it
 */
void tally_lock_home_resync_end(struct tally_open *open)
{
	struct tally_lh_event ev = { .kind = TALLY_LHE_RESYNC_END };
	struct tally_lock_home *h = home_of(open);

	home_event(open, &ev);
	mutex_lock(&h->lock);
	if (h->set_changed && !h->dead)
		home_send_set(h, open->attach->session);
	mutex_unlock(&h->lock);
}

/**
 * tally_lock_home_session_end - a client is fenced, and what it had is free
 * @h: the lock, locked
 * @s: its session; its slot is taken until its field is out of the word
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

/**
 * tally_lock_home_local - our own users say something
 * @object: the lock
 * @msg: what they say
 *
 * Context: work item of the client.
 */
void tally_lock_home_local(struct tally_object *object,
			   const struct tally_lmsg *msg)
{
	struct tally_lock_home *h = tally_lock_home(object);
	struct tally_lh_event ev = {
		.kind = TALLY_LHE_MSG,
		.node = &h->own,
		.msg = *msg,
	};

	mutex_lock(&h->lock);
	tally_lock_home_step(h, &ev);
	mutex_unlock(&h->lock);
}

/**
 * tally_lock_home_loop_broken - an operation of our own users broke
 * @object: the lock
 *
 * Context: any.
 */
void tally_lock_home_loop_broken(struct tally_object *object)
{
	struct tally_lock_home *h = tally_lock_home(object);

	WRITE_ONCE(h->local_broken, true);
	/* The work is seen to be pending, or it sees this. */
	smp_mb();
	home_queue(h, HOME_RETRY);
}

/**
 * tally_lock_home_local_reset - the loopback conn broke under our own users
 * @object: the lock
 * @up: false: it is down; true: all has been said again
 */
void tally_lock_home_local_reset(struct tally_object *object, bool up)
{
	struct tally_lock_home *h = tally_lock_home(object);
	struct tally_lh_event ev = {
		.kind = up ? TALLY_LHE_RESYNC_END : TALLY_LHE_LINK_DOWN,
		.slot = TALLY_SLOT_HOME,
		.node = &h->own,
	};

	mutex_lock(&h->lock);
	tally_lock_home_step(h, &ev);
	mutex_unlock(&h->lock);
}

/**
 * tally_lock_home_attach - our own node uses the lock
 * @object: the lock
 * @handle: handle of its users, which detaches when it goes
 */
void tally_lock_home_attach(struct tally_object *object,
			    struct tally_handle *handle)
{
	struct tally_lock_home *h = tally_lock_home(object);

	spin_lock(&h->local_lock);
	h->local = handle;
	spin_unlock(&h->local_lock);
}

/**
 * tally_lock_home_detach - that handle is gone
 * @object: the lock
 * @handle: the handle
 */
void tally_lock_home_detach(struct tally_object *object,
			    struct tally_handle *handle)
{
	struct tally_lock_home *h = tally_lock_home(object);

	spin_lock(&h->local_lock);
	if (h->local == handle)
		h->local = NULL;
	spin_unlock(&h->local_lock);
}

/**
 * tally_lock_home_set - change the settings of a lock
 * @object: the lock
 * @set: what they become
 *
 * Every node that has it open is told; one whose link is down when it resumes.
 *
 * Context: process; does not wait for the network.
 * Return: 0, or -EIDRM: it was deleted.
 */
int tally_lock_home_set(struct tally_object *object,
			const struct tally_lock_set *set)
{
	struct tally_lock_home *h = tally_lock_home(object);
	struct tally_lock_open *lo;
	struct tally_lmsg msg;
	int err = 0;

	mutex_lock(&h->lock);
	if (h->dead) {
		err = -EIDRM;
	} else {
		h->set = *set;
		h->set_changed = true;
		msg = home_set_msg(h);
		home_send_local(h, &msg);
		hlist_for_each_entry(lo, &h->opens, list)
			home_send_set(h, lo->open.attach->session);
	}
	mutex_unlock(&h->lock);
	return err;
}

/**
 * tally_lock_homes_init - make what all homes of locks share
 * @local: how they reach the users on this node
 *
 * Return: 0 or -ENOMEM.
 */
int tally_lock_homes_init(const struct tally_lock_local *local)
{
	home_local = local;
	home_ops = mempool_create_kmalloc_pool(HOME_OPS,
					       sizeof(struct home_op));
	return home_ops ? 0 : -ENOMEM;
}

void tally_lock_homes_exit(void)
{
	mempool_destroy(home_ops);
}
