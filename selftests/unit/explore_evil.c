// SPDX-License-Identifier: GPL-2.0
/*
 * A client that keeps to no rule: it does what others do, and says besides what it
 * likes of its own sessions, at any time, with all that it was ever told.  It
 * cannot make the pass of a tenure, nor the home's word for a successor.
 */
#include <string.h>

#include "explore_world.h"

/* What it says, to be followed by a generation. */
enum evil_word {
	EVIL_REL,
	EVIL_LEFT,
	EVIL_DONE,
	EVIL_DOWN,
	EVIL_UPG,
	EVIL_LOST,
	EVIL_BUSY,
	EVIL_HAND_1,	/* HANDOVER to the next client */
	EVIL_HAND_2,
	EVIL_HELD,	/* RESYNC that lists it as held in X */
	EVIL_HELD_S,
	EVIL_WORDS,
};

/* And without one, after those. */
enum evil_plain {
	EVIL_ENQUEUE_X = EVIL_WORDS * EVIL_GENS,
	EVIL_ENQUEUE_S,
	EVIL_TRY,
	EVIL_CANCEL,
	EVIL_LOOK,
	EVIL_NOTHING,	/* no RESYNC */
	EVIL_WAITS,	/* RESYNC that waits, and has had all there was */
	EVIL_END,
};

static_assert(EVIL_END == EVIL_STEPS);

/* Any function that tells generations apart. */
u8 pass_of(u64 gen)
{
	return gen ? gen * 29 + 3 : 0;
}

static bool evil_told(u8 gen)
{
	return gen < EVIL_GENS && W.evil.knows >> gen & 1;
}

/* It has one pass, and what SUCC made of that and the next. */
static void evil_deduce(void)
{
	u8 gen;

	for (gen = 1; gen < EVIL_GENS; gen++)
		if (evil_told(W.evil.under[gen]))
			W.evil.knows |= 1U << gen;
}

/* What client 3 hears. */
void evil_hears(const struct tally_lmsg *msg)
{
	u64 gen = msg->type == TALLY_LM_HANDOVER ? msg->next_gen : msg->gen;

	if (gen >= EVIL_GENS || msg->next_gen >= EVIL_GENS)
		return;
	if (msg->type == TALLY_LM_SUCC && msg->next_slot) {
		W.evil.under[msg->next_gen] = gen;
		W.evil.slot[msg->next_gen] = msg->next_slot;
		W.evil.session[msg->next_gen] = msg->next_session;
		if (opt.bug == BUG_PASSBARE)
			W.evil.knows |= 1U << msg->next_gen;
	} else if (msg->type == TALLY_LM_GRANT ||
		   msg->type == TALLY_LM_UPGRADED ||
		   msg->type == TALLY_LM_HANDOVER) {
		W.evil.knows |= 1U << gen;
	}
	evil_deduce();
}

/* To client @to, who believes the home's word only. */
static bool evil_hand(int to, u8 gen)
{
	struct xhand *h = &W.c[EVIL].hand[to];
	bool may = evil_told(gen) && W.evil.slot[gen] == slot_of(to);

	if (h->n == HANDS || !(may || opt.bug == BUG_PROOF))
		return false;
	h->gen[h->n] = gen;
	h->pass[h->n] = pass_of(gen);
	h->session[h->n++] = may ? W.evil.session[gen] : W.c[to].session;
	return true;
}

static bool evil_send(struct tally_lmsg msg)
{
	struct xclient *c = &W.c[EVIL];

	if (c->broken || c->ended || c->c2h.n == CHAN)
		return false;
	chan_put(&c->c2h, &msg);
	return true;
}

/* Its link comes back, and instead of what it has it lists this. */
static bool evil_resume(struct tally_lmsg msg)
{
	if (!world_fault(STEP_RESUME, EVIL))
		return false;
	chan_clear(&W.c[EVIL].c2h);
	if (msg.type)
		chan_put(&W.c[EVIL].c2h, &msg);
	chan_put(&W.c[EVIL].c2h, &(struct tally_lmsg){
		.type = TALLY_LM_RESYNC_END,
	});
	return true;
}

static bool evil_word(enum evil_word word, u8 gen)
{
	static const u8 types[] = {
		[EVIL_REL] = TALLY_LM_REL, [EVIL_LEFT] = TALLY_LM_REL,
		[EVIL_DONE] = TALLY_LM_DONE, [EVIL_DOWN] = TALLY_LM_DOWN,
		[EVIL_UPG] = TALLY_LM_UPG, [EVIL_LOST] = TALLY_LM_LOST,
		[EVIL_BUSY] = TALLY_LM_BUSY,
	};
	struct tally_lmsg msg = {
		.type = TALLY_LM_RESYNC,
		.gen = gen,
		.last = gen,
		.pass = evil_told(gen) ? pass_of(gen) : 0,
	};

	if (!gen || gen > W.lh.ng + 1)
		return false;
	if (word == EVIL_HAND_1 || word == EVIL_HAND_2)
		return evil_hand((EVIL + 1 + word - EVIL_HAND_1) % NC, gen);
	if (word == EVIL_HELD_S)
		msg.flags = TALLY_LMF_HELD_S;
	if (word >= EVIL_HELD)
		return evil_resume(msg);
	msg.type = types[word];
	msg.flags = word == EVIL_LEFT ? TALLY_LMF_CANC : 0;
	msg.next_gen = word == EVIL_LOST ? gen : 0;
	return evil_send(msg);
}

static bool evil_plain(enum evil_plain word)
{
	switch (word) {
	case EVIL_ENQUEUE_X:
	case EVIL_ENQUEUE_S:
	case EVIL_TRY:
		return evil_send((struct tally_lmsg){
			.type = TALLY_LM_ENQUEUE,
			.mode = word == EVIL_ENQUEUE_S ? TALLY_LMODE_S :
							 TALLY_LMODE_X,
			.flags = word == EVIL_TRY ? TALLY_LMF_TRY : 0,
		});
	case EVIL_CANCEL:
		return evil_send((struct tally_lmsg){
			.type = TALLY_LM_CANCEL,
		});
	case EVIL_LOOK:
		return evil_send((struct tally_lmsg){ .type = TALLY_LM_LOOK });
	case EVIL_NOTHING:
		return evil_resume((struct tally_lmsg){});
	default:
		return evil_resume((struct tally_lmsg){
			.type = TALLY_LM_RESYNC,
			.mode = TALLY_LMODE_X,
			.last = 255,
		});
	}
}

/* One of EVIL_STEPS things to say. */
bool evil_step(int what)
{
	if (!W.evil.left)
		return false;
	if (what >= EVIL_ENQUEUE_X ? !evil_plain(what) :
	    !evil_word(what / EVIL_GENS, what % EVIL_GENS))
		return false;
	W.evil.left--;
	return true;
}
