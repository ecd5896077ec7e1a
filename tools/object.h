/* SPDX-License-Identifier: GPL-2.0 */
/* What counters, locks and regions have in common: they come, go, are shown. */
#ifndef TALLY_OBJECT_H
#define TALLY_OBJECT_H

#include <stdint.h>

/**
 * struct object_type - a type of objects
 * @type: TALLY_TYPE_*
 * @word: its name
 */
struct object_type {
	uint32_t type;
	const char *word;
};

int object_add(const struct object_type *type, int argc, char **argv);
int object_del(const struct object_type *type, int argc, char **argv);
int object_break(const struct object_type *type, int argc, char **argv);
int object_show(const struct object_type *type, int argc, char **argv);
int lock_set(int argc, char **argv);

#endif
