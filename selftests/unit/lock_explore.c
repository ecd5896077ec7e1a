// SPDX-License-Identifier: GPL-2.0
// needs: explore_world.c explore_steps.c explore_print.c lockclient.c lockhome.c
/*
 * Walks through every reachable state of a small world around the real lock
 * tables, breadth first, and checks each one.
 *
 *   lock_explore                 the default list and all seeded mistakes (KTAP)
 *   lock_explore -c NAME         one configuration of the list
 *   lock_explore -b NAME         one mistake, with its counterexample
 *   lock_explore -o WORD[,...]   a configuration of one's own
 *   lock_explore -L              the larger list
 *   -l N,N,N  acquisitions       -f N  faults       -m N  million states at most
 *
 * A state is remembered by a 64-bit hash, so the search can in theory miss one:
 * at 10^7 states with probability below 10^-5.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explore_world.h"

struct seen {
	u64 *hash;	/* open addressing; 0: free */
	u32 *parent;	/* by number */
	u16 *step;	/* by number: step * NC + client */
	u64 slots;
	u64 n;
	u64 max;
};

struct frontier {
	struct world *w;
	u32 *id;
	u64 n;
	u64 room;
};

struct config {
	const char *name;
	struct options opt;
};

#define X222	{ 2, 2, 2 }
#define X221	{ 2, 2, 1 }
#define X211	{ 2, 1, 1 }
#define X111	{ 1, 1, 1 }

static const struct config configs[] = {
	{ "plain", { .left = X211, .direct = true } },
	{ "tokens", { .left = X111, .tokens = true, .next = true } },
	{ "hog", { .left = X222, .hog = true, .direct = true } },
	{ "cancel", { .left = X111, .cancel = true, .try = true } },
	{ "break", { .left = X111, .brk = true, .faults = 1 } },
	{ "break-hog", { .left = X111, .hog = true, .cancel = true,
			 .brk = true, .faults = 1 } },
	{ "crash", { .left = X111, .tokens = true, .crash = true,
		     .faults = 1 } },
	{ "crash-hog", { .left = X111, .hog = true, .direct = true,
			 .crash = true, .faults = 1 } },
	{ "region", { .left = X111, .region = true, .crash = true,
		      .brk = true, .faults = 1 } },
	{ "cpu", { .left = X211, .cpu = true, .hog = true, .cancel = true,
		   .try = true } },
	{ "cpu-faults", { .left = X111, .cpu = true, .hog = true,
			  .cancel = true, .brk = true, .crash = true,
			  .faults = 1 } },
	{ "grace", { .left = X111, .grace = true, .cancel = true } },
	{ "loop", { .left = X111, .tokens = true, .loop = true,
		    .faults = 1 } },
	{ "loop-crash", { .left = X111, .hog = true, .loop = true,
			  .crash = true, .faults = 2 } },
};

static const struct config large[] = {
	{ "plain-221", { .left = X221, .direct = true } },
	{ "tokens-211", { .left = X211, .tokens = true, .next = true } },
	{ "crash-211", { .left = X211, .crash = true, .faults = 1 } },
	{ "crash-all", { .left = X111, .hog = true, .cancel = true,
			 .direct = true, .crash = true, .faults = 1 } },
	{ "cpu-222", { .left = X222, .cpu = true, .hog = true, .cancel = true,
		       .try = true } },
	{ "loop-crash-2", { .left = X111, .loop = true, .crash = true,
			    .faults = 2 } },
	{ "plain-222", { .left = X222, .next = true, .direct = true } },
	{ "cancel-221", { .left = X221, .cancel = true, .try = true } },
	{ "break-211", { .left = X211, .tokens = true, .direct = true,
			 .brk = true, .faults = 1 } },
	{ "break-all", { .left = X211, .hog = true, .cancel = true,
			 .try = true, .brk = true, .faults = 1 } },
	{ "faults-2", { .left = X111, .cancel = true, .brk = true,
			.crash = true, .faults = 2 } },
	{ "region-211", { .left = X211, .region = true, .crash = true,
			  .brk = true, .faults = 1 } },
	{ "cpu-faults-2", { .left = X211, .cpu = true, .hog = true,
			    .cancel = true, .brk = true, .crash = true,
			    .faults = 2 } },
	{ "loop-faults", { .left = X111, .loop = true, .crash = true,
			   .brk = true, .faults = 2 } },
};

static const struct config bugs[] = {
	{ "B3", { .left = X111, .bug = BUG_B3 } },
	{ "B5", { .left = X111, .bug = BUG_B5 } },
	{ "B11", { .left = X111, .brk = true, .faults = 1, .bug = BUG_B11 } },
	{ "B15", { .left = X111, .hog = true, .brk = true, .faults = 1,
		   .bug = BUG_B15 } },
	{ "B16", { .left = X111, .cancel = true, .bug = BUG_B16 } },
	{ "SWEEP", { .left = X111, .crash = true, .faults = 1,
		     .bug = BUG_SWEEP } },
	{ "TOKEARLY", { .left = X111, .tokens = true, .bug = BUG_TOKEARLY } },
	{ "TOKEXIT", { .left = X211, .tokens = true, .bug = BUG_TOKEXIT } },
	{ "SYNC", { .left = X111, .brk = true, .faults = 1,
		    .bug = BUG_SYNC } },
	{ "REVINFLIGHT", { .left = X111, .hog = true,
			   .bug = BUG_REVINFLIGHT } },
	{ "RSYREQ", { .left = X211, .brk = true, .faults = 1, .direct = true,
		      .bug = BUG_RSYREQ } },
	{ "LOOK", { .left = X111, .bug = BUG_LOOK } },
	{ "BLIND", { .left = X111, .brk = true, .faults = 1,
		     .bug = BUG_BLIND } },
	{ "UNLISTED", { .left = X111, .hog = true, .brk = true, .faults = 1,
			.bug = BUG_UNLISTED } },
};

static u64 max_states = 40000000;

static u64 hash_world(void)
{
	const unsigned char *p = (const unsigned char *)&W;
	u64 h = 0x9e3779b97f4a7c15ULL;
	u64 v;
	size_t k;

	for (k = 0; k + 8 <= sizeof(W); k += 8) {
		memcpy(&v, p + k, 8);
		h = (h ^ v) * 0xff51afd7ed558ccdULL;
		h ^= h >> 32;
	}
	return h ? h : 1;
}

static void *need(void *p)
{
	if (!p) {
		fprintf(stderr, "out of memory\n");
		exit(2);
	}
	return p;
}

static void seen_init(struct seen *s)
{
	*s = (struct seen){ .slots = 1 << 16, .max = 1 << 15 };
	s->hash = need(calloc(s->slots, sizeof(*s->hash)));
	s->parent = need(malloc(s->max * sizeof(*s->parent)));
	s->step = need(malloc(s->max * sizeof(*s->step)));
}

static u64 *seen_slot(const struct seen *s, u64 h)
{
	u64 k = h & (s->slots - 1);

	while (s->hash[k] && s->hash[k] != h)
		k = (k + 1) & (s->slots - 1);
	return &s->hash[k];
}

static void seen_grow(struct seen *s)
{
	struct seen old = *s;
	u64 k;

	s->max *= 2;
	s->slots *= 2;
	s->hash = need(calloc(s->slots, sizeof(*s->hash)));
	s->parent = need(realloc(s->parent, s->max * sizeof(*s->parent)));
	s->step = need(realloc(s->step, s->max * sizeof(*s->step)));
	for (k = 0; k < old.slots; k++)
		if (old.hash[k])
			*seen_slot(s, old.hash[k]) = old.hash[k];
	free(old.hash);
}

static void seen_free(struct seen *s)
{
	free(s->hash);
	free(s->parent);
	free(s->step);
}

/* The number of the state in W, or -1 if it is known (or there are too many). */
static long seen_add(struct seen *s, u32 parent, u16 step)
{
	u64 h = hash_world();
	u64 *slot;

	if (s->n == s->max)
		seen_grow(s);
	slot = seen_slot(s, h);
	if (*slot || s->n == max_states)
		return -1;
	*slot = h;
	s->parent[s->n] = parent;
	s->step[s->n] = step;
	return s->n++;
}

static void frontier_add(struct frontier *f, u32 id)
{
	if (f->n == f->room) {
		f->room = f->room ? f->room * 2 : 1024;
		f->w = need(realloc(f->w, f->room * sizeof(*f->w)));
		f->id = need(realloc(f->id, f->room * sizeof(*f->id)));
	}
	f->w[f->n] = W;
	f->id[f->n++] = id;
}

/* All successors of one state; false when something is wrong. */
static bool expand(struct seen *s, const struct world *from, u32 id,
		   struct frontier *next, u16 *bad)
{
	bool quiet = true;
	int step, i;
	long n;

	memcpy(&W, from, sizeof(W));
	for (step = 0; step < STEPS; step++) {
		for (i = 0; i < NC; i++) {
			if (!world_step(step, i))
				continue;
			if (step >= STEP_MUST)
				quiet = false;
			*bad = step * NC + i;
			if (broken)
				return false;
			n = seen_add(s, id, *bad);
			if (n >= 0)
				frontier_add(next, n);
			memcpy(&W, from, sizeof(W));
		}
	}
	if (!quiet)
		return true;
	world_check_quiet();
	*bad = STEPS * NC;
	return !broken;
}

static void print_trace(const struct seen *s, u32 id, u16 last)
{
	const char *what = broken;
	u16 path[1024];
	int n = 0;

	path[n++] = last;
	for (; id; id = s->parent[id])
		path[n++] = s->step[id];
	world_init();
	while (n--) {
		if (path[n] == STEPS * NC)
			break;
		world_step(path[n] / NC, path[n] % NC);
		printf("# %d: %s\n", path[n] % NC + 1, step_name(path[n] / NC));
		world_print();
	}
	printf("# %s\n", what);
}

/* Returns what is wrong, or NULL. */
static const char *explore(const struct config *cf, bool trace, u64 *states)
{
	struct frontier now = {}, next = {}, swap;
	const char *what = NULL;
	struct seen s;
	u16 bad;
	u64 k;

	opt = cf->opt;
	seen_init(&s);
	world_init();
	seen_add(&s, 0, 0);
	frontier_add(&now, 0);
	while (now.n && !what) {
		for (k = 0; k < now.n && !what; k++)
			if (!expand(&s, &now.w[k], now.id[k], &next, &bad))
				what = broken;
		if (what && trace)
			print_trace(&s, now.id[k - 1], bad);
		swap = now;
		now = next;
		next = swap;
		next.n = 0;
	}
	if (!what && s.n == max_states)
		what = "too many states, the search is not complete";
	*states = s.n;
	seen_free(&s);
	free(now.w);
	free(now.id);
	free(next.w);
	free(next.id);
	return what;
}

static int report(int nr, const struct config *cf, bool is_bug, bool trace)
{
	u64 states;
	const char *what = explore(cf, trace, &states);
	bool ok = is_bug ? !!what : !what;

	printf("%sok %d %s%s # %llu states%s%s\n", ok ? "" : "not ", nr,
	       is_bug ? "caught " : "", cf->name, states, what ? ": " : "",
	       what ? what : "");
	fflush(stdout);
	return !ok;
}

static int run_list(const struct config *cf, int n, int *nr, bool is_bug)
{
	int failed = 0;
	int k;

	for (k = 0; k < n; k++)
		failed += report(++*nr, &cf[k], is_bug, !is_bug);
	return failed;
}

static int run_default(void)
{
	int failed = 0;
	int nr = 0;

	printf("1..%zu\n", ARRAY_SIZE(configs) + ARRAY_SIZE(bugs));
	failed += run_list(configs, ARRAY_SIZE(configs), &nr, false);
	failed += run_list(bugs, ARRAY_SIZE(bugs), &nr, true);
	return failed;
}

static const struct config *find(const struct config *cf, int n,
				 const char *name)
{
	for (; n--; cf++)
		if (!strcmp(cf->name, name))
			return cf;
	return NULL;
}

/* The words of -o. */
static bool set_option(struct options *o, const char *word)
{
	const struct {
		const char *name;
		bool *flag;
	} words[] = {
		{ "hog", &o->hog }, { "cancel", &o->cancel },
		{ "try", &o->try }, { "direct", &o->direct },
		{ "next", &o->next }, { "cpu", &o->cpu },
		{ "grace", &o->grace }, { "break", &o->brk },
		{ "crash", &o->crash }, { "region", &o->region },
		{ "loop", &o->loop }, { "tokens", &o->tokens },
	};
	size_t k;

	for (k = 0; k < ARRAY_SIZE(words); k++)
		if (!strcmp(words[k].name, word))
			return *words[k].flag = true;
	return false;
}

static int usage(void)
{
	fprintf(stderr,
		"lock_explore [-L] [-c NAME] [-b NAME] [-o WORD,..] [-l N,N,N] [-f N] [-m MILLIONS]\n"
		"words: hog cancel try direct next cpu grace break crash region loop tokens\n");
	return 2;
}

int main(int argc, char **argv)
{
	struct config own = { "own", { .left = X211, .faults = 1 } };
	const struct config *cf = NULL;
	bool is_bug = false;
	int nr = 0;
	char *word;
	int c;

	printf("KTAP version 1\n");
	while ((c = getopt(argc, argv, "Lc:b:o:l:f:m:")) != -1) {
		switch (c) {
		case 'L':
			printf("1..%zu\n", ARRAY_SIZE(large));
			return !!run_list(large, ARRAY_SIZE(large), &nr, false);
		case 'c':
			cf = find(configs, ARRAY_SIZE(configs), optarg);
			if (!cf)
				cf = find(large, ARRAY_SIZE(large), optarg);
			if (!cf)
				return usage();
			own = *cf;
			break;
		case 'b':
			cf = find(bugs, ARRAY_SIZE(bugs), optarg);
			if (!cf)
				return usage();
			own = *cf;
			is_bug = true;
			break;
		case 'o':
			cf = &own;
			for (word = strtok(optarg, ","); word;
			     word = strtok(NULL, ","))
				if (!set_option(&own.opt, word))
					return usage();
			break;
		case 'l':
			if (sscanf(optarg, "%hhu,%hhu,%hhu", &own.opt.left[0],
				   &own.opt.left[1], &own.opt.left[2]) != 3)
				return usage();
			break;
		case 'f':
			own.opt.faults = atoi(optarg);
			break;
		case 'm':
			max_states = strtoull(optarg, NULL, 0) * 1000000;
			break;
		default:
			return usage();
		}
	}
	if (!cf)
		return !!run_default();
	printf("1..1\n");
	return report(1, &own, is_bug, true);
}
