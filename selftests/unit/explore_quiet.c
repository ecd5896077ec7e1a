// SPDX-License-Identifier: GPL-2.0
/* What must be true when nothing happens by itself any more. */
#include "explore_world.h"

static void check_quiet_managed(int i)
{
	const struct tally_lc *lc = &W.c[i].lc;
	const struct tally_lh_node *node = &W.node[i];

	if (lc->mode == TALLY_LMODE_X)
		world_require(W.lh.cur == node && W.lh.gen == lc->gen,
			      "holder unknown to the home");
	else
		world_require(node->gen == lc->gen,
			      "reader unknown to the home");
}

/* What node i has in the word, its managed tenure counted in *managed. */
static u64 check_quiet_client(int i, int *managed)
{
	const struct xclient *c = &W.c[i];
	const struct tally_lc *lc = &c->lc;

	if (!c->val)
		return 0;
	world_require(!c->asking, "a user waits for ever");
	world_require(!c->upgrading, "an upgrade is not answered");
	world_require(lc->up && !lc->unsynced && !lc->parked,
		      "resume not finished");
	world_require(!lc->claim, "a claim is left");
	world_require(lc->st == (c->users ? TALLY_LC_HOLD : TALLY_LC_IDLE) ||
		      (!c->users && lc->st == TALLY_LC_CACHED && opt.cache),
		      "client neither idle nor inside");
	if (lc->st == TALLY_LC_IDLE)
		return 0;
	if (!lc->fast) {
		++*managed;
		check_quiet_managed(i);
		return 0;
	}
	return lc->mode == TALLY_LMODE_X ? slot_of(i) :
					   tally_lw_bit(slot_of(i));
}

static int count_managed(void)
{
	const struct tally_lh_node *n;
	int k = W.lh.cur ? 1 : 0;

	for (n = W.lh.shared; n; n = n->next)
		k++;
	return k;
}

void world_check_quiet(void)
{
	int managed = 0;
	u64 word = 0;
	int i;

	broken = NULL;
	for (i = 0; i < NC; i++)
		word += check_quiet_client(i, &managed);
	world_require(managed == count_managed(),
		      "the home knows a holder that is none");
	world_require(!W.lh.head && !W.lh.tail, "queue not empty");
	world_require(!W.lh.suc[0] && !W.lh.suc_gen[0],
		      "a successor waits for ever");
	world_require(!W.lh.sweep && !W.lh.sweep_next, "sweep not finished");
	world_require((W.lh.hm == TALLY_LH_MAN) == (managed || opt.cpu),
		      "managed without a reason");
	world_require(W.lh.hm == TALLY_LH_MAN || W.lh.hm == TALLY_LH_FAST,
		      "the home is in between");
	word += managed && !opt.cpu ? TALLY_LW_W : 0;
	world_require(W.state == word, "the word is not what the clients hold");
}
