/* SPDX-License-Identifier: GPL-2.0 */
/* A team: several actors that call at the same time. */
#ifndef TALLY_BENCH_TEAM_H
#define TALLY_BENCH_TEAM_H

#include "actor.h"
#include "guard.h"

#define TEAM_MAX	GUARD_MAX

/*
 * All @n make calls until there were @calls of each in the mean, so that all are
 * there to the end; @ns is from the first to the last one's end.
 */
int team_run(struct actor *actors, u32 n, actor_call call, u32 calls, u64 *ns);

#endif
