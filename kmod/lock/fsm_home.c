// SPDX-License-Identifier: GPL-2.0
/*
 * The home side of one lock.  Each function implements the rows of the home
 * table in docs/protocol.md that its comment quotes as "event: action"; the
 * numbers in lh_pump() and lh_resync() are those of the steps in the tables.
 */
#include <linux/types.h>

#include "lock/fsm_home.h"

int tally_lh_announced(const struct tally_lh *lh,
		       const struct tally_lh_node *node)
{
	int k = TALLY_LH_CHAIN;

	while (k--)
		if (lh->suc[k] == node)
			break;
	return k;
}

bool tally_lh_node_idle(const struct tally_lh *lh,
			const struct tally_lh_node *node)
{
	return lh->cur != node && lh->via != node &&
	       tally_lh_announced(lh, node) < 0 && !node->mode && !node->gen;
}

/* ---- waiters, holders, and what is sent to them ---- */

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

/* Is there room for one more thing to be done?  Else it is done by MORE. */
static bool lh_room(struct tally_lh_actions *out)
{
	out->more |= out->n + 2 > TALLY_LH_ACTIONS;
	return !out->more;
}

static void lh_send_slot(struct tally_lh_actions *out, u16 slot,
			 struct tally_lmsg msg)
{
	struct tally_lh_action *a = lh_emit(out, TALLY_LHA_SEND);

	a->slot = slot;
	a->msg = msg;
}

/* Nothing is sent between a break and RESYNC; that repeats what is still due. */
static void lh_send_msg(struct tally_lh_actions *out,
			const struct tally_lh_node *node, struct tally_lmsg msg)
{
	if (node->up)
		lh_send_slot(out, node->slot, msg);
}

static void lh_send(struct tally_lh_actions *out,
		    const struct tally_lh_node *node, u8 type)
{
	lh_send_msg(out, node, (struct tally_lmsg){ .type = type });
}

static void lh_grant(struct tally_lh_actions *out,
		     const struct tally_lh_node *node, u8 mode, u64 gen)
{
	lh_send_msg(out, node, (struct tally_lmsg){
		.type = TALLY_LM_GRANT,
		.mode = mode,
		.gen = gen,
	});
}

static void lh_grant_cur(struct tally_lh *lh, struct tally_lh_actions *out)
{
	if (lh->cur)
		lh_grant(out, lh->cur, TALLY_LMODE_X, lh->gen);
}

/*
 * SUCC to the one before @k in the chain, if it lives, that @k follows.  To no
 * slot if @k is dead: then it gives the lock back to the home.
 */
static void lh_send_succ(struct tally_lh *lh, struct tally_lh_actions *out,
			 int k)
{
	struct tally_lh_node *to = k ? lh->suc[k - 1] : lh->cur;
	struct tally_lh_node *next = lh->suc[k];

	if (to)
		lh_send_msg(out, to, (struct tally_lmsg){
			.type = TALLY_LM_SUCC,
			.gen = k ? lh->suc_gen[k - 1] : lh->gen,
			.next_slot = next ? next->slot : 0,
			.next_session = next ? next->session : 0,
			.next_gen = lh->suc_gen[k],
		});
}

static void lh_violation(struct tally_lh_actions *out,
			 const struct tally_lh_node *node)
{
	lh_emit(out, TALLY_LHA_VIOLATION)->slot = node->slot;
}

/* ---- how holders are asked to give the lock back ---- */

static u8 lh_revoke_flags(u8 asked)
{
	if (asked == TALLY_LH_ASKED_IDLE)
		return TALLY_LMF_IDLE_ONLY;
	return asked == TALLY_LH_ASKED_FORCE ? TALLY_LMF_FORCE : 0;
}

/*
 * REVOKE(gen), once of each kind per tenure.  False: to ask whether it is idle
 * makes no sense, it was asked to leave before and has not.
 */
static bool lh_ask(struct tally_lh_actions *out, struct tally_lh_node *node,
		   u64 gen, u8 asked)
{
	if (asked == TALLY_LH_ASKED_IDLE && node->asked > asked)
		return false;
	if (node->asked >= asked)
		return true;
	node->asked = asked;
	lh_send_msg(out, node, (struct tally_lmsg){
		.type = TALLY_LM_REVOKE,
		.flags = lh_revoke_flags(asked),
		.gen = gen,
	});
	return true;
}

/* REVOKE(0), likewise; the holder may have no node, so it is sent always. */
static bool lh_ask_fast(struct tally_lh *lh, struct tally_lh_actions *out,
			u16 slot, u8 asked)
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
	lh_send_slot(out, slot, (struct tally_lmsg){
		.type = TALLY_LM_REVOKE,
		.flags = lh_revoke_flags(asked),
	});
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

/* ---- queue ---- */

static void lh_push(struct tally_lh *lh, struct tally_lh_node *node, u8 mode,
		    bool try)
{
	node->mode = mode;
	node->try = try;
	if (lh->tail)
		lh->tail->next = node;
	else
		lh->head = node;
	lh->tail = node;
}

static void lh_push_head(struct tally_lh *lh, struct tally_lh_node *node,
			 u8 mode)
{
	node->mode = mode;
	node->try = false;
	node->next = lh->head;
	lh->head = node;
	if (!lh->tail)
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

static void lh_deny(struct tally_lh *lh, struct tally_lh_actions *out,
		    struct tally_lh_node *node)
{
	lh_remove(lh, node);
	lh_send(out, node, TALLY_LM_DENIED);
}

/* ---- holders of managed tenures ---- */

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

static void lh_no_chain(struct tally_lh *lh)
{
	int k;

	for (k = 0; k < TALLY_LH_CHAIN; k++) {
		lh->suc[k] = NULL;
		lh->suc_gen[k] = 0;
	}
}

/*
 * cur = first of the chain that lives (via none), send it GRANT; none: cur =
 * none.  What was announced to the dead is reclaimed.
 */
static void lh_end_tenure(struct tally_lh *lh, struct tally_lh_actions *out)
{
	do
		lh_shift(lh);
	while (!lh->cur && lh->suc_gen[0]);
	lh_grant_cur(lh, out);
}

/* cur handed over to the first of the chain; a dead one is skipped. */
static void lh_handed(struct tally_lh *lh, struct tally_lh_actions *out)
{
	struct tally_lh_node *via = lh->cur;

	if (!lh->suc[0]) {
		lh_end_tenure(lh, out);
		return;
	}
	lh_shift(lh);
	lh->via = via;
}

static void lh_raise(struct tally_lh *lh, u64 tenure)
{
	if (lh->ng < tenure)
		lh->ng = tenure;
}

/* A word that breaks an assertion ends the use of the lock. */
static void lh_word_bad(struct tally_lh *lh, struct tally_lh_actions *out)
{
	lh->hm = TALLY_LH_BAD;
	while (lh->head)
		lh_remove(lh, lh->head);
	while (lh->shared)
		lh_shared_remove(lh, lh->shared);
	lh_no_chain(lh);
	lh_shift(lh);
	lh->fast = 0;
	lh_fast_unasked(lh, ~0ULL);
	lh->forced = false;
	lh->sweep = 0;
	lh->sweep_next = 0;
	lh_emit(out, TALLY_LHA_WORD_BAD);
}

/* ---- the pump: what is next, seen from state and word only ---- */

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

/* A try with a user in its way is DENIED, and the next one looked at. */
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

/* ---- the home's own operations on the word ---- */

/*
 * FAA(+W) completes with old: F = bits of old, plus the bit of old's owner,
 * minus nodes in the queue or dead.  DRAIN (pump sends REVOKE(0) to the owner)
 */
static void lh_setw_done(struct tally_lh *lh, u64 old,
			 struct tally_lh_actions *out)
{
	const struct tally_lh_node *n;

	if (tally_lw_w(old)) {
		lh_word_bad(lh, out);
		return;
	}
	lh->fast = tally_lw_bits(old) | tally_lh_slot_mask(tally_lw_owner(old));
	for (n = lh->head; n; n = n->next)
		lh->fast &= ~tally_lh_slot_mask(n->slot);
	lh->fast &= ~(lh->sweep_next | tally_lh_slot_mask(lh->sweep));
	lh_fast_unasked(lh, ~0ULL);
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
	if (lh->head || lh->forced)
		lh_post_setw(lh, out);
}

/* What @slot has in the word. */
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
static void lh_post_sweep(struct tally_lh *lh, u16 slot, u64 state,
			  struct tally_lh_actions *out)
{
	struct tally_lh_action *a;
	u64 field = lh_field(state, slot);

	lh->sweep = field ? slot : 0;
	if (!field)
		return;
	a = lh_emit(out, TALLY_LHA_POST_SWEEP);
	a->slot = slot;
	a->delta = field;
}

static void lh_swept(struct tally_lh *lh, u64 state,
		     struct tally_lh_actions *out)
{
	u16 slot = 1;

	lh->sweep = 0;
	for (; lh->sweep_next && !lh->sweep; slot++) {
		if (!(lh->sweep_next & tally_lh_slot_mask(slot)))
			continue;
		lh->sweep_next &= ~tally_lh_slot_mask(slot);
		lh_post_sweep(lh, slot, state, out);
	}
}

static void lh_sweep(struct tally_lh *lh, u16 slot, u64 state,
		     struct tally_lh_actions *out)
{
	if (tally_lh_sweeping(lh, slot) || !lh_field(state, slot))
		return;
	if (lh->sweep)
		lh->sweep_next |= tally_lh_slot_mask(slot);
	else
		lh_post_sweep(lh, slot, state, out);
}

static void lh_sweep_done(struct tally_lh *lh, const struct tally_lh_event *ev,
			  struct tally_lh_actions *out)
{
	if (!lh->sweep || lh->sweep != ev->slot)
		out->bug = true;
	else if (!lh_field(ev->old, ev->slot))
		lh_word_bad(lh, out);
	else
		lh_swept(lh, ev->state, out);
}

/*
 * The loopback QP was destroyed with FAA(+W), FAA(-W) or a sweep in flight:
 * read W, which only the home writes, and the field, whose node is gone, and
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

	if (lh->sweep && lh_field(ev->state, lh->sweep))
		lh_post_sweep(lh, lh->sweep, ev->state, out);
	else
		lh_swept(lh, ev->state, out);
}

/* A loopback operation completed; only one that is in flight can. */
static void lh_w_done(struct tally_lh *lh, const struct tally_lh_event *ev,
		      struct tally_lh_actions *out)
{
	if (ev->kind == TALLY_LHE_SETW_DONE && lh->hm == TALLY_LH_SETW)
		lh_setw_done(lh, ev->old, out);
	else if (ev->kind == TALLY_LHE_CLRW_DONE && lh->hm == TALLY_LH_CLRW)
		lh_clrw_done(lh, ev->old, out);
	else
		out->bug = true;
}

/* ---- messages and sessions ---- */

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
 * ENQUEUE(i, mode, try): F -= i.  Others wait (queue or chain not empty) or
 *   grace: DENIED.  Else as without try; pump grants, or asks the holders
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
 * sender has the lock, so all tenures before it have ended: cur = that member
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
 *   are burned: only i could have begun to hand them on
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
 * break: cur that was handed the lock gets GRANT(cur.gen) again.  Managed holders get
 * REVOKE(gen, force).  Fast ones: enter managed mode, REVOKE(0, force).  ng rises by
 * one even if no node waits
 */
static void lh_break(struct tally_lh *lh, const struct tally_lh_event *ev,
		     struct tally_lh_actions *out)
{
	bool taken = tally_lw_owner(ev->state) || tally_lw_bits(ev->state);
	struct tally_lh_node *n;

	lh->ng++;
	/* It cannot answer for a tenure whose HANDOVER has not come. */
	if (lh->via)
		lh_grant_cur(lh, out);
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
