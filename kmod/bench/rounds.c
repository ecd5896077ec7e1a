// SPDX-License-Identifier: GPL-2.0
#include <linux/cpumask.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/slab.h>
#include "guard.h"
#include "rounds.h"
#include "sample.h"

/* Each round goes at least so often from one side to the other. */
#define TURNS		4
/*
 * Picoseconds of a turn, of one actor. The machine below may be twice as slow for
 * a tenth of a second, and both sides have to see the same of it; but after each
 * change the caches are cold.
 */
#define TURN_TIME	(25ULL * NSEC_PER_MSEC * 1000)
/* So many short calls are one sample: a clock may be coarse. */
#define BATCH		16
/* Overlong lists of samples are cut. */
#define SAMPLES_MAX	400000
/* Calls of each actor that show whether a lock excludes others. */
#define CHECK_CALLS	16

/**
 * struct side - one side while it is measured
 * @call: what it does
 * @n: actors that call it
 * @guarded: with a lock
 * @per: transfers of a call
 * @single: samples of this round, of a call
 * @round: the same, of @batch calls each
 * @all: samples of all rounds
 * @value: of each round: picoseconds
 * @ns: time spent
 * @calls: calls made
 * @changes: those with a lock that another one had before
 * @posts: work requests on common words
 */
struct side {
	actor_call call;
	u32 n;
	bool guarded;
	u32 per;
	struct samples *single;
	struct samples *round;
	struct samples *all;
	struct samples *value;
	u64 ns;
	u64 calls;
	u64 changes;
	u64 posts;
};

/**
 * struct contest - the two of them
 * @figure: what is measured
 * @actors: those that call
 * @n: how many they are
 * @calls: calls in one turn, of each
 * @turns: turns in a round
 * @batch: calls that make a sample for the ratio
 * @clock: picoseconds that looking at the clock takes
 * @side: baseline and subject
 * @ratio: of each round
 */
struct contest {
	const struct figure *figure;
	struct actor *actors;
	u32 n;
	u32 calls;
	u32 turns;
	u32 batch;
	u64 clock;
	struct side side[2];
	struct samples *ratio;
};

static int side_init(struct side *side, actor_call call, u32 per, u32 rounds,
		     u32 calls, u32 turns)
{
	side->call = call;
	side->per = per ?: 1;
	side->single = samples_create(calls);
	side->round = samples_create(calls * turns);
	side->all = samples_create(min_t(u64, SAMPLES_MAX,
					 (u64)calls * turns * rounds));
	side->value = samples_create(rounds);
	return side->single && side->round && side->all && side->value ? 0 : -ENOMEM;
}

static void side_destroy(struct side *side)
{
	samples_destroy(side->single);
	samples_destroy(side->round);
	samples_destroy(side->all);
	samples_destroy(side->value);
}

/* What looking at the clock takes, in picoseconds. */
static u64 contest_clock(void)
{
	u64 begin = ktime_get_ns(), end = begin;
	int i;

	for (i = 0; i < 1000; i++)
		end = ktime_get_ns();
	return end - begin;
}

/* Samples of calls become samples of batches, in picoseconds of a call. */
static void side_gather(struct contest *c, struct side *side)
{
	struct samples *s = side->single;
	u64 clock = c->clock, ps = 0;
	u32 i;

	for (i = 0; i < s->n; i++) {
		samples_add(side->all, s->v[i] - min(s->v[i], clock / 1000));
		ps += s->v[i] * 1000 - min(s->v[i] * 1000, clock);
		if ((i + 1) % c->batch)
			continue;
		samples_add(side->round, div_u64(ps, c->batch));
		ps = 0;
	}
	s->n = 0;
}

static u64 contest_posts(const struct contest *c)
{
	u64 posts = 0;
	u32 i;

	for (i = 0; i < c->n; i++)
		posts += c->actors[i].raw->posts;
	return posts;
}

/* All of @side at the same time; no two may have been let in together. */
static int contest_team(struct contest *c, struct side *side, u32 calls)
{
	struct guard *guard = c->actors->guard;
	u64 before = guard->value, posts = contest_posts(c);
	struct team_result team;
	int err;

	err = team_run(c->actors, side->n, side->call, calls, &team);
	if (err)
		return err;
	side->ns += team.ns;
	side->calls += team.calls;
	if (!side->guarded)
		return 0;
	side->changes += team.changes;
	/* Those before all had begun have their share. */
	posts = contest_posts(c) - posts;
	side->posts += div64_u64(posts * team.calls, team.all);
	return guard->value - before == team.all ? 0 : -EBADE;
}

/* With rests while the lock is held; others would be let in meanwhile. */
static int contest_check(struct contest *c)
{
	struct guard *guard = c->actors->guard;
	enum guard_rest rest = guard->rest;
	int err = 0, i;

	guard->rest = GUARD_SLEEP;
	for (i = 0; !err && i < 2; i++)
		if (c->side[i].guarded)
			err = contest_team(c, &c->side[i], CHECK_CALLS);
	guard->rest = rest;
	return err;
}

/* One turn of one side. */
static int contest_turn(struct contest *c, struct side *side)
{
	u64 begin = ktime_get_ns();
	int err;

	if (c->n > 1)
		return contest_team(c, side, c->calls);
	err = actor_run(c->actors, side->call, c->calls, side->single);
	side->ns += ktime_get_ns() - begin;
	side->calls += c->calls;
	side_gather(c, side);
	return err;
}

/* What a round says of a side, and on to the next. */
static u64 side_close(struct contest *c, struct side *side, u64 ns, u64 calls)
{
	u64 ps;

	if (c->n > 1) {
		ps = div64_u64(ns * 1000, calls);
	} else {
		samples_sort(side->round);
		ps = samples_at(side->round, 500);
		side->round->n = 0;
	}
	ps = max(div_u64(ps, side->per), 1ULL);
	samples_add(side->value, ps);
	return ps;
}

static int contest_round(struct contest *c)
{
	struct side *base = &c->side[0], *subject = &c->side[1];
	u64 base_ns = base->ns, base_calls = base->calls, base_ps;
	u64 ns = subject->ns, calls = subject->calls, ps;
	int err = 0;
	u32 turn;

	for (turn = 0; !err && turn < c->turns; turn++) {
		err = contest_turn(c, &c->side[turn % 2]);
		if (!err)
			err = contest_turn(c, &c->side[(turn + 1) % 2]);
	}
	if (err)
		return err;
	base_ps = side_close(c, base, base->ns - base_ns,
			     base->calls - base_calls);
	ps = side_close(c, subject, subject->ns - ns, subject->calls - calls);
	samples_add(c->ratio, div64_u64(ps * 1000000, base_ps));
	return 0;
}

static bool contest_may_wait(const struct contest *c, enum raw_wait wait)
{
	if (c->figure->by_event)
		return wait == RAW_EVENT;
	/* They would keep each other from running. */
	return wait != RAW_SPIN || c->side[0].n <= num_online_cpus();
}

static void side_reset(struct side *side)
{
	side->ns = 0;
	side->calls = 0;
	side->changes = 0;
	side->posts = 0;
	side->all->n = 0;
	side->round->n = 0;
}

/*
 * Which way to wait is the best for this baseline? The one that needs the least
 * time for all calls: on one processor, polling has good medians, but keeps soft
 * RoCE from working for a whole tick now and then.
 */
static int contest_choose(struct contest *c, struct stage *stage,
			  struct rounds_result *result)
{
	struct side *base = &c->side[0];
	u64 *ps = result->waits, ns, calls;
	int err = 0, wait, turn;

	for (turn = 0; !err && turn < TURNS; turn++) {
		for (wait = 0; !err && wait < RAW_WAITS; wait++) {
			if (!contest_may_wait(c, wait))
				continue;
			err = stage_wait(stage, wait, c->actors, c->n);
			ns = base->ns;
			calls = base->calls;
			if (!err)
				err = contest_turn(c, base);
			if (err)
				return err;
			/* The first turn only warms up. */
			if (turn)
				ps[wait] += div64_u64((base->ns - ns) * 1000,
						      (base->calls - calls) *
						      base->per * (TURNS - 1));
		}
	}
	result->wait = RAW_EVENT;
	for (wait = 0; wait < RAW_WAITS; wait++)
		if (ps[wait] && ps[wait] < ps[result->wait])
			result->wait = wait;
	side_reset(base);
	side_reset(&c->side[1]);
	return stage_wait(stage, result->wait, c->actors, c->n);
}

/* As many calls as before, in turns that are no longer than they should be. */
static void contest_cut(struct contest *c, u64 ps)
{
	u32 whole = c->calls * c->turns, calls;

	if (c->n > 1 || !ps)
		return;
	calls = min_t(u64, c->calls, div64_u64(TURN_TIME,
					       ps * c->side[0].per));
	c->calls = min(c->calls, roundup(max(calls, 1U), c->batch));
	c->turns = whole / c->calls;
}

static void side_tell(struct side *side, struct rounds_side *result)
{
	samples_sort(side->value);
	samples_sort(side->all);
	result->value = samples_at(side->value, 500);
	result->p50 = samples_at(side->all, 500);
	result->p99 = samples_at(side->all, 990);
	result->p999 = samples_at(side->all, 999);
	result->rate = div64_u64(side->calls * NSEC_PER_SEC, side->ns ?: 1);
	result->calls = side->calls;
	result->changes = side->changes;
	result->posts = side->posts;
}

static void contest_tell(struct contest *c, struct rounds_result *result)
{
	side_tell(&c->side[0], &result->base);
	if (c->figure->subject)
		side_tell(&c->side[1], &result->subject);
	samples_sort(c->ratio);
	result->ratio = samples_at(c->ratio, 500);
	result->low = samples_at(c->ratio, 250);
	result->high = samples_at(c->ratio, 750);
}

static int contest_init(struct contest *c, u32 rounds)
{
	const struct figure *f = c->figure;
	actor_call subject = f->subject ?: f->base;
	int err;

	c->ratio = samples_create(rounds);
	if (!c->ratio)
		return -ENOMEM;
	c->side[0].n = f->alone ? 1 : c->n;
	c->side[0].guarded = f->guarded && !f->alone;
	c->side[1].n = c->n;
	c->side[1].guarded = f->guarded;
	err = side_init(&c->side[0], f->base, f->count, rounds, c->calls,
			c->turns);
	if (err)
		return err;
	return side_init(&c->side[1], subject, f->subject ? 1 : f->count,
			 rounds, c->calls, c->turns);
}

int rounds_run(struct stage *stage, const struct figure *figure,
	       struct actor *actors, u32 rounds, u32 calls,
	       void (*progress)(u32 round), struct rounds_result *result)
{
	struct contest *c = kzalloc(sizeof(*c), GFP_KERNEL);
	u32 round;
	int err;

	if (!c)
		return -ENOMEM;
	c->figure = figure;
	c->actors = actors;
	c->n = stage_actors(figure);
	c->batch = figure->slow ? 1 : BATCH;
	c->turns = TURNS;
	c->calls = max(calls / c->turns / (figure->slow ?: 1), 1U);
	c->calls = c->n > 1 ? max(c->calls / 4, 1U) :
			      roundup(c->calls, c->batch);
	c->clock = contest_clock();
	err = contest_init(c, rounds);
	if (!err && figure->guarded)
		err = contest_check(c);
	if (!err)
		err = contest_choose(c, stage, result);
	if (!err)
		contest_cut(c, result->waits[result->wait]);
	for (round = 0; !err && round < rounds; round++) {
		progress(round + 1);
		err = contest_round(c);
	}
	if (!err)
		contest_tell(c, result);
	side_destroy(&c->side[0]);
	side_destroy(&c->side[1]);
	samples_destroy(c->ratio);
	kfree(c);
	return err;
}
