// SPDX-License-Identifier: GPL-2.0
/* Finding an arena by name: at this node and at all it has sessions with. */
#include <linux/err.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include "name.h"
#include "peer.h"
#include "view.h"

static struct tally_view *views_lookup(struct tally_views *views,
				       const char *home, const char *name,
				       struct tally_arena *arena)
{
	struct tally_view *view;

	lockdep_assert_held(&views->lock);
	list_for_each_entry(view, &views->list, list)
		if (view->arena == arena && tally_view_alive(view) &&
		    !strcmp(view->home, home) && !strcmp(view->name, name) &&
		    kref_get_unless_zero(&view->ref))
			return view;
	return NULL;
}

/* The usable view of that arena, made if there is none; not attached yet. */
static struct tally_view *views_get(struct tally_node *node, const char *home,
				    const char *name,
				    struct tally_arena *arena)
{
	struct tally_views *views = node->views;
	struct tally_view *view;

	mutex_lock(&views->lock);
	if (views->stopped) {
		view = ERR_PTR(-ESHUTDOWN);
		goto out;
	}
	view = views_lookup(views, home, name, arena);
	if (view)
		goto out;
	view = tally_view_alloc(node, home, name, arena);
	if (view)
		list_add_tail(&view->list, &views->list);
	else
		view = ERR_PTR(-ENOMEM);
out:
	mutex_unlock(&views->lock);
	return view;
}

static struct tally_view *view_at(struct tally_node *node, const char *home,
				  const char *name, struct tally_arena *arena,
				  const struct tally_until *until)
{
	struct tally_view *view;
	int err;

	/* A view that turns out to be of an arena that is gone is replaced. */
	do {
		view = views_get(node, home, name, arena);
		if (IS_ERR(view))
			return view;
		err = tally_view_attach(view, true, until);
		if (!err)
			return view;
		tally_view_put(view);
	} while (!arena && (err == -EIDRM || err == -ESTALE));
	return ERR_PTR(err == -EIDRM ? -ENOENT : err);
}

static struct tally_view *view_here(struct tally_node *node, const char *name,
				    const struct tally_until *until)
{
	struct tally_arena *arena = tally_arena_find(node, name);
	struct tally_view *view;

	if (!arena)
		return ERR_PTR(-ENOENT);
	view = view_at(node, node->config.name, name, arena, until);
	tally_arena_put(arena);
	return view;
}

/**
 * struct view_search - an arena is sought at many homes at once
 * @ref: the one who seeks, and each that asks for him
 * @node: who seeks
 * @name: of the arena
 * @until: when who asks gives up
 * @lock: protects what follows
 * @due: answers that are
 * @over: no more answers are wanted
 * @found: where it is, referenced
 * @err: the first error that was not "no such arena"
 * @wait: for the last answer, or for one that ends the search
 */
struct view_search {
	struct kref ref;
	struct tally_node *node;
	char name[TALLY_NAME_SIZE];
	struct tally_until until;
	spinlock_t lock;	/* see above */
	u32 due;
	bool over;
	struct tally_view *found;
	int err;
	wait_queue_head_t wait;
};

/* One of them. */
struct view_ask {
	struct work_struct work;
	struct view_search *search;
	char home[TALLY_NAME_SIZE];
};

static struct workqueue_struct *find_wq;

static void search_release(struct kref *ref)
{
	struct view_search *search = container_of(ref, struct view_search, ref);

	tally_node_put(search->node);
	kfree(search);
}

static void search_put(struct view_search *search)
{
	kref_put(&search->ref, search_release);
}

/*
 * Who asks cannot be killed, as who waits for him can. A home that means to answer
 * does so long before, and without a link its session ends by then.
 */
static struct tally_until search_until(struct tally_node *node,
				       const struct tally_until *until)
{
	long most = msecs_to_jiffies(node->config.lease_ms);

	return tally_until(min(tally_until_left(until), most));
}

static struct view_search *search_begin(struct tally_node *node,
					const char *name,
					const struct tally_until *until)
{
	struct view_search *search = kzalloc(sizeof(*search), GFP_KERNEL);

	if (!search)
		return NULL;
	kref_init(&search->ref);
	spin_lock_init(&search->lock);
	init_waitqueue_head(&search->wait);
	search->node = tally_node_get(node);
	search->until = search_until(node, until);
	strscpy(search->name, name, sizeof(search->name));
	return search;
}

/* The view that is of no use to the search, or NULL. */
static struct tally_view *search_take(struct view_search *search,
				      struct tally_view *view)
{
	lockdep_assert_held(&search->lock);
	if (IS_ERR(view)) {
		if (PTR_ERR(view) != -ENOENT && !search->err)
			search->err = PTR_ERR(view);
		return NULL;
	}
	if (search->over)
		return view;
	if (search->found) {
		search->err = -ENOTUNIQ;
		search->over = true;
		return view;
	}
	search->found = view;
	return NULL;
}

/* One answer. */
static void search_add(struct view_search *search, struct tally_view *view)
{
	spin_lock(&search->lock);
	view = search_take(search, view);
	search->due--;
	wake_up(&search->wait);
	spin_unlock(&search->lock);
	if (view)
		tally_view_put(view);
}

static void search_work(struct work_struct *work)
{
	struct view_ask *ask = container_of(work, struct view_ask, work);
	struct view_search *search = ask->search;

	search_add(search, view_at(search->node, ask->home, search->name, NULL,
				   &search->until));
	search_put(search);
	kfree(ask);
}

static bool peer_is_live(struct tally_peer *peer)
{
	struct tally_session *s = tally_peer_session(peer);
	bool live = s && tally_session_is_live(s);

	if (s)
		tally_session_put(s);
	return live;
}

static void search_due(struct view_search *search)
{
	spin_lock(&search->lock);
	search->due++;
	spin_unlock(&search->lock);
}

static void search_ask(struct view_search *search, const char *home)
{
	struct view_ask *ask = kzalloc(sizeof(*ask), GFP_KERNEL);

	search_due(search);
	if (!ask) {
		search_add(search, ERR_PTR(-ENOMEM));
		return;
	}
	INIT_WORK(&ask->work, search_work);
	kref_get(&search->ref);
	ask->search = search;
	strscpy(ask->home, home, sizeof(ask->home));
	queue_work(find_wq, &ask->work);
}

static bool search_is_over(struct view_search *search)
{
	bool over;

	spin_lock(&search->lock);
	over = search->over || !search->due;
	spin_unlock(&search->lock);
	return over;
}

/* Who still asks for it finds that it is over. */
static struct tally_view *search_end(struct view_search *search, int err)
{
	struct tally_view *found;

	spin_lock(&search->lock);
	found = search->found;
	if (search->err == -ENOTUNIQ)
		err = -ENOTUNIQ;
	else if (!err && !found)
		err = search->err ?: -ENOENT;
	search->over = true;
	search->found = NULL;
	spin_unlock(&search->lock);
	search_put(search);
	if (!err)
		return found;
	if (found)
		tally_view_put(found);
	return ERR_PTR(err);
}

/*
 * All are asked at once: one that does not answer would keep those behind it from
 * being asked in time.
 */
static struct tally_view *view_search(struct tally_node *node,
				      const char *name,
				      const struct tally_until *until)
{
	struct view_search *search = search_begin(node, name, until);
	struct tally_peer *peer = NULL;
	int err;

	if (!search)
		return ERR_PTR(-ENOMEM);
	while ((peer = tally_peer_next(node, peer)))
		if (peer_is_live(peer))
			search_ask(search, peer->name);
	search_due(search);
	search_add(search, view_here(node, name, until));
	err = wait_event_killable(search->wait, search_is_over(search));
	return search_end(search, err ? -EINTR : 0);
}

/**
 * tally_find_init - make what all searches share
 *
 * Return: 0 or -ENOMEM.
 */
int tally_find_init(void)
{
	find_wq = alloc_workqueue("tally_find", WQ_UNBOUND, 0);
	return find_wq ? 0 : -ENOMEM;
}

/**
 * tally_find_exit - wait for what still asks for a search that is over
 *
 * No node is left.
 */
void tally_find_exit(void)
{
	destroy_workqueue(find_wq);
}

/**
 * tally_view_find - find an arena by name
 * @node: who asks
 * @name: "ARENA", sought at this node and all with a live session at once, or
 *	"ARENA@NODE"
 * @timeout: in jiffies, MAX_SCHEDULE_TIMEOUT for none; of "ARENA", no other node
 *	is given more than a lease to answer
 *
 * Context: process, sleeps, killable.
 * Return: a reference, or an error pointer: -ENOENT, -ENOTUNIQ (two homes
 * have it), -EACCES, -ENOTCONN (NODE has no session), -ESHUTDOWN, -ETIMEDOUT,
 * -EINTR.
 */
struct tally_view *tally_view_find(struct tally_node *node, const char *name,
				   long timeout)
{
	struct tally_until until = tally_until(timeout);
	const char *at = strchrnul(name, '@');
	char arena[TALLY_NAME_SIZE] = {};

	if (!tally_name_valid(name, at - name))
		return ERR_PTR(-ENOENT);
	memcpy(arena, name, at - name);
	if (!*at)
		return view_search(node, arena, &until);
	if (!tally_name_valid(at + 1, strlen(at + 1)))
		return ERR_PTR(-ENOENT);
	if (!strcmp(at + 1, node->config.name))
		return view_here(node, arena, &until);
	return view_at(node, at + 1, arena, NULL, &until);
}
