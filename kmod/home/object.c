// SPDX-License-Identifier: GPL-2.0
#include "home/object.h"

#include <linux/err.h>
#include <linux/ktime.h>
#include "base/delay.h"
#include "base/name.h"

static void object_free_memory(struct rcu_head *rcu)
{
	struct tally_object *object = container_of(rcu, typeof(*object), rcu);

	tally_type_free(object->config.type, false, object);
}

static void object_free(struct work_struct *work)
{
	struct tally_object *object = container_of(work, typeof(*object), free);
	const struct tally_type_ops *type = object->config.type;
	struct tally_arena *arena = object->arena;

	if (object->created && type->destroy)
		type->destroy(object);
	mutex_lock(&arena->lock);
	list_del(&object->dying);
	if (object->id)
		xa_erase(&arena->objects, object->id);
	if (object->word != TALLY_NO_WORD)
		tally_arena_word_give(arena, object->word);
	mutex_unlock(&arena->lock);
	call_rcu(&object->rcu, object_free_memory);
	tally_arena_put(arena);
}

static void object_release(struct kref *ref)
{
	struct tally_object *object = container_of(ref, typeof(*object), ref);

	queue_work(object->arena->node->wq, &object->free);
}

struct tally_object *tally_object_get(struct tally_object *object)
{
	kref_get(&object->ref);
	return object;
}

/*
 * The object is freed later, from the node's workqueue; only then may its entry
 * be used again. Any context.
 */
void tally_object_put(struct tally_object *object)
{
	kref_put(&object->ref, object_release);
}

/**
 * tally_object_new - begin to make an object
 * @arena: where; one that has not found its mode yet takes objects, too
 * @config: what all types have; copied
 * @reason: says why when it fails
 *
 * It is not visible before tally_object_add(); until then the type's part, which
 * is zero, is to be filled in.
 *
 * Context: process.
 * Return: a reference, or an error pointer: -EINVAL, -ENOMEM.
 */
struct tally_object *tally_object_new(struct tally_arena *arena,
				      const struct tally_object_config *config,
				      const char **reason)
{
	struct tally_object *object;

	*reason = NULL;
	if (!tally_name_valid(config->name,
			      strnlen(config->name, TALLY_NAME_SIZE)))
		*reason = "not a valid object name";
	else if (!config->type)
		*reason = "unknown object type";
	else if (config->owner.perm & ~0777)
		*reason = "only permission bits are allowed";
	if (*reason)
		return ERR_PTR(-EINVAL);
	object = tally_type_alloc(config->type, false);
	if (!object) {
		*reason = "no memory for the object";
		return ERR_PTR(-ENOMEM);
	}
	kref_init(&object->ref);
	INIT_LIST_HEAD(&object->opens);
	INIT_LIST_HEAD(&object->watches);
	INIT_LIST_HEAD(&object->dying);
	INIT_WORK(&object->free, object_free);
	object->arena = tally_arena_get(arena);
	object->config = *config;
	object->config.owner.changed = ktime_get_real_ns();
	object->by_name.name = object->config.name;
	object->word = TALLY_NO_WORD;
	object->generation = 1;	/* of an id that is never given again */
	return object;
}

static int arena_lives(struct tally_arena *arena, const char **reason)
{
	lockdep_assert_held(&arena->lock);
	if (arena->state != TALLY_ARENA_DEAD)
		return 0;
	*reason = "the arena was deleted";
	return -EIDRM;
}

/* Others cannot have the name any more, nor find the object by it yet. */
static int object_name(struct tally_object *object, const char **reason)
{
	struct tally_arena *arena = object->arena;
	int err = arena_lives(arena, reason) ?:
		  tally_names_add(&arena->names, &object->by_name);

	if (err == -EEXIST)
		*reason = "an object of that name exists";
	return err;
}

/* Id and entry for it. */
static int object_reserve(struct tally_object *object, const char **reason)
{
	struct tally_arena *arena = object->arena;
	int err;

	lockdep_assert_held(&arena->lock);
	if (object->config.type->word) {
		err = tally_arena_word_take(arena, &object->word);
		if (err) {
			*reason = "the word table is full";
			return err;
		}
	}
	err = xa_insert(&arena->objects, arena->next_id, object, GFP_KERNEL);
	if (err) {
		*reason = "no memory or no object ids are left";
		return err;
	}
	object->id = arena->next_id++;
	return 0;
}

/**
 * tally_object_add - an object becomes visible
 * @object: new
 * @reason: says why when it fails
 *
 * Context: process, does not wait for the network.
 * Return: 0 or a negative errno; the caller keeps its reference in any case.
 */
int tally_object_add(struct tally_object *object, const char **reason)
{
	const struct tally_type_ops *type = object->config.type;
	struct tally_arena *arena = object->arena;
	int err;

	*reason = "not enough memory";
	err = type->check ? type->check(object, reason) : 0;
	if (err)
		return err;
	scoped_guard(mutex, &arena->lock) {
		err = object_name(object, reason);
		if (err)
			return err;
		err = object_reserve(object, reason);
	}
	if (!err && type->create)
		err = type->create(object, reason);
	object->created = !err;
	tally_delay(OBJECT_ADD);
	mutex_lock(&arena->lock);
	err = err ?: arena_lives(arena, reason);
	if (err) {
		tally_names_del(&arena->names, &object->by_name);
	} else {
		tally_object_get(object);
		/* With what create() made. */
		smp_store_release(&object->live, true);
	}
	mutex_unlock(&arena->lock);
	if (!err)
		tally_node_event(arena->node, "object_add", arena->config.name,
				 object->config.name);
	return err;
}

struct object_ghosts {
	const struct tally_object *object;
	u64 tenure;
	bool any;
};

static void arena_ghosts(struct tally_arena *arena, void *ctx)
{
	struct object_ghosts *ghosts = ctx;
	const char *name = ghosts->object->config.name;
	u64 now = ktime_get_boottime_ns();
	struct tally_object *other;

	guard(mutex)(&arena->lock);
	/* One that was deleted may have it, and delete it soon. */
	if (arena != ghosts->object->arena &&
	    tally_names_find(&arena->names, name))
		ghosts->any = true;
	list_for_each_entry(other, &arena->dying, dying)
		if (other != ghosts->object &&
		    (other->users || !other->told ||
		     now < READ_ONCE(other->used_until)) &&
		    !strcmp(other->config.name, name))
			ghosts->any = true;
	ghosts->tenure = max(ghosts->tenure, arena->tenure);
}

/*
 * May somebody still use one of the same name, in an arena of the same name, which
 * was deleted? Its sessions have not answered FORGET, or have ended but may not know.
 * *@tenure: raised to the highest number that such a one has given; more may
 * come while this is so. Once @object has its name. Process context.
 */
bool tally_object_haunted(struct tally_object *object, u64 *tenure)
{
	struct tally_arena *arena = object->arena;
	struct object_ghosts ghosts = { .object = object };
	u64 freed = tally_arenas_named(arena->node, arena->config.name,
				       arena_ghosts, &ghosts);

	*tenure = max3(*tenure, freed, ghosts.tenure);
	return ghosts.any;
}

/* An object of ours by name, referenced, or NULL. Any context. */
struct tally_object *tally_object_find(struct tally_arena *arena,
				       const char *name)
{
	struct tally_object *object = tally_names_get(&arena->names, name,
						      struct tally_object);

	/* What create() made is there with it. */
	if (!object || smp_load_acquire(&object->live))
		return object;
	tally_object_put(object);
	return NULL;
}

/* Is there an object that peers call that, which was not deleted? Any context. */
bool tally_object_exists(struct tally_node *node,
			 const struct tally_wire_object *which)
{
	struct tally_arena *arena = tally_arena_by_id(node,
						be32_to_cpu(which->arena));
	struct tally_object *object;
	bool exists;

	if (!arena)
		return false;
	rcu_read_lock();
	object = xa_load(&arena->objects, be32_to_cpu(which->object));
	exists = object && READ_ONCE(object->live) &&
		 object->generation == be32_to_cpu(which->generation);
	rcu_read_unlock();
	tally_arena_put(arena);
	return exists;
}

/*
 * Walk the objects of an arena. @after: id to go on behind, 0 to begin. Return:
 * the live one with the next id, referenced, or NULL.
 */
struct tally_object *tally_object_next(struct tally_arena *arena,
				       unsigned long after)
{
	struct tally_object *object;

	rcu_read_lock();
	do
		object = xa_find_after(&arena->objects, &after, U32_MAX,
				       XA_PRESENT);
	while (object && (!READ_ONCE(object->live) ||
			  !kref_get_unless_zero(&object->ref)));
	rcu_read_unlock();
	return object;
}

/*
 * What OPEN answers. @open: as the session has it, or NULL for our own users.
 * With arena->lock held.
 */
void tally_object_fill(struct tally_object *object, struct tally_open *open,
		       struct tally_rep_open *rep)
{
	const struct tally_object_config *config = &object->config;

	lockdep_assert_held(&object->arena->lock);
	*rep = (struct tally_rep_open) {
		.object = cpu_to_be32(object->id),
		.generation = cpu_to_be32(object->generation),
		.type = config->type->id,
	};
	if (object->word != TALLY_NO_WORD)
		rep->word = cpu_to_be32(object->word);
	if (config->type->fill)
		config->type->fill(object, open, rep);
}
