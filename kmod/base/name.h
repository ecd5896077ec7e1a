/* SPDX-License-Identifier: GPL-2.0 */
/* Names of nodes, arenas and objects: one rule for all of them. */
#ifndef TALLY_NAME_H
#define TALLY_NAME_H

#ifdef __KERNEL__
#include <linux/string.h>
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#endif

#define TALLY_NAME_MAX 63

bool tally_name_valid(const char *name, size_t len);
bool tally_name_field_valid(const char *field, size_t size);

#endif
