// SPDX-License-Identifier: GPL-2.0
/* The explorer's world in words. */
#include <stdio.h>

#include "explore_world.h"

static const char *const step_names[STEPS] = {
	[STEP_WANT_X]		= "user asks for X",
	[STEP_WANT_S]		= "user asks for S",
	[STEP_TRY_X]		= "user tries X",
	[STEP_TRY_S]		= "user tries S",
	[STEP_DIRECT_X]		= "user asks for X, word skipped",
	[STEP_DIRECT_S]		= "user asks for S, word skipped",
	[STEP_CANCEL]		= "user gives up",
	[STEP_DOWNGRADE]	= "user downgrades",
	[STEP_UPGRADE]		= "user tries to upgrade",
	[STEP_BREAK]		= "link breaks",
	[STEP_PEER_BREAK]	= "link to the successor breaks",
	[STEP_HANDS_LOST]	= "HANDOVERs of the dead node are lost",
	[STEP_NO_LINK]		= "SUCC reaches client, which has no link there",
	[STEP_REJOIN]		= "node attaches again",
	[STEP_REOPEN]		= "client closes the lock and opens it again",
	[STEP_FORCE]		= "administrator breaks the lock",
	[STEP_LOOP_BREAK]	= "loopback QP breaks",
	[STEP_GHOST]		= "abandoned operation executes",
	[STEP_LATE]		= "user unlocks, late",
	[STEP_UNLOCK]		= "user unlocks",
	[STEP_EXEC]		= "word operation executes",
	[STEP_DONE]		= "word operation completes",
	[STEP_FLUSH]		= "word operation flushed",
	[STEP_TO_HOME]		= "message reaches home",
	[STEP_TO_CLIENT]	= "message reaches client",
	[STEP_HAND_1]		= "HANDOVER of the next node arrives",
	[STEP_HAND_2]		= "HANDOVER of the node before arrives",
	[STEP_HANDED_BAD]	= "client learns that its HANDOVER is in doubt",
	[STEP_CLIENT_DOWN]	= "client sees the break",
	[STEP_HOME_DOWN]	= "home sees the break, destroys QPs",
	[STEP_RESUME]		= "session resumed",
	[STEP_LEASE_LOST]	= "lease over at the client",
	[STEP_SESSION_END]	= "home ends the session",
	[STEP_LOOP_EXEC]	= "loopback operation executes",
	[STEP_LOOP_DONE]	= "loopback operation completes",
	[STEP_GRACE_OVER]	= "grace over",
};

const char *step_name(enum step s)
{
	if (s >= STEP_EVIL && s <= STEP_EVIL_LAST)
		return "client 3 says what it likes";
	return step_names[s];
}

static void print_chan(const char *name, const struct xchan *ch)
{
	int k;

	printf(" %s[", name);
	for (k = 0; k < ch->n; k++)
		printf("%s%u(%u)%s", k ? " " : "", ch->m[k].type, ch->m[k].gen,
		       ch->m[k].flags ? "*" : "");
	printf("]");
}

static void print_home(void)
{
	const struct tally_lh *lh = &W.lh;
	const struct tally_lh_node *n;
	int k;

	printf("#   word owner %u W %d bits %llx token %llu loop %u | home ",
	       tally_lw_owner(W.state), tally_lw_w(W.state),
	       tally_lw_bits(W.state), W.token, W.nloop);
	printf("hm %u ng %llu cur %u gen %llu via %u F %llx chain",
	       lh->hm, lh->ng, lh->cur ? lh->cur->slot : 0, lh->gen,
	       lh->via ? lh->via->slot : 0, lh->fast);
	for (k = 0; k < TALLY_LH_CHAIN && lh->suc_gen[k]; k++)
		printf(" %u(%llu)", lh->suc[k] ? lh->suc[k]->slot : 0,
		       lh->suc_gen[k]);
	printf(" queue");
	for (n = lh->head; n; n = n->next)
		printf(" %u%c%s", n->slot, n->mode == TALLY_LMODE_S ? 'S' : 'X',
		       n->try ? "t" : "");
	printf(" shared");
	for (n = lh->shared; n; n = n->next)
		printf(" %u(%llu)", n->slot, n->gen);
	printf("\n");
}

static void print_client(int i)
{
	const struct xclient *c = &W.c[i];
	const struct tally_lc *lc = &c->lc;
	int k;

	printf("#   %d: st %u mode %u op %u doubt %u claim %u fast %d rv %d ",
	       i + 1, lc->st, lc->mode, lc->op, lc->doubt, lc->claim, lc->fast,
	       lc->rv);
	printf("canc %d try %d gen %llu last %llu succ %llu early %llu ",
	       lc->canc, lc->try, lc->gen, lc->last, lc->succ.gen, lc->early);
	printf("| asking %d users %d broken %d val %d", c->asking, c->users,
	       c->broken, c->val);
	print_chan("c2h", &c->c2h);
	print_chan("h2c", &c->h2c);
	for (k = 0; k < NC; k++)
		if (c->hand[k].n)
			printf(" hand to %d: %u", k + 1, c->hand[k].gen[0]);
	printf("\n");
}

void world_print(void)
{
	int i;

	print_home();
	for (i = 0; i < NC; i++)
		print_client(i);
}
