/* SPDX-License-Identifier: GPL-2.0 */
/* What goes over the wire, as tally and as the device count it. */
#ifndef TALLY_TOOL_BENCH_H
#define TALLY_TOOL_BENCH_H

#include <stdint.h>

/**
 * struct wire - counters
 * @posts: work requests that tally posted, but messages and registrations
 * @atomics: those of them that were atomics
 * @doorbells: how often it rang for them
 * @packets: packets that the devices sent
 */
struct wire {
	uint64_t posts;
	uint64_t atomics;
	uint64_t doorbells;
	uint64_t packets;
};

/* @nodes: the first name in it, NULL: the first node. Return: enum status. */
int wire_read(const char *nodes, struct wire *wire);

#endif
