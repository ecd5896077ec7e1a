/* SPDX-License-Identifier: GPL-2.0 */
/* Samples: times or ratios, and what can be said about many of them. */
#ifndef TALLY_BENCH_SAMPLE_H
#define TALLY_BENCH_SAMPLE_H

#include <linux/types.h>

/**
 * struct samples - a growing list, as long as there is room
 * @n: how many
 * @max: room
 * @v: them
 */
struct samples {
	u32 n;
	u32 max;
	u64 v[] __counted_by(max);
};

struct samples *samples_create(u32 max);
void samples_destroy(struct samples *s);
void samples_add(struct samples *s, u64 value);
/* In order; the next ones ask for that. */
void samples_sort(struct samples *s);
/* The value that so many of a thousand are not above; 0 without samples. */
u64 samples_at(const struct samples *s, u32 permille);

#endif
