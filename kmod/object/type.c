// SPDX-License-Identifier: GPL-2.0
#include "object/type.h"

#include <linux/bug.h>
#include <linux/errno.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include "base/wire.h"

/* Written once, when the module is loaded. */
static const struct tally_type_ops *type_by_id[TALLY_TYPES_MAX];
static struct kmem_cache *type_objects[TALLY_TYPES_MAX];
static struct kmem_cache *type_opens[TALLY_TYPES_MAX];
static struct {
	const struct tally_type_ops *ops;
	const struct tally_type_message *message;
} type_messages[__TALLY_MSG_MAX];

static struct kmem_cache *type_cache(const char *type, const char *what,
				     size_t size)
{
	char name[32];

	snprintf(name, sizeof(name), "tally_%s%s", type, what);
	return kmem_cache_create(name, size, 0, SLAB_ACCOUNT, NULL);
}

static int type_add(const struct tally_type_ops *ops)
{
	const struct tally_type_message *message;

	if (WARN_ON(ops->id >= TALLY_TYPES_MAX || type_by_id[ops->id]))
		return -EINVAL;
	type_by_id[ops->id] = ops;
	for (message = ops->messages; message && message->type; message++) {
		type_messages[message->type].ops = ops;
		type_messages[message->type].message = message;
	}
	type_objects[ops->id] = type_cache(ops->name, "", ops->object_size);
	type_opens[ops->id] = type_cache(ops->name, "_open", ops->open_size);
	return type_objects[ops->id] && type_opens[ops->id] ? 0 : -ENOMEM;
}

/**
 * tally_types_init - say which types there are
 * @types: all of them, ended by NULL; constant
 *
 * Context: module init.
 * Return: 0 or a negative errno.
 */
int tally_types_init(const struct tally_type_ops *const *types)
{
	int err = 0;

	for (; *types && !err; types++)
		err = type_add(*types);
	if (err)
		tally_types_exit();
	return err;
}

/**
 * tally_types_exit - there are no objects any more
 *
 * Context: module exit.
 */
void tally_types_exit(void)
{
	int id;

	rcu_barrier();
	for (id = 0; id < TALLY_TYPES_MAX; id++) {
		kmem_cache_destroy(type_objects[id]);
		kmem_cache_destroy(type_opens[id]);
	}
}

/**
 * tally_type_alloc - memory for an object, or for an open
 * @type: its type
 * @open: for an open
 *
 * Context: process; sleeps for memory.
 * Return: the memory, zero, or NULL.
 */
void *tally_type_alloc(const struct tally_type_ops *type, bool open)
{
	return kmem_cache_zalloc(open ? type_opens[type->id] :
					type_objects[type->id], GFP_KERNEL);
}

/**
 * tally_type_free - free what tally_type_alloc() gave
 * @type: as then
 * @open: as then
 * @memory: the memory
 *
 * Context: any.
 */
void tally_type_free(const struct tally_type_ops *type, bool open, void *memory)
{
	kmem_cache_free(open ? type_opens[type->id] : type_objects[type->id],
			memory);
}

/**
 * tally_type - a type by its id
 * @id: TALLY_TYPE_*, as it came from outside
 *
 * Context: any.
 * Return: the type or NULL.
 */
const struct tally_type_ops *tally_type(u8 id)
{
	return id < TALLY_TYPES_MAX ? type_by_id[id] : NULL;
}

/**
 * tally_type_message - the type that a message belongs to
 * @type: enum tally_msg_type, as it came
 * @ops: gets the type
 *
 * Context: any.
 * Return: what the type says of it, or NULL where it belongs to none.
 */
const struct tally_type_message *
tally_type_message(u16 type, const struct tally_type_ops **ops)
{
	if (type >= __TALLY_MSG_MAX)
		return NULL;
	*ops = type_messages[type].ops;
	return type_messages[type].message;
}
