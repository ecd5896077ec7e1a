// SPDX-License-Identifier: GPL-2.0
/*
 * An administrator takes a lock away from all nodes that have it. They are
 * asked at once; those that have not answered after a quarter of the lease, the
 * interval of renewals, are fenced: then the word is the home's to change.
 */
#include <linux/slab.h>
#include "lock/break.h"
#include "lock/home.h"
#include "netlink/msg.h"
#include "session/node.h"
#include "session/session.h"

static unsigned long break_limit(struct tally_lock_home *h)
{
	return msecs_to_jiffies(h->object.arena->node->config.lease_ms / 4) + 1;
}

/* Under h->lock. What one that had ended before had is on its way back. */
static void break_fence_slot(struct tally_lock_home *h, u16 slot)
{
	struct tally_node *node = h->object.arena->node;
	struct tally_session *s = tally_session_at(node, slot);

	if (!s)
		return;
	if (READ_ONCE(s->state) != TALLY_SESSION_OVER) {
		tally_node_notice(node, "lock_fenced", s->name,
				  h->object.config.name);
		tally_session_fence(s, -ETIMEDOUT);
		h->breaking->fenced++;
	}
	tally_session_put(s);
}

/* Under h->lock: end the sessions that still have what they were to give up. */
static void break_fence(struct tally_lock_home *h)
{
	u64 state = tally_lock_home_word(h);
	struct tally_lock_open *lo;
	u16 slot;

	for (slot = TALLY_SLOT_HOME + 1; slot <= TALLY_LW_BIT_SLOT_MAX; slot++)
		if (tally_lh_unanswered(&h->lh, slot, NULL, state))
			break_fence_slot(h, slot);
	hlist_for_each_entry(lo, &h->opens, list)
		if (tally_lh_unanswered(&h->lh, 0, &lo->n, state))
			break_fence_slot(h, lo->n.slot);
}

/*
 * Under h->lock: true at the end. After one was fenced nothing is left to wait
 * for; else the home could not ask yet, and is given more time.
 */
static bool break_over(struct tally_lock_home *h)
{
	struct tally_lock_break *b = h->breaking;

	if (h->dead || !tally_lh_breaking(&h->lh))
		return true;
	if (time_before(jiffies, b->deadline))
		return false;
	break_fence(h);
	b->deadline = jiffies + break_limit(h);
	return b->fenced;
}

static void break_work(struct work_struct *work)
{
	struct tally_lock_break *b = container_of(work, typeof(*b), work.work);
	struct tally_lock_home *h = b->home;
	struct tally_object *object = &h->object;
	char subject[2 * TALLY_NAME_SIZE], detail[16];
	bool over, dead;

	mutex_lock(&h->lock);
	over = break_over(h);
	dead = h->dead;
	if (over) {
		h->breaking = NULL;
		h->fenced = b->fenced;
		/* What kicks it does so under this lock. */
		cancel_delayed_work(&b->work);
	} else {
		mod_delayed_work(object->arena->node->wq, &b->work,
				 b->deadline - jiffies);
	}
	mutex_unlock(&h->lock);
	if (!over)
		return;
	snprintf(subject, sizeof(subject), "%s/%s",
		 object->arena->config.name, object->config.name);
	snprintf(detail, sizeof(detail), dead ? "deleted" : "%u", b->fenced);
	tally_node_notice(object->arena->node, "lock_broken", subject,
			  detail);
	kfree(b);
	tally_object_put(object);
}

/*
 * Holders are told that they have lost it; the next waiter has a larger token.
 * Where a node was fenced, a lock of class external is given on when that
 * node's lease has ended. Does not wait: the end is the event "lock_broken",
 * whose detail is the number of nodes that were fenced, or "deleted" if the
 * lock was.
 */
int tally_lock_nl_break(struct tally_object *object, struct genl_info *info)
{
	struct tally_lh_event ev = { .kind = TALLY_LHE_BREAK };
	struct tally_lock_home *h = tally_lock_home(object);
	struct tally_lock_break *b = kzalloc(sizeof(*b), GFP_KERNEL);
	const char *reason = NULL;
	int err;

	if (!b)
		return -ENOMEM;
	INIT_DELAYED_WORK(&b->work, break_work);
	b->home = h;
	guard(mutex)(&h->lock);
	if (h->dead) {
		err = -EIDRM;
		reason = "it was deleted meanwhile";
	} else if (h->breaking) {
		err = -EALREADY;
		reason = "it is being taken away already";
	} else if (!tally_lh_taken(&h->lh, tally_lock_home_word(h))) {
		err = -ESRCH;
		reason = "nobody has it";
	} else {
		tally_object_get(object);
		h->fenced = 0;
		b->deadline = jiffies + break_limit(h);
		h->breaking = b;
		queue_delayed_work(object->arena->node->wq, &b->work,
				   break_limit(h));
		tally_lock_home_step(h, &ev);
		return 0;
	}
	kfree(b);
	return tally_nl_fail(info->extack, NULL, reason, err);
}
