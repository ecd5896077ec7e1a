/* SPDX-License-Identifier: GPL-2.0 */
/* Waiting, bounded, until what was deleted is no longer listed. */
#ifndef TALLY_GONE_H
#define TALLY_GONE_H

#include <stdint.h>

#define GONE_SECONDS 15

int gone_node(const char *node, uint32_t netns);
int gone_arena(const char *node, const char *arena);
int gone_peer(const char *node, const char *peer);

#endif
