// SPDX-License-Identifier: GPL-2.0
#include "home/arena.h"

#include <linux/bitmap.h>
#include <linux/slab.h>
#include "home/export.h"
#include "lock/lock.h"
#include "base/name.h"
#include "region/region.h"
#include "client/views.h"

/* What each type of object does at its home beyond having a name. */
static int object_create(struct tally_object *object)
{
	switch (object->config.type) {
	case TALLY_TYPE_LOCK:
		return tally_lock_home_create(object);
	case TALLY_TYPE_REGION:
		return tally_region_home_create(object);
	default:
		WRITE_ONCE(*tally_arena_word(object->arena, object->word),
			   object->config.initial);
		return 0;
	}
}

static void object_deleted(struct tally_object *object)
{
	if (object->config.type == TALLY_TYPE_LOCK)
		tally_lock_home_delete(object);
	else if (object->config.type == TALLY_TYPE_REGION)
		tally_region_home_delete(object);
}

static void object_destroy(struct tally_object *object)
{
	if (object->config.type == TALLY_TYPE_LOCK)
		tally_lock_home_destroy(object);
	else if (object->config.type == TALLY_TYPE_REGION)
		tally_region_home_destroy(object);
}

static int word_get(struct tally_arena *arena, u32 *word)
{
	u32 entries = arena->config.words / TALLY_ENTRY_SIZE;
	unsigned long entry;

	lockdep_assert_held(&arena->lock);
	entry = find_first_zero_bit(arena->bitmap, entries);
	if (entry == entries)
		return -ENOSPC;
	__set_bit(entry, arena->bitmap);
	*word = entry * TALLY_ENTRY_SIZE;
	return 0;
}

/* Nobody can aim at the entry any more: the CPU may write it. */
static void word_put(struct tally_arena *arena, u32 word)
{
	u64 *words = tally_arena_word(arena, word);

	lockdep_assert_held(&arena->lock);
	WRITE_ONCE(words[0], 0);
	WRITE_ONCE(words[1], 0);
	__clear_bit(word / TALLY_ENTRY_SIZE, arena->bitmap);
}

/* Id and entry go back, the memory is freed. */
static void object_dispose(struct tally_object *object)
{
	struct tally_arena *arena = object->arena;

	mutex_lock(&arena->lock);
	xa_erase(&arena->objects, object->id);
	if (object->word != TALLY_NO_WORD)
		word_put(arena, object->word);
	mutex_unlock(&arena->lock);
	kfree(object);
	tally_arena_put(arena);
}

static void object_free(struct work_struct *work)
{
	struct tally_object *object = container_of(work, struct tally_object,
						   free);

	object_destroy(object);
	object_dispose(object);
}

static void object_release(struct kref *ref)
{
	struct tally_object *object = container_of(ref, struct tally_object,
						   ref);

	queue_work(object->arena->node->wq, &object->free);
}

/**
 * tally_object_get - take a reference
 * @object: of which the caller has one already
 *
 * Context: any.
 * Return: @object.
 */
struct tally_object *tally_object_get(struct tally_object *object)
{
	kref_get(&object->ref);
	return object;
}

/**
 * tally_object_put - drop a reference
 * @object: freed later, from the node's workqueue, when it was the last; only
 *	then its entry may be used again
 *
 * Context: any.
 */
void tally_object_put(struct tally_object *object)
{
	kref_put(&object->ref, object_release);
}

static const char *object_config_fault(const struct tally_object_config *config)
{
	bool region = config->type == TALLY_TYPE_REGION;

	if (!tally_name_valid(config->name,
			      strnlen(config->name, TALLY_NAME_SIZE)))
		return "not a valid object name";
	if (config->type < TALLY_TYPE_COUNTER ||
	    config->type > TALLY_TYPE_REGION)
		return "unknown object type";
	if (config->lock_class > TALLY_CLASS_REGION ||
	    (config->lock_class && config->type != TALLY_TYPE_LOCK))
		return "not a class this type can have";
	if (region == !config->size)
		return "regions have a size, nothing else has";
	if (config->size > TALLY_REGION_MAX)
		return "larger than a region may be";
	if (config->initial && config->type != TALLY_TYPE_COUNTER)
		return "only counters have an initial value";
	if (config->perm & ~0777)
		return "only permission bits are allowed";
	return NULL;
}

static struct tally_object *arena_lookup(struct tally_arena *arena,
					 const char *name)
{
	struct tally_object *object;

	lockdep_assert_held(&arena->lock);
	list_for_each_entry(object, &arena->names, list)
		if (!strcmp(object->config.name, name))
			return object;
	return NULL;
}

static int arena_takes(struct tally_arena *arena, const char *name,
		       const char **reason)
{
	if (arena->state == TALLY_ARENA_DEAD) {
		*reason = "the arena was deleted";
		return -EIDRM;
	}
	if (arena_lookup(arena, name)) {
		*reason = "an object of that name exists";
		return -EEXIST;
	}
	return 0;
}

/* Id and entry for an object nobody can find yet. */
static int object_reserve(struct tally_object *object, const char **reason)
{
	struct tally_arena *arena = object->arena;
	int err;

	mutex_lock(&arena->lock);
	err = arena_takes(arena, object->config.name, reason);
	if (err)
		goto out;
	if (object->config.type != TALLY_TYPE_REGION) {
		err = word_get(arena, &object->word);
		if (err) {
			*reason = "the word table is full";
			goto out;
		}
	}
	object->id = arena->next_id;
	err = xa_insert(&arena->objects, object->id, object, GFP_KERNEL);
	if (err) {
		*reason = "no memory or no object ids are left";
		if (object->word != TALLY_NO_WORD)
			word_put(arena, object->word);
		goto out;
	}
	arena->next_id++;
out:
	mutex_unlock(&arena->lock);
	return err;
}

static int object_link(struct tally_object *object, const char **reason)
{
	struct tally_arena *arena = object->arena;
	int err;

	mutex_lock(&arena->lock);
	err = arena_takes(arena, object->config.name, reason);
	if (!err)
		list_add_tail(&object->list, &arena->names);
	mutex_unlock(&arena->lock);
	return err;
}

static struct tally_object *
object_alloc(struct tally_arena *arena, const struct tally_object_config *config)
{
	struct tally_object *object = kzalloc(sizeof(*object), GFP_KERNEL);

	if (!object)
		return NULL;
	kref_init(&object->ref);
	INIT_LIST_HEAD(&object->list);
	INIT_LIST_HEAD(&object->opens);
	INIT_WORK(&object->free, object_free);
	object->arena = tally_arena_get(arena);
	object->config = *config;
	object->word = TALLY_NO_WORD;
	object->generation = 1;	/* of an id that is never given again */
	return object;
}

static const char *object_create_fault(int err)
{
	switch (err) {
	case -EDQUOT:
		return "beyond the node's memory limit";
	case -ENOMEM:
		return "not enough memory";
	case -EINTR:
		return "interrupted";
	default:
		return "the size is not possible";
	}
}

/**
 * tally_object_add - make an object
 * @arena: where; an arena that has not found its mode yet takes objects, too
 * @config: what it shall be; copied
 * @reason: says why when it fails
 *
 * Context: process, does not wait for the network.
 * Return: 0 or a negative errno.
 */
int tally_object_add(struct tally_arena *arena,
		     const struct tally_object_config *config,
		     const char **reason)
{
	struct tally_object *object;
	int err;

	*reason = object_config_fault(config);
	if (*reason)
		return -EINVAL;
	object = object_alloc(arena, config);
	if (!object) {
		*reason = "no memory for the object";
		return -ENOMEM;
	}
	err = object_reserve(object, reason);
	if (err)
		goto err_free;
	err = object_create(object);
	if (err) {
		*reason = object_create_fault(err);
		goto err_dispose;
	}
	err = object_link(object, reason);
	if (err)
		goto err_destroy;
	tally_node_event(arena->node, "object_add", arena->config.name,
			 config->name);
	return 0;

err_destroy:
	object_destroy(object);
err_dispose:
	object_dispose(object);
	return err;
err_free:
	tally_arena_put(arena);
	kfree(object);
	return err;
}

/**
 * tally_object_del - delete an object
 * @arena: where
 * @name: which
 * @type: TALLY_TYPE_* it has to be of, 0 for any
 * @reason: says why when it fails
 *
 * Its name is gone at once. Its memory follows when the last session has
 * answered FORGET or is OVER and the last local user has left.
 *
 * Context: process, does not wait for the network.
 * Return: 0, -ENOENT, or -EPROTOTYPE when it is of another type.
 */
int tally_object_del(struct tally_arena *arena, const char *name, u8 type,
		     const char **reason)
{
	struct tally_object *object;
	int err = 0;

	mutex_lock(&arena->lock);
	object = arena_lookup(arena, name);
	if (!object) {
		*reason = "no object of that name";
		err = -ENOENT;
	} else if (type && object->config.type != type) {
		*reason = "the object is of another type";
		err = -EPROTOTYPE;
	} else {
		WRITE_ONCE(object->deleted, true);
		list_del_init(&object->list);
		tally_attach_forget_object(object);
	}
	mutex_unlock(&arena->lock);
	if (err)
		return err;
	tally_views_object_gone(object);
	object_deleted(object);
	tally_node_event(arena->node, "object_del", arena->config.name,
			 object->config.name);
	tally_object_put(object);
	return 0;
}

/**
 * tally_object_find - an object of ours by name
 * @arena: where
 * @name: its name
 *
 * Context: process.
 * Return: a reference or NULL.
 */
struct tally_object *tally_object_find(struct tally_arena *arena,
				       const char *name)
{
	struct tally_object *object;

	mutex_lock(&arena->lock);
	object = arena_lookup(arena, name);
	if (object)
		tally_object_get(object);
	mutex_unlock(&arena->lock);
	return object;
}

/**
 * tally_object_by_id - an object of ours by what a peer calls it
 * @node: its home
 * @arena: id of its arena
 * @id: its id
 * @generation: of that id
 *
 * Context: process.
 * Return: a reference, or NULL when there is none or it was deleted.
 */
struct tally_object *tally_object_by_id(struct tally_node *node, u32 arena,
					u32 id, u32 generation)
{
	struct tally_arena *a = tally_arena_by_id(node, arena);
	struct tally_object *object;

	if (!a)
		return NULL;
	mutex_lock(&a->lock);
	object = xa_load(&a->objects, id);
	if (object && object->generation == generation &&
	    !list_empty(&object->list))
		tally_object_get(object);
	else
		object = NULL;
	mutex_unlock(&a->lock);
	tally_arena_put(a);
	return object;
}

/**
 * tally_object_next - walk the objects of an arena
 * @arena: where
 * @after: id to go on behind, 0 to begin
 *
 * Context: process.
 * Return: a reference to the live one with the next id, or NULL at the end.
 */
struct tally_object *tally_object_next(struct tally_arena *arena, u32 after)
{
	struct tally_object *object;
	unsigned long id = after;

	mutex_lock(&arena->lock);
	do
		object = xa_find_after(&arena->objects, &id, U32_MAX,
				       XA_PRESENT);
	while (object && list_empty(&object->list));
	if (object)
		tally_object_get(object);
	mutex_unlock(&arena->lock);
	return object;
}

/**
 * tally_object_set_owner - change owner and permission bits of an object
 * @object: which
 * @uid: owner
 * @gid: group
 * @perm: permission bits
 *
 * Context: process.
 */
void tally_object_set_owner(struct tally_object *object, kuid_t uid,
			    kgid_t gid, umode_t perm)
{
	mutex_lock(&object->arena->lock);
	object->config.uid = uid;
	object->config.gid = gid;
	object->config.perm = perm & 0777;
	mutex_unlock(&object->arena->lock);
}

/**
 * tally_object_opened - was a session given an object?
 * @object: which
 * @s: the session
 *
 * Context: process.
 * Return: true when it opened it and has not closed it.
 */
bool tally_object_opened(struct tally_object *object, struct tally_session *s)
{
	struct tally_open *open;
	bool found = false;

	mutex_lock(&object->arena->lock);
	list_for_each_entry(open, &object->opens, list)
		if (open->attach->session == s && !open->closing)
			found = true;
	mutex_unlock(&object->arena->lock);
	return found;
}

/**
 * tally_object_users - how many other nodes have an object open
 * @object: which
 *
 * Context: process.
 * Return: their number.
 */
u32 tally_object_users(struct tally_object *object)
{
	struct tally_open *open;
	u32 n = 0;

	mutex_lock(&object->arena->lock);
	list_for_each_entry(open, &object->opens, list)
		n++;
	mutex_unlock(&object->arena->lock);
	return n;
}
