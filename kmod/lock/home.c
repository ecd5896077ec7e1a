// SPDX-License-Identifier: GPL-2.0
/*
 * The home side of locks: drives lock/fsm_home.c. All steps of one lock run under
 * its mutex, in process context; completions of its own operations on the word
 * are noted and taken up by a work item.
 */
#include <linux/slab.h>
#include "lock/home.h"
#include "lock/wire.h"
#include "session/session.h"
#include "base/trace.h"

/* How often to look whether a broken loopback conn is there again. */
#define HOME_RETRY	(HZ / 50)
/* A deleted lock may still give so many tokens by operations on the wire. */
#define HOME_TENURE_GAP	(TALLY_SLOT_MAX + 1)

static struct tally_node *home_node_of(struct tally_lock_home *h)
{
	return h->object->arena->node;
}

static void home_queue(struct tally_lock_home *h, unsigned long delay)
{
	tally_object_get(h->object);
	if (mod_delayed_work(home_node_of(h)->wq, &h->work, delay))
		tally_object_put(h->object);
}

static void home_op_done(struct tally_op *op)
{
	struct home_op *hop = container_of(op, struct home_op, op);
	struct tally_object *object = hop->home->object;

	/* With what it says; home_op_take() may run for another reason. */
	smp_store_release(&hop->done, true);
	home_queue(hop->home, 0);
	tally_object_put(object);
}

/*
 * Under h->lock. Without a loopback conn it counts as broken. While it is posted
 * it keeps the object, and with that the entry whose words it aims at.
 */
static void home_post(struct tally_lock_home *h, struct home_op *hop)
{
	struct tally_conn *loop = tally_arena_loop(h->object->arena);
	u64 addr;
	u32 rkey;

	lockdep_assert_held(&h->lock);
	if (!loop) {
		h->broken = true;
		home_queue(h, HOME_RETRY);
		return;
	}
	addr = tally_arena_loop_addr(h->object->arena, h->object->word, &rkey);
	hop->busy = true;
	hop->done = false;
	hop->op.rkey = rkey;
	hop->op.addr += addr;	/* it was an offset */
	hop->op.addr2 += addr;
	tally_object_get(h->object);
	tally_op_submit(loop, &hop->op);
	tally_conn_put(loop);
}

static void home_post_setw(struct tally_lock_home *h)
{
	h->main.kind = TALLY_LHE_SETW_DONE;
	h->main.op.type = TALLY_OP_FAA;
	h->main.op.addr = 0;
	h->main.op.value = TALLY_LW_W;
	home_post(h, &h->main);
}

static void home_post_clrw(struct tally_lock_home *h, u64 delta)
{
	h->main.kind = TALLY_LHE_CLRW_DONE;
	h->main.op.type = delta ? TALLY_OP_FAA_FAA : TALLY_OP_FAA;
	h->main.op.addr = delta ? 8 : 0;
	h->main.op.value = delta ?: tally_lw_minus(TALLY_LW_W);
	h->main.op.addr2 = 0;
	h->main.op.value2 = tally_lw_minus(TALLY_LW_W);
	home_post(h, &h->main);
}

static void home_post_sweep(struct tally_lock_home *h, u16 slot, u64 field)
{
	h->sweep.kind = TALLY_LHE_SWEEP_DONE;
	h->sweep.slot = slot;
	h->sweep.op.type = TALLY_OP_FAA;
	h->sweep.op.addr = 0;
	h->sweep.op.value = tally_lw_minus(field);
	home_post(h, &h->sweep);
}

static void home_send_local(struct tally_lock_home *h,
			    const struct tally_lmsg *msg)
{
	struct tally_handle *handle;

	spin_lock(&h->local_lock);
	handle = h->local;
	if (handle && !kref_get_unless_zero(&handle->ref))
		handle = NULL;
	spin_unlock(&h->local_lock);
	if (!handle)
		return;
	tally_lock_client_message(handle, msg, NULL);
	tally_handle_put(handle);
}

void tally_lock_home_tell(struct tally_object *object,
			  const struct tally_lmsg *msg)
{
	home_send_local(object->lock, msg);
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
	struct tally_object *object = h->object;
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
				 h->object->config.name,
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
	word = tally_arena_word(h->object->arena, h->object->word);
	ev->state = READ_ONCE(word[0]);
	smp_rmb();	/* state first: see pump in lock/fsm_home.c */
	ev->token = READ_ONCE(word[1]);
}

/* Under h->lock: one event, with the words as they are now. */
void tally_home_step(struct tally_lock_home *h, struct tally_lh_event *ev)
{
	struct tally_lh_node *cur = h->lh.cur;
	struct tally_lh_actions *out = &h->out;
	u32 i;

	lockdep_assert_held(&h->lock);
	if (h->dead)
		return;
	do {
		home_read_word(h, ev);
		tally_lh_step(&h->lh, ev, out);
		WARN_ON_ONCE(out->bug);
		for (i = 0; i < out->n; i++)
			home_act(h, &out->a[i]);
		ev->kind = TALLY_LHE_MORE;
	} while (out->more);
	if (cur != h->lh.cur)
		h->changed_at = ktime_get_boottime_ns();
	if (h->breaking && !tally_lh_breaking(&h->lh))
		complete_all(&h->broken_up);
}

/* Under h->lock. */
static void home_op_take(struct tally_lock_home *h, struct home_op *hop)
{
	struct tally_lh_event ev = {
		.kind = hop->kind,
		.slot = hop->slot,
	};

	/* What home_op_done() said is there with it. */
	if (!hop->busy || !smp_load_acquire(&hop->done))
		return;
	hop->busy = false;
	if (hop->op.status) {
		h->broken = true;
		return;
	}
	ev.old = hop->op.type == TALLY_OP_FAA_FAA ? hop->op.old2 : hop->op.old;
	tally_home_step(h, &ev);
}

/* Under h->lock: with a new loopback conn the word says what was done. */
static void home_mend(struct tally_lock_home *h)
{
	struct tally_lh_event ev = { .kind = TALLY_LHE_LOOP_RESET };
	struct tally_conn *loop;

	if (!h->broken || h->main.busy || h->sweep.busy)
		return;
	loop = tally_arena_loop(h->object->arena);
	if (loop && tally_conn_is_up(loop)) {
		h->broken = false;
		tally_home_step(h, &ev);
	} else if (!h->dead) {
		home_queue(h, HOME_RETRY);
	}
	if (loop)
		tally_conn_put(loop);
}

static void home_grace(struct tally_lock_home *h)
{
	struct tally_lh_event ev = { .kind = TALLY_LHE_GRACE_OVER };
	u64 now = ktime_get_boottime_ns();

	if (!h->lh.grace || h->dead)
		return;
	if (now >= h->grace_until)
		tally_home_step(h, &ev);
	else
		home_queue(h, nsecs_to_jiffies(h->grace_until - now) + 1);
}

static void home_work(struct work_struct *work)
{
	struct tally_lock_home *h = container_of(work, struct tally_lock_home,
						 work.work);
	const char *reason;
	LIST_HEAD(gone);
	bool bad;

	mutex_lock(&h->lock);
	home_op_take(h, &h->main);
	home_op_take(h, &h->sweep);
	home_mend(h);
	home_grace(h);
	tally_home_take_swept(h, &gone);
	bad = h->bad && !h->dead;
	mutex_unlock(&h->lock);
	tally_home_put_swept(&gone);
	if (bad)
		tally_object_del(h->object->arena, h->object->config.name,
				 TALLY_TYPE_LOCK, &reason);
	tally_object_put(h->object);
}

static u64 home_first_tenure(struct tally_object *object)
{
	struct tally_arena *arena = object->arena;
	u64 tenure = tally_tenure_first(arena->node->config.epoch);

	mutex_lock(&arena->lock);
	tenure = max(tenure, arena->lock_tenure);
	mutex_unlock(&arena->lock);
	return tenure;
}

/* What a crashed home granted may be held for one lease after our start. */
static bool home_needs_grace(struct tally_object *object)
{
	struct tally_node *node = object->arena->node;
	u64 lease = (u64)node->config.lease_ms * NSEC_PER_MSEC;

	return object->config.lock_class == TALLY_CLASS_EXTERNAL &&
	       !node->config.clean &&
	       ktime_get_boottime_ns() < node->started + lease + lease / 500;
}

static struct tally_lock_home *home_alloc(struct tally_object *object)
{
	struct tally_lock_home *h = kzalloc(sizeof(*h), GFP_KERNEL);
	struct tally_stats *stats = &object->arena->node->stats;

	if (!h)
		return NULL;
	h->object = object;
	mutex_init(&h->lock);
	mutex_init(&h->break_lock);
	init_completion(&h->broken_up);
	spin_lock_init(&h->local_lock);
	xa_init(&h->nodes);
	INIT_LIST_HEAD(&h->swept);
	INIT_DELAYED_WORK(&h->work, home_work);
	h->main.home = h;
	h->main.op.done = home_op_done;
	h->main.op.stats = stats;
	h->sweep.home = h;
	h->sweep.op.done = home_op_done;
	h->sweep.op.stats = stats;
	h->changed_at = ktime_get_boottime_ns();
	return h;
}

/**
 * tally_lock_home_create - make the home side of a lock
 * @object: not yet in anybody's hands: its words may be written by the CPU
 *
 * Return: 0; -ENOMEM; -EAGAIN while the arena has no mode yet.
 */
int tally_lock_home_create(struct tally_object *object)
{
	struct tally_arena *arena = object->arena;
	u64 *word = tally_arena_word(arena, object->word);
	u64 tenure = home_first_tenure(object), lease;
	u8 mode = READ_ONCE(arena->mode);
	struct tally_lock_home *h;
	u32 flags = 0;

	if (mode == TALLY_MODE_AUTO)
		return -EAGAIN;
	h = home_alloc(object);
	if (!h)
		return -ENOMEM;
	if (mode == TALLY_MODE_CPU)
		flags |= TALLY_LH_CPU;
	if (home_needs_grace(object)) {
		flags |= TALLY_LH_GRACE;
		lease = (u64)arena->node->config.lease_ms * NSEC_PER_MSEC;
		h->grace_until = arena->node->started + lease + lease / 500;
	}
	WRITE_ONCE(word[0], tally_lh_init(&h->lh, flags, tenure));
	WRITE_ONCE(word[1], tenure);
	object->lock = h;
	if (flags & TALLY_LH_GRACE)
		home_queue(h, 1);
	return 0;
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
	struct tally_lock_home *h = object->lock;

	mutex_lock(&h->lock);
	h->dead = true;
	complete_all(&h->broken_up);
	tenure = max(h->lh.ng, READ_ONCE(word[1]));
	mutex_unlock(&h->lock);
	/* What waits for the end of the grace keeps the node: not any longer. */
	home_queue(h, 0);
	mutex_lock(&arena->lock);
	arena->lock_tenure = max(arena->lock_tenure, tenure + HOME_TENURE_GAP);
	mutex_unlock(&arena->lock);
}

/**
 * tally_lock_home_destroy - nobody can reach the lock any more
 * @object: its object; no work is queued and no operation posted, each has a
 *	reference
 */
void tally_lock_home_destroy(struct tally_object *object)
{
	struct tally_lock_home *h = object->lock;
	struct home_node *hn;
	unsigned long slot;
	LIST_HEAD(gone);

	xa_for_each(&h->nodes, slot, hn) {
		if (hn->session)
			tally_session_put(hn->session);
		kfree(hn);
	}
	xa_destroy(&h->nodes);
	list_splice_init(&h->swept, &gone);
	tally_home_put_swept(&gone);
	kfree(h);
	object->lock = NULL;
}

/* Under h->lock: the node of that slot, made when it is the first time. */
static struct home_node *home_node_get(struct tally_lock_home *h, u16 slot,
				       struct tally_session *s)
{
	struct home_node *hn = xa_load(&h->nodes, slot);

	if (hn)
		return hn;
	hn = kzalloc(sizeof(*hn), GFP_KERNEL);
	if (!hn)
		return NULL;
	if (xa_err(xa_store(&h->nodes, slot, hn, GFP_KERNEL))) {
		kfree(hn);
		return NULL;
	}
	hn->session = s ? tally_session_get(s) : NULL;
	tally_lh_node_init(&hn->n, slot, s ? s->id : 0, !s || !s->resyncing);
	return hn;
}

/**
 * tally_lock_home_message - a client says something
 * @s: its session
 * @object: the object it speaks of
 * @msg: what it says
 *
 * Return: 0; -EPROTO: it may not say that; -ENOMEM.
 */
int tally_lock_home_message(struct tally_session *s,
			    struct tally_object *object,
			    const struct tally_lmsg *msg)
{
	struct tally_lh_event ev = { .kind = TALLY_LHE_MSG, .msg = *msg };
	struct tally_lock_home *h = object->lock;
	struct home_node *hn;
	int err = 0;

	if (object->config.type != TALLY_TYPE_LOCK ||
	    !tally_object_opened(object, s) ||
	    tally_arena_access(object->arena, s->name) !=
	    TALLY_ACCESS_RW)
		return READ_ONCE(object->deleted) ? 0 : -EPROTO;
	trace_tally_lock_message(false, object->arena->id, object->id,
				 msg->type, msg->gen);
	mutex_lock(&h->lock);
	hn = home_node_get(h, s->peer_slot, s);
	if (hn) {
		ev.node = &hn->n;
		tally_home_step(h, &ev);
	} else {
		err = -ENOMEM;
	}
	mutex_unlock(&h->lock);
	return err;
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
	struct tally_lh_event ev = { .kind = TALLY_LHE_MSG, .msg = *msg };
	struct tally_lock_home *h = object->lock;
	struct home_node *hn;

	mutex_lock(&h->lock);
	hn = xa_load(&h->nodes, TALLY_SLOT_HOME);
	if (hn) {
		ev.node = &hn->n;
		tally_home_step(h, &ev);
	}
	mutex_unlock(&h->lock);
}

/**
 * tally_lock_home_local_reset - the loopback conn broke under our own users
 * @object: the lock
 * @up: false: it is down; true: all has been said again
 */
void tally_lock_home_local_reset(struct tally_object *object, bool up)
{
	struct tally_lh_event ev = {
		.kind = up ? TALLY_LHE_RESYNC_END : TALLY_LHE_LINK_DOWN,
		.slot = TALLY_SLOT_HOME,
	};
	struct tally_lock_home *h = object->lock;
	struct home_node *hn;

	mutex_lock(&h->lock);
	hn = xa_load(&h->nodes, TALLY_SLOT_HOME);
	if (hn) {
		ev.node = &hn->n;
		tally_home_step(h, &ev);
	}
	mutex_unlock(&h->lock);
}

/**
 * tally_lock_home_attach - our own node uses the lock
 * @object: the lock
 * @handle: handle of its users; tells us when it goes
 *
 * Return: 0 or -ENOMEM.
 */
int tally_lock_home_attach(struct tally_object *object,
			   struct tally_handle *handle)
{
	struct tally_lock_home *h = object->lock;
	struct home_node *hn;

	mutex_lock(&h->lock);
	hn = home_node_get(h, TALLY_SLOT_HOME, NULL);
	mutex_unlock(&h->lock);
	if (!hn)
		return -ENOMEM;
	spin_lock(&h->local_lock);
	h->local = handle;
	spin_unlock(&h->local_lock);
	return 0;
}

/**
 * tally_lock_home_detach - that handle is gone
 * @object: the lock
 * @handle: the handle
 */
void tally_lock_home_detach(struct tally_object *object,
			    struct tally_handle *handle)
{
	struct tally_lock_home *h = object->lock;

	spin_lock(&h->local_lock);
	if (h->local == handle)
		h->local = NULL;
	spin_unlock(&h->local_lock);
}
