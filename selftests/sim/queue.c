// SPDX-License-Identifier: GPL-2.0
/* Events in the order of their times: a binary heap; and random numbers. */
#include <stdlib.h>

#include "sim.h"

u64 now;

static struct event *heap;
static size_t used, size;
static u64 order;
static u64 seed_state = 1;

void queue_reset(void)
{
	used = 0;
	order = 0;
	now = 0;
}

static bool earlier(const struct event *a, const struct event *b)
{
	return a->at != b->at ? a->at < b->at : a->order < b->order;
}

void queue_put(struct event ev, u64 at)
{
	size_t i = used++, up;

	if (used > size) {
		size = size ? 2 * size : 4096;
		heap = realloc(heap, size * sizeof(*heap));
		if (!heap)
			abort();
	}
	ev.at = at;
	ev.order = order++;
	while (i && (up = (i - 1) / 2, earlier(&ev, &heap[up]))) {
		heap[i] = heap[up];
		i = up;
	}
	heap[i] = ev;
}

bool queue_get(struct event *ev)
{
	struct event last;
	size_t i = 0, down;

	if (!used)
		return false;
	*ev = heap[0];
	last = heap[--used];
	while ((down = 2 * i + 1) < used) {
		if (down + 1 < used && earlier(&heap[down + 1], &heap[down]))
			down++;
		if (earlier(&last, &heap[down]))
			break;
		heap[i] = heap[down];
		i = down;
	}
	heap[i] = last;
	now = ev->at;
	return true;
}

u64 in_turn(u64 *free, u64 at, u64 cost)
{
	*free = (at > *free ? at : *free) + cost;
	return *free;
}

void random_seed(u64 seed)
{
	seed_state = seed * 0x9e3779b97f4a7c15ULL + 1;
}

u64 random_below(u64 n)
{
	seed_state ^= seed_state >> 12;
	seed_state ^= seed_state << 25;
	seed_state ^= seed_state >> 27;
	return n ? (seed_state * 0x2545f4914f6cdd1dULL >> 16) % n : 0;
}

bool percent(u32 p)
{
	return random_below(100) < p;
}
