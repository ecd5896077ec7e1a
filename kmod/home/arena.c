// SPDX-License-Identifier: GPL-2.0
#include "home/arena.h"

#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include "home/arenadev.h"
#include "home/export.h"
#include "base/name.h"
#include "client/views.h"

/**
 * struct tally_arenas - the arenas of a node
 * @lock: protects what follows
 * @list: struct tally_arena, by id
 * @next_id: ids are given once
 * @stopped: nothing new
 */
struct tally_arenas {
	struct mutex lock;	/* see above */
	struct list_head list;
	u32 next_id;
	bool stopped;
};

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

	tally_arena_unbind(arena);
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
	arena->config = *config;
	if (!arena->config.words)
		arena->config.words = TALLY_WORDS_DEFAULT;
	kref_init(&arena->ref);
	mutex_init(&arena->lock);
	spin_lock_init(&arena->spin);
	init_waitqueue_head(&arena->wait);
	INIT_DELAYED_WORK(&arena->start, tally_arena_start_work);
	INIT_WORK(&arena->free, arena_free);
	INIT_LIST_HEAD(&arena->watch.list);
	arena->watch.gone = tally_arena_dev_gone;
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
			tally_arena_ready(arena, TALLY_MODE_CPU);
		else
			tally_arena_kick(arena, 0);
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
