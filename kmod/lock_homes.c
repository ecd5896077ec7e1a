// SPDX-License-Identifier: GPL-2.0
/* All locks of this home: what a session means to them, and what they show. */
#include <linux/slab.h>
#include "lock_home.h"
#include "peer.h"

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

static void home_resync_end(struct tally_lock_home *h, struct tally_session *s)
{
	struct home_node *hn = xa_load(&h->nodes, s->peer_slot);
	struct tally_lh_event ev = {
		.kind = TALLY_LHE_RESYNC_END,
		.slot = s->peer_slot,
		.node = hn ? &hn->n : NULL,
	};

	if (hn || !tally_lh_fast(&h->lh))
		tally_home_step(h, &ev);
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
	u32 i;

	for (i = 0; i < ARRAY_SIZE(h->swept); i++) {
		if (h->swept[i] == s)
			return;
		if (h->swept[i])
			continue;
		h->swept[i] = tally_session_get(s);
		return;
	}
	WARN_ON_ONCE(1);
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
	s = tally_node_slot_session(node, slot);
	strscpy(name, s ? s->peer->name : "?", TALLY_NAME_SIZE);
	if (s)
		tally_session_put(s);
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

	memset(info, 0, sizeof(*info));
	mutex_lock(&h->lock);
	state = h->lh.cpu ? 0 : READ_ONCE(word[0]);
	info->holder_slot = h->lh.cur ? h->lh.cur->slot : tally_lw_owner(state);
	info->token = max(h->lh.ng, READ_ONCE(word[1])) << 8;
	if (h->lh.grace)
		info->state = "grace";
	else if (!tally_lh_fast(&h->lh) && !(h->lh.cpu && !h->lh.cur))
		info->state = "managed";
	else
		info->state = info->holder_slot ? "fast" : "free";
	for (n = h->lh.head; n; n = n->next)
		info->waiters++;
	info->age_ms = U64_MAX;
	/* Of a fast tenure the home does not know when it began. */
	if (h->lh.cur)
		info->age_ms = div_u64(ktime_get_boottime_ns() -
				       h->changed_at, NSEC_PER_MSEC);
	if (info->holder_slot)
		home_slot_name(h, info->holder_slot, info->holder);
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
	struct tally_lh_node *n;

	mutex_lock(&h->lock);
	for (n = h->lh.head; n && i; n = n->next)
		i--;
	if (n)
		home_slot_name(h, n->slot, name);
	mutex_unlock(&h->lock);
	return n ? 0 : -ENOENT;
}
