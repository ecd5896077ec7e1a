// SPDX-License-Identifier: GPL-2.0
/*
 * The home side of one lock.  Each function implements the rows of the home
 * table in docs/protocol.md that its comment quotes as "event: action"; the
 * numbers in lh_pump() and lh_resync() are those of the steps in the tables.
 */
#include <linux/types.h>

#include "lock/fsm_home.h"

/* Returns its place in the chain, or -1. */
int tally_lh_announced(const struct tally_lh *lh,
		       const struct tally_lh_node *node)
{
	int k = TALLY_LH_CHAIN;

	while (k--)
		if (lh->suc[k] == node)
			break;
	return k;
}

/* It is cur, in the chain in this session, in SH or in the queue. */
static bool lh_on_record(const struct tally_lh *lh,
			 const struct tally_lh_node *node)
{
	return lh->cur == node || tally_lh_announced(lh, node) >= 0 ||
	       node->gen || node->mode;
}

/* Has @node nothing, and is nothing promised to it? It may have handed cur over. */
bool tally_lh_node_idle(const struct tally_lh *lh,
			const struct tally_lh_node *node)
{
	return !lh_on_record(lh, node);
}

/* ---- waiters, holders, and what is sent to them ---- */

static struct tally_lh_action *lh_emit(struct tally_lh *lh, u8 kind)
{
	struct tally_lh_action *a;

	if (lh->out->n == TALLY_LH_ACTIONS) {
		lh->out->bug = true;
		lh->out->n--;
	}
	a = &lh->out->a[lh->out->n++];
	*a = (struct tally_lh_action){ .kind = kind };
	return a;
}

/* Is there room for one more thing to be done?  Else it is done by MORE. */
static bool lh_room(struct tally_lh *lh)
{
	lh->out->more |= lh->out->n + 2 > TALLY_LH_ACTIONS;
	return !lh->out->more;
}

static void lh_send_slot(struct tally_lh *lh, u16 slot, struct tally_lmsg msg)
{
	struct tally_lh_action *a = lh_emit(lh, TALLY_LHA_SEND);

	a->slot = slot;
	a->msg = msg;
}

/* Nothing is sent between a break and RESYNC, which repeats what is due. */
static void lh_send_msg(struct tally_lh *lh, const struct tally_lh_node *node,
			struct tally_lmsg msg)
{
	if (node->up)
		lh_send_slot(lh, node->slot, msg);
}

static void lh_send(struct tally_lh *lh, const struct tally_lh_node *node,
		    u8 type, u8 mode, u64 gen)
{
	lh_send_msg(lh, node, (struct tally_lmsg){
		.type = type,
		.mode = mode,
		.gen = gen,
	});
}

static void lh_grant_cur(struct tally_lh *lh)
{
	if (lh->cur)
		lh_send(lh, lh->cur, TALLY_LM_GRANT, TALLY_LMODE_X, lh->gen);
}

/*
 * SUCC to the one before @k in the chain, if it lives, that @k follows.  To no
 * slot if @k is dead: then it gives the lock back to the home.
 */
static void lh_send_succ(struct tally_lh *lh, int k)
{
	struct tally_lh_node *to = k ? lh->suc[k - 1] : lh->cur;
	struct tally_lh_node *next = lh->suc[k];

	if (to)
		lh_send_msg(lh, to, (struct tally_lmsg){
			.type = TALLY_LM_SUCC,
			.gen = k ? lh->suc_gen[k - 1] : lh->gen,
			.next_slot = next ? next->slot : 0,
			.next_session = next ? next->session : 0,
			.next_gen = lh->suc_gen[k],
		});
}

static void lh_violation(struct tally_lh *lh, const struct tally_lh_node *node)
{
	lh_emit(lh, TALLY_LHA_VIOLATION)->slot = node->slot;
}

/* ---- how holders are asked to give the lock back ---- */

static const u8 lh_revoke_flags[] = {
	[TALLY_LH_ASKED_IDLE]	= TALLY_LMF_IDLE_ONLY,
	[TALLY_LH_ASKED]	= 0,
	[TALLY_LH_ASKED_FORCE]	= TALLY_LMF_FORCE,
};

/* The mode says who waits: readers do not wait for readers. */
static void lh_revoke(struct tally_lh *lh, u16 slot, u64 gen, u8 asked)
{
	u8 mode = lh->head ? lh->head->mode : TALLY_LMODE_S;

	lh_send_slot(lh, slot, (struct tally_lmsg){
		.type = TALLY_LM_REVOKE,
		.mode = asked == TALLY_LH_ASKED_FORCE ? 0 : mode,
		.flags = lh_revoke_flags[asked],
		.gen = gen,
	});
}

/*
 * REVOKE(gen), once of each kind per tenure.  False: to ask whether it is idle
 * makes no sense, it was asked to leave before and has not.
 */
static bool lh_ask(struct tally_lh *lh, struct tally_lh_node *node, u64 gen,
		   u8 asked)
{
	if (asked == TALLY_LH_ASKED_IDLE && node->asked > asked)
		return false;
	if (node->asked >= asked)
		return true;
	node->asked = asked;
	if (node->up)
		lh_revoke(lh, node->slot, gen, asked);
	return true;
}

/* REVOKE(0), likewise; the holder may have no node, so it is sent always. */
static bool lh_ask_fast(struct tally_lh *lh, u16 slot, u8 asked)
{
	u64 bit = tally_lh_slot_mask(slot);
	u64 *mask = &lh->fast_asked;

	if (asked == TALLY_LH_ASKED_IDLE)
		mask = &lh->fast_idle;
	else if (asked == TALLY_LH_ASKED_FORCE)
		mask = &lh->fast_forced;
	if (mask == &lh->fast_idle && (lh->fast_asked | lh->fast_forced) & bit)
		return false;
	if (*mask & bit)
		return true;
	*mask |= bit;
	lh_revoke(lh, slot, 0, asked);
	return true;
}

static void lh_fast_unasked(struct tally_lh *lh, u64 mask)
{
	lh->fast_idle &= ~mask;
	lh->fast_asked &= ~mask;
	lh->fast_forced &= ~mask;
}

/* The try that asked has ended: the next one asks again. */
static void lh_try_over(struct tally_lh *lh)
{
	struct tally_lh_node *n;

	lh->fast_idle = 0;
	if (lh->cur && lh->cur->asked == TALLY_LH_ASKED_IDLE)
		lh->cur->asked = TALLY_LH_ASKED_NOT;
	for (n = lh->shared; n; n = n->next)
		if (n->asked == TALLY_LH_ASKED_IDLE)
			n->asked = TALLY_LH_ASKED_NOT;
}

static void lh_push(struct tally_lh *lh, struct tally_lh_node *node, u8 mode,
		    bool try)
{
	node->mode = mode;
	node->try = try;
	node->canc = TALLY_LH_CANC_NOT;
	if (lh->tail)
		lh->tail->next = node;
	else
		lh->head = node;
	lh->tail = node;
}

static void lh_remove(struct tally_lh *lh, struct tally_lh_node *node)
{
	struct tally_lh_node **p = &lh->head, *prev = NULL;

	for (; *p != node; p = &(*p)->next)
		prev = *p;
	*p = node->next;
	if (lh->tail == node)
		lh->tail = prev;
	if (node->try)
		lh_try_over(lh);
	node->next = NULL;
	node->mode = 0;
	node->try = false;
}

static struct tally_lh_node *lh_pop(struct tally_lh *lh)
{
	struct tally_lh_node *node = lh->head;

	lh_remove(lh, node);
	node->asked = TALLY_LH_ASKED_NOT;
	node->force = false;
	return node;
}

static void lh_deny(struct tally_lh *lh, struct tally_lh_node *node)
{
	lh_remove(lh, node);
	lh_send(lh, node, TALLY_LM_DENIED, 0, 0);
}

static void lh_shared_add(struct tally_lh *lh, struct tally_lh_node *node,
			  u64 gen)
{
	node->gen = gen;
	node->asked = TALLY_LH_ASKED_NOT;
	node->next = lh->shared;
	lh->shared = node;
}

static void lh_shared_remove(struct tally_lh *lh, struct tally_lh_node *node)
{
	struct tally_lh_node **p = &lh->shared;

	while (*p != node)
		p = &(*p)->next;
	*p = node->next;
	node->next = NULL;
	node->gen = 0;
}

/* The chain moves up by one: its first member, dead or not, is cur. */
static void lh_shift(struct tally_lh *lh)
{
	int k;

	lh->cur = lh->suc[0];
	lh->gen = lh->cur ? lh->suc_gen[0] : 0;
	lh->via = NULL;
	lh->down = false;
	for (k = 0; k < TALLY_LH_CHAIN - 1; k++) {
		lh->suc[k] = lh->suc[k + 1];
		lh->suc_gen[k] = lh->suc_gen[k + 1];
	}
	lh->suc[k] = NULL;
	lh->suc_gen[k] = 0;
	if (!lh->cur)
		return;
	lh->cur->asked = TALLY_LH_ASKED_NOT;
	lh->cur->force = false;
}

/* No exclusive holder, and no chain behind it. */
static void lh_no_cur(struct tally_lh *lh)
{
	while (lh->cur || lh->suc_gen[0])
		lh_shift(lh);
}

/* Has a member of the chain neither died nor given up? */
static bool lh_successor_waits(const struct tally_lh *lh)
{
	int k;

	for (k = 0; k < TALLY_LH_CHAIN; k++)
		if (lh->suc[k] && !lh->suc[k]->canc)
			return true;
	return false;
}

/*
 * cur is shared, and no member of the chain waits any more: CANCELLED(gen), once,
 *   to those that live; it may have handed over to them what it had.  When none
 *   lives: SH gets it, cur = none
 */
static void lh_settle_down(struct tally_lh *lh)
{
	struct tally_lh_node *node = lh->cur, *member;
	bool asked = lh->suc_gen[0], settled = true;
	u64 gen = lh->gen;
	int k;

	if (!lh->down || lh_successor_waits(lh))
		return;
	for (k = 0; k < TALLY_LH_CHAIN; k++) {
		member = lh->suc[k];
		if (!member)
			continue;
		settled = false;
		if (member->canc == TALLY_LH_CANC_TOLD)
			continue;
		member->canc = TALLY_LH_CANC_TOLD;
		lh_send(lh, member, TALLY_LM_CANCELLED, 0, lh->suc_gen[k]);
	}
	if (!settled)
		return;
	lh_no_cur(lh);
	lh_shared_add(lh, node, gen);
	if (asked)
		node->asked = TALLY_LH_ASKED;
}

/*
 * cur = first of the chain that lives (via none), send it GRANT; none: cur =
 * none.  What was announced to the dead is reclaimed.
 */
static void lh_end_tenure(struct tally_lh *lh)
{
	do
		lh_shift(lh);
	while (!lh->cur && lh->suc_gen[0]);
	lh_grant_cur(lh);
}

static void lh_raise(struct tally_lh *lh, u64 tenure)
{
	if (lh->ng < tenure)
		lh->ng = tenure;
}

/* A word that breaks an assertion ends the use of the lock. */
static void lh_word_bad(struct tally_lh *lh)
{
	lh->hm = TALLY_LH_BAD;
	while (lh->head)
		lh_remove(lh, lh->head);
	while (lh->shared)
		lh_shared_remove(lh, lh->shared);
	lh_no_cur(lh);
	lh->fast = 0;
	lh_fast_unasked(lh, ~0ULL);
	lh->forced = false;
	lh->sweep = 0;
	lh->sweep_next = 0;
	lh_emit(lh, TALLY_LHA_WORD_BAD);
}

/* ---- the pump: what is next, seen from state and word only ---- */

static void lh_post_setw(struct tally_lh *lh)
{
	lh->hm = TALLY_LH_SETW;
	lh_emit(lh, TALLY_LHA_POST_SETW);
}

/*
 * post, in one doorbell, FAA(token, max(0, ng - token)) and FAA(state, -W);
 * CLRW.  A token word read too early only makes the difference larger.  Fast
 * tenures are simply left alone.
 */
static void lh_post_clrw(struct tally_lh *lh, const struct tally_lh_event *ev)
{
	lh->hm = TALLY_LH_CLRW;
	lh->fast = 0;
	lh_fast_unasked(lh, ~0ULL);
	lh_emit(lh, TALLY_LHA_POST_CLRW)->delta =
		lh->ng > ev->token ? lh->ng - ev->token : 0;
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
static bool lh_ask_all_fast(struct tally_lh *lh, u64 holders, u8 asked)
{
	u16 slot = 1;

	for (; holders; holders >>= 1, slot++) {
		if (!(holders & 1))
			continue;
		if (!lh_room(lh))
			return true;
		if (!lh_ask_fast(lh, slot, asked))
			return false;
	}
	return true;
}

/* break: REVOKE(gen, force) and REVOKE(0, force) to those it is meant for */
static void lh_pump_force(struct tally_lh *lh, const struct tally_lh_event *ev)
{
	struct tally_lh_node *n;

	if (lh->cur && lh->cur->force && lh_room(lh))
		lh_ask(lh, lh->cur, lh->gen, TALLY_LH_ASKED_FORCE);
	for (n = lh->shared; n; n = n->next)
		if (n->force && lh_room(lh))
			lh_ask(lh, n, n->gen, TALLY_LH_ASKED_FORCE);
	if (lh->hm == TALLY_LH_MAN && !lh->fast)
		lh->forced = false;
	if (lh->forced)
		lh_ask_all_fast(lh, lh_fast_holders(lh, ev->state),
				TALLY_LH_ASKED_FORCE);
}

/*
 * 6. cur set: queue not empty, head X, chain not full: take it off, append
 *    (head, ++ng) to the chain, SUCC to the one before it.  Repeat
 */
static bool lh_pump_chain(struct tally_lh *lh)
{
	int k = 0;

	while (k < TALLY_LH_CHAIN && lh->suc_gen[k])
		k++;
	if (k == TALLY_LH_CHAIN || lh->head->try ||
	    lh->head->mode != TALLY_LMODE_X)
		return false;
	lh->suc[k] = lh_pop(lh);
	lh->suc_gen[k] = ++lh->ng;
	lh_send_succ(lh, k);
	return true;
}

/*
 * 8. head S: take it off, SH[head] = ++ng, GRANT.  Repeat from 7
 * 9. head X, SH empty, F empty: ng = max(ng, token word), take it off, cur =
 *    (head, ++ng), GRANT.  Repeat from 6
 */
static bool lh_pump_grant(struct tally_lh *lh, u64 token)
{
	struct tally_lh_node *node = lh->head;

	if (node->mode == TALLY_LMODE_S) {
		lh_shared_add(lh, lh_pop(lh), ++lh->ng);
		lh_send(lh, node, TALLY_LM_GRANT, TALLY_LMODE_S, node->gen);
		return true;
	}
	if (lh->shared || lh->fast)
		return false;
	lh_raise(lh, token);
	lh->cur = lh_pop(lh);
	lh->via = NULL;
	lh->gen = ++lh->ng;
	lh_grant_cur(lh);
	return true;
}

/*
 * 6. Chain empty, head S: REVOKE(cur.gen) once per tenure.  Stop
 *    Chain empty, head try: REVOKE(cur.gen, idle-only).  Stop
 * 5. DRAIN: REVOKE(0) to the owner, once, if it lives.  Stop
 * 10. head X behind readers: REVOKE(SH[k]) to each of SH and REVOKE(0) to each
 *    of F, once each; idle-only for a try.  Stop
 *
 * False: a user of one of them makes a try pointless.
 */
static bool lh_pump_ask(struct tally_lh *lh, u64 state)
{
	u8 asked = lh->head->try ? TALLY_LH_ASKED_IDLE : TALLY_LH_ASKED;
	u16 owner = tally_lw_owner(state);
	struct tally_lh_node *n;

	if (lh->cur)
		return lh->suc_gen[0] || lh_ask(lh, lh->cur, lh->gen, asked);
	if (lh->hm == TALLY_LH_DRAIN)
		return tally_lh_sweeping(lh, owner) ||
		       lh_ask_fast(lh, owner, asked);
	for (n = lh->shared; n && lh_room(lh); n = n->next)
		if (!lh_ask(lh, n, n->gen, asked))
			return false;
	return lh_ask_all_fast(lh, lh_fast_holders(lh, state), asked);
}

/*
 * Queue empty, no cur: REVOKE(.., S) to the readers that were asked to leave.
 *   The writer that waited has given up, so others may join them again
 */
static void lh_pump_stay(struct tally_lh *lh, u64 state)
{
	u64 fast = lh->fast_asked & lh->fast & tally_lw_bits(state);
	struct tally_lh_node *n;
	u16 slot = 1;

	for (n = lh->shared; n; n = n->next) {
		if (n->asked != TALLY_LH_ASKED || !lh_room(lh))
			continue;
		n->asked = TALLY_LH_ASKED_NOT;
		if (n->up)
			lh_revoke(lh, n->slot, n->gen, TALLY_LH_ASKED);
	}
	for (; fast; fast >>= 1, slot++) {
		if (!(fast & 1) || !lh_room(lh))
			continue;
		lh->fast_asked &= ~tally_lh_slot_mask(slot);
		lh_revoke(lh, slot, 0, TALLY_LH_ASKED);
	}
}

/* True: more may be possible now.  A try with a user in its way is DENIED. */
static bool lh_pump_once(struct tally_lh *lh, const struct tally_lh_event *ev)
{
	bool forcing = lh->forced && (lh->hm == TALLY_LH_DRAIN || lh->fast);

	if (!lh->cur && !lh->head)
		lh_pump_stay(lh, ev->state);
	if (!lh_room(lh))
		return false;
	if (!lh->cur && !lh->shared && !lh->head && !lh->cpu && !forcing)
		lh_post_clrw(lh, ev);
	if (!lh->head)
		return false;
	if (lh->cur && lh_pump_chain(lh))
		return true;
	if (!lh->cur && lh->hm != TALLY_LH_DRAIN &&
	    lh_pump_grant(lh, ev->token))
		return true;
	if (lh_pump_ask(lh, ev->state))
		return false;
	lh_deny(lh, lh->head);
	return true;
}

/*
 * 1. DRAIN and owner(word) = 0: MAN, ng = max(ng, token word).  Only the owner
 *    was asked; as a reader it is asked again
 * 2. MAN, F not empty, and (bits(word) & F) = 0: F = empty
 * 3. Not DRAIN or MAN: stop.  Grace: grants nothing, clears nothing
 * 4. no cur, SH empty, queue empty: word arenas post FAA(token), FAA(-W); CLRW.
 *    Stop
 * 5. DRAIN: stop
 * 7. queue empty: stop
 */
static void lh_pump(struct tally_lh *lh, const struct tally_lh_event *ev)
{
	if (lh->hm == TALLY_LH_DRAIN && !tally_lw_owner(ev->state)) {
		lh->hm = TALLY_LH_MAN;
		lh->fast_idle = 0;
		lh->fast_asked = 0;
		lh_raise(lh, ev->token);
	}
	if (lh->hm == TALLY_LH_MAN && !(tally_lw_bits(ev->state) & lh->fast)) {
		lh->fast = 0;
		lh_fast_unasked(lh, ~0ULL);
	}
	if ((lh->hm != TALLY_LH_DRAIN && lh->hm != TALLY_LH_MAN) || lh->grace)
		return;
	lh_pump_force(lh, ev);
	while (lh_pump_once(lh, ev))
		;
}

/* ---- the home's own operations on the word ---- */

/*
 * FAA(+W) completes with old: F = bits of old, plus the bit of old's owner,
 * minus nodes in the queue or dead.  DRAIN (pump sends REVOKE(0) to the owner)
 */
static void lh_setw_done(struct tally_lh *lh, u64 old)
{
	const struct tally_lh_node *n;

	lh->fast = tally_lw_bits(old) | tally_lh_slot_mask(tally_lw_owner(old));
	for (n = lh->head; n; n = n->next)
		lh->fast &= ~tally_lh_slot_mask(n->slot);
	lh->fast &= ~(lh->sweep_next | tally_lh_slot_mask(lh->sweep));
	lh_fast_unasked(lh, ~0ULL);
	lh->hm = TALLY_LH_DRAIN;
}

/* FAA(-W) completes: FAST; queue not empty: post FAA(+W), SETW */
static void lh_clrw_done(struct tally_lh *lh)
{
	lh->hm = TALLY_LH_FAST;
	if (lh->head || lh->forced)
		lh_post_setw(lh);
}

/* One of them completed; only one that is in flight can. */
static void lh_w_done(struct tally_lh *lh, const struct tally_lh_event *ev)
{
	bool set = ev->kind == TALLY_LHE_SETW_DONE;

	if (lh->hm != (set ? TALLY_LH_SETW : TALLY_LH_CLRW))
		lh->out->bug = true;
	else if (tally_lw_w(ev->old) == set)
		lh_word_bad(lh);
	else if (set)
		lh_setw_done(lh, ev->old);
	else
		lh_clrw_done(lh);
}

static u64 lh_field(u64 state, u16 slot)
{
	u64 bit = tally_lh_slot_mask(slot) & tally_lw_bits(state);

	return (tally_lw_owner(state) == slot ? slot : 0) +
	       (bit << TALLY_LW_BIT_SHIFT);
}

/*
 * The field of @slot is to go.  One sweep at a time is posted, and what is left
 * of @slot is read then: only the home changes it any more.
 */
static void lh_post_sweep(struct tally_lh *lh, u16 slot, u64 state)
{
	struct tally_lh_action *a;
	u64 field = lh_field(state, slot);

	lh->sweep = field ? slot : 0;
	if (!field)
		return;
	a = lh_emit(lh, TALLY_LHA_POST_SWEEP);
	a->slot = slot;
	a->delta = field;
}

static void lh_swept(struct tally_lh *lh, u64 state)
{
	u16 slot = 1;

	lh->sweep = 0;
	for (; lh->sweep_next && !lh->sweep; slot++) {
		if (!(lh->sweep_next & tally_lh_slot_mask(slot)))
			continue;
		lh->sweep_next &= ~tally_lh_slot_mask(slot);
		lh_post_sweep(lh, slot, state);
	}
}

static void lh_sweep(struct tally_lh *lh, u16 slot, u64 state)
{
	if (tally_lh_sweeping(lh, slot) || !lh_field(state, slot))
		return;
	if (lh->sweep)
		lh->sweep_next |= tally_lh_slot_mask(slot);
	else
		lh_post_sweep(lh, slot, state);
}

static void lh_sweep_done(struct tally_lh *lh, const struct tally_lh_event *ev)
{
	if (!lh->sweep || lh->sweep != ev->slot)
		lh->out->bug = true;
	else if (!lh_field(ev->old, ev->slot))
		lh_word_bad(lh);
	else
		lh_swept(lh, ev->state);
}

/*
 * The loopback QP was destroyed with FAA(+W), FAA(-W) or a sweep in flight:
 * read W, which only the home writes, and the field, whose node is gone, and
 * post again what was not done.  With W in, no new owner comes, so the word as
 * it is now serves as the value that FAA(+W) returned.
 */
static void lh_loop_reset(struct tally_lh *lh, const struct tally_lh_event *ev)
{
	bool w = tally_lw_w(ev->state);

	if (lh->hm == TALLY_LH_SETW && w)
		lh_setw_done(lh, ev->state);
	else if (lh->hm == TALLY_LH_SETW)
		lh_post_setw(lh);
	else if (lh->hm == TALLY_LH_CLRW && w)
		lh_post_clrw(lh, ev);
	else if (lh->hm == TALLY_LH_CLRW)
		lh_clrw_done(lh);

	if (lh->sweep && lh_field(ev->state, lh->sweep))
		lh_post_sweep(lh, lh->sweep, ev->state);
	else
		lh_swept(lh, ev->state);
}

/* ---- messages and sessions ---- */

/* Does one wait that does not only try? */
static bool lh_waited_for(const struct tally_lh *lh)
{
	const struct tally_lh_node *n = lh->head;

	while (n && n->try)
		n = n->next;
	return n || lh->suc_gen[0];
}

static bool lh_mode_ok(u8 mode)
{
	return mode == TALLY_LMODE_X || mode == TALLY_LMODE_S;
}

/*
 * ENQUEUE(i, mode): F -= i.  FAST: put in queue, post FAA(+W), SETW.  Else put
 *   in queue
 * ENQUEUE(i, mode, try): F -= i.  Others wait (chain not empty, or not only tries
 *   in the queue) or grace: DENIED.  Else as without try; pump grants, or asks
 *   the holders
 */
static void lh_enqueue(struct tally_lh *lh, struct tally_lh_node *node,
		       const struct tally_lmsg *msg)
{
	bool try = msg->flags & TALLY_LMF_TRY;

	if (!lh_mode_ok(msg->mode) || lh_on_record(lh, node)) {
		lh_violation(lh, node);
		return;
	}
	lh->fast &= ~tally_lh_slot_mask(node->slot);
	if (try && (lh_waited_for(lh) || lh->grace)) {
		lh_send(lh, node, TALLY_LM_DENIED, 0, 0);
		return;
	}
	lh_push(lh, node, msg->mode, try);
	if (lh->hm == TALLY_LH_FAST)
		lh_post_setw(lh);
}

/*
 * CANCEL(i): in queue: remove, CANCELLED.  In the chain: its place is taken back
 * if cur is shared, or becomes so.  Else nothing: it has been granted or answered,
 * and the client will get that
 */
static void lh_cancel(struct tally_lh *lh, struct tally_lh_node *node)
{
	if (node->mode) {
		lh_remove(lh, node);
		lh_send(lh, node, TALLY_LM_CANCELLED, 0, 0);
	} else if (tally_lh_announced(lh, node) >= 0) {
		node->canc = node->canc ?: TALLY_LH_CANC_SAID;
		lh_settle_down(lh);
	}
}

/* Does @node say that it has a tenure which was only announced to it? */
static bool lh_implies(const struct tally_lh *lh,
		       const struct tally_lh_node *node, u64 gen)
{
	int k = tally_lh_announced(lh, node);

	return k >= 0 && gen == lh->suc_gen[k];
}

/*
 * Rule G: if a message has the pass of a member of the chain, its sender has the
 * lock, so all tenures before it have ended: cur = that member.  Without the pass
 * it has not: false.
 */
static bool lh_imply(struct tally_lh *lh, const struct tally_lh_event *ev)
{
	int k;

	if (!lh_implies(lh, ev->node, ev->msg.gen))
		return true;
	if (!ev->proven) {
		lh_violation(lh, ev->node);
		return false;
	}
	for (k = tally_lh_announced(lh, ev->node); k >= 0; k--)
		lh_shift(lh);
	return true;
}

/*
 * DONE(gen): rule G.  gen = cur.gen: cur = first of the chain, via = sender;
 *   that one dead: as REL.  Else drop
 */
static void lh_done(struct tally_lh *lh, const struct tally_lh_event *ev)
{
	struct tally_lh_node *node = ev->node;

	if (!lh_imply(lh, ev) || !lh->cur || ev->msg.gen != lh->gen)
		return;
	if (lh->cur != node || !lh->suc_gen[0]) {
		lh_violation(lh, node);
	} else if (lh->suc[0]) {
		lh_shift(lh);
		lh->via = node;
	} else {
		lh_end_tenure(lh);
	}
}

/*
 * REL(gen, canc): @node has never had what was announced to it, and will not take
 * it: its place is as that of a dead one.
 */
static bool lh_left(struct tally_lh *lh, const struct tally_lh_event *ev)
{
	struct tally_lh_node *node = ev->node;

	if (!(ev->msg.flags & TALLY_LMF_CANC) ||
	    node->canc != TALLY_LH_CANC_TOLD ||
	    !lh_implies(lh, node, ev->msg.gen))
		return false;
	lh->suc[tally_lh_announced(lh, node)] = NULL;
	node->canc = TALLY_LH_CANC_NOT;
	lh_settle_down(lh);
	return true;
}

/*
 * REL(gen, canc) of a member of the chain that was asked: its place is empty
 * REL(gen): rule G.  gen = cur.gen: cur = first of the chain that lives (via
 *   none), send it GRANT; there is none: cur = none.  gen = SH[i]: remove it.
 *   Else drop
 */
static void lh_rel(struct tally_lh *lh, const struct tally_lh_event *ev)
{
	struct tally_lh_node *node = ev->node;
	const struct tally_lmsg *msg = &ev->msg;

	if (lh_left(lh, ev) || !lh_imply(lh, ev))
		return;
	if (msg->gen && msg->gen == node->gen) {
		lh_shared_remove(lh, node);
	} else if (lh->cur && msg->gen == lh->gen) {
		if (lh->cur != node) {
			lh_violation(lh, node);
			return;
		}
		if (msg->flags & TALLY_LMF_VALUE_BAD)
			lh_emit(lh, TALLY_LHA_VALUE_BAD);
		lh_end_tenure(lh);
	}
}

/*
 * DOWN(i, gen): rule G.  gen = cur.gen: SH[i] = gen, cur = none.  While one of
 *   the chain lives, cur stays, shared: i may have handed over what it could
 *   before, so nobody else is granted before it gives the lock back, or those of
 *   the chain, if they have given up, have said that they will not take it
 */
static void lh_down(struct tally_lh *lh, const struct tally_lh_event *ev)
{
	struct tally_lh_node *node = ev->node;

	if (!lh_imply(lh, ev))
		return;
	if (lh->cur != node || ev->msg.gen != lh->gen) {
		lh_violation(lh, node);
		return;
	}
	lh->down = true;
	lh_settle_down(lh);
}

/*
 * UPG(i, gen): i the only holder (F empty) and queue empty: SH -= i, ng =
 *   max(ng, token word), cur = (i, ++ng), UPGRADED(ng).  Else DENIED
 */
static void lh_upg(struct tally_lh *lh, const struct tally_lh_event *ev)
{
	struct tally_lh_node *node = ev->node;
	bool cur = lh->cur == node && ev->msg.gen == lh->gen;

	if (!cur && (!node->gen || node->gen != ev->msg.gen)) {
		lh_violation(lh, node);
		return;
	}
	if (cur || lh->fast || lh->head || lh->shared != node || node->next) {
		lh_send(lh, node, TALLY_LM_DENIED, 0, 0);
		return;
	}
	lh_shared_remove(lh, node);
	lh_raise(lh, ev->token);
	lh->cur = node;
	lh->via = NULL;
	lh->gen = ++lh->ng;
	node->asked = TALLY_LH_ASKED_NOT;
	lh_send(lh, node, TALLY_LM_UPGRADED, 0, lh->gen);
}

/* BUSY(gen) from one that was asked whether it is idle: the try is DENIED */
static void lh_busy(struct tally_lh *lh, const struct tally_lh_event *ev)
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
		lh_deny(lh, lh->head);
}

/*
 * Can i hold gen?  What is on record decides.  A tenure that is not on record
 * was ended by rule G: a message of one behind it in the chain overtook this
 * snapshot, and the DONE behind it.
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
			    const struct tally_lh_event *ev)
{
	const struct tally_lh_node *node = ev->node;
	const struct tally_lmsg *msg = &ev->msg;

	return node->up || (msg->mode && msg->gen) ||
	       (msg->mode && !lh_mode_ok(msg->mode)) ||
	       (msg->gen && !lh_can_hold(lh, node, msg)) ||
	       (lh_implies(lh, node, msg->gen) && !ev->proven) ||
	       (node->mode && node->mode != msg->mode);
}

/*
 * 2. cur = i:
 *    held = cur.gen, listed as S: apply DOWN, then UPG if asked; if cur stays,
 *    SUCC
 *    held = cur.gen, X: repeat SUCC or REVOKE if one was due
 *    not held, cur.gen > last: repeat GRANT (UPGRADED if an upgrade was asked),
 *    then SUCC or REVOKE if due
 *    not held, cur.gen <= last: REL(cur.gen)
 *
 * REVOKE is repeated by pump.
 */
static void lh_resync_cur(struct tally_lh *lh, const struct tally_lh_event *ev)
{
	const struct tally_lmsg *msg = &ev->msg;
	bool held = msg->gen == lh->gen;

	if (held && msg->flags & TALLY_LMF_HELD_S) {
		lh_down(lh, ev);
		if (!lh->cur)
			return;
		if (msg->flags & TALLY_LMF_UPG)
			lh_upg(lh, ev);
	}
	if (!held && lh->gen <= msg->last) {
		lh_end_tenure(lh);
		return;
	}
	if (!held && msg->flags & TALLY_LMF_UPG)
		lh_send(lh, lh->cur, TALLY_LM_UPGRADED, 0, lh->gen);
	else if (!held)
		lh_grant_cur(lh);
	ev->node->asked = TALLY_LH_ASKED_NOT;
	if (lh->suc_gen[0])
		lh_send_succ(lh, 0);
}

/*
 * 3. i in the chain: gen <= last and not held: it says that it has had that
 *    tenure, which is not to end those before it: its place is as that of a dead
 *    one, as far as cur is shared, too.  Else leave it, but repeat the SUCC it was
 *    sent for when its turn comes, and apply CANCEL if canc
 */
static void lh_resync_chain(struct tally_lh *lh, struct tally_lh_node *node,
			    const struct tally_lmsg *msg)
{
	int k = tally_lh_announced(lh, node);

	if (k < 0)
		return;
	if (lh->suc_gen[k] <= msg->last) {
		lh->suc[k] = NULL;
		lh_settle_down(lh);
		return;
	}
	if (k + 1 < TALLY_LH_CHAIN && lh->suc_gen[k + 1])
		lh_send_succ(lh, k + 1);
	node->canc = msg->flags & TALLY_LMF_CANC ? TALLY_LH_CANC_SAID :
						   TALLY_LH_CANC_NOT;
	lh_settle_down(lh);
}

/*
 * 4. SH has i: held: repeat REVOKE if it was sent, apply UPG if asked.  SH[i] >
 *    last: repeat GRANT (and REVOKE).  Else remove it
 */
static void lh_resync_shared(struct tally_lh *lh,
			     const struct tally_lh_event *ev)
{
	struct tally_lh_node *node = ev->node;

	node->asked = TALLY_LH_ASKED_NOT;
	if (node->gen == ev->msg.gen) {
		if (ev->msg.flags & TALLY_LMF_UPG)
			lh_upg(lh, ev);
	} else if (node->gen > ev->msg.last) {
		lh_send(lh, node, TALLY_LM_GRANT, TALLY_LMODE_S, node->gen);
	} else {
		lh_shared_remove(lh, node);
	}
}

/*
 * 5. After that, if i has no record left and lists a pending request: in queue:
 *    apply CANCEL if canc.  Not in queue: CANCELLED if canc, else ENQUEUE
 */
static void lh_resync_request(struct tally_lh *lh, struct tally_lh_node *node,
			      const struct tally_lmsg *msg)
{
	if (lh->cur == node || tally_lh_announced(lh, node) >= 0 ||
	    node->gen || !msg->mode)
		return;
	if (!(msg->flags & TALLY_LMF_CANC)) {
		if (!node->mode)
			lh_enqueue(lh, node, msg);
	} else if (node->mode) {
		lh_cancel(lh, node);
	} else {
		lh_send(lh, node, TALLY_LM_CANCELLED, 0, 0);
	}
}

/*
 * RESYNC(i): SYNCED first, then
 *
 * 1. i lists held the gen of a member of the chain: rule G
 * 6. cur.via = i: GRANT(cur.gen) to cur again (a LOST of i may have gone down
 *    with the link)
 */
static void lh_resync(struct tally_lh *lh, const struct tally_lh_event *ev)
{
	struct tally_lh_node *node = ev->node;
	const struct tally_lmsg *msg = &ev->msg;

	if (lh_resync_wrong(lh, ev)) {
		lh_violation(lh, node);
		return;
	}
	node->up = true;
	if (msg->mode || msg->gen)
		lh_send(lh, node, TALLY_LM_SYNCED, 0, 0);
	lh_imply(lh, ev);
	lh_resync_chain(lh, node, msg);
	if (lh->cur == node)
		lh_resync_cur(lh, ev);
	if (node->gen)
		lh_resync_shared(lh, ev);
	lh_resync_request(lh, node, msg);
	if (lh->cur && lh->via == node)
		lh_grant_cur(lh);
}

/* A node that lists nothing has accepted and released all it was granted. */
static void lh_resync_nothing(struct tally_lh *lh,
			      const struct tally_lh_event *ev)
{
	struct tally_lh_event nothing = *ev;

	if (ev->node->up)
		return;
	nothing.msg = (struct tally_lmsg){
		.type = TALLY_LM_RESYNC,
		.last = ~0ULL,
	};
	lh_resync(lh, &nothing);
}

/*
 * LOOK: nothing (pump reads the word).
 * LOST(gen): gen = cur.gen: GRANT(gen) to cur again
 *
 * A first message after a break that is
 * not RESYNC comes from a node that had nothing to list.
 */
static void lh_msg(struct tally_lh *lh, const struct tally_lh_event *ev)
{
	struct tally_lh_node *node = ev->node;

	if (ev->msg.type != TALLY_LM_RESYNC)
		lh_resync_nothing(lh, ev);
	switch (ev->msg.type) {
	case TALLY_LM_ENQUEUE:
		lh_enqueue(lh, node, &ev->msg);
		break;
	case TALLY_LM_CANCEL:
		lh_cancel(lh, node);
		break;
	case TALLY_LM_REL:
		lh_rel(lh, ev);
		break;
	case TALLY_LM_DONE:
		lh_done(lh, ev);
		break;
	case TALLY_LM_LOOK:
		break;
	case TALLY_LM_DOWN:
		lh_down(lh, ev);
		break;
	case TALLY_LM_UPG:
		if (lh_imply(lh, ev))
			lh_upg(lh, ev);
		break;
	case TALLY_LM_LOST:
		if (ev->msg.next_gen == lh->gen)
			lh_grant_cur(lh);
		break;
	case TALLY_LM_BUSY:
		lh_busy(lh, ev);
		break;
	case TALLY_LM_RESYNC:
		lh_resync(lh, ev);
		break;
	default:
		lh_violation(lh, node);
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
static void lh_resync_end(struct tally_lh *lh, const struct tally_lh_event *ev)
{
	if (ev->node)
		lh_resync_nothing(lh, ev);
	lh_fast_unasked(lh, tally_lh_slot_mask(ev->slot));
}

/*
 * session of i ends: queue -= i; SH -= i; F -= i; cur = i: as REL with the
 *   value block marked not valid; cur.via = i: GRANT(cur.gen) to cur again; i
 *   in the chain: leave it, the end of the tenure before it settles it; none
 *   lives and cur is shared: SH gets cur, cur = none.
 *   sweep: owner = i: FAA(-i); bit i: FAA(-bit i)
 */
static void lh_session_end(struct tally_lh *lh, const struct tally_lh_event *ev)
{
	bool owner = !lh->cpu && tally_lw_owner(ev->state) == ev->slot;
	struct tally_lh_node *node = ev->node;
	int k = node ? tally_lh_announced(lh, node) : -1;

	if (owner || (node && lh->cur == node))
		lh_emit(lh, TALLY_LHA_VALUE_BAD);
	lh->fast &= ~tally_lh_slot_mask(ev->slot);
	lh_fast_unasked(lh, tally_lh_slot_mask(ev->slot));
	if (k >= 0)
		lh->suc[k] = NULL;
	if (node && node->mode)
		lh_remove(lh, node);
	if (node && node->gen)
		lh_shared_remove(lh, node);
	if (node && lh->via == node) {
		lh->via = NULL;
		lh_grant_cur(lh);
	}
	if (node && lh->cur == node)
		lh_end_tenure(lh);
	lh_settle_down(lh);
	if (!lh->cpu)
		lh_sweep(lh, ev->slot, ev->state);
}

/*
 * break: cur that was handed the lock gets GRANT(cur.gen) again.  Managed holders get
 * REVOKE(gen, force).  Fast ones: enter managed mode, REVOKE(0, force).  ng rises by
 * one even if no node waits
 */
static void lh_break(struct tally_lh *lh, const struct tally_lh_event *ev)
{
	bool taken = tally_lw_owner(ev->state) || tally_lw_bits(ev->state);
	struct tally_lh_node *n;

	lh->ng++;
	/* It cannot answer for a tenure whose HANDOVER has not come. */
	if (lh->via)
		lh_grant_cur(lh);
	if (lh->cur)
		lh->cur->force = true;
	for (n = lh->shared; n; n = n->next)
		n->force = true;
	if (lh->cpu || !taken)
		return;
	lh->forced = true;
	if (lh->hm == TALLY_LH_FAST)
		lh_post_setw(lh);
}

/*
 * Start a lock whose tenure numbers and token word start at @tenure.  Returns
 * the first value of the state word.
 */
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

/* Start a session at a lock; @up: not between its break and RESYNC_END. */
void tally_lh_node_init(struct tally_lh_node *node, u16 slot, u64 session,
			bool up)
{
	*node = (struct tally_lh_node){
		.slot = slot,
		.session = session,
		.up = up,
	};
}

void tally_lh_step(struct tally_lh *lh, const struct tally_lh_event *ev,
		   struct tally_lh_actions *out)
{
	out->n = 0;
	out->more = false;
	out->bug = false;
	if (lh->hm == TALLY_LH_BAD)
		return;
	lh->out = out;
	switch (ev->kind) {
	case TALLY_LHE_MSG:
		lh_msg(lh, ev);
		break;
	case TALLY_LHE_SETW_DONE:
	case TALLY_LHE_CLRW_DONE:
		lh_w_done(lh, ev);
		break;
	case TALLY_LHE_SWEEP_DONE:
		lh_sweep_done(lh, ev);
		break;
	case TALLY_LHE_LINK_DOWN:
		ev->node->up = false;
		break;
	case TALLY_LHE_RESYNC_END:
		lh_resync_end(lh, ev);
		break;
	case TALLY_LHE_SESSION_END:
		lh_session_end(lh, ev);
		break;
	case TALLY_LHE_GRACE_OVER:
		lh->grace = false;
		break;
	case TALLY_LHE_LOOP_RESET:
		lh_loop_reset(lh, ev);
		break;
	case TALLY_LHE_BREAK:
		lh_break(lh, ev);
		break;
	case TALLY_LHE_MORE:
		break;
	default:
		out->bug = true;
	}
	lh_pump(lh, ev);
	lh->out = NULL;
}

/*
 * Has any node the lock?  One that waits may count, while its bit is in the
 * word.  What was granted before the home's start, in grace, it does not know.
 */
bool tally_lh_taken(const struct tally_lh *lh, u64 state)
{
	return !lh->grace && (lh->cur || lh->shared || tally_lw_owner(state) ||
			      tally_lw_bits(state));
}

/* Has a holder of the time of BREAK neither answered nor gone? */
bool tally_lh_breaking(const struct tally_lh *lh)
{
	const struct tally_lh_node *n;

	for (n = lh->shared; n; n = n->next)
		if (n->force)
			return true;
	return lh->forced || (lh->cur && lh->cur->force);
}

/* Has a session what BREAK told it to give up, in the word or by its @node? */
bool tally_lh_unanswered(const struct tally_lh *lh, u16 slot,
			 const struct tally_lh_node *node, u64 state)
{
	u64 mask = tally_lh_slot_mask(slot);

	if (lh->fast_forced & lh_fast_holders(lh, state) & mask)
		return true;
	return node && node->force && (lh->cur == node || node->gen);
}
