// SPDX-License-Identifier: GPL-2.0
/* See explore_world.h. */
#include <errno.h>
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

u16 slot_of(int i)
{
	return opt.noslot && i == 2 ? SLOT_NO_BIT : i + 1;
}

int client_of(u16 slot)
{
	return slot == SLOT_NO_BIT ? 2 : slot - 1;
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
		.next_slot = msg->next_slot,
		.next_session = msg->next_session,
		.next_gen = msg->next_gen,
		.pass = msg->pass,
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
		.next_slot = m.next_slot,
		.next_session = m.next_session,
		.next_gen = m.next_gen,
		.pass = m.pass,
	};
}

void chan_clear(struct xchan *ch)
{
	memset(ch, 0, sizeof(*ch));
}

/* ---- the words ---- */

/* A field that is added twice carries, one taken out twice borrows. */
static void word_add(u64 value, u16 slot)
{
	u64 bit = slot <= TALLY_LW_BIT_SLOT_MAX ? tally_lw_bit(slot) : 0;
	u64 after = W.state + value;
	u64 mine = (tally_lw_owner(W.state) == slot ? slot : 0) +
		   (W.state & bit);
	u64 then = (tally_lw_owner(after) == slot ? slot : 0) + (after & bit);

	world_require(W.state - mine == after - then,
		      "carry or borrow in the word");
	W.state = after;
}

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

static bool op_has_token(u8 kind)
{
	return kind == TALLY_LC_OP_ACQ_X || kind == TALLY_LC_OP_ACQ_S ||
	       kind == TALLY_LC_OP_UPG;
}

/* One execution step of a client's operation at the responder. */
void op_exec(struct xop *op, u16 slot)
{
	bool token = op->kind == TALLY_LC_OP_TOKEN ||
		     (op_has_token(op->kind) && op->stage == 1);

	if (token)
		op->token = opt.tokens ? W.token++ : 0;
	else
		op->state = W.state;
	op->stage++;
	if (token || op->kind == TALLY_LC_OP_READ)
		return;
	if (op->kind != TALLY_LC_OP_ACQ_X && op->kind != TALLY_LC_OP_UPG)
		word_add(op->value, slot);
	else if (W.state == op->compare)
		W.state = op->value;
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
		word_add(tally_lw_minus(op->delta), op->slot);
	if (op->kind == LOOP_SETW && opt.bug == BUG_TOKEARLY)
		W.snap_token = W.token;
	op->stage++;
}

/* ---- properties ---- */

/* The mode of what node i has, 0 if nothing it could grant from. */
static u8 holds(int i)
{
	const struct xclient *c = &W.c[i];
	u8 st = c->lc.st;

	if (!c->val || (opt.region && c->ended))
		return 0;
	if (st == TALLY_LC_DNF)
		return TALLY_LMODE_S;
	if (st == TALLY_LC_DBT)
		return c->users ? c->mode : 0;
	if (st == TALLY_LC_HOLD || st == TALLY_LC_CACHED ||
	    st == TALLY_LC_UPF || st == TALLY_LC_UPW)
		return c->lc.mode;
	return 0;
}

static void check_exclusion(void)
{
	int i, j;

	for (i = 0; i < NC; i++)
		for (j = i + 1; j < NC; j++)
			world_require((opt.evil && j == EVIL) ||
				      !holds(i) || !holds(j) ||
				      (holds(i) == TALLY_LMODE_S &&
				       holds(j) == TALLY_LMODE_S),
				      "two holders");
}

static void check_token(int i, u8 mode, u64 token)
{
	if (!holds(i) || !opt.tokens || (opt.evil && i == EVIL))
		return;
	world_require(token > (mode == TALLY_LMODE_X ? W.max_any : W.max_x),
		      "token does not grow");
	if (mode == TALLY_LMODE_X)
		W.max_x = token;
	if (W.max_any < token)
		W.max_any = token;
}

/* ---- actions of the client ---- */

static void client_post(struct xclient *c, const struct tally_lc_action *a)
{
	world_require(!c->op.kind, "two word operations outstanding");
	c->op = (struct xop){
		.kind = c->lc.op,
		.steps = op_has_token(c->lc.op) && opt.tokens ? 2 : 1,
		.compare = a->compare,
		.value = a->value,
		.sent = !c->broken,
	};
}

static void client_send(struct xclient *c, const struct tally_lmsg *msg)
{
	u64 rest = tally_lw_bits(W.state);

	if (c->broken)
		return;
	if (msg->type == TALLY_LM_LOOK &&
	    (opt.bug == BUG_LOOK || (opt.bug == BUG_B4 && rest)))
		return;
	if (opt.bug == BUG_BUSY && msg->type == TALLY_LM_BUSY)
		return;
	chan_put(&c->c2h, msg);
}

static void client_hand(struct xclient *c, const struct tally_lmsg *msg)
{
	int to = client_of(msg->next_slot);
	struct xhand *h = &c->hand[to];

	if (h->n == HANDS) {
		world_fail("the model's bounds are too small");
		return;
	}
	h->gen[h->n] = msg->next_gen;
	h->pass[h->n] = msg->pass;
	h->session[h->n++] = msg->next_session;
	c->handed = opt.pbreak ? msg->next_gen : 0;
	c->handed_to = opt.pbreak ? to : 0;
}

static void client_granted(int i, u64 token)
{
	struct xclient *c = &W.c[i];
	bool same = c->tenure == c->lc.tenure + 1;

	world_require(c->asking, "granted, but not asked for");
	world_require(!c->users || c->lc.want_mode == TALLY_LMODE_S,
		      "a writer beside others");
	world_require(!c->users || !c->recalled, "joined after the recall");
	if (same && c->recalled)
		c->spent++;
	else
		c->spent = 0;
	if (!same)
		c->recalled = false;
	world_require(c->spent <= opt.budget, "over the budget");
	c->tenure = c->lc.tenure + 1;
	c->asking = false;
	c->trying = false;
	c->users++;
	c->mode = c->lc.want_mode;
	check_token(i, c->mode, token);
}

static void client_upgraded(int i, u64 token)
{
	struct xclient *c = &W.c[i];

	world_require(c->upgrading, "upgraded, but not asked to");
	world_require(c->users == 1, "upgraded beside others");
	c->upgrading = false;
	c->mode = TALLY_LMODE_X;
	c->tenure = c->lc.tenure + 1;
	check_token(i, c->mode, token);
}

static void client_recall(struct xclient *c)
{
	world_require(c->users, "recalled with no user inside");
	world_require(!c->recalled, "recalled twice");
	c->recalled = true;
}

static void client_lost(struct xclient *c)
{
	world_require(c->users, "lost with no user inside");
	c->users = 0;
	c->mode = 0;
	c->upgrading = false;
}

static void client_answer(int i, const struct tally_lc_action *a)
{
	struct xclient *c = &W.c[i];

	switch (a->kind) {
	case TALLY_LCA_GRANTED:
		client_granted(i, a->token);
		break;
	case TALLY_LCA_FAILED:
		world_require(a->err != -EBUSY || c->trying,
			      "busy, and it would have waited");
		fallthrough;
	case TALLY_LCA_CANCELLED:
		world_require(c->asking, "answered, but not asked");
		c->asking = false;
		c->trying = false;
		break;
	case TALLY_LCA_UPGRADED:
		client_upgraded(i, a->token);
		break;
	case TALLY_LCA_NOT_UPGRADED:
		world_require(c->upgrading, "not upgraded, but not asked to");
		c->upgrading = false;
		break;
	case TALLY_LCA_RECALL:
		client_recall(c);
		break;
	case TALLY_LCA_LOST:
		client_lost(c);
		break;
	}
}

static void client_act(int i, const struct tally_lc_action *a)
{
	struct xclient *c = &W.c[i];

	switch (a->kind) {
	case TALLY_LCA_POST_CAS_FAA ... TALLY_LCA_POST_TOKEN_FAA:
		client_post(c, a);
		break;
	case TALLY_LCA_SEND:
		client_send(c, &a->msg);
		break;
	case TALLY_LCA_HANDOVER:
		client_hand(c, &a->msg);
		break;
	case TALLY_LCA_GRANTED ... TALLY_LCA_LOST:
		client_answer(i, a);
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

/* What means nothing any more must not tell states apart. */
static void client_tidy(struct xclient *c)
{
	if (!c->lc.want) {
		c->lc.want_mode = 0;
		c->lc.want_try = false;
		c->lc.want_direct = false;
	}
	if (!c->users)
		c->mode = 0;
	if (!c->lc.tenure) {
		c->tenure = 0;
		c->recalled = false;
		c->spent = 0;
	}
}

void client_event(int i, struct tally_lc_event ev)
{
	bool recalled = tally_lc_recalled(&W.c[i].lc);
	const char *before = broken;
	struct tally_lc_actions out;
	int k;

	tally_lc_step(&W.c[i].lc, &ev, &out);
	/* Readers need not leave for readers, nor for a writer that gave up. */
	if (recalled && !tally_lc_recalled(&W.c[i].lc))
		W.c[i].recalled = false;
	world_require(!out.bug, "the client table finds itself wrong");
	for (k = 0; k < out.n; k++)
		client_act(i, &out.a[k]);
	world_require(W.c[i].users == W.c[i].lc.users, "users miscounted");
	client_tidy(&W.c[i]);
	/* What it says besides may bring it answers that are none. */
	if (opt.evil && i == EVIL)
		broken = before;
	check_exclusion();
}

/* Client i opens the lock; @resyncing: the home has not got all of its snapshot. */
void client_open(int i, bool resyncing)
{
	struct xclient *c = &W.c[i];
	bool word = !opt.cpu && slot_of(i) <= TALLY_LW_BIT_SLOT_MAX;
	/* Either would keep an older HANDOVER out. */
	bool zero = opt.bug == BUG_REOPEN || opt.bug == BUG_B13;
	u64 last = zero ? 0 : W.lh.ng;

	tally_lc_init(&c->lc, slot_of(i), c->session, last, word, true);
	tally_lh_node_init(&W.node[i], slot_of(i), c->session, !resyncing);
	client_event(i, (struct tally_lc_event){
		.kind = TALLY_LCE_SET,
		.cache = opt.cache,
		.budget = opt.budget,
	});
}

/* A new session of client i. */
void client_init(int i)
{
	client_open(i, false);
}

/* ---- actions of the home ---- */

static void loop_post(u8 kind, u16 slot, u64 delta)
{
	bool raise = kind == LOOP_CLRW && opt.tokens && opt.bug != BUG_TOKEXIT;

	if (kind == LOOP_CLRW && !raise)
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
	struct xclient *c = &W.c[client_of(a->slot)];
	struct tally_lmsg msg = a->msg;

	if (c->broken || c->ended ||
	    (opt.evil && c == &W.c[EVIL] && c->h2c.n == CHAN))
		return;
	if (opt.bug == BUG_B15 && event == TALLY_LHE_RESYNC_END)
		return;
	if (opt.bug == BUG_CHAINRSY && a->msg.type == TALLY_LM_SUCC &&
	    c->lc.unsynced && a->msg.gen != W.lh.gen)
		return;
	if (msg.type == TALLY_LM_GRANT || msg.type == TALLY_LM_UPGRADED)
		msg.pass = pass_of(msg.gen);
	if (msg.type == TALLY_LM_SUCC && msg.next_slot)
		msg.pass = pass_of(msg.gen) ^ pass_of(msg.next_gen);
	chan_put(&c->h2c, &msg);
}

static void home_act(const struct tally_lh_action *a, u8 event)
{
	if (a->kind == TALLY_LHA_POST_SETW)
		loop_post(LOOP_SETW, 0, 0);
	else if (a->kind == TALLY_LHA_POST_CLRW)
		loop_post(LOOP_CLRW, 0, a->delta);
	else if (a->kind == TALLY_LHA_POST_SWEEP)
		loop_post(LOOP_SWEEP, a->slot, a->delta);
	else if (a->kind == TALLY_LHA_SEND)
		home_send(a, event);
	else if (a->kind == TALLY_LHA_VIOLATION)
		world_require(opt.evil && client_of(a->slot) == EVIL,
			      "the home finds a client wrong");
	else if (a->kind == TALLY_LHA_WORD_BAD)
		world_fail("the home finds the word bad");
}

/* Invariants of the home's records. */
static void check_home(void)
{
	const struct tally_lh *lh = &W.lh;
	const struct tally_lh_node *n;
	u64 gen = lh->gen;
	int k;

	world_require(!lh->suc_gen[0] || lh->gen, "a successor without a holder");
	world_require(!lh->cur || !lh->shared, "exclusive and shared");
	world_require(!!lh->cur == !!lh->gen, "a holder without generation");
	for (k = 0; k < TALLY_LH_CHAIN && lh->suc_gen[k]; k++) {
		world_require(lh->suc_gen[k] > gen, "successor before holder");
		world_require(!lh->suc[k] || lh->suc[k] != lh->cur,
			      "its own successor");
		gen = lh->suc_gen[k];
	}
	world_require(!lh->down || lh->suc[0] || lh->suc[1] || lh->suc[2],
		      "a reader in the way of readers");
	for (; k < TALLY_LH_CHAIN; k++)
		world_require(!lh->suc[k] && !lh->suc_gen[k],
			      "a gap in the chain");
	for (n = lh->head; n; n = n->next)
		world_require(n != lh->cur && !n->gen && n->mode &&
			      tally_lh_announced(lh, n) < 0,
			      "holds and waits");
}

static u64 home_token(void)
{
	if (opt.bug == BUG_TOKEARLY && tally_lw_w(W.state))
		return W.snap_token;
	if (opt.bug == BUG_TOKF && W.lh.hm == TALLY_LH_MAN)
		return 0;
	return opt.cpu ? 0 : W.token;
}

void home_event(struct tally_lh_event ev)
{
	bool setw = ev.kind == TALLY_LHE_SETW_DONE;
	struct tally_lh_actions out;
	int k;

	do {
		if (!(opt.bug == BUG_B3 && setw))
			ev.state = opt.cpu ? 0 : W.state;
		ev.token = home_token();
		tally_lh_step(&W.lh, &ev, &out);
		world_require(!out.bug, "the home table finds itself wrong");
		for (k = 0; k < out.n; k++)
			home_act(&out.a[k], ev.kind);
		ev.kind = TALLY_LHE_MORE;
	} while (out.more);
	if (opt.bug == BUG_DOWNF && setw)
		W.lh.fast &= tally_lw_bits(W.state);
	if (opt.bug == BUG_DRAINBITS && W.lh.hm == TALLY_LH_MAN)
		W.lh.fast = 0;
	check_home();
}
