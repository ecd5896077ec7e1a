// SPDX-License-Identifier: GPL-2.0
/*
 * Splitting of transfers: every way to cut a range is checked against what a
 * chunk promises: adjoining, inside one memory region, within the limit, and
 * none missing.
 */
// needs: region/chunk.c
#include <stdio.h>
#include "region/chunk.h"

static unsigned int tests, failures;

static void report(bool ok, const char *name)
{
	tests++;
	if (!ok)
		failures++;
	printf("%sok %u %s\n", ok ? "" : "not ", tests, name);
}

/* Walk a range; false as soon as a chunk is not as it must be. */
static bool walk(u64 pos, u64 len, u32 mr_bytes, u32 max, u64 *chunks)
{
	u64 end = pos + len;
	struct tally_chunk chunk;

	for (*chunks = 0; pos < end; ++*chunks) {
		chunk = tally_chunk_next(pos, end - pos, mr_bytes, max);
		if (!chunk.len || chunk.len > max || chunk.len > end - pos)
			return false;
		if ((u64)chunk.mr * mr_bytes + chunk.offset != pos)
			return false;
		if ((u64)chunk.offset + chunk.len > mr_bytes)
			return false;
		pos += chunk.len;
	}
	return pos == end;
}

/* Byte by byte: a chunk begins where a region does or the last one is full. */
static u64 fewest(u32 pos, u32 len, u32 mr_bytes, u32 max)
{
	u64 chunks = 0;
	u32 in = 0;

	for (; len; len--, pos++, in++) {
		if (!in || in == max || pos % mr_bytes == 0) {
			chunks++;
			in = 0;
		}
	}
	return chunks;
}

static bool walk_from(u32 pos, u32 mr_bytes, u32 max)
{
	u64 chunks;
	u32 len;

	for (len = 0; len <= 20; len++)
		if (!walk(pos, len, mr_bytes, max, &chunks) ||
		    chunks != fewest(pos, len, mr_bytes, max))
			return false;
	return true;
}

/* Small numbers, all of them, against the fewest chunks possible. */
static void test_all_small(void)
{
	u32 pos, mr, max;
	bool ok = true;

	for (mr = 1; mr <= 9; mr++)
		for (max = 1; max <= 10; max++)
			for (pos = 0; pos <= 20; pos++)
				ok &= walk_from(pos, mr, max);
	report(ok, "every small range is cut into the fewest chunks");
}

static void test_large(void)
{
	const u32 mr = 511 * 4096, max = 30 * 4096;
	u64 chunks;

	report(walk((1ULL << 40) - 12345678, 12345678, mr, max, &chunks) &&
	       chunks >= 12345678 / max, "the end of the largest region");
	report(walk(5ULL << 32, 1ULL << 24, 1U << 31, max, &chunks) &&
	       chunks == ((1ULL << 24) + max - 1) / max,
	       "positions and regions beyond 32 and 31 bits");
}

static void test_edges(void)
{
	struct tally_chunk chunk;

	chunk = tally_chunk_next(2 << 20, 8192, 2 << 20, 1 << 20);
	report(chunk.mr == 1 && chunk.offset == 0 && chunk.len == 8192,
	       "the first byte of a memory region belongs to it");
	chunk = tally_chunk_next((2 << 20) - 1, 8192, 2 << 20, 1 << 20);
	report(chunk.mr == 0 && chunk.offset == (2 << 20) - 1 &&
	       chunk.len == 1, "the last byte of a memory region stands alone");
	chunk = tally_chunk_next(100, 0, 4096, 4096);
	report(chunk.len == 0, "nothing left is an empty chunk");
	chunk = tally_chunk_next(0, 1ULL << 33, 1U << 31, 0xffffffff);
	report(chunk.len == 1U << 31, "what is left may exceed 32 bits");
}

static void test_mrs(void)
{
	report(tally_chunk_mrs(1, 4096) == 1, "one byte takes one region");
	report(tally_chunk_mrs(4096, 4096) == 1, "a full region takes one");
	report(tally_chunk_mrs(4097, 4096) == 2, "one byte more takes two");
	report(tally_chunk_mrs(1ULL << 40, 2 << 20) == 1U << 19,
	       "the largest region in parts of 2 MiB");
}

int main(void)
{
	printf("TAP version 13\n");
	test_all_small();
	test_large();
	test_edges();
	test_mrs();
	printf("1..%u\n", tests);
	return failures ? 1 : 0;
}
