// SPDX-License-Identifier: GPL-2.0
/*
 * sim [-s SEED] [-g GRANTS] [-j FILE]
 *
 * Runs the lock protocol, by the module's own tables, with hundreds of nodes,
 * random delays, and links that break for less than a lease or for more.  Then it
 * predicts with published costs (costs.c) what a lock does on hardware, with a
 * processor and a NIC for each node, beside what one would write without tally, and
 * says which bars that meets (rows.c).  Results in KTAP; figures also to FILE, in
 * the format of bench.json.
 *
 *   -s  where random numbers begin (1)
 *   -g  grants of the runs with faults or liars, together (1000000)
 *   -j  where to put figures
 */
#include <getopt.h>
#include <stdlib.h>

#include "sim.h"

static u64 grants = 1000000;

struct chaos {
	const char *what;
	struct sim_load load;
	u64 jitter;
};

static const struct chaos chaos[] = {
	{ "44 nodes, all modes", {
		.nodes = 42, .locks = 8, .hold = 20 * US, .think = 40 * US,
		.shared = 40, .odd = 20, .hot = 30, .budget = 4,
	}, 300 },
	{ "300 nodes, most without a slot, links break", {
		.nodes = 300, .locks = 16, .hold = 10 * US, .think = 200 * US,
		.shared = 40, .odd = 20, .hot = 20, .fault = 200 * US,
		.lease = 20 * MS,
	}, 300 },
	{ "40 nodes that keep locks, links break", {
		.nodes = 40, .locks = 64, .hold = 10 * US, .think = 50 * US,
		.shared = 50, .odd = 10, .hot = 5, .cache = true, .budget = 8,
		.fault = 100 * US, .lease = 5 * MS,
	}, 500 },
	{ "8 nodes on one lock, links break all the time", {
		.nodes = 8, .locks = 1, .hold = 5 * US, .think = 10 * US,
		.shared = 30, .odd = 30, .hot = 100, .cache = true,
		.fault = 500 * US, .lease = 2 * MS,
	}, 1000 },
	{ "12 nodes, 4 of them evil, links of the others break", {
		.nodes = 12, .locks = 4, .hold = 5 * US, .think = 20 * US,
		.shared = 30, .odd = 30, .hot = 40, .fault = 500 * US,
		.lease = 2 * MS, .evil = 4, .cpu = true,
	}, 300 },
	{ "5 nodes, 2 of them evil, all on one lock that nodes keep", {
		.nodes = 5, .locks = 1, .hold = 5 * US, .think = 10 * US,
		.shared = 30, .odd = 20, .hot = 100, .cache = true,
		.budget = 2, .evil = 2, .cpu = true,
	}, 300 },
};

/* Goes wrong, as nobody has to show a pass. */
static const struct chaos trusting = {
	"a home that believes evil nodes is found out", {
		.nodes = 5, .locks = 1, .hold = 5 * US, .think = 10 * US,
		.shared = 30, .odd = 20, .hot = 100, .evil = 2, .cpu = true,
		.trusting = true, .grants = 100000,
	}, 300
};

static void run_chaos(void)
{
	struct sim_costs costs = costs_make(sim_rates, sim_kinds);
	struct sim_result result;
	struct sim_load load;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(chaos); i++) {
		load = chaos[i].load;
		load.grants = grants / ARRAY_SIZE(chaos);
		costs.jitter = chaos[i].jitter;
		ok(run(chaos[i].what, &load, &costs, &result), chaos[i].what);
	}
	costs.jitter = trusting.jitter;
	ok(!run(trusting.what, &trusting.load, &costs, &result), trusting.what);
}

int main(int argc, char **argv)
{
	u64 seed = 1;
	int c;

	while ((c = getopt(argc, argv, "s:g:j:")) != -1) {
		if (c == 's') {
			seed = strtoull(optarg, NULL, 0);
		} else if (c == 'g') {
			grants = strtoull(optarg, NULL, 0);
		} else if (c == 'j') {
			if (!out_open(optarg)) {
				perror(optarg);
				return 1;
			}
		} else {
			fprintf(stderr,
				"usage: sim [-s SEED] [-g GRANTS] [-j FILE]\n");
			return 2;
		}
	}
	printf("KTAP version 1\n1..%zu\n", ARRAY_SIZE(chaos) + 1 + rows_count());
	random_seed(seed);
	run_chaos();
	rows_run();
	return out_close();
}
