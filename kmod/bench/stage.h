/* SPDX-License-Identifier: GPL-2.0 */
/* The stage: everything that actors use, made when it is first needed. */
#ifndef TALLY_BENCH_STAGE_H
#define TALLY_BENCH_STAGE_H

#include "figure.h"
#include "guard.h"
#include "team.h"

struct net;

/* Nodes in one kernel that can take part. */
#define STAGE_NODES	TEAM_MAX

/**
 * struct stage_paths - which objects to use
 * @nodes: names of nodes, separated by commas; empty: the first
 * @counter: "ARENA/COUNTER"; NULL or empty: figures about one are not there
 * @cpu: the same of an arena in mode cpu
 * @lock: the same
 * @cached: a lock with caching on
 * @cpu_lock: a lock of an arena in mode cpu
 * @region: the same
 */
struct stage_paths {
	const char *nodes;
	const char *counter;
	const char *cpu;
	const char *lock;
	const char *cached;
	const char *cpu_lock;
	const char *region;
};

/**
 * struct stage - what there is
 * @ibdev: device of the baseline
 * @far: address and port of the baseline's target, empty: the same device
 * @raw: for each way to wait and each actor
 * @guard: what locks protect
 * @counter: by node
 * @lock: by node
 * @cpu: of the first node, like the rest
 * @cached: a lock with caching on
 * @cpu_lock: a lock of an arena in mode cpu
 * @region: a region
 */
struct stage {
	struct ib_device *ibdev;
	const char *far;
	struct raw *raw[RAW_WAITS][TEAM_MAX];
	struct guard guard;
	struct tally_counter *counter[STAGE_NODES];
	struct tally_lock *lock[STAGE_NODES];
	struct tally_counter *cpu;
	struct tally_lock *cached;
	struct tally_lock *cpu_lock;
	struct tally_region *region;
};

/*
 * Make what @figure needs and give it to the actors, as many as it has.
 * -ENXIO: the objects were not named.
 */
int stage_set(struct stage *stage, const struct stage_paths *paths,
	      const struct figure *figure, struct actor *actors);
/* Give the actors baselines that wait in this way. */
int stage_wait(struct stage *stage, enum raw_wait wait, struct actor *actors,
	       u32 n);
void stage_clear(struct stage *stage);
u32 stage_actors(const struct figure *figure);

#endif
