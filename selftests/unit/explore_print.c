// SPDX-License-Identifier: GPL-2.0
/* The explorer's world in words. */
#include <stdio.h>

#include "explore_world.h"

static const char *const step_names[STEPS] = {
	[STEP_WANT]		= "user asks",
	[STEP_WANT_TRY]		= "user tries",
	[STEP_WANT_DIRECT]	= "user asks, word skipped",
	[STEP_CANCEL]		= "user gives up",
	[STEP_BREAK]		= "link breaks",
	[STEP_LOOP_BREAK]	= "loopback QP breaks",
	[STEP_GHOST]		= "abandoned operation executes",
	[STEP_NEXT]		= "next local user follows",
	[STEP_UNLOCK]		= "user unlocks",
	[STEP_EXEC]		= "word operation executes",
	[STEP_DONE]		= "word operation completes",
	[STEP_FLUSH]		= "word operation flushed",
	[STEP_TO_HOME]		= "message reaches home",
	[STEP_TO_CLIENT]	= "message reaches client",
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
	return step_names[s];
}

static void print_chan(const char *name, const struct xchan *ch)
{
	int k;

	printf(" %s[", name);
	for (k = 0; k < ch->n; k++)
		printf("%s%u(%u)", k ? " " : "", ch->m[k].type, ch->m[k].gen);
	printf("]");
}

void world_print(void)
{
	int i;

	printf("#   word owner %u W %d token %llu loop %u | ",
	       tally_lw_owner(W.state), tally_lw_w(W.state), W.token, W.nloop);
	printf("home hm %u ng %llu cur %u gen %llu revoked %d head %u\n",
	       W.lh.hm, W.lh.ng, W.lh.cur ? W.lh.cur->slot : 0, W.lh.gen,
	       W.lh.revoked, W.lh.head ? W.lh.head->slot : 0);
	for (i = 0; i < NC; i++) {
		const struct xclient *c = &W.c[i];

		printf("#   %d: st %u op %u doubt %u fast %d rv %d canc %d ",
		       i + 1, c->lc.st, c->lc.op, c->lc.doubt, c->lc.fast,
		       c->lc.rv, c->lc.canc);
		printf("try %d gen %llu last %llu | ", c->lc.try, c->lc.gen,
		       c->lc.last);
		printf("asking %d inside %d broken %d val %d", c->asking,
		       c->inside, c->broken, c->val);
		print_chan("c2h", &c->c2h);
		print_chan("h2c", &c->h2c);
		printf("\n");
	}
}
