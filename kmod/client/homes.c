// SPDX-License-Identifier: GPL-2.0
#include "client/homes.h"

#include <linux/err.h>
#include <linux/slab.h>
#include "base/work.h"
#include "session/peer.h"
#include "session/session.h"

static struct workqueue_struct *homes_wq;

static void homes_release(struct kref *ref)
{
	struct tally_homes *homes = container_of(ref, struct tally_homes, ref);
	struct tally_home *home, *next;

	list_for_each_entry_safe(home, next, &homes->list, list) {
		if (home->session)
			tally_session_put(home->session);
		kfree(home);
	}
	tally_node_put(homes->node);
	kfree(homes);
}

/* True: it was taken. */
static bool home_answered(struct tally_home *home, void *answer)
{
	struct tally_homes *homes = home->homes;
	bool taken;

	spin_lock(&homes->lock);
	taken = !homes->over;
	if (taken)
		home->answer = answer;
	if (!IS_ERR_OR_NULL(answer))
		homes->good++;
	homes->due--;
	wake_up(&homes->wait);
	spin_unlock(&homes->lock);
	return taken;
}

static void home_work(struct work_struct *work)
{
	struct tally_home *home = container_of(work, struct tally_home, work);
	struct tally_homes *homes = home->homes;
	void *answer = ERR_PTR(-EINTR);

	/* It may have waited for others while its asker went away. */
	if (!READ_ONCE(homes->over))
		answer = homes->question->ask(homes, home->session);
	if (!home_answered(home, answer) && !IS_ERR_OR_NULL(answer))
		homes->question->drop(answer);
	kref_put(&homes->ref, homes_release);
}

/* The reference to @s, of a peer or NULL, is taken over. */
static int homes_add(struct tally_homes *homes, struct tally_session *s)
{
	struct tally_home *home = kzalloc(sizeof(*home), GFP_KERNEL);

	if (!home) {
		if (s)
			tally_session_put(s);
		return -ENOMEM;
	}
	INIT_WORK(&home->work, home_work);
	home->homes = homes;
	home->session = s;
	home->name = s ? s->name : homes->node->config.name;
	list_add_tail(&home->list, &homes->list);
	homes->due++;
	return 0;
}

static int homes_add_all(struct tally_homes *homes)
{
	struct tally_session *s;
	struct tally_peer *peer;
	u32 after = 0;
	int err;

	err = homes_add(homes, NULL);
	while (!err && (peer = tally_peer_next(homes->node, after))) {
		after = peer->id;
		s = tally_peer_session(peer);
		if (s && tally_session_is_live(s))
			err = homes_add(homes, s);
		else if (s)
			tally_session_put(s);
		tally_peer_put(peer);
	}
	return err;
}

static struct tally_homes *homes_alloc(struct tally_node *node,
				       const char *name,
				       const struct tally_question *question,
				       const struct tally_until *until)
{
	struct tally_homes *homes = kzalloc(sizeof(*homes), GFP_KERNEL);
	long most = msecs_to_jiffies(node->config.lease_ms);

	if (!homes)
		return NULL;
	kref_init(&homes->ref);
	spin_lock_init(&homes->lock);
	init_waitqueue_head(&homes->wait);
	INIT_LIST_HEAD(&homes->list);
	homes->node = tally_node_get(node);
	homes->question = question;
	/*
	 * The work that asks cannot be killed, as its caller can. A home that
	 * means to answer does so long before, and without a link its session
	 * ends by then.
	 */
	homes->until = tally_until(min(tally_until_left(until), most));
	strscpy(homes->name, name, sizeof(homes->name));
	return homes;
}

static bool homes_are_done(struct tally_homes *homes)
{
	u32 enough = homes->question->enough;
	bool done;

	spin_lock(&homes->lock);
	done = !homes->due || (enough && homes->good >= enough);
	spin_unlock(&homes->lock);
	return done;
}

/**
 * tally_homes_put - the answers have been looked at
 * @homes: from tally_homes_ask(); the answers are dropped now, not when the last
 *	of those that are still asked has answered
 *
 * Context: process.
 */
void tally_homes_put(struct tally_homes *homes)
{
	struct tally_home *home;

	list_for_each_entry(home, &homes->list, list) {
		if (!IS_ERR_OR_NULL(home->answer))
			homes->question->drop(home->answer);
		home->answer = NULL;
	}
	kref_put(&homes->ref, homes_release);
}

/**
 * tally_homes_ask - ask our own node and all it has live sessions with, at once
 * @node: our node
 * @name: what is asked about, or ""
 * @question: what is asked
 * @until: when they give up, in a lease at the latest
 *
 * A caller that is killed does not wait for the homes that are still asked.
 *
 * Context: process, sleeps, killable.
 * Return: the homes with their answers, which belong to the caller until
 * tally_homes_put(); -ENOMEM, -EINTR.
 */
struct tally_homes *tally_homes_ask(struct tally_node *node, const char *name,
				    const struct tally_question *question,
				    const struct tally_until *until)
{
	struct tally_homes *homes = homes_alloc(node, name, question, until);
	struct tally_home *home;
	int err;

	if (!homes)
		return ERR_PTR(-ENOMEM);
	err = homes_add_all(homes);
	if (err)
		goto err_put;
	list_for_each_entry(home, &homes->list, list)
		tally_work_queue(homes_wq, &home->work, &homes->ref);
	err = wait_event_killable(homes->wait, homes_are_done(homes));
	spin_lock(&homes->lock);
	WRITE_ONCE(homes->over, true);
	spin_unlock(&homes->lock);
	if (!err)
		return homes;
	err = -EINTR;
err_put:
	tally_homes_put(homes);
	return ERR_PTR(err);
}

int tally_homes_init(void)
{
	homes_wq = alloc_workqueue("tally_homes", WQ_UNBOUND, 0);
	return homes_wq ? 0 : -ENOMEM;
}

/* No node is left: waits for questions whose callers have left. */
void tally_homes_exit(void)
{
	destroy_workqueue(homes_wq);
}
