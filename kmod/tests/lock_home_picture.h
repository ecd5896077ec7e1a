/* SPDX-License-Identifier: GPL-2.0 */
/* A lock at its home as a plain value: what the cases start from and end in. */
#ifndef TALLY_LOCK_HOME_PICTURE_H
#define TALLY_LOCK_HOME_PICTURE_H

#include "../lockhome.h"

#define LH_NODES	3

/* A lock and its nodes; nodes are named by their slots, 0 is none. */
struct lh_picture {
	u8 hm;
	bool cpu;
	bool grace;
	bool revoked;
	u16 sweep;
	u16 sweep_next;
	u16 cur;
	u64 gen;
	u64 ng;		/* 0: as @gen */
	u16 queue[LH_NODES];
	u8 down;	/* bit of each slot that is not up */
};

static inline void lh_build(const struct lh_picture *p, struct tally_lh *lh,
			    struct tally_lh_node *node)
{
	struct tally_lh_node *n;
	int k;

	tally_lh_init(lh, 0, p->ng ?: p->gen);
	lh->hm = p->hm;
	lh->cpu = p->cpu;
	lh->grace = p->grace;
	lh->revoked = p->revoked;
	lh->sweep = p->sweep;
	lh->sweep_next = p->sweep_next;
	lh->gen = p->gen;
	lh->cur = p->cur ? &node[p->cur - 1] : NULL;
	for (k = 0; k < LH_NODES; k++)
		tally_lh_node_init(&node[k], k + 1, !(p->down >> (k + 1) & 1));
	for (k = 0; k < LH_NODES && p->queue[k]; k++) {
		n = &node[p->queue[k] - 1];
		n->mode = TALLY_LMODE_X;
		if (lh->tail)
			lh->tail->next = n;
		else
			lh->head = n;
		lh->tail = n;
	}
}

static inline void lh_draw(const struct tally_lh *lh,
			   const struct tally_lh_node *node,
			   struct lh_picture *p)
{
	const struct tally_lh_node *n = lh->head;
	int k;

	*p = (struct lh_picture){
		.hm = lh->hm,
		.cpu = lh->cpu,
		.grace = lh->grace,
		.revoked = lh->revoked,
		.sweep = lh->sweep,
		.sweep_next = lh->sweep_next,
		.cur = lh->cur ? lh->cur->slot : 0,
		.gen = lh->gen,
		.ng = lh->ng,
	};
	for (k = 0; k < LH_NODES; k++)
		p->down |= node[k].up ? 0 : 1 << (k + 1);
	for (k = 0; k < LH_NODES && n; k++, n = n->next)
		p->queue[k] = n->slot;
}

/* The queue and what the nodes say about being in it agree. */
static inline bool lh_queue_sound(const struct tally_lh *lh,
				  const struct tally_lh_node *node)
{
	const struct tally_lh_node *n;
	const struct tally_lh_node *last = NULL;
	int queued = 0;
	int k;

	for (n = lh->head; n && queued <= LH_NODES; n = n->next) {
		if (!n->mode)
			return false;
		queued++;
		last = n;
	}
	for (k = 0; k < LH_NODES; k++) {
		queued -= !!node[k].mode;
		if (!node[k].mode && node[k].next)
			return false;
	}
	return !queued && last == lh->tail;
}

static inline bool lh_picture_equal(const struct lh_picture *a,
				    const struct lh_picture *b)
{
	int k;

	for (k = 0; k < LH_NODES; k++)
		if (a->queue[k] != b->queue[k])
			return false;
	return a->hm == b->hm && a->cpu == b->cpu && a->grace == b->grace &&
	       a->revoked == b->revoked && a->sweep == b->sweep &&
	       a->sweep_next == b->sweep_next &&
	       a->cur == b->cur && a->gen == b->gen && a->ng == (b->ng ?: b->gen) &&
	       a->down == b->down;
}

#endif
