/* SPDX-License-Identifier: GPL-2.0 */
/* The state word and the token: fields, limits, and arithmetic across them. */
#ifndef TALLY_LOCK_WORD_CASES_H
#define TALLY_LOCK_WORD_CASES_H

#include "lock/word.h"

struct lw_case {
	const char *name;
	u64 state;
	u16 owner;
	bool w;
	u64 bits;
};

static const struct lw_case lw_cases[] = {
	{ "empty word", 0, 0, false, 0 },
	{ "first owner", 1, 1, false, 0 },
	{ "last owner", 0xfff, TALLY_LW_SLOT_MAX, false, 0 },
	{ "W alone", 0x1000, 0, true, 0 },
	{ "first bit", 0x100000, 0, false, 1 },
	{ "last bit", 0x8000000000000000ULL, 0, false, 1ULL << 43 },
	{ "all together", 0xfffffffffff01fffULL, 0xfff, true,
	  (1ULL << 44) - 1 },
	{ "spare bits belong to nothing", 0xfe000, 0, false, 0 },
};

struct token_case {
	const char *name;
	u16 epoch;
	u64 tenure;
	u8 local;
	u64 token;
};

static const struct token_case token_cases[] = {
	{ "first token without an epoch", 0, 1, 0, 0x100 },
	{ "second local user", 0, 1, 1, 0x101 },
	{ "last local user", 0, 1, 255, 0x1ff },
	{ "first epoch", 1, 0, 0, 0x4000000000000ULL },
	{ "last of an epoch", 1, (1ULL << 42) - 1, 255, 0x7ffffffffffffULL },
	{ "last epoch", TALLY_EPOCH_MAX, 2, 3, 0xfffc000000000203ULL },
};

static inline const char *lw_case_run(const struct lw_case *c)
{
	if (tally_lw_owner(c->state) != c->owner)
		return "owner";
	if (tally_lw_w(c->state) != c->w)
		return "W";
	return tally_lw_bits(c->state) == c->bits ? NULL : "bits";
}

static inline const char *token_case_run(const struct token_case *c)
{
	u64 t = tally_token(tally_tenure_first(c->epoch) + c->tenure, c->local);

	if (t != c->token)
		return "token";
	if (t >> (TALLY_TENURE_BITS + 8) != c->epoch)
		return "epoch";
	if ((t >> 8 & ((1ULL << TALLY_TENURE_BITS) - 1)) != c->tenure)
		return "tenure";
	return tally_token_local(t) == c->local ? NULL : "local";
}

/* Each field can be added and taken out beside all the others. */
static inline const char *lw_fields_run(void)
{
	u64 full = 0xfffffffffff01000ULL;
	u64 without;
	u16 slot;

	for (slot = 1; slot <= TALLY_LW_SLOT_MAX; slot++)
		if (full + slot + tally_lw_minus(slot) != full ||
		    tally_lw_owner(full + slot) != slot)
			return "owner";
	for (slot = 1; slot <= TALLY_LW_BIT_SLOT_MAX; slot++) {
		without = full + tally_lw_minus(tally_lw_bit(slot));
		if (tally_lw_bits(without) + (1ULL << (slot - 1)) !=
		    tally_lw_bits(full) || !tally_lw_w(without))
			return "bit";
	}
	without = full + 7 + tally_lw_minus(TALLY_LW_W);
	if (tally_lw_w(without) || tally_lw_owner(without) != 7 ||
	    tally_lw_bits(without) != tally_lw_bits(full))
		return "W";
	return NULL;
}

#endif
