/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The home side of one lock: what is done next, seen from state and word only,
 * never from the event that came.  Part of lock/fsm_home.c.
 */
#ifndef TALLY_LOCKHOME_PUMP_H
#define TALLY_LOCKHOME_PUMP_H

#include "lock/fsm_home_queue.h"

/* post FAA(+W), SETW */
static void lh_post_setw(struct tally_lh *lh, struct tally_lh_actions *out)
{
	lh->hm = TALLY_LH_SETW;
	lh_emit(out, TALLY_LHA_POST_SETW);
}

/*
 * post, in one doorbell, FAA(token, max(0, ng - token)) and FAA(state, -W);
 * CLRW.  A token word read too early only makes the difference larger.  Fast
 * tenures are simply left alone.
 */
static void lh_post_clrw(struct tally_lh *lh, const struct tally_lh_event *ev,
			 struct tally_lh_actions *out)
{
	lh->hm = TALLY_LH_CLRW;
	lh->fast = 0;
	lh_fast_unasked(lh, ~0ULL);
	lh_emit(out, TALLY_LHA_POST_CLRW)->delta =
		lh->ng > ev->token ? lh->ng - ev->token : 0;
}

/* A head that does not want to wait only asks holders whether they are idle. */
static u8 lh_asked_by_head(const struct tally_lh *lh)
{
	return lh->head->try ? TALLY_LH_ASKED_IDLE : TALLY_LH_ASKED;
}

/* Fast holders: the owner in DRAIN, and F as far as the word still shows it. */
static u64 lh_fast_holders(const struct tally_lh *lh, u64 state)
{
	u64 holders = lh->fast & tally_lw_bits(state);

	if (lh->hm == TALLY_LH_DRAIN)
		holders |= tally_lh_slot_mask(tally_lw_owner(state));
	return holders;
}

/* False: one of them makes a try pointless. */
static bool lh_ask_all_fast(struct tally_lh *lh, struct tally_lh_actions *out,
			    u64 holders, u8 asked)
{
	u16 slot = 1;

	for (; holders; holders >>= 1, slot++) {
		if (!(holders & 1))
			continue;
		if (!lh_room(out))
			return true;
		if (!lh_ask_fast(lh, out, slot, asked))
			return false;
	}
	return true;
}

static bool lh_ask_shared(struct tally_lh *lh, struct tally_lh_actions *out,
			  u8 asked)
{
	struct tally_lh_node *n;

	for (n = lh->shared; n; n = n->next) {
		if (!lh_room(out))
			return true;
		if (!lh_ask(out, n, n->gen, asked))
			return false;
	}
	return true;
}

/* break: REVOKE(gen, force) and REVOKE(0, force) to those it is meant for */
static void lh_pump_force(struct tally_lh *lh, const struct tally_lh_event *ev,
			  struct tally_lh_actions *out)
{
	struct tally_lh_node *n;

	if (lh->cur && lh->cur->force && lh_room(out))
		lh_ask(out, lh->cur, lh->gen, TALLY_LH_ASKED_FORCE);
	for (n = lh->shared; n; n = n->next)
		if (n->force && lh_room(out))
			lh_ask(out, n, n->gen, TALLY_LH_ASKED_FORCE);
	if (lh->hm == TALLY_LH_MAN && !lh->fast)
		lh->forced = false;
	if (lh->forced)
		lh_ask_all_fast(lh, out, lh_fast_holders(lh, ev->state),
				TALLY_LH_ASKED_FORCE);
}

/* A try that somebody is in the way of is DENIED, and the next one looked at. */
static bool lh_asked_or_denied(struct tally_lh *lh,
			       struct tally_lh_actions *out, bool asked)
{
	if (asked)
		return false;
	lh_deny(lh, out, lh->head);
	return true;
}

/*
 * 6. cur set: queue not empty, head X, chain not full: take it off, append
 *    (head, ++ng) to the chain, SUCC to the one before it.  Repeat
 *    Chain empty, head S: REVOKE(cur.gen) once per tenure.  Stop
 *    Chain empty, head try: REVOKE(cur.gen, idle-only).  Stop
 */
static bool lh_pump_cur(struct tally_lh *lh, struct tally_lh_actions *out)
{
	struct tally_lh_node *head = lh->head;
	int k = 0;

	while (k < TALLY_LH_CHAIN && lh->suc_gen[k])
		k++;
	if (!head || k == TALLY_LH_CHAIN)
		return false;
	if (!head->try && head->mode == TALLY_LMODE_X) {
		lh->suc[k] = lh_pop(lh);
		lh->suc_gen[k] = ++lh->ng;
		lh_send_succ(lh, out, k);
		return true;
	}
	return !k && lh_asked_or_denied(lh, out,
					lh_ask(out, lh->cur, lh->gen,
					       lh_asked_by_head(lh)));
}

/* 5. DRAIN: REVOKE(0) to the owner, once, if it lives.  Stop */
static bool lh_pump_drain(struct tally_lh *lh, const struct tally_lh_event *ev,
			  struct tally_lh_actions *out)
{
	u16 owner = tally_lw_owner(ev->state);

	if (!lh->head || tally_lh_sweeping(lh, owner))
		return false;
	return lh_asked_or_denied(lh, out,
				  lh_ask_fast(lh, out, owner,
					      lh_asked_by_head(lh)));
}

/*
 * 8. head S: take it off, SH[head] = ++ng, GRANT.  Repeat from 7
 * 9. head X, SH empty, F empty: ng = max(ng, token word), take it off, cur =
 *    (head, ++ng), GRANT.  Repeat from 6
 * 10. head X behind readers: REVOKE(SH[k]) to each of SH and REVOKE(0) to each
 *    of F, once each; idle-only for a try.  Stop
 */
static bool lh_pump_queue(struct tally_lh *lh, const struct tally_lh_event *ev,
			  struct tally_lh_actions *out)
{
	struct tally_lh_node *node = lh->head;
	u8 asked = lh_asked_by_head(lh);

	if (node->mode == TALLY_LMODE_S) {
		lh_shared_add(lh, lh_pop(lh), ++lh->ng);
		lh_grant(out, node, TALLY_LMODE_S, node->gen);
		return true;
	}
	if (!lh->shared && !lh->fast) {
		lh_raise(lh, ev->token);
		lh->cur = lh_pop(lh);
		lh->via = NULL;
		lh->gen = ++lh->ng;
		lh_grant_cur(lh, out);
		return true;
	}
	return lh_asked_or_denied(lh, out,
				  lh_ask_shared(lh, out, asked) &&
				  lh_ask_all_fast(lh, out,
						  lh_fast_holders(lh, ev->state),
						  asked));
}

/* True: more may be possible now. */
static bool lh_pump_once(struct tally_lh *lh, const struct tally_lh_event *ev,
			 struct tally_lh_actions *out)
{
	bool forcing = lh->forced &&
		       (lh->hm == TALLY_LH_DRAIN || lh->fast);

	if (!lh_room(out))
		return false;
	if (!lh->cur && !lh->shared && !lh->head) {
		if (!lh->cpu && !forcing)
			lh_post_clrw(lh, ev, out);
		return false;
	}
	if (lh->cur)
		return lh_pump_cur(lh, out);
	if (lh->hm == TALLY_LH_DRAIN)
		return lh_pump_drain(lh, ev, out);
	return lh->head && lh_pump_queue(lh, ev, out);
}

/*
 * 1. DRAIN and owner(word) = 0: MAN, ng = max(ng, token word)
 * 2. MAN, F not empty, and (bits(word) & F) = 0: F = empty
 * 3. Not DRAIN or MAN: stop.  Grace: grants nothing, clears nothing
 * 4. no cur, SH empty, queue empty: word arenas post FAA(token), FAA(-W); CLRW.
 *    Stop
 * 5. DRAIN: stop
 * 7. queue empty: stop
 */
static void lh_pump(struct tally_lh *lh, const struct tally_lh_event *ev,
		    struct tally_lh_actions *out)
{
	if (lh->hm == TALLY_LH_DRAIN && !tally_lw_owner(ev->state)) {
		lh->hm = TALLY_LH_MAN;
		lh_raise(lh, ev->token);
	}
	if (lh->hm == TALLY_LH_MAN && !(tally_lw_bits(ev->state) & lh->fast)) {
		lh->fast = 0;
		lh_fast_unasked(lh, ~0ULL);
	}
	if ((lh->hm != TALLY_LH_DRAIN && lh->hm != TALLY_LH_MAN) || lh->grace)
		return;
	lh_pump_force(lh, ev, out);
	while (lh_pump_once(lh, ev, out))
		;
}

#endif
