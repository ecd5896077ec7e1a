// SPDX-License-Identifier: GPL-2.0
/* What can happen in the explorer's world; see explore_world.h. */
#include <string.h>

#include "explore_world.h"

/* ---- steps: users ---- */

static bool step_want(int i, bool try, bool direct)
{
	struct xclient *c = &W.c[i];

	if (c->asking || c->inside || !c->left || !c->val)
		return false;
	c->left--;
	c->asking = true;
	c->followed = false;
	client_event(i, (struct tally_lc_event){
		.kind = TALLY_LCE_WANT,
		.try = try,
		.direct = direct,
	});
	return true;
}

static bool step_cancel(int i)
{
	if (!opt.cancel || !W.c[i].asking)
		return false;
	client_event(i, (struct tally_lc_event){ .kind = TALLY_LCE_CANCEL });
	world_require(!W.c[i].asking, "CANCEL not answered");
	return true;
}

static bool step_unlock(int i)
{
	struct xclient *c = &W.c[i];

	if (!c->inside || (opt.hog && !c->recalled))
		return false;
	c->inside = false;
	c->recalled = false;
	client_event(i, (struct tally_lc_event){ .kind = TALLY_LCE_UNLOCK });
	return true;
}

static bool step_next(int i)
{
	struct xclient *c = &W.c[i];
	bool recalled = c->recalled;

	if (!opt.next || !c->inside || c->followed)
		return false;
	c->inside = false;
	c->asking = true;
	c->followed = true;
	client_event(i, (struct tally_lc_event){ .kind = TALLY_LCE_NEXT });
	c->recalled = recalled;
	return true;
}

/* ---- steps: word operations of a client ---- */

/* A broken link executes what is on the wire until the home destroys its QP. */
static bool step_exec(int i)
{
	struct xclient *c = &W.c[i];

	if (!c->op.kind || c->op.stage == c->op.steps || !c->op.sent)
		return false;
	if (c->broken && c->hdown)
		return false;
	op_exec(&c->op, i + 1);
	return true;
}

static bool step_ghost(int i)
{
	struct xclient *c = &W.c[i];

	if (!c->ghost.kind || (c->hdown && opt.bug != BUG_B11))
		return false;
	op_exec(&c->ghost, i + 1);
	if (c->ghost.stage == c->ghost.steps)
		memset(&c->ghost, 0, sizeof(c->ghost));
	return true;
}

static bool step_done(int i)
{
	struct xclient *c = &W.c[i];
	struct xop op = c->op;

	if (!op.kind || op.stage < op.steps)
		return false;
	memset(&c->op, 0, sizeof(op));
	if (opt.bug == BUG_BLIND && op.kind == TALLY_LC_OP_READ &&
	    c->lc.doubt == TALLY_LC_OP_REL)
		op.state = (op.state & ~TALLY_LW_OWNER) | (i + 1);
	client_event(i, (struct tally_lc_event){
		.kind = TALLY_LCE_OP_DONE,
		.op = op.kind,
		.state = op.state,
		.token = op.token,
	});
	return true;
}

static bool step_flush(int i)
{
	struct xclient *c = &W.c[i];
	struct xop op = c->op;

	if (!op.kind || !c->broken)
		return false;
	memset(&c->op, 0, sizeof(op));
	if (op.sent && op.stage < op.steps &&
	    (!c->hdown || opt.bug == BUG_B11))
		c->ghost = op;
	client_event(i, (struct tally_lc_event){
		.kind = TALLY_LCE_OP_DONE,
		.op = op.kind,
		.broken = true,
	});
	return true;
}

/* ---- steps: messages ---- */

static void home_message(int i, struct tally_lmsg msg)
{
	struct tally_lh_node *node = &W.node[i];
	bool resync = msg.type == TALLY_LM_RESYNC;

	if (opt.bug == BUG_B5 && msg.type == TALLY_LM_ENQUEUE &&
	    W.lh.hm != TALLY_LH_FAST)
		word_set_w();
	if (opt.bug == BUG_RSYREQ && resync && W.lh.cur == node && !msg.gen) {
		msg.mode = 0;
		W.c[i].lc.unsynced = false;
	}
	if (opt.bug == BUG_UNLISTED && resync)
		msg.gen = 0;
	if (opt.bug == BUG_SYNC && resync)
		node->up = false;
	home_event((struct tally_lh_event){
		.kind = msg.type == TALLY_LM_RESYNC_END ?
			TALLY_LHE_RESYNC_END : TALLY_LHE_MSG,
		.slot = i + 1,
		.node = node,
		.msg = msg,
	});
}

static bool step_to_home(int i)
{
	struct xclient *c = &W.c[i];

	if (!c->c2h.n || c->hdown || c->ended)
		return false;
	home_message(i, chan_get(&c->c2h));
	return true;
}

/* Messages the seeded mistakes lose at the client. */
static bool mistaken(struct xclient *c, const struct tally_lmsg *msg)
{
	bool flight = c->lc.st == TALLY_LC_ATT || c->lc.st == TALLY_LC_DBT;

	if (opt.bug == BUG_REVINFLIGHT && msg->type == TALLY_LM_REVOKE)
		return !msg->gen && flight;
	if (opt.bug == BUG_B16 && msg->type == TALLY_LM_GRANT && c->lc.canc) {
		c->lc.st = TALLY_LC_IDLE;
		c->lc.canc = false;
		return true;
	}
	return false;
}

static bool step_to_client(int i)
{
	struct xclient *c = &W.c[i];
	struct tally_lmsg msg;

	if (!c->h2c.n || c->cdown)
		return false;
	msg = chan_get(&c->h2c);
	if (!mistaken(c, &msg))
		client_event(i, (struct tally_lc_event){
			.kind = TALLY_LCE_MSG,
			.msg = msg,
		});
	return true;
}

/* ---- steps: faults ---- */

static bool step_break(int i)
{
	if (!W.faults || !(opt.brk || opt.crash) || W.c[i].broken)
		return false;
	W.faults--;
	W.c[i].broken = true;
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
	world_require(!c->asking && !c->inside, "user not told of the end");
	c->left = 0;
	return true;
}

static bool step_session_end(int i)
{
	struct xclient *c = &W.c[i];

	if (!opt.crash || !c->hdown || c->ended)
		return false;
	if (c->val && !opt.region && opt.bug != BUG_SWEEP)
		return false;
	c->ended = true;
	home_event((struct tally_lh_event){
		.kind = TALLY_LHE_SESSION_END,
		.slot = i + 1,
		.node = &W.node[i],
	});
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

/* ---- steps: loopback operations ---- */

static bool step_loop_exec(void)
{
	int k = 0;

	while (k < W.nloop && W.loop[k].stage == W.loop[k].steps)
		k++;
	if (k == W.nloop)
		return false;
	loop_exec(&W.loop[k]);
	return true;
}

static bool step_loop_done(void)
{
	struct xop op = W.loop[0];

	if (!W.nloop || op.stage < op.steps)
		return false;
	W.nloop--;
	memmove(&W.loop[0], &W.loop[1], W.nloop * sizeof(op));
	memset(&W.loop[W.nloop], 0, sizeof(op));
	home_event((struct tally_lh_event){
		.kind = op.kind == LOOP_SETW ? TALLY_LHE_SETW_DONE :
			op.kind == LOOP_CLRW ? TALLY_LHE_CLRW_DONE :
			TALLY_LHE_SWEEP_DONE,
		.slot = op.slot,
		.old = op.state,
		.state = op.state | TALLY_LW_W,	/* replaced, but with BUG_B3 */
	});
	return true;
}

static bool step_grace_over(void)
{
	if (!W.lh.grace)
		return false;
	home_event((struct tally_lh_event){ .kind = TALLY_LHE_GRACE_OVER });
	return true;
}

/* ---- everything together ---- */

void world_init(void)
{
	unsigned int flags = (opt.cpu ? TALLY_LH_CPU : 0) |
			     (opt.grace ? TALLY_LH_GRACE : 0);
	int i;

	memset(&W, 0, sizeof(W));
	W.faults = opt.faults;
	W.state = tally_lh_init(&W.lh, flags, 0);
	for (i = 0; i < NC; i++) {
		tally_lc_init(&W.c[i].lc, i + 1, !opt.cpu, true);
		tally_lh_node_init(&W.node[i], i + 1, true);
		W.c[i].left = opt.left[i];
		W.c[i].val = true;
	}
}

bool world_step(enum step s, int i)
{
	broken = NULL;
	switch (s) {
	case STEP_WANT:
		return step_want(i, false, false);
	case STEP_WANT_TRY:
		return opt.try && step_want(i, true, false);
	case STEP_WANT_DIRECT:
		return opt.direct && step_want(i, false, true);
	case STEP_CANCEL:
		return step_cancel(i);
	case STEP_BREAK:
		return step_break(i);
	case STEP_LOOP_BREAK:
		return !i && step_loop_break();
	case STEP_GHOST:
		return step_ghost(i);
	case STEP_NEXT:
		return step_next(i);
	case STEP_UNLOCK:
		return step_unlock(i);
	case STEP_EXEC:
		return step_exec(i);
	case STEP_DONE:
		return step_done(i);
	case STEP_FLUSH:
		return step_flush(i);
	case STEP_TO_HOME:
		return step_to_home(i);
	case STEP_TO_CLIENT:
		return step_to_client(i);
	case STEP_CLIENT_DOWN:
		return step_client_down(i);
	case STEP_HOME_DOWN:
		return step_home_down(i);
	case STEP_RESUME:
		return step_resume(i);
	case STEP_LEASE_LOST:
		return step_lease_lost(i);
	case STEP_SESSION_END:
		return step_session_end(i);
	case STEP_LOOP_EXEC:
		return !i && step_loop_exec();
	case STEP_LOOP_DONE:
		return !i && step_loop_done();
	case STEP_GRACE_OVER:
		return !i && step_grace_over();
	case STEPS:
		break;
	}
	return false;
}

static void check_quiet_client(int i, u16 *owner, bool *managed)
{
	const struct xclient *c = &W.c[i];

	if (!c->val)
		return;
	world_require(!c->asking, "a user waits for ever");
	world_require(c->lc.up && !c->lc.unsynced, "resume not finished");
	world_require(c->lc.st == (c->inside ? TALLY_LC_HOLD : TALLY_LC_IDLE),
		      "client neither idle nor inside");
	if (c->inside && c->lc.fast)
		*owner = i + 1;
	if (!c->inside || c->lc.fast)
		return;
	*managed = true;
	world_require(W.lh.cur == &W.node[i] && W.lh.gen == c->lc.gen,
		      "holder unknown to the home");
}

void world_check_quiet(void)
{
	bool managed = false;
	u16 owner = 0;
	u64 word;
	int i;

	broken = NULL;
	for (i = 0; i < NC; i++)
		check_quiet_client(i, &owner, &managed);
	world_require(managed == !!W.lh.cur, "the home knows a holder that is none");
	world_require(!W.lh.head && !W.lh.tail, "queue not empty");
	world_require(!W.lh.sweep && !W.lh.sweep_next, "sweep not finished");
	world_require((W.lh.hm == TALLY_LH_MAN) == (managed || opt.cpu),
		      "managed without a reason");
	world_require(W.lh.hm == TALLY_LH_MAN || W.lh.hm == TALLY_LH_FAST,
		      "the home is in between");
	word = owner + (managed && !opt.cpu ? TALLY_LW_W : 0);
	world_require(W.state == word, "the word is not what the clients hold");
}
