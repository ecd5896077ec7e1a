/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Splits a transfer into chunks: one work request each, inside one memory
 * region of the target and with no more local elements than it can have.
 */
#ifndef TALLY_REGION_CHUNK_H
#define TALLY_REGION_CHUNK_H

#include <linux/types.h>

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

struct tally_chunk tally_chunk_next(u64 pos, u64 left, u32 mr_bytes, u32 max);
u32 tally_chunk_mrs(u64 size, u32 mr_bytes);

#endif
