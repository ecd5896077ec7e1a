/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The client side of one lock: completions of its operations on the word, and
 * what is done about those in doubt.  Part of lock/fsm_client.c.
 */
#ifndef TALLY_LOCKCLIENT_WORD_H
#define TALLY_LOCKCLIENT_WORD_H

#include "lock/fsm_client_flow.h"

static void lc_look(struct tally_lc *lc, struct tally_lc_actions *out,
		    u64 state)
{
	if (tally_lw_w(state))
		lc_send(lc, out, (struct tally_lmsg){ .type = TALLY_LM_LOOK });
}

/*
 * completion, failed | ATT: clear rv; ENQUEUE(mode, try), WAIT.  Nobody wants
 *   it any more: IDLE.  try and old.W = 0 where locks are not cached: -EBUSY,
 *   IDLE (whoever is in the word is inside)
 */
static void lc_acq_failed(struct tally_lc *lc, struct tally_lc_actions *out,
			  u64 state)
{
	if (lc->want && lc->want_try && !tally_lw_w(state) && !lc->cache)
		lc_fail(lc, out, -EBUSY);
	if (!lc->want) {
		lc_idle(lc, out);
		return;
	}
	lc_enqueue(lc, out);
	lc_claim_out(lc, out);
}

/*
 * completion, X, old = 0 | ATT: token = old token + 1; HOLD, fast
 *
 * An own owner field or bit that is no hold can only be a stray operation of
 * this slot.
 */
static void lc_acq_x_done(struct tally_lc *lc, const struct tally_lc_event *ev,
			  struct tally_lc_actions *out)
{
	if (!ev->state) {
		lc->fast = true;
		lc_hold(lc, out, ev->token + 1);
	} else if (lc_in_word(lc, TALLY_LMODE_X, ev->state) ||
		   lc_in_word(lc, TALLY_LMODE_S, ev->state)) {
		lc_word_bad(lc, out);
	} else {
		lc_acq_failed(lc, out, ev->state);
	}
}

/*
 * completion, S, old.owner = 0 and old.W = 0 | ATT: token = old token + 1;
 *   HOLD, fast
 * completion, S, failed | ATT: claim = IN; then as X failed
 */
static void lc_acq_s_done(struct tally_lc *lc, const struct tally_lc_event *ev,
			  struct tally_lc_actions *out)
{
	if (lc_in_word(lc, TALLY_LMODE_X, ev->state) ||
	    lc_in_word(lc, TALLY_LMODE_S, ev->state)) {
		lc_word_bad(lc, out);
	} else if (!tally_lw_owner(ev->state) && !tally_lw_w(ev->state)) {
		lc->fast = true;
		lc_hold(lc, out, ev->token + 1);
	} else {
		lc->claim = TALLY_LC_CLAIM_IN;
		lc_acq_failed(lc, out, ev->state);
	}
}

/* The own field is out of the word: IDLE; old.W = 1: send LOOK */
static void lc_gone(struct tally_lc *lc, struct tally_lc_actions *out,
		    u64 state)
{
	lc_look(lc, out, state);
	lc_idle(lc, out);
}

/* its completion | RELF: IDLE; old.W = 1: send LOOK */
static void lc_rel_done(struct tally_lc *lc, const struct tally_lc_event *ev,
			struct tally_lc_actions *out)
{
	if (lc_in_word(lc, lc->mode, ev->state))
		lc_gone(lc, out, ev->state);
	else
		lc_word_bad(lc, out);
}

/* The bit that was no hold is out: a user that waited for that starts. */
static void lc_claim_gone(struct tally_lc *lc, struct tally_lc_actions *out,
			  u64 state)
{
	lc->claim = TALLY_LC_CLAIM_NONE;
	lc_look(lc, out, state);
	if (lc->st != TALLY_LC_IDLE)
		return;
	if (lc->want)
		lc_start(lc, out);
	if (tally_lc_idle(lc))
		lc_emit(out, TALLY_LCA_RELEASED);
}

/* its completion | claim OUT: claim none; old.W = 1: send LOOK */
static void lc_claim_done(struct tally_lc *lc, const struct tally_lc_event *ev,
			  struct tally_lc_actions *out)
{
	if (lc_in_word(lc, TALLY_LMODE_S, ev->state))
		lc_claim_gone(lc, out, ev->state);
	else
		lc_word_bad(lc, out);
}

static void lc_post_down(struct tally_lc *lc, struct tally_lc_actions *out)
{
	lc->st = TALLY_LC_DNF;
	lc->doubt = TALLY_LC_OP_NONE;
	lc_post(lc, out, TALLY_LC_OP_DOWN)->value =
		tally_lw_bit(lc->slot) + tally_lw_minus(lc->slot);
}

/* downgrade has executed | DNF: mode S, old.W = 1: send LOOK */
static void lc_downgraded(struct tally_lc *lc, struct tally_lc_actions *out,
			  u64 state)
{
	lc->mode = TALLY_LMODE_S;
	lc->doubt = TALLY_LC_OP_NONE;
	lc_look(lc, out, state);
	lc_hold_on(lc, out);
}

static void lc_down_done(struct tally_lc *lc, const struct tally_lc_event *ev,
			 struct tally_lc_actions *out)
{
	if (lc_in_word(lc, TALLY_LMODE_X, ev->state) &&
	    !lc_in_word(lc, TALLY_LMODE_S, ev->state))
		lc_downgraded(lc, out, ev->state);
	else
		lc_word_bad(lc, out);
}

/*
 * try-upgrade, success | UPF: mode X with the new token
 * try-upgrade, else | UPF: stays S, -EDEADLK
 */
static void lc_upg_done(struct tally_lc *lc, const struct tally_lc_event *ev,
			struct tally_lc_actions *out)
{
	if (ev->state == tally_lw_bit(lc->slot))
		lc_upgraded(lc, out, ev->token + 1);
	else if (lc_in_word(lc, TALLY_LMODE_S, ev->state))
		lc_not_upgraded(lc, out);
	else
		lc_word_bad(lc, out);
}

/* A tenure that needed a number has one: an upgrade, or a hold. */
static void lc_token_done(struct tally_lc *lc, const struct tally_lc_event *ev,
			  struct tally_lc_actions *out)
{
	if (lc->st == TALLY_LC_UPF)
		lc_upgraded(lc, out, ev->token + 1);
	else
		lc_hold(lc, out, ev->token + 1);
}

/*
 * in doubt: CAS(0 -> i) | READ shows owner = i: acquired: FAA(token, +1) again
 *   for a token; HOLD fast (or release, if nobody wants it)
 * in doubt: CAS(0 -> i) | other: not acquired: IDLE, start again
 * in doubt: FAA(+bit) | bit, owner = 0, W = 0: acquired: token as above
 * in doubt: FAA(+bit) | bit, else: claim IN; ENQUEUE
 * in doubt: FAA(+bit) | no bit: IDLE, start again
 */
static void lc_read_acq(struct tally_lc *lc, struct tally_lc_actions *out,
			u64 state)
{
	bool held = lc->doubt == TALLY_LC_OP_ACQ_X ||
		    (!tally_lw_owner(state) && !tally_lw_w(state));

	if (!lc_in_word(lc, lc->mode, state)) {
		lc_idle(lc, out);
		return;
	}
	if (!held) {
		lc->doubt = TALLY_LC_OP_NONE;
		lc->claim = TALLY_LC_CLAIM_IN;
		lc_acq_failed(lc, out, state);
		return;
	}
	if (!lc->up)
		return;
	lc->fast = true;
	lc->doubt = TALLY_LC_OP_NONE;
	if (!lc->want || lc->force) {
		lc_release(lc, out);
		return;
	}
	lc->st = TALLY_LC_ATT;
	lc_post(lc, out, TALLY_LC_OP_TOKEN);
}

/*
 * in doubt: FAA(-i), FAA(-bit) release | still mine: post it again
 * in doubt: FAA(-i), FAA(-bit) release | not mine: done; W = 1: send LOOK
 */
static void lc_read_rel(struct tally_lc *lc, struct tally_lc_actions *out,
			u64 state)
{
	if (!lc_in_word(lc, lc->mode, state))
		lc_gone(lc, out, state);
	else if (lc->up)
		lc_release(lc, out);
}

/* in doubt: downgrade | owner = i / bit: post it again / done, LOOK if W = 1 */
static void lc_read_down(struct tally_lc *lc, struct tally_lc_actions *out,
			 u64 state)
{
	if (lc_in_word(lc, TALLY_LMODE_S, state))
		lc_downgraded(lc, out, state);
	else if (!lc_in_word(lc, TALLY_LMODE_X, state))
		lc_word_bad(lc, out);
	else if (lc->up)
		lc_post_down(lc, out);
}

/* in doubt: upgrade | owner = i / bit: X, new token by FAA / still S */
static void lc_read_upg(struct tally_lc *lc, struct tally_lc_actions *out,
			u64 state)
{
	if (lc_in_word(lc, TALLY_LMODE_S, state)) {
		lc->doubt = TALLY_LC_OP_NONE;
		lc_not_upgraded(lc, out);
	} else if (!lc_in_word(lc, TALLY_LMODE_X, state)) {
		lc_word_bad(lc, out);
	} else if (lc->up) {
		lc->doubt = TALLY_LC_OP_NONE;
		lc->st = TALLY_LC_UPF;
		lc->mode = TALLY_LMODE_X;
		lc_post(lc, out, TALLY_LC_OP_TOKEN);
	}
}

/* in doubt: claim removal | bit / no bit: claim IN / none, LOOK if W = 1 */
static void lc_read_claim(struct tally_lc *lc, struct tally_lc_actions *out,
			  u64 state)
{
	if (!lc_in_word(lc, TALLY_LMODE_S, state)) {
		lc_claim_gone(lc, out, state);
		return;
	}
	lc->claim = TALLY_LC_CLAIM_IN;
	lc_claim_out(lc, out);
}

/* The link may be down again: what is still mine stays in doubt then. */
static void lc_read_done(struct tally_lc *lc, const struct tally_lc_event *ev,
			 struct tally_lc_actions *out)
{
	if (lc->claim == TALLY_LC_CLAIM_DOUBT)
		lc_read_claim(lc, out, ev->state);
	else if (lc->doubt == TALLY_LC_OP_REL)
		lc_read_rel(lc, out, ev->state);
	else if (lc->doubt == TALLY_LC_OP_DOWN)
		lc_read_down(lc, out, ev->state);
	else if (lc->doubt == TALLY_LC_OP_UPG)
		lc_read_upg(lc, out, ev->state);
	else
		lc_read_acq(lc, out, ev->state);
}

/* link down | ATT, RELF, DNF, UPF, claim OUT: DBT / claim DOUBT */
static void lc_op_broken(struct tally_lc *lc, u8 op)
{
	if (op == TALLY_LC_OP_CLAIM) {
		lc->claim = TALLY_LC_CLAIM_DOUBT;
		return;
	}
	if (op == TALLY_LC_OP_READ)
		return;
	if (op == TALLY_LC_OP_TOKEN && lc->st == TALLY_LC_UPF)
		op = TALLY_LC_OP_UPG;
	else if (op == TALLY_LC_OP_TOKEN)
		op = lc->mode == TALLY_LMODE_S ? TALLY_LC_OP_ACQ_S :
						 TALLY_LC_OP_ACQ_X;
	lc->st = TALLY_LC_DBT;
	lc->doubt = op;
}

static void lc_op_good(struct tally_lc *lc, const struct tally_lc_event *ev,
		       struct tally_lc_actions *out)
{
	switch (ev->op) {
	case TALLY_LC_OP_ACQ_X:
		lc_acq_x_done(lc, ev, out);
		break;
	case TALLY_LC_OP_ACQ_S:
		lc_acq_s_done(lc, ev, out);
		break;
	case TALLY_LC_OP_REL:
		lc_rel_done(lc, ev, out);
		break;
	case TALLY_LC_OP_DOWN:
		lc_down_done(lc, ev, out);
		break;
	case TALLY_LC_OP_UPG:
		lc_upg_done(lc, ev, out);
		break;
	case TALLY_LC_OP_CLAIM:
		lc_claim_done(lc, ev, out);
		break;
	case TALLY_LC_OP_READ:
		lc_read_done(lc, ev, out);
		break;
	default:
		lc_token_done(lc, ev, out);
	}
}

static void lc_op_done(struct tally_lc *lc, const struct tally_lc_event *ev,
		       struct tally_lc_actions *out)
{
	if (lc->op == TALLY_LC_OP_NONE || lc->op != ev->op) {
		out->bug = true;
		return;
	}
	lc->op = TALLY_LC_OP_NONE;
	if (lc->st == TALLY_LC_DEAD)
		lc_emit(out, TALLY_LCA_RELEASED);
	else if (ev->broken)
		lc_op_broken(lc, ev->op);
	else
		lc_op_good(lc, ev, out);
}

#endif
