// SPDX-License-Identifier: GPL-2.0
#include "base/work.h"
#include "home/arena.h"

#include <linux/bitmap.h>
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/ktime.h>
#include "base/ref.h"
#include "transport/loop.h"
#include "transport/probe.h"

#define ARENA_RETRY	msecs_to_jiffies(200)	/* between looks for a device */

#define ARENA_MR_ACCESS	(IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)

/**
 * struct tally_arenas - the arenas of a node
 * @lock: serialises changes
 * @names: name -> struct tally_arena; RCU
 * @ids: id -> struct tally_arena; RCU
 * @all: struct tally_arena, also those that were deleted, until they are freed
 * @tenure: highest that one had that was freed
 * @next_id: ids are given once
 * @stopped: nothing new
 */
struct tally_arenas {
	struct mutex lock;	/* see above */
	struct tally_names names;
	struct xarray ids;
	struct list_head all;
	u64 tenure;
	u32 next_id;
	bool stopped;
};

/**
 * struct tally_right - what one peer may do in an arena
 * @by_name: in arena->rights_by_name
 * @name: name of the peer
 * @id: in arena->rights
 * @access: TALLY_ACCESS_*
 */
struct tally_right {
	struct tally_name by_name;
	char name[TALLY_NAME_SIZE];
	u32 id;
	u8 access;
};

static void arena_free_memory(struct tally_arena *arena)
{
	struct tally_right *right;
	unsigned long id;

	xa_for_each(&arena->rights, id, right)
		kfree(right);
	xa_destroy(&arena->rights);
	xa_destroy(&arena->attached);
	tally_names_destroy(&arena->rights_by_name);
	tally_names_destroy(&arena->names);
	xa_destroy(&arena->objects);
	if (arena->words)
		free_pages_exact(arena->words, arena->config.words);
	kfree(arena->word_pages);
	bitmap_free(arena->bitmap);
	kfree_rcu(arena, rcu);
}

/* Have the start work run, which has a reference of its own. */
static void arena_kick(struct tally_arena *arena, unsigned long delay)
{
	tally_work_delay(arena->node->wq, &arena->start, &arena->ref, delay);
}

static void arena_ready(struct tally_arena *arena, u8 mode)
{
	scoped_guard(mutex, &arena->lock) {
		if (arena->state != TALLY_ARENA_STARTING)
			return;
		WRITE_ONCE(arena->mode, mode);
		WRITE_ONCE(arena->state, TALLY_ARENA_READY);
	}
	wake_up_all(&arena->wait);
	tally_node_event(arena->node, "arena_ready", arena->config.name,
			 mode == TALLY_MODE_NIC ? "nic" : "cpu");
}

static void arena_dev_gone(struct tally_dev_user *user)
{
	struct tally_arena *arena = container_of(user, typeof(*arena), watch);

	if (!kref_get_unless_zero(&arena->ref))
		return;	/* being freed, which gives the device up as well */
	WRITE_ONCE(arena->lost, true);
	arena_kick(arena, 0);
	tally_arena_put(arena);
}

static void arena_publish(struct tally_arena *arena, struct tally_dev *dev,
			  struct tally_conn *loop, struct tally_mr *mr)
{
	unsigned long flags;

	guard(mutex)(&arena->lock);
	arena->dev = dev;
	spin_lock_irqsave(&arena->spin, flags);
	arena->loop = loop;
	arena->loop_mr = mr;
	spin_unlock_irqrestore(&arena->spin, flags);
}

/* Only from the start work, or when that cannot run. */
static void arena_unbind(struct tally_arena *arena)
{
	bool lost = READ_ONCE(arena->lost);
	struct tally_conn *loop = arena->loop;
	struct tally_mr *mr = arena->loop_mr;
	struct tally_dev *dev = arena->dev;
	bool down;

	if (!dev)
		return;
	mutex_lock(&arena->lock);
	down = arena->state == TALLY_ARENA_READY;
	if (down)
		WRITE_ONCE(arena->state, TALLY_ARENA_STARTING);
	mutex_unlock(&arena->lock);
	arena_publish(arena, NULL, NULL, NULL);
	tally_dev_unwatch(dev, &arena->watch);
	WRITE_ONCE(arena->lost, false);
	/* Other arenas use the conn as well; it ends only with the device. */
	if (lost)
		tally_conn_close(loop, -ENETDOWN);
	tally_mr_destroy(mr);
	tally_conn_put(loop);
	tally_dev_put(dev);
	if (down)
		tally_node_notice(arena->node, "arena_down",
				  arena->config.name, "device gone");
}

static int arena_bind(struct tally_arena *arena)
{
	u32 pages = tally_arena_pages(arena);
	enum tally_atomics atomics;
	struct tally_conn *loop;
	struct tally_dev *dev;
	struct tally_mr *mr;
	int err;

	/*
	 * Sessions on a device that is going away may still reach the words
	 * through it. Two devices at one word are not atomic.
	 */
	if (READ_ONCE(arena->keys))
		return -EBUSY;
	dev = tally_dev_find(NULL, arena->config.dev[0] ? arena->config.dev :
			     NULL, arena->node->net);
	if (!dev)
		return -ENODEV;
	atomics = tally_dev_probe(dev);
	if (atomics != TALLY_ATOMICS_YES || pages > dev->max_mr_pages) {
		err = atomics == TALLY_ATOMICS_UNKNOWN ? -EADDRNOTAVAIL :
							 -EOPNOTSUPP;
		goto err_put_dev;
	}
	loop = tally_dev_loop(dev);
	if (IS_ERR(loop)) {
		err = PTR_ERR(loop);
		goto err_put_dev;
	}
	mr = tally_mr_create(loop, arena->word_pages, pages, ARENA_MR_ACCESS);
	if (IS_ERR(mr)) {
		err = PTR_ERR(mr);
		goto err_put_loop;
	}
	arena_publish(arena, dev, loop, mr);
	err = tally_dev_watch(dev, &arena->watch);
	if (!err)
		return 0;
	arena_publish(arena, NULL, NULL, NULL);
	tally_mr_destroy(mr);
err_put_loop:
	tally_conn_put(loop);
err_put_dev:
	tally_dev_put(dev);
	return err;
}

static void arena_try(struct tally_arena *arena)
{
	int err = arena_bind(arena);

	if (!err) {
		arena_ready(arena, TALLY_MODE_NIC);
		return;
	}
	/*
	 * The device decides, once it is there: what comes late is no reason for
	 * the CPU, and that for good. An arena whose words a NIC has owned stays
	 * that way.
	 */
	if (arena->config.mode == TALLY_MODE_AUTO && !arena->mode &&
	    err == -EOPNOTSUPP) {
		tally_node_notice(arena->node, "arena_cpu", arena->config.name,
				  "the device cannot do the atomics of the arena");
		arena_ready(arena, TALLY_MODE_CPU);
	} else {
		arena_kick(arena, ARENA_RETRY);
	}
}

/*
 * The loopback conn died: the key lives on in the PD, a new conn goes on. What
 * was in flight on the old one is decided when that is closed.
 */
static void arena_renew_loop(struct tally_arena *arena)
{
	struct tally_conn *old = arena->loop, *loop;

	if (!old || tally_conn_is_up(old))
		return;
	tally_conn_close(old, -ENOTCONN);
	loop = tally_dev_loop(arena->dev);
	if (IS_ERR(loop)) {
		arena_kick(arena, ARENA_RETRY);
		return;
	}
	arena_publish(arena, arena->dev, loop, arena->loop_mr);
	tally_conn_put(old);
}

static void arena_start_work(struct work_struct *work)
{
	struct tally_arena *arena = container_of(to_delayed_work(work),
						 struct tally_arena, start);

	if (READ_ONCE(arena->lost))
		arena_unbind(arena);
	switch (READ_ONCE(arena->state)) {
	case TALLY_ARENA_STARTING:
		arena_try(arena);
		break;
	case TALLY_ARENA_READY:
		arena_renew_loop(arena);
		break;
	case TALLY_ARENA_DEAD:
		break;
	}
	tally_arena_put(arena);
}

static void arena_free(struct work_struct *work)
{
	struct tally_arena *arena = container_of(work, typeof(*arena), free);
	struct tally_node *node = arena->node;
	struct tally_arenas *arenas = node->arenas;

	scoped_guard(mutex, &arenas->lock) {
		list_del(&arena->all);
		arenas->tenure = max(arenas->tenure, arena->tenure);
	}
	arena_unbind(arena);
	arena_free_memory(arena);
	tally_node_put(node);
}

static void arena_release(struct kref *ref)
{
	struct tally_arena *arena = container_of(ref, struct tally_arena, ref);

	queue_work(arena->node->wq, &arena->free);
}

struct tally_arena *tally_arena_get(struct tally_arena *arena)
{
	kref_get(&arena->ref);
	return arena;
}

/*
 * NULL is allowed. The arena is freed later, from the node's workqueue. Any
 * context.
 */
void tally_arena_put(struct tally_arena *arena)
{
	if (arena)
		kref_put(&arena->ref, arena_release);
}

static int arena_alloc_words(struct tally_arena *arena)
{
	u32 bytes = arena->config.words, i;

	arena->words = alloc_pages_exact(bytes, GFP_KERNEL_ACCOUNT |
					 __GFP_ZERO | __GFP_NOWARN);
	arena->word_pages = kcalloc(tally_arena_pages(arena),
				    sizeof(*arena->word_pages), GFP_KERNEL);
	arena->bitmap = bitmap_zalloc(bytes / TALLY_ENTRY_SIZE, GFP_KERNEL);
	if (!arena->words || !arena->word_pages || !arena->bitmap)
		return -ENOMEM;
	for (i = 0; i < tally_arena_pages(arena); i++)
		arena->word_pages[i] = virt_to_page(arena->words +
						    i * PAGE_SIZE);
	return 0;
}

static struct tally_arena *arena_alloc(const struct tally_arena_config *config)
{
	struct tally_arena *arena = kzalloc(sizeof(*arena), GFP_KERNEL);

	if (!arena)
		return NULL;
	if (tally_names_init(&arena->names))
		goto err_free;
	if (tally_names_init(&arena->rights_by_name))
		goto err_names;
	arena->config = *config;
	arena->config.owner.changed = ktime_get_real_ns();
	arena->by_name.name = arena->config.name;
	if (!arena->config.words)
		arena->config.words = TALLY_WORDS_DEFAULT;
	kref_init(&arena->ref);
	mutex_init(&arena->lock);
	mutex_init(&arena->watch_lock);
	spin_lock_init(&arena->spin);
	init_waitqueue_head(&arena->wait);
	INIT_DELAYED_WORK(&arena->start, arena_start_work);
	INIT_WORK(&arena->free, arena_free);
	INIT_LIST_HEAD(&arena->watch.list);
	arena->watch.gone = arena_dev_gone;
	xa_init(&arena->objects);
	INIT_LIST_HEAD(&arena->all);
	INIT_LIST_HEAD(&arena->dying);
	arena->next_id = 1;
	xa_init_flags(&arena->rights, XA_FLAGS_ALLOC1);
	xa_init(&arena->attached);
	INIT_LIST_HEAD(&arena->watches);
	if (!arena_alloc_words(arena))
		return arena;
	arena_free_memory(arena);
	return NULL;

err_names:
	tally_names_destroy(&arena->names);
err_free:
	kfree(arena);
	return NULL;
}

static int arenas_link(struct tally_arenas *arenas, struct tally_arena *arena,
		       const char **reason)
{
	int err;

	if (arenas->stopped) {
		*reason = "the node is going away";
		return -ESHUTDOWN;
	}
	if (arenas->next_id == U32_MAX) {
		*reason = "no arena ids are left";
		return -ENOSPC;
	}
	arena->id = arenas->next_id;
	err = tally_names_add(&arenas->names, &arena->by_name);
	if (err == -EEXIST)
		*reason = "an arena of that name exists";
	if (err)
		return err;
	err = xa_insert(&arenas->ids, arena->id, arena, GFP_KERNEL);
	if (err) {
		tally_names_del(&arenas->names, &arena->by_name);
		return err;
	}
	tally_arena_get(arena);
	list_add_tail(&arena->all, &arenas->all);
	arenas->next_id++;
	return 0;
}

/*
 * Make an arena. The caller has checked each value of @config, which is copied.
 * The search for a device goes on in the background. Process context, does not
 * wait for the network. Return: 0 or a negative errno, with @reason.
 */
int tally_arena_add(struct tally_node *node,
		    const struct tally_arena_config *config,
		    const char **reason)
{
	struct tally_arena *arena;
	int err;

	if (config->mode == TALLY_MODE_CPU && config->dev[0]) {
		*reason = "a cpu arena has no device";
		return -EINVAL;
	}
	arena = arena_alloc(config);
	if (!arena) {
		*reason = "no memory for the word table";
		return -ENOMEM;
	}
	arena->node = tally_node_get(node);
	*reason = "no memory for the arena";
	scoped_guard(mutex, &node->arenas->lock)
		err = arenas_link(node->arenas, arena, reason);
	if (!err) {
		tally_node_event(node, "arena_add", config->name, "");
		if (config->mode == TALLY_MODE_CPU)
			arena_ready(arena, TALLY_MODE_CPU);
		else
			arena_kick(arena, 0);
	}
	tally_arena_put(arena);
	return err;
}

/*
 * Take an arena out of its node; with NULL any one, and nothing may be added
 * any more. Process context. Return: the node's reference to it, or NULL.
 */
struct tally_arena *tally_arena_take(struct tally_node *node, const char *name)
{
	struct tally_arenas *arenas = node->arenas;
	struct tally_arena *arena;
	unsigned long id = 0;

	guard(mutex)(&arenas->lock);
	if (!name)
		arenas->stopped = true;
	arena = name ? tally_names_lookup(&arenas->names, name,
					  struct tally_arena) :
		       xa_find(&arenas->ids, &id, ULONG_MAX, XA_PRESENT);
	if (arena) {
		tally_names_del(&arenas->names, &arena->by_name);
		xa_erase(&arenas->ids, arena->id);
	}
	return arena;
}

/* An arena of ours by name, referenced, or NULL. Any context. */
struct tally_arena *tally_arena_find(struct tally_node *node, const char *name)
{
	return tally_names_get(&node->arenas->names, name, struct tally_arena);
}

/* An arena of ours by id, referenced, or NULL. Any context. */
struct tally_arena *tally_arena_by_id(struct tally_node *node, u32 id)
{
	return tally_find_get(struct tally_arena,
			      xa_load(&node->arenas->ids, id));
}

/*
 * Walk the arenas of a node. @after: id of the one before, 0 to begin. Return:
 * the next one, referenced, or NULL.
 */
struct tally_arena *tally_arena_next(struct tally_node *node,
				     unsigned long after)
{
	struct tally_arena *arena;

	rcu_read_lock();
	do
		arena = xa_find_after(&node->arenas->ids, &after, U32_MAX,
				      XA_PRESENT);
	while (arena && !kref_get_unless_zero(&arena->ref));
	rcu_read_unlock();
	return arena;
}

/*
 * Call @fn for each arena of that name: the one there is, and those that were deleted
 * and are not freed yet. Process context. Return: the highest @tenure of any arena
 * that was.
 */
u64 tally_arenas_named(struct tally_node *node, const char *name,
		       void (*fn)(struct tally_arena *arena, void *ctx),
		       void *ctx)
{
	struct tally_arenas *arenas = node->arenas;
	struct tally_arena *arena;

	guard(mutex)(&arenas->lock);
	list_for_each_entry(arena, &arenas->all, all)
		if (!strcmp(arena->config.name, name))
			fn(arena, ctx);
	return arenas->tenure;
}

/*
 * Be told when an arena or an object in it is deleted: the one that @watches
 * belongs to, which the caller has a reference to until tally_arena_unwatch().
 * The gone() of @watch is set; it may have been deleted already, and then
 * nothing is told. Process context.
 */
void tally_arena_watch(struct tally_arena *arena, struct list_head *watches,
		       struct tally_watch *watch)
{
	guard(mutex)(&arena->watch_lock);
	list_add_tail(&watch->list, watches);
}

/*
 * End a watch that was given, or only initialised: its gone() does not run
 * after this, which waits for it unless called from it. Process context.
 */
void tally_arena_unwatch(struct tally_arena *arena, struct tally_watch *watch)
{
	bool inside = READ_ONCE(arena->watch_task) == current;

	if (!inside)
		mutex_lock(&arena->watch_lock);
	list_del_init(&watch->list);
	if (!inside)
		mutex_unlock(&arena->watch_lock);
}

/* What a peer may do in an arena: TALLY_ACCESS_*. With arena->lock held. */
u8 tally_arena_access(struct tally_arena *arena, const char *peer)
{
	struct tally_right *right;

	lockdep_assert_held(&arena->lock);
	right = tally_names_lookup(&arena->rights_by_name, peer,
				   struct tally_right);
	return right ? right->access : arena->config.access;
}

/*
 * Change what a peer may do, or with "" those without an entry. Sessions go on
 * with what they had, see tally_export_set_access(). With arena->lock held.
 * Return: 0 or -ENOMEM.
 */
int tally_arena_give_access(struct tally_arena *arena, const char *peer,
			    u8 access)
{
	struct tally_right *right;
	int err;

	lockdep_assert_held(&arena->lock);
	if (!peer[0]) {
		arena->config.access = access;
		return 0;
	}
	right = tally_names_lookup(&arena->rights_by_name, peer,
				   struct tally_right);
	if (right) {
		right->access = access;
		return 0;
	}
	right = kzalloc(sizeof(*right), GFP_KERNEL);
	if (!right)
		return -ENOMEM;
	strscpy(right->name, peer, sizeof(right->name));
	right->by_name.name = right->name;
	right->access = access;
	err = xa_alloc(&arena->rights, &right->id, right, xa_limit_31b,
		       GFP_KERNEL);
	if (!err) {
		err = tally_names_add(&arena->rights_by_name, &right->by_name);
		if (err)
			xa_erase(&arena->rights, right->id);
	}
	if (err)
		kfree(right);
	return err;
}

/* A peer has no entry of its own any more. With arena->lock held. */
void tally_arena_drop_access(struct tally_arena *arena, const char *peer)
{
	struct tally_right *right;

	lockdep_assert_held(&arena->lock);
	right = tally_names_lookup(&arena->rights_by_name, peer,
				   struct tally_right);
	if (!right)
		return;
	xa_erase(&arena->rights, right->id);
	tally_names_del(&arena->rights_by_name, &right->by_name);
	kfree(right);
}

/*
 * Walk the peers that have an entry of their own. *@id: of the one before, 0 to
 * begin; gets that of the next. Process context. Return: 0, or -ENOENT at the
 * end.
 */
int tally_arena_right(struct tally_arena *arena, unsigned long *id,
		      char name[TALLY_NAME_SIZE], u8 *access)
{
	struct tally_right *right;

	guard(mutex)(&arena->lock);
	right = xa_find_after(&arena->rights, id, ULONG_MAX, XA_PRESENT);
	if (!right)
		return -ENOENT;
	strscpy(name, right->name, TALLY_NAME_SIZE);
	*access = right->access;
	return 0;
}

/*
 * Take a free entry of the word table; *@word gets its offset. With arena->lock
 * held. Return: 0 or -ENOSPC.
 */
int tally_arena_word_take(struct tally_arena *arena, u32 *word)
{
	unsigned long entries = arena->config.words / TALLY_ENTRY_SIZE;
	unsigned long entry;

	lockdep_assert_held(&arena->lock);
	entry = find_next_zero_bit(arena->bitmap, entries, arena->next_word);
	if (entry >= entries)
		entry = find_first_zero_bit(arena->bitmap, entries);
	if (entry >= entries)
		return -ENOSPC;
	__set_bit(entry, arena->bitmap);
	arena->next_word = entry + 1;
	*word = entry * TALLY_ENTRY_SIZE;
	return 0;
}

/*
 * Give an entry back that nothing can aim at any more: the CPU may write it.
 * With arena->lock held.
 */
void tally_arena_word_give(struct tally_arena *arena, u32 word)
{
	u64 *words = tally_arena_word(arena, word);

	lockdep_assert_held(&arena->lock);
	WRITE_ONCE(words[0], 0);
	WRITE_ONCE(words[1], 0);
	__clear_bit(word / TALLY_ENTRY_SIZE, arena->bitmap);
}

/*
 * Wait until an arena can be used, @timeout jiffies at most; killable. Return:
 * 0, -ETIMEDOUT, -EINTR, -EIDRM.
 */
int tally_arena_wait_ready(struct tally_arena *arena, long timeout)
{
	long ret;

	ret = wait_event_killable_timeout(arena->wait,
					  READ_ONCE(arena->state) !=
					  TALLY_ARENA_STARTING, timeout);
	if (ret < 0)
		return -EINTR;
	if (!ret)
		return -ETIMEDOUT;
	return READ_ONCE(arena->state) == TALLY_ARENA_DEAD ? -EIDRM : 0;
}

/*
 * The conn for the home's own operations on a nic arena, referenced, or NULL
 * while there is none: one that died is replaced in the background. Any
 * context.
 */
struct tally_conn *tally_arena_loop(struct tally_arena *arena)
{
	struct tally_conn *loop;
	unsigned long flags;

	spin_lock_irqsave(&arena->spin, flags);
	loop = arena->loop;
	if (loop)
		tally_conn_get(loop);
	spin_unlock_irqrestore(&arena->spin, flags);
	if (!loop || tally_conn_is_up(loop))
		return loop;
	tally_conn_put(loop);
	arena_kick(arena, 0);
	return NULL;
}

/*
 * An entry for the CPU: the first of its two words. In a nic arena it may only
 * be read, see "what may write a word" in home/arena.h. Any context.
 */
u64 *tally_arena_word(struct tally_arena *arena, u32 word)
{
	return arena->words + word;
}

/*
 * Address of an entry on the loopback conn. *@rkey: gets the key; 0 when there
 * is no device (then there is no conn). Any context, after tally_arena_loop().
 */
u64 tally_arena_loop_addr(struct tally_arena *arena, u32 word, u32 *rkey)
{
	unsigned long flags;
	u64 addr = 0;

	*rkey = 0;
	spin_lock_irqsave(&arena->spin, flags);
	if (arena->loop_mr) {
		addr = arena->loop_mr->addr + word;
		*rkey = arena->loop_mr->mr->rkey;
	}
	spin_unlock_irqrestore(&arena->spin, flags);
	return addr;
}

/*
 * Make the arenas of a node that starts: there are none. Return: 0 or -ENOMEM.
 */
int tally_arenas_start(struct tally_node *node)
{
	struct tally_arenas *arenas = kzalloc(sizeof(*arenas), GFP_KERNEL);

	if (!arenas)
		return -ENOMEM;
	if (tally_names_init(&arenas->names)) {
		kfree(arenas);
		return -ENOMEM;
	}
	mutex_init(&arenas->lock);
	xa_init(&arenas->ids);
	INIT_LIST_HEAD(&arenas->all);
	arenas->next_id = 1;
	node->arenas = arenas;
	return 0;
}

/* The last reference to the node is gone, which has no arenas any more. */
void tally_arenas_free(struct tally_node *node)
{
	struct tally_arenas *arenas = node->arenas;

	if (!arenas)
		return;
	tally_names_destroy(&arenas->names);
	xa_destroy(&arenas->ids);
	kfree(arenas);
}
