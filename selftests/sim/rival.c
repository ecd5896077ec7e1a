// SPDX-License-Identifier: GPL-2.0
/*
 * What one would write without tally, on the same NIC, by polling: compare-and-
 * swap until it works, at once or after growing pauses, and to release one write
 * that goes through the same unit; or tickets: a user that has drawn one reads
 * again and again until it is served.
 */
#include "sim.h"

#define NODES		64
/* The longest pause is so many times the first at most, in powers of two. */
#define PAUSES		7

enum rival_op {
	RIVAL_TAKE,
	RIVAL_GIVE,
	RIVAL_LOOK,
};

struct rival {
	const struct sim_costs *costs;
	struct sim_result *result;
	bool ticket;
	u64 first;		/* pause; 0: none */
	u64 longest;
	u64 unit;		/* when the NIC's unit for the word is free */
	bool taken;
	u64 next, served;	/* tickets */
	u64 mine[NODES];
	u64 pause[NODES];
};

static struct rival r;

static void rival_post(u32 node, u8 op)
{
	u64 at;

	if (op == RIVAL_LOOK) {
		at = now + costs_vary(r.costs, r.costs->read);
	} else {
		at = now + costs_vary(r.costs, r.costs->wire);
		at = in_turn(&r.unit, at, r.costs->atomic);
	}
	queue_put((struct event){
		.kind = EV_RIVAL_EXEC, .node = node, .op = op,
	}, at);
}

/* Return: does the node have the lock now? */
static bool rival_word(u32 node, u8 op)
{
	bool free = !r.taken;

	if (!r.ticket) {
		r.taken = op == RIVAL_TAKE;
		return op == RIVAL_TAKE && free;
	}
	if (op == RIVAL_GIVE)
		r.served++;
	else if (op == RIVAL_TAKE)
		r.mine[node] = r.next++;
	return op != RIVAL_GIVE && r.served == r.mine[node];
}

static void rival_exec(struct event ev)
{
	u64 back = ev.op == RIVAL_LOOK ? r.costs->read : r.costs->wire;

	r.result->atomics += ev.op != RIVAL_LOOK;
	ev.value = rival_word(ev.node, ev.op);
	r.result->grants += ev.value;
	ev.kind = EV_RIVAL_DONE;
	queue_put(ev, now + costs_vary(r.costs, back) + r.costs->cpu);
}

/* A pause of any length up to the node's limit, which grows. */
static void rival_pause(u32 node)
{
	u64 limit = r.pause[node];

	r.pause[node] = 2 * limit < r.longest ? 2 * limit : r.longest;
	queue_put((struct event){
		.kind = EV_RIVAL_TAKE, .node = node,
	}, now + 1 + random_below(limit));
}

static void rival_done(const struct event *ev)
{
	if (ev->value) {
		r.pause[ev->node] = r.first;
		rival_post(ev->node, RIVAL_GIVE);
	} else if (ev->op == RIVAL_GIVE) {
		rival_post(ev->node, RIVAL_TAKE);
	} else if (r.ticket) {
		rival_post(ev->node, RIVAL_LOOK);
	} else if (r.first) {
		rival_pause(ev->node);
	} else {
		rival_post(ev->node, RIVAL_TAKE);
	}
}

static void rival_run(u32 nodes, u64 until)
{
	struct event ev;
	u32 i;

	*r.result = (struct sim_result){ .time = until };
	queue_reset();
	for (i = 0; i < nodes && i < NODES; i++) {
		r.pause[i] = r.first;
		rival_post(i, RIVAL_TAKE);
	}
	while (queue_get(&ev) && now < until) {
		if (ev.kind == EV_RIVAL_EXEC)
			rival_exec(ev);
		else if (ev.kind == EV_RIVAL_DONE)
			rival_done(&ev);
		else
			rival_post(ev.node, RIVAL_TAKE);
	}
}

void rival_spin(u32 nodes, u64 until, const struct sim_costs *costs,
		struct sim_result *result)
{
	r = (struct rival){ .costs = costs, .result = result };
	rival_run(nodes, until);
}

/* The first pause is one round trip at most; the longest is the best of several. */
void rival_backoff(u32 nodes, u64 until, const struct sim_costs *costs,
		   struct sim_result *result)
{
	u64 trip = 2 * costs->wire + costs->atomic + costs->cpu;
	struct sim_result one;
	u32 i;

	*result = (struct sim_result){};
	for (i = 0; i < PAUSES; i++) {
		r = (struct rival){
			.costs = costs, .result = &one,
			.first = trip, .longest = trip << i,
		};
		rival_run(nodes, until);
		if (one.grants > result->grants)
			*result = one;
	}
}

void rival_ticket(u32 nodes, u64 until, const struct sim_costs *costs,
		  struct sim_result *result)
{
	r = (struct rival){
		.costs = costs, .result = result, .ticket = true,
	};
	rival_run(nodes, until);
}
