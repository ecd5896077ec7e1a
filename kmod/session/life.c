// SPDX-License-Identifier: GPL-2.0
#include <linux/rhashtable.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "base/trace.h"
#include "session/lease.h"
#include "session/life.h"
#include "session/link.h"
#include "session/rpc.h"

/* How long breaking a link may take before we go on without it. */
#define LINK_DOWN_WAIT	(10 * HZ)
#define GOODBYE_WAIT	(HZ / 2)

/* The node's last reference may go here: its workqueue ends elsewhere. */
static void session_free(struct work_struct *work)
{
	struct tally_session *s = container_of(work, struct tally_session,
					       free_work);

	kvfree(s->rpc);
	/* Every bit of the slot has been swept. */
	if (s->peer_slot)
		xa_erase(&s->node->slots, s->peer_slot);
	s->owner_ops->put(s->peer);
	tally_node_put(s->node);
	memzero_explicit(s->key, sizeof(s->key));
	kfree_rcu(s, rcu);
}

static void session_unhash(struct tally_session *s)
{
	rhashtable_remove_fast(&s->node->sessions, &s->by_id,
			       tally_sessions_params);
}

/* Under s->upcall. */
static void session_tell_down(struct tally_session *s)
{
	lockdep_assert_held(&s->upcall);
	if (!s->announced)
		return;
	s->announced = false;
	tally_node_event(s->node, "down", s->name,
			 s->state == TALLY_SESSION_OVER ? "over" : "broken");
	s->node->ops->down(s);
}

/* Under s->upcall: the holders hear of it before the QPs are gone. */
static void session_tell_lost(struct tally_session *s)
{
	lockdep_assert_held(&s->upcall);
	if (s->told || READ_ONCE(s->state) != TALLY_SESSION_OVER)
		return;
	s->told = true;
	trace_tally_session_lost(s->id, s->error);
	s->node->ops->lost(s);
}

/* Under s->upcall: everything made on the device is given up here. */
static void session_tell_over(struct tally_session *s)
{
	lockdep_assert_held(&s->upcall);
	cancel_delayed_work_sync(&s->tick);
	tally_rpc_close(s);
	s->node->ops->over(s);
	tally_stat_inc(&s->node->stats, TALLY_STAT_SESSION_FENCED);
	tally_node_event(s->node, "over", s->name, "");
	trace_tally_session_fenced(s->id, s->error);
	session_unhash(s);
	s->owner_ops->over(s);
	WRITE_ONCE(s->over, true);
	tally_dev_unwatch(s->dev, &s->watch);
	ib_dealloc_pd(s->pd);
	tally_dev_put(s->dev);
}

/*
 * Follows every change of the link, one run at a time. What is still waited
 * for queues it again.
 */
static void session_link_work(struct work_struct *work)
{
	struct tally_session *s = container_of(work, struct tally_session,
					       link_work);
	bool settled, broken, end, lived;
	unsigned int noio;

	/* Memory may wait for what is done here. */
	noio = memalloc_noio_save();
	mutex_lock(&s->upcall);
	session_tell_lost(s);
	spin_lock_irq(&s->lock);
	settled = !s->conns;
	broken = s->state == TALLY_SESSION_BROKEN;
	lived = s->lived;
	end = s->state == TALLY_SESSION_OVER && !s->over && settled;
	spin_unlock_irq(&s->lock);
	if (settled && (broken || end))
		session_tell_down(s);
	if (end)
		session_tell_over(s);
	mutex_unlock(&s->upcall);
	memalloc_noio_restore(noio);
	wake_up_all(&s->wait);
	if (settled && broken && lived)
		s->owner_ops->link_lost(s);
	else if (settled && broken)
		tally_session_fence(s, s->error);	/* nothing to come back to */
	if (end)
		tally_session_put(s);	/* the one tally_session_start() took */
	tally_session_put(s);
}

static void session_gone(struct tally_dev_user *user)
{
	struct tally_session *s = container_of(user, struct tally_session,
					       watch);

	tally_session_fence(s, -ENETDOWN);
}

/*
 * A new session, without a link. Until tally_session_start() its maker fills in
 * all above @dev in its struct, but for @node and @peer_slot. Return: a
 * reference or NULL.
 */
struct tally_session *tally_session_alloc(struct tally_node *node,
					  struct tally_dev *dev)
{
	struct tally_session *s = kzalloc(sizeof(*s), GFP_KERNEL);

	if (!s)
		return NULL;
	kref_init(&s->ref);
	spin_lock_init(&s->lock);
	mutex_init(&s->upcall);
	init_waitqueue_head(&s->wait);
	INIT_DELAYED_WORK(&s->tick, tally_lease_tick);
	INIT_WORK(&s->link_work, session_link_work);
	INIT_WORK(&s->lanes_work, tally_link_lanes_work);
	INIT_WORK(&s->free_work, session_free);
	s->node = tally_node_get(node);
	s->state = TALLY_SESSION_BROKEN;	/* no link yet */
	s->dev = dev;
	s->watch.gone = session_gone;
	return s;
}

/* All that may fail before the layers above know it. */
static int session_prepare(struct tally_session *s)
{
	struct tally_node *node = s->node;
	u32 slot;
	int err;

	err = tally_rpc_create(s);
	if (err)
		return err;
	/* Slots go round, so that one is not used again soon. */
	err = xa_alloc_cyclic(&node->slots, &slot, s,
			      XA_LIMIT(TALLY_SLOT_HOME + 1, TALLY_SLOT_MAX),
			      &node->slot_next, GFP_KERNEL);
	if (err < 0)
		return err == -EBUSY ? -ENOSPC : err;
	s->peer_slot = slot;
	s->pd = ib_alloc_pd(s->dev->ibdev, 0);
	if (IS_ERR(s->pd))
		return PTR_ERR(s->pd);
	err = rhashtable_lookup_insert_fast(&node->sessions, &s->by_id,
					    tally_sessions_params);
	if (err)
		goto err_pd;
	err = s->node->ops->created(s);
	if (err)
		goto err_unhash;
	return 0;

err_unhash:
	session_unhash(s);
err_pd:
	ib_dealloc_pd(s->pd);
	return err;
}

/*
 * A session begins. It has no link until tally_link_open(), and may be OVER
 * already when its device went away meanwhile. Process context; takes over the
 * reference when it fails: -EEXIST when the node has one of that id, -ENOMEM,
 * -ENOSPC, ...
 */
int tally_session_start(struct tally_session *s)
{
	int err;

	tally_dev_hold(s->dev);
	err = session_prepare(s);
	if (err) {
		tally_dev_put(s->dev);
		tally_session_put(s);
		return err;
	}
	tally_session_get(s);	/* ends with over() */
	tally_stat_inc(&s->node->stats, TALLY_STAT_SESSION_NEW);
	/* Last: from here on the device may end it. */
	if (tally_dev_watch(s->dev, &s->watch))
		tally_session_fence(s, -ENETDOWN);
	return 0;
}

/*
 * Break the link and wait until every QP of it is destroyed. Sleeps, bounded.
 * Return: 0 or -ETIMEDOUT.
 */
int tally_session_break_wait(struct tally_session *s, int err)
{
	tally_session_break(s, err);
	if (!wait_event_timeout(s->wait, !READ_ONCE(s->conns) &&
				!READ_ONCE(s->announced), LINK_DOWN_WAIT))
		return -ETIMEDOUT;
	return 0;
}

/* Fence a session and wait for its end. The same. */
int tally_session_fence_wait(struct tally_session *s, int err)
{
	tally_session_fence(s, err);
	if (!wait_event_timeout(s->wait, READ_ONCE(s->over), LINK_DOWN_WAIT))
		return -ETIMEDOUT;
	return 0;
}

/*
 * Leave in good order: wait for the peer to hang up, at most half a second,
 * then fence the session and wait for that, bounded.
 */
void tally_session_goodbye(struct tally_session *s)
{
	struct tally_msg_goodbye bye = { .clean = cpu_to_be32(1) };

	mutex_lock(&s->upcall);
	if (s->announced)
		s->node->ops->leave(s);
	mutex_unlock(&s->upcall);
	if (!tally_session_send(s, TALLY_MSG_GOODBYE, &bye, sizeof(bye)))
		wait_event_timeout(s->wait, READ_ONCE(s->over) ||
				   READ_ONCE(s->state) >= TALLY_SESSION_BROKEN,
				   GOODBYE_WAIT);
	tally_session_fence_wait(s, -ESHUTDOWN);
}
