/* SPDX-License-Identifier: GPL-2.0 */
/* A team: several actors that call at the same time. */
#ifndef TALLY_BENCH_TEAM_H
#define TALLY_BENCH_TEAM_H

#include "actor.h"
#include "guard.h"

#define TEAM_MAX	GUARD_MAX

/**
 * struct team_result - what they did
 * @ns: from when all had begun to the last one's end
 * @calls: calls made since then
 * @all: with those before
 * @changes: passes of the guard since then by another actor than the one before
 */
struct team_result {
	u64 ns;
	u64 calls;
	u64 all;
	u64 changes;
};

/*
 * All @n make calls, from when the last one has begun until there were @calls of
 * each in the mean: none is alone at the start or at the end.
 */
int team_run(struct actor *actors, u32 n, actor_call call, u32 calls,
	     struct team_result *result);

#endif
