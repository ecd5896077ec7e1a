/* SPDX-License-Identifier: GPL-2.0 */
/* Objects at their home. */
#ifndef TALLY_HOME_OBJECT_H
#define TALLY_HOME_OBJECT_H

#include "home/arena.h"
#include "object/type.h"
#include "object/wire.h"

/**
 * struct tally_object_config - what all types of objects have
 * @name: its name
 * @type: its type
 * @owner: of its file
 */
struct tally_object_config {
	char name[TALLY_NAME_SIZE];
	const struct tally_type_ops *type;
	struct tally_owner owner;
};

/**
 * struct tally_object - one object of ours; each type has a struct that begins
 *	with this one
 * @by_name: in arena->names from shortly before it is live until it is deleted
 * @ref: its name, opens, local handles, requests
 * @arena: referenced
 * @config: as given; its owner changes under arena->lock
 * @id: id in the arena
 * @generation: of that id
 * @word: offset of its entry in the word table, or TALLY_NO_WORD
 * @created: the type's part was made
 * @live: it can be found; written under arena->lock
 * @deleted: its name is gone; written under arena->lock
 * @told: and those who used it here know, likewise
 * @used_until: CLOCK_BOOTTIME ns until which one whose session has ended may go on
 *	with it; the type sets it, at the latest when a session closes it
 * @dying: in arena->dying from then on, until it is freed
 * @opens: sessions that were given its address, struct tally_open; under
 *	arena->lock
 * @users: their number
 * @watches: struct tally_watch, under arena->watch_lock
 * @free: the last reference is gone
 * @rcu: and then it is freed
 */
struct tally_object {
	struct tally_name by_name;
	struct kref ref;
	struct tally_arena *arena;
	struct tally_object_config config;
	u32 id;
	u32 generation;
	u32 word;
	bool created;
	bool live;
	bool deleted;
	bool told;
	u64 used_until;
	struct list_head dying;
	struct list_head opens;
	u32 users;
	struct list_head watches;
	union {
		struct work_struct free;
		struct rcu_head rcu;
	};
};

struct tally_object *tally_object_new(struct tally_arena *arena,
				      const struct tally_object_config *config,
				      const char **reason);
int tally_object_add(struct tally_object *object, const char **reason);
struct tally_object *tally_object_find(struct tally_arena *arena,
				       const char *name);
bool tally_object_exists(struct tally_node *node,
			 const struct tally_wire_object *which);
struct tally_object *tally_object_next(struct tally_arena *arena,
				       unsigned long after);
bool tally_object_haunted(struct tally_object *object, u64 *tenure);
struct tally_object *tally_object_get(struct tally_object *object);
void tally_object_put(struct tally_object *object);
void tally_object_fill(struct tally_object *object, struct tally_open *open,
		       struct tally_rep_open *rep);

#endif
