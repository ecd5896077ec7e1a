// SPDX-License-Identifier: GPL-2.0
/* What can happen in the explorer's world; see explore_world.h. */
#include <string.h>

#include "explore_world.h"

/* ---- steps: users ---- */

static bool step_want(int i, u8 mode, bool try, bool direct)
{
	u8 modes = opt.mode[i] ?: 1 << TALLY_LMODE_X;
	struct xclient *c = &W.c[i];

	if (c->asking || !c->left || !c->val || !(modes >> mode & 1) ||
	    (c->users && !opt.local))
		return false;
	if (opt.bug == BUG_JOIN)
		c->lc.rv = false;
	c->left--;
	c->asking = true;
	c->trying = try;
	client_event(i, (struct tally_lc_event){
		.kind = TALLY_LCE_WANT,
		.mode = mode,
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

/* Does a reader wait, and no writer? */
static bool readers_only(void)
{
	bool readers = false;
	int i;

	for (i = 0; i < NC; i++) {
		if (W.c[i].asking && W.c[i].lc.want_mode == TALLY_LMODE_X)
			return false;
		readers |= W.c[i].asking;
	}
	return readers;
}

/* Of one that keeps the lock: the node's own users may have to wait for it. */
static bool step_unlock(int i, bool late)
{
	struct xclient *c = &W.c[i];

	if (!c->users || c->upgrading ||
	    (opt.hog && !c->recalled && !(c->asking && !c->trying)) ||
	    (opt.meet && c->mode == TALLY_LMODE_S && readers_only()))
		return false;
	c->users--;
	if (opt.bug == BUG_BUDGET)
		c->lc.spent = 0;
	client_event(i, (struct tally_lc_event){
		.kind = TALLY_LCE_UNLOCK,
		.late = late,
	});
	return true;
}

static bool step_downgrade(int i)
{
	struct xclient *c = &W.c[i];

	if (!opt.updown || c->users != 1 || c->mode != TALLY_LMODE_X)
		return false;
	c->mode = TALLY_LMODE_S;
	client_event(i, (struct tally_lc_event){
		.kind = TALLY_LCE_DOWNGRADE,
	});
	return true;
}

static bool step_upgrade(int i)
{
	struct xclient *c = &W.c[i];

	if (!opt.updown || !c->users || c->mode != TALLY_LMODE_S ||
	    c->upgrading || c->lc.st != TALLY_LC_HOLD || !c->left)
		return false;
	c->left--;
	c->upgrading = true;
	client_event(i, (struct tally_lc_event){ .kind = TALLY_LCE_UPGRADE });
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
	if (opt.bug == BUG_B4 && c->op.kind == TALLY_LC_OP_CLAIM &&
	    c->lc.st == TALLY_LC_WAIT)
		return false;
	op_exec(&c->op, slot_of(i));
	return true;
}

static bool step_ghost(int i)
{
	struct xclient *c = &W.c[i];

	if (!c->ghost.kind || (c->hdown && opt.bug != BUG_B11))
		return false;
	op_exec(&c->ghost, slot_of(i));
	if (c->ghost.stage == c->ghost.steps)
		memset(&c->ghost, 0, sizeof(c->ghost));
	return true;
}

/* What a mistaken client reads out of a completion. */
static u64 mistaken_state(const struct xclient *c, const struct xop *op)
{
	bool read = op->kind == TALLY_LC_OP_READ;

	if (opt.bug == BUG_BLIND && read && c->lc.doubt == TALLY_LC_OP_REL)
		return (op->state & ~TALLY_LW_OWNER) | c->lc.slot;
	if (opt.bug == BUG_CLAIM && read && c->lc.doubt == TALLY_LC_OP_ACQ_S)
		return op->state & ~(TALLY_LW_OWNER | TALLY_LW_W);
	return op->state;
}

static bool step_done(int i)
{
	struct xclient *c = &W.c[i];
	struct xop op = c->op;

	if (!op.kind || op.stage < op.steps)
		return false;
	memset(&c->op, 0, sizeof(op));
	client_event(i, (struct tally_lc_event){
		.kind = TALLY_LCE_OP_DONE,
		.op = op.kind,
		.state = mistaken_state(c, &op),
		.token = op.token,
	});
	if (opt.bug == BUG_B1 && c->lc.claim) {
		c->lc.claim = TALLY_LC_CLAIM_NONE;
		c->lc.op = TALLY_LC_OP_NONE;
		memset(&c->op, 0, sizeof(op));
	}
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

static bool names_successor(const struct tally_lmsg *msg, int i)
{
	int k = tally_lh_announced(&W.lh, &W.node[i]);

	return k >= 0 && msg->gen == W.lh.suc_gen[k];
}

/* What is left of the chain where only its first member is remembered. */
static void forget_chain(void)
{
	int k;

	for (k = 1; k < TALLY_LH_CHAIN; k++) {
		W.lh.suc[k] = NULL;
		W.lh.suc_gen[k] = 0;
	}
}

/* Messages the seeded mistakes lose or change at the home. */
static bool mistaken_home(int i, struct tally_lmsg *msg)
{
	bool resync = msg->type == TALLY_LM_RESYNC;

	if (opt.bug == BUG_B5 && msg->type == TALLY_LM_ENQUEUE &&
	    W.lh.hm != TALLY_LH_FAST)
		word_set_w();
	if (opt.bug == BUG_RSYREQ && resync && W.lh.cur == &W.node[i] &&
	    !msg->gen) {
		msg->mode = 0;
		W.c[i].lc.unsynced = false;
	}
	if (opt.bug == BUG_UNLISTED && resync)
		msg->gen = 0;
	if (opt.bug == BUG_SYNC && resync)
		W.node[i].up = false;
	if (opt.bug == BUG_VIARSY && W.lh.via == &W.node[i] &&
	    !W.node[i].up)
		W.lh.via = NULL;
	if (opt.bug == BUG_B31 && msg->type == TALLY_LM_REL)
		return names_successor(msg, i);
	if (opt.bug == BUG_DOWNEARLY && msg->type == TALLY_LM_DOWN)
		return names_successor(msg, i);
	if (opt.bug == BUG_CHAINDONE && msg->type == TALLY_LM_DONE)
		return names_successor(msg, i);
	if (opt.bug == BUG_CHAINDOWN && msg->type == TALLY_LM_DOWN &&
	    W.lh.cur == &W.node[i])
		forget_chain();
	return false;
}

/* Rule G and REL, for one that only says that it has had the tenure. */
static void mistaken_resync(const struct tally_lmsg *msg)
{
	int k = tally_lh_announced(&W.lh, &W.node[EVIL]);

	if (k < 0 || W.node[EVIL].up || msg->gen ||
	    (msg->type == TALLY_LM_RESYNC && msg->last < W.lh.suc_gen[k]))
		return;
	W.node[EVIL].up = true;
	home_event((struct tally_lh_event){
		.kind = TALLY_LHE_MSG,
		.slot = slot_of(EVIL),
		.node = &W.node[EVIL],
		.proven = true,
		.msg = { .type = TALLY_LM_REL, .gen = W.lh.suc_gen[k] },
	});
	W.node[EVIL].up = false;
}

/* What is wrong behind a message that was right. */
static void mistaken_chain_left(void)
{
	int k;

	for (k = 0; k < TALLY_LH_CHAIN; k++) {
		struct tally_lh_node *n = W.lh.suc[k];

		if (!n || !n->canc)
			continue;
		if (opt.bug == BUG_CANCDOWN)
			n->canc = TALLY_LH_CANC_NOT;
		if (opt.bug == BUG_LEFTTOLD && n->canc == TALLY_LH_CANC_TOLD)
			home_event((struct tally_lh_event){
				.kind = TALLY_LHE_MSG,
				.slot = n->slot,
				.node = n,
				.msg = {
					.type = TALLY_LM_REL,
					.flags = TALLY_LMF_CANC,
					.gen = W.lh.suc_gen[k],
				},
			});
	}
}

static bool step_to_home(int i)
{
	struct xclient *c = &W.c[i];
	struct tally_lmsg msg;

	if (!c->c2h.n || c->hdown || c->ended)
		return false;
	msg = chan_get(&c->c2h);
	if (opt.bug == BUG_PASSRSY && i == EVIL)
		mistaken_resync(&msg);
	if (!mistaken_home(i, &msg))
		home_event((struct tally_lh_event){
			.proven = msg.pass == pass_of(msg.gen) ||
				  opt.bug == BUG_TICKET,
			.kind = msg.type == TALLY_LM_RESYNC_END ?
				TALLY_LHE_RESYNC_END : TALLY_LHE_MSG,
			.slot = slot_of(i),
			.node = &W.node[i],
			.msg = msg,
		});
	mistaken_chain_left();
	return true;
}

/* Messages the seeded mistakes lose or change at the client. */
static bool mistaken_client(struct xclient *c, struct tally_lmsg *msg)
{
	bool flight = c->lc.st == TALLY_LC_ATT || c->lc.st == TALLY_LC_DBT;
	bool recall = msg->type == TALLY_LM_REVOKE ||
		      msg->type == TALLY_LM_SUCC;

	if (opt.bug == BUG_REVINFLIGHT && msg->type == TALLY_LM_REVOKE)
		return !msg->gen && flight;
	if (opt.bug == BUG_B16 && msg->type == TALLY_LM_GRANT && c->lc.canc) {
		c->lc.st = TALLY_LC_IDLE;
		c->lc.canc = false;
		c->lc.mode = 0;
		return true;
	}
	if (opt.bug == BUG_B14 && recall && msg->gen && c->lc.gen)
		msg->gen = c->lc.gen;
	if (opt.bug == BUG_GRANTDUP && msg->type == TALLY_LM_GRANT &&
	    c->lc.last >= msg->gen)
		c->lc.last = msg->gen - 1;
	if (opt.bug == BUG_EARLYSUCC && recall && c->lc.st == TALLY_LC_WAIT)
		return true;
	if (opt.bug == BUG_SHARE && recall && c->lc.mode == TALLY_LMODE_X &&
	    c->mode == TALLY_LMODE_S) {
		c->lc.rv = true;
		return true;
	}
	if (opt.bug == BUG_STAY && recall && msg->mode == TALLY_LMODE_S)
		return true;
	return opt.bug == BUG_CACHED && recall &&
	       c->lc.st == TALLY_LC_CACHED;
}

/* @linked: there is a link to the successor a SUCC names. */
static bool step_to_client(int i, bool linked)
{
	struct xclient *c = &W.c[i];
	struct tally_lmsg msg;

	if (!c->h2c.n || c->cdown ||
	    (!linked && !(opt.nolink && c->h2c.m[0].type == TALLY_LM_SUCC)))
		return false;
	msg = chan_get(&c->h2c);
	if (opt.evil && i == EVIL)
		evil_hears(&msg);
	if (!mistaken_client(c, &msg))
		client_event(i, (struct tally_lc_event){
			.kind = TALLY_LCE_MSG,
			.linked = linked,
			.msg = msg,
		});
	if (opt.bug == BUG_LEFTLAST && msg.type == TALLY_LM_CANCELLED &&
	    msg.gen)
		c->lc.last = msg.gen - 1;
	return true;
}

static struct tally_lmsg hand_get(struct xhand *h)
{
	const struct tally_lmsg msg = {
		.type = TALLY_LM_HANDOVER,
		.next_gen = h->gen[0],
		.next_session = h->session[0],
		.pass = h->pass[0],
	};

	h->n--;
	memmove(&h->gen[0], &h->gen[1], HANDS - 1);
	memmove(&h->session[0], &h->session[1], HANDS - 1);
	memmove(&h->pass[0], &h->pass[1], HANDS - 1);
	h->gen[HANDS - 1] = 0;
	h->session[HANDS - 1] = 0;
	h->pass[HANDS - 1] = 0;
	return msg;
}

static bool step_hand(int i, int from)
{
	struct xhand *h = &W.c[from].hand[i];
	struct xclient *c = &W.c[i];
	struct tally_lc_event ev = { .kind = TALLY_LCE_MSG };

	if (!h->n || !c->val)
		return false;
	ev.msg = hand_get(h);
	if (opt.evil && i == EVIL)
		evil_hears(&ev.msg);
	if (opt.bug == BUG_SYNCPARK)
		c->lc.unsynced = false;
	if (opt.bug == BUG_B13)
		ev.msg.next_session = c->session;
	client_event(i, ev);
	return true;
}

static bool step_handed_bad(int i)
{
	struct xclient *c = &W.c[i];
	struct tally_lc_event ev = { .kind = TALLY_LCE_HANDED_BAD };

	if (!c->lost)
		return false;
	ev.msg.next_gen = c->lost;
	c->lost = 0;
	if (opt.bug != BUG_LOST)
		client_event(i, ev);
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
	W.evil.left = opt.evil;
	W.state = tally_lh_init(&W.lh, flags, 0);
	for (i = 0; i < NC; i++) {
		W.c[i].left = opt.left[i];
		W.c[i].val = true;
		W.c[i].session = i + 1;
		client_init(i);
	}
}

static bool step_user(enum step s, int i)
{
	switch (s) {
	case STEP_WANT_X:
		return step_want(i, TALLY_LMODE_X, false, false);
	case STEP_WANT_S:
		return step_want(i, TALLY_LMODE_S, false, false);
	case STEP_TRY_X:
		return opt.try && step_want(i, TALLY_LMODE_X, true, false);
	case STEP_TRY_S:
		return opt.try && step_want(i, TALLY_LMODE_S, true, false);
	case STEP_DIRECT_X:
		return opt.direct && step_want(i, TALLY_LMODE_X, false, true);
	case STEP_DIRECT_S:
		return opt.direct && step_want(i, TALLY_LMODE_S, false, true);
	case STEP_CANCEL:
		return step_cancel(i);
	case STEP_DOWNGRADE:
		return step_downgrade(i);
	case STEP_UPGRADE:
		return step_upgrade(i);
	case STEP_LATE:
		return opt.budget && step_unlock(i, true);
	default:
		return step_unlock(i, false);
	}
}

bool world_step(enum step s, int i)
{
	broken = NULL;
	switch (s) {
	case STEP_WANT_X ... STEP_UPGRADE:
	case STEP_LATE:
	case STEP_UNLOCK:
		return step_user(s, i);
	case STEP_BREAK ... STEP_LOOP_BREAK:
	case STEP_CLIENT_DOWN ... STEP_SESSION_END:
		return world_fault(s, i);
	case STEP_EVIL ... STEP_EVIL_LAST:
		return !i && evil_step(s - STEP_EVIL);
	case STEP_NO_LINK:
		return step_to_client(i, false);
	case STEP_GHOST:
		return step_ghost(i);
	case STEP_EXEC:
		return step_exec(i);
	case STEP_DONE:
		return step_done(i);
	case STEP_FLUSH:
		return step_flush(i);
	case STEP_TO_HOME:
		return step_to_home(i);
	case STEP_TO_CLIENT:
		return step_to_client(i, true);
	case STEP_HAND_1:
		return step_hand(i, (i + 1) % NC);
	case STEP_HAND_2:
		return step_hand(i, (i + 2) % NC);
	case STEP_HANDED_BAD:
		return step_handed_bad(i);
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
