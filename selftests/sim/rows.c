// SPDX-License-Identifier: GPL-2.0
/*
 * What a lock does on hardware, with a processor and a NIC for each node, and the
 * bars for that.  Those that hold whatever things cost must be met; of the others
 * it is said whether they are, and what they come to where the software costs half
 * or twice as much, and less (scenes).
 */
#include "sim.h"

/* Long enough for 2,000 grants of each of eight. */
#define LONG	(400 * MS)
#define SHORT	(40 * MS)

/**
 * struct scene - a set of costs, and what was found out with it
 * @text: about it, for people
 * @suffix: of its figures' names
 * @costs: the costs
 * @eight: eight nodes want one lock all the time, for LONG
 * @readers: eight want it shared
 * @wrong: a run went wrong
 */
struct scene {
	char text[96];
	char suffix[32];
	struct sim_costs costs;
	struct sim_result eight;
	struct sim_result readers;
	bool wrong;
};

static struct sim_result scene_run(struct scene *s, u32 nodes, u64 until,
				   u32 shared)
{
	struct sim_load load = {
		.nodes = nodes, .locks = 1, .grants = 1000000,
		.until = until, .hot = 100, .shared = shared,
	};
	const char *wrong;
	struct sim_result result;

	wrong = sim_run(&load, &s->costs, &result);
	if (wrong) {
		printf("# %s, %u nodes: %s at %.3f ms\n", s->text, nodes, wrong,
		       now / 1e6);
		s->wrong = true;
	}
	return result;
}

static double per_second(const struct sim_result *result)
{
	return result->grants / (result->time / 1e9);
}

static double per_grant(u64 n, const struct sim_result *result)
{
	return (double)n / (result->grants ?: 1);
}

/* What a row says: a value, and what it is compared with, or 0. */
struct cell {
	double value;
	double base;
};

static struct cell handoff(struct scene *s, u32 arg)
{
	(void)arg;
	return (struct cell){ per_grant(s->eight.time, &s->eight) / 1e3,
			      costs_message(&s->costs) / 1e3 };
}

static struct cell against(struct scene *s, u32 nodes,
			   void (*rival)(u32, u64, const struct sim_costs *,
					 struct sim_result *))
{
	struct sim_result ours = scene_run(s, nodes, SHORT, 0), theirs;

	rival(nodes, SHORT, &s->costs, &theirs);
	return (struct cell){ per_second(&ours), per_second(&theirs) };
}

static struct cell against_spin(struct scene *s, u32 nodes)
{
	return against(s, nodes, rival_spin);
}

static struct cell against_ticket(struct scene *s, u32 nodes)
{
	return against(s, nodes, rival_ticket);
}

static struct cell against_backoff(struct scene *s, u32 nodes)
{
	return against(s, nodes, rival_backoff);
}

static struct cell readers(struct scene *s, u32 nodes)
{
	struct sim_result one = scene_run(s, 1, SHORT, 100);

	/* Two to take it, token and word, and one to give it back. */
	printf("# the NIC allows %.6g/s\n",
	       1e9 / s->costs.atomic / (s->costs.apart ? 2 : 3));
	return (struct cell){ per_second(&s->readers),
			      nodes * per_second(&one) };
}

static struct cell undone(struct scene *s, u32 arg)
{
	(void)arg;
	return (struct cell){ s->readers.undone, 0 };
}

static struct cell tail(struct scene *s, u32 arg)
{
	(void)arg;
	return (struct cell){ s->eight.wait99 / 1e3, s->eight.wait50 / 1e3 };
}

static struct cell fairness(struct scene *s, u32 arg)
{
	(void)arg;
	return (struct cell){ s->eight.jain, 1 };
}

static struct cell slowest(struct scene *s, u32 arg)
{
	(void)arg;
	return (struct cell){ s->eight.slowest, 0 };
}

static struct cell longest(struct scene *s, u32 arg)
{
	(void)arg;
	return (struct cell){ s->eight.longest, 0 };
}

static struct cell wireops(struct scene *s, u32 arg)
{
	u64 n = s->eight.messages + s->eight.atomics;

	(void)arg;
	return (struct cell){ per_grant(n, &s->eight), 0 };
}

static struct cell atomics(struct scene *s, u32 arg)
{
	(void)arg;
	return (struct cell){ per_grant(s->eight.atomics, &s->eight), 0 };
}

/**
 * struct row - a figure
 * @name: its name
 * @unit: of its value
 * @cell: works it out
 * @arg: for @cell: nodes
 * @key: what the bar is about: 'r' the ratio, 'v' the value, 0: there is none
 * @most: the bar is the most it may be, or else the least
 * @bar: the bar
 * @must: whatever things cost
 */
struct row {
	const char *name;
	const char *unit;
	struct cell (*cell)(struct scene *s, u32 arg);
	u32 arg;
	char key;
	bool most;
	double bar;
	bool must;
};

static const struct row rows[] = {
	{ "sim.handoff.latency", "us", handoff, 8, 'r', true, 1.5, false },
	{ "sim.contended2.goodput", "1/s", against_spin, 2, 0, 0, 0, false },
	{ "sim.contended4.goodput", "1/s", against_spin, 4, 'r', false, 2,
	  false },
	{ "sim.contended8.goodput", "1/s", against_spin, 8, 'r', false, 3.7,
	  false },
	{ "sim.contended16.goodput", "1/s", against_spin, 16, 'r', false, 8,
	  false },
	{ "sim.contended32.goodput", "1/s", against_spin, 32, 0, 0, 0, false },
	{ "sim.contended8.goodput.vs_ticket", "1/s", against_ticket, 8, 'r',
	  false, 1.2, false },
	{ "sim.contended8.goodput.vs_backoff", "1/s", against_backoff, 8, 'r',
	  false, 1.2, false },
	{ "sim.readers8.goodput", "1/s", readers, 8, 'r', false, 0.9, false },
	{ "sim.readers8.undone", "atomics", undone, 8, 'v', true, 0, true },
	{ "sim.contended8.p99", "us", tail, 8, 'r', true, 2, true },
	{ "sim.fairness8", "index", fairness, 8, 'v', false, 0.99, true },
	{ "sim.fairness8.slowest", "grants", slowest, 8, 'v', false, 2000,
	  true },
	{ "sim.fairness8.longest", "grants", longest, 8, 'v', true, 1, true },
	{ "sim.contended8.wireops", "ops", wireops, 8, 'v', true, 4.2, true },
	{ "sim.contended8.atomics", "ops", atomics, 8, 'v', true, 0.1, true },
};

/* Return: is it as it must be? */
static bool row_judge(const struct row *row, const char *name, double value,
		      double ratio)
{
	double x = row->key == 'r' ? ratio : value;
	bool met = row->most ? x <= row->bar : x >= row->bar;

	if (!row->key)
		return true;
	printf("# bar %s %s %s %g: %.3f, %s\n", name,
	       row->key == 'r' ? "ratio" : "value", row->most ? "<=" : ">=",
	       row->bar, x, met ? "met" : "MISSED");
	return met || !row->must;
}

static bool row_run(const struct row *row, struct scene *s)
{
	struct cell c = row->cell(s, row->arg);
	double ratio = c.base ? c.value / c.base : 0;
	char name[80];

	snprintf(name, sizeof(name), "%s%s", row->name, s->suffix);
	figure(name, c.value, row->unit, c.base, ratio);
	if (c.base)
		printf("# %s: %.6g %s, baseline %.6g, ratio %.3f\n", name,
		       c.value, row->unit, c.base, ratio);
	return row_judge(row, name, c.value, ratio);
}

static void scene_play(struct scene *s)
{
	bool good = true;
	size_t i;

	printf("# %s\n", s->text);
	s->eight = scene_run(s, 8, LONG, 0);
	s->readers = scene_run(s, 8, SHORT, 100);
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		good &= row_run(&rows[i], s);
	ok(good && !s->wrong, s->text);
}

static void scene_begin(const struct sim_rate *rate,
			const struct sim_kind *kind)
{
	struct scene s = { .costs = costs_make(rate, kind) };

	snprintf(s.text, sizeof(s.text), "%s; %s", rate->text, kind->text);
	snprintf(s.suffix, sizeof(s.suffix), "%s%s", rate->suffix,
		 kind->suffix);
	scene_play(&s);
}

/* With the first NIC all kinds, with the others the first two. */
static size_t rows_kinds(size_t rate)
{
	return rate ? 2 : sim_kinds_n;
}

unsigned int rows_count(void)
{
	unsigned int n = 0;
	size_t i;

	for (i = 0; i < sim_rates_n; i++)
		n += rows_kinds(i);
	return n;
}

void rows_run(void)
{
	size_t i, k;

	for (i = 0; i < sim_rates_n; i++)
		for (k = 0; k < rows_kinds(i); k++)
			scene_begin(&sim_rates[i], &sim_kinds[k]);
}
