// SPDX-License-Identifier: GPL-2.0
// needs: explore_world.c explore_steps.c explore_faults.c explore_quiet.c
// needs: explore_print.c explore_evil.c lock/fsm_client.c lock/fsm_home.c
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
 *   -M N,N,N  modes (2 X, 4 S, 6 both)              -B N  budget
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

/* Acquisitions of each client, and the modes it may ask for. */
#define L222	.left = { 2, 2, 2 }
#define L221	.left = { 2, 2, 1 }
#define L211	.left = { 2, 1, 1 }
#define L111	.left = { 1, 1, 1 }
#define X	(1 << TALLY_LMODE_X)
#define S	(1 << TALLY_LMODE_S)
#define XS	(X | S)
#define ANY	.mode = { XS, XS, XS }
#define MIX	.mode = { X, S, XS }

static const struct config configs[] = {
	{ "plain", { L111, ANY, .direct = true } },
	{ "plain-x", { L211, .direct = true } },
	{ "tokens", { L111, MIX, .tokens = true } },
	{ "tokens-x", { L211, .tokens = true } },
	{ "hog", { L211, MIX, .hog = true, .direct = true } },
	{ "cache", { L211, MIX, .cache = true } },
	{ "cache-x", { L211, .cache = true, .direct = true } },
	{ "local", { L211, MIX, .local = true, .budget = 1, .hog = true } },
	{ "local-cache", { .left = { 3, 1, 0 }, ANY, .local = true,
			   .cache = true, .budget = 1, .tokens = true } },
	{ "meet", { .left = { 2, 1, 0 }, ANY, .local = true, .meet = true,
		    .budget = 1, .updown = true } },
	{ "meet-3", { L211, .mode = { XS, S, S }, .local = true, .meet = true } },
	{ "meet-cache", { L211, .mode = { XS, S, XS }, .local = true,
			  .meet = true, .cache = true } },
	{ "meet-cpu", { L211, .mode = { XS, S, XS }, .local = true,
			.meet = true, .cache = true, .budget = 1,
			.cpu = true } },
	{ "meet-break", { .left = { 2, 1, 0 }, .mode = { XS, S, 0 },
			  .local = true, .meet = true, .cache = true,
			  .brk = true, .faults = 1 } },
	{ "meet-cancel", { .left = { 2, 0, 1 }, .mode = { XS, 0, X },
			   .local = true, .meet = true, .cancel = true } },
	{ "cancel", { L111, MIX, .cancel = true } },
	{ "cancel-down", { L111, .mode = { X, XS, S }, .meet = true,
			   .updown = true, .cancel = true, .cpu = true } },
	{ "cancel-down-local", { .left = { 2, 1, 0 }, .mode = { XS, X, 0 },
				 .local = true, .meet = true, .updown = true,
				 .cancel = true, .cpu = true } },
	{ "cancel-down-break", { L111, .mode = { X, X, S }, .meet = true,
				 .updown = true, .cancel = true, .cpu = true,
				 .brk = true, .faults = 1 } },
	{ "try", { L111, MIX, .try = true, .cache = true } },
	{ "try-3", { L111, ANY, .try = true } },
	{ "try-hog", { L111, MIX, .try = true, .hog = true, .cache = true } },
	{ "updown", { L111, MIX, .updown = true, .cache = true } },
	{ "updown-crash", { .left = { 1, 1, 0 }, .updown = true, .direct = true,
			    .crash = true, .faults = 1 } },
	{ "updown-2", { .left = { 2, 2, 0 }, ANY, .updown = true } },
	{ "updown-cpu", { L211, ANY, .updown = true, .cpu = true,
			  .cache = true } },
	{ "break", { .left = { 1, 1, 0 }, ANY, .brk = true, .faults = 1 } },
	{ "break-x", { L111, .direct = true, .hog = true, .brk = true,
		       .faults = 1 } },
	{ "break-updown", { .left = { 2, 1, 0 }, .mode = { XS, S, 0 },
			    .updown = true, .brk = true, .faults = 1 } },
	{ "crash", { .left = { 1, 1, 0 }, ANY, .crash = true, .faults = 1 } },
	{ "crash-x", { L111, .tokens = true, .crash = true, .faults = 1 } },
	{ "crash-cache", { L111, MIX, .cache = true, .hog = true,
			   .crash = true, .faults = 1 } },
	{ "reopen", { L211, .direct = true, .reopen = true } },
	{ "reopen-modes", { .left = { 2, 2, 0 }, ANY, .cache = true,
			    .reopen = true } },
	{ "reopen-cpu", { L211, .cpu = true, .cancel = true, .reopen = true } },
	{ "reopen-break", { .left = { 2, 1, 0 }, MIX, .direct = true,
			    .reopen = true, .brk = true, .faults = 1 } },
	{ "reopen-peer", { .left = { 2, 2, 0 }, .direct = true, .reopen = true,
			   .pbreak = true, .faults = 1 } },
	{ "rejoin", { .left = { 1, 1, 0 }, .direct = true, .crash = true,
		      .rejoin = true, .faults = 1 } },
	{ "region", { L111, .region = true, .crash = true, .brk = true,
		      .hog = true, .faults = 1 } },
	{ "peer-break", { L211, .direct = true, .cache = true, .pbreak = true,
			  .faults = 1 } },
	{ "no-link-meet", { .left = { 2, 1, 0 }, .mode = { XS, X, 0 },
			    .local = true, .meet = true, .cache = true,
			    .direct = true, .nolink = true } },
	{ "no-link", { L211, .direct = true, .nolink = true } },
	{ "cpu", { L111, ANY, .cpu = true, .cache = true, .cancel = true,
		   .try = true } },
	{ "cpu-faults", { L111, MIX, .cpu = true, .cache = true,
			  .cancel = true, .brk = true, .crash = true,
			  .faults = 1 } },
	{ "no-slot", { L211, .mode = { X, S, XS }, .noslot = true,
		       .cache = true } },
	{ "grace", { L111, MIX, .grace = true, .hog = true } },
	{ "force", { .left = { 1, 1, 0 }, ANY, .force = true, .cache = true,
		     .updown = true, .faults = 1 } },
	{ "force-x", { L111, .force = true, .direct = true, .cache = true,
		       .faults = 1 } },
	{ "loop", { L111, MIX, .hog = true, .loop = true, .faults = 1 } },
	{ "loop-crash", { .left = { 1, 1, 0 }, ANY, .loop = true,
			  .crash = true, .faults = 2 } },
	{ "evil-cpu", { L111, .cpu = true, .evil = 2 } },
	{ "evil-cpu-modes", { L111, .mode = { X, S, XS }, .cpu = true,
			      .evil = 2 } },
	{ "evil-cpu-updown", { .left = { 1, 1, 0 }, ANY, .cpu = true,
			       .updown = true, .evil = 2 } },
	{ "evil-cpu-cancel", { L111, .mode = { XS, X, XS }, .cpu = true,
			       .updown = true, .cancel = true, .evil = 1 } },
	{ "evil-cpu-break", { L111, .cpu = true, .brk = true, .faults = 1,
			      .evil = 1 } },
	{ "evil-words", { .left = { 1, 1, 0 }, ANY, .direct = true, .evil = 1 } },
};

static const struct config large[] = {
	{ "plain-222", { L222, .mode = { X, S, XS }, .direct = true } },
	{ "tokens-211", { L211, ANY, .tokens = true, .direct = true } },
	{ "cache-222", { L222, MIX, .cache = true, .direct = true } },
	{ "local-221", { L221, ANY, .local = true, .budget = 1,
			 .cache = true } },
	{ "updown-crash-3", { L111, .mode = { X, X, S }, .updown = true,
			      .direct = true, .crash = true, .faults = 1 } },
	{ "cancel-211", { L211, ANY, .cancel = true, .try = true } },
	{ "try-211", { L211, ANY, .try = true, .cache = true } },
	{ "updown-221", { L221, ANY, .updown = true, .cache = true,
			  .tokens = true } },
	{ "break-211", { L211, ANY, .brk = true, .faults = 1 } },
	{ "break-all", { L111, ANY, .cache = true, .direct = true,
			 .cancel = true, .try = true, .brk = true,
			 .faults = 1 } },
	{ "break-tokens", { L111, ANY, .tokens = true, .brk = true,
			    .faults = 1 } },
	{ "break-updown-211", { L211, .mode = { XS, XS, X }, .updown = true,
				.brk = true, .faults = 1 } },
	{ "crash-211", { L211, ANY, .crash = true, .faults = 1 } },
	{ "crash-all", { L111, ANY, .cache = true, .cancel = true,
			 .direct = true, .try = true, .crash = true,
			 .faults = 1 } },
	{ "reopen-221", { L221, .direct = true, .reopen = true } },
	{ "reopen-break-any", { .left = { 2, 1, 0 }, ANY, .direct = true,
				.reopen = true, .brk = true, .faults = 1 } },
	{ "reopen-cpu-any", { L211, ANY, .cpu = true, .cancel = true,
			      .reopen = true } },
	{ "reopen-faults", { .left = { 2, 2, 0 }, .direct = true, .cancel = true,
			     .reopen = true, .brk = true, .pbreak = true,
			     .faults = 2 } },
	{ "reopen-force", { L211, .direct = true, .tokens = true,
			    .reopen = true, .force = true, .faults = 1 } },
	{ "rejoin-2", { L111, .direct = true, .crash = true, .rejoin = true,
			.brk = true, .faults = 2 } },
	{ "faults-2", { L111, MIX, .brk = true, .crash = true, .faults = 2 } },
	{ "faults-3", { L111, .direct = true, .cache = true, .brk = true,
			.crash = true, .pbreak = true, .faults = 3 } },
	{ "region-211", { L211, MIX, .region = true, .crash = true,
			  .brk = true, .faults = 1 } },
	{ "cpu-222", { L222, ANY, .cpu = true, .cache = true, .cancel = true,
		       .try = true, .updown = true } },
	{ "cpu-faults-2", { L211, ANY, .cpu = true, .cache = true,
			    .cancel = true, .brk = true, .crash = true,
			    .faults = 2 } },
	{ "force-all", { L111, ANY, .force = true, .cache = true, .try = true,
			 .updown = true, .brk = true, .faults = 2 } },
	{ "evil-cpu-3", { L111, ANY, .cpu = true, .updown = true, .cancel = true,
			  .evil = 3 } },
	{ "evil-cpu-faults", { L111, ANY, .cpu = true, .brk = true,
			       .crash = true, .pbreak = true, .force = true,
			       .faults = 2, .evil = 1 } },
	{ "evil-words-3", { L111, ANY, .direct = true, .updown = true,
			    .evil = 2 } },
	{ "loop-faults", { L111, MIX, .loop = true, .crash = true,
			   .brk = true, .faults = 2 } },
};

static const struct config bugs[] = {
	{ "B1", { .left = { 1, 2, 0 }, MIX, .bug = BUG_B1 } },
	{ "B3", { L111, ANY, .bug = BUG_B3 } },
	{ "B4", { L111, MIX, .bug = BUG_B4 } },
	{ "B5", { L111, .bug = BUG_B5 } },
	{ "B11", { L111, .brk = true, .faults = 1, .bug = BUG_B11 } },
	{ "B13", { L111, .direct = true, .crash = true, .rejoin = true,
		   .faults = 1, .bug = BUG_B13 } },
	{ "B14", { L211, .direct = true, .bug = BUG_B14 } },
	{ "B15", { L111, .hog = true, .brk = true, .faults = 1,
		   .bug = BUG_B15 } },
	{ "B16", { L111, .cancel = true, .bug = BUG_B16 } },
	{ "B31", { L111, .direct = true, .bug = BUG_B31 } },
	{ "SWEEP", { L111, .crash = true, .faults = 1, .bug = BUG_SWEEP } },
	{ "TOKEARLY", { L111, .tokens = true, .bug = BUG_TOKEARLY } },
	{ "TOKEXIT", { L211, .tokens = true, .bug = BUG_TOKEXIT } },
	{ "TOKF", { L211, ANY, .tokens = true, .direct = true,
		    .bug = BUG_TOKF } },
	{ "SYNC", { L111, .brk = true, .faults = 1, .bug = BUG_SYNC } },
	{ "SYNCPARK", { .left = { 1, 1, 1 }, .direct = true, .brk = true,
			.faults = 1, .bug = BUG_SYNCPARK } },
	{ "REVINFLIGHT", { L111, .hog = true, .bug = BUG_REVINFLIGHT } },
	{ "RSYREQ", { L211, .brk = true, .faults = 1, .direct = true,
		      .bug = BUG_RSYREQ } },
	{ "LOOK", { L111, .bug = BUG_LOOK } },
	{ "BLIND", { L111, .brk = true, .faults = 1, .bug = BUG_BLIND } },
	{ "UNLISTED", { L111, .hog = true, .brk = true, .faults = 1,
			.bug = BUG_UNLISTED } },
	{ "VIA", { .left = { 1, 1, 0 }, .direct = true, .crash = true, .faults = 1,
		   .bug = BUG_VIA } },
	{ "VIARSY", { .left = { 1, 1, 0 }, .direct = true, .brk = true, .pbreak = true,
		      .faults = 2, .bug = BUG_VIARSY } },
	{ "LOST", { L111, .direct = true, .pbreak = true, .faults = 1,
		    .bug = BUG_LOST } },
	{ "GRANTDUP", { L221, .direct = true, .pbreak = true, .faults = 1,
			.bug = BUG_GRANTDUP } },
	{ "EARLYSUCC", { L111, .direct = true, .hog = true,
			 .bug = BUG_EARLYSUCC } },
	{ "DRAINBITS", { L111, MIX, .bug = BUG_DRAINBITS } },
	{ "DOWNF", { L111, ANY, .updown = true, .bug = BUG_DOWNF } },
	{ "DOWNEARLY", { .left = { 1, 1, 0 }, .updown = true, .direct = true,
			 .hog = true,
			 .bug = BUG_DOWNEARLY } },
	{ "CACHED", { L111, .cache = true, .bug = BUG_CACHED } },
	{ "BUSY", { L111, .try = true, .cache = true, .hog = true,
		    .bug = BUG_BUSY } },
	{ "JOIN", { .left = { 3, 1, 0 }, .mode = { S, X, X },
		    .local = true, .bug = BUG_JOIN } },
	{ "SHARE", { .left = { 2, 1, 0 }, .mode = { XS, S, 0 }, .local = true,
		     .meet = true, .cache = true, .bug = BUG_SHARE } },
	{ "STAY", { .left = { 2, 0, 1 }, .mode = { S, 0, X }, .local = true,
		    .meet = true, .cancel = true, .bug = BUG_STAY } },
	{ "CANCDOWN", { L111, .mode = { X, X, S }, .meet = true, .updown = true,
			.cancel = true, .cpu = true, .bug = BUG_CANCDOWN } },
	{ "BUDGET", { .left = { 3, 1, 0 }, .local = true, .direct = true,
		      .budget = 1, .bug = BUG_BUDGET } },
	{ "CLAIM", { L111, MIX, .brk = true, .faults = 1, .bug = BUG_CLAIM } },
	{ "CHAINDONE", { L111, .cpu = true, .cache = true,
			 .bug = BUG_CHAINDONE } },
	{ "CHAINDOWN", { L111, .direct = true, .updown = true, .hog = true,
			 .bug = BUG_CHAINDOWN } },
	{ "CHAINEND", { L111, .cpu = true, .hog = true, .crash = true,
			.faults = 1, .bug = BUG_CHAINEND } },
	{ "CHAINGAP", { L111, .cpu = true, .hog = true, .crash = true,
			.faults = 1, .bug = BUG_CHAINGAP } },
	{ "CHAINRSY", { L111, .cpu = true, .hog = true, .brk = true,
			.faults = 1, .bug = BUG_CHAINRSY } },
	{ "TICKET", { L111, .cpu = true, .evil = 1, .bug = BUG_TICKET } },
	{ "PROOF", { L111, .cpu = true, .evil = 1, .bug = BUG_PROOF } },
	{ "PASSBARE", { L111, .cpu = true, .evil = 1, .bug = BUG_PASSBARE } },
	{ "PASSRSY", { L111, .cpu = true, .brk = true, .faults = 1, .evil = 1,
		       .bug = BUG_PASSRSY } },
	{ "LEFTTOLD", { L211, .mode = { X, S, X }, .cpu = true, .updown = true,
			.cancel = true, .evil = 1, .bug = BUG_LEFTTOLD } },
	{ "LEFTLAST", { L211, .mode = { X, S, X }, .cpu = true, .updown = true,
			.cancel = true, .evil = 1, .bug = BUG_LEFTLAST } },
	{ "REOPEN", { L221, .direct = true, .reopen = true,
		      .bug = BUG_REOPEN } },
	{ "CLOSEVIA", { L221, .direct = true, .reopen = true, .pbreak = true,
			.faults = 1, .bug = BUG_CLOSEVIA } },
	{ "CLOSERSY", { .left = { 2, 1, 0 }, ANY, .direct = true,
			.reopen = true, .brk = true, .faults = 1,
			.bug = BUG_CLOSERSY } },
};

static u64 max_states = 40000000;
static const char too_many[] = "too many states, the search is not complete";

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
	/* An evil client may keep the lock, or say that it has not got it. */
	if (!quiet || opt.evil)
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
		what = too_many;
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
	bool ok = is_bug ? what && what != too_many : !what;

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
		{ "hog", &o->hog }, { "meet", &o->meet },
		{ "cancel", &o->cancel },
		{ "try", &o->try }, { "direct", &o->direct },
		{ "local", &o->local }, { "cpu", &o->cpu },
		{ "cache", &o->cache }, { "updown", &o->updown },
		{ "noslot", &o->noslot }, { "nolink", &o->nolink },
		{ "rejoin", &o->rejoin }, { "pbreak", &o->pbreak },
		{ "force", &o->force }, { "reopen", &o->reopen },
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
		"lock_explore [-L] [-c NAME] [-b NAME] [-o WORD,..] [-l N,N,N] [-M N,N,N] [-B N] [-f N] [-m MILLIONS]\n"
		"words: hog meet cancel try direct local cache updown cpu noslot nolink grace break\n"
		"       crash rejoin reopen pbreak force region loop tokens\n");
	return 2;
}

int main(int argc, char **argv)
{
	struct config own = { "own", { L211, .faults = 1 } };
	const struct config *cf = NULL;
	bool is_bug = false;
	int nr = 0;
	char *word;
	int c;

	printf("KTAP version 1\n");
	while ((c = getopt(argc, argv, "Lc:b:o:l:M:B:f:m:")) != -1) {
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
		case 'M':
			if (sscanf(optarg, "%hhu,%hhu,%hhu", &own.opt.mode[0],
				   &own.opt.mode[1], &own.opt.mode[2]) != 3)
				return usage();
			break;
		case 'B':
			own.opt.budget = atoi(optarg);
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
