// SPDX-License-Identifier: GPL-2.0
/*
 * The client side of one lock.  Each function implements the rows of the
 * client tables that its comment quotes as "event | state: action".
 */
#include <linux/errno.h>
#include <linux/types.h>

#include "lockclient.h"

static struct tally_lc_action *lc_emit(struct tally_lc_actions *out, u8 kind)
{
	struct tally_lc_action *a;

	if (out->n == TALLY_LC_ACTIONS) {
		out->bug = true;
		out->n--;
	}
	a = &out->a[out->n++];
	*a = (struct tally_lc_action){ .kind = kind };
	return a;
}

static void lc_post(struct tally_lc *lc, struct tally_lc_actions *out, u8 op)
{
	static const u8 post[] = {
		[TALLY_LC_OP_ACQ]	= TALLY_LCA_POST_CAS_FAA,
		[TALLY_LC_OP_REL]	= TALLY_LCA_POST_RELEASE_FAA,
		[TALLY_LC_OP_READ]	= TALLY_LCA_POST_READ,
		[TALLY_LC_OP_TOKEN]	= TALLY_LCA_POST_TOKEN_FAA,
	};

	lc->op = op;
	lc_emit(out, post[op]);
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

static void lc_clear(struct tally_lc *lc, u8 st)
{
	lc->st = st;
	lc->mode = 0;
	lc->doubt = TALLY_LC_OP_NONE;
	lc->local = 0;
	lc->fast = false;
	lc->rv = false;
	lc->canc = false;
	lc->try = false;
	lc->gen = 0;
	lc->tenure = 0;
}

/* A word that breaks an assertion ends the use of the lock. */
static void lc_word_bad(struct tally_lc *lc, struct tally_lc_actions *out)
{
	lc_emit(out, TALLY_LCA_WORD_BAD);
	if (lc->want)
		lc_fail(lc, out, -EIO);
	lc_clear(lc, TALLY_LC_DEAD);
	lc->err = -EIO;
}

/* ENQUEUE(mode, try), WAIT */
static void lc_enqueue(struct tally_lc *lc, struct tally_lc_actions *out)
{
	lc->st = TALLY_LC_WAIT;
	lc->rv = false;
	lc->try = lc->want_try;
	lc_send(lc, out, (struct tally_lmsg){
		.type = TALLY_LM_ENQUEUE,
		.mode = lc->mode,
		.flags = lc->try ? TALLY_LMF_TRY : 0,
	});
}

/*
 * local user wants X | IDLE: post CAS(state, 0 -> i) and FAA(token, +1); ATT.
 * A node that recently saw W, has no bit, or is in a cpu arena: ENQUEUE, WAIT.
 *
 * A try always looks at the word where there is one: the home answers a try
 * from its queue only and would deny a lock that is free in fast mode.
 */
static void lc_start(struct tally_lc *lc, struct tally_lc_actions *out)
{
	if (!lc->up) {
		if (lc->want_try)
			lc_fail(lc, out, -ENOTCONN);
		return;
	}
	lc->mode = TALLY_LMODE_X;
	if (!lc->word || (lc->want_direct && !lc->want_try)) {
		lc_enqueue(lc, out);
		return;
	}
	lc->st = TALLY_LC_ATT;
	lc_post(lc, out, TALLY_LC_OP_ACQ);
}

/* Entry to IDLE; a user that came meanwhile starts at once. */
static void lc_idle(struct tally_lc *lc, struct tally_lc_actions *out)
{
	lc_clear(lc, TALLY_LC_IDLE);
	if (lc->want)
		lc_start(lc, out);
	if (tally_lc_idle(lc))
		lc_emit(out, TALLY_LCA_RELEASED);
}

/*
 * release | fast HOLD: post FAA(state, -i); RELF.
 *   link down: a word posted on a dead link is in doubt, so it is not posted
 * release | managed HOLD: REL(gen); IDLE
 */
static void lc_release(struct tally_lc *lc, struct tally_lc_actions *out)
{
	if (!lc->fast) {
		lc_send(lc, out, (struct tally_lmsg){
			.type = TALLY_LM_REL,
			.gen = lc->gen,
		});
		lc_idle(lc, out);
	} else if (lc->up) {
		lc->st = TALLY_LC_RELF;
		lc->rv = false;
		lc_post(lc, out, TALLY_LC_OP_REL);
	} else {
		lc->st = TALLY_LC_DBT;
		lc->rv = false;
		lc->doubt = TALLY_LC_OP_REL;
	}
}

/* HOLD; nobody wants it any more: go on as at local unlock. */
static void lc_hold(struct tally_lc *lc, struct tally_lc_actions *out,
		    u64 tenure)
{
	lc->st = TALLY_LC_HOLD;
	lc->tenure = tenure;
	lc->canc = false;
	lc->try = false;
	if (!lc->want) {
		lc_release(lc, out);
		return;
	}
	lc->want = false;
	lc_emit(out, TALLY_LCA_GRANTED)->token = tally_token(tenure, 0);
	if (lc->rv)
		lc_emit(out, TALLY_LCA_RECALL);
}

/*
 * new local user | WAIT with canc: adopts the request; on CANCELLED it starts
 * a new one.  The same holds in ATT, RELF and DBT: the user waits for what is
 * under way, and lc_idle() or lc_hold() serve it.
 */
static void lc_want(struct tally_lc *lc, const struct tally_lc_event *ev,
		    struct tally_lc_actions *out)
{
	if (lc->want || lc->st == TALLY_LC_HOLD) {
		out->bug = true;
		return;
	}
	lc->want = true;
	lc->want_try = ev->try;
	lc->want_direct = ev->direct;
	if (lc->st == TALLY_LC_DEAD)
		lc_fail(lc, out, lc->err);
	else if (lc->st == TALLY_LC_IDLE)
		lc_start(lc, out);
}

/*
 * caller times out, is killed | WAIT: canc = 1, CANCEL once; the caller returns
 * at once, the request lives on until CANCELLED or GRANT.  A try needs no
 * CANCEL: its answer is under way.
 */
static void lc_cancel(struct tally_lc *lc, struct tally_lc_actions *out)
{
	if (!lc->want)
		return;
	lc->want = false;
	lc_emit(out, TALLY_LCA_CANCELLED);
	if (lc->st == TALLY_LC_IDLE)
		lc_emit(out, TALLY_LCA_RELEASED);
	if (lc->st != TALLY_LC_WAIT || lc->canc)
		return;
	lc->canc = true;
	if (!lc->try)
		lc_send(lc, out, (struct tally_lmsg){ .type = TALLY_LM_CANCEL });
}

/*
 * local unlock | HOLD: next local user, in the same tenure while it has
 * sub-numbers left, else in a new one
 */
static void lc_next(struct tally_lc *lc, const struct tally_lc_event *ev,
		    struct tally_lc_actions *out)
{
	if (lc->st == TALLY_LC_DEAD) {
		lc_fail(lc, out, lc->err);
		return;
	}
	if (lc->st != TALLY_LC_HOLD) {
		out->bug = true;
		return;
	}
	if (lc->local < TALLY_TOKEN_LOCAL_MAX) {
		lc->local++;
		lc_emit(out, TALLY_LCA_GRANTED)->token =
			tally_token(lc->tenure, lc->local);
		return;
	}
	lc->want = true;
	lc->want_try = ev->try;
	lc->want_direct = false;
	lc_release(lc, out);
}

/* local unlock | HOLD: release */
static void lc_unlock(struct tally_lc *lc, struct tally_lc_actions *out)
{
	if (lc->st == TALLY_LC_HOLD)
		lc_release(lc, out);
	else
		out->bug |= lc->st != TALLY_LC_DEAD;
}

/*
 * completion, X, old = 0 | ATT: token = old token + 1; HOLD, fast
 * completion, X, failed | ATT: clear rv; try and old.W = 0: -EBUSY, IDLE;
 *   else ENQUEUE(mode, try), WAIT.  Nobody wants it any more: IDLE
 *
 * An own owner field that is no hold can only be a stray CAS of this slot.
 */
static void lc_acq_done(struct tally_lc *lc, const struct tally_lc_event *ev,
			struct tally_lc_actions *out)
{
	if (!ev->state) {
		lc->fast = true;
		lc_hold(lc, out, ev->token + 1);
		return;
	}
	if (tally_lw_owner(ev->state) == lc->slot) {
		lc_word_bad(lc, out);
		return;
	}
	if (lc->want && !(lc->want_try && !tally_lw_w(ev->state))) {
		lc_enqueue(lc, out);
		return;
	}
	if (lc->want)
		lc_fail(lc, out, -EBUSY);
	lc_idle(lc, out);
}

/* The own field is out of the word. */
static void lc_gone(struct tally_lc *lc, struct tally_lc_actions *out,
		    bool managed)
{
	if (managed)
		lc_send(lc, out, (struct tally_lmsg){ .type = TALLY_LM_LOOK });
	lc_idle(lc, out);
}

/* its completion | RELF: IDLE; old.W = 1: send LOOK */
static void lc_rel_done(struct tally_lc *lc, const struct tally_lc_event *ev,
			struct tally_lc_actions *out)
{
	if (tally_lw_owner(ev->state) != lc->slot)
		lc_word_bad(lc, out);
	else
		lc_gone(lc, out, tally_lw_w(ev->state));
}

/*
 * in doubt: CAS(0 -> i) | READ shows owner = i: acquired: FAA(token, +1) again
 *   for a token; HOLD fast (or release, if nobody wants it)
 * in doubt: CAS(0 -> i) | other: not acquired: IDLE, start again
 * in doubt: FAA(-i) | still mine: post it again
 * in doubt: FAA(-i) | not mine: done; W = 1: send LOOK
 *
 * The link may be down again: what is still mine stays in doubt then.
 */
static void lc_read_done(struct tally_lc *lc, const struct tally_lc_event *ev,
			 struct tally_lc_actions *out)
{
	bool rel = lc->doubt == TALLY_LC_OP_REL;

	if (tally_lw_owner(ev->state) != lc->slot) {
		lc_gone(lc, out, rel && tally_lw_w(ev->state));
		return;
	}
	if (!lc->up)
		return;
	lc->fast = true;
	lc->doubt = TALLY_LC_OP_NONE;
	if (rel || !lc->want) {
		lc_release(lc, out);
		return;
	}
	lc->st = TALLY_LC_ATT;
	lc_post(lc, out, TALLY_LC_OP_TOKEN);
}

/* link down | ATT, RELF: DBT */
static void lc_op_broken(struct tally_lc *lc, u8 op)
{
	lc->st = TALLY_LC_DBT;
	if (op == TALLY_LC_OP_REL)
		lc->doubt = TALLY_LC_OP_REL;
	else if (op != TALLY_LC_OP_READ)
		lc->doubt = TALLY_LC_OP_ACQ;
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
	else if (ev->op == TALLY_LC_OP_ACQ)
		lc_acq_done(lc, ev, out);
	else if (ev->op == TALLY_LC_OP_REL)
		lc_rel_done(lc, ev, out);
	else if (ev->op == TALLY_LC_OP_READ)
		lc_read_done(lc, ev, out);
	else
		lc_hold(lc, out, ev->token + 1);
}

/*
 * GRANT(gen) | WAIT, gen > last: last = gen; HOLD, managed, token from gen.
 *   If canc: no local user: go on as at local unlock
 * GRANT | anything else: drop (duplicate)
 */
static void lc_grant(struct tally_lc *lc, const struct tally_lmsg *msg,
		     struct tally_lc_actions *out)
{
	if (lc->st != TALLY_LC_WAIT || msg->gen <= lc->last)
		return;
	if (msg->mode != lc->mode) {
		lc_emit(out, TALLY_LCA_VIOLATION);
		return;
	}
	lc->last = msg->gen;
	lc->gen = msg->gen;
	lc_hold(lc, out, msg->gen);
}

/*
 * REVOKE(0) | ATT, DBT, fast HOLD: rv = 1 (must be remembered while in flight)
 * REVOKE(0) | else: ignore
 * REVOKE(gen > 0) | managed, gen = mine: rv = 1
 * REVOKE | else: drop (stale)
 */
static void lc_revoke(struct tally_lc *lc, const struct tally_lmsg *msg,
		      struct tally_lc_actions *out)
{
	bool hold = lc->st == TALLY_LC_HOLD && lc->gen == msg->gen;
	bool flight = lc->st == TALLY_LC_ATT ||
		      (lc->st == TALLY_LC_DBT && lc->doubt == TALLY_LC_OP_ACQ);

	if (lc->rv || !(hold || (flight && !msg->gen)))
		return;
	lc->rv = true;
	if (hold)
		lc_emit(out, TALLY_LCA_RECALL);
}

/* CANCELLED / DENIED | WAIT: IDLE (DENIED: -EBUSY) */
static void lc_refused(struct tally_lc *lc, const struct tally_lmsg *msg,
		       struct tally_lc_actions *out)
{
	bool due = msg->type == TALLY_LM_CANCELLED ? lc->canc : lc->try;

	if (lc->st != TALLY_LC_WAIT || !due) {
		lc_emit(out, TALLY_LCA_VIOLATION);
		return;
	}
	if (lc->want && !lc->canc)
		lc_fail(lc, out, -EBUSY);
	lc_idle(lc, out);
}

/* The home speaks first with SYNCED after a RESYNC that lists something. */
static void lc_msg(struct tally_lc *lc, const struct tally_lmsg *msg,
		   struct tally_lc_actions *out)
{
	bool harmless = msg->type == TALLY_LM_REVOKE && !msg->gen;
	bool synced = msg->type == TALLY_LM_SYNCED;

	if (lc->unsynced != synced && !harmless) {
		lc_emit(out, TALLY_LCA_VIOLATION);
		return;
	}
	switch (msg->type) {
	case TALLY_LM_SYNCED:
		lc->unsynced = false;
		break;
	case TALLY_LM_GRANT:
		lc_grant(lc, msg, out);
		break;
	case TALLY_LM_REVOKE:
		lc_revoke(lc, msg, out);
		break;
	case TALLY_LM_CANCELLED:
	case TALLY_LM_DENIED:
		lc_refused(lc, msg, out);
		break;
	default:
		lc_emit(out, TALLY_LCA_VIOLATION);
	}
}

/*
 * resume: RESYNC: pending (mode, canc, try), held (gen), last; then in-doubt
 * words are resolved by READ.  What lists nothing is not sent.
 */
static void lc_link_up(struct tally_lc *lc, struct tally_lc_actions *out)
{
	bool pending = lc->st == TALLY_LC_WAIT;

	if (lc->up || lc->op != TALLY_LC_OP_NONE) {
		out->bug = true;
		return;
	}
	lc->up = true;
	if (pending || lc->gen) {
		lc->unsynced = true;
		lc_send(lc, out, (struct tally_lmsg){
			.type = TALLY_LM_RESYNC,
			.mode = pending ? lc->mode : 0,
			.flags = (lc->canc ? TALLY_LMF_CANC : 0) |
				 (lc->try ? TALLY_LMF_TRY : 0),
			.gen = lc->gen,
			.last = lc->last,
		});
	} else if (lc->st == TALLY_LC_DBT) {
		lc_post(lc, out, TALLY_LC_OP_READ);
	} else if (lc->st == TALLY_LC_IDLE && lc->want) {
		lc_start(lc, out);
	}
}

/* lease over locally | any: drop everything, tell users the lock is lost */
static void lc_lease_lost(struct tally_lc *lc, struct tally_lc_actions *out)
{
	bool idle = tally_lc_idle(lc);

	if (lc->st == TALLY_LC_HOLD)
		lc_emit(out, TALLY_LCA_LOST);
	if (lc->want)
		lc_fail(lc, out, -ENOTCONN);
	lc_clear(lc, TALLY_LC_DEAD);
	lc->err = -ENOTCONN;
	if (!idle && tally_lc_idle(lc))
		lc_emit(out, TALLY_LCA_RELEASED);
}

void tally_lc_init(struct tally_lc *lc, u16 slot, bool word, bool up)
{
	*lc = (struct tally_lc){ .slot = slot, .word = word, .up = up };
}

void tally_lc_step(struct tally_lc *lc, const struct tally_lc_event *ev,
		   struct tally_lc_actions *out)
{
	bool dead = lc->st == TALLY_LC_DEAD;

	out->n = 0;
	out->bug = false;
	switch (ev->kind) {
	case TALLY_LCE_WANT:
		lc_want(lc, ev, out);
		break;
	case TALLY_LCE_CANCEL:
		lc_cancel(lc, out);
		break;
	case TALLY_LCE_UNLOCK:
		lc_unlock(lc, out);
		break;
	case TALLY_LCE_NEXT:
		lc_next(lc, ev, out);
		break;
	case TALLY_LCE_OP_DONE:
		lc_op_done(lc, ev, out);
		break;
	case TALLY_LCE_MSG:
		if (!dead)
			lc_msg(lc, &ev->msg, out);
		break;
	case TALLY_LCE_LINK_DOWN:
		lc->up = false;
		lc->unsynced = false;
		break;
	case TALLY_LCE_LINK_UP:
		if (!dead)
			lc_link_up(lc, out);
		break;
	case TALLY_LCE_LEASE_LOST:
		if (!dead)
			lc_lease_lost(lc, out);
		break;
	default:
		out->bug = true;
	}
}
