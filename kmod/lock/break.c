// SPDX-License-Identifier: GPL-2.0
/* An administrator takes a lock away from whoever has it. */
#include "lock/home.h"
#include "session/node.h"
#include "session/session.h"

/* The state word as it is now. */
static u64 break_word(struct tally_lock_home *h)
{
	if (h->lh.cpu)
		return 0;
	return READ_ONCE(*tally_arena_word(h->object->arena, h->object->word));
}

/* Under h->lock: does the session in @slot still have what it was to give up? */
static bool break_unanswered(struct tally_lock_home *h, u16 slot, u64 state)
{
	struct home_node *hn = xa_load(&h->nodes, slot);

	return tally_lh_unanswered(&h->lh, slot, hn ? &hn->n : NULL, state);
}

/* False: it was over before, and what it had is on its way back. */
static bool break_end(struct tally_lock_home *h, struct tally_session *s)
{
	if (READ_ONCE(s->state) == TALLY_SESSION_OVER)
		return false;
	tally_node_event(s->node, "lock_fenced", s->name,
			 h->object->config.name);
	tally_session_fence(s, -ETIMEDOUT);
	return true;
}

/*
 * Whoever has not answered is fenced: the word is the home's to change then.
 * Where that is nobody, the home itself could not ask.
 */
static int break_fence(struct tally_lock_home *h, u32 *fenced)
{
	struct tally_node *node = h->object->arena->node;
	u64 state = break_word(h);
	struct tally_session *s;
	u32 slot, over = 0;

	lockdep_assert_held(&h->lock);
	for (slot = TALLY_SLOT_HOME + 1; slot <= TALLY_SLOT_MAX; slot++) {
		if (!break_unanswered(h, slot, state))
			continue;
		s = tally_session_at(node, slot);
		if (!s)
			continue;
		if (break_end(h, s))
			(*fenced)++;
		else
			over++;
		tally_session_put(s);
	}
	return *fenced || over || !tally_lh_breaking(&h->lh) ? 0 : -ETIMEDOUT;
}

static int break_begin(struct tally_lock_home *h)
{
	struct tally_lh_event ev = { .kind = TALLY_LHE_BREAK };

	lockdep_assert_held(&h->lock);
	if (h->dead)
		return -EIDRM;
	if (!tally_lh_taken(&h->lh, break_word(h)))
		return -ESRCH;
	reinit_completion(&h->broken_up);
	h->breaking = true;
	tally_home_step(h, &ev);
	return 0;
}

/* A quarter of the lease: so often each node says that it is there. */
static unsigned long break_limit(struct tally_lock_home *h)
{
	u32 lease = h->object->arena->node->config.lease_ms;

	return msecs_to_jiffies(lease / 4) + 1;
}

/* Whoever gives up leaves it to the next call to fence who has not answered. */
static int break_wait(struct tally_lock_home *h, u32 *fenced)
{
	long left = wait_for_completion_killable_timeout(&h->broken_up,
							 break_limit(h));
	int err = 0;

	mutex_lock(&h->lock);
	h->breaking = false;
	if (h->dead)
		err = -EIDRM;
	else if (left < 0)
		err = -EINTR;
	else if (!left)
		err = break_fence(h, fenced);
	mutex_unlock(&h->lock);
	return err;
}

/**
 * tally_lock_home_break - take a lock away from whoever has it
 * @object: the lock
 * @fenced: gets the number of nodes that did not answer, whose sessions are
 *	ended: they lose all they have of this node
 *
 * Holders are told that they have lost it; who waits is next, and has a larger
 * token. Where a node was fenced, a lock of class external is given on when that
 * node's lease is over.
 *
 * Context: process; sleeps, killable, for up to a quarter of the lease, and
 * longer while another call is at the same lock.
 * Return: 0; -ESRCH: nobody has it; -EIDRM: it was deleted; -ETIMEDOUT: the home
 * has not come to ask, and will; -EINTR: holders may have been told, none was
 * fenced.
 */
int tally_lock_home_break(struct tally_object *object, u32 *fenced)
{
	struct tally_lock_home *h = object->lock;
	int err;

	*fenced = 0;
	if (mutex_lock_killable(&h->break_lock))
		return -EINTR;
	mutex_lock(&h->lock);
	err = break_begin(h);
	mutex_unlock(&h->lock);
	if (!err)
		err = break_wait(h, fenced);
	mutex_unlock(&h->break_lock);
	return err;
}
