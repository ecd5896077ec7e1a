// SPDX-License-Identifier: GPL-2.0
#include "object/type.h"

#include <linux/bug.h>
#include <linux/errno.h>
#include <linux/string.h>

/* Messages of types have numbers below this. */
#define TYPE_MESSAGES_MAX	256

/* Written once, when the module is loaded. */
static const struct tally_type_ops *const *type_list;
static const struct tally_type_ops *type_by_id[TALLY_TYPES_MAX];
static struct {
	const struct tally_type_ops *ops;
	const struct tally_type_message *message;
} type_messages[TYPE_MESSAGES_MAX];

/**
 * tally_types_set - say which types there are
 * @types: all of them, ended by NULL; constant
 *
 * Context: module init.
 */
void tally_types_set(const struct tally_type_ops *const *types)
{
	const struct tally_type_message *message;
	const struct tally_type_ops *ops;

	type_list = types;
	tally_types_each(ops) {
		if (WARN_ON(ops->id >= TALLY_TYPES_MAX || type_by_id[ops->id]))
			continue;
		type_by_id[ops->id] = ops;
		for (message = ops->messages; message && message->type;
		     message++) {
			if (WARN_ON(message->type >= TYPE_MESSAGES_MAX))
				continue;
			type_messages[message->type].ops = ops;
			type_messages[message->type].message = message;
		}
	}
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
 * tally_type_by_name - a type by its name
 * @name: its name
 *
 * Context: any.
 * Return: the type or NULL.
 */
const struct tally_type_ops *tally_type_by_name(const char *name)
{
	const struct tally_type_ops *ops;

	tally_types_each(ops)
		if (!strcmp(ops->name, name))
			return ops;
	return NULL;
}

/**
 * tally_type_next - walk the types in the order of the list
 * @prev: where to go on, NULL to begin
 *
 * Context: any.
 * Return: the next one or NULL.
 */
const struct tally_type_ops *tally_type_next(const struct tally_type_ops *prev)
{
	const struct tally_type_ops *const *at = type_list;

	if (!prev)
		return *at;
	while (*at++ != prev)
		;
	return *at;
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
	if (type >= TYPE_MESSAGES_MAX)
		return NULL;
	*ops = type_messages[type].ops;
	return type_messages[type].message;
}
