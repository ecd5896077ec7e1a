// SPDX-License-Identifier: GPL-2.0
/* What can go wrong in the explorer's world; see explore_world.h. */
#include <string.h>

#include "explore_world.h"

static bool step_break(int i)
{
	if (!W.faults || !(opt.brk || opt.crash) || W.c[i].broken)
		return false;
	W.faults--;
	W.c[i].broken = true;
	return true;
}

/* The link a HANDOVER went over breaks; it may have arrived before. */
static bool step_peer_break(int i)
{
	struct xclient *c = &W.c[i];

	if (!opt.pbreak || !W.faults || !c->handed || !c->val)
		return false;
	W.faults--;
	memset(&c->hand[c->handed_to], 0, sizeof(c->hand[0]));
	c->lost = c->handed;
	c->handed = 0;
	c->handed_to = 0;
	return true;
}

/* HANDOVERs of a node that has died do not arrive. */
static bool step_hands_lost(int i)
{
	struct xclient *c = &W.c[i];
	int j, n = 0;

	for (j = 0; j < NC; j++)
		n += c->hand[j].n;
	if (!n || c->val)
		return false;
	memset(c->hand, 0, sizeof(c->hand));
	return true;
}

static bool step_client_down(int i)
{
	struct xclient *c = &W.c[i];

	if (!c->broken || c->cdown)
		return false;
	c->cdown = true;
	chan_clear(&c->h2c);
	client_event(i, (struct tally_lc_event){ .kind = TALLY_LCE_LINK_DOWN });
	return true;
}

static bool step_home_down(int i)
{
	struct xclient *c = &W.c[i];

	if (!c->broken || c->hdown)
		return false;
	c->hdown = true;
	chan_clear(&c->c2h);
	if (opt.bug != BUG_B11)
		memset(&c->ghost, 0, sizeof(c->ghost));
	home_event((struct tally_lh_event){
		.kind = TALLY_LHE_LINK_DOWN,
		.node = &W.node[i],
	});
	return true;
}

static bool step_resume(int i)
{
	const struct tally_lmsg end = { .type = TALLY_LM_RESYNC_END };
	struct xclient *c = &W.c[i];

	if (!opt.brk || !c->cdown || !c->hdown || !c->val || c->ended ||
	    c->op.kind)
		return false;
	c->broken = false;
	c->cdown = false;
	c->hdown = false;
	client_event(i, (struct tally_lc_event){ .kind = TALLY_LCE_LINK_UP });
	chan_put(&c->c2h, &end);
	if (opt.bug == BUG_SYNC)
		W.node[i].up = true;
	return true;
}

static bool step_lease_lost(int i)
{
	struct xclient *c = &W.c[i];

	if (!opt.crash || !c->broken || !c->val)
		return false;
	c->val = false;
	client_event(i, (struct tally_lc_event){
		.kind = TALLY_LCE_LEASE_LOST,
	});
	world_require(!c->asking && !c->users, "user not told of the end");
	c->left = 0;
	c->handed = 0;
	c->handed_to = 0;
	c->lost = 0;
	return true;
}

/* What is mistaken about place @k of the chain, whose session has ended. */
static void mistaken_chain(int i, int k)
{
	if (k < 0 || !W.lh.suc_gen[k])
		return;
	if (opt.bug == BUG_CHAINEND)
		W.lh.suc[k] = &W.node[i];
	if (opt.bug != BUG_CHAINGAP)
		return;
	for (; k < TALLY_LH_CHAIN - 1; k++) {
		W.lh.suc[k] = W.lh.suc[k + 1];
		W.lh.suc_gen[k] = W.lh.suc_gen[k + 1];
	}
	W.lh.suc[k] = NULL;
	W.lh.suc_gen[k] = 0;
}

static bool step_session_end(int i)
{
	int k = tally_lh_announced(&W.lh, &W.node[i]);
	struct xclient *c = &W.c[i];

	if (!opt.crash || !c->hdown || c->ended)
		return false;
	if (c->val && !opt.region && opt.bug != BUG_SWEEP)
		return false;
	c->ended = true;
	if (opt.bug == BUG_VIA && W.lh.via == &W.node[i])
		W.lh.via = NULL;
	home_event((struct tally_lh_event){
		.kind = TALLY_LHE_SESSION_END,
		.slot = slot_of(i),
		.node = &W.node[i],
	});
	mistaken_chain(i, k);
	return true;
}

/* A node that was lost attaches again: another session in the same slot. */
static bool step_rejoin(int i)
{
	struct xclient *c = &W.c[i];
	struct xhand hand[NC];
	u8 session = c->session;

	if (!opt.rejoin || !c->ended || c->val || c->again || c->op.kind ||
	    !c->cdown || tally_lh_sweeping(&W.lh, slot_of(i)))
		return false;
	memcpy(hand, c->hand, sizeof(hand));
	memset(c, 0, sizeof(*c));
	memcpy(c->hand, hand, sizeof(hand));
	c->session = session + 8;
	c->val = true;
	c->again = true;
	c->left = 1;
	client_init(i);
	return true;
}

/* What the home finds when i closes the lock: nothing may be left of it. */
static void home_close(int i)
{
	struct tally_lh_event ev = { .slot = slot_of(i), .node = &W.node[i] };

	if (!W.node[i].up && opt.bug != BUG_CLOSERSY) {
		ev.kind = TALLY_LHE_RESYNC_END;
		home_event(ev);
	}
	world_require(tally_lh_node_idle(&W.lh, &W.node[i]),
		      "closed, and the home thinks that it has something");
	if (opt.bug == BUG_CLOSEVIA && W.lh.via == &W.node[i])
		W.lh.via = NULL;
	ev.kind = TALLY_LHE_SESSION_END;
	home_event(ev);
}

/*
 * A client that has nothing of the lock closes it, and opens it again in the same
 * session: two requests, whose answers come behind what the home said before, when
 * the one that it was said to is not there any more. What is under way from one
 * client to another stays that. After a break the request may be repeated in front
 * of the end of the snapshot.
 */
static bool step_reopen(int i)
{
	struct xclient *c = &W.c[i];
	bool resyncing = c->c2h.n == 1 &&
			 c->c2h.m[0].type == TALLY_LM_RESYNC_END;

	if (!opt.reopen || c->reopened || !c->left || c->broken || c->ended ||
	    !tally_lc_idle(&c->lc) || c->op.kind || c->ghost.kind ||
	    c->lc.unsynced || (c->c2h.n && !resyncing))
		return false;
	home_close(i);
	chan_clear(&c->h2c);
	c->handed = 0;
	c->handed_to = 0;
	c->lost = 0;
	c->reopened = true;
	client_open(i, resyncing);
	return true;
}

static bool step_force(void)
{
	if (!opt.force || !W.faults)
		return false;
	W.faults--;
	home_event((struct tally_lh_event){ .kind = TALLY_LHE_BREAK });
	return true;
}

static bool step_loop_break(void)
{
	if (!opt.loop || !W.faults || !W.nloop)
		return false;
	W.faults--;
	W.nloop = 0;
	memset(W.loop, 0, sizeof(W.loop));
	home_event((struct tally_lh_event){ .kind = TALLY_LHE_LOOP_RESET });
	return true;
}

/* One step of STEP_BREAK to STEP_LOOP_BREAK, or of what follows a break. */
bool world_fault(enum step s, int i)
{
	switch (s) {
	case STEP_BREAK:
		return step_break(i);
	case STEP_PEER_BREAK:
		return step_peer_break(i);
	case STEP_HANDS_LOST:
		return step_hands_lost(i);
	case STEP_REJOIN:
		return step_rejoin(i);
	case STEP_REOPEN:
		return step_reopen(i);
	case STEP_FORCE:
		return !i && step_force();
	case STEP_LOOP_BREAK:
		return !i && step_loop_break();
	case STEP_CLIENT_DOWN:
		return step_client_down(i);
	case STEP_HOME_DOWN:
		return step_home_down(i);
	case STEP_RESUME:
		return step_resume(i);
	case STEP_LEASE_LOST:
		return step_lease_lost(i);
	default:
		return step_session_end(i);
	}
}
