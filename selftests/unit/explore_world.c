// SPDX-License-Identifier: GPL-2.0
/* See explore_world.h. */
#include <string.h>

#include "explore_world.h"

struct world W;
struct options opt;
const char *broken;

void world_fail(const char *what)
{
	if (!broken)
		broken = what;
}

void world_require(bool ok, const char *what)
{
	if (!ok)
		world_fail(what);
}

/* ---- channels ---- */

void chan_put(struct xchan *ch, const struct tally_lmsg *msg)
{
	if (ch->n == CHAN || msg->gen > 255) {
		world_fail("the model's bounds are too small");
		return;
	}
	ch->m[ch->n++] = (struct xmsg){
		.type = msg->type,
		.mode = msg->mode,
		.flags = msg->flags,
		.gen = msg->gen,
		.last = msg->last,
	};
}

struct tally_lmsg chan_get(struct xchan *ch)
{
	struct xmsg m = ch->m[0];

	ch->n--;
	memmove(&ch->m[0], &ch->m[1], ch->n * sizeof(m));
	memset(&ch->m[ch->n], 0, sizeof(m));
	return (struct tally_lmsg){
		.type = m.type,
		.mode = m.mode,
		.flags = m.flags,
		.gen = m.gen,
		.last = m.last,
	};
}

void chan_clear(struct xchan *ch)
{
	memset(ch, 0, sizeof(*ch));
}

/* ---- the words ---- */

void word_set_w(void)
{
	world_require(!tally_lw_w(W.state), "W added twice: carry");
	W.state += TALLY_LW_W;
}

static void word_clear_w(void)
{
	world_require(tally_lw_w(W.state), "W taken out twice: borrow");
	W.state += tally_lw_minus(TALLY_LW_W);
}

static void word_minus_owner(u16 slot)
{
	world_require(tally_lw_owner(W.state) == slot, "foreign owner taken out");
	W.state += tally_lw_minus(slot);
}

/* One execution step of a client's operation at the responder. */
void op_exec(struct xop *op, u16 slot)
{
	if (op->stage == 0 && op->kind != TALLY_LC_OP_TOKEN)
		op->state = W.state;
	if (op->kind == TALLY_LC_OP_TOKEN ||
	    (op->kind == TALLY_LC_OP_ACQ && op->stage == 1))
		op->token = opt.tokens ? W.token++ : 0;
	else if (op->kind == TALLY_LC_OP_ACQ && !W.state)
		W.state = slot;
	else if (op->kind == TALLY_LC_OP_REL)
		word_minus_owner(slot);
	op->stage++;
}

void loop_exec(struct xop *op)
{
	if (op->kind == LOOP_CLRW && op->stage + 1 < op->steps) {
		W.token += op->delta;
		op->stage++;
		return;
	}
	if (!(opt.bug == BUG_B3 && op->kind == LOOP_SETW))
		op->state = W.state;
	if (op->kind == LOOP_SETW)
		word_set_w();
	else if (op->kind == LOOP_CLRW)
		word_clear_w();
	else
		word_minus_owner(op->slot);
	if (op->kind == LOOP_SETW && opt.bug == BUG_TOKEARLY)
		W.snap_token = W.token;
	op->stage++;
}

/* ---- properties at a grant ---- */

static bool holds(int i)
{
	const struct xclient *c = &W.c[i];

	return c->inside && c->val && !(opt.region && c->ended);
}

static void check_grant(int i, u64 token)
{
	int j;

	for (j = 0; j < NC; j++)
		world_require(j == i || !holds(i) || !holds(j), "two holders");
	if (!holds(i) || !opt.tokens)
		return;
	world_require(token > W.max_token, "token does not grow");
	W.max_token = token;
}

/* ---- actions of the client ---- */

static void client_post(struct xclient *c, u8 kind)
{
	world_require(!c->op.kind, "two word operations outstanding");
	c->op = (struct xop){
		.kind = kind,
		.steps = kind == TALLY_LC_OP_ACQ && opt.tokens ? 2 : 1,
		.sent = !c->broken,
	};
}

static void client_send(struct xclient *c, const struct tally_lmsg *msg)
{
	if (c->broken || (opt.bug == BUG_LOOK && msg->type == TALLY_LM_LOOK))
		return;
	chan_put(&c->c2h, msg);
}

static void client_granted(int i, u64 token)
{
	struct xclient *c = &W.c[i];

	world_require(c->asking, "granted and nobody asked");
	c->asking = false;
	c->inside = true;
	c->recalled = false;
	check_grant(i, token);
}

static void client_act(int i, const struct tally_lc_action *a)
{
	struct xclient *c = &W.c[i];

	switch (a->kind) {
	case TALLY_LCA_POST_CAS_FAA:
		client_post(c, TALLY_LC_OP_ACQ);
		break;
	case TALLY_LCA_POST_RELEASE_FAA:
		client_post(c, TALLY_LC_OP_REL);
		break;
	case TALLY_LCA_POST_READ:
		client_post(c, TALLY_LC_OP_READ);
		break;
	case TALLY_LCA_POST_TOKEN_FAA:
		client_post(c, TALLY_LC_OP_TOKEN);
		break;
	case TALLY_LCA_SEND:
		client_send(c, &a->msg);
		break;
	case TALLY_LCA_GRANTED:
		client_granted(i, a->token);
		break;
	case TALLY_LCA_FAILED:
	case TALLY_LCA_CANCELLED:
		world_require(c->asking, "answered and nobody asked");
		c->asking = false;
		break;
	case TALLY_LCA_RECALL:
		world_require(c->inside, "recalled and nobody inside");
		c->recalled = opt.hog;
		break;
	case TALLY_LCA_LOST:
		world_require(c->inside, "lost and nobody inside");
		c->inside = false;
		break;
	case TALLY_LCA_RELEASED:
		world_require(tally_lc_idle(&c->lc), "released and not idle");
		break;
	case TALLY_LCA_VIOLATION:
		world_fail("the client finds the home wrong");
		break;
	case TALLY_LCA_WORD_BAD:
		world_fail("the client finds the word bad");
		break;
	default:
		world_fail("unknown action");
	}
}

void client_event(int i, struct tally_lc_event ev)
{
	struct tally_lc_actions out;
	int k;

	tally_lc_step(&W.c[i].lc, &ev, &out);
	world_require(!out.bug, "the client table finds itself wrong");
	for (k = 0; k < out.n; k++)
		client_act(i, &out.a[k]);
}

/* ---- actions of the home ---- */

static void loop_post(u8 kind, u16 slot, u64 delta)
{
	if (!opt.tokens || opt.bug == BUG_TOKEXIT)
		delta = 0;
	if (W.nloop == LOOPS) {
		world_fail("the model's bounds are too small");
		return;
	}
	W.loop[W.nloop++] = (struct xop){
		.kind = kind,
		.slot = slot,
		.delta = delta,
		.steps = kind == LOOP_CLRW && delta ? 2 : 1,
		.state = opt.bug == BUG_B3 ? W.state : 0,
	};
}

static void home_send(const struct tally_lh_action *a, u8 event)
{
	struct xclient *c = &W.c[a->slot - 1];

	if (c->broken || c->ended)
		return;
	if (opt.bug == BUG_B15 && event == TALLY_LHE_RESYNC_END)
		return;
	chan_put(&c->h2c, &a->msg);
}

void home_event(struct tally_lh_event ev)
{
	struct tally_lh_actions out;
	int k;

	if (!(opt.bug == BUG_B3 && ev.kind == TALLY_LHE_SETW_DONE))
		ev.state = opt.cpu ? 0 : W.state;
	ev.token = opt.cpu ? 0 : W.token;
	if (opt.bug == BUG_TOKEARLY && tally_lw_w(W.state))
		ev.token = W.snap_token;
	tally_lh_step(&W.lh, &ev, &out);
	world_require(!out.bug, "the home table finds itself wrong");
	for (k = 0; k < out.n; k++) {
		const struct tally_lh_action *a = &out.a[k];

		if (a->kind == TALLY_LHA_POST_SETW)
			loop_post(LOOP_SETW, 0, 0);
		else if (a->kind == TALLY_LHA_POST_CLRW)
			loop_post(LOOP_CLRW, 0, a->delta);
		else if (a->kind == TALLY_LHA_POST_SWEEP)
			loop_post(LOOP_SWEEP, a->slot, 0);
		else if (a->kind == TALLY_LHA_SEND)
			home_send(a, ev.kind);
		else if (a->kind == TALLY_LHA_VIOLATION)
			world_fail("the home finds a client wrong");
		else if (a->kind == TALLY_LHA_WORD_BAD)
			world_fail("the home finds the word bad");
	}
}
