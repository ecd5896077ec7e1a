/* SPDX-License-Identifier: GPL-2.0 */
/* A table of things by their names. */
#ifndef TALLY_NAMES_H
#define TALLY_NAMES_H

#include <linux/sched.h>	/* which the next forgets */
#include <linux/rhashtable-types.h>
#include "base/ref.h"

/**
 * struct tally_names - a table by name
 * @table: struct tally_name
 */
struct tally_names {
	struct rhashtable table;
};

/**
 * struct tally_name - part of what is in such a table
 * @hash: its place
 * @name: constant while it is there
 */
struct tally_name {
	struct rhash_head hash;
	const char *name;
};

int tally_names_init(struct tally_names *names);
void tally_names_destroy(struct tally_names *names);
int tally_names_add(struct tally_names *names, struct tally_name *entry);
void tally_names_del(struct tally_names *names, struct tally_name *entry);
struct tally_name *tally_names_find(struct tally_names *names,
				    const char *name);

/*
 * The struct @type whose by_name has that name, or NULL; as tally_names_find().
 */
#define tally_names_lookup(names, name, type)				\
({									\
	struct tally_name *entry_ = tally_names_find(names, name);	\
									\
	entry_ ? container_of(entry_, type, by_name) : NULL;		\
})

/* The same with a reference. Any context. */
#define tally_names_get(names, name, type)				\
	tally_find_get(type, tally_names_lookup(names, name, type))

static inline u32 tally_names_count(struct tally_names *names)
{
	return atomic_read(&names->table.nelems);
}

#endif
