// SPDX-License-Identifier: GPL-2.0
#include <linux/kernel.h>
#include <linux/string.h>
#include "figure.h"

#define KIB		1024U
#define MIB		(1024U * KIB)

#define RAW(_name, _call) \
	{ .name = _name, .base = _call }
#define RAW_TRANSFER(_name, _call, _size, _count, _slow) \
	{ .name = _name, .kind = FIGURE_BANDWIDTH, .base = _call, \
	  .size = _size, .count = _count, .slow = _slow }
#define TRANSFER(_name, _base, _subject, _size, _count, _slow) \
	{ .name = _name, .kind = FIGURE_BANDWIDTH, .base = _base, \
	  .subject = _subject, .need = NEED_REGION, \
	  .size = _size, .count = _count, .slow = _slow }
#define ADDS(_name, _actors, _nodes) \
	{ .name = _name, .kind = FIGURE_THROUGHPUT, .base = actor_raw_faa, \
	  .subject = actor_counter_add, .need = NEED_COUNTER, \
	  .actors = _actors, .nodes = _nodes }

/* A lock goes from one to another; contended or queued. */
#define PASSED(_name, _base, _actors, _queued) \
	{ .name = _name, .kind = FIGURE_THROUGHPUT, .base = _base, \
	  .subject = actor_lock_pass, .need = NEED_LOCK, \
	  .actors = _actors, .nodes = true, .guarded = true, \
	  .queued = _queued, .slow = 4 }
#define CONTENDED(_name, _base, _actors) \
	PASSED(_name, _base, _actors, false)
#define QUEUED(_name, _base, _actors) \
	PASSED(_name, _base, _actors, true)

/* Depth: how many transfers are posted before one is waited for. */
static const struct figure figures[] = {
	RAW("raw.faa.latency", actor_raw_faa),
	RAW("raw.cas.latency", actor_raw_cas),
	RAW("raw.cas_faa.latency", actor_raw_cas_faa),
	RAW("raw.write8.latency", actor_raw_write8),
	RAW("raw.send.rtt", actor_raw_send),
	RAW_TRANSFER("raw.write4k.depth1.bandwidth", actor_raw_write,
		     4 * KIB, 1, 0),
	RAW_TRANSFER("raw.write4k.bandwidth", actor_raw_write,
		     4 * KIB, 16, 4),
	RAW_TRANSFER("raw.write64k.depth1.bandwidth", actor_raw_write,
		     64 * KIB, 1, 8),
	RAW_TRANSFER("raw.write64k.bandwidth", actor_raw_write,
		     64 * KIB, 16, 40),
	RAW_TRANSFER("raw.write1m.depth1.bandwidth", actor_raw_write,
		     MIB, 1, 40),
	RAW_TRANSFER("raw.write1m.bandwidth", actor_raw_write,
		     MIB, 4, 100),
	RAW_TRANSFER("raw.write4m.bandwidth", actor_raw_write,
		     4 * MIB, 1, 100),
	RAW_TRANSFER("raw.read4k.depth1.bandwidth", actor_raw_read,
		     4 * KIB, 1, 0),
	RAW_TRANSFER("raw.read4k.bandwidth", actor_raw_read,
		     4 * KIB, 16, 4),
	RAW_TRANSFER("raw.read64k.depth1.bandwidth", actor_raw_read,
		     64 * KIB, 1, 8),
	RAW_TRANSFER("raw.read64k.bandwidth", actor_raw_read,
		     64 * KIB, 16, 40),
	RAW_TRANSFER("raw.read1m.depth1.bandwidth", actor_raw_read,
		     MIB, 1, 40),
	RAW_TRANSFER("raw.read1m.bandwidth", actor_raw_read,
		     MIB, 4, 100),
	RAW_TRANSFER("raw.read4m.bandwidth", actor_raw_read,
		     4 * MIB, 1, 100),
	{ .name = "aa.faa.latency", .base = actor_raw_faa,
	  .subject = actor_raw_faa },
	{ .name = "aa.write1m.bandwidth", .kind = FIGURE_BANDWIDTH,
	  .base = actor_raw_write, .subject = actor_raw_write,
	  .size = MIB, .count = 1, .slow = 40 },
	/* The core's contexts for transfers, which region/xfer.c does without. */
	{ .name = "rw.write4k.latency", .base = actor_raw_write,
	  .subject = actor_raw_rw_write, .size = 4 * KIB, .count = 1 },
	{ .name = "rw.write64k.latency", .base = actor_raw_write,
	  .subject = actor_raw_rw_write, .size = 64 * KIB, .count = 1,
	  .slow = 8 },
	{ .name = "rw.write1m.bandwidth", .kind = FIGURE_BANDWIDTH,
	  .base = actor_raw_write, .subject = actor_raw_rw_write,
	  .size = MIB, .count = 1, .slow = 40 },
	{ .name = "counter.add.latency", .need = NEED_COUNTER,
	  .base = actor_raw_faa, .subject = actor_counter_add },
	{ .name = "counter.add.cpu.latency", .need = NEED_CPU,
	  .base = actor_raw_send, .subject = actor_cpu_add },
	ADDS("counter.add.threads1.throughput", 1, false),
	ADDS("counter.add.threads2.throughput", 2, false),
	ADDS("counter.add.threads4.throughput", 4, false),
	ADDS("counter.add.threads8.throughput", 8, false),
	ADDS("counter.add.threads16.throughput", 16, false),
	ADDS("counter.add.nodes1.throughput", 1, true),
	ADDS("counter.add.nodes2.throughput", 2, true),
	ADDS("counter.add.nodes4.throughput", 4, true),
	ADDS("counter.add.nodes8.throughput", 8, true),
	{ .name = "lock.cold.latency", .need = NEED_LOCK,
	  .base = actor_raw_lock, .subject = actor_lock_cold },
	{ .name = "lock.shared.cold.latency", .need = NEED_LOCK,
	  .base = actor_raw_shared, .subject = actor_lock_shared },
	{ .name = "lock.cached.latency", .need = NEED_CACHED,
	  .base = actor_lock_cold, .subject = actor_lock_cached },
	{ .name = "lock.cpu.cold.latency", .need = NEED_CPU_LOCK,
	  .base = actor_lock_cold, .subject = actor_lock_cpu },
	CONTENDED("lock.contended2.goodput", actor_spin_pass, 2),
	CONTENDED("lock.contended4.goodput", actor_spin_pass, 4),
	CONTENDED("lock.contended8.goodput", actor_spin_pass, 8),
	CONTENDED("lock.contended16.goodput", actor_spin_pass, 16),
	CONTENDED("lock.contended8.goodput.vs_ticket", actor_ticket_pass, 8),
	CONTENDED("lock.contended8.goodput.vs_backoff", actor_backoff_pass, 8),
	QUEUED("lock.queued2.goodput", actor_spin_pass, 2),
	QUEUED("lock.queued4.goodput", actor_spin_pass, 4),
	QUEUED("lock.queued8.goodput", actor_spin_pass, 8),
	QUEUED("lock.queued16.goodput", actor_spin_pass, 16),
	QUEUED("lock.queued8.goodput.vs_ticket", actor_ticket_pass, 8),
	QUEUED("lock.queued8.goodput.vs_backoff", actor_backoff_pass, 8),
	/* Half a round trip is one message. */
	{ .name = "lock.handoff.latency", .need = NEED_LOCK,
	  .base = actor_raw_send, .subject = actor_lock_pass, .count = 2,
	  .actors = 8, .nodes = true, .guarded = true, .alone = true,
	  .by_event = true, .slow = 4 },
	{ .name = "lock.contended8.p99", .kind = FIGURE_TAIL,
	  .need = NEED_LOCK, .base = actor_lock_pass, .actors = 8,
	  .nodes = true, .guarded = true, .queued = true },
	{ .name = "lock.fairness8", .kind = FIGURE_FAIRNESS,
	  .need = NEED_LOCK, .base = actor_lock_pass, .actors = 8,
	  .nodes = true, .guarded = true, .queued = true },
	/* Eight times one. */
	{ .name = "lock.readers8.goodput", .kind = FIGURE_THROUGHPUT,
	  .need = NEED_LOCK, .base = actor_lock_shared,
	  .subject = actor_lock_shared, .count = 8, .actors = 8,
	  .nodes = true, .alone = true, .slow = 4 },
	{ .name = "lock.readers8.goodput.vs_raw", .kind = FIGURE_THROUGHPUT,
	  .need = NEED_LOCK, .base = actor_raw_shared,
	  .subject = actor_lock_shared, .actors = 8, .nodes = true,
	  .slow = 4 },
	{ .name = "region.write64k.latency", .need = NEED_REGION,
	  .base = actor_raw_write, .subject = actor_region_write,
	  .size = 64 * KIB, .count = 1, .slow = 8 },
	TRANSFER("region.write1m.bandwidth", actor_raw_write,
		 actor_region_write, MIB, 1, 40),
	TRANSFER("region.read1m.bandwidth", actor_raw_read,
		 actor_region_read, MIB, 1, 40),
	TRANSFER("region.write4m.bandwidth", actor_raw_write,
		 actor_region_write, 4 * MIB, 1, 100),
	TRANSFER("region.read4m.bandwidth", actor_raw_read,
		 actor_region_read, 4 * MIB, 1, 100),
};

const struct figure *figure_next(const struct figure *figure)
{
	if (!figure)
		return figures;
	figure++;
	return figure < figures + ARRAY_SIZE(figures) ? figure : NULL;
}

const struct figure *figure_find(const char *name)
{
	const struct figure *figure = NULL;

	while ((figure = figure_next(figure)))
		if (!strcmp(figure->name, name))
			return figure;
	return NULL;
}

const char *figure_unit(const struct figure *figure)
{
	static const char * const units[] = {
		[FIGURE_LATENCY]	= "us",
		[FIGURE_BANDWIDTH]	= "MB/s",
		[FIGURE_THROUGHPUT]	= "ops/s",
		[FIGURE_TAIL]		= "us",
		[FIGURE_FAIRNESS]	= "index",
	};

	return units[figure->kind];
}
