/* SPDX-License-Identifier: GPL-2.0 */
/* A lock at its home as a plain value: what the cases start from and end in. */
#ifndef TALLY_LOCK_HOME_PICTURE_H
#define TALLY_LOCK_HOME_PICTURE_H

#include "lock/fsm_home.h"

#define LH_NODES	3

/* Marks on a slot in the queue of a picture. */
#define LH_Q_SHARED	0x100
#define LH_Q_TRY	0x200

/* A lock and its nodes; nodes are named by their slots, 0 is none. */
struct lh_picture {
	u8 hm;
	bool cpu;
	bool grace;
	bool cur_down;
	bool forced;
	u16 sweep;
	u16 cur;
	u16 via;
	u16 suc[TALLY_LH_CHAIN];
	u64 sweep_next;
	u64 fast;
	u64 fast_idle;
	u64 fast_asked;
	u64 fast_forced;
	u64 gen;
	u64 suc_gen[TALLY_LH_CHAIN];
	u64 ng;		/* 0: the highest of @gen, @suc_gen and @shared */
	u16 queue[LH_NODES];
	u64 shared[LH_NODES + 1];	/* generation of each slot */
	u8 asked[LH_NODES + 1];		/* of each slot */
	u8 canc[LH_NODES + 1];		/* of each slot, announced */
	u8 down;	/* bit of each slot that is not up */
	u8 force;	/* bit of each slot that is to be ended */
};

static inline u64 lh_picture_ng(const struct lh_picture *p)
{
	u64 ng = p->gen;
	int k;

	for (k = 0; k < TALLY_LH_CHAIN; k++)
		ng = ng > p->suc_gen[k] ? ng : p->suc_gen[k];
	for (k = 1; k <= LH_NODES; k++)
		ng = ng > p->shared[k] ? ng : p->shared[k];
	return p->ng ?: ng;
}

static inline void lh_build_queue(const struct lh_picture *p,
				  struct tally_lh *lh,
				  struct tally_lh_node *node)
{
	struct tally_lh_node *n;
	int k;

	for (k = 0; k < LH_NODES && p->queue[k]; k++) {
		n = &node[(p->queue[k] & 0xff) - 1];
		n->mode = p->queue[k] & LH_Q_SHARED ? TALLY_LMODE_S :
						      TALLY_LMODE_X;
		n->try = p->queue[k] & LH_Q_TRY;
		if (lh->tail)
			lh->tail->next = n;
		else
			lh->head = n;
		lh->tail = n;
	}
}

static inline void lh_build_nodes(const struct lh_picture *p,
				  struct tally_lh *lh,
				  struct tally_lh_node *node)
{
	struct tally_lh_node *n;
	int k;

	for (k = LH_NODES; k > 0; k--) {
		n = &node[k - 1];
		tally_lh_node_init(n, k, 70 + k, !(p->down >> k & 1));
		n->gen = p->shared[k];
		n->asked = p->asked[k];
		n->canc = p->canc[k];
		n->force = p->force >> k & 1;
		if (!n->gen)
			continue;
		n->next = lh->shared;
		lh->shared = n;
	}
}

static inline void lh_build(const struct lh_picture *p, struct tally_lh *lh,
			    struct tally_lh_node *node)
{
	int k;

	tally_lh_init(lh, 0, lh_picture_ng(p));
	lh->hm = p->hm;
	lh->cpu = p->cpu;
	lh->grace = p->grace;
	lh->down = p->cur_down;
	lh->forced = p->forced;
	lh->sweep = p->sweep;
	lh->sweep_next = p->sweep_next;
	lh->fast = p->fast;
	lh->fast_idle = p->fast_idle;
	lh->fast_asked = p->fast_asked;
	lh->fast_forced = p->fast_forced;
	lh->gen = p->gen;
	lh->cur = p->cur ? &node[p->cur - 1] : NULL;
	lh->via = p->via ? &node[p->via - 1] : NULL;
	for (k = 0; k < TALLY_LH_CHAIN; k++) {
		lh->suc[k] = p->suc[k] ? &node[p->suc[k] - 1] : NULL;
		lh->suc_gen[k] = p->suc_gen[k];
	}
	lh_build_nodes(p, lh, node);
	lh_build_queue(p, lh, node);
}

static inline void lh_draw_nodes(const struct tally_lh *lh,
				 const struct tally_lh_node *node,
				 struct lh_picture *p)
{
	const struct tally_lh_node *n = lh->head;
	int k;

	for (k = 1; k <= LH_NODES; k++) {
		p->down |= node[k - 1].up ? 0 : 1 << k;
		p->force |= node[k - 1].force ? 1 << k : 0;
		p->shared[k] = node[k - 1].gen;
		/* Of one that holds nothing it means nothing. */
		if (node[k - 1].gen || lh->cur == &node[k - 1])
			p->asked[k] = node[k - 1].asked;
		if (tally_lh_announced(lh, &node[k - 1]) >= 0)
			p->canc[k] = node[k - 1].canc;
	}
	for (k = 0; k < LH_NODES && n; k++, n = n->next)
		p->queue[k] = n->slot | (n->try ? LH_Q_TRY : 0) |
			      (n->mode == TALLY_LMODE_S ? LH_Q_SHARED : 0);
}

static inline void lh_draw(const struct tally_lh *lh,
			   const struct tally_lh_node *node,
			   struct lh_picture *p)
{
	int k;

	*p = (struct lh_picture){
		.hm = lh->hm,
		.cpu = lh->cpu,
		.grace = lh->grace,
		.cur_down = lh->down,
		.forced = lh->forced,
		.sweep = lh->sweep,
		.sweep_next = lh->sweep_next,
		.fast = lh->fast,
		.fast_idle = lh->fast_idle,
		.fast_asked = lh->fast_asked,
		.fast_forced = lh->fast_forced,
		.cur = lh->cur ? lh->cur->slot : 0,
		.via = lh->via ? lh->via->slot : 0,
		.gen = lh->gen,
		.ng = lh->ng,
	};
	for (k = 0; k < TALLY_LH_CHAIN; k++) {
		p->suc[k] = lh->suc[k] ? lh->suc[k]->slot : 0;
		p->suc_gen[k] = lh->suc_gen[k];
	}
	lh_draw_nodes(lh, node, p);
}

static inline int lh_shared_count(const struct tally_lh *lh)
{
	const struct tally_lh_node *n;
	int k = 0;

	for (n = lh->shared; n && k <= LH_NODES; n = n->next)
		k += n->gen ? 1 : LH_NODES + 1;
	return k;
}

/* Queue, list of readers, and what the nodes say about being there agree. */
static inline bool lh_queue_sound(const struct tally_lh *lh,
				  const struct tally_lh_node *node)
{
	const struct tally_lh_node *n;
	const struct tally_lh_node *last = NULL;
	int shared = lh_shared_count(lh);
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
		shared -= !!node[k].gen;
		if (!node[k].mode && !node[k].gen && node[k].next)
			return false;
	}
	return !queued && !shared && last == lh->tail;
}

static inline bool lh_picture_nodes_equal(const struct lh_picture *a,
					  const struct lh_picture *b)
{
	int k;

	for (k = 0; k < LH_NODES; k++)
		if (a->queue[k] != b->queue[k])
			return false;
	for (k = 0; k <= LH_NODES; k++)
		if (a->shared[k] != b->shared[k] || a->asked[k] != b->asked[k])
			return false;
	return a->down == b->down && a->force == b->force;
}

static inline bool lh_picture_chains_equal(const struct lh_picture *a,
					   const struct lh_picture *b)
{
	int k;

	for (k = 0; k < TALLY_LH_CHAIN; k++)
		if (a->suc[k] != b->suc[k] || a->suc_gen[k] != b->suc_gen[k])
			return false;
	return true;
}

static inline bool lh_picture_equal(const struct lh_picture *a,
				    const struct lh_picture *b)
{
	return a->hm == b->hm && a->cpu == b->cpu && a->grace == b->grace &&
	       a->cur_down == b->cur_down &&
	       a->forced == b->forced && a->sweep == b->sweep &&
	       a->sweep_next == b->sweep_next && a->fast == b->fast &&
	       a->fast_idle == b->fast_idle &&
	       a->fast_asked == b->fast_asked &&
	       a->fast_forced == b->fast_forced && a->cur == b->cur &&
	       a->via == b->via && a->gen == b->gen &&
	       lh_picture_chains_equal(a, b) &&
	       lh_picture_ng(a) == lh_picture_ng(b) &&
	       lh_picture_nodes_equal(a, b);
}

#endif
