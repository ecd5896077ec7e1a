// SPDX-License-Identifier: GPL-2.0
/*
 * The home side of one lock.  Each function implements the rows of the home
 * table that its comment quotes as "event: action"; the numbers in lh_pump()
 * and lh_resync() are those of the steps in the tables.
 */
#include <linux/types.h>

#include "lockhome.h"

static struct tally_lh_action *lh_emit(struct tally_lh_actions *out, u8 kind)
{
	struct tally_lh_action *a;

	if (out->n == TALLY_LH_ACTIONS) {
		out->bug = true;
		out->n--;
	}
	a = &out->a[out->n++];
	*a = (struct tally_lh_action){ .kind = kind };
	return a;
}

static void lh_send_slot(struct tally_lh_actions *out, u16 slot,
			 struct tally_lmsg msg)
{
	struct tally_lh_action *a = lh_emit(out, TALLY_LHA_SEND);

	a->slot = slot;
	a->msg = msg;
}

/* Nothing is sent between a break and RESYNC; that repeats what is still due. */
static void lh_send(struct tally_lh_actions *out,
		    const struct tally_lh_node *node, u8 type)
{
	if (node->up)
		lh_send_slot(out, node->slot, (struct tally_lmsg){ .type = type });
}

static void lh_grant(struct tally_lh *lh, struct tally_lh_actions *out)
{
	if (lh->cur->up)
		lh_send_slot(out, lh->cur->slot, (struct tally_lmsg){
			.type = TALLY_LM_GRANT,
			.mode = TALLY_LMODE_X,
			.gen = lh->gen,
		});
}

static void lh_revoke(struct tally_lh *lh, struct tally_lh_actions *out)
{
	lh->revoked = true;
	if (lh->cur->up)
		lh_send_slot(out, lh->cur->slot, (struct tally_lmsg){
			.type = TALLY_LM_REVOKE,
			.gen = lh->gen,
		});
}

static void lh_violation(struct tally_lh_actions *out,
			 const struct tally_lh_node *node)
{
	lh_emit(out, TALLY_LHA_VIOLATION)->slot = node->slot;
}

static void lh_push(struct tally_lh *lh, struct tally_lh_node *node, u8 mode)
{
	node->mode = mode;
	if (lh->tail)
		lh->tail->next = node;
	else
		lh->head = node;
	lh->tail = node;
}

static void lh_remove(struct tally_lh *lh, struct tally_lh_node *node)
{
	struct tally_lh_node *prev = NULL;
	struct tally_lh_node *n = lh->head;

	for (; n != node; n = n->next)
		prev = n;
	if (prev)
		prev->next = node->next;
	else
		lh->head = node->next;
	if (lh->tail == node)
		lh->tail = prev;
	node->next = NULL;
	node->mode = 0;
}

static void lh_clear_cur(struct tally_lh *lh)
{
	lh->cur = NULL;
	lh->gen = 0;
	lh->revoked = false;
}

/* A word that breaks an assertion ends the use of the lock. */
static void lh_word_bad(struct tally_lh *lh, struct tally_lh_actions *out)
{
	lh->hm = TALLY_LH_BAD;
	while (lh->head)
		lh_remove(lh, lh->head);
	lh_clear_cur(lh);
	lh->sweep = 0;
	lh->sweep_next = 0;
	lh_emit(out, TALLY_LHA_WORD_BAD);
}

static void lh_raise(struct tally_lh *lh, u64 tenure)
{
	if (lh->ng < tenure)
		lh->ng = tenure;
}

/* post FAA(+W), SETW */
static void lh_post_setw(struct tally_lh *lh, struct tally_lh_actions *out)
{
	lh->hm = TALLY_LH_SETW;
	lh_emit(out, TALLY_LHA_POST_SETW);
}

/*
 * post, in one doorbell, FAA(token, max(0, ng - token)) and FAA(state, -W);
 * CLRW.  A token word read too early only makes the difference larger.
 */
static void lh_post_clrw(struct tally_lh *lh, const struct tally_lh_event *ev,
			 struct tally_lh_actions *out)
{
	lh->hm = TALLY_LH_CLRW;
	lh_emit(out, TALLY_LHA_POST_CLRW)->delta =
		lh->ng > ev->token ? lh->ng - ev->token : 0;
}

/* 9. ng = max(ng, token word), take the head off, cur = (head, ++ng), GRANT */
static void lh_take_head(struct tally_lh *lh, const struct tally_lh_event *ev,
			 struct tally_lh_actions *out)
{
	lh_raise(lh, ev->token);
	lh->cur = lh->head;
	lh_remove(lh, lh->cur);
	lh->gen = ++lh->ng;
	lh_grant(lh, out);
}

/*
 * Looks only at state and at the word, never at which event came.
 *
 * 1. DRAIN and owner(word) = 0: MAN, ng = max(ng, token word)
 * 3. Not DRAIN or MAN: stop.  Grace: grants nothing, clears nothing
 * 4. no cur, queue empty: word arenas post FAA(token), FAA(-W); CLRW.  Stop
 * 5. DRAIN: stop
 * 6. cur set: queue not empty: REVOKE(cur.gen) once per tenure.  Stop
 * 7. queue empty: stop
 * 9. head X: grant it, repeat from 6
 */
static void lh_pump(struct tally_lh *lh, const struct tally_lh_event *ev,
		    struct tally_lh_actions *out)
{
	if (lh->hm == TALLY_LH_DRAIN && !tally_lw_owner(ev->state)) {
		lh->hm = TALLY_LH_MAN;
		lh_raise(lh, ev->token);
	}
	if ((lh->hm != TALLY_LH_DRAIN && lh->hm != TALLY_LH_MAN) || lh->grace)
		return;
	if (!lh->cur && !lh->head) {
		if (!lh->cpu)
			lh_post_clrw(lh, ev, out);
		return;
	}
	if (lh->hm == TALLY_LH_DRAIN)
		return;
	if (!lh->cur)
		lh_take_head(lh, ev, out);
	if (lh->head && !lh->revoked)
		lh_revoke(lh, out);
}

/*
 * ENQUEUE(i, mode): FAST: put in queue, post FAA(+W), SETW.  Else put in queue
 * ENQUEUE(i, mode, try): grantable now (MAN, queue empty, no cur): put in
 *   queue, pump grants.  Else DENIED
 */
static void lh_enqueue(struct tally_lh *lh, struct tally_lh_node *node,
		       const struct tally_lmsg *msg,
		       struct tally_lh_actions *out)
{
	bool free = lh->hm == TALLY_LH_MAN && !lh->grace && !lh->head &&
		    !lh->cur;

	if (msg->mode != TALLY_LMODE_X || !tally_lh_node_idle(lh, node)) {
		lh_violation(out, node);
		return;
	}
	if ((msg->flags & TALLY_LMF_TRY) && !free) {
		lh_send(out, node, TALLY_LM_DENIED);
		return;
	}
	lh_push(lh, node, msg->mode);
	if (lh->hm == TALLY_LH_FAST)
		lh_post_setw(lh, out);
}

/*
 * CANCEL(i): in queue: remove, CANCELLED.  Else nothing: it has been granted,
 * and the client will get it
 */
static void lh_cancel(struct tally_lh *lh, struct tally_lh_node *node,
		      struct tally_lh_actions *out)
{
	if (!node->mode)
		return;
	lh_remove(lh, node);
	lh_send(out, node, TALLY_LM_CANCELLED);
}

/* REL(gen): gen = cur.gen: cur = none.  Else drop */
static void lh_rel(struct tally_lh *lh, struct tally_lh_node *node,
		   const struct tally_lmsg *msg, struct tally_lh_actions *out)
{
	if (!lh->cur || msg->gen != lh->gen)
		return;
	if (lh->cur == node)
		lh_clear_cur(lh);
	else
		lh_violation(out, node);
}

/* A snapshot no client can have: the home knows better what it gave. */
static bool lh_resync_wrong(const struct tally_lh *lh,
			    const struct tally_lh_node *node,
			    const struct tally_lmsg *msg)
{
	bool held = lh->cur == node && lh->gen == msg->gen;

	return node->up || (msg->mode && msg->gen) ||
	       (msg->mode && msg->mode != TALLY_LMODE_X) ||
	       (msg->gen && !held) || (node->mode && !msg->mode);
}

/*
 * 2. cur = i:
 *    held = cur.gen: repeat REVOKE if one was due
 *    not held, cur.gen > last: repeat GRANT, then REVOKE if due
 *    not held, cur.gen <= last: REL(cur.gen)
 */
static void lh_resync_cur(struct tally_lh *lh, const struct tally_lmsg *msg,
			  struct tally_lh_actions *out)
{
	if (!msg->gen && lh->gen <= msg->last) {
		lh_clear_cur(lh);
		return;
	}
	if (!msg->gen)
		lh_grant(lh, out);
	if (lh->revoked)
		lh_revoke(lh, out);
}

/*
 * RESYNC(i): SYNCED first, then the tenures (2), then the request:
 *
 * 5. i has no record left and lists a pending request: in queue: apply CANCEL
 *    if canc.  Not in queue: CANCELLED if canc, else ENQUEUE
 */
static void lh_resync(struct tally_lh *lh, struct tally_lh_node *node,
		      const struct tally_lmsg *msg,
		      struct tally_lh_actions *out)
{
	if (lh_resync_wrong(lh, node, msg)) {
		lh_violation(out, node);
		return;
	}
	node->up = true;
	if (msg->mode || msg->gen)
		lh_send(out, node, TALLY_LM_SYNCED);
	if (lh->cur == node)
		lh_resync_cur(lh, msg, out);
	if (lh->cur == node || !msg->mode)
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

/* A node that lists nothing has accepted and released all it was granted. */
static void lh_resync_nothing(struct tally_lh *lh, struct tally_lh_node *node,
			      struct tally_lh_actions *out)
{
	const struct tally_lmsg nothing = {
		.type = TALLY_LM_RESYNC,
		.last = ~0ULL,
	};

	if (!node->up)
		lh_resync(lh, node, &nothing, out);
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
		lh_resync_nothing(lh, node, out);
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
	case TALLY_LM_LOOK:
		break;
	case TALLY_LM_RESYNC:
		lh_resync(lh, node, &ev->msg, out);
		break;
	default:
		lh_violation(out, node);
	}
}

/* FAA(+W) completes with old: owner not 0: REVOKE(0) to it.  DRAIN */
static void lh_setw_done(struct tally_lh *lh, u64 old,
			 struct tally_lh_actions *out)
{
	if (tally_lw_w(old)) {
		lh_word_bad(lh, out);
		return;
	}
	if (tally_lw_owner(old))
		lh_send_slot(out, tally_lw_owner(old), (struct tally_lmsg){
			.type = TALLY_LM_REVOKE,
		});
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
	if (lh->head)
		lh_post_setw(lh, out);
}

static void lh_post_sweep(struct tally_lh *lh, u16 slot,
			  struct tally_lh_actions *out)
{
	lh->sweep = slot;
	lh_emit(out, TALLY_LHA_POST_SWEEP)->slot = slot;
}

/*
 * The field of @slot is to go.  Another sweep may have executed already, or
 * @slot could not be the owner, but its completion has not been seen.
 */
static void lh_sweep(struct tally_lh *lh, u16 slot,
		     struct tally_lh_actions *out)
{
	if (tally_lh_sweeping(lh, slot))
		return;
	if (lh->sweep)
		lh->sweep_next = slot;
	else
		lh_post_sweep(lh, slot, out);
}

static void lh_swept(struct tally_lh *lh, struct tally_lh_actions *out)
{
	u16 next = lh->sweep_next;

	lh->sweep = 0;
	lh->sweep_next = 0;
	if (next)
		lh_post_sweep(lh, next, out);
}

static void lh_sweep_done(struct tally_lh *lh, const struct tally_lh_event *ev,
			  struct tally_lh_actions *out)
{
	if (!lh->sweep || lh->sweep != ev->slot)
		out->bug = true;
	else if (tally_lw_owner(ev->old) != ev->slot)
		lh_word_bad(lh, out);
	else
		lh_swept(lh, out);
}

/*
 * RESYNC(i), for every lock that can have something of i:
 *
 * 7. owner(word) = i in DRAIN: REVOKE(0) again
 *
 * It is given at the end of the snapshot because a fast holder lists nothing.
 */
static void lh_resync_end(struct tally_lh *lh, const struct tally_lh_event *ev,
			  struct tally_lh_actions *out)
{
	if (ev->node)
		lh_resync_nothing(lh, ev->node, out);
	if (lh->hm == TALLY_LH_DRAIN && tally_lw_owner(ev->state) == ev->slot)
		lh_send_slot(out, ev->slot, (struct tally_lmsg){
			.type = TALLY_LM_REVOKE,
		});
}

/*
 * session of i ends: queue -= i; cur = i: as REL with the value block marked
 *   not valid
 * sweep: owner = i: FAA(-i)
 */
static void lh_session_end(struct tally_lh *lh, const struct tally_lh_event *ev,
			   struct tally_lh_actions *out)
{
	bool owner = !lh->cpu && tally_lw_owner(ev->state) == ev->slot;

	if (owner || (ev->node && lh->cur == ev->node))
		lh_emit(out, TALLY_LHA_VALUE_BAD);
	if (ev->node && ev->node->mode)
		lh_remove(lh, ev->node);
	if (ev->node && lh->cur == ev->node)
		lh_clear_cur(lh);
	if (owner)
		lh_sweep(lh, ev->slot, out);
}

/*
 * The loopback QP was destroyed with FAA(+W), FAA(-W) or a sweep in flight:
 * read W, which only the home writes, and the owner, whose node is gone, and
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

	if (lh->sweep && tally_lw_owner(ev->state) == lh->sweep)
		lh_post_sweep(lh, lh->sweep, out);
	else
		lh_swept(lh, out);
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

void tally_lh_node_init(struct tally_lh_node *node, u16 slot, bool up)
{
	*node = (struct tally_lh_node){ .slot = slot, .up = up };
}

static void lh_event(struct tally_lh *lh, const struct tally_lh_event *ev,
		     struct tally_lh_actions *out)
{
	switch (ev->kind) {
	case TALLY_LHE_MSG:
		lh_msg(lh, ev, out);
		break;
	case TALLY_LHE_SETW_DONE:
		if (lh->hm == TALLY_LH_SETW)
			lh_setw_done(lh, ev->old, out);
		else
			out->bug = true;
		break;
	case TALLY_LHE_CLRW_DONE:
		if (lh->hm == TALLY_LH_CLRW)
			lh_clrw_done(lh, ev->old, out);
		else
			out->bug = true;
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
	default:
		out->bug = true;
	}
}

void tally_lh_step(struct tally_lh *lh, const struct tally_lh_event *ev,
		   struct tally_lh_actions *out)
{
	out->n = 0;
	out->bug = false;
	if (lh->hm == TALLY_LH_BAD)
		return;
	lh_event(lh, ev, out);
	lh_pump(lh, ev, out);
}
