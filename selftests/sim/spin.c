// SPDX-License-Identifier: GPL-2.0
/*
 * What most programs do: compare-and-swap again and again until it succeeds, and
 * to release one write that goes through the same unit.
 */
#include <stdlib.h>

#include "sim.h"

static const struct sim_costs *costs;
static u64 unit;

static u64 spin_vary(u64 cost)
{
	return cost + random_below(cost * costs->jitter / 100 + 1);
}

/* @release: or else an attempt. */
static void spin_post(u32 node, bool release)
{
	u64 at = now + spin_vary(costs->wire);

	at = (at > unit ? at : unit) + costs->atomic;
	unit = at;
	queue_put((struct event){
		.kind = EV_SPIN_EXEC, .node = node, .op = release,
	}, at);
}

void spin_run(u32 nodes, u64 until, const struct sim_costs *use,
	      struct sim_result *result)
{
	bool taken = false;
	struct event ev;
	u32 i;

	*result = (struct sim_result){};
	costs = use;
	unit = 0;
	queue_reset();
	for (i = 0; i < nodes; i++)
		spin_post(i, false);
	while (queue_get(&ev) && now < until) {
		if (ev.kind == EV_SPIN_DONE) {
			spin_post(ev.node, ev.value && !ev.op);
			continue;
		}
		result->atomics++;
		ev.value = ev.op || !taken;
		if (!ev.op && !taken)
			result->grants++;
		taken = !ev.op;
		ev.kind = EV_SPIN_DONE;
		queue_put(ev, now + spin_vary(costs->wire) + costs->cpu);
	}
	result->time = until;
}
