// SPDX-License-Identifier: GPL-2.0
#include "base/names.h"

#include <linux/jhash.h>
#include <linux/rhashtable.h>
#include <linux/string.h>

static u32 names_hash(const void *key, u32 len, u32 seed)
{
	return jhash(key, strlen(key), seed);
}

static u32 names_hash_entry(const void *data, u32 len, u32 seed)
{
	return names_hash(((const struct tally_name *)data)->name, 0, seed);
}

static int names_cmp(struct rhashtable_compare_arg *arg, const void *data)
{
	return strcmp(arg->key, ((const struct tally_name *)data)->name);
}

static const struct rhashtable_params names_params = {
	.head_offset = offsetof(struct tally_name, hash),
	.hashfn = names_hash,
	.obj_hashfn = names_hash_entry,
	.obj_cmpfn = names_cmp,
	.automatic_shrinking = true,
};

/* Return: 0 or -ENOMEM. */
int tally_names_init(struct tally_names *names)
{
	return rhashtable_init(&names->table, &names_params);
}

/* What is in it is left alone. Process context; the others take any. */
void tally_names_destroy(struct tally_names *names)
{
	rhashtable_destroy(&names->table);
}

/* Return: 0, -EEXIST, -ENOMEM. */
int tally_names_add(struct tally_names *names, struct tally_name *entry)
{
	return rhashtable_lookup_insert_key(&names->table, entry->name,
					    &entry->hash, names_params);
}

/* @entry has to stay for a grace period of RCU. */
void tally_names_del(struct tally_names *names, struct tally_name *entry)
{
	rhashtable_remove_fast(&names->table, &entry->hash, names_params);
}

/* Under RCU, or the lock that changes are made under. Return: NULL if none has it. */
struct tally_name *tally_names_find(struct tally_names *names,
				    const char *name)
{
	return rhashtable_lookup_fast(&names->table, name, names_params);
}
