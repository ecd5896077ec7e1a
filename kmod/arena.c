// SPDX-License-Identifier: GPL-2.0
#include "arena.h"

#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include "attach.h"
#include "conn.h"
#include "name.h"
#include "view.h"

#define ARENA_RETRY	msecs_to_jiffies(200)	/* between looks for a device */
#define ARENA_GIVE_UP	msecs_to_jiffies(2000)	/* auto: then the CPU does it */

/* The target never writes through it but by atomics; IB wants LOCAL_WRITE too. */
#define ARENA_MR_ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ | \
			 IB_ACCESS_REMOTE_ATOMIC)

/**
 * struct tally_arenas - the arenas of a node
 * @lock: protects what follows
 * @list: struct tally_arena, by id
 * @next_id: ids are given once
 * @stopped: nothing new
 */
struct tally_arenas {
	struct mutex lock;
	struct list_head list;
	u32 next_id;
	bool stopped;
};

/* Rights of one peer. */
static u32 arena_pages(const struct tally_arena *arena)
{
	return arena->config.words >> PAGE_SHIFT;
}

/* Have @start run after @delay. It holds a reference while it is queued. */
static void arena_kick(struct tally_arena *arena, unsigned long delay)
{
	tally_arena_get(arena);
	if (mod_delayed_work(arena->node->wq, &arena->start, delay))
		tally_arena_put(arena);	/* was queued, and has its own */
}

static void arena_ready(struct tally_arena *arena, u8 mode)
{
	bool ready;

	mutex_lock(&arena->lock);
	ready = arena->state == TALLY_ARENA_STARTING;
	if (ready) {
		WRITE_ONCE(arena->mode, mode);
		WRITE_ONCE(arena->state, TALLY_ARENA_READY);
	}
	mutex_unlock(&arena->lock);
	if (!ready)
		return;
	wake_up_all(&arena->wait);
	tally_node_event(arena->node, "arena_ready", arena->config.name,
			 mode == TALLY_MODE_NIC ? "nic" : "cpu");
}

static void arena_gone(struct tally_dev_user *user)
{
	struct tally_arena *arena = container_of(user, struct tally_arena,
						 watch);

	if (!kref_get_unless_zero(&arena->ref))
		return;	/* being freed, which gives the device up as well */
	WRITE_ONCE(arena->lost, true);
	arena_kick(arena, 0);
	tally_arena_put(arena);
}

/* Give up everything on the device. Only from the start work or at the end. */
static void arena_unbind(struct tally_arena *arena)
{
	struct tally_dev *dev = arena->dev;
	struct tally_conn *loop;
	struct tally_mr *mr;
	unsigned long flags;
	bool down;

	if (!dev)
		return;
	mutex_lock(&arena->lock);
	down = arena->state == TALLY_ARENA_READY;
	if (down)
		WRITE_ONCE(arena->state, TALLY_ARENA_STARTING);
	arena->dev = NULL;
	spin_lock_irqsave(&arena->spin, flags);
	loop = arena->loop;
	mr = arena->loop_mr;
	arena->loop = NULL;
	arena->loop_mr = NULL;
	spin_unlock_irqrestore(&arena->spin, flags);
	mutex_unlock(&arena->lock);
	tally_dev_unwatch(dev, &arena->watch);
	WRITE_ONCE(arena->lost, false);
	tally_mr_destroy(mr);
	if (loop)
		tally_conn_put(loop);
	tally_dev_put(dev);
	if (down)
		tally_node_event(arena->node, "arena_down",
				 arena->config.name, "device gone");
}

static void arena_publish(struct tally_arena *arena, struct tally_dev *dev,
			  struct tally_conn *loop, struct tally_mr *mr)
{
	unsigned long flags;

	mutex_lock(&arena->lock);
	arena->dev = dev;
	spin_lock_irqsave(&arena->spin, flags);
	arena->loop = loop;
	arena->loop_mr = mr;
	spin_unlock_irqrestore(&arena->spin, flags);
	mutex_unlock(&arena->lock);
}

/* Takes over the reference to @dev when it succeeds. */
static int arena_bind_dev(struct tally_arena *arena, struct tally_dev *dev)
{
	enum tally_atomics atomics = tally_dev_probe(dev);
	struct tally_conn *loop;
	struct tally_mr *mr;
	int err;

	if (atomics == TALLY_ATOMICS_UNKNOWN)
		return -EADDRNOTAVAIL;
	if (atomics == TALLY_ATOMICS_NO ||
	    arena_pages(arena) > dev->max_mr_pages)
		return -EOPNOTSUPP;
	loop = tally_dev_loop(dev);
	if (IS_ERR_OR_NULL(loop))
		return loop ? PTR_ERR(loop) : -ENETDOWN;
	mr = tally_mr_create(loop, arena->word_pages, arena_pages(arena),
			     ARENA_MR_ACCESS);
	if (IS_ERR_OR_NULL(mr)) {
		err = mr ? PTR_ERR(mr) : -ENOMEM;
		goto err_put_loop;
	}
	arena_publish(arena, dev, loop, mr);
	err = tally_dev_watch(dev, &arena->watch);
	if (err)
		goto err_unpublish;
	return 0;

err_unpublish:
	arena_publish(arena, NULL, NULL, NULL);
	tally_mr_destroy(mr);
err_put_loop:
	tally_conn_put(loop);
	return err;
}

static int arena_bind(struct tally_arena *arena)
{
	struct tally_dev *dev;
	bool direct;
	int err;

	/*
	 * Sessions on a device that is going away may still reach the words
	 * through it. Two devices at one word are not atomic (race B18).
	 */
	mutex_lock(&arena->lock);
	direct = tally_attach_direct(arena);
	mutex_unlock(&arena->lock);
	if (direct)
		return -EBUSY;
	dev = tally_dev_find(arena->node->net, arena->config.dev);
	if (IS_ERR_OR_NULL(dev))
		return -ENODEV;
	err = arena_bind_dev(arena, dev);
	if (err)
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
	/* An arena whose words a NIC has owned stays that way. */
	if (arena->config.mode == TALLY_MODE_AUTO && !arena->mode &&
	    (err == -EOPNOTSUPP ||
	     time_after(jiffies, arena->began + ARENA_GIVE_UP)))
		arena_ready(arena, TALLY_MODE_CPU);
	else
		arena_kick(arena, ARENA_RETRY);
}

/* The loopback conn died: the key lives on in the PD, a new conn goes on. */
static void arena_renew_loop(struct tally_arena *arena)
{
	struct tally_conn *old = arena->loop, *loop;
	unsigned long flags;

	if (!old || tally_conn_is_up(old))
		return;
	loop = tally_dev_loop(arena->dev);
	if (IS_ERR_OR_NULL(loop)) {
		arena_kick(arena, ARENA_RETRY);
		return;
	}
	spin_lock_irqsave(&arena->spin, flags);
	arena->loop = loop;
	spin_unlock_irqrestore(&arena->spin, flags);
	tally_conn_put(old);
}

static void arena_start(struct work_struct *work)
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

static void arena_free_memory(struct tally_arena *arena)
{
	tally_rights_free(arena);
	if (arena->words)
		free_pages_exact(arena->words, arena->config.words);
	kfree(arena->word_pages);
	bitmap_free(arena->bitmap);
	mutex_destroy(&arena->lock);
	kfree(arena);
}

static void arena_free(struct work_struct *work)
{
	struct tally_arena *arena = container_of(work, struct tally_arena,
						 free);
	struct tally_node *node = arena->node;

	arena_unbind(arena);
	xa_destroy(&arena->objects);
	arena_free_memory(arena);
	tally_node_put(node);
}

static void arena_release(struct kref *ref)
{
	struct tally_arena *arena = container_of(ref, struct tally_arena, ref);

	queue_work(arena->node->wq, &arena->free);
}

/**
 * tally_arena_get - take a reference
 * @arena: of which the caller has one already
 *
 * Context: any.
 * Return: @arena.
 */
struct tally_arena *tally_arena_get(struct tally_arena *arena)
{
	kref_get(&arena->ref);
	return arena;
}

/**
 * tally_arena_put - drop a reference
 * @arena: freed later, from the node's workqueue, when it was the last
 *
 * Context: any.
 */
void tally_arena_put(struct tally_arena *arena)
{
	kref_put(&arena->ref, arena_release);
}

static int arena_alloc_words(struct tally_arena *arena)
{
	u32 bytes = arena->config.words, i;

	arena->words = alloc_pages_exact(bytes, GFP_KERNEL_ACCOUNT |
					 __GFP_ZERO | __GFP_NOWARN);
	arena->word_pages = kcalloc(arena_pages(arena),
				    sizeof(*arena->word_pages), GFP_KERNEL);
	arena->bitmap = bitmap_zalloc(bytes / TALLY_ENTRY_SIZE, GFP_KERNEL);
	if (!arena->words || !arena->word_pages || !arena->bitmap)
		return -ENOMEM;
	for (i = 0; i < arena_pages(arena); i++)
		arena->word_pages[i] = virt_to_page(arena->words +
						    i * PAGE_SIZE);
	return 0;
}

static struct tally_arena *arena_alloc(const struct tally_arena_config *config)
{
	struct tally_arena *arena = kzalloc(sizeof(*arena), GFP_KERNEL);

	if (!arena)
		return NULL;
	arena->config = *config;
	if (!arena->config.words)
		arena->config.words = TALLY_WORDS_DEFAULT;
	kref_init(&arena->ref);
	mutex_init(&arena->lock);
	spin_lock_init(&arena->spin);
	init_waitqueue_head(&arena->wait);
	INIT_DELAYED_WORK(&arena->start, arena_start);
	INIT_WORK(&arena->free, arena_free);
	INIT_LIST_HEAD(&arena->watch.list);
	arena->watch.gone = arena_gone;
	xa_init(&arena->objects);
	arena->next_id = 1;
	INIT_LIST_HEAD(&arena->names);
	INIT_LIST_HEAD(&arena->peers);
	INIT_LIST_HEAD(&arena->attached);
	arena->began = jiffies;
	if (arena_alloc_words(arena)) {
		arena_free_memory(arena);
		return NULL;
	}
	return arena;
}

static const char *arena_config_fault(const struct tally_arena_config *config)
{
	if (!tally_name_valid(config->name,
			      strnlen(config->name, TALLY_NAME_SIZE)))
		return "not a valid arena name";
	if (config->mode > TALLY_MODE_CPU)
		return "unknown mode";
	if (config->access > TALLY_ACCESS_RW)
		return "unknown access";
	if (!IS_ALIGNED(config->words, PAGE_SIZE) ||
	    config->words > TALLY_WORDS_MAX)
		return "word table is not whole pages or above 2 MiB";
	if (config->perm & ~0777)
		return "only permission bits are allowed";
	if (config->mode == TALLY_MODE_CPU && config->dev[0])
		return "a cpu arena has no device";
	return NULL;
}

static struct tally_arena *arenas_lookup(struct tally_arenas *arenas,
					 const char *name)
{
	struct tally_arena *arena;

	lockdep_assert_held(&arenas->lock);
	list_for_each_entry(arena, &arenas->list, list)
		if (!strcmp(arena->config.name, name))
			return arena;
	return NULL;
}

static int arenas_link(struct tally_arenas *arenas, struct tally_arena *arena,
		       const char **reason)
{
	int err = 0;

	mutex_lock(&arenas->lock);
	if (arenas->stopped) {
		*reason = "the node is going away";
		err = -ESHUTDOWN;
	} else if (arenas_lookup(arenas, arena->config.name)) {
		*reason = "an arena of that name exists";
		err = -EEXIST;
	} else if (arenas->next_id == U32_MAX) {
		*reason = "no arena ids are left";
		err = -ENOSPC;
	} else {
		arena->id = arenas->next_id++;
		list_add_tail(&tally_arena_get(arena)->list, &arenas->list);
	}
	mutex_unlock(&arenas->lock);
	return err;
}

/**
 * tally_arena_add - make an arena
 * @node: its home
 * @config: what it shall be; copied
 * @reason: says why when it fails
 *
 * The search for a device goes on in the background.
 *
 * Context: process, does not wait for the network.
 * Return: 0 or a negative errno.
 */
int tally_arena_add(struct tally_node *node,
		    const struct tally_arena_config *config,
		    const char **reason)
{
	struct tally_arena *arena;
	int err;

	*reason = arena_config_fault(config);
	if (*reason)
		return -EINVAL;
	arena = arena_alloc(config);
	if (!arena) {
		*reason = "no memory for the word table";
		return -ENOMEM;
	}
	arena->node = tally_node_get(node);
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

/* Its name is gone already; drops the reference of the list. */
static void arena_kill(struct tally_arena *arena)
{
	struct tally_object *object;
	const char *reason;

	mutex_lock(&arena->lock);
	WRITE_ONCE(arena->state, TALLY_ARENA_DEAD);
	mutex_unlock(&arena->lock);
	wake_up_all(&arena->wait);
	while ((object = tally_object_next(arena, 0))) {
		tally_object_del(arena, object->config.name, 0, &reason);
		tally_object_put(object);
	}
	tally_views_arena_gone(arena);
	mutex_lock(&arena->lock);
	tally_attach_forget_arena(arena);
	mutex_unlock(&arena->lock);
	tally_node_event(arena->node, "arena_del", arena->config.name, "");
	tally_arena_put(arena);
}

/**
 * tally_arena_del - delete an arena with everything in it
 * @node: its home
 * @name: which one
 * @reason: says why when it fails
 *
 * Its memory is freed when the last session has answered FORGET or is OVER.
 *
 * Context: process, does not wait for the network.
 * Return: 0 or -ENOENT.
 */
int tally_arena_del(struct tally_node *node, const char *name,
		    const char **reason)
{
	struct tally_arenas *arenas = node->arenas;
	struct tally_arena *arena;

	mutex_lock(&arenas->lock);
	arena = arenas_lookup(arenas, name);
	if (arena)
		list_del_init(&arena->list);
	mutex_unlock(&arenas->lock);
	if (!arena) {
		*reason = "no arena of that name";
		return -ENOENT;
	}
	arena_kill(arena);
	return 0;
}

/**
 * tally_arena_find - an arena of ours by name
 * @node: its home
 * @name: its name
 *
 * Context: process.
 * Return: a reference or NULL.
 */
struct tally_arena *tally_arena_find(struct tally_node *node, const char *name)
{
	struct tally_arenas *arenas = node->arenas;
	struct tally_arena *arena;

	mutex_lock(&arenas->lock);
	arena = arenas_lookup(arenas, name);
	if (arena)
		tally_arena_get(arena);
	mutex_unlock(&arenas->lock);
	return arena;
}

/* The first one with an id of at least @id. */
static struct tally_arena *arenas_from(struct tally_node *node, u32 id)
{
	struct tally_arenas *arenas = node->arenas;
	struct tally_arena *arena, *found = NULL;

	mutex_lock(&arenas->lock);
	list_for_each_entry(arena, &arenas->list, list) {
		if (arena->id >= id) {
			found = tally_arena_get(arena);
			break;
		}
	}
	mutex_unlock(&arenas->lock);
	return found;
}

/**
 * tally_arena_by_id - an arena of ours by id
 * @node: its home
 * @id: its id
 *
 * Context: process.
 * Return: a reference or NULL.
 */
struct tally_arena *tally_arena_by_id(struct tally_node *node, u32 id)
{
	struct tally_arena *arena = arenas_from(node, id);

	if (arena && arena->id != id) {
		tally_arena_put(arena);
		arena = NULL;
	}
	return arena;
}

/**
 * tally_arena_next - walk the arenas of a node
 * @node: their home
 * @prev: where to go on, put by this call; NULL to begin
 *
 * Context: process.
 * Return: a reference or NULL at the end.
 */
struct tally_arena *tally_arena_next(struct tally_node *node,
				     struct tally_arena *prev)
{
	struct tally_arena *arena = arenas_from(node, prev ? prev->id + 1 : 0);

	if (prev)
		tally_arena_put(prev);
	return arena;
}

/**
 * tally_arena_set_owner - change owner and permission bits of the directory
 * @arena: an arena of ours
 * @uid: owner
 * @gid: group
 * @perm: permission bits
 *
 * Context: process.
 */
void tally_arena_set_owner(struct tally_arena *arena, kuid_t uid, kgid_t gid,
			   umode_t perm)
{
	mutex_lock(&arena->lock);
	arena->config.uid = uid;
	arena->config.gid = gid;
	arena->config.perm = perm & 0777;
	mutex_unlock(&arena->lock);
}

/**
 * tally_arena_wait_ready - wait until an arena can be used
 * @arena: an arena of ours
 * @timeout: in jiffies, MAX_SCHEDULE_TIMEOUT for none
 *
 * Context: process, sleeps, killable.
 * Return: 0, -ETIMEDOUT, -EINTR, -EIDRM.
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

/**
 * tally_arena_loop - the conn for the home's own operations
 * @arena: a nic arena of ours
 *
 * A conn that died is replaced in the background.
 *
 * Context: any.
 * Return: a reference, or NULL while there is none.
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

/**
 * tally_arena_word - address of an entry for the CPU
 * @arena: an arena of ours
 * @word: offset of the entry
 *
 * In a nic arena it may only be read, see who may write a word above.
 *
 * Context: any.
 * Return: the first of its two words.
 */
u64 *tally_arena_word(struct tally_arena *arena, u32 word)
{
	return arena->words + word;
}

/**
 * tally_arena_loop_addr - address of an entry on the loopback conn
 * @arena: a nic arena of ours
 * @word: offset of the entry
 * @rkey: gets the key; 0 when there is no device (then there is no conn)
 *
 * Context: any, after tally_arena_loop().
 * Return: the address.
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

/**
 * tally_arenas_start - make the arenas of a node that starts
 * @node: which
 *
 * Return: 0 or -ENOMEM.
 */
int tally_arenas_start(struct tally_node *node)
{
	struct tally_arenas *arenas = kzalloc(sizeof(*arenas), GFP_KERNEL);

	if (!arenas)
		return -ENOMEM;
	mutex_init(&arenas->lock);
	INIT_LIST_HEAD(&arenas->list);
	arenas->next_id = 1;
	node->arenas = arenas;
	return 0;
}

/**
 * tally_arenas_stop - delete every arena of a node that ends
 * @node: which; all its sessions are OVER
 *
 * Context: process, does not wait for the network.
 */
void tally_arenas_stop(struct tally_node *node)
{
	struct tally_arenas *arenas = node->arenas;
	struct tally_arena *arena;

	mutex_lock(&arenas->lock);
	arenas->stopped = true;
	while ((arena = list_first_entry_or_null(&arenas->list,
						 struct tally_arena, list))) {
		list_del_init(&arena->list);
		mutex_unlock(&arenas->lock);
		arena_kill(arena);
		mutex_lock(&arenas->lock);
	}
	mutex_unlock(&arenas->lock);
}

/**
 * tally_arenas_free - the last reference to the node is gone
 * @node: which
 */
void tally_arenas_free(struct tally_node *node)
{
	if (!node->arenas)
		return;
	mutex_destroy(&node->arenas->lock);
	kfree(node->arenas);
	node->arenas = NULL;
}
