/* SPDX-License-Identifier: GPL-2.0 */
/* What "tally bench" needs: the module that measures, and the wire's counters. */
#ifndef TALLY_TOOL_BENCH_H
#define TALLY_TOOL_BENCH_H

#include <stdint.h>

/**
 * struct bench_names - what the module is to use; NULL: nothing, or any
 * @nodes: names of nodes, separated by commas
 * @counter: ARENA/COUNTER
 * @cpu: the same in an arena of mode cpu
 * @lock: ARENA/LOCK
 * @cached: the same with caching on
 * @cpu_lock: the same in an arena of mode cpu
 * @region: ARENA/REGION
 * @dev: RDMA device
 * @far: ADDRESS:PORT of the baseline's target
 */
struct bench_names {
	const char *nodes;
	const char *counter;
	const char *cpu;
	const char *lock;
	const char *cached;
	const char *cpu_lock;
	const char *region;
	const char *dev;
	const char *far;
};

/*
 * Call @run with the module loaded, for that time if it was not, with @names,
 * where what is missing becomes what the module has. FAILED: it has other ones.
 * Return: enum status.
 */
int bench_with_module(struct bench_names *names, int (*run)(void));

/**
 * struct wire - what goes over the wire, as tally and as the device count it
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
