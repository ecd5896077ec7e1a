// SPDX-License-Identifier: GPL-2.0
#include "home/admin.h"

#include <linux/ktime.h>
#include "base/delay.h"
#include "home/export.h"

static void watches_gone(struct tally_arena *arena, struct list_head *watches)
{
	struct tally_watch *watch;

	guard(mutex)(&arena->watch_lock);
	WRITE_ONCE(arena->watch_task, current);
	while ((watch = list_first_entry_or_null(watches, struct tally_watch,
						 list))) {
		list_del_init(&watch->list);
		watch->gone(watch);
	}
	WRITE_ONCE(arena->watch_task, NULL);
}

/*
 * Delete an object, where @type is not 0 only one of that TALLY_TYPE_*. Its
 * name is gone at once; its memory follows when the last session has answered
 * FORGET or is OVER and the last local user has left. Process context, does not
 * wait for the network. Return: 0, -ENOENT, or -EPROTOTYPE, with @reason.
 */
int tally_object_del(struct tally_arena *arena, const char *name, u8 type,
		     const char **reason)
{
	struct tally_object *object;

	scoped_guard(mutex, &arena->lock) {
		object = tally_names_lookup(&arena->names, name,
					    struct tally_object);
		if (!object || !object->live) {
			*reason = "no object of that name";
			return -ENOENT;
		}
		if (type && object->config.type->id != type) {
			*reason = "the object is of another type";
			return -EPROTOTYPE;
		}
		tally_names_del(&arena->names, &object->by_name);
		WRITE_ONCE(object->live, false);
		WRITE_ONCE(object->deleted, true);
		list_add_tail(&object->dying, &arena->dying);
		tally_export_forget_object(object);
	}
	tally_delay(OBJECT_DEL);
	watches_gone(arena, &object->watches);
	if (object->config.type->deleted)
		object->config.type->deleted(object);
	scoped_guard(mutex, &arena->lock)
		object->told = true;
	tally_node_event(arena->node, "object_del", arena->config.name,
			 object->config.name);
	tally_object_put(object);	/* its name's */
	return 0;
}

/* It was taken out of its node; drops the node's reference. */
static void arena_end(struct tally_arena *arena)
{
	struct tally_object *object;
	const char *reason;
	u32 after = 0;

	scoped_guard(mutex, &arena->lock)
		WRITE_ONCE(arena->state, TALLY_ARENA_DEAD);
	wake_up_all(&arena->wait);
	while ((object = tally_object_next(arena, after))) {
		after = object->id;
		tally_object_del(arena, object->config.name, 0, &reason);
		tally_object_put(object);
	}
	watches_gone(arena, &arena->watches);
	tally_export_forget_arena(arena);
	tally_node_event(arena->node, "arena_del", arena->config.name, "");
	tally_arena_put(arena);
}

/*
 * Delete an arena with everything in it, as objects are. Process context, does
 * not wait for the network. Return: 0 or -ENOENT, with @reason.
 */
int tally_arena_del(struct tally_node *node, const char *name,
		    const char **reason)
{
	struct tally_arena *arena = tally_arena_take(node, name);

	if (!arena) {
		*reason = "no arena of that name";
		return -ENOENT;
	}
	arena_end(arena);
	return 0;
}

/* Delete every arena of a node that ends, whose sessions are all OVER. */
void tally_arenas_stop(struct tally_node *node)
{
	struct tally_arena *arena;

	while ((arena = tally_arena_take(node, NULL)))
		arena_end(arena);
}

/*
 * A peer is deleted: its session, which has not ended yet, gets nothing more, and
 * the next peer of that name has no rights of this one. Process context.
 */
void tally_arenas_forget_peer(struct tally_node *node, const char *peer)
{
	struct tally_arena *arena;
	u32 after = 0;

	while ((arena = tally_arena_next(node, after))) {
		after = arena->id;
		scoped_guard(mutex, &arena->lock) {
			tally_arena_drop_access(arena, peer);
			tally_export_set_access(arena);
		}
		tally_arena_put(arena);
	}
}

/*
 * Change what (TALLY_OWNER_*) of the owner of the directory, or, if it is not NULL,
 * of @object in it; the rest stays as it is by then. Process context.
 */
void tally_arena_set_owner(struct tally_arena *arena,
			   struct tally_object *object,
			   const struct tally_owner *owner, u8 what)
{
	struct tally_owner *to = object ? &object->config.owner :
					  &arena->config.owner;

	guard(mutex)(&arena->lock);
	if (what & TALLY_OWNER_UID)
		to->uid = owner->uid;
	if (what & TALLY_OWNER_GID)
		to->gid = owner->gid;
	if (what & TALLY_OWNER_PERM)
		to->perm = owner->perm;
	to->changed = ktime_get_real_ns();
}
