// SPDX-License-Identifier: GPL-2.0
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sort.h>
#include "sample.h"

struct samples *samples_create(u32 max)
{
	struct samples *s = kvzalloc(struct_size(s, v, max), GFP_KERNEL);

	if (s)
		s->max = max;
	return s;
}

void samples_destroy(struct samples *s)
{
	kvfree(s);
}

void samples_add(struct samples *s, u64 value)
{
	if (s->n < s->max)
		s->v[s->n++] = value;
}

static int samples_compare(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

void samples_sort(struct samples *s)
{
	sort(s->v, s->n, sizeof(*s->v), samples_compare, NULL);
}

u64 samples_at(const struct samples *s, u32 permille)
{
	if (!s->n)
		return 0;
	return s->v[min_t(u32, s->n * permille / 1000, s->n - 1)];
}
