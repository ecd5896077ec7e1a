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

/*
 * Say which types there are: @types, constant, ended by NULL. Module init.
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

/* There are no objects any more. Module exit. */
void tally_types_exit(void)
{
	int id;

	rcu_barrier();
	for (id = 0; id < TALLY_TYPES_MAX; id++) {
		kmem_cache_destroy(type_objects[id]);
		kmem_cache_destroy(type_opens[id]);
	}
}

/* Memory for an object or an open of a type, zero, or NULL. Sleeps for it. */
void *tally_type_alloc(const struct tally_type_ops *type, bool open)
{
	return kmem_cache_zalloc(open ? type_opens[type->id] :
					type_objects[type->id], GFP_KERNEL);
}

/* Free what tally_type_alloc() gave. Any context. */
void tally_type_free(const struct tally_type_ops *type, bool open, void *memory)
{
	kmem_cache_free(open ? type_opens[type->id] : type_objects[type->id],
			memory);
}

/* A type by its id as it came from outside, or NULL. Any context. */
const struct tally_type_ops *tally_type(u8 id)
{
	return id < TALLY_TYPES_MAX ? type_by_id[id] : NULL;
}

/* What a type, *@ops, says of a message as it came; NULL where none has it. */
const struct tally_type_message *
tally_type_message(u16 type, const struct tally_type_ops **ops)
{
	if (type >= __TALLY_MSG_MAX)
		return NULL;
	*ops = type_messages[type].ops;
	return type_messages[type].message;
}
