// SPDX-License-Identifier: GPL-2.0
#include "client/idle.h"

#include "compat/lru_compat.h"
#include "session/session.h"

/* So many are closed for one that is to be opened: with one round trip, or two. */
#define IDLE_CLOSE	64
/* With the list's lock, so many are looked at. */
#define IDLE_LOOK	1024
/* A home that has not answered by then is asked for more all the same. */
#define IDLE_WAIT	(5 * HZ)

/**
 * struct idle_walk - what handles are looked for
 * @session: with whose home they are open, or NULL: any
 * @most: how many
 * @found: so many were given up
 */
struct idle_walk {
	struct tally_session *session;
	unsigned long most;
	unsigned long found;
};

/*
 * It stays in the list until it is released: a user may have found it just now. So
 * what is in use, or was lately, goes round with the rest.
 */
static enum lru_status TALLY_LRU_ISOLATE(idle_look)
{
	struct tally_handle *handle = container_of(item, struct tally_handle,
						   idle);
	struct idle_walk *walk = arg;

	if (walk->found == walk->most)
		return LRU_SKIP;
	if (walk->session && READ_ONCE(handle->view->session) != walk->session)
		return LRU_ROTATE;
	/* Its type's is the only one, so nobody has use for it. */
	if (kref_read(&handle->ref) == 1 && handle->ops->spare(handle)) {
		walk->found++;
		tally_handle_put(handle);
	}
	return LRU_ROTATE;
}

static unsigned long idle_count(struct shrinker *shrinker,
				struct shrink_control *sc)
{
	struct tally_views *views = tally_shrinker_private(shrinker);

	return list_lru_shrink_count(&views->idle, sc);
}

static unsigned long idle_scan(struct shrinker *shrinker,
			       struct shrink_control *sc)
{
	struct tally_views *views = tally_shrinker_private(shrinker);
	struct idle_walk walk = { .most = ULONG_MAX };

	list_lru_shrink_walk(&views->idle, sc, idle_look, &walk);
	return walk.found;
}

/* A node with views starts. Return: 0 or -ENOMEM. */
int tally_idle_start(struct tally_node *node)
{
	struct tally_views *views = node->views;
	int err = list_lru_init(&views->idle);

	if (err)
		return err;
	init_waitqueue_head(&views->idle_wait);
	views->shrinker = tally_shrinker_new("tally-idle", idle_count,
					     idle_scan, views);
	if (!views->shrinker)
		list_lru_destroy(&views->idle);
	return views->shrinker ? 0 : -ENOMEM;
}

/* The last reference to the node is gone, and its views are there still, if any. */
void tally_idle_free(struct tally_node *node)
{
	struct tally_views *views = node->views;

	if (!views || !views->shrinker)
		return;
	tally_shrinker_free(views->shrinker);
	list_lru_destroy(&views->idle);
}

/* A handle is open whose type has spare(). Process context. */
void tally_idle_add(struct tally_handle *handle)
{
	list_lru_add_obj(&handle->view->node->views->idle, &handle->idle);
}

/* Its last reference is gone. Process context. */
void tally_idle_del(struct tally_handle *handle)
{
	list_lru_del_obj(&handle->view->node->views->idle, &handle->idle);
}

/* A home knows that a handle is not open any more, or has been asked to. */
void tally_idle_closed(struct tally_handle *handle)
{
	struct tally_views *views = handle->view->node->views;

	atomic_inc(&views->closed);
	wake_up_all(&views->idle_wait);
}

/* Of one memory node, as a walk through all of them would begin with the first again. */
static void idle_walk_node(struct tally_views *views, int nid,
			   struct idle_walk *walk)
{
	/* What was used since the last look is spared by the first one only. */
	unsigned long left = 2 * list_lru_count_node(&views->idle, nid), look;

	while (left && walk->found < walk->most) {
		look = min_t(unsigned long, left, IDLE_LOOK);
		left -= look;
		list_lru_walk_node(&views->idle, nid, idle_look, walk, &look);
		cond_resched();
	}
}

static void idle_walk(struct tally_views *views, struct idle_walk *walk)
{
	int nid;

	for_each_node_state(nid, N_NORMAL_MEMORY)
		idle_walk_node(views, nid, walk);
}

/**
 * tally_idle_close - make room at a home
 * @s: session with it
 * @until: when to give up
 *
 * Closes some of those that were not used for long.
 *
 * Context: process, sleeps, killable.
 * Return: whether there were any, also by others; half of them the home has forgotten
 * then, unless that took too long.
 */
bool tally_idle_close(struct tally_session *s, const struct tally_until *until)
{
	struct tally_views *views = s->node->views;
	struct idle_walk walk = { .session = s, .most = IDLE_CLOSE };
	int closed = atomic_read(&views->closed), half;

	idle_walk(views, &walk);
	half = DIV_ROUND_UP(walk.found, 2);
	/* Others may have given up all there was just now. */
	if (!half && !atomic_read(&views->closing))
		return false;
	half = max(half, 1);
	wait_event_killable_timeout(views->idle_wait,
				    atomic_read(&views->closed) - closed >= half,
				    min(tally_until_left(until), (long)IDLE_WAIT));
	return true;
}
