/* SPDX-License-Identifier: GPL-2.0 */
/* What goes over the wire, as tally and as the device count it. */
#ifndef TALLY_TOOL_BENCH_H
#define TALLY_TOOL_BENCH_H

#include <stdint.h>

/**
 * struct wire - counters
 * @posts: work requests that tally posted, but registrations
 * @atomics: those of them that were atomics
 * @messages: those of them that were Sends
 * @doorbells: how often it rang for the others
 * @packets: packets that the devices sent
 */
struct wire {
	uint64_t posts;
	uint64_t atomics;
	uint64_t messages;
	uint64_t doorbells;
	uint64_t packets;
};

/*
 * The sum over the first @count of @nodes, which are separated by commas, and
 * @home unless it is NULL. @nodes is NULL: the first node there is. Return: enum
 * status.
 */
int wire_read(const char *nodes, unsigned int count, const char *home,
	      struct wire *wire);

#endif
