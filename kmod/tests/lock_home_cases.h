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
#define DOWN(_n) .down = 1 << (_n)

#define EV(_kind, ...) { .kind = TALLY_LHE_##_kind, ##__VA_ARGS__ }
#define RECV(_type, _state, ...) \
	EV(MSG, .state = (_state), \
	   .msg = { .type = TALLY_LM_##_type, ##__VA_ARGS__ })
#define MX	.mode = TALLY_LMODE_X
#define TRY	.flags = TALLY_LMF_TRY
#define CANC	.flags = TALLY_LMF_CANC

#define A(_kind, ...) { .kind = TALLY_LHA_##_kind, ##__VA_ARGS__ }
#define SEND(_n, _type, ...) \
	A(SEND, .slot = (_n), .msg = { .type = TALLY_LM_##_type, ##__VA_ARGS__ })
#define GRANT(_n, _g) SEND(_n, GRANT, MX, .gen = (_g))
#define REVOKE(_n, _g) SEND(_n, REVOKE, .gen = (_g))
#define SETW	A(POST_SETW)
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
	  LH(DRAIN, Q(1)), 2, RECV(ENQUEUE, 3 | W_SET, MX),
	  LH(DRAIN, Q(1, 2)), 0 },
	{ "ENQUEUE, CLRW: queue",
	  LH(CLRW), 2, RECV(ENQUEUE, W_SET, MX), LH(CLRW, Q(2)), 0 },
	{ "ENQUEUE, MAN, held: queue, the holder is recalled",
	  LH(MAN, CUR(1, 7)), 2, RECV(ENQUEUE, W_SET, MX),
	  LH(MAN, CUR(1, 7), Q(2), .revoked = true),
	  1, { REVOKE(1, 7) } },
	{ "ENQUEUE, MAN, held and recalled: queue",
	  LH(MAN, CUR(1, 7), Q(2), .revoked = true), 3,
	  RECV(ENQUEUE, W_SET, MX),
	  LH(MAN, CUR(1, 7), Q(2, 3), .revoked = true), 0 },
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
	{ "try, FAST: DENIED",
	  LH(FAST), 1, RECV(ENQUEUE, 2, MX, TRY), LH(FAST),
	  1, { SEND(1, DENIED) } },
	{ "try, DRAIN: DENIED",
	  LH(DRAIN, Q(1)), 2, RECV(ENQUEUE, 3 | W_SET, MX, TRY),
	  LH(DRAIN, Q(1)),
	  1, { SEND(2, DENIED) } },
	{ "try, MAN, held: DENIED",
	  LH(MAN, CUR(1, 7)), 2, RECV(ENQUEUE, W_SET, MX, TRY),
	  LH(MAN, CUR(1, 7)),
	  1, { SEND(2, DENIED) } },
	{ "try, cpu arena, free: GRANT",
	  LH(MAN, .cpu = true, .ng = 6), 1, RECV(ENQUEUE, 0, MX, TRY),
	  LH(MAN, .cpu = true, CUR(1, 7)),
	  1, { GRANT(1, 7) } },

	/* ---- FAA(+W) ---- */
	{ "FAA(+W), owner: REVOKE(0), DRAIN",
	  LH(SETW, Q(1)), 0, EV(SETW_DONE, .old = 3, .state = 3 | W_SET),
	  LH(DRAIN, Q(1)),
	  1, { REVOKE(3, 0) } },
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
	{ "FAA(+W), free, two wait: GRANT and recall",
	  LH(SETW, Q(2, 1)), 0, EV(SETW_DONE, .state = W_SET),
	  LH(MAN, CUR(2, 1), Q(1), .revoked = true),
	  2, { GRANT(2, 1), REVOKE(2, 1) } },
	{ "FAA(+W), the owner left meanwhile: REVOKE is stale, GRANT",
	  LH(SETW, Q(1)), 0, EV(SETW_DONE, .old = 3, .state = W_SET),
	  LH(MAN, CUR(1, 1)),
	  2, { REVOKE(3, 0), GRANT(1, 1) } },
	{ "FAA(+W), queue empty by now: FAA(-W)",
	  LH(SETW), 0, EV(SETW_DONE, .state = W_SET), LH(CLRW),
	  1, { CLRW(0) } },
	{ "FAA(+W), queue empty, fast owner: it is left alone",
	  LH(SETW), 0, EV(SETW_DONE, .old = 3, .state = 3 | W_SET), LH(CLRW),
	  2, { REVOKE(3, 0), CLRW(0) } },
	{ "FAA(+W) finds W: word bad, queue forgotten",
	  LH(SETW, Q(1, 2)), 0, EV(SETW_DONE, .old = W_SET, .state = W_SET),
	  LH(BAD),
	  1, { A(WORD_BAD) } },
	{ "FAA(+W) not posted: bug",
	  LH(FAST), 0, EV(SETW_DONE), LH(FAST), 0, {}, .bug = true },

	/* ---- LOOK ---- */
	{ "LOOK, DRAIN, owner gone: GRANT",
	  LH(DRAIN, Q(1)), 3, RECV(LOOK, W_SET), LH(MAN, CUR(1, 1)),
	  1, { GRANT(1, 1) } },
	{ "LOOK, DRAIN, owner there: nothing",
	  LH(DRAIN, Q(1)), 3, RECV(LOOK, 2 | W_SET), LH(DRAIN, Q(1)), 0 },
	{ "LOOK, FAST: nothing",
	  LH(FAST), 3, RECV(LOOK, 0), LH(FAST), 0 },

	/* ---- REL ---- */
	{ "REL, queue: GRANT to the head",
	  LH(MAN, CUR(1, 7), Q(2), .revoked = true), 1,
	  RECV(REL, W_SET, .gen = 7),
	  LH(MAN, CUR(2, 8)),
	  1, { GRANT(2, 8) } },
	{ "REL, more wait: GRANT and recall",
	  LH(MAN, CUR(1, 7), Q(2, 3), .revoked = true), 1,
	  RECV(REL, W_SET, .gen = 7),
	  LH(MAN, CUR(2, 8), Q(3), .revoked = true),
	  2, { GRANT(2, 8), REVOKE(2, 8) } },
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
	  LH(MAN, CUR(1, 7), Q(2), .revoked = true), 1,
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
	  LH(DRAIN, Q(1, 2, 3)), 2, RECV(CANCEL, 4 | W_SET),
	  LH(DRAIN, Q(1, 3)),
	  1, { SEND(2, CANCELLED) } },
	{ "CANCEL, at the tail",
	  LH(DRAIN, Q(1, 2)), 2, RECV(CANCEL, 4 | W_SET), LH(DRAIN, Q(1)),
	  1, { SEND(2, CANCELLED) } },
	{ "CANCEL of the only one, DRAIN: FAA(-W)",
	  LH(DRAIN, Q(1)), 1, RECV(CANCEL, 4 | W_SET), LH(CLRW),
	  2, { SEND(1, CANCELLED), CLRW(0) } },
	{ "CANCEL, granted meanwhile: nothing",
	  LH(MAN, CUR(1, 7)), 1, RECV(CANCEL, W_SET), LH(MAN, CUR(1, 7)), 0 },
	{ "CANCEL of the only one, DRAIN, owner gone: ng is raised, FAA(-W)",
	  LH(DRAIN, Q(1)), 1,
	  EV(MSG, .state = W_SET, .token = 20,
	     .msg = { .type = TALLY_LM_CANCEL }),
	  LH(CLRW, .ng = 20),
	  2, { SEND(1, CANCELLED), CLRW(0) } },
	{ "CANCEL, answered already: nothing",
	  LH(FAST), 1, RECV(CANCEL, 0), LH(FAST), 0 },
	{ "a message only a client receives: violation",
	  LH(FAST), 1, RECV(GRANT, 0, MX, .gen = 1), LH(FAST),
	  1, { VIOLATION(1) } },

	/* ---- break and resume ---- */
	{ "link down: records stay",
	  LH(MAN, CUR(1, 7), Q(2), .revoked = true), 1,
	  EV(LINK_DOWN, .state = W_SET),
	  LH(MAN, CUR(1, 7), Q(2), .revoked = true, DOWN(1)), 0 },
	{ "a grant that falls due in the break: recorded, not sent",
	  LH(MAN, CUR(1, 7), Q(2), .revoked = true, DOWN(2)), 1,
	  RECV(REL, W_SET, .gen = 7), LH(MAN, CUR(2, 8), DOWN(2)), 0 },
	{ "a recall that falls due in the break: recorded, not sent",
	  LH(MAN, CUR(1, 7), DOWN(1)), 2, RECV(ENQUEUE, W_SET, MX),
	  LH(MAN, CUR(1, 7), Q(2), .revoked = true, DOWN(1)), 0 },
	{ "RESYNC, holds cur.gen, recalled: SYNCED, REVOKE again",
	  LH(MAN, CUR(1, 7), Q(2), .revoked = true, DOWN(1)), 1,
	  RECV(RESYNC, W_SET, .gen = 7, .last = 7),
	  LH(MAN, CUR(1, 7), Q(2), .revoked = true),
	  2, { SEND(1, SYNCED), REVOKE(1, 7) } },
	{ "RESYNC, holds cur.gen: SYNCED",
	  LH(MAN, CUR(1, 7), DOWN(1)), 1,
	  RECV(RESYNC, W_SET, .gen = 7, .last = 7), LH(MAN, CUR(1, 7)),
	  1, { SEND(1, SYNCED) } },
	{ "RESYNC, GRANT was lost: SYNCED, GRANT, REVOKE again",
	  LH(MAN, CUR(1, 7), Q(2), .revoked = true, DOWN(1)), 1,
	  RECV(RESYNC, W_SET, MX, .last = 6),
	  LH(MAN, CUR(1, 7), Q(2), .revoked = true),
	  3, { SEND(1, SYNCED), GRANT(1, 7), REVOKE(1, 7) } },
	{ "RESYNC, REL was lost, then the request: settled in this order",
	  LH(MAN, CUR(1, 7), Q(2), .revoked = true, DOWN(1)), 1,
	  RECV(RESYNC, W_SET, MX, .last = 7),
	  LH(MAN, CUR(2, 8), Q(1), .revoked = true),
	  3, { SEND(1, SYNCED), GRANT(2, 8), REVOKE(2, 8) } },
	{ "RESYNC, waits in the queue: SYNCED",
	  LH(DRAIN, Q(1), DOWN(1)), 1, RECV(RESYNC, 3 | W_SET, MX),
	  LH(DRAIN, Q(1)),
	  1, { SEND(1, SYNCED) } },
	{ "RESYNC, waits in the queue, CANCEL was lost: CANCELLED",
	  LH(DRAIN, Q(1, 2), DOWN(1)), 1,
	  RECV(RESYNC, 3 | W_SET, MX, CANC), LH(DRAIN, Q(2)),
	  2, { SEND(1, SYNCED), SEND(1, CANCELLED) } },
	{ "RESYNC, ENQUEUE was lost: queue",
	  LH(FAST, DOWN(1)), 1, RECV(RESYNC, 3, MX), LH(SETW, Q(1)),
	  2, { SEND(1, SYNCED), SETW } },
	{ "RESYNC, ENQUEUE of a try was lost: DENIED",
	  LH(FAST, DOWN(1)), 1, RECV(RESYNC, 3, MX, TRY), LH(FAST),
	  2, { SEND(1, SYNCED), SEND(1, DENIED) } },
	{ "RESYNC, CANCELLED was lost: CANCELLED again",
	  LH(FAST, DOWN(1)), 1, RECV(RESYNC, 3, MX, CANC), LH(FAST),
	  2, { SEND(1, SYNCED), SEND(1, CANCELLED) } },
	{ "RESYNC, cancelled but granted: GRANT again",
	  LH(MAN, CUR(1, 7), DOWN(1)), 1, RECV(RESYNC, W_SET, MX, CANC),
	  LH(MAN, CUR(1, 7)),
	  2, { SEND(1, SYNCED), GRANT(1, 7) } },
	{ "RESYNC, no break: violation",
	  LH(MAN, CUR(1, 7)), 1, RECV(RESYNC, W_SET, .gen = 7, .last = 7),
	  LH(MAN, CUR(1, 7)),
	  1, { VIOLATION(1) } },
	{ "RESYNC, holds what it was not given: violation",
	  LH(MAN, CUR(1, 7), DOWN(2)), 2,
	  RECV(RESYNC, W_SET, .gen = 7, .last = 7),
	  LH(MAN, CUR(1, 7), DOWN(2)),
	  1, { VIOLATION(2) } },
	{ "RESYNC, holds and waits: violation",
	  LH(MAN, CUR(1, 7), DOWN(1)), 1,
	  RECV(RESYNC, W_SET, MX, .gen = 7, .last = 7),
	  LH(MAN, CUR(1, 7), DOWN(1)),
	  1, { VIOLATION(1) } },
	{ "RESYNC without the request that is queued: violation",
	  LH(DRAIN, Q(1), DOWN(1)), 1, RECV(RESYNC, 3 | W_SET, .last = 2),
	  LH(DRAIN, Q(1), DOWN(1)),
	  1, { VIOLATION(1) } },
	{ "first message is another one: nothing was listed, REL",
	  LH(MAN, CUR(1, 7), Q(2), .revoked = true, DOWN(1)), 1,
	  RECV(LOOK, W_SET), LH(MAN, CUR(2, 8)),
	  1, { GRANT(2, 8) } },
	{ "first message is ENQUEUE: the old tenure first",
	  LH(MAN, .cpu = true, CUR(1, 7), DOWN(1)), 1, RECV(ENQUEUE, 0, MX),
	  LH(MAN, .cpu = true, CUR(1, 8)),
	  1, { GRANT(1, 8) } },
	{ "RESYNC_END, not listed: REL",
	  LH(MAN, .cpu = true, CUR(1, 7), DOWN(1)), 1,
	  EV(RESYNC_END, .slot = 1), LH(MAN, .cpu = true, .ng = 7), 0 },
	{ "RESYNC_END, listed before: nothing",
	  LH(MAN, CUR(1, 7)), 1, EV(RESYNC_END, .slot = 1, .state = W_SET),
	  LH(MAN, CUR(1, 7)), 0 },
	{ "RESYNC_END, fast owner in DRAIN: REVOKE(0) again",
	  LH(DRAIN, Q(1)), 0, EV(RESYNC_END, .slot = 3, .state = 3 | W_SET),
	  LH(DRAIN, Q(1)),
	  1, { REVOKE(3, 0) } },
	{ "RESYNC_END, not the owner in DRAIN: nothing",
	  LH(DRAIN, Q(1)), 0, EV(RESYNC_END, .slot = 2, .state = 3 | W_SET),
	  LH(DRAIN, Q(1)), 0 },

	/* ---- session end ---- */
	{ "session end, holder: next one granted, value not valid",
	  LH(MAN, CUR(1, 7), Q(2), .revoked = true, DOWN(1)), 1,
	  EV(SESSION_END, .slot = 1, .state = W_SET),
	  LH(MAN, CUR(2, 8), DOWN(1)),
	  2, { A(VALUE_BAD), GRANT(2, 8) } },
	{ "session end, waiter: out of the queue",
	  LH(DRAIN, Q(1, 2), DOWN(1)), 1,
	  EV(SESSION_END, .slot = 1, .state = 3 | W_SET),
	  LH(DRAIN, Q(2), DOWN(1)), 0 },
	{ "session end, last waiter in DRAIN: FAA(-W)",
	  LH(DRAIN, Q(1), DOWN(1)), 1,
	  EV(SESSION_END, .slot = 1, .state = 3 | W_SET),
	  LH(CLRW, DOWN(1)),
	  1, { CLRW(0) } },
	{ "session end, waiter behind a holder: the holder stays",
	  LH(MAN, CUR(2, 7), Q(1), .revoked = true, DOWN(1)), 1,
	  EV(SESSION_END, .slot = 1, .state = W_SET),
	  LH(MAN, CUR(2, 7), .revoked = true, DOWN(1)), 0 },
	{ "session end, fast owner, FAST: value first, then the sweep",
	  LH(FAST), 0, EV(SESSION_END, .slot = 3, .state = 3),
	  LH(FAST, .sweep = 3),
	  2, { A(VALUE_BAD), A(POST_SWEEP, .slot = 3) } },
	{ "session end, fast owner, DRAIN: sweep, nobody granted yet",
	  LH(DRAIN, Q(1)), 0, EV(SESSION_END, .slot = 3, .state = 3 | W_SET),
	  LH(DRAIN, Q(1), .sweep = 3),
	  2, { A(VALUE_BAD), A(POST_SWEEP, .slot = 3) } },
	{ "session end, nothing here: nothing",
	  LH(FAST), 0, EV(SESSION_END, .slot = 3, .state = 2), LH(FAST), 0 },
	{ "sweep done, DRAIN: GRANT",
	  LH(DRAIN, Q(1), .sweep = 3), 0,
	  EV(SWEEP_DONE, .slot = 3, .old = 3 | W_SET, .state = W_SET),
	  LH(MAN, CUR(1, 1)),
	  1, { GRANT(1, 1) } },
	{ "sweep of something else: word bad",
	  LH(MAN, CUR(1, 7), .ng = 7, .sweep = 3, .sweep_next = 2), 0,
	  EV(SWEEP_DONE, .slot = 3, .old = 2 | W_SET, .state = W_SET),
	  LH(BAD, .ng = 7),
	  1, { A(WORD_BAD) } },
	{ "session end twice: one sweep",
	  LH(FAST, .sweep = 3), 0, EV(SESSION_END, .slot = 3, .state = 3),
	  LH(FAST, .sweep = 3),
	  1, { A(VALUE_BAD) } },
	{ "session end, the last sweep has not completed: this one waits",
	  LH(FAST, .sweep = 3), 0, EV(SESSION_END, .slot = 2, .state = 2),
	  LH(FAST, .sweep = 3, .sweep_next = 2),
	  1, { A(VALUE_BAD) } },
	{ "sweep done, one waits: its turn",
	  LH(FAST, .sweep = 3, .sweep_next = 2), 0,
	  EV(SWEEP_DONE, .slot = 3, .old = 3, .state = 2),
	  LH(FAST, .sweep = 2),
	  1, { A(POST_SWEEP, .slot = 2) } },
	{ "sweep done that was not posted: bug",
	  LH(FAST, .sweep = 3), 0,
	  EV(SWEEP_DONE, .slot = 2, .old = 2, .state = 3),
	  LH(FAST, .sweep = 3), 0, {}, .bug = true },
	{ "word bad: the table has stopped",
	  LH(BAD), 2, RECV(ENQUEUE, 0, MX), LH(BAD), 0 },

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
	  LH(DRAIN, Q(1)),
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
	  1, { A(POST_SWEEP, .slot = 3) } },
	{ "loop reset, sweep done: over",
	  LH(FAST, .sweep = 3), 0, EV(LOOP_RESET, .state = 2), LH(FAST), 0 },
	{ "loop reset, sweep done, one waits: its turn",
	  LH(FAST, .sweep = 3, .sweep_next = 2), 0, EV(LOOP_RESET, .state = 2),
	  LH(FAST, .sweep = 2),
	  1, { A(POST_SWEEP, .slot = 2) } },
	{ "loop reset, nothing in flight: nothing",
	  LH(MAN, CUR(1, 7)), 0, EV(LOOP_RESET, .state = W_SET),
	  LH(MAN, CUR(1, 7)), 0 },
	{ "unknown event: bug",
	  LH(FAST), 0, { .kind = 0xff }, LH(FAST), 0, {}, .bug = true },
};

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
		tally_lh_node_init(&node[k], k + 1, true);
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
	if (!lh_queue_sound(&lh, node))
		return "queue";
	lh_draw(&lh, node, &after);
	return lh_picture_equal(&after, &c->to) ? NULL : "state";
}

#undef W_SET
#undef LH
#undef Q
#undef CUR
#undef DOWN
#undef EV
#undef RECV
#undef MX
#undef TRY
#undef CANC
#undef A
#undef SEND
#undef GRANT
#undef REVOKE
#undef SETW
#undef CLRW
#undef VIOLATION

#endif
