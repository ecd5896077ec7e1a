/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The client side of one lock: how a tenure is begun, shared out among the
 * users of this node, kept, handed on and given back.  Part of lock/fsm_client.c.
 */
#ifndef TALLY_LOCKCLIENT_FLOW_H
#define TALLY_LOCKCLIENT_FLOW_H

#include <linux/errno.h>

#include "lock/fsm_client.h"

/* The message is for who sends one to fill in; clearing it takes long. */
static struct tally_lc_action *lc_emit(struct tally_lc_actions *out, u8 kind)
{
	struct tally_lc_action *a;

	if (out->n == TALLY_LC_ACTIONS) {
		out->bug = true;
		out->n--;
	}
	a = &out->a[out->n++];
	a->kind = kind;
	a->err = 0;
	a->token = 0;
	a->compare = 0;
	a->value = 0;
	return a;
}

static struct tally_lc_action *lc_post(struct tally_lc *lc,
				       struct tally_lc_actions *out, u8 op)
{
	static const u8 post[] = {
		[TALLY_LC_OP_ACQ_X]	= TALLY_LCA_POST_CAS_FAA,
		[TALLY_LC_OP_ACQ_S]	= TALLY_LCA_POST_FAA_FAA,
		[TALLY_LC_OP_REL]	= TALLY_LCA_POST_FAA,
		[TALLY_LC_OP_DOWN]	= TALLY_LCA_POST_FAA,
		[TALLY_LC_OP_UPG]	= TALLY_LCA_POST_CAS_FAA,
		[TALLY_LC_OP_CLAIM]	= TALLY_LCA_POST_FAA,
		[TALLY_LC_OP_READ]	= TALLY_LCA_POST_READ,
		[TALLY_LC_OP_TOKEN]	= TALLY_LCA_POST_TOKEN_FAA,
	};

	out->bug |= lc->op != TALLY_LC_OP_NONE;
	lc->op = op;
	return lc_emit(out, post[op]);
}

/* What is not sent while the link is down is in RESYNC as state. */
static void lc_send(struct tally_lc *lc, struct tally_lc_actions *out,
		    struct tally_lmsg msg)
{
	if (lc->up)
		lc_emit(out, TALLY_LCA_SEND)->msg = msg;
}

static void lc_fail(struct tally_lc *lc, struct tally_lc_actions *out, int err)
{
	lc->want = false;
	lc_emit(out, TALLY_LCA_FAILED)->err = err;
}

/* What this node has in the word for a tenure of @mode. */
static u64 lc_field(const struct tally_lc *lc, u8 mode)
{
	return mode == TALLY_LMODE_S ? tally_lw_bit(lc->slot) : lc->slot;
}

/* Has @state the field of a tenure of @mode? */
static bool lc_in_word(const struct tally_lc *lc, u8 mode, u64 state)
{
	if (mode == TALLY_LMODE_S)
		return state & tally_lw_bit(lc->slot);
	return tally_lw_owner(state) == lc->slot;
}

/* Claim, @last, what comes early and what users want outlive a tenure. */
static void lc_clear(struct tally_lc *lc, u8 st)
{
	lc->st = st;
	lc->mode = 0;
	lc->doubt = TALLY_LC_OP_NONE;
	lc->local = 0;
	lc->inside = 0;
	lc->users = 0;
	lc->spent = 0;
	lc->fast = false;
	lc->rv = false;
	lc->force = false;
	lc->canc = false;
	lc->try = false;
	lc->gen = 0;
	lc->tenure = 0;
	lc->succ = (struct tally_lc_succ){};
}

static void lc_no_early(struct tally_lc *lc)
{
	lc->early = 0;
	lc->early_rv = false;
	lc->early_force = false;
	lc->early_succ = (struct tally_lc_succ){};
}

/* The users inside have lost the lock. */
static void lc_lose(struct tally_lc *lc, struct tally_lc_actions *out)
{
	if (!lc->users)
		return;
	lc->users = 0;
	lc->inside = 0;
	lc_emit(out, TALLY_LCA_LOST);
}

/* A word that breaks an assertion ends the use of the lock. */
static void lc_word_bad(struct tally_lc *lc, struct tally_lc_actions *out)
{
	lc_emit(out, TALLY_LCA_WORD_BAD);
	lc_lose(lc, out);
	if (lc->want)
		lc_fail(lc, out, -EIO);
	lc_clear(lc, TALLY_LC_DEAD);
	lc_no_early(lc);
	lc->claim = TALLY_LC_CLAIM_NONE;
	lc->parked = 0;
	lc->err = -EIO;
}

/* ENQUEUE(mode, try), WAIT */
static void lc_enqueue(struct tally_lc *lc, struct tally_lc_actions *out)
{
	lc->st = TALLY_LC_WAIT;
	lc->mode = lc->want_mode;
	lc->fast = false;
	lc->tenure = 0;
	lc->rv = false;
	lc->force = false;
	lc->try = lc->want_try;
	lc_send(lc, out, (struct tally_lmsg){
		.type = TALLY_LM_ENQUEUE,
		.mode = lc->mode,
		.flags = lc->try ? TALLY_LMF_TRY : 0,
	});
}

/* any time soon | claim IN: post FAA(state, -bit i); OUT */
static void lc_claim_out(struct tally_lc *lc, struct tally_lc_actions *out)
{
	if (lc->claim != TALLY_LC_CLAIM_IN || !lc->up)
		return;
	lc->claim = TALLY_LC_CLAIM_OUT;
	lc_post(lc, out, TALLY_LC_OP_CLAIM)->value =
		tally_lw_minus(tally_lw_bit(lc->slot));
}

/*
 * local user wants X | IDLE, claim none: post CAS(state, 0 -> i) and
 *   FAA(token, +1); ATT
 * local user wants S | IDLE, claim none: post FAA(state, +bit i) and
 *   FAA(token, +1); ATT
 * A node that recently saw W, has no bit, or is in a cpu arena: ENQUEUE, WAIT.
 * With a claim the user waits for its removal, which has been posted.
 *
 * A try always looks at the word where there is one: it may be free there.
 */
static void lc_start(struct tally_lc *lc, struct tally_lc_actions *out)
{
	if (!lc->up) {
		if (lc->want_try)
			lc_fail(lc, out, -ENOTCONN);
		return;
	}
	if (!lc->word || (lc->want_direct && !lc->want_try)) {
		lc_enqueue(lc, out);
		return;
	}
	if (lc->claim != TALLY_LC_CLAIM_NONE)
		return;
	lc->mode = lc->want_mode;
	lc->st = TALLY_LC_ATT;
	if (lc->mode == TALLY_LMODE_S)
		lc_post(lc, out, TALLY_LC_OP_ACQ_S)->value =
			tally_lw_bit(lc->slot);
	else
		lc_post(lc, out, TALLY_LC_OP_ACQ_X)->value = lc->slot;
}

/* Entry to IDLE; a user that came meanwhile starts at once. */
static void lc_idle(struct tally_lc *lc, struct tally_lc_actions *out)
{
	lc_clear(lc, TALLY_LC_IDLE);
	lc_no_early(lc);
	lc_claim_out(lc, out);
	if (lc->want)
		lc_start(lc, out);
	if (tally_lc_idle(lc))
		lc_emit(out, TALLY_LCA_RELEASED);
}

/*
 * release | fast HOLD/CACHED: post FAA(state, -i) or FAA(state, -bit i); RELF.
 *   link down: a word posted on a dead link is in doubt, so it is not posted
 */
static void lc_release_fast(struct tally_lc *lc, struct tally_lc_actions *out)
{
	lc->rv = false;
	lc->force = false;
	if (lc->up) {
		lc->st = TALLY_LC_RELF;
		lc->doubt = TALLY_LC_OP_NONE;
		lc_post(lc, out, TALLY_LC_OP_REL)->value =
			tally_lw_minus(lc_field(lc, lc->mode));
	} else {
		lc->st = TALLY_LC_DBT;
		lc->doubt = TALLY_LC_OP_REL;
	}
}

/*
 * release, succ set, mode X | HOLD/CACHED: HANDOVER(next_gen) to next and
 *   DONE(gen) to home; IDLE
 * release | HOLD/CACHED: REL(gen); IDLE
 */
static void lc_release_managed(struct tally_lc *lc,
			       struct tally_lc_actions *out)
{
	bool hand = lc->succ.gen && lc->mode == TALLY_LMODE_X;

	if (hand)
		lc_emit(out, TALLY_LCA_HANDOVER)->msg = (struct tally_lmsg){
			.type = TALLY_LM_HANDOVER,
			.next_slot = lc->succ.slot,
			.next_session = lc->succ.session,
			.next_gen = lc->succ.gen,
		};
	lc_send(lc, out, (struct tally_lmsg){
		.type = hand ? TALLY_LM_DONE : TALLY_LM_REL,
		.flags = lc->force ? TALLY_LMF_VALUE_BAD : 0,
		.gen = lc->gen,
	});
	lc_idle(lc, out);
}

static void lc_release(struct tally_lc *lc, struct tally_lc_actions *out)
{
	lc->users = 0;
	lc->inside = 0;
	if (lc->fast)
		lc_release_fast(lc, out);
	else
		lc_release_managed(lc, out);
}

/* An X tenure serves local S users as it is. */
static bool lc_fits(const struct tally_lc *lc)
{
	return lc->mode == TALLY_LMODE_X || lc->want_mode == TALLY_LMODE_S;
}

static void lc_enter(struct tally_lc *lc, struct tally_lc_actions *out)
{
	lc->st = TALLY_LC_HOLD;
	lc->want = false;
	lc->users++;
	lc->inside = lc->want_mode;
	lc_emit(out, TALLY_LCA_GRANTED)->token =
		tally_token(lc->tenure, lc->local);
}

/*
 * HOLD or CACHED and a user waits who fits: the next sub-number.  k full: a
 * fast tenure takes a new c by FAA(token, +1) while holding, a managed one
 * releases.
 */
static void lc_again(struct tally_lc *lc, struct tally_lc_actions *out)
{
	if (lc->local < TALLY_TOKEN_LOCAL_MAX) {
		lc->local++;
		lc_enter(lc, out);
	} else if (lc->fast && lc->up) {
		lc->st = TALLY_LC_ATT;
		lc_post(lc, out, TALLY_LC_OP_TOKEN);
	} else {
		lc_release(lc, out);
	}
}

/*
 * May one more local user have the tenure?  Before the recall always, after it
 * while the cohort budget lasts, and readers of an S tenure not at all.
 */
static bool lc_may_go_on(struct tally_lc *lc, bool late)
{
	if (!lc->want || !lc_fits(lc))
		return false;
	if (!tally_lc_recalled(lc))
		return true;
	if (late || lc->mode == TALLY_LMODE_S || lc->spent >= lc->budget)
		return false;
	lc->spent++;
	return true;
}

/*
 * local unlock | HOLD: neither succ nor rv: next local user, or CACHED, or
 *   release.  With succ or rv: local users only while the cohort budget lasts,
 *   then release
 *
 * Only tenures that can be had back without the home are worth keeping: in an
 * arena with words a managed one keeps W set for everybody.
 */
static void lc_last_out(struct tally_lc *lc, struct tally_lc_actions *out,
			bool late)
{
	lc->inside = 0;
	if (lc_may_go_on(lc, late))
		lc_again(lc, out);
	else if (!lc->want && !tally_lc_recalled(lc) && lc->cache &&
		 (lc->fast || !lc->word))
		lc->st = TALLY_LC_CACHED;
	else
		lc_release(lc, out);
}

/*
 * HOLD.  Nobody wants it any more, or not in this mode: go on as at local
 * unlock.
 */
static void lc_hold(struct tally_lc *lc, struct tally_lc_actions *out,
		    u64 tenure)
{
	lc->st = TALLY_LC_HOLD;
	lc->tenure = tenure;
	lc->local = 0;
	lc->canc = false;
	lc->try = false;
	if (lc->force || !lc->want || !lc_fits(lc)) {
		lc->rv |= lc->force;
		lc_last_out(lc, out, true);
		return;
	}
	lc_enter(lc, out);
	if (tally_lc_recalled(lc))
		lc_emit(out, TALLY_LCA_RECALL);
}

/*
 * HOLD and a user waits: it joins others inside where all are in S and nobody
 * else waits (after rv no new local reader joins an S hold).  Else it waits for
 * them to leave; a try does not.
 */
static void lc_join(struct tally_lc *lc, struct tally_lc_actions *out)
{
	bool joins = lc->inside == TALLY_LMODE_S &&
		     lc->want_mode == TALLY_LMODE_S && !tally_lc_recalled(lc);

	if (!lc->want)
		return;
	if (joins && lc->local < TALLY_TOKEN_LOCAL_MAX) {
		lc->local++;
		lc_enter(lc, out);
	} else if (lc->want_try) {
		lc_fail(lc, out, -EBUSY);
	}
}

/* HOLD again after an operation that left the users inside where they are. */
static void lc_hold_on(struct tally_lc *lc, struct tally_lc_actions *out)
{
	lc->st = TALLY_LC_HOLD;
	if (lc->users)
		lc_join(lc, out);
	else
		lc_last_out(lc, out, true);
}

/* The home or the word said no to an upgrade, or it came too late. */
static void lc_not_upgraded(struct tally_lc *lc, struct tally_lc_actions *out)
{
	if (lc->users)
		lc_emit(out, TALLY_LCA_NOT_UPGRADED)->err = -EDEADLK;
	lc_hold_on(lc, out);
}

/* The tenure is exclusive now and has a new number. */
static void lc_upgraded(struct tally_lc *lc, struct tally_lc_actions *out,
			u64 tenure)
{
	lc->mode = TALLY_LMODE_X;
	lc->tenure = tenure;
	lc->local = 0;
	if (lc->users) {
		lc->inside = TALLY_LMODE_X;
		lc_emit(out, TALLY_LCA_UPGRADED)->token = tally_token(tenure, 0);
	}
	lc_hold_on(lc, out);
}

#endif
