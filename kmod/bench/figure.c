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
	};

	return units[figure->kind];
}
