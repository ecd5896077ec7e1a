// SPDX-License-Identifier: GPL-2.0
/* One run: makes the world, lets time pass, looks at the end. */
#include <stdlib.h>

#include "world.h"

struct world w;

/* The first one counts. */
void wrong(const char *what)
{
	if (!w.wrong)
		w.wrong = what;
}

u64 vary(u64 cost)
{
	return costs_vary(w.costs, cost);
}

/* From the post of a message to the worker at a table. */
u64 message_time(void)
{
	return vary(w.costs->send) + w.costs->cpu + w.costs->irq +
	       w.costs->in * w.costs->hop;
}

static void world_make(void)
{
	size_t seats = (size_t)w.load->nodes * w.load->locks;
	u32 node, lock;

	w.node = calloc(w.load->nodes, sizeof(*w.node));
	w.lock = calloc(w.load->locks, sizeof(*w.lock));
	w.seat = calloc(seats, sizeof(*w.seat));
	w.wait = calloc(w.load->grants, sizeof(*w.wait));
	if (!w.node || !w.lock || !w.seat || !w.wait)
		abort();
	for (lock = 0; lock < w.load->locks; lock++)
		home_init(lock);
	for (node = 0; node < w.load->nodes; node++) {
		w.node[node].session = ++w.sessions;
		w.node[node].val = true;
		for (lock = 0; lock < w.load->locks; lock++)
			client_init(node, lock, true);
		if (!node_evil(node))
			user_come(node);
	}
	evil_init();
	if (w.load->fault)
		queue_put((struct event){ .kind = EV_FAULT }, w.load->fault);
}

static void world_free(void)
{
	free(w.node);
	free(w.lock);
	free(w.seat);
	free(w.wait);
	evil_exit();
}

static void world_event(const struct event *ev)
{
	switch (ev->kind) {
	case EV_WANT ... EV_UNLOCK:
		user_event(ev);
		break;
	case EV_EXEC:
		word_exec(ev);
		break;
	case EV_AT_HOME:
	case EV_TO_HOME:
	case EV_SYNC_END:
	case EV_LOOP_EXEC:
	case EV_LOOP_DONE:
		home_event(ev);
		break;
	case EV_DONE:
	case EV_TO_CLIENT ... EV_HAND_BAD:
		client_event(ev);
		break;
	default:
		fault_event(ev);
	}
}

/* Nothing happens by itself any more: no user waits, records equal reality. */
static void world_check_quiet(void)
{
	u32 node, lock;

	for (lock = 0; lock < w.load->locks; lock++) {
		struct slock *l = &w.lock[lock];
		u64 word = l->lh.hm == TALLY_LH_MAN && !l->lh.cpu ?
			   TALLY_LW_W : 0;

		if (l->lh.head || l->lh.suc_gen[0])
			wrong("a user waits for ever");
		if (l->writers || l->readers)
			wrong("a user is inside for ever");
		for (node = 0; node < w.load->nodes - w.load->evil; node++) {
			struct seat *s = seat_of(node, lock);

			if (s->asking)
				wrong("a user was forgotten");
			if (s->lc.st == TALLY_LC_CACHED && s->lc.fast)
				word += s->lc.mode == TALLY_LMODE_X ?
					s->lc.slot : tally_lw_bit(s->lc.slot);
			else if (s->lc.st != TALLY_LC_IDLE &&
				 s->lc.st != TALLY_LC_CACHED)
				wrong("a node is neither idle nor caches");
		}
		if (l->state != word)
			wrong("the word is not what the nodes have");
	}
}

static int by_size(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static void world_sum_up(void)
{
	u64 n = w.result->grants < w.load->grants ? w.result->grants :
						    w.load->grants;
	double sum = 0, squares = 0;
	u32 i;

	w.result->slowest = w.node[0].grants;
	for (i = 0; i < w.load->nodes; i++) {
		if (w.node[i].grants < w.result->slowest)
			w.result->slowest = w.node[i].grants;
		sum += w.node[i].grants;
		squares += (double)w.node[i].grants * w.node[i].grants;
	}
	w.result->jain = squares ? sum * sum / (w.load->nodes * squares) : 0;
	qsort(w.wait, n, sizeof(*w.wait), by_size);
	if (n) {
		w.result->wait50 = w.wait[n / 2];
		w.result->wait99 = w.wait[n - 1 - n / 100];
	}
}

const char *sim_run(const struct sim_load *load, const struct sim_costs *costs,
		    struct sim_result *result)
{
	struct event ev;

	*result = (struct sim_result){};
	w = (struct world){ .load = load, .costs = costs, .result = result };
	queue_reset();
	world_make();
	while (!w.wrong && queue_get(&ev)) {
		world_event(&ev);
		if (w.over)
			continue;
		w.over = load->until ? now >= load->until :
				       result->grants >= load->grants;
		if (w.over) {
			result->time = now;
			world_sum_up();
		}
	}
	if (!w.wrong)
		world_check_quiet();
	world_free();
	return w.wrong;
}
