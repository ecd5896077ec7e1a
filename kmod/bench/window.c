// SPDX-License-Identifier: GPL-2.0
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>
#include "guard.h"
#include "sample.h"
#include "team.h"
#include "window.h"

/*
 * Grants before and after the window, of each in the mean: in it, all want the
 * lock.
 */
#define WINDOW_WARM	50
/*
 * Grants in it, of each in the mean, and how many windows: shares need many grants,
 * times need windows that are shorter than what slows the machine below, and many
 * of those.
 */
#define WINDOW_SHARES	2600
#define WINDOWS_SHARES	5
#define WINDOW_TIMES	260
#define WINDOWS_TIMES	25

/* Each actor's samples behind each other. */
static void window_times(struct actor *actors, u32 n, struct samples *all,
			 struct window_result *result)
{
	u32 i, k;

	for (i = 0; i < n; i++)
		for (k = 0; k < actors[i].samples->n; k++)
			samples_add(all, actors[i].samples->v[k]);
	samples_sort(all);
	result->p50 = samples_at(all, 500);
	result->p99 = samples_at(all, 990);
	result->p999 = samples_at(all, 999);
}

/* The square of the sum by n times the sum of the squares. */
static void window_shares(const struct actor *actors, u32 n,
			  struct window_result *result)
{
	const struct guard *guard = actors->guard;
	u64 sum = 0, squares = 0, grants;
	u32 i;

	result->longest = guard->longest;
	result->slowest = U64_MAX;
	for (i = 0; i < n; i++) {
		grants = guard->grants[actors[i].who];
		sum += grants;
		squares += grants * grants;
		result->slowest = min(result->slowest, grants);
	}
	result->jain = div64_u64(sum * sum * 1000, squares * n / 1000);
}

static u32 window_calls(const struct figure *figure)
{
	return figure->kind == FIGURE_TAIL ? WINDOW_TIMES : WINDOW_SHARES;
}

static u32 window_count(const struct figure *figure)
{
	return figure->kind == FIGURE_TAIL ? WINDOWS_TIMES : WINDOWS_SHARES;
}

static int window_measure(const struct figure *figure, struct actor *actors,
			  u32 n, struct window_result *result)
{
	u32 width = window_calls(figure), calls = width + 2 * WINDOW_WARM;
	struct guard *guard = actors->guard;
	u64 before = guard->value;
	struct team_result team;
	int err;

	guard->warm = WINDOW_WARM * n;
	guard->width = width * n;
	err = team_run(actors, n, figure->base, calls, &team);
	guard->width = 0;
	if (err)
		return err;
	result->rate = div64_u64(team.calls * NSEC_PER_SEC, team.ns);
	return guard->value - before == team.all ? 0 : -EBADE;
}

static int window_one(const struct figure *figure, struct actor *actors, u32 n,
		      struct samples *all, struct window_result *result)
{
	int err;
	u32 i;

	all->n = 0;
	for (i = 0; i < n; i++)
		actors[i].samples->n = 0;
	memset(actors->guard->grants, 0, sizeof(actors->guard->grants));
	actors->guard->longest = 0;
	err = window_measure(figure, actors, n, result);
	if (err)
		return err;
	window_times(actors, n, all, result);
	window_shares(actors, n, result);
	return 0;
}

static int window_cmp(const void *a, const void *b)
{
	const struct window_result *x = a, *y = b;
	u64 left = x->p99 * y->p50, right = y->p99 * x->p50;

	return (left > right) - (left < right);
}

/* Times: of the middle one. What must hold in each: of the worst. */
static void window_tell(struct window_result *results, u32 windows,
			struct window_result *result)
{
	u32 i;

	sort(results, windows, sizeof(*results), window_cmp, NULL);
	*result = results[windows / 2];
	for (i = 0; i < windows; i++) {
		result->jain = min(result->jain, results[i].jain);
		result->slowest = min(result->slowest, results[i].slowest);
		result->longest = max(result->longest, results[i].longest);
	}
}

int window_run(const struct figure *figure, struct actor *actors, u32 n,
	       struct window_result *result)
{
	u32 most = window_calls(figure) * n, windows = window_count(figure), i;
	struct samples *all = samples_create(most);
	struct window_result *results;
	int err;

	results = kcalloc(windows, sizeof(*results), GFP_KERNEL);
	err = all && results ? 0 : -ENOMEM;
	for (i = 0; i < n; i++) {
		actors[i].samples = samples_create(most);
		if (!actors[i].samples)
			err = -ENOMEM;
	}
	for (i = 0; !err && i < windows; i++)
		err = window_one(figure, actors, n, all, &results[i]);
	if (!err)
		window_tell(results, windows, result);
	for (i = 0; i < n; i++)
		samples_destroy(actors[i].samples);
	samples_destroy(all);
	kfree(results);
	return err;
}
