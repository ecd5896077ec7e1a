// SPDX-License-Identifier: GPL-2.0
/*
 * The client side of one lock.  Each function implements the rows of the client
 * table in docs/protocol.md that its comment quotes as "event | state: action".
 */
#include <linux/errno.h>
#include <linux/types.h>

#include "lock/fsm_client.h"

/* True from RELEASED until the next WANT. */
bool tally_lc_idle(const struct tally_lc *lc)
{
	if (lc->st == TALLY_LC_DEAD)
		return lc->op == TALLY_LC_OP_NONE;
	return lc->st == TALLY_LC_IDLE && !lc->want &&
	       lc->claim == TALLY_LC_CLAIM_NONE;
}

/* ---- a tenure: begun, shared by users of this node, kept, given back ---- */

/* The message is left to the senders of one: clearing it takes long. */
static struct tally_lc_action *lc_emit(struct tally_lc *lc, u8 kind)
{
	struct tally_lc_action *a;

	if (lc->out->n == TALLY_LC_ACTIONS) {
		lc->out->bug = true;
		lc->out->n--;
	}
	a = &lc->out->a[lc->out->n++];
	a->kind = kind;
	a->err = 0;
	a->token = 0;
	a->compare = 0;
	a->value = 0;
	return a;
}

static struct tally_lc_action *lc_post(struct tally_lc *lc, u8 op)
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

	lc->out->bug |= lc->op != TALLY_LC_OP_NONE;
	lc->op = op;
	return lc_emit(lc, post[op]);
}

/* What is not sent while the link is down is in RESYNC as state. */
static void lc_send(struct tally_lc *lc, struct tally_lmsg msg)
{
	if (lc->up)
		lc_emit(lc, TALLY_LCA_SEND)->msg = msg;
}

static void lc_say(struct tally_lc *lc, u8 type, u64 gen)
{
	lc_send(lc, (struct tally_lmsg){ .type = type, .gen = gen });
}

/* Something about the managed tenure. */
static void lc_say_mine(struct tally_lc *lc, u8 type, u8 flags)
{
	lc_send(lc, (struct tally_lmsg){
		.type = type,
		.flags = flags,
		.gen = lc->gen,
		.pass = lc->pass,
	});
}

static void lc_fail(struct tally_lc *lc, int err)
{
	lc->want = false;
	lc_emit(lc, TALLY_LCA_FAILED)->err = err;
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
	lc->pass = 0;
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

static void lc_lose(struct tally_lc *lc)
{
	if (!lc->users)
		return;
	lc->users = 0;
	lc->inside = 0;
	lc_emit(lc, TALLY_LCA_LOST);
}

/* Entry to DEAD: users inside lose the lock, those that want it get @err. */
static void lc_die(struct tally_lc *lc, int err)
{
	lc_lose(lc);
	if (lc->want)
		lc_fail(lc, err);
	lc_clear(lc, TALLY_LC_DEAD);
	lc_no_early(lc);
	lc->claim = TALLY_LC_CLAIM_NONE;
	lc->parked = 0;
	lc->parked_pass = 0;
	lc->err = err;
}

static void lc_word_bad(struct tally_lc *lc)
{
	lc_emit(lc, TALLY_LCA_WORD_BAD);
	lc_die(lc, -EIO);
}

static void lc_enqueue(struct tally_lc *lc)
{
	lc_clear(lc, TALLY_LC_WAIT);
	lc->mode = lc->want_mode;
	lc->try = lc->want_try;
	lc_send(lc, (struct tally_lmsg){
		.type = TALLY_LM_ENQUEUE,
		.mode = lc->mode,
		.flags = lc->try ? TALLY_LMF_TRY : 0,
	});
}

/* any time soon | claim IN: post FAA(state, -bit i); OUT */
static void lc_claim_out(struct tally_lc *lc)
{
	if (lc->claim != TALLY_LC_CLAIM_IN || !lc->up)
		return;
	lc->claim = TALLY_LC_CLAIM_OUT;
	lc_post(lc, TALLY_LC_OP_CLAIM)->value =
		tally_lw_minus(tally_lw_bit(lc->slot));
}

/*
 * local user wants X | IDLE, claim none: post CAS(state, 0 -> i) and
 *   FAA(token, +1); ATT
 * local user wants S | IDLE, claim none: the same with FAA(state, +bit i)
 * A node that recently saw W, has no bit, or is in a cpu arena: ENQUEUE, WAIT.
 * With a claim the user waits for its removal, which has been posted.
 *
 * A try always looks at the word where there is one: it may be free there.
 */
static void lc_start(struct tally_lc *lc)
{
	u8 op;

	if (!lc->up) {
		if (lc->want_try)
			lc_fail(lc, -ENOTCONN);
		return;
	}
	if (!lc->word || (lc->want_direct && !lc->want_try)) {
		lc_enqueue(lc);
		return;
	}
	if (lc->claim != TALLY_LC_CLAIM_NONE)
		return;
	lc->mode = lc->want_mode;
	lc->st = TALLY_LC_ATT;
	op = lc->mode == TALLY_LMODE_S ? TALLY_LC_OP_ACQ_S : TALLY_LC_OP_ACQ_X;
	lc_post(lc, op)->value = lc_field(lc, lc->mode);
}

/* Entry to IDLE; a user that came meanwhile starts at once. */
static void lc_idle(struct tally_lc *lc)
{
	lc_clear(lc, TALLY_LC_IDLE);
	lc_no_early(lc);
	lc_claim_out(lc);
	if (lc->want)
		lc_start(lc);
	if (tally_lc_idle(lc))
		lc_emit(lc, TALLY_LCA_RELEASED);
}

/*
 * release | fast HOLD/CACHED: post FAA(state, -i) or FAA(state, -bit i); RELF.
 *   link down: a word posted on a dead link is in doubt, so it is not posted
 */
static void lc_release_fast(struct tally_lc *lc)
{
	lc->rv = false;
	lc->force = false;
	lc->st = lc->up ? TALLY_LC_RELF : TALLY_LC_DBT;
	lc->doubt = lc->up ? TALLY_LC_OP_NONE : TALLY_LC_OP_REL;
	if (lc->up)
		lc_post(lc, TALLY_LC_OP_REL)->value =
			tally_lw_minus(lc_field(lc, lc->mode));
}

/*
 * release, succ with a way, mode X | HOLD/CACHED: HANDOVER(next_gen) to next and
 *   DONE(gen) to home; IDLE
 * release | HOLD/CACHED: REL(gen); IDLE
 */
static void lc_release(struct tally_lc *lc)
{
	bool hand = lc->succ.session && lc->mode == TALLY_LMODE_X;

	lc->users = 0;
	lc->inside = 0;
	if (lc->fast) {
		lc_release_fast(lc);
		return;
	}
	if (hand)
		lc_emit(lc, TALLY_LCA_HANDOVER)->msg = (struct tally_lmsg){
			.type = TALLY_LM_HANDOVER,
			.next_slot = lc->succ.slot,
			.next_session = lc->succ.session,
			.next_gen = lc->succ.gen,
			.pass = lc->succ.pass ^ lc->pass,
		};
	lc_say_mine(lc, hand ? TALLY_LM_DONE : TALLY_LM_REL,
		    lc->force ? TALLY_LMF_VALUE_BAD : 0);
	lc_idle(lc);
}

static void lc_post_down(struct tally_lc *lc)
{
	lc->st = TALLY_LC_DNF;
	lc->doubt = TALLY_LC_OP_NONE;
	lc_post(lc, TALLY_LC_OP_DOWN)->value =
		tally_lw_bit(lc->slot) + tally_lw_minus(lc->slot);
}

/*
 * downgrade | fast HOLD X: post FAA(state, +bit i - i); DNF
 * downgrade | HOLD X, managed: mode S; DOWN(gen); succ set: forget it, rv = 1.
 *   No HANDOVER for this gen after DOWN
 * link down, fast: in doubt without having been posted
 *
 * A recall of X ends with it: the home asks again, if readers are in the way.
 */
static void lc_down(struct tally_lc *lc)
{
	lc->inside = TALLY_LMODE_S;
	lc->rv = lc->succ.gen;
	lc->succ = (struct tally_lc_succ){};
	if (lc->fast && lc->up) {
		lc_post_down(lc);
	} else if (lc->fast) {
		lc->st = TALLY_LC_DBT;
		lc->doubt = TALLY_LC_OP_DOWN;
	} else {
		lc->mode = TALLY_LMODE_S;
		lc_say_mine(lc, TALLY_LM_DOWN, 0);
	}
}

/*
 * HOLD X and only readers inside | REVOKE, or the lock is not to be cached:
 *   downgrade.  Other nodes' readers are not to wait for ours
 */
static bool lc_share(struct tally_lc *lc, bool revoked)
{
	if (lc->st != TALLY_LC_HOLD || lc->mode != TALLY_LMODE_X ||
	    lc->inside != TALLY_LMODE_S || lc->succ.gen ||
	    !(revoked || !lc->cache))
		return false;
	lc_down(lc);
	return true;
}

/* An X tenure serves local S users, too. */
static bool lc_fits(const struct tally_lc *lc)
{
	return lc->mode == TALLY_LMODE_X || lc->want_mode == TALLY_LMODE_S;
}

static void lc_enter(struct tally_lc *lc)
{
	lc->st = TALLY_LC_HOLD;
	lc->want = false;
	lc->users++;
	lc->inside = lc->want_mode;
	lc_emit(lc, TALLY_LCA_GRANTED)->token =
		tally_token(lc->tenure, lc->local);
}

/*
 * HOLD or CACHED and a user that fits waits: the next sub-number.  k full: a
 * fast tenure takes a new c by FAA(token, +1) while holding, a managed one
 * releases.
 */
static void lc_again(struct tally_lc *lc)
{
	if (lc->local < TALLY_TOKEN_LOCAL_MAX) {
		lc->local++;
		lc_enter(lc);
		lc_share(lc, lc->rv);
	} else if (lc->fast && lc->up) {
		lc->st = TALLY_LC_ATT;
		lc_post(lc, TALLY_LC_OP_TOKEN);
	} else {
		lc_release(lc);
	}
}

/* May one more local user have it?  After a recall X, within the budget. */
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
 * arena with words a managed one keeps W set for all.
 */
static void lc_last_out(struct tally_lc *lc, bool late)
{
	lc->inside = 0;
	if (lc_may_go_on(lc, late))
		lc_again(lc);
	else if (!lc->want && !tally_lc_recalled(lc) && lc->cache &&
		 (lc->fast || !lc->word))
		lc->st = TALLY_LC_CACHED;
	else
		lc_release(lc);
}

/* HOLD.  No user wants it, or not in this mode: go on as at local unlock. */
static void lc_hold(struct tally_lc *lc, u64 tenure)
{
	lc->st = TALLY_LC_HOLD;
	lc->tenure = tenure;
	lc->local = 0;
	lc->canc = false;
	lc->try = false;
	if (lc->force || !lc->want || !lc_fits(lc)) {
		lc->rv |= lc->force;
		lc_last_out(lc, true);
		return;
	}
	lc_enter(lc);
	if (!lc_share(lc, lc->rv) && tally_lc_recalled(lc))
		lc_emit(lc, TALLY_LCA_RECALL);
}

/*
 * HOLD and a user waits: it joins others inside where all are in S and no other
 * node waits (after rv no new local reader joins an S hold).  Else it waits for
 * them to leave; a try does not.  Readers together may have the same number.
 */
static void lc_join(struct tally_lc *lc)
{
	bool joins = lc->inside == TALLY_LMODE_S &&
		     lc->want_mode == TALLY_LMODE_S && !tally_lc_recalled(lc);

	if (!lc->want)
		return;
	if (joins) {
		lc->local += lc->local < TALLY_TOKEN_LOCAL_MAX;
		lc_enter(lc);
	} else if (lc->want_try) {
		lc_fail(lc, -EBUSY);
	}
}

/* HOLD again after an operation that left the users inside where they are. */
static void lc_hold_on(struct tally_lc *lc)
{
	lc->st = TALLY_LC_HOLD;
	if (lc->users)
		lc_join(lc);
	else
		lc_last_out(lc, true);
}

/* The home or the word said no to an upgrade, or it came too late. */
static void lc_not_upgraded(struct tally_lc *lc)
{
	if (lc->users)
		lc_emit(lc, TALLY_LCA_NOT_UPGRADED)->err = -EDEADLK;
	lc_hold_on(lc);
}

static void lc_upgraded(struct tally_lc *lc, u64 tenure)
{
	lc->mode = TALLY_LMODE_X;
	lc->tenure = tenure;
	lc->local = 0;
	if (lc->users) {
		lc->inside = TALLY_LMODE_X;
		lc_emit(lc, TALLY_LCA_UPGRADED)->token = tally_token(tenure, 0);
	}
	lc_hold_on(lc);
}

/* ---- operations on the word: completions, and those in doubt ---- */

static void lc_look(struct tally_lc *lc, u64 state)
{
	if (tally_lw_w(state))
		lc_say(lc, TALLY_LM_LOOK, 0);
}

/*
 * completion, failed | ATT: clear rv; ENQUEUE(mode, try), WAIT.  No user wants
 *   it any more: IDLE.  try and old.W = 0 and old.owner where locks are not
 *   cached: -EBUSY, IDLE (an owner in the word is inside; a bit may be a claim)
 */
static void lc_acq_failed(struct tally_lc *lc, u64 state)
{
	if (lc->want && lc->want_try && tally_lw_owner(state) &&
	    !tally_lw_w(state) && !lc->cache)
		lc_fail(lc, -EBUSY);
	if (!lc->want) {
		lc_idle(lc);
		return;
	}
	lc_enqueue(lc);
	lc_claim_out(lc);
}

/*
 * completion, X, old = 0 | ATT: token = old token + 1; HOLD, fast
 * completion, S, old.owner = 0 and old.W = 0 | ATT: the same
 * completion, S, failed | ATT: claim = IN; then as X failed
 */
static void lc_acq_done(struct tally_lc *lc, const struct tally_lc_event *ev)
{
	bool s = ev->op == TALLY_LC_OP_ACQ_S;

	if (s ? !tally_lw_owner(ev->state) && !tally_lw_w(ev->state) :
		!ev->state) {
		lc->fast = true;
		lc_hold(lc, ev->token + 1);
		return;
	}
	if (s)
		lc->claim = TALLY_LC_CLAIM_IN;
	lc_acq_failed(lc, ev->state);
}

/* The own field is out of the word: IDLE; old.W = 1: send LOOK */
static void lc_gone(struct tally_lc *lc, u64 state)
{
	lc_look(lc, state);
	lc_idle(lc);
}

/* The bit that was no hold is out: a user that waited for that starts. */
static void lc_claim_gone(struct tally_lc *lc, u64 state)
{
	lc->claim = TALLY_LC_CLAIM_NONE;
	lc_look(lc, state);
	if (lc->st != TALLY_LC_IDLE)
		return;
	if (lc->want)
		lc_start(lc);
	if (tally_lc_idle(lc))
		lc_emit(lc, TALLY_LCA_RELEASED);
}

/* downgrade has executed | DNF: mode S, old.W = 1: send LOOK */
static void lc_downgraded(struct tally_lc *lc, u64 state)
{
	lc->mode = TALLY_LMODE_S;
	lc->doubt = TALLY_LC_OP_NONE;
	lc_look(lc, state);
	lc_hold_on(lc);
}

/*
 * in doubt: CAS(0 -> i) | READ shows owner = i: acquired: FAA(token, +1) again
 *   for a token; HOLD fast (or release, if no user wants it)
 * in doubt: CAS(0 -> i) | other: not acquired: IDLE, start again
 * in doubt: FAA(+bit) | bit, owner = 0, W = 0: acquired: token as above
 * in doubt: FAA(+bit) | bit, else: claim IN; ENQUEUE
 * in doubt: FAA(+bit) | no bit: IDLE, start again
 */
static void lc_read_acq(struct tally_lc *lc, u64 state)
{
	bool held = lc->doubt == TALLY_LC_OP_ACQ_X ||
		    (!tally_lw_owner(state) && !tally_lw_w(state));

	if (!lc_in_word(lc, lc->mode, state)) {
		lc_idle(lc);
		return;
	}
	if (!held) {
		lc->doubt = TALLY_LC_OP_NONE;
		lc->claim = TALLY_LC_CLAIM_IN;
		lc_acq_failed(lc, state);
		return;
	}
	if (!lc->up)
		return;
	lc->fast = true;
	lc->doubt = TALLY_LC_OP_NONE;
	if (!lc->want || lc->force) {
		lc_release(lc);
		return;
	}
	lc->st = TALLY_LC_ATT;
	lc_post(lc, TALLY_LC_OP_TOKEN);
}

/* in doubt: downgrade | owner = i / bit: post it again / done, LOOK if W = 1 */
static void lc_read_down(struct tally_lc *lc, u64 state)
{
	if (lc_in_word(lc, TALLY_LMODE_S, state))
		lc_downgraded(lc, state);
	else if (!lc_in_word(lc, TALLY_LMODE_X, state))
		lc_word_bad(lc);
	else if (lc->up)
		lc_post_down(lc);
}

/* in doubt: upgrade | owner = i / bit: X, new token by FAA / still S */
static void lc_read_upg(struct tally_lc *lc, u64 state)
{
	if (lc_in_word(lc, TALLY_LMODE_S, state)) {
		lc->doubt = TALLY_LC_OP_NONE;
		lc_not_upgraded(lc);
	} else if (!lc_in_word(lc, TALLY_LMODE_X, state)) {
		lc_word_bad(lc);
	} else if (lc->up) {
		lc->doubt = TALLY_LC_OP_NONE;
		lc->st = TALLY_LC_UPF;
		lc->mode = TALLY_LMODE_X;
		lc_post(lc, TALLY_LC_OP_TOKEN);
	}
}

/*
 * in doubt: claim removal | bit / no bit: claim IN / none, LOOK if W = 1
 * in doubt: FAA(-i), FAA(-bit) release | still mine: post it again
 * in doubt: FAA(-i), FAA(-bit) release | not mine: done; W = 1: send LOOK
 *
 * The link may be down again: what is still mine stays in doubt then.
 */
static void lc_read_done(struct tally_lc *lc, u64 state)
{
	if (lc->claim == TALLY_LC_CLAIM_DOUBT) {
		if (lc_in_word(lc, TALLY_LMODE_S, state)) {
			lc->claim = TALLY_LC_CLAIM_IN;
			lc_claim_out(lc);
		} else {
			lc_claim_gone(lc, state);
		}
	} else if (lc->doubt == TALLY_LC_OP_REL) {
		if (!lc_in_word(lc, lc->mode, state))
			lc_gone(lc, state);
		else if (lc->up)
			lc_release(lc);
	} else if (lc->doubt == TALLY_LC_OP_DOWN) {
		lc_read_down(lc, state);
	} else if (lc->doubt == TALLY_LC_OP_UPG) {
		lc_read_upg(lc, state);
	} else {
		lc_read_acq(lc, state);
	}
}

/* link down | ATT, RELF, DNF, UPF, claim OUT: DBT / claim DOUBT */
static void lc_op_broken(struct tally_lc *lc, u8 op)
{
	if (op == TALLY_LC_OP_CLAIM)
		lc->claim = TALLY_LC_CLAIM_DOUBT;
	if (op == TALLY_LC_OP_CLAIM || op == TALLY_LC_OP_READ)
		return;
	if (op == TALLY_LC_OP_TOKEN)
		op = lc->st == TALLY_LC_UPF ? TALLY_LC_OP_UPG :
		     lc->mode == TALLY_LMODE_S ? TALLY_LC_OP_ACQ_S :
						 TALLY_LC_OP_ACQ_X;
	lc->st = TALLY_LC_DBT;
	lc->doubt = op;
}

/*
 * Can the word have been @state before @op?  Only this node changes its field:
 * one that is no hold can only be a stray operation of this slot.
 */
static bool lc_word_good(const struct tally_lc *lc, u8 op, u64 state)
{
	bool x = lc_in_word(lc, TALLY_LMODE_X, state);
	bool s = lc_in_word(lc, TALLY_LMODE_S, state);

	switch (op) {
	case TALLY_LC_OP_ACQ_X:
	case TALLY_LC_OP_ACQ_S:
		return !x && !s;
	case TALLY_LC_OP_REL:
		return lc->mode == TALLY_LMODE_S ? s : x;
	case TALLY_LC_OP_DOWN:
		return x && !s;
	case TALLY_LC_OP_UPG:
	case TALLY_LC_OP_CLAIM:
		return s;
	default:
		return true;
	}
}

/*
 * its completion | RELF: IDLE; old.W = 1: send LOOK
 * its completion | claim OUT: claim none; old.W = 1: send LOOK
 * try-upgrade, success | UPF: mode X with the new token
 * try-upgrade, else | UPF: stays S, -EDEADLK
 */
static void lc_op_good(struct tally_lc *lc, const struct tally_lc_event *ev)
{
	if (!lc_word_good(lc, ev->op, ev->state)) {
		lc_word_bad(lc);
		return;
	}
	switch (ev->op) {
	case TALLY_LC_OP_ACQ_X:
	case TALLY_LC_OP_ACQ_S:
		lc_acq_done(lc, ev);
		break;
	case TALLY_LC_OP_REL:
		lc_gone(lc, ev->state);
		break;
	case TALLY_LC_OP_DOWN:
		lc_downgraded(lc, ev->state);
		break;
	case TALLY_LC_OP_UPG:
		if (ev->state == tally_lw_bit(lc->slot))
			lc_upgraded(lc, ev->token + 1);
		else
			lc_not_upgraded(lc);
		break;
	case TALLY_LC_OP_CLAIM:
		lc_claim_gone(lc, ev->state);
		break;
	case TALLY_LC_OP_READ:
		lc_read_done(lc, ev->state);
		break;
	default:	/* a tenure that needed a number has one */
		if (lc->st == TALLY_LC_UPF)
			lc_upgraded(lc, ev->token + 1);
		else
			lc_hold(lc, ev->token + 1);
	}
}

static void lc_op_done(struct tally_lc *lc, const struct tally_lc_event *ev)
{
	if (lc->op == TALLY_LC_OP_NONE || lc->op != ev->op) {
		lc->out->bug = true;
		return;
	}
	lc->op = TALLY_LC_OP_NONE;
	if (lc->st == TALLY_LC_DEAD)
		lc_emit(lc, TALLY_LCA_RELEASED);
	else if (ev->broken)
		lc_op_broken(lc, ev->op);
	else
		lc_op_good(lc, ev);
}

/* ---- what the home and other clients say ---- */

/* Another node waits: users inside that are in its way hear of it once. */
static void lc_recall(struct tally_lc *lc, bool known)
{
	if (lc_share(lc, lc->rv))
		return;
	if (lc->users && !known)
		lc_emit(lc, TALLY_LCA_RECALL);
	if (lc->st == TALLY_LC_CACHED)
		lc_release(lc);
}

/*
 * GRANT(gen) from home, or HANDOVER(gen) for my epoch | WAIT, gen > last:
 *   last = gen; HOLD, managed, token from gen.  If early.gen = gen: take over
 *   its succ or rv.  Drop early.  If canc: no local user: go on as at local
 *   unlock
 */
static void lc_accept(struct tally_lc *lc, u64 gen, u64 pass)
{
	lc->last = gen;
	lc->gen = gen;
	lc->pass = pass;
	lc->fast = false;
	if (lc->early == gen) {
		if (lc->mode == TALLY_LMODE_X)
			lc->succ = lc->early_succ;
		lc->rv = lc->early_rv;
		lc->force = lc->early_force;
	}
	lc_no_early(lc);
	lc_hold(lc, gen);
}

/* Waiting for what could be @gen? */
static bool lc_awaits(const struct tally_lc *lc, u64 gen)
{
	return lc->st == TALLY_LC_WAIT && gen > lc->last;
}

/*
 * HANDOVER | anything else, or not for my epoch: drop (duplicate, too late)
 *
 * Between RESYNC and SYNCED none is accepted: the home has been told that this
 * node waits.  It is parked.
 */
static void lc_handover(struct tally_lc *lc, const struct tally_lmsg *msg)
{
	if (msg->next_session != lc->session || lc->mode != TALLY_LMODE_X ||
	    !lc_awaits(lc, msg->next_gen))
		return;
	if (!lc->unsynced) {
		lc_accept(lc, msg->next_gen, msg->pass);
	} else if (lc->parked < msg->next_gen) {
		lc->parked = msg->next_gen;
		lc->parked_pass = msg->pass;
	}
}

/* SYNCED has come, or the link is down again and counts no more. */
static void lc_unpark(struct tally_lc *lc)
{
	u64 gen = lc->parked, pass = lc->parked_pass;

	lc->unsynced = false;
	lc->parked = 0;
	lc->parked_pass = 0;
	if (lc_awaits(lc, gen))
		lc_accept(lc, gen, pass);
}

/*
 * SUCC(gen, ...) | managed, gen = mine, mode X: store succ; CACHED: hand over
 *   now.  No ready link to next: succ without a way, so that it is REL, and the
 *   home grants; a writer waits all the same, so X is not shared instead
 * SUCC(gen, ...) | managed, gen = mine, mode S (downgraded meanwhile): rv = 1
 * SUCC(gen, ...) | WAIT, gen > last: early = it, unless that is a
 *   REVOKE(gen, force): what is lost at once is not handed over
 *
 * The later one wins, whole: one for a generation that was burned leaves nothing.
 */
static void lc_succ(struct tally_lc *lc, const struct tally_lc_event *ev)
{
	const struct tally_lmsg *msg = &ev->msg;
	bool known = tally_lc_recalled(lc);
	struct tally_lc_succ succ = { .gen = msg->next_gen };

	if (ev->linked) {
		succ.session = msg->next_session;
		succ.pass = msg->pass;
		succ.slot = msg->next_slot;
	}
	if (lc_awaits(lc, msg->gen)) {
		if (lc->early_force && lc->early == msg->gen)
			return;
		lc->early = msg->gen;
		lc->early_rv = false;
		lc->early_force = false;
		lc->early_succ = succ;
		return;
	}
	if (!lc->gen || lc->gen != msg->gen)
		return;
	if (lc->mode == TALLY_LMODE_X)
		lc->succ = succ;
	else
		lc->rv = true;
	lc_recall(lc, known);
}

/* Is an operation in flight or in doubt that may leave a fast tenure? */
static bool lc_may_hold_fast(const struct tally_lc *lc)
{
	if (lc->st == TALLY_LC_HOLD || lc->st == TALLY_LC_CACHED)
		return lc->fast;
	return lc->st == TALLY_LC_ATT || lc->st == TALLY_LC_DNF ||
	       lc->st == TALLY_LC_UPF ||
	       (lc->st == TALLY_LC_DBT && lc->doubt != TALLY_LC_OP_REL);
}

/* Will what is under way be, or leave, no more than a shared tenure? */
static bool lc_shared(const struct tally_lc *lc)
{
	bool up = lc->st == TALLY_LC_UPF || lc->doubt == TALLY_LC_OP_UPG;
	bool down = lc->st == TALLY_LC_DNF || lc->doubt == TALLY_LC_OP_DOWN;

	return down || (lc->mode == TALLY_LMODE_S && !up);
}

/* No other node waits for this shared tenure to end. */
static void lc_stay(struct tally_lc *lc)
{
	lc->rv = lc->force;
	if (lc->st == TALLY_LC_HOLD)
		lc_join(lc);
}

/*
 * REVOKE(0) | ATT, DNF, UPF, DBT, fast HOLD: rv = 1 (must be remembered while
 *   in flight)
 * REVOKE(0) | fast CACHED: release
 * REVOKE(gen > 0) | managed, gen = mine: rv = 1; CACHED: release now
 * REVOKE(any) | HOLD X, mine, only readers inside: downgrade, which is the
 *   answer to idle-only of mode S, too
 * REVOKE(any), mode S | S, mine: rv = 0: only readers wait, or none any more
 * REVOKE(gen > 0) | WAIT, gen > last: early = it (the later one wins)
 * REVOKE(gen, idle-only) | no user inside and nothing in flight: release, REL
 *   (or, fast, LOOK behind the FAA) is the answer
 * REVOKE(gen, idle-only) | WAIT, gen > last, or else mine: BUSY(gen)
 * REVOKE(gen, force) | mine: users are told that the lock is lost, REL with the
 *   value block not valid at once.  What is in flight is given back when it
 *   has completed.
 */
static void lc_revoke(struct tally_lc *lc, const struct tally_lmsg *msg)
{
	bool early = lc_awaits(lc, msg->gen);
	bool mine = msg->gen ? lc->gen == msg->gen : lc_may_hold_fast(lc);
	bool known = tally_lc_recalled(lc);
	bool stay = msg->mode == TALLY_LMODE_S && lc_shared(lc);

	if (!mine && !early)
		return;
	if (msg->flags & TALLY_LMF_IDLE_ONLY) {
		if (lc->st == TALLY_LC_CACHED)
			lc_release(lc);
		else if (msg->mode != TALLY_LMODE_S || !mine ||
			 !lc_share(lc, true))
			lc_say(lc, TALLY_LM_BUSY, msg->gen);
	} else if (early) {
		lc->early = msg->gen;
		lc->early_rv = !stay;
		lc->early_force = msg->flags & TALLY_LMF_FORCE;
		lc->early_succ = (struct tally_lc_succ){};
	} else if (stay) {
		lc_stay(lc);
	} else {
		lc->rv = true;
		if (msg->flags & TALLY_LMF_FORCE) {
			lc->force = true;
			lc->succ = (struct tally_lc_succ){};
			lc_lose(lc);
			if (lc->st == TALLY_LC_HOLD)
				lc_release(lc);
		}
		lc_recall(lc, known);
	}
}

/*
 * CANCELLED(gen) | WAIT with canc, gen > last: last = gen, so that a HANDOVER of it
 *   comes too late; REL(gen, canc); IDLE
 * CANCELLED(gen) | else: drop, it was had and given back before
 */
static void lc_taken_back(struct tally_lc *lc, u64 gen)
{
	if (!lc_awaits(lc, gen))
		return;
	if (!lc->canc) {
		lc_emit(lc, TALLY_LCA_VIOLATION);
		return;
	}
	lc->last = gen;
	lc_send(lc, (struct tally_lmsg){
		.type = TALLY_LM_REL,
		.flags = TALLY_LMF_CANC,
		.gen = gen,
	});
	lc_idle(lc);
}

/*
 * CANCELLED / DENIED | WAIT: IDLE (DENIED: -EBUSY)
 * DENIED | UPW: HOLD S; -EDEADLK
 */
static void lc_refused(struct tally_lc *lc, const struct tally_lmsg *msg)
{
	bool denied = msg->type == TALLY_LM_DENIED;

	if (lc->st == TALLY_LC_UPW && denied) {
		lc_not_upgraded(lc);
		return;
	}
	if (lc->st != TALLY_LC_WAIT || !(denied ? lc->try : lc->canc)) {
		lc_emit(lc, TALLY_LCA_VIOLATION);
		return;
	}
	if (lc->want && !lc->canc)
		lc_fail(lc, -EBUSY);
	lc_idle(lc);
}

/*
 * UPGRADED(ng) | UPW: mode X, gen = last = ng; rv = 0; HOLD
 * UPGRADED(ng) | UPW, after REVOKE(gen, force): rv = 1, so that it is released
 */
static void lc_upgrade_granted(struct tally_lc *lc,
			       const struct tally_lmsg *msg)
{
	if (lc->st != TALLY_LC_UPW || msg->gen <= lc->last) {
		lc_emit(lc, TALLY_LCA_VIOLATION);
		return;
	}
	lc->gen = msg->gen;
	lc->pass = msg->pass;
	lc->last = msg->gen;
	lc->rv = lc->force;
	lc_upgraded(lc, msg->gen);
}

/*
 * The home speaks first with SYNCED after a RESYNC that lists something.  Only
 * HANDOVER comes from another client.
 */
static void lc_msg(struct tally_lc *lc, const struct tally_lc_event *ev)
{
	const struct tally_lmsg *msg = &ev->msg;
	bool any_time = msg->type == TALLY_LM_HANDOVER ||
			(msg->type == TALLY_LM_REVOKE && !msg->gen);
	bool synced = msg->type == TALLY_LM_SYNCED;

	if (lc->st == TALLY_LC_DEAD)
		return;
	if (lc->unsynced != synced && !any_time) {
		lc_emit(lc, TALLY_LCA_VIOLATION);
		return;
	}
	switch (msg->type) {
	case TALLY_LM_HANDOVER:
		lc_handover(lc, msg);
		break;
	case TALLY_LM_SYNCED:
		lc_unpark(lc);
		break;
	case TALLY_LM_GRANT:
		if (lc_awaits(lc, msg->gen) && msg->mode != lc->mode)
			lc_emit(lc, TALLY_LCA_VIOLATION);
		else if (lc_awaits(lc, msg->gen))
			lc_accept(lc, msg->gen, msg->pass);
		break;	/* or a duplicate */
	case TALLY_LM_SUCC:
		lc_succ(lc, ev);
		break;
	case TALLY_LM_REVOKE:
		lc_revoke(lc, msg);
		break;
	case TALLY_LM_CANCELLED:
		if (msg->gen) {
			lc_taken_back(lc, msg->gen);
			break;
		}
		fallthrough;
	case TALLY_LM_DENIED:
		lc_refused(lc, msg);
		break;
	case TALLY_LM_UPGRADED:
		lc_upgrade_granted(lc, msg);
		break;
	default:
		lc_emit(lc, TALLY_LCA_VIOLATION);
	}
}

/* ---- local users, the link, the lease ---- */

/*
 * new local user of the same mode | WAIT with canc: adopts the request; on
 *   CANCELLED it starts a new one
 *
 * The same holds in ATT, RELF and DBT: the user waits for what is under way,
 * and lc_idle() or lc_hold() serve it.
 *
 * CACHED: the tenure serves a user it fits, else: release, then acquire
 */
static void lc_want(struct tally_lc *lc, const struct tally_lc_event *ev)
{
	bool mode = ev->mode == TALLY_LMODE_X || ev->mode == TALLY_LMODE_S;

	if (lc->want || !mode) {
		lc->out->bug = true;
		return;
	}
	lc->want = true;
	lc->want_mode = ev->mode;
	lc->want_try = ev->try;
	lc->want_direct = ev->direct;
	if (lc->st == TALLY_LC_DEAD)
		lc_fail(lc, lc->err);
	else if (lc->st == TALLY_LC_IDLE)
		lc_start(lc);
	else if (lc->st == TALLY_LC_HOLD)
		lc_join(lc);
	else if (lc->st == TALLY_LC_CACHED && lc_fits(lc))
		lc_again(lc);
	else if (lc->st == TALLY_LC_CACHED)
		lc_release(lc);
}

/*
 * caller times out, is killed | WAIT: canc = 1, CANCEL once; the caller returns
 *   at once, the request lives on until CANCELLED, DENIED, GRANT or HANDOVER
 */
static void lc_cancel(struct tally_lc *lc)
{
	if (!lc->want)
		return;
	lc->want = false;
	lc_emit(lc, TALLY_LCA_CANCELLED);
	if (tally_lc_idle(lc))
		lc_emit(lc, TALLY_LCA_RELEASED);
	if (lc->st != TALLY_LC_WAIT || lc->canc)
		return;
	lc->canc = true;
	lc_say(lc, TALLY_LM_CANCEL, 0);
}

/* local unlock: the last one out of HOLD decides what becomes of the tenure */
static void lc_unlock(struct tally_lc *lc, const struct tally_lc_event *ev)
{
	if (lc->st == TALLY_LC_DEAD)
		return;
	if (!lc->users) {
		lc->out->bug = true;
		return;
	}
	lc->users--;
	if (!lc->users && lc->st == TALLY_LC_HOLD)
		lc_last_out(lc, ev->late);
}

static void lc_downgrade(struct tally_lc *lc)
{
	if (lc->st == TALLY_LC_DEAD)
		return;
	if (lc->st != TALLY_LC_HOLD || lc->inside != TALLY_LMODE_X) {
		lc->out->bug = true;
		return;
	}
	lc_down(lc);
	if (lc->st == TALLY_LC_HOLD)
		lc_join(lc);
}

/* Why a user inside in S cannot get X from here; 0 if it may be asked for. */
static int lc_upgrade_err(const struct tally_lc *lc)
{
	if (lc->st == TALLY_LC_DEAD)
		return lc->err;
	if (lc->users > 1 || lc->want)
		return -EDEADLK;
	if (lc->mode == TALLY_LMODE_X)
		return lc->local < TALLY_TOKEN_LOCAL_MAX ? 0 : -EAGAIN;
	if (tally_lc_recalled(lc))
		return -EDEADLK;
	return lc->up ? 0 : -ENOTCONN;
}

/*
 * try-upgrade | fast HOLD S: post CAS(state, exactly bit i -> i),
 *   FAA(token, +1); UPF
 * try-upgrade | HOLD S, managed: UPG(gen); UPW (still S)
 *
 * A reader inside an X tenure needs only a number of its own.
 */
static void lc_upgrade(struct tally_lc *lc)
{
	int err = lc_upgrade_err(lc);
	struct tally_lc_action *a;

	if (lc->st != TALLY_LC_DEAD &&
	    (lc->st != TALLY_LC_HOLD || lc->inside != TALLY_LMODE_S)) {
		lc->out->bug = true;
	} else if (err) {
		lc_emit(lc, TALLY_LCA_NOT_UPGRADED)->err = err;
	} else if (lc->mode == TALLY_LMODE_X) {
		lc->inside = TALLY_LMODE_X;
		lc->local++;
		lc_emit(lc, TALLY_LCA_UPGRADED)->token =
			tally_token(lc->tenure, lc->local);
	} else if (lc->fast) {
		lc->st = TALLY_LC_UPF;
		a = lc_post(lc, TALLY_LC_OP_UPG);
		a->compare = tally_lw_bit(lc->slot);
		a->value = lc->slot;
	} else {
		lc->st = TALLY_LC_UPW;
		lc_say_mine(lc, TALLY_LM_UPG, 0);
	}
}

/*
 * RESYNC: pending (mode, canc, try), held (gen, mode, upgrade asked), last.
 * What lists nothing is not sent.
 */
static void lc_resync(struct tally_lc *lc)
{
	bool pending = lc->st == TALLY_LC_WAIT;
	bool held_s = lc->gen && lc->mode == TALLY_LMODE_S;

	if (!pending && !lc->gen)
		return;
	lc->unsynced = true;
	lc_send(lc, (struct tally_lmsg){
		.type = TALLY_LM_RESYNC,
		.mode = pending ? lc->mode : 0,
		.flags = (lc->canc ? TALLY_LMF_CANC : 0) |
			 (lc->try ? TALLY_LMF_TRY : 0) |
			 (lc->st == TALLY_LC_UPW ? TALLY_LMF_UPG : 0) |
			 (held_s ? TALLY_LMF_HELD_S : 0),
		.gen = lc->gen,
		.pass = lc->pass,
		.last = lc->last,
	});
}

/* resume: RESYNC; then in-doubt words are resolved by READ */
static void lc_link_up(struct tally_lc *lc)
{
	if (lc->st == TALLY_LC_DEAD)
		return;
	if (lc->up || lc->op != TALLY_LC_OP_NONE) {
		lc->out->bug = true;
		return;
	}
	lc->up = true;
	lc_resync(lc);
	/* The home asks again. */
	if (lc_shared(lc))
		lc_stay(lc);
	if (lc->claim == TALLY_LC_CLAIM_DOUBT || lc->st == TALLY_LC_DBT)
		lc_post(lc, TALLY_LC_OP_READ);
	else if (lc->claim == TALLY_LC_CLAIM_IN)
		lc_claim_out(lc);
	else if (lc->st == TALLY_LC_IDLE && lc->want)
		lc_start(lc);
}

/* lease over locally | any: drop all, tell users it is lost, no HANDOVER */
static void lc_lease_lost(struct tally_lc *lc)
{
	bool idle = tally_lc_idle(lc);

	if (lc->st == TALLY_LC_DEAD)
		return;
	lc_die(lc, -ENOTCONN);
	if (!idle && tally_lc_idle(lc))
		lc_emit(lc, TALLY_LCA_RELEASED);
}

/*
 * Start a lock that was opened in a session.  @last: what OPEN said: of none of
 * these generations is a tenure of ours to come; @word: the node uses the word: nic
 * arena and slot in the bitmap; @up: the link is up.  Nothing is cached and the
 * budget is 0 until TALLY_LCE_SET.
 */
void tally_lc_init(struct tally_lc *lc, u16 slot, u64 session, u64 last,
		   bool word, bool up)
{
	*lc = (struct tally_lc){
		.slot = slot,
		.session = session,
		.last = last,
		.word = word,
		.up = up,
	};
}

/* One event.  The caller serialises the steps of one lock. */
void tally_lc_step(struct tally_lc *lc, const struct tally_lc_event *ev,
		   struct tally_lc_actions *out)
{
	out->n = 0;
	out->bug = false;
	lc->out = out;
	switch (ev->kind) {
	case TALLY_LCE_WANT:
		lc_want(lc, ev);
		break;
	case TALLY_LCE_CANCEL:
		lc_cancel(lc);
		break;
	case TALLY_LCE_UNLOCK:
		lc_unlock(lc, ev);
		break;
	case TALLY_LCE_DOWNGRADE:
		lc_downgrade(lc);
		break;
	case TALLY_LCE_UPGRADE:
		lc_upgrade(lc);
		break;
	case TALLY_LCE_SET:
		lc->cache = ev->cache;
		lc->budget = ev->budget;
		if (lc->st == TALLY_LC_CACHED && !lc->cache)
			lc_release(lc);
		break;
	case TALLY_LCE_OP_DONE:
		lc_op_done(lc, ev);
		break;
	case TALLY_LCE_MSG:
		lc_msg(lc, ev);
		break;
	case TALLY_LCE_HANDED_BAD:
		/* HANDOVER's send completes in error | any: LOST(next_gen) */
		if (lc->st != TALLY_LC_DEAD)
			lc_send(lc, (struct tally_lmsg){
				.type = TALLY_LM_LOST,
				.next_gen = ev->msg.next_gen,
			});
		break;
	case TALLY_LCE_LINK_DOWN:
		/*
		 * A HANDOVER that waited for SYNCED is as good as one that
		 * comes now, since the next RESYNC counts.
		 */
		lc->up = false;
		lc_unpark(lc);
		break;
	case TALLY_LCE_LINK_UP:
		lc_link_up(lc);
		break;
	case TALLY_LCE_LEASE_LOST:
		lc_lease_lost(lc);
		break;
	default:
		out->bug = true;
	}
	lc->out = NULL;
}
