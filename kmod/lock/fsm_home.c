// SPDX-License-Identifier: GPL-2.0
/*
 * The home side of one lock.  Each function, here and in the parts, implements
 * the rows of the home table that its comment quotes as "event: action"; the
 * numbers in lh_pump() and lh_resync() are those of the steps in the tables.
 */
#include <linux/types.h>

#include "lock/fsm_home.h"
#include "lock/fsm_home_pump.h"
#include "lock/fsm_home_queue.h"
#include "lock/fsm_home_word.h"

static bool lh_mode_ok(u8 mode)
{
	return mode == TALLY_LMODE_X || mode == TALLY_LMODE_S;
}

/* i is cur, in the chain in this session, in SH or in the queue. */
static bool lh_on_record(const struct tally_lh *lh,
			 const struct tally_lh_node *node)
{
	return lh->cur == node || tally_lh_announced(lh, node) >= 0 ||
	       node->gen || node->mode;
}

/*
 * ENQUEUE(i, mode): F -= i.  FAST: put in queue, post FAA(+W), SETW.  Else put
 *   in queue
 * ENQUEUE(i, mode, try): F -= i.  Somebody waits (queue or chain not empty) or
 *   grace: DENIED.  Else as without try; pump grants, or asks who has it
 */
static void lh_enqueue(struct tally_lh *lh, struct tally_lh_node *node,
		       const struct tally_lmsg *msg,
		       struct tally_lh_actions *out)
{
	bool try = msg->flags & TALLY_LMF_TRY;

	if (!lh_mode_ok(msg->mode) || lh_on_record(lh, node)) {
		lh_violation(out, node);
		return;
	}
	lh->fast &= ~tally_lh_slot_mask(node->slot);
	if (try && (lh->head || lh->suc_gen[0] || lh->grace)) {
		lh_send(out, node, TALLY_LM_DENIED);
		return;
	}
	lh_push(lh, node, msg->mode, try);
	if (lh->hm == TALLY_LH_FAST)
		lh_post_setw(lh, out);
}

/*
 * CANCEL(i): in queue: remove, CANCELLED.  Else nothing: it has been granted,
 * announced or answered, and the client will get that
 */
static void lh_cancel(struct tally_lh *lh, struct tally_lh_node *node,
		      struct tally_lh_actions *out)
{
	if (!node->mode)
		return;
	lh_remove(lh, node);
	lh_send(out, node, TALLY_LM_CANCELLED);
}

/*
 * Rule G: if a message names the generation of a member of the chain, its
 * sender has the lock, so all tenures before it are over: cur = that member
 */
static void lh_imply(struct tally_lh *lh, const struct tally_lh_node *node,
		     u64 gen)
{
	int k = tally_lh_announced(lh, node);

	if (k < 0 || gen != lh->suc_gen[k])
		return;
	for (; k >= 0; k--)
		lh_shift(lh);
}

/*
 * DONE(gen): rule G.  gen = cur.gen: cur = first of the chain, via = sender;
 *   that one dead: as REL.  Else drop
 */
static void lh_done(struct tally_lh *lh, struct tally_lh_node *node,
		    const struct tally_lmsg *msg, struct tally_lh_actions *out)
{
	lh_imply(lh, node, msg->gen);
	if (!lh->cur || msg->gen != lh->gen)
		return;
	if (lh->cur == node && lh->suc_gen[0])
		lh_handed(lh, out);
	else
		lh_violation(out, node);
}

/*
 * REL(gen): rule G.  gen = cur.gen: cur = first of the chain that lives (via
 *   none), send it GRANT; there is none: cur = none.  gen = SH[i]: remove it.
 *   Else drop
 */
static void lh_rel(struct tally_lh *lh, struct tally_lh_node *node,
		   const struct tally_lmsg *msg, struct tally_lh_actions *out)
{
	lh_imply(lh, node, msg->gen);
	if (msg->gen && msg->gen == node->gen) {
		lh_shared_remove(lh, node);
	} else if (lh->cur && msg->gen == lh->gen) {
		if (lh->cur != node) {
			lh_violation(out, node);
			return;
		}
		if (msg->flags & TALLY_LMF_VALUE_BAD)
			lh_emit(out, TALLY_LHA_VALUE_BAD);
		lh_end_tenure(lh, out);
	}
}

/*
 * DOWN(i, gen): rule G.  gen = cur.gen: SH[i] = gen, cur = none; the chain, as
 *   far as it lives, goes back to the head of the queue in its order, its gens
 *   are burned: nobody but i could have begun to hand them on
 */
static void lh_down(struct tally_lh *lh, struct tally_lh_node *node,
		    const struct tally_lmsg *msg, struct tally_lh_actions *out)
{
	struct tally_lh_node *suc[TALLY_LH_CHAIN];
	int k;

	lh_imply(lh, node, msg->gen);
	if (lh->cur != node || msg->gen != lh->gen) {
		lh_violation(out, node);
		return;
	}
	for (k = 0; k < TALLY_LH_CHAIN; k++)
		suc[k] = lh->suc[k];
	lh_no_chain(lh);
	lh_shift(lh);
	lh_shared_add(lh, node, msg->gen);
	while (k--)
		if (suc[k])
			lh_push_head(lh, suc[k], TALLY_LMODE_X);
}

/*
 * UPG(i, gen): rule G.  i the only holder (F empty) and queue empty: SH -= i,
 *   ng = max(ng, token word), cur = (i, ++ng), UPGRADED(ng).  Else DENIED
 */
static void lh_upg(struct tally_lh *lh, const struct tally_lh_event *ev,
		   struct tally_lh_actions *out)
{
	struct tally_lh_node *node = ev->node;

	if (!node->gen || node->gen != ev->msg.gen) {
		lh_violation(out, node);
		return;
	}
	if (lh->fast || lh->head || lh->shared != node || node->next) {
		lh_send(out, node, TALLY_LM_DENIED);
		return;
	}
	lh_shared_remove(lh, node);
	lh_raise(lh, ev->token);
	lh->cur = node;
	lh->via = NULL;
	lh->gen = ++lh->ng;
	node->asked = TALLY_LH_ASKED_NOT;
	lh_send_msg(out, node, (struct tally_lmsg){
		.type = TALLY_LM_UPGRADED,
		.gen = lh->gen,
	});
}

/* LOST(gen): gen = cur.gen: GRANT(gen) to cur again */
static void lh_lost(struct tally_lh *lh, const struct tally_lmsg *msg,
		    struct tally_lh_actions *out)
{
	if (lh->cur && msg->next_gen == lh->gen)
		lh_grant_cur(lh, out);
}

/* BUSY(gen) from one that was asked whether it is idle: the try is DENIED */
static void lh_busy(struct tally_lh *lh, const struct tally_lh_event *ev,
		    struct tally_lh_actions *out)
{
	struct tally_lh_node *node = ev->node;
	u64 gen = ev->msg.gen;
	bool holds;

	if (!lh->head || !lh->head->try)
		return;
	if (gen)
		holds = gen == node->gen || (lh->cur == node && gen == lh->gen);
	else
		holds = lh_fast_holders(lh, ev->state) &
			tally_lh_slot_mask(node->slot);
	if (holds)
		lh_deny(lh, out, lh->head);
}

/*
 * Can i hold gen?  What is on record decides.  A tenure that is not on record
 * was ended by rule G: a message of one that came after it in the chain overtook
 * this snapshot, and the DONE behind it.
 */
static bool lh_can_hold(const struct tally_lh *lh,
			const struct tally_lh_node *node,
			const struct tally_lmsg *msg)
{
	int k = tally_lh_announced(lh, node);

	if (lh->cur == node)
		return lh->gen == msg->gen ||
		       (msg->flags & TALLY_LMF_UPG && lh->gen > msg->last);
	if (k >= 0)
		return lh->suc_gen[k] == msg->gen;
	if (node->gen)
		return node->gen == msg->gen;
	for (k = 0; k < TALLY_LH_CHAIN; k++)
		if (msg->gen == lh->suc_gen[k])
			return false;
	return msg->gen <= lh->ng && msg->gen != lh->gen && !node->mode;
}

/* A snapshot no client can have: the home knows better what it gave. */
static bool lh_resync_wrong(const struct tally_lh *lh,
			    const struct tally_lh_node *node,
			    const struct tally_lmsg *msg)
{
	return node->up || (msg->mode && msg->gen) ||
	       (msg->mode && !lh_mode_ok(msg->mode)) ||
	       (msg->gen && !lh_can_hold(lh, node, msg)) ||
	       (node->mode && node->mode != msg->mode);
}

/*
 * 2. cur = i:
 *    held = cur.gen, listed as S: apply DOWN, then UPG if asked
 *    held = cur.gen, X: repeat SUCC or REVOKE if one was due
 *    not held, cur.gen > last: repeat GRANT (UPGRADED if an upgrade was asked),
 *    then SUCC or REVOKE if due
 *    not held, cur.gen <= last: REL(cur.gen)
 *
 * REVOKE is repeated by pump.
 */
static void lh_resync_cur(struct tally_lh *lh, const struct tally_lh_event *ev,
			  struct tally_lh_actions *out)
{
	const struct tally_lmsg *msg = &ev->msg;
	bool upg = msg->flags & TALLY_LMF_UPG;
	bool held = msg->gen == lh->gen;

	if (held && msg->flags & TALLY_LMF_HELD_S) {
		lh_down(lh, ev->node, msg, out);
		return;
	}
	if (!held && lh->gen <= msg->last) {
		lh_end_tenure(lh, out);
		return;
	}
	if (!held)
		lh_send_msg(out, ev->node, (struct tally_lmsg){
			.type = upg ? TALLY_LM_UPGRADED : TALLY_LM_GRANT,
			.mode = upg ? 0 : TALLY_LMODE_X,
			.gen = lh->gen,
		});
	ev->node->asked = TALLY_LH_ASKED_NOT;
	if (lh->suc_gen[0])
		lh_send_succ(lh, out, 0);
}

/*
 * 3. i in the chain: gen <= last and not held: rule G and REL(gen), by step 2.
 *    Else leave it, but repeat the SUCC it was sent for when its turn comes
 */
static void lh_resync_chain(struct tally_lh *lh, struct tally_lh_node *node,
			    const struct tally_lmsg *msg,
			    struct tally_lh_actions *out)
{
	int k = tally_lh_announced(lh, node);

	if (k < 0)
		return;
	if (lh->suc_gen[k] <= msg->last)
		lh_imply(lh, node, lh->suc_gen[k]);
	else if (k + 1 < TALLY_LH_CHAIN && lh->suc_gen[k + 1])
		lh_send_succ(lh, out, k + 1);
}

/*
 * 4. SH has i: held: repeat REVOKE if it was sent, apply UPG if asked.  SH[i] >
 *    last: repeat GRANT (and REVOKE).  Else remove it
 */
static void lh_resync_shared(struct tally_lh *lh,
			     const struct tally_lh_event *ev,
			     struct tally_lh_actions *out)
{
	struct tally_lh_node *node = ev->node;

	node->asked = TALLY_LH_ASKED_NOT;
	if (node->gen == ev->msg.gen) {
		if (ev->msg.flags & TALLY_LMF_UPG)
			lh_upg(lh, ev, out);
	} else if (node->gen > ev->msg.last) {
		lh_grant(out, node, TALLY_LMODE_S, node->gen);
	} else {
		lh_shared_remove(lh, node);
	}
}

/*
 * 5. After that, if i has no record left and lists a pending request: in queue:
 *    apply CANCEL if canc.  Not in queue: CANCELLED if canc, else ENQUEUE
 */
static void lh_resync_request(struct tally_lh *lh, struct tally_lh_node *node,
			      const struct tally_lmsg *msg,
			      struct tally_lh_actions *out)
{
	if (lh->cur == node || tally_lh_announced(lh, node) >= 0 ||
	    node->gen || !msg->mode)
		return;
	if (!(msg->flags & TALLY_LMF_CANC)) {
		if (!node->mode)
			lh_enqueue(lh, node, msg, out);
	} else if (node->mode) {
		lh_cancel(lh, node, out);
	} else {
		lh_send(out, node, TALLY_LM_CANCELLED);
	}
}

/*
 * RESYNC(i): SYNCED first, then
 *
 * 1. i lists held the gen of a member of the chain: rule G
 * 6. cur.via = i: GRANT(cur.gen) to cur again (a LOST of i may have gone down
 *    with the link)
 */
static void lh_resync(struct tally_lh *lh, const struct tally_lh_event *ev,
		      struct tally_lh_actions *out)
{
	struct tally_lh_node *node = ev->node;
	const struct tally_lmsg *msg = &ev->msg;

	if (lh_resync_wrong(lh, node, msg)) {
		lh_violation(out, node);
		return;
	}
	node->up = true;
	if (msg->mode || msg->gen)
		lh_send(out, node, TALLY_LM_SYNCED);
	lh_imply(lh, node, msg->gen);
	lh_resync_chain(lh, node, msg, out);
	if (lh->cur == node)
		lh_resync_cur(lh, ev, out);
	if (node->gen)
		lh_resync_shared(lh, ev, out);
	lh_resync_request(lh, node, msg, out);
	if (lh->cur && lh->via == node)
		lh_grant_cur(lh, out);
}

/* A node that lists nothing has accepted and released all it was granted. */
static void lh_resync_nothing(struct tally_lh *lh,
			      const struct tally_lh_event *ev,
			      struct tally_lh_actions *out)
{
	struct tally_lh_event nothing = *ev;

	if (ev->node->up)
		return;
	nothing.msg = (struct tally_lmsg){
		.type = TALLY_LM_RESYNC,
		.last = ~0ULL,
	};
	lh_resync(lh, &nothing, out);
}

/*
 * LOOK: nothing (pump reads the word).  A first message after a break that is
 * not RESYNC comes from a node that had nothing to list.
 */
static void lh_msg(struct tally_lh *lh, const struct tally_lh_event *ev,
		   struct tally_lh_actions *out)
{
	struct tally_lh_node *node = ev->node;

	if (ev->msg.type != TALLY_LM_RESYNC)
		lh_resync_nothing(lh, ev, out);
	switch (ev->msg.type) {
	case TALLY_LM_ENQUEUE:
		lh_enqueue(lh, node, &ev->msg, out);
		break;
	case TALLY_LM_CANCEL:
		lh_cancel(lh, node, out);
		break;
	case TALLY_LM_REL:
		lh_rel(lh, node, &ev->msg, out);
		break;
	case TALLY_LM_DONE:
		lh_done(lh, node, &ev->msg, out);
		break;
	case TALLY_LM_LOOK:
		break;
	case TALLY_LM_DOWN:
		lh_down(lh, node, &ev->msg, out);
		break;
	case TALLY_LM_UPG:
		lh_imply(lh, node, ev->msg.gen);
		lh_upg(lh, ev, out);
		break;
	case TALLY_LM_LOST:
		lh_lost(lh, &ev->msg, out);
		break;
	case TALLY_LM_BUSY:
		lh_busy(lh, ev, out);
		break;
	case TALLY_LM_RESYNC:
		lh_resync(lh, ev, out);
		break;
	default:
		lh_violation(out, node);
	}
}

/*
 * RESYNC(i), for every lock that can have something of i:
 *
 * 7. owner(word) = i in DRAIN, or i in F: REVOKE(0) again
 *
 * It is given at the end of the snapshot because a fast holder lists nothing;
 * pump sends it.
 */
static void lh_resync_end(struct tally_lh *lh, const struct tally_lh_event *ev,
			  struct tally_lh_actions *out)
{
	if (ev->node)
		lh_resync_nothing(lh, ev, out);
	lh_fast_unasked(lh, tally_lh_slot_mask(ev->slot));
}

/*
 * session of i ends: queue -= i; SH -= i; cur = i: as REL with the value block
 *   marked not valid; cur.via = i: GRANT(cur.gen) to cur again; i in the chain:
 *   leave it, the end of the tenure before it settles it
 */
static void lh_session_gone(struct tally_lh *lh, struct tally_lh_node *node,
			    struct tally_lh_actions *out)
{
	int k = tally_lh_announced(lh, node);

	if (node->mode)
		lh_remove(lh, node);
	if (node->gen)
		lh_shared_remove(lh, node);
	if (k >= 0)
		lh->suc[k] = NULL;
	if (lh->via == node) {
		lh->via = NULL;
		lh_grant_cur(lh, out);
	}
	if (lh->cur == node)
		lh_end_tenure(lh, out);
}

/* session of i ends: F -= i.  sweep: owner = i: FAA(-i); bit i: FAA(-bit i) */
static void lh_session_end(struct tally_lh *lh, const struct tally_lh_event *ev,
			   struct tally_lh_actions *out)
{
	bool owner = !lh->cpu && tally_lw_owner(ev->state) == ev->slot;

	if (owner || (ev->node && lh->cur == ev->node))
		lh_emit(out, TALLY_LHA_VALUE_BAD);
	lh->fast &= ~tally_lh_slot_mask(ev->slot);
	lh_fast_unasked(lh, tally_lh_slot_mask(ev->slot));
	if (ev->node)
		lh_session_gone(lh, ev->node, out);
	if (!lh->cpu)
		lh_sweep(lh, ev->slot, ev->state, out);
}

/*
 * break: managed holders get REVOKE(gen, force).  Fast ones: enter managed mode,
 * REVOKE(0, force).  ng rises by one even if nobody waits
 */
static void lh_break(struct tally_lh *lh, const struct tally_lh_event *ev,
		     struct tally_lh_actions *out)
{
	bool taken = tally_lw_owner(ev->state) || tally_lw_bits(ev->state);
	struct tally_lh_node *n;

	lh->ng++;
	if (lh->cur)
		lh->cur->force = true;
	for (n = lh->shared; n; n = n->next)
		n->force = true;
	if (lh->cpu || !taken)
		return;
	lh->forced = true;
	if (lh->hm == TALLY_LH_FAST)
		lh_post_setw(lh, out);
}

u64 tally_lh_init(struct tally_lh *lh, unsigned int flags, u64 tenure)
{
	bool managed = flags & (TALLY_LH_CPU | TALLY_LH_GRACE);

	*lh = (struct tally_lh){
		.hm = managed ? TALLY_LH_MAN : TALLY_LH_FAST,
		.cpu = flags & TALLY_LH_CPU,
		.grace = flags & TALLY_LH_GRACE,
		.ng = tenure,
	};
	return flags == TALLY_LH_GRACE ? TALLY_LW_W : 0;
}

void tally_lh_node_init(struct tally_lh_node *node, u16 slot, u64 session,
			bool up)
{
	*node = (struct tally_lh_node){
		.slot = slot,
		.session = session,
		.up = up,
	};
}

static void lh_event(struct tally_lh *lh, const struct tally_lh_event *ev,
		     struct tally_lh_actions *out)
{
	switch (ev->kind) {
	case TALLY_LHE_MSG:
		lh_msg(lh, ev, out);
		break;
	case TALLY_LHE_SETW_DONE:
	case TALLY_LHE_CLRW_DONE:
		lh_w_done(lh, ev, out);
		break;
	case TALLY_LHE_SWEEP_DONE:
		lh_sweep_done(lh, ev, out);
		break;
	case TALLY_LHE_LINK_DOWN:
		ev->node->up = false;
		break;
	case TALLY_LHE_RESYNC_END:
		lh_resync_end(lh, ev, out);
		break;
	case TALLY_LHE_SESSION_END:
		lh_session_end(lh, ev, out);
		break;
	case TALLY_LHE_GRACE_OVER:
		lh->grace = false;
		break;
	case TALLY_LHE_LOOP_RESET:
		lh_loop_reset(lh, ev, out);
		break;
	case TALLY_LHE_BREAK:
		lh_break(lh, ev, out);
		break;
	case TALLY_LHE_MORE:
		break;
	default:
		out->bug = true;
	}
}

void tally_lh_step(struct tally_lh *lh, const struct tally_lh_event *ev,
		   struct tally_lh_actions *out)
{
	out->n = 0;
	out->more = false;
	out->bug = false;
	if (lh->hm == TALLY_LH_BAD)
		return;
	lh_event(lh, ev, out);
	lh_pump(lh, ev, out);
}

bool tally_lh_breaking(const struct tally_lh *lh)
{
	const struct tally_lh_node *n;

	for (n = lh->shared; n; n = n->next)
		if (n->force)
			return true;
	return lh->forced || (lh->cur && lh->cur->force);
}

bool tally_lh_unanswered(const struct tally_lh *lh, u16 slot,
			 const struct tally_lh_node *node, u64 state)
{
	u64 mask = tally_lh_slot_mask(slot);

	if (lh->fast_forced & lh_fast_holders(lh, state) & mask)
		return true;
	return node && node->force && (lh->cur == node || node->gen);
}
