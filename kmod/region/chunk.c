// SPDX-License-Identifier: GPL-2.0
#include "region/chunk.h"

#ifdef __KERNEL__
#include <linux/math64.h>
#endif

static u64 chunk_div(u64 pos, u32 unit, u32 *rest)
{
#ifdef __KERNEL__
	return div_u64_rem(pos, unit, rest);
#else
	*rest = pos % unit;
	return pos / unit;
#endif
}

/**
 * tally_chunk_next - the next chunk of a transfer
 * @pos: where it begins
 * @left: bytes to go
 * @mr_bytes: bytes each memory region of the target covers
 * @max: bytes a chunk may have
 *
 * Return: the chunk.
 */
struct tally_chunk tally_chunk_next(u64 pos, u64 left, u32 mr_bytes, u32 max)
{
	struct tally_chunk chunk;

	chunk.mr = chunk_div(pos, mr_bytes, &chunk.offset);
	chunk.len = mr_bytes - chunk.offset;
	if (chunk.len > max)
		chunk.len = max;
	if (chunk.len > left)
		chunk.len = left;
	return chunk;
}

/* How many memory regions of @mr_bytes a target of @size bytes needs. */
u32 tally_chunk_mrs(u64 size, u32 mr_bytes)
{
	u32 rest;
	u64 n = chunk_div(size, mr_bytes, &rest);

	return rest ? n + 1 : n;
}
