/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The two words of a lock and the fencing token made from them.
 *
 *   state word   reader bitmap [63:20] | spare [19:13] | W [12] | owner [11:0]
 *   token word   a tenure number c: epoch [55:42] | count [41:0]
 *   user token   c << 8 | local: epoch [63:50] | tenure [49:8] | local [7:0]
 *
 * Every field has one writer at a time and is changed by addition only, so a
 * removal is an addition of the two's complement.  The bitmap is on top: an
 * overflow there leaves the word instead of running into another field.
 */
#ifndef TALLY_LOCKWORD_H
#define TALLY_LOCKWORD_H

#include <linux/types.h>
#include "base/wire.h"

#define TALLY_LW_OWNER		0xfffULL
#define TALLY_LW_W		0x1000ULL
#define TALLY_LW_BIT_SHIFT	20

/* Slots are 1-based; the first ones have a bit as well as an owner number. */
#define TALLY_LW_SLOT_MAX	4095
#define TALLY_LW_BIT_SLOT_MAX	44

#define TALLY_TOKEN_LOCAL_MAX	255
#define TALLY_TENURE_BITS	42
#define TALLY_TENURE_MAX	((1ULL << 56) - 1)

static inline u16 tally_lw_owner(u64 state)
{
	return state & TALLY_LW_OWNER;
}

static inline bool tally_lw_w(u64 state)
{
	return state & TALLY_LW_W;
}

static inline u64 tally_lw_bits(u64 state)
{
	return state >> TALLY_LW_BIT_SHIFT;
}

/* The bit of @slot, at most TALLY_LW_BIT_SLOT_MAX, in the state word. */
static inline u64 tally_lw_bit(u16 slot)
{
	return 1ULL << (TALLY_LW_BIT_SHIFT + slot - 1);
}

/* The FAA operand that takes @field out of a word. */
static inline u64 tally_lw_minus(u64 field)
{
	return -field;
}

/* First value of a token word whose home runs in @epoch. */
static inline u64 tally_tenure_first(u16 epoch)
{
	return (u64)epoch << TALLY_TENURE_BITS;
}

static inline u64 tally_token(u64 tenure, u8 local)
{
	return tenure << 8 | local;
}

static inline u8 tally_token_local(u64 token)
{
	return token & TALLY_TOKEN_LOCAL_MAX;
}

#endif
