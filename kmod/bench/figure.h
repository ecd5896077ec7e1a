/* SPDX-License-Identifier: GPL-2.0 */
/* A figure: what is measured under one name. */
#ifndef TALLY_BENCH_FIGURE_H
#define TALLY_BENCH_FIGURE_H

#include "actor.h"

enum figure_kind {
	FIGURE_LATENCY,		/* of a call; less is better */
	FIGURE_BANDWIDTH,	/* of transfers */
	FIGURE_THROUGHPUT,	/* calls in a second, of several actors */
	FIGURE_TAIL,		/* 99th percentile of a call against the median */
	FIGURE_FAIRNESS,	/* Jain's index of what each of several got */
};

/* What of tally a figure uses. */
enum figure_need {
	NEED_NOTHING,
	NEED_COUNTER,
	NEED_CPU,
	NEED_LOCK,
	NEED_CACHED,	/* a lock that is kept, and one that is not */
	NEED_CPU_LOCK,	/* a lock of mode cpu, and one of mode nic */
	NEED_REGION,
};

/**
 * struct figure - baseline and subject
 * @name: of the figure
 * @kind: what it says
 * @need: objects the subject uses
 * @base: the baseline's call
 * @subject: the subject's call; NULL: it is about the baseline alone
 * @size: bytes of a transfer
 * @count: transfers in flight, or whatever a call makes several of, baseline
 * @actors: how many call at the same time; 0 is 1
 * @nodes: each of them is a node
 * @guarded: they hold a lock in the call, which has to exclude the others
 * @queued: on one processor, the holder lets all others run until they wait
 *	for it, as they would with a processor each
 * @alone: a single actor calls the baseline
 * @by_event: the baseline waits by RAW_EVENT, as the subject does
 * @slow: that many times fewer calls than others; 0 is 1
 */
struct figure {
	const char *name;
	enum figure_kind kind;
	enum figure_need need;
	actor_call base;
	actor_call subject;
	u32 size;
	u32 count;
	u32 actors;
	bool nodes;
	bool guarded;
	bool queued;
	bool alone;
	bool by_event;
	u32 slow;
};

const struct figure *figure_find(const char *name);
/* The one behind @figure; NULL: the first. NULL at the end. */
const struct figure *figure_next(const struct figure *figure);
const char *figure_unit(const struct figure *figure);

#endif
