/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Splits a transfer into chunks: one work request each, inside one memory
 * region of the target and with no more local elements than it can have.
 */
#ifndef TALLY_CHUNK_H
#define TALLY_CHUNK_H

#include <linux/types.h>
#ifdef __KERNEL__
#include <linux/math64.h>
#endif

/**
 * struct tally_chunk - where one piece of a transfer lies in the target
 * @mr: index of the memory region
 * @offset: first byte in it
 * @len: bytes, never 0 unless nothing is left
 */
struct tally_chunk {
	u32 mr;
	u32 offset;
	u32 len;
};

static inline u64 tally_chunk_div(u64 pos, u32 unit, u32 *rest)
{
#ifdef __KERNEL__
	return div_u64_rem(pos, unit, rest);
#else
	*rest = pos % unit;
	return pos / unit;
#endif
}

/* The next chunk at @pos with @left bytes to go, at most @max bytes long. */
static inline struct tally_chunk tally_chunk_next(u64 pos, u64 left,
						  u32 mr_bytes, u32 max)
{
	struct tally_chunk chunk;

	chunk.mr = tally_chunk_div(pos, mr_bytes, &chunk.offset);
	chunk.len = mr_bytes - chunk.offset;
	if (chunk.len > max)
		chunk.len = max;
	if (chunk.len > left)
		chunk.len = left;
	return chunk;
}

/* The most one work request can carry: @sges elements of one page each. */
static inline u32 tally_chunk_room(u32 sges, u32 page_size)
{
	return sges * page_size;
}

/* Memory regions a target of @size bytes needs. */
static inline u32 tally_chunk_mrs(u64 size, u32 mr_bytes)
{
	u64 n;
	u32 rest;

	n = tally_chunk_div(size, mr_bytes, &rest);
	return rest ? n + 1 : n;
}

#endif
