// SPDX-License-Identifier: GPL-2.0
/*
 * The client side of one lock.  Each function, here and in the parts, implements
 * the rows of the client tables that its comment quotes as "event | state:
 * action".  Here: local users, the link, the lease.
 */
#include <linux/errno.h>
#include <linux/types.h>

#include "lock/fsm_client_flow.h"
#include "lock/fsm_client_msg.h"
#include "lock/fsm_client_word.h"

/* CACHED: the tenure serves a user it fits, else: release, then acquire */
static void lc_take_cached(struct tally_lc *lc, struct tally_lc_actions *out)
{
	if (lc_fits(lc))
		lc_again(lc, out);
	else
		lc_release(lc, out);
}

/*
 * new local user of the same mode | WAIT with canc: adopts the request; on
 *   CANCELLED it starts a new one
 *
 * The same holds in ATT, RELF and DBT: the user waits for what is under way,
 * and lc_idle() or lc_hold() serve it.
 */
static void lc_want(struct tally_lc *lc, const struct tally_lc_event *ev,
		    struct tally_lc_actions *out)
{
	bool mode = ev->mode == TALLY_LMODE_X || ev->mode == TALLY_LMODE_S;

	if (lc->want || !mode) {
		out->bug = true;
		return;
	}
	lc->want = true;
	lc->want_mode = ev->mode;
	lc->want_try = ev->try;
	lc->want_direct = ev->direct;
	if (lc->st == TALLY_LC_DEAD)
		lc_fail(lc, out, lc->err);
	else if (lc->st == TALLY_LC_IDLE)
		lc_start(lc, out);
	else if (lc->st == TALLY_LC_HOLD)
		lc_join(lc, out);
	else if (lc->st == TALLY_LC_CACHED)
		lc_take_cached(lc, out);
}

/*
 * caller times out, is killed | WAIT: canc = 1, CANCEL once; the caller returns
 *   at once, the request lives on until CANCELLED, DENIED, GRANT or HANDOVER
 */
static void lc_cancel(struct tally_lc *lc, struct tally_lc_actions *out)
{
	if (!lc->want)
		return;
	lc->want = false;
	lc_emit(out, TALLY_LCA_CANCELLED);
	if (tally_lc_idle(lc))
		lc_emit(out, TALLY_LCA_RELEASED);
	if (lc->st != TALLY_LC_WAIT || lc->canc)
		return;
	lc->canc = true;
	lc_send(lc, out, (struct tally_lmsg){ .type = TALLY_LM_CANCEL });
}

/* local unlock: the last one out of HOLD decides what becomes of the tenure */
static void lc_unlock(struct tally_lc *lc, const struct tally_lc_event *ev,
		      struct tally_lc_actions *out)
{
	if (lc->st == TALLY_LC_DEAD)
		return;
	if (!lc->users) {
		out->bug = true;
		return;
	}
	lc->users--;
	if (!lc->users && lc->st == TALLY_LC_HOLD)
		lc_last_out(lc, out, ev->late);
}

/*
 * downgrade | fast HOLD X: post FAA(state, +bit i - i); DNF
 * downgrade | HOLD X, managed: mode S; DOWN(gen); succ set: forget it, rv = 1.
 *   No HANDOVER for this gen after DOWN
 * link down, fast: in doubt without having been posted
 */
static void lc_downgrade(struct tally_lc *lc, struct tally_lc_actions *out)
{
	if (lc->st == TALLY_LC_DEAD)
		return;
	if (lc->st != TALLY_LC_HOLD || lc->inside != TALLY_LMODE_X) {
		out->bug = true;
		return;
	}
	lc->inside = TALLY_LMODE_S;
	if (lc->fast && lc->up) {
		lc_post_down(lc, out);
	} else if (lc->fast) {
		lc->st = TALLY_LC_DBT;
		lc->doubt = TALLY_LC_OP_DOWN;
	} else {
		lc->mode = TALLY_LMODE_S;
		lc->rv |= lc->succ.gen != 0;
		lc->succ = (struct tally_lc_succ){};
		lc_send(lc, out, (struct tally_lmsg){
			.type = TALLY_LM_DOWN,
			.gen = lc->gen,
		});
		lc_join(lc, out);
	}
}

/* Why a user inside in S cannot get X from here; 0 if it may be asked for. */
static int lc_upgrade_err(const struct tally_lc *lc)
{
	if (lc->st == TALLY_LC_DEAD)
		return lc->err;
	if (lc->users > 1)
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
static void lc_upgrade(struct tally_lc *lc, struct tally_lc_actions *out)
{
	int err = lc_upgrade_err(lc);
	struct tally_lc_action *a;

	if (lc->st != TALLY_LC_DEAD &&
	    (lc->st != TALLY_LC_HOLD || lc->inside != TALLY_LMODE_S)) {
		out->bug = true;
	} else if (err) {
		lc_emit(out, TALLY_LCA_NOT_UPGRADED)->err = err;
	} else if (lc->mode == TALLY_LMODE_X) {
		lc->inside = TALLY_LMODE_X;
		lc->local++;
		lc_emit(out, TALLY_LCA_UPGRADED)->token =
			tally_token(lc->tenure, lc->local);
	} else if (lc->fast) {
		lc->st = TALLY_LC_UPF;
		a = lc_post(lc, out, TALLY_LC_OP_UPG);
		a->compare = tally_lw_bit(lc->slot);
		a->value = lc->slot;
	} else {
		lc->st = TALLY_LC_UPW;
		lc_send(lc, out, (struct tally_lmsg){
			.type = TALLY_LM_UPG,
			.gen = lc->gen,
		});
	}
}

static void lc_set(struct tally_lc *lc, const struct tally_lc_event *ev,
		   struct tally_lc_actions *out)
{
	lc->cache = ev->cache;
	lc->budget = ev->budget;
	if (lc->st == TALLY_LC_CACHED && !lc->cache)
		lc_release(lc, out);
}

/*
 * Only HANDOVER comes from another client.  What the home said is dropped when
 * the session is over.
 */
static void lc_msg(struct tally_lc *lc, const struct tally_lc_event *ev,
		   struct tally_lc_actions *out)
{
	if (lc->st == TALLY_LC_DEAD)
		return;
	if (ev->msg.type == TALLY_LM_HANDOVER)
		lc_handover(lc, &ev->msg, out);
	else
		lc_home_msg(lc, ev, out);
}

/* HANDOVER's send completes in error | any: LOST(next_gen) */
static void lc_handed_bad(struct tally_lc *lc, const struct tally_lmsg *msg,
			  struct tally_lc_actions *out)
{
	if (lc->st != TALLY_LC_DEAD)
		lc_send(lc, out, (struct tally_lmsg){
			.type = TALLY_LM_LOST,
			.next_gen = msg->next_gen,
		});
}

/*
 * RESYNC: pending (mode, canc, try), held (gen, mode, upgrade asked), last.
 * What lists nothing is not sent.
 */
static void lc_resync(struct tally_lc *lc, struct tally_lc_actions *out)
{
	bool pending = lc->st == TALLY_LC_WAIT;
	struct tally_lmsg msg = {
		.type = TALLY_LM_RESYNC,
		.mode = pending ? lc->mode : 0,
		.gen = lc->gen,
		.last = lc->last,
	};

	if (!pending && !lc->gen)
		return;
	msg.flags = (lc->canc ? TALLY_LMF_CANC : 0) |
		    (lc->try ? TALLY_LMF_TRY : 0) |
		    (lc->st == TALLY_LC_UPW ? TALLY_LMF_UPG : 0);
	if (lc->gen && lc->mode == TALLY_LMODE_S)
		msg.flags |= TALLY_LMF_HELD_S;
	lc->unsynced = true;
	lc_send(lc, out, msg);
}

/* resume: RESYNC; then in-doubt words are resolved by READ */
static void lc_link_up(struct tally_lc *lc, struct tally_lc_actions *out)
{
	if (lc->st == TALLY_LC_DEAD)
		return;
	if (lc->up || lc->op != TALLY_LC_OP_NONE) {
		out->bug = true;
		return;
	}
	lc->up = true;
	lc_resync(lc, out);
	if (lc->claim == TALLY_LC_CLAIM_DOUBT || lc->st == TALLY_LC_DBT)
		lc_post(lc, out, TALLY_LC_OP_READ);
	else if (lc->claim == TALLY_LC_CLAIM_IN)
		lc_claim_out(lc, out);
	else if (lc->st == TALLY_LC_IDLE && lc->want)
		lc_start(lc, out);
}

/*
 * link down: a HANDOVER that waited for SYNCED is as good as one that comes
 * now, since the next RESYNC counts
 */
static void lc_link_down(struct tally_lc *lc, struct tally_lc_actions *out)
{
	lc->up = false;
	lc_unpark(lc, out);
}

/*
 * lease over locally | any: drop everything, tell users the lock is lost, no
 *   HANDOVER any more
 */
static void lc_lease_lost(struct tally_lc *lc, struct tally_lc_actions *out)
{
	bool idle = tally_lc_idle(lc);

	if (lc->st == TALLY_LC_DEAD)
		return;
	lc_lose(lc, out);
	if (lc->want)
		lc_fail(lc, out, -ENOTCONN);
	lc_clear(lc, TALLY_LC_DEAD);
	lc_no_early(lc);
	lc->claim = TALLY_LC_CLAIM_NONE;
	lc->parked = 0;
	lc->err = -ENOTCONN;
	if (!idle && tally_lc_idle(lc))
		lc_emit(out, TALLY_LCA_RELEASED);
}

void tally_lc_init(struct tally_lc *lc, u16 slot, u64 session, bool word,
		   bool up)
{
	*lc = (struct tally_lc){
		.slot = slot,
		.session = session,
		.word = word,
		.up = up,
	};
}

static void lc_user_event(struct tally_lc *lc, const struct tally_lc_event *ev,
			  struct tally_lc_actions *out)
{
	switch (ev->kind) {
	case TALLY_LCE_WANT:
		lc_want(lc, ev, out);
		break;
	case TALLY_LCE_CANCEL:
		lc_cancel(lc, out);
		break;
	case TALLY_LCE_UNLOCK:
		lc_unlock(lc, ev, out);
		break;
	case TALLY_LCE_DOWNGRADE:
		lc_downgrade(lc, out);
		break;
	case TALLY_LCE_UPGRADE:
		lc_upgrade(lc, out);
		break;
	default:
		lc_set(lc, ev, out);
	}
}

void tally_lc_step(struct tally_lc *lc, const struct tally_lc_event *ev,
		   struct tally_lc_actions *out)
{
	out->n = 0;
	out->bug = false;
	switch (ev->kind) {
	case TALLY_LCE_WANT ... TALLY_LCE_SET:
		lc_user_event(lc, ev, out);
		break;
	case TALLY_LCE_OP_DONE:
		lc_op_done(lc, ev, out);
		break;
	case TALLY_LCE_MSG:
		lc_msg(lc, ev, out);
		break;
	case TALLY_LCE_HANDED_BAD:
		lc_handed_bad(lc, &ev->msg, out);
		break;
	case TALLY_LCE_LINK_DOWN:
		lc_link_down(lc, out);
		break;
	case TALLY_LCE_LINK_UP:
		lc_link_up(lc, out);
		break;
	case TALLY_LCE_LEASE_LOST:
		lc_lease_lost(lc, out);
		break;
	default:
		out->bug = true;
	}
}
