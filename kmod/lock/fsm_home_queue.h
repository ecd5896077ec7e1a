/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The home side of one lock: who waits, who holds, and what is sent to them.
 * Part of lock/fsm_home.c.
 */
#ifndef TALLY_LOCKHOME_QUEUE_H
#define TALLY_LOCKHOME_QUEUE_H

#include "lock/fsm_home.h"

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

/* The try that asked is over: the next one asks again. */
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

/* cur handed over to the first of the chain; a dead one has nothing of it. */
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

#endif
