/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The client side of one lock: what the home and other clients say.  Part of
 * lock/fsm_client.c.
 */
#ifndef TALLY_LOCKCLIENT_MSG_H
#define TALLY_LOCKCLIENT_MSG_H

#include "lock/fsm_client_flow.h"

/* Another node waits: users inside hear of it once. */
static void lc_recall(struct tally_lc *lc, struct tally_lc_actions *out,
		      bool known)
{
	if (lc->users && !known)
		lc_emit(out, TALLY_LCA_RECALL);
	if (lc->st == TALLY_LC_CACHED)
		lc_release(lc, out);
}

/*
 * GRANT(gen) from home, or HANDOVER(gen) for my epoch | WAIT, gen > last:
 *   last = gen; HOLD, managed, token from gen.  If early.gen = gen: take over
 *   its succ or rv.  Drop early.  If canc: no local user: go on as at local
 *   unlock
 */
static void lc_accept(struct tally_lc *lc, struct tally_lc_actions *out,
		      u64 gen)
{
	lc->last = gen;
	lc->gen = gen;
	lc->fast = false;
	if (lc->early == gen) {
		if (lc->mode == TALLY_LMODE_X)
			lc->succ = lc->early_succ;
		lc->rv = lc->early_rv;
		lc->force = lc->early_force;
	}
	lc_no_early(lc);
	lc_hold(lc, out, gen);
}

/* GRANT | anything else: drop (duplicate) */
static void lc_grant(struct tally_lc *lc, const struct tally_lmsg *msg,
		     struct tally_lc_actions *out)
{
	if (lc->st != TALLY_LC_WAIT || msg->gen <= lc->last)
		return;
	if (msg->mode == lc->mode)
		lc_accept(lc, out, msg->gen);
	else
		lc_emit(out, TALLY_LCA_VIOLATION);
}

/*
 * HANDOVER | anything else, or not for my epoch: drop (duplicate, too late)
 *
 * Between RESYNC and SYNCED none is accepted: the home has been told that this
 * node waits.  It is parked.
 */
static void lc_handover(struct tally_lc *lc, const struct tally_lmsg *msg,
			struct tally_lc_actions *out)
{
	bool mine = msg->next_session == lc->session &&
		    lc->st == TALLY_LC_WAIT && lc->mode == TALLY_LMODE_X &&
		    msg->next_gen > lc->last;

	if (!mine)
		return;
	if (!lc->unsynced)
		lc_accept(lc, out, msg->next_gen);
	else if (lc->parked < msg->next_gen)
		lc->parked = msg->next_gen;
}

/* SYNCED has come, or the link is down again and counts no more. */
static void lc_unpark(struct tally_lc *lc, struct tally_lc_actions *out)
{
	u64 gen = lc->parked;

	lc->unsynced = false;
	lc->parked = 0;
	if (gen > lc->last && lc->st == TALLY_LC_WAIT)
		lc_accept(lc, out, gen);
}

/*
 * SUCC(gen, ...) | managed, gen = mine, mode X: store succ; CACHED: hand over
 *   now.  No ready link to next: REL instead, the home grants
 * SUCC(gen, ...) | managed, gen = mine, mode S (downgraded meanwhile): rv = 1
 * SUCC(gen, ...) | WAIT, gen > last: early = it (the later one wins, whole: one
 *   for a generation that was burned leaves nothing), unless that is a
 *   REVOKE(gen, force): what is lost at once is not handed over
 * SUCC | else: drop (stale)
 */
static void lc_succ(struct tally_lc *lc, const struct tally_lc_event *ev,
		    struct tally_lc_actions *out)
{
	const struct tally_lmsg *msg = &ev->msg;
	bool known = tally_lc_recalled(lc);
	struct tally_lc_succ succ = {
		.gen = msg->next_gen,
		.session = msg->next_session,
		.slot = msg->next_slot,
	};

	if (lc->st == TALLY_LC_WAIT && msg->gen > lc->last) {
		if (lc->early_force && lc->early == msg->gen)
			return;
		lc->early = msg->gen;
		lc->early_rv = !ev->linked;
		lc->early_force = false;
		lc->early_succ = ev->linked ? succ : (struct tally_lc_succ){};
		return;
	}
	if (!lc->gen || lc->gen != msg->gen)
		return;
	if (lc->mode == TALLY_LMODE_X && ev->linked)
		lc->succ = succ;
	else
		lc->rv = true;
	lc_recall(lc, out, known);
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

/*
 * REVOKE(gen, idle-only) | nobody inside and nothing in flight: release, REL
 *   (or, fast, LOOK behind the FAA) is the answer
 * REVOKE(gen, idle-only) | WAIT, gen > last, or else mine: BUSY(gen)
 */
static void lc_revoke_idle(struct tally_lc *lc, u64 gen,
			   struct tally_lc_actions *out)
{
	if (lc->st == TALLY_LC_CACHED)
		lc_release(lc, out);
	else
		lc_send(lc, out, (struct tally_lmsg){
			.type = TALLY_LM_BUSY,
			.gen = gen,
		});
}

/*
 * REVOKE(gen, force) | mine: users are told that the lock is lost, REL with the
 *   value block not valid at once.  What is in flight is given back when it
 *   has completed.
 */
static void lc_revoke_force(struct tally_lc *lc, struct tally_lc_actions *out)
{
	lc->rv = true;
	lc->force = true;
	lc->succ = (struct tally_lc_succ){};
	lc_lose(lc, out);
	if (lc->st == TALLY_LC_HOLD || lc->st == TALLY_LC_CACHED)
		lc_release(lc, out);
}

/*
 * REVOKE(0) | ATT, DNF, UPF, DBT, fast HOLD: rv = 1 (must be remembered while
 *   in flight)
 * REVOKE(0) | fast CACHED: release
 * REVOKE(0) | else: ignore
 * REVOKE(gen > 0) | managed, gen = mine: rv = 1; CACHED: release now
 * REVOKE(gen > 0) | WAIT, gen > last: early = it (the later one wins)
 * REVOKE | else: drop (stale)
 */
static void lc_revoke(struct tally_lc *lc, const struct tally_lmsg *msg,
		      struct tally_lc_actions *out)
{
	bool early = lc->st == TALLY_LC_WAIT && msg->gen > lc->last;
	bool mine = msg->gen ? lc->gen == msg->gen : lc_may_hold_fast(lc);
	bool known = tally_lc_recalled(lc);

	if (!mine && !early)
		return;
	if (msg->flags & TALLY_LMF_IDLE_ONLY) {
		lc_revoke_idle(lc, msg->gen, out);
	} else if (early) {
		lc->early = msg->gen;
		lc->early_rv = true;
		lc->early_force = msg->flags & TALLY_LMF_FORCE;
		lc->early_succ = (struct tally_lc_succ){};
	} else if (msg->flags & TALLY_LMF_FORCE) {
		lc_revoke_force(lc, out);
	} else {
		lc->rv = true;
		lc_recall(lc, out, known);
	}
}

/*
 * CANCELLED / DENIED | WAIT: IDLE (DENIED: -EBUSY)
 * DENIED | UPW: HOLD S; -EDEADLK
 */
static void lc_refused(struct tally_lc *lc, const struct tally_lmsg *msg,
		       struct tally_lc_actions *out)
{
	bool denied = msg->type == TALLY_LM_DENIED;

	if (lc->st == TALLY_LC_UPW && denied) {
		lc_not_upgraded(lc, out);
		return;
	}
	if (lc->st != TALLY_LC_WAIT || !(denied ? lc->try : lc->canc)) {
		lc_emit(out, TALLY_LCA_VIOLATION);
		return;
	}
	if (lc->want && !lc->canc)
		lc_fail(lc, out, -EBUSY);
	lc_idle(lc, out);
}

/*
 * UPGRADED(ng) | UPW: mode X, gen = last = ng; rv = 0; HOLD
 * UPGRADED(ng) | UPW, after REVOKE(gen, force): rv = 1, so that it is released
 */
static void lc_upgrade_granted(struct tally_lc *lc,
			       const struct tally_lmsg *msg,
			       struct tally_lc_actions *out)
{
	if (lc->st != TALLY_LC_UPW || msg->gen <= lc->last) {
		lc_emit(out, TALLY_LCA_VIOLATION);
		return;
	}
	lc->gen = msg->gen;
	lc->last = msg->gen;
	lc->rv = lc->force;
	lc_upgraded(lc, out, msg->gen);
}

/* The home speaks first with SYNCED after a RESYNC that lists something. */
static void lc_home_msg(struct tally_lc *lc, const struct tally_lc_event *ev,
			struct tally_lc_actions *out)
{
	const struct tally_lmsg *msg = &ev->msg;
	bool harmless = msg->type == TALLY_LM_REVOKE && !msg->gen;
	bool synced = msg->type == TALLY_LM_SYNCED;

	if (lc->unsynced != synced && !harmless) {
		lc_emit(out, TALLY_LCA_VIOLATION);
		return;
	}
	switch (msg->type) {
	case TALLY_LM_SYNCED:
		lc_unpark(lc, out);
		break;
	case TALLY_LM_GRANT:
		lc_grant(lc, msg, out);
		break;
	case TALLY_LM_SUCC:
		lc_succ(lc, ev, out);
		break;
	case TALLY_LM_REVOKE:
		lc_revoke(lc, msg, out);
		break;
	case TALLY_LM_CANCELLED:
	case TALLY_LM_DENIED:
		lc_refused(lc, msg, out);
		break;
	case TALLY_LM_UPGRADED:
		lc_upgrade_granted(lc, msg, out);
		break;
	default:
		lc_emit(out, TALLY_LCA_VIOLATION);
	}
}

#endif
