// SPDX-License-Identifier: GPL-2.0
/* All locks of this home: what a session means to them, and what they show. */
#include <linux/slab.h>
#include "lock/home.h"
#include "lock/wire.h"
#include "session/session.h"

typedef void (*home_fn)(struct tally_lock_home *h, struct tally_session *s);

/* Every lock of our arenas that is not deleted; @class < 0: of any class. */
static void homes_each(struct tally_session *s, int class, home_fn fn)
{
	struct tally_arena *arena = NULL;
	struct tally_object *object;
	u32 after;

	while ((arena = tally_arena_next(s->node, arena))) {
		after = 0;
		while ((object = tally_object_next(arena, after))) {
			after = object->id;
			if (object->config.type == TALLY_TYPE_LOCK &&
			    (class < 0 || object->config.lock_class == class)) {
				mutex_lock(&object->lock->lock);
				fn(object->lock, s);
				mutex_unlock(&object->lock->lock);
			}
			tally_object_put(object);
		}
	}
}

static void home_link_down(struct tally_lock_home *h, struct tally_session *s)
{
	struct home_node *hn = xa_load(&h->nodes, s->peer_slot);
	struct tally_lh_event ev = { .kind = TALLY_LHE_LINK_DOWN };

	if (!hn)
		return;
	ev.node = &hn->n;
	tally_home_step(h, &ev);
}

/**
 * tally_lock_homes_down - the link of a client broke; its QPs are destroyed
 * @s: its session
 */
void tally_lock_homes_down(struct tally_session *s)
{
	s->resyncing = true;
	homes_each(s, -1, home_link_down);
}

static void home_send_set(struct tally_object *object, struct tally_session *s,
			  const struct tally_lmsg *msg)
{
	struct tally_msg_lock body;

	if (!tally_object_opened(object, s))
		return;
	tally_lock_encode(&body, object->arena->id, object->id,
			  object->generation, msg, NULL);
	tally_session_send(s, TALLY_MSG_LOCK, &body, sizeof(body));
}

static struct tally_lmsg home_set_msg(struct tally_object *object)
{
	struct tally_lock_set set;

	mutex_lock(&object->arena->lock);
	set = object->config.set;
	mutex_unlock(&object->arena->lock);
	return (struct tally_lmsg){
		.type = TALLY_LM_SET,
		.flags = set.cache ? TALLY_LMF_CACHE : 0,
		.gen = set.grants,
		.last = set.ms,
	};
}

static void home_resync_end(struct tally_lock_home *h, struct tally_session *s)
{
	struct home_node *hn = xa_load(&h->nodes, s->peer_slot);
	struct tally_lh_event ev = {
		.kind = TALLY_LHE_RESYNC_END,
		.slot = s->peer_slot,
		.node = hn ? &hn->n : NULL,
	};
	struct tally_lmsg msg;

	if (hn || !tally_lh_fast(&h->lh))
		tally_home_step(h, &ev);
	if (h->set_changed) {
		msg = home_set_msg(h->object);
		home_send_set(h->object, s, &msg);
	}
}

/**
 * tally_lock_homes_resync_end - a client has said all it has
 * @s: its session
 */
void tally_lock_homes_resync_end(struct tally_session *s)
{
	s->resyncing = false;
	homes_each(s, -1, home_resync_end);
}

/* The slot is taken until its field is out of the word. */
static void home_hold_slot(struct tally_lock_home *h, struct tally_session *s)
{
	struct home_swept *swept;

	list_for_each_entry(swept, &h->swept, list)
		if (swept->session == s)
			return;
	swept = kmalloc(sizeof(*swept), GFP_KERNEL | __GFP_NOFAIL);
	swept->session = tally_session_get(s);
	list_add_tail(&swept->list, &h->swept);
}

/* A deleted lock keeps nobody's. */
void tally_home_take_swept(struct tally_lock_home *h, struct list_head *gone)
{
	struct home_swept *swept, *next;

	list_for_each_entry_safe(swept, next, &h->swept, list)
		if (h->dead ||
		    !tally_lh_sweeping(&h->lh, swept->session->peer_slot))
			list_move(&swept->list, gone);
}

void tally_home_put_swept(struct list_head *gone)
{
	struct home_swept *swept, *next;

	list_for_each_entry_safe(swept, next, gone, list) {
		tally_session_put(swept->session);
		kfree(swept);
	}
}

static void home_session_end(struct tally_lock_home *h,
			     struct tally_session *s)
{
	struct home_node *hn = xa_load(&h->nodes, s->peer_slot);
	struct tally_lh_event ev = {
		.kind = TALLY_LHE_SESSION_END,
		.slot = s->peer_slot,
		.node = hn ? &hn->n : NULL,
	};

	tally_home_step(h, &ev);
	if (!h->dead && tally_lh_sweeping(&h->lh, s->peer_slot))
		home_hold_slot(h, s);
	if (!hn || !hn->session)
		return;
	tally_session_put(hn->session);
	hn->session = NULL;
	if (h->dead)
		return;	/* the table may still point to it */
	xa_erase(&h->nodes, s->peer_slot);
	kfree(hn);
}

/*
 * Locks of class external wait for the lease the dead holder may count on.
 * When our node stops they are deleted, not granted on.
 */
static void homes_end_external(struct work_struct *work)
{
	struct tally_session *s = container_of(work, struct tally_session,
					       later.work);
	u64 now = ktime_get_boottime_ns();
	unsigned long wait;

	if (tally_node_running(s->node) && now < s->reclaim_at) {
		wait = nsecs_to_jiffies(s->reclaim_at - now) + 1;
		queue_delayed_work(s->node->wq, &s->later,
				   min(wait, (unsigned long)HZ / 10));
		return;
	}
	if (tally_node_running(s->node))
		homes_each(s, TALLY_CLASS_EXTERNAL, home_session_end);
	tally_session_put(s);
}

/**
 * tally_locks_session_created - a new session
 * @s: the session
 */
void tally_locks_session_created(struct tally_session *s)
{
	INIT_DELAYED_WORK(&s->later, homes_end_external);
}

/**
 * tally_lock_homes_over - a client is fenced: what it had is granted on
 * @s: its session; every QP of it is destroyed
 */
void tally_lock_homes_over(struct tally_session *s)
{
	homes_each(s, TALLY_CLASS_REGION, home_session_end);
	tally_session_get(s);
	queue_delayed_work(s->node->wq, &s->later, 0);
}

static void home_slot_name(struct tally_lock_home *h, u16 slot, char *name)
{
	struct tally_node *node = h->object->arena->node;
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

static u64 home_lease_left(struct tally_lock_home *h, u16 slot)
{
	struct tally_session *s;
	u64 now = ktime_get_boottime_ns();
	u64 until;

	if (slot == TALLY_SLOT_HOME)
		return U64_MAX;
	s = tally_session_at(h->object->arena->node, slot);
	if (!s)
		return 0;
	until = READ_ONCE(s->reclaim_at);
	tally_session_put(s);
	return until > now ? div_u64(until - now, NSEC_PER_MSEC) : 0;
}

/* Of our own users the home knows without asking. */
static void home_own_user(struct tally_lock_home *h,
			  struct tally_lock_info *info)
{
	struct tally_lock_user user;
	struct tally_handle *handle;

	spin_lock(&h->local_lock);
	handle = h->local;
	if (handle && !kref_get_unless_zero(&handle->ref))
		handle = NULL;
	spin_unlock(&h->local_lock);
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
	struct tally_lock_home *h = object->lock;
	struct tally_lh_node *n;
	u64 state;
	int k;

	memset(info, 0, sizeof(*info));
	mutex_lock(&object->arena->lock);
	info->set = object->config.set;
	mutex_unlock(&object->arena->lock);
	mutex_lock(&h->lock);
	state = h->lh.cpu ? 0 : READ_ONCE(word[0]);
	info->holder_slot = home_holder(&h->lh, state);
	info->holders = home_holders(&h->lh, state);
	info->shared = info->holder_slot && !h->lh.cur &&
		       !tally_lw_owner(state);
	info->token = max(h->lh.ng, READ_ONCE(word[1])) << 8;
	info->state = home_state(&h->lh, info->holder_slot);
	for (n = h->lh.head; n; n = n->next)
		info->waiters++;
	/* One that has been told of waits no less. */
	for (k = 0; k < TALLY_LH_CHAIN; k++)
		info->waiters += h->lh.suc[k] ? 1 : 0;
	info->age_ms = U64_MAX;
	/* Of a fast tenure the home does not know when it began. */
	if (h->lh.cur)
		info->age_ms = div_u64(ktime_get_boottime_ns() -
				       h->changed_at, NSEC_PER_MSEC);
	if (info->holder_slot) {
		home_slot_name(h, info->holder_slot, info->holder);
		info->lease_ms = home_lease_left(h, info->holder_slot);
	}
	if (info->holder_slot == TALLY_SLOT_HOME)
		home_own_user(h, info);
	mutex_unlock(&h->lock);
}

/**
 * tally_lock_waiter - who waits?
 * @object: the lock
 * @i: place in the queue, from 0
 * @name: gets the name of the node
 *
 * Return: 0 or -ENOENT.
 */
int tally_lock_waiter(struct tally_object *object, u32 i,
		      char name[TALLY_NAME_SIZE])
{
	struct tally_lock_home *h = object->lock;
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

/**
 * tally_lock_home_set - change the settings of a lock
 * @object: the lock
 * @set: what they become
 *
 * Context: process; does not wait for the network. A node whose link is down
 * is told when it resumes.
 * Return: 0, or -EIDRM: it was deleted.
 */
int tally_lock_home_set(struct tally_object *object,
			const struct tally_lock_set *set)
{
	struct tally_node *node = object->arena->node;
	struct tally_lmsg msg;
	struct tally_session *s;
	int slot;

	if (READ_ONCE(object->deleted))
		return -EIDRM;
	mutex_lock(&object->arena->lock);
	object->config.set = *set;
	mutex_unlock(&object->arena->lock);
	WRITE_ONCE(object->lock->set_changed, true);
	msg = home_set_msg(object);
	tally_lock_home_tell(object, &msg);
	for (slot = TALLY_SLOT_HOME + 1; slot <= TALLY_SLOT_MAX; slot++) {
		s = tally_session_at(node, slot);
		if (!s)
			continue;
		home_send_set(object, s, &msg);
		tally_session_put(s);
	}
	return 0;
}
