/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The home table row by row: (state, event) -> (state, actions).  Three nodes
 * in slots 1 to 3; the pump follows each event, so most rows show it too.
 */
#ifndef TALLY_LOCK_HOME_CASES_H
#define TALLY_LOCK_HOME_CASES_H

#include "lock_home_picture.h"

struct lh_case {
	const char *name;
	struct lh_picture from;
	u16 node;
	struct tally_lh_event ev;
	struct lh_picture to;
	u8 n;
	struct tally_lh_action act[4];
	bool bug;
};

#define W_SET	TALLY_LW_W

#define LH(_hm, ...) { .hm = TALLY_LH_##_hm, ##__VA_ARGS__ }
#define Q(...)	.queue = { __VA_ARGS__ }
#define CUR(_n, _g) .cur = (_n), .gen = (_g)
#define CUR_S(_n, _g) CUR(_n, _g), .cur_down = true
#define DOWN(_n) .down = 1 << (_n)
#define ASKED_IDLE(_n) .asked[_n] = TALLY_LH_ASKED_IDLE
#define FORCED(_n) .asked[_n] = TALLY_LH_ASKED_FORCE
#define HELD_S	TALLY_LMF_HELD_S
#define UPG	TALLY_LMF_UPG
#define ASKED(_n) .asked[_n] = TALLY_LH_ASKED
#define SAID(_n) .canc[_n] = TALLY_LH_CANC_SAID
#define TOLD(_n) .canc[_n] = TALLY_LH_CANC_TOLD
#define OWNERS_ASKED .fast_asked = 0xe	/* whichever it is */
#define FAST_IS(_m) .fast = (_m)
#define SUC(_n, _g) .suc = { (_n) }, .suc_gen = { (_g) }
#define SUC2(_n, _g, _m, _h) .suc = { (_n), (_m) }, .suc_gen = { (_g), (_h) }
#define SHARED(_n, _g) .shared[_n] = (_g)
#define QS(_n) ((_n) | LH_Q_SHARED)
#define QT(_n) ((_n) | LH_Q_TRY)
#define BIT_OF(_n) (1ULL << (TALLY_LW_BIT_SHIFT + (_n) - 1))

#define EV(_kind, ...) { .kind = TALLY_LHE_##_kind, ##__VA_ARGS__ }
#define RECV(_type, _state, ...) \
	EV(MSG, .state = (_state), .proven = true, \
	   .msg = { .type = TALLY_LM_##_type, ##__VA_ARGS__ })
#define FORGED(_type, ...) \
	EV(MSG, .state = W_SET, \
	   .msg = { .type = TALLY_LM_##_type, ##__VA_ARGS__ })
#define MX	.mode = TALLY_LMODE_X
#define MS	.mode = TALLY_LMODE_S
#define TRY	.flags = TALLY_LMF_TRY
#define CANC	.flags = TALLY_LMF_CANC

#define A(_kind, ...) { .kind = TALLY_LHA_##_kind, ##__VA_ARGS__ }
#define SEND(_n, _type, ...) \
	A(SEND, .slot = (_n), .msg = { .type = TALLY_LM_##_type, ##__VA_ARGS__ })
#define GRANT(_n, _g) SEND(_n, GRANT, MX, .gen = (_g))
#define REVOKE(_n, _g) SEND(_n, REVOKE, MX, .gen = (_g))
#define REVOKE_S(_n, _g) SEND(_n, REVOKE, MS, .gen = (_g))
#define GRANT_S(_n, _g) SEND(_n, GRANT, MS, .gen = (_g))
#define NEXT_IS_1 .next_slot = 1, .next_session = 71
#define NEXT_IS_2 .next_slot = 2, .next_session = 72
#define NEXT_IS_3 .next_slot = 3, .next_session = 73
#define SUCC(_n, _g, _next, _next_g) \
	SEND(_n, SUCC, .gen = (_g), NEXT_IS_##_next, .next_gen = (_next_g))
#define IDLE_ONLY(_n, _g) \
	SEND(_n, REVOKE, MX, .gen = (_g), .flags = TALLY_LMF_IDLE_ONLY)
#define FORCE(_n, _g) SEND(_n, REVOKE, .gen = (_g), .flags = TALLY_LMF_FORCE)
#define SETW	A(POST_SETW)
#define SWEEP(_n, _d) A(POST_SWEEP, .slot = (_n), .delta = (_d))
#define CLRW(_d) A(POST_CLRW, .delta = (_d))
#define VIOLATION(_n) A(VIOLATION, .slot = (_n))

static const struct lh_case lh_cases[] = {
	/* ---- ENQUEUE ---- */
	{ "ENQUEUE, FAST: queue, FAA(+W)",
	  LH(FAST), 1, RECV(ENQUEUE, 2, MX), LH(SETW, Q(1)),
	  1, { SETW } },
	{ "ENQUEUE, SETW: queue",
	  LH(SETW, Q(1)), 2, RECV(ENQUEUE, 3, MX), LH(SETW, Q(1, 2)), 0 },
	{ "ENQUEUE, DRAIN: queue",
	  LH(DRAIN, OWNERS_ASKED, Q(1)), 2, RECV(ENQUEUE, 3 | W_SET, MX),
	  LH(DRAIN, OWNERS_ASKED, Q(1, 2)), 0 },
	{ "ENQUEUE, CLRW: queue",
	  LH(CLRW), 2, RECV(ENQUEUE, W_SET, MX), LH(CLRW, Q(2)), 0 },
	{ "ENQUEUE X, MAN, held: the holder is told who is next",
	  LH(MAN, CUR(1, 7)), 2, RECV(ENQUEUE, W_SET, MX),
	  LH(MAN, CUR(1, 7), SUC(2, 8)),
	  1, { SUCC(1, 7, 2, 8) } },
	{ "ENQUEUE X, MAN, held, somebody is next: that one is told early",
	  LH(MAN, CUR(1, 7), SUC(2, 8)), 3, RECV(ENQUEUE, W_SET, MX),
	  LH(MAN, CUR(1, 7), SUC2(2, 8, 3, 9)),
	  1, { SUCC(2, 8, 3, 9) } },
	{ "ENQUEUE S, MAN, held, somebody is next: the chain ends, queue",
	  LH(MAN, CUR(1, 7), SUC(2, 8)), 3, RECV(ENQUEUE, W_SET, MS),
	  LH(MAN, CUR(1, 7), SUC(2, 8), Q(QS(3))), 0 },
	{ "ENQUEUE S, MAN, held: queue, the holder is recalled",
	  LH(MAN, CUR(1, 7)), 2, RECV(ENQUEUE, W_SET, MS),
	  LH(MAN, CUR(1, 7), Q(QS(2)), ASKED(1)),
	  1, { REVOKE_S(1, 7) } },
	{ "ENQUEUE X, MAN, held, a reader is before: queue",
	  LH(MAN, CUR(1, 7), Q(QS(2)), ASKED(1)), 3,
	  RECV(ENQUEUE, W_SET, MX),
	  LH(MAN, CUR(1, 7), Q(QS(2), 3), ASKED(1)), 0 },
	{ "ENQUEUE, cpu arena, free: GRANT",
	  LH(MAN, .cpu = true, .ng = 6), 1, RECV(ENQUEUE, 0, MX),
	  LH(MAN, .cpu = true, CUR(1, 7)),
	  1, { GRANT(1, 7) } },
	{ "ENQUEUE of a queued node: violation",
	  LH(SETW, Q(1)), 1, RECV(ENQUEUE, 2, MX), LH(SETW, Q(1)),
	  1, { VIOLATION(1) } },
	{ "ENQUEUE of the holder: violation",
	  LH(MAN, CUR(1, 7)), 1, RECV(ENQUEUE, W_SET, MX), LH(MAN, CUR(1, 7)),
	  1, { VIOLATION(1) } },
	{ "ENQUEUE, no mode: violation",
	  LH(FAST), 1, RECV(ENQUEUE, 2), LH(FAST),
	  1, { VIOLATION(1) } },
	{ "try, FAST: queue, FAA(+W), to ask the holder",
	  LH(FAST), 1, RECV(ENQUEUE, 2, MX, TRY), LH(SETW, Q(QT(1))),
	  1, { SETW } },
	{ "try, DRAIN: DENIED",
	  LH(DRAIN, OWNERS_ASKED, Q(1)), 2, RECV(ENQUEUE, 3 | W_SET, MX, TRY),
	  LH(DRAIN, OWNERS_ASKED, Q(1)),
	  1, { SEND(2, DENIED) } },
	{ "try, MAN, held: the holder is asked whether it is idle",
	  LH(MAN, CUR(1, 7)), 2, RECV(ENQUEUE, W_SET, MX, TRY),
	  LH(MAN, CUR(1, 7), Q(QT(2)), ASKED_IDLE(1)),
	  1, { IDLE_ONLY(1, 7) } },
	{ "try, MAN, held, the holder was asked to leave: DENIED",
	  LH(MAN, CUR(1, 7), ASKED(1)), 2, RECV(ENQUEUE, W_SET, MX, TRY),
	  LH(MAN, CUR(1, 7), ASKED(1)),
	  1, { SEND(2, DENIED) } },
	{ "try, MAN, somebody is next: DENIED",
	  LH(MAN, CUR(1, 7), SUC(2, 8)), 3, RECV(ENQUEUE, W_SET, MX, TRY),
	  LH(MAN, CUR(1, 7), SUC(2, 8)),
	  1, { SEND(3, DENIED) } },
	{ "try, cpu arena, free: GRANT",
	  LH(MAN, .cpu = true, .ng = 6), 1, RECV(ENQUEUE, 0, MX, TRY),
	  LH(MAN, .cpu = true, CUR(1, 7)),
	  1, { GRANT(1, 7) } },

	/* ---- FAA(+W) ---- */
	{ "FAA(+W), owner: REVOKE(0), DRAIN; it may downgrade",
	  LH(SETW, Q(1)), 0, EV(SETW_DONE, .old = 3, .state = 3 | W_SET),
	  LH(DRAIN, Q(1), FAST_IS(4), .fast_asked = 4),
	  1, { REVOKE(3, 0) } },
	{ "FAA(+W), readers: F, without those that wait",
	  LH(SETW, Q(1)), 0,
	  EV(SETW_DONE, .old = BIT_OF(1) | BIT_OF(2) | BIT_OF(3),
	     .state = W_SET | BIT_OF(1) | BIT_OF(2) | BIT_OF(3)),
	  LH(MAN, Q(1), FAST_IS(6), .fast_asked = 6),
	  2, { REVOKE(2, 0), REVOKE(3, 0) } },
	{ "FAA(+W), readers, a reader waits: GRANT beside them",
	  LH(SETW, Q(QS(1))), 0,
	  EV(SETW_DONE, .old = BIT_OF(2), .state = W_SET | BIT_OF(2)),
	  LH(MAN, SHARED(1, 1), FAST_IS(2)),
	  1, { GRANT_S(1, 1) } },
	{ "FAA(+W), free: GRANT above the token word",
	  LH(SETW, Q(1), .ng = 6), 0,
	  EV(SETW_DONE, .state = W_SET, .token = 20),
	  LH(MAN, CUR(1, 21)),
	  1, { GRANT(1, 21) } },
	{ "FAA(+W), token word behind: GRANT above ng",
	  LH(SETW, Q(1), .ng = 30), 0,
	  EV(SETW_DONE, .state = W_SET, .token = 20),
	  LH(MAN, CUR(1, 31)),
	  1, { GRANT(1, 31) } },
	{ "FAA(+W), free, two wait: GRANT, and who is next",
	  LH(SETW, Q(2, 1)), 0, EV(SETW_DONE, .state = W_SET),
	  LH(MAN, CUR(2, 1), SUC(1, 2)),
	  2, { GRANT(2, 1), SUCC(2, 1, 1, 2) } },
	{ "FAA(+W), the owner left meanwhile: GRANT",
	  LH(SETW, Q(1)), 0, EV(SETW_DONE, .old = 3, .state = W_SET),
	  LH(MAN, CUR(1, 1)),
	  1, { GRANT(1, 1) } },
	{ "FAA(+W), the owner downgraded meanwhile: it reads",
	  LH(SETW, Q(1)), 0,
	  EV(SETW_DONE, .old = 3, .state = W_SET | BIT_OF(3)),
	  LH(MAN, Q(1), FAST_IS(4), .fast_asked = 4),
	  1, { REVOKE(3, 0) } },
	{ "FAA(+W), queue empty by now: FAA(-W)",
	  LH(SETW), 0, EV(SETW_DONE, .state = W_SET), LH(CLRW),
	  1, { CLRW(0) } },
	{ "FAA(+W), queue empty, fast owner: it is left alone",
	  LH(SETW), 0, EV(SETW_DONE, .old = 3, .state = 3 | W_SET), LH(CLRW),
	  1, { CLRW(0) } },
	{ "FAA(+W) finds W: word bad, queue forgotten",
	  LH(SETW, Q(1, 2)), 0, EV(SETW_DONE, .old = W_SET, .state = W_SET),
	  LH(BAD),
	  1, { A(WORD_BAD) } },
	{ "FAA(+W) not posted: bug",
	  LH(FAST), 0, EV(SETW_DONE), LH(FAST), 0, {}, .bug = true },

	/* ---- LOOK ---- */
	{ "LOOK, DRAIN, owner gone: GRANT",
	  LH(DRAIN, OWNERS_ASKED, Q(1)), 3, RECV(LOOK, W_SET), LH(MAN, CUR(1, 1)),
	  1, { GRANT(1, 1) } },
	{ "LOOK, DRAIN, owner there: nothing",
	  LH(DRAIN, OWNERS_ASKED, Q(1)), 3, RECV(LOOK, 2 | W_SET),
	  LH(DRAIN, OWNERS_ASKED, Q(1)), 0 },
	{ "LOOK, FAST: nothing",
	  LH(FAST), 3, RECV(LOOK, 0), LH(FAST), 0 },

	/* ---- REL ---- */
	{ "REL, queue: GRANT to the head",
	  LH(MAN, CUR(1, 7), Q(2), ASKED(1)), 1,
	  RECV(REL, W_SET, .gen = 7),
	  LH(MAN, CUR(2, 8)),
	  1, { GRANT(2, 8) } },
	{ "REL, more wait: GRANT, and who is next",
	  LH(MAN, CUR(1, 7), Q(2, 3), ASKED(1)), 1,
	  RECV(REL, W_SET, .gen = 7),
	  LH(MAN, CUR(2, 8), SUC(3, 9)),
	  2, { GRANT(2, 8), SUCC(2, 8, 3, 9) } },
	{ "REL, queue empty: the token word is raised, FAA(-W)",
	  LH(MAN, CUR(1, 7)), 1,
	  EV(MSG, .state = W_SET, .token = 3,
	     .msg = { .type = TALLY_LM_REL, .gen = 7 }),
	  LH(CLRW, .ng = 7),
	  1, { CLRW(4) } },
	{ "REL, queue empty, cpu arena: free",
	  LH(MAN, .cpu = true, CUR(1, 7)), 1, RECV(REL, 0, .gen = 7),
	  LH(MAN, .cpu = true, .ng = 7), 0 },
	{ "REL, queue, token word ahead: GRANT above it",
	  LH(MAN, CUR(1, 7), Q(2), ASKED(1)), 1,
	  EV(MSG, .state = W_SET, .token = 50,
	     .msg = { .type = TALLY_LM_REL, .gen = 7 }),
	  LH(MAN, CUR(2, 51)),
	  1, { GRANT(2, 51) } },
	{ "REL of an older tenure: dropped",
	  LH(MAN, CUR(1, 7)), 1, RECV(REL, W_SET, .gen = 6),
	  LH(MAN, CUR(1, 7)), 0 },
	{ "REL, nobody holds: dropped",
	  LH(FAST, .ng = 7), 1, RECV(REL, 0, .gen = 7), LH(FAST, .ng = 7), 0 },
	{ "REL of somebody else's tenure: violation",
	  LH(MAN, CUR(1, 7)), 2, RECV(REL, W_SET, .gen = 7),
	  LH(MAN, CUR(1, 7)),
	  1, { VIOLATION(2) } },

	/* ---- FAA(-W) ---- */
	{ "FAA(-W): FAST",
	  LH(CLRW, .ng = 7), 0, EV(CLRW_DONE, .old = W_SET, .token = 7),
	  LH(FAST, .ng = 7), 0 },
	{ "FAA(-W), somebody waits: FAA(+W)",
	  LH(CLRW, Q(2), .ng = 7), 0, EV(CLRW_DONE, .old = W_SET, .state = 3),
	  LH(SETW, Q(2), .ng = 7),
	  1, { SETW } },
	{ "FAA(-W) finds no W: word bad",
	  LH(CLRW), 0, EV(CLRW_DONE), LH(BAD),
	  1, { A(WORD_BAD) } },
	{ "FAA(-W) not posted: bug",
	  LH(MAN, CUR(1, 7)), 0, EV(CLRW_DONE, .old = W_SET, .state = W_SET),
	  LH(MAN, CUR(1, 7)), 0, {}, .bug = true },

	/* ---- CANCEL ---- */
	{ "CANCEL, in the middle of the queue",
	  LH(DRAIN, OWNERS_ASKED, Q(1, 2, 3)), 2, RECV(CANCEL, 4 | W_SET),
	  LH(DRAIN, OWNERS_ASKED, Q(1, 3)),
	  1, { SEND(2, CANCELLED) } },
	{ "CANCEL, at the tail",
	  LH(DRAIN, OWNERS_ASKED, Q(1, 2)), 2, RECV(CANCEL, 4 | W_SET),
	  LH(DRAIN, OWNERS_ASKED, Q(1)),
	  1, { SEND(2, CANCELLED) } },
	{ "CANCEL of the only one, DRAIN: FAA(-W)",
	  LH(DRAIN, OWNERS_ASKED, Q(1)), 1, RECV(CANCEL, 4 | W_SET), LH(CLRW),
	  2, { SEND(1, CANCELLED), CLRW(0) } },
	{ "CANCEL, granted meanwhile: nothing",
	  LH(MAN, CUR(1, 7)), 1, RECV(CANCEL, W_SET), LH(MAN, CUR(1, 7)), 0 },
	{ "CANCEL of the only one, DRAIN, owner gone: ng is raised, FAA(-W)",
	  LH(DRAIN, OWNERS_ASKED, Q(1)), 1,
	  EV(MSG, .state = W_SET, .token = 20,
	     .msg = { .type = TALLY_LM_CANCEL }),
	  LH(CLRW, .ng = 20),
	  2, { SEND(1, CANCELLED), CLRW(0) } },
	{ "CANCEL, answered already: nothing",
	  LH(FAST), 1, RECV(CANCEL, 0), LH(FAST), 0 },
	{ "a message only a client receives: violation",
	  LH(FAST), 1, RECV(GRANT, 0, MX, .gen = 1), LH(FAST),
	  1, { VIOLATION(1) } },

	/* ---- grace ---- */
	{ "grace: ENQUEUE waits",
	  LH(MAN, .grace = true), 1, RECV(ENQUEUE, W_SET, MX),
	  LH(MAN, .grace = true, Q(1)), 0 },
	{ "grace: try is DENIED",
	  LH(MAN, .grace = true), 1, RECV(ENQUEUE, W_SET, MX, TRY),
	  LH(MAN, .grace = true),
	  1, { SEND(1, DENIED) } },
	{ "grace: W stays while nobody waits",
	  LH(MAN, .grace = true), 1, RECV(LOOK, W_SET),
	  LH(MAN, .grace = true), 0 },
	{ "grace over, somebody waits: GRANT",
	  LH(MAN, .grace = true, Q(1)), 0, EV(GRACE_OVER, .state = W_SET),
	  LH(MAN, CUR(1, 1)),
	  1, { GRANT(1, 1) } },
	{ "grace over, nobody waits: FAA(-W)",
	  LH(MAN, .grace = true), 0, EV(GRACE_OVER, .state = W_SET), LH(CLRW),
	  1, { CLRW(0) } },
	{ "grace over, cpu arena: stays managed",
	  LH(MAN, .grace = true, .cpu = true), 0, EV(GRACE_OVER),
	  LH(MAN, .cpu = true), 0 },

	/* ---- loopback QP replaced ---- */
	{ "loop reset, FAA(+W) done: the word now is the value",
	  LH(SETW, Q(1)), 0, EV(LOOP_RESET, .state = 3 | W_SET),
	  LH(DRAIN, FAST_IS(4), .fast_asked = 4, Q(1)),
	  1, { REVOKE(3, 0) } },
	{ "loop reset, FAA(+W) not done: again",
	  LH(SETW, Q(1)), 0, EV(LOOP_RESET, .state = 3), LH(SETW, Q(1)),
	  1, { SETW } },
	{ "loop reset, FAA(-W) done: FAST",
	  LH(CLRW, .ng = 7), 0, EV(LOOP_RESET, .token = 7),
	  LH(FAST, .ng = 7), 0 },
	{ "loop reset, FAA(-W) not done, token raised: only FAA(-W)",
	  LH(CLRW, .ng = 7), 0, EV(LOOP_RESET, .state = W_SET, .token = 7),
	  LH(CLRW, .ng = 7),
	  1, { CLRW(0) } },
	{ "loop reset, sweep not done: again",
	  LH(FAST, .sweep = 3), 0, EV(LOOP_RESET, .state = 3),
	  LH(FAST, .sweep = 3),
	  1, { SWEEP(3, 3) } },
	{ "loop reset, sweep done: over",
	  LH(FAST, .sweep = 3), 0, EV(LOOP_RESET, .state = 2), LH(FAST), 0 },
	{ "loop reset, sweep done, one waits: its turn",
	  LH(FAST, .sweep = 3, .sweep_next = 2), 0, EV(LOOP_RESET, .state = 2),
	  LH(FAST, .sweep = 2),
	  1, { SWEEP(2, 2) } },
	{ "loop reset, nothing in flight: nothing",
	  LH(MAN, CUR(1, 7)), 0, EV(LOOP_RESET, .state = W_SET),
	  LH(MAN, CUR(1, 7)), 0 },
	{ "unknown event: bug",
	  LH(FAST), 0, { .kind = 0xff }, LH(FAST), 0, {}, .bug = true },
};

#include "lock_home_break_cases.h"
#include "lock_home_tenure_cases.h"
#include "lock_home_answer_cases.h"

static inline bool lh_action_equal(const struct tally_lh_action *a,
				   const struct tally_lh_action *b)
{
	const struct tally_lmsg *m = &a->msg;
	const struct tally_lmsg *n = &b->msg;

	return a->kind == b->kind && a->slot == b->slot &&
	       a->delta == b->delta && m->type == n->type &&
	       m->mode == n->mode && m->flags == n->flags &&
	       m->gen == n->gen && m->last == n->last;
}

/* What a lock is born as. */
struct lh_birth {
	const char *name;
	unsigned int flags;
	u64 state;
	struct lh_picture lh;
};

static const struct lh_birth lh_births[] = {
	{ "born fast", 0, 0, LH(FAST, .ng = 9) },
	{ "born in grace: W is set", TALLY_LH_GRACE, W_SET,
	  LH(MAN, .grace = true, .ng = 9) },
	{ "born in a cpu arena: no word", TALLY_LH_CPU, 0,
	  LH(MAN, .cpu = true, .ng = 9) },
	{ "born in grace in a cpu arena: no word",
	  TALLY_LH_CPU | TALLY_LH_GRACE, 0,
	  LH(MAN, .cpu = true, .grace = true, .ng = 9) },
};

static inline const char *lh_birth_run(const struct lh_birth *c)
{
	struct tally_lh_node node[LH_NODES] = {};
	struct lh_picture born;
	struct tally_lh lh;
	u64 state;
	int k;

	for (k = 0; k < LH_NODES; k++)
		tally_lh_node_init(&node[k], k + 1, 0, true);
	state = tally_lh_init(&lh, c->flags, 9);
	if (state != c->state)
		return "word";
	lh_draw(&lh, node, &born);
	return lh_picture_equal(&born, &c->lh) ? NULL : "state";
}

/* Runs one case; returns what differs, or NULL. */
static inline const char *lh_case_run(const struct lh_case *c)
{
	struct tally_lh_node node[LH_NODES];
	struct tally_lh_event ev = c->ev;
	struct tally_lh_actions out;
	struct lh_picture after;
	struct tally_lh lh;
	int k;

	lh_build(&c->from, &lh, node);
	ev.node = c->node ? &node[c->node - 1] : NULL;
	tally_lh_step(&lh, &ev, &out);
	if (out.bug != c->bug)
		return "bug flag";
	if (out.n != c->n)
		return "number of actions";
	for (k = 0; k < out.n; k++)
		if (!lh_action_equal(&out.a[k], &c->act[k]))
			return "action";
	if (out.more)
		return "room";
	if (!lh_queue_sound(&lh, node))
		return "queue";
	lh_draw(&lh, node, &after);
	return lh_picture_equal(&after, &c->to) ? NULL : "state";
}

#undef W_SET
#undef LH
#undef Q
#undef CUR
#undef CUR_S
#undef DOWN
#undef ASKED
#undef OWNERS_ASKED
#undef FAST_IS
#undef SUC
#undef SHARED
#undef QS
#undef QT
#undef BIT_OF
#undef SWEEP
#undef EV
#undef RECV
#undef FORGED
#undef MX
#undef MS
#undef FORCED
#undef HELD_S
#undef UPG
#undef ASKED_IDLE
#undef GRANT_S
#undef SUCC
#undef NEXT_IS_1
#undef NEXT_IS_2
#undef NEXT_IS_3
#undef IDLE_ONLY
#undef FORCE
#undef TRY
#undef CANC
#undef A
#undef SEND
#undef GRANT
#undef REVOKE
#undef REVOKE_S
#undef SETW
#undef CLRW
#undef VIOLATION

#endif
