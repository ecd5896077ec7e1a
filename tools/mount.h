/* SPDX-License-Identifier: GPL-2.0 */
/* The tally file system of a node: mounted with it, unmounted with it. */
#ifndef TALLY_MOUNT_H
#define TALLY_MOUNT_H

#include <limits.h>
#include <stdbool.h>

int mount_find(const char *node, char where[PATH_MAX]);
bool mount_of(const char *node, char where[PATH_MAX]);
int mount_node(const char *node);
void unmount_node(const char *node);

#endif
