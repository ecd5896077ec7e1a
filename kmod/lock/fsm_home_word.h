/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The home side of one lock: its own operations on the word.  Part of
 * lock/fsm_home.c.
 */
#ifndef TALLY_LOCKHOME_WORD_H
#define TALLY_LOCKHOME_WORD_H

#include "lock/fsm_home_pump.h"

/*
 * FAA(+W) completes with old: F = bits of old, plus the bit of old's owner,
 * minus nodes in the queue or dead.  DRAIN (pump sends REVOKE(0) to the owner)
 */
static void lh_setw_done(struct tally_lh *lh, u64 old,
			 struct tally_lh_actions *out)
{
	const struct tally_lh_node *n;

	if (tally_lw_w(old)) {
		lh_word_bad(lh, out);
		return;
	}
	lh->fast = tally_lw_bits(old) | tally_lh_slot_mask(tally_lw_owner(old));
	for (n = lh->head; n; n = n->next)
		lh->fast &= ~tally_lh_slot_mask(n->slot);
	lh->fast &= ~(lh->sweep_next | tally_lh_slot_mask(lh->sweep));
	lh_fast_unasked(lh, ~0ULL);
	lh->hm = TALLY_LH_DRAIN;
}

/* FAA(-W) completes: FAST; queue not empty: post FAA(+W), SETW */
static void lh_clrw_done(struct tally_lh *lh, u64 old,
			 struct tally_lh_actions *out)
{
	if (!tally_lw_w(old)) {
		lh_word_bad(lh, out);
		return;
	}
	lh->hm = TALLY_LH_FAST;
	if (lh->head || lh->forced)
		lh_post_setw(lh, out);
}

/* What @slot has in the word. */
static u64 lh_field(u64 state, u16 slot)
{
	u64 bit = tally_lh_slot_mask(slot) & tally_lw_bits(state);

	return (tally_lw_owner(state) == slot ? slot : 0) +
	       (bit << TALLY_LW_BIT_SHIFT);
}

/*
 * The field of @slot is to go.  One sweep at a time is posted, and what is left
 * of @slot is read then: nobody but the home changes it any more.
 */
static void lh_post_sweep(struct tally_lh *lh, u16 slot, u64 state,
			  struct tally_lh_actions *out)
{
	struct tally_lh_action *a;
	u64 field = lh_field(state, slot);

	lh->sweep = field ? slot : 0;
	if (!field)
		return;
	a = lh_emit(out, TALLY_LHA_POST_SWEEP);
	a->slot = slot;
	a->delta = field;
}

static void lh_swept(struct tally_lh *lh, u64 state,
		     struct tally_lh_actions *out)
{
	u16 slot = 1;

	lh->sweep = 0;
	for (; lh->sweep_next && !lh->sweep; slot++) {
		if (!(lh->sweep_next & tally_lh_slot_mask(slot)))
			continue;
		lh->sweep_next &= ~tally_lh_slot_mask(slot);
		lh_post_sweep(lh, slot, state, out);
	}
}

static void lh_sweep(struct tally_lh *lh, u16 slot, u64 state,
		     struct tally_lh_actions *out)
{
	if (tally_lh_sweeping(lh, slot) || !lh_field(state, slot))
		return;
	if (lh->sweep)
		lh->sweep_next |= tally_lh_slot_mask(slot);
	else
		lh_post_sweep(lh, slot, state, out);
}

static void lh_sweep_done(struct tally_lh *lh, const struct tally_lh_event *ev,
			  struct tally_lh_actions *out)
{
	if (!lh->sweep || lh->sweep != ev->slot)
		out->bug = true;
	else if (!lh_field(ev->old, ev->slot))
		lh_word_bad(lh, out);
	else
		lh_swept(lh, ev->state, out);
}

/*
 * The loopback QP was destroyed with FAA(+W), FAA(-W) or a sweep in flight:
 * read W, which only the home writes, and the field, whose node is gone, and
 * post again what was not done.  With W in, no new owner comes, so the word as
 * it is now serves as the value that FAA(+W) returned.
 */
static void lh_loop_reset(struct tally_lh *lh, const struct tally_lh_event *ev,
			  struct tally_lh_actions *out)
{
	bool w = tally_lw_w(ev->state);

	if (lh->hm == TALLY_LH_SETW && w)
		lh_setw_done(lh, ev->state & ~TALLY_LW_W, out);
	else if (lh->hm == TALLY_LH_SETW)
		lh_post_setw(lh, out);
	else if (lh->hm == TALLY_LH_CLRW && w)
		lh_post_clrw(lh, ev, out);
	else if (lh->hm == TALLY_LH_CLRW)
		lh_clrw_done(lh, TALLY_LW_W, out);

	if (lh->sweep && lh_field(ev->state, lh->sweep))
		lh_post_sweep(lh, lh->sweep, ev->state, out);
	else
		lh_swept(lh, ev->state, out);
}

/* A loopback operation completed; only one that is in flight can. */
static void lh_w_done(struct tally_lh *lh, const struct tally_lh_event *ev,
		      struct tally_lh_actions *out)
{
	if (ev->kind == TALLY_LHE_SETW_DONE && lh->hm == TALLY_LH_SETW)
		lh_setw_done(lh, ev->old, out);
	else if (ev->kind == TALLY_LHE_CLRW_DONE && lh->hm == TALLY_LH_CLRW)
		lh_clrw_done(lh, ev->old, out);
	else
		out->bug = true;
}

#endif
