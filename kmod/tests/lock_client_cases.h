/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The client table row by row: (state, event) -> (state, actions).  The numbers
 * are the sections of the protocol: 4 fast mode, 5 managed mode, 8 break and
 * resume.
 */
#ifndef TALLY_LOCK_CLIENT_CASES_H
#define TALLY_LOCK_CLIENT_CASES_H

#include <linux/errno.h>

#include "lock/fsm_client.h"

struct lc_case {
	const char *name;
	struct tally_lc from;
	struct tally_lc_event ev;
	struct tally_lc to;
	u8 n;
	struct tally_lc_action act[3];
	bool bug;
};

#define OWN	3ULL		/* this node's slot, as owner */
#define OTHER	5ULL
#define OWN_BIT	(1ULL << (TALLY_LW_BIT_SHIFT + 2))
#define OTHER_BIT (1ULL << (TALLY_LW_BIT_SHIFT + 4))
#define W_SET	TALLY_LW_W

#define LC(_st, ...) { .st = TALLY_LC_##_st, .slot = OWN, ##__VA_ARGS__ }
#define UPW	.up = true, .word = true
#define DOWNW	.word = true
#define MX	.mode = TALLY_LMODE_X
#define WANTED	.want = true, .want_mode = TALLY_LMODE_X
#define WANTED_S .want = true, .want_mode = TALLY_LMODE_S
#define IN	.users = 1, .inside = TALLY_LMODE_X
#define IN_S(_n) .users = (_n), .inside = TALLY_LMODE_S
#define MS	.mode = TALLY_LMODE_S
#define CLAIM(_c) .claim = TALLY_LC_CLAIM_##_c
#define SUCC9	.succ = { .gen = 9, .session = 55, .slot = OTHER }
#define OPER(_op) .op = TALLY_LC_OP_##_op
#define DOUBT(_op) .doubt = TALLY_LC_OP_##_op
#define FAST(_c) MX, .fast = true, .tenure = (_c)
#define MANAGED7 MX, .gen = 7, .tenure = 7, .last = 7
#define FAST_S(_c) MS, .fast = true, .tenure = (_c)
#define MANAGED7_S MS, .gen = 7, .tenure = 7, .last = 7

#define EV(_kind, ...) { .kind = TALLY_LCE_##_kind, ##__VA_ARGS__ }
/* Not by way of EV() and OPER(): the kernel has a macro READ. */
#define DONE(_op, ...) { \
	.kind = TALLY_LCE_OP_DONE, .op = TALLY_LC_OP_##_op, ##__VA_ARGS__ }
#define BROKEN(_op) { \
	.kind = TALLY_LCE_OP_DONE, .op = TALLY_LC_OP_##_op, .broken = true }
#define RECV(_type, ...) \
	EV(MSG, .msg = { .type = TALLY_LM_##_type, ##__VA_ARGS__ })

#define A(_kind, ...) { .kind = TALLY_LCA_##_kind, ##__VA_ARGS__ }
#define CAS_X	A(POST_CAS_FAA, .value = OWN)
#define FAA(_v)	A(POST_FAA, .value = (_v))
#define SEND(_type, ...) \
	A(SEND, .msg = { .type = TALLY_LM_##_type, ##__VA_ARGS__ })
#define NEXT_IS	.next_slot = OTHER, .next_session = 55, .next_gen = 9
#define SUCC(_g) \
	EV(MSG, .linked = true, \
	   .msg = { .type = TALLY_LM_SUCC, .gen = (_g), NEXT_IS })
#define SUCC_NO_LINK(_g) RECV(SUCC, .gen = (_g), NEXT_IS)
#define HAND9	A(HANDOVER, .msg = { .type = TALLY_LM_HANDOVER, NEXT_IS })
#define IDLE_ONLY(_g) \
	RECV(REVOKE, .gen = (_g), .flags = TALLY_LMF_IDLE_ONLY)
#define FORCE(_g) RECV(REVOKE, .gen = (_g), .flags = TALLY_LMF_FORCE)
#define GRANTED(_c, _k) A(GRANTED, .token = (_c) << 8 | (_k))
#define FAILED(_err) A(FAILED, .err = -(_err))

static const struct lc_case lc_cases[] = {
	/* ---- 4: attempts ---- */
	{ "want, IDLE: CAS and FAA",
	  LC(IDLE, UPW), EV(WANT, MX),
	  LC(ATT, UPW, MX, OPER(ACQ_X), WANTED),
	  1, { CAS_X } },
	{ "want, IDLE, W seen lately: ENQUEUE",
	  LC(IDLE, UPW), EV(WANT, MX, .direct = true),
	  LC(WAIT, UPW, MX, WANTED, .want_direct = true),
	  1, { SEND(ENQUEUE, MX) } },
	{ "try, IDLE, W seen lately: the word all the same",
	  LC(IDLE, UPW), EV(WANT, MX, .direct = true, .try = true),
	  LC(ATT, UPW, MX, OPER(ACQ_X), WANTED, .want_try = true,
	     .want_direct = true),
	  1, { CAS_X } },
	{ "want, IDLE, no word: ENQUEUE",
	  LC(IDLE, .up = true), EV(WANT, MX),
	  LC(WAIT, .up = true, MX, WANTED),
	  1, { SEND(ENQUEUE, MX) } },
	{ "try, IDLE, no word: ENQUEUE try",
	  LC(IDLE, .up = true), EV(WANT, MX, .try = true),
	  LC(WAIT, .up = true, MX, WANTED, .want_try = true, .try = true),
	  1, { SEND(ENQUEUE, MX, .flags = TALLY_LMF_TRY) } },
	{ "want, IDLE, link down: waits",
	  LC(IDLE, DOWNW), EV(WANT, MX), LC(IDLE, DOWNW, WANTED), 0 },
	{ "try, IDLE, link down: no",
	  LC(IDLE, DOWNW), EV(WANT, MX, .try = true),
	  LC(IDLE, DOWNW, .want_try = true),
	  1, { FAILED(ENOTCONN) } },
	{ "completion, old = 0: HOLD fast, token is old token + 1",
	  LC(ATT, UPW, MX, OPER(ACQ_X), WANTED), DONE(ACQ_X, .token = 41),
	  LC(HOLD, IN, UPW, FAST(42)),
	  1, { GRANTED(42, 0) } },
	{ "completion, old = 0, recalled in flight: RECALL follows",
	  LC(ATT, UPW, MX, OPER(ACQ_X), WANTED, .rv = true),
	  DONE(ACQ_X, .token = 41),
	  LC(HOLD, IN, UPW, FAST(42), .rv = true),
	  2, { GRANTED(42, 0), A(RECALL) } },
	{ "completion, old = 0, nobody wants it: release",
	  LC(ATT, UPW, MX, OPER(ACQ_X)), DONE(ACQ_X, .token = 41),
	  LC(RELF, UPW, FAST(42), OPER(REL)),
	  1, { FAA(-OWN) } },
	{ "completion, failed: ENQUEUE, rv clear",
	  LC(ATT, UPW, MX, OPER(ACQ_X), WANTED, .rv = true),
	  DONE(ACQ_X, .state = OTHER),
	  LC(WAIT, UPW, MX, WANTED),
	  1, { SEND(ENQUEUE, MX) } },
	{ "completion, failed by a reader bit: ENQUEUE",
	  LC(ATT, UPW, MX, OPER(ACQ_X), WANTED),
	  DONE(ACQ_X, .state = 1ULL << TALLY_LW_BIT_SHIFT),
	  LC(WAIT, UPW, MX, WANTED),
	  1, { SEND(ENQUEUE, MX) } },
	{ "completion, failed by a reader bit, try: the home knows if it is a hold",
	  LC(ATT, UPW, MX, OPER(ACQ_X), WANTED, .want_try = true),
	  DONE(ACQ_X, .state = 1ULL << TALLY_LW_BIT_SHIFT),
	  LC(WAIT, UPW, MX, WANTED, .want_try = true, .try = true),
	  1, { SEND(ENQUEUE, MX, .flags = TALLY_LMF_TRY) } },
	{ "completion, failed, try, W = 0: -EBUSY",
	  LC(ATT, UPW, MX, OPER(ACQ_X), WANTED, .want_try = true),
	  DONE(ACQ_X, .state = OTHER),
	  LC(IDLE, UPW, .want_try = true),
	  2, { FAILED(EBUSY), A(RELEASED) } },
	{ "completion, failed, try, W = 1: ENQUEUE try",
	  LC(ATT, UPW, MX, OPER(ACQ_X), WANTED, .want_try = true),
	  DONE(ACQ_X, .state = W_SET),
	  LC(WAIT, UPW, MX, WANTED, .want_try = true, .try = true),
	  1, { SEND(ENQUEUE, MX, .flags = TALLY_LMF_TRY) } },
	{ "completion, failed, nobody wants it: IDLE",
	  LC(ATT, UPW, MX, OPER(ACQ_X), .rv = true), DONE(ACQ_X, .state = OTHER),
	  LC(IDLE, UPW),
	  1, { A(RELEASED) } },
	{ "completion, failed, link down: WAIT, RESYNC will tell",
	  LC(ATT, DOWNW, MX, OPER(ACQ_X), WANTED), DONE(ACQ_X, .state = OTHER),
	  LC(WAIT, DOWNW, MX, WANTED), 0 },
	{ "completion, failed, the owner is this node: word bad",
	  LC(ATT, UPW, MX, OPER(ACQ_X), WANTED), DONE(ACQ_X, .state = OWN),
	  LC(DEAD, UPW, .err = -EIO),
	  2, { A(WORD_BAD), FAILED(EIO) } },
	{ "completion of something else: bug",
	  LC(ATT, UPW, MX, OPER(ACQ_X), WANTED), DONE(REL),
	  LC(ATT, UPW, MX, OPER(ACQ_X), WANTED), 0, {}, .bug = true },
	{ "completion of nothing: bug",
	  LC(IDLE, UPW), DONE(NONE), LC(IDLE, UPW), 0, {}, .bug = true },
	{ "want, HOLD X: waits for the user inside",
	  LC(HOLD, IN, UPW, FAST(42)), EV(WANT, MX),
	  LC(HOLD, IN, UPW, FAST(42), WANTED), 0 },
	{ "try, HOLD X: -EBUSY",
	  LC(HOLD, IN, UPW, FAST(42)), EV(WANT, MX, .try = true),
	  LC(HOLD, IN, UPW, FAST(42)),
	  1, { FAILED(EBUSY) } },
	{ "want, no mode: bug",
	  LC(IDLE, UPW), EV(WANT), LC(IDLE, UPW), 0, {}, .bug = true },
	{ "want twice: bug",
	  LC(ATT, UPW, MX, OPER(ACQ_X), WANTED), EV(WANT, MX),
	  LC(ATT, UPW, MX, OPER(ACQ_X), WANTED), 0, {}, .bug = true },

	/* ---- 4: recall of a fast tenure ---- */
	{ "REVOKE(0), ATT: remembered",
	  LC(ATT, UPW, MX, OPER(ACQ_X), WANTED), RECV(REVOKE),
	  LC(ATT, UPW, MX, OPER(ACQ_X), WANTED, .rv = true), 0 },
	{ "REVOKE(0), attempt in doubt: remembered",
	  LC(DBT, DOWNW, MX, DOUBT(ACQ_X), WANTED), RECV(REVOKE),
	  LC(DBT, DOWNW, MX, DOUBT(ACQ_X), WANTED, .rv = true), 0 },
	{ "REVOKE(0), fast HOLD: RECALL",
	  LC(HOLD, IN, UPW, FAST(42)), RECV(REVOKE),
	  LC(HOLD, IN, UPW, FAST(42), .rv = true),
	  1, { A(RECALL) } },
	{ "REVOKE(0), fast HOLD, again: nothing",
	  LC(HOLD, IN, UPW, FAST(42), .rv = true), RECV(REVOKE),
	  LC(HOLD, IN, UPW, FAST(42), .rv = true), 0 },
	{ "REVOKE(0), IDLE: ignored",
	  LC(IDLE, UPW), RECV(REVOKE), LC(IDLE, UPW), 0 },
	{ "REVOKE(0), WAIT: ignored",
	  LC(WAIT, UPW, MX, WANTED), RECV(REVOKE),
	  LC(WAIT, UPW, MX, WANTED), 0 },
	{ "REVOKE(0), RELF: ignored",
	  LC(RELF, UPW, FAST(42), OPER(REL)), RECV(REVOKE),
	  LC(RELF, UPW, FAST(42), OPER(REL)), 0 },
	{ "REVOKE(0), release in doubt: ignored",
	  LC(DBT, DOWNW, FAST(42), DOUBT(REL)), RECV(REVOKE),
	  LC(DBT, DOWNW, FAST(42), DOUBT(REL)), 0 },
	{ "REVOKE(0), managed HOLD: ignored",
	  LC(HOLD, IN, UPW, MANAGED7), RECV(REVOKE),
	  LC(HOLD, IN, UPW, MANAGED7), 0 },

	/* ---- 4: release ---- */
	{ "unlock, fast HOLD: FAA",
	  LC(HOLD, IN, UPW, FAST(42), .rv = true), EV(UNLOCK),
	  LC(RELF, UPW, FAST(42), OPER(REL)),
	  1, { FAA(-OWN) } },
	{ "unlock, fast HOLD, link down: in doubt",
	  LC(HOLD, IN, DOWNW, FAST(42)), EV(UNLOCK),
	  LC(DBT, DOWNW, FAST(42), DOUBT(REL)), 0 },
	{ "unlock, fast HOLD, recalled, link down: in doubt",
	  LC(HOLD, IN, DOWNW, FAST(42), .rv = true), EV(UNLOCK),
	  LC(DBT, DOWNW, FAST(42), DOUBT(REL)), 0 },
	{ "release done, W = 0: IDLE",
	  LC(RELF, UPW, FAST(42), OPER(REL)), DONE(REL, .state = OWN),
	  LC(IDLE, UPW),
	  1, { A(RELEASED) } },
	{ "release done, W = 1: LOOK",
	  LC(RELF, UPW, FAST(42), OPER(REL)), DONE(REL, .state = OWN | W_SET),
	  LC(IDLE, UPW),
	  2, { SEND(LOOK), A(RELEASED) } },
	{ "release done, somebody wants it: LOOK before the attempt",
	  LC(RELF, UPW, FAST(42), OPER(REL), WANTED),
	  DONE(REL, .state = OWN | W_SET),
	  LC(ATT, UPW, MX, OPER(ACQ_X), WANTED),
	  2, { SEND(LOOK), CAS_X } },
	{ "release done, the owner was not this node: word bad",
	  LC(RELF, UPW, FAST(42), OPER(REL)), DONE(REL, .state = OTHER),
	  LC(DEAD, UPW, .err = -EIO),
	  1, { A(WORD_BAD) } },
	{ "want, RELF: waits for the completion",
	  LC(RELF, UPW, FAST(42), OPER(REL)), EV(WANT, MX),
	  LC(RELF, UPW, FAST(42), OPER(REL), WANTED), 0 },
	{ "unlock, IDLE: bug",
	  LC(IDLE, UPW), EV(UNLOCK), LC(IDLE, UPW), 0, {}, .bug = true },
	{ "unlock, fast HOLD, another user waits: next sub-number",
	  LC(HOLD, IN, UPW, FAST(42), WANTED, .local = 1), EV(UNLOCK),
	  LC(HOLD, IN, UPW, FAST(42), .local = 2),
	  1, { GRANTED(42, 2) } },
	{ "unlock, fast HOLD, sub-numbers used up: a new number",
	  LC(HOLD, IN, UPW, FAST(42), WANTED, .local = 255), EV(UNLOCK),
	  LC(ATT, UPW, FAST(42), WANTED, .local = 255, OPER(TOKEN)),
	  1, { A(POST_TOKEN_FAA) } },
	{ "the new number has come",
	  LC(ATT, UPW, FAST(42), WANTED, .local = 255, OPER(TOKEN)),
	  DONE(TOKEN, .token = 50),
	  LC(HOLD, IN, UPW, FAST(51)),
	  1, { GRANTED(51, 0) } },
	{ "unlock, managed HOLD, sub-numbers used up: REL, new attempt",
	  LC(HOLD, IN, UPW, MANAGED7, WANTED, .local = 255), EV(UNLOCK),
	  LC(ATT, UPW, MX, OPER(ACQ_X), WANTED, .last = 7),
	  2, { SEND(REL, .gen = 7), CAS_X } },
	{ "unlock, recalled, no budget: the next user asks anew",
	  LC(HOLD, IN, UPW, FAST(42), WANTED, .rv = true), EV(UNLOCK),
	  LC(RELF, UPW, FAST(42), OPER(REL), WANTED),
	  1, { FAA(-OWN) } },
	{ "unlock, recalled, budget: the next user follows",
	  LC(HOLD, IN, UPW, FAST(42), WANTED, .rv = true, .budget = 1),
	  EV(UNLOCK),
	  LC(HOLD, IN, UPW, FAST(42), .rv = true, .budget = 1, .spent = 1,
	     .local = 1),
	  1, { GRANTED(42, 1) } },
	{ "unlock, recalled, budget used up: release",
	  LC(HOLD, IN, UPW, FAST(42), WANTED, .rv = true, .budget = 1,
	     .spent = 1),
	  EV(UNLOCK),
	  LC(RELF, UPW, FAST(42), OPER(REL), WANTED, .budget = 1, .spent = 1),
	  1, { FAA(-OWN) } },
	{ "unlock, recalled, the time is over: release",
	  LC(HOLD, IN, UPW, FAST(42), WANTED, .rv = true, .budget = 9),
	  EV(UNLOCK, .late = true),
	  LC(RELF, UPW, FAST(42), OPER(REL), WANTED, .budget = 9),
	  1, { FAA(-OWN) } },
	{ "unknown event: bug",
	  LC(IDLE, UPW), { .kind = 0xff }, LC(IDLE, UPW), 0, {}, .bug = true },

	/* ---- 5: grants ---- */
	{ "GRANT, WAIT: HOLD managed",
	  LC(WAIT, UPW, MX, WANTED, .last = 6), RECV(GRANT, MX, .gen = 7),
	  LC(HOLD, IN, UPW, MANAGED7),
	  1, { GRANTED(7, 0) } },
	{ "GRANT, WAIT, gen = last: dropped",
	  LC(WAIT, UPW, MX, WANTED, .last = 7), RECV(GRANT, MX, .gen = 7),
	  LC(WAIT, UPW, MX, WANTED, .last = 7), 0 },
	{ "GRANT, WAIT, try: HOLD managed",
	  LC(WAIT, UPW, MX, WANTED, .try = true), RECV(GRANT, MX, .gen = 7),
	  LC(HOLD, IN, UPW, MANAGED7),
	  1, { GRANTED(7, 0) } },
	{ "GRANT, IDLE: dropped",
	  LC(IDLE, UPW), RECV(GRANT, MX, .gen = 7), LC(IDLE, UPW), 0 },
	{ "GRANT, HOLD: dropped",
	  LC(HOLD, IN, UPW, MANAGED7), RECV(GRANT, MX, .gen = 8),
	  LC(HOLD, IN, UPW, MANAGED7), 0 },
	{ "GRANT, WAIT, cancelled: REL",
	  LC(WAIT, UPW, MX, .canc = true), RECV(GRANT, MX, .gen = 7),
	  LC(IDLE, UPW, .last = 7),
	  2, { SEND(REL, .gen = 7), A(RELEASED) } },
	{ "GRANT, WAIT, cancelled and adopted: HOLD",
	  LC(WAIT, UPW, MX, WANTED, .canc = true), RECV(GRANT, MX, .gen = 7),
	  LC(HOLD, IN, UPW, MANAGED7),
	  1, { GRANTED(7, 0) } },
	{ "GRANT, WAIT, another mode: violation",
	  LC(WAIT, UPW, MX, WANTED),
	  RECV(GRANT, .mode = TALLY_LMODE_S, .gen = 7),
	  LC(WAIT, UPW, MX, WANTED),
	  1, { A(VIOLATION) } },

	/* ---- 5: recall and release of a managed tenure ---- */
	{ "REVOKE(gen), managed, mine: RECALL",
	  LC(HOLD, IN, UPW, MANAGED7), RECV(REVOKE, .gen = 7),
	  LC(HOLD, IN, UPW, MANAGED7, .rv = true),
	  1, { A(RECALL) } },
	{ "REVOKE(gen), managed, stale: dropped",
	  LC(HOLD, IN, UPW, MANAGED7), RECV(REVOKE, .gen = 6),
	  LC(HOLD, IN, UPW, MANAGED7), 0 },
	{ "REVOKE(gen), fast HOLD: dropped",
	  LC(HOLD, IN, UPW, FAST(42), .last = 7), RECV(REVOKE, .gen = 7),
	  LC(HOLD, IN, UPW, FAST(42), .last = 7), 0 },
	{ "REVOKE(gen), ATT: dropped",
	  LC(ATT, UPW, MX, OPER(ACQ_X), WANTED, .last = 7),
	  RECV(REVOKE, .gen = 7),
	  LC(ATT, UPW, MX, OPER(ACQ_X), WANTED, .last = 7), 0 },
	{ "unlock, managed HOLD: REL",
	  LC(HOLD, IN, UPW, MANAGED7, .rv = true), EV(UNLOCK),
	  LC(IDLE, UPW, .last = 7),
	  2, { SEND(REL, .gen = 7), A(RELEASED) } },
	{ "unlock, managed HOLD, link down: RESYNC will tell",
	  LC(HOLD, IN, DOWNW, MANAGED7), EV(UNLOCK),
	  LC(IDLE, DOWNW, .last = 7),
	  1, { A(RELEASED) } },

	/* ---- 5: cancel, try ---- */
	{ "cancel, WAIT: CANCEL",
	  LC(WAIT, UPW, MX, WANTED), EV(CANCEL),
	  LC(WAIT, UPW, MX, .canc = true),
	  2, { A(CANCELLED), SEND(CANCEL) } },
	{ "cancel, WAIT, adopted request: CANCEL only once",
	  LC(WAIT, UPW, MX, WANTED, .canc = true), EV(CANCEL),
	  LC(WAIT, UPW, MX, .canc = true),
	  1, { A(CANCELLED) } },
	{ "cancel, WAIT, try: CANCEL, too",
	  LC(WAIT, UPW, MX, WANTED, .try = true), EV(CANCEL),
	  LC(WAIT, UPW, MX, .try = true, .canc = true),
	  2, { A(CANCELLED), SEND(CANCEL) } },
	{ "cancel, WAIT, link down: RESYNC will tell",
	  LC(WAIT, DOWNW, MX, WANTED), EV(CANCEL),
	  LC(WAIT, DOWNW, MX, .canc = true),
	  1, { A(CANCELLED) } },
	{ "cancel, ATT: the attempt lives on",
	  LC(ATT, UPW, MX, OPER(ACQ_X), WANTED), EV(CANCEL),
	  LC(ATT, UPW, MX, OPER(ACQ_X)),
	  1, { A(CANCELLED) } },
	{ "cancel, IDLE, link down: gone",
	  LC(IDLE, DOWNW, WANTED), EV(CANCEL), LC(IDLE, DOWNW),
	  2, { A(CANCELLED), A(RELEASED) } },
	{ "cancel, HOLD: too late",
	  LC(HOLD, IN, UPW, MANAGED7), EV(CANCEL), LC(HOLD, IN, UPW, MANAGED7), 0 },
	{ "want, WAIT, cancelled: adopts the request",
	  LC(WAIT, UPW, MX, .canc = true), EV(WANT, MX),
	  LC(WAIT, UPW, MX, WANTED, .canc = true), 0 },
	{ "CANCELLED, WAIT: IDLE",
	  LC(WAIT, UPW, MX, .canc = true), RECV(CANCELLED), LC(IDLE, UPW),
	  1, { A(RELEASED) } },
	{ "CANCELLED, WAIT, adopted: a new attempt",
	  LC(WAIT, UPW, MX, WANTED, .canc = true), RECV(CANCELLED),
	  LC(ATT, UPW, MX, OPER(ACQ_X), WANTED),
	  1, { CAS_X } },
	{ "CANCELLED(gen), WAIT: REL(canc), a HANDOVER of it comes too late",
	  LC(WAIT, UPW, MX, .canc = true, .last = 6),
	  RECV(CANCELLED, .gen = 9), LC(IDLE, UPW, .last = 9),
	  2, { SEND(REL, .gen = 9, .flags = TALLY_LMF_CANC), A(RELEASED) } },
	{ "CANCELLED(gen), WAIT, adopted: REL(canc), then a new attempt",
	  LC(WAIT, UPW, MX, WANTED, .canc = true, .last = 6),
	  RECV(CANCELLED, .gen = 9),
	  LC(ATT, UPW, MX, OPER(ACQ_X), WANTED, .last = 9),
	  2, { SEND(REL, .gen = 9, .flags = TALLY_LMF_CANC), CAS_X } },
	{ "CANCELLED(gen) of what was had, another request: dropped",
	  LC(WAIT, UPW, MX, WANTED, .last = 9), RECV(CANCELLED, .gen = 9),
	  LC(WAIT, UPW, MX, WANTED, .last = 9), 0 },
	{ "CANCELLED(gen), not asked for: violation",
	  LC(WAIT, UPW, MX, WANTED, .last = 6), RECV(CANCELLED, .gen = 9),
	  LC(WAIT, UPW, MX, WANTED, .last = 6),
	  1, { A(VIOLATION) } },
	{ "CANCELLED, not asked for: violation",
	  LC(WAIT, UPW, MX, WANTED), RECV(CANCELLED),
	  LC(WAIT, UPW, MX, WANTED),
	  1, { A(VIOLATION) } },
	{ "CANCELLED, IDLE: violation",
	  LC(IDLE, UPW), RECV(CANCELLED), LC(IDLE, UPW),
	  1, { A(VIOLATION) } },
	{ "DENIED, WAIT: -EBUSY",
	  LC(WAIT, UPW, MX, WANTED, .try = true), RECV(DENIED), LC(IDLE, UPW),
	  2, { FAILED(EBUSY), A(RELEASED) } },
	{ "DENIED, WAIT, cancelled: IDLE",
	  LC(WAIT, UPW, MX, .try = true, .canc = true), RECV(DENIED),
	  LC(IDLE, UPW),
	  1, { A(RELEASED) } },
	{ "DENIED, WAIT, adopted: a new attempt",
	  LC(WAIT, UPW, MX, WANTED, .try = true, .canc = true), RECV(DENIED),
	  LC(ATT, UPW, MX, OPER(ACQ_X), WANTED),
	  1, { CAS_X } },
	{ "DENIED, no try: violation",
	  LC(WAIT, UPW, MX, WANTED), RECV(DENIED), LC(WAIT, UPW, MX, WANTED),
	  1, { A(VIOLATION) } },
	{ "a message only a home receives: violation",
	  LC(IDLE, UPW), RECV(ENQUEUE, MX), LC(IDLE, UPW),
	  1, { A(VIOLATION) } },
};

#include "lock_client_break_cases.h"
#include "lock_client_tenure_cases.h"

static inline bool lmsg_equal(const struct tally_lmsg *a,
			      const struct tally_lmsg *b)
{
	return a->type == b->type && a->mode == b->mode &&
	       a->flags == b->flags && a->gen == b->gen &&
	       a->last == b->last && a->pass == b->pass &&
	       a->next_gen == b->next_gen &&
	       a->next_slot == b->next_slot && a->next_session == b->next_session;
}

static inline bool lc_succ_equal(const struct tally_lc_succ *a,
				 const struct tally_lc_succ *b)
{
	return a->gen == b->gen && a->session == b->session &&
	       a->pass == b->pass && a->slot == b->slot;
}

/* What a user wants counts only while it wants it. */
static inline bool lc_want_equal(const struct tally_lc *a,
				 const struct tally_lc *b)
{
	return !a->want || (a->want_try == b->want_try &&
			    a->want_direct == b->want_direct &&
			    a->want_mode == b->want_mode);
}

static inline bool lc_equal(const struct tally_lc *a, const struct tally_lc *b)
{
	return a->st == b->st && a->mode == b->mode && a->op == b->op &&
	       a->doubt == b->doubt && a->local == b->local &&
	       a->word == b->word && a->up == b->up &&
	       a->unsynced == b->unsynced && a->fast == b->fast &&
	       a->rv == b->rv && a->canc == b->canc && a->try == b->try &&
	       a->want == b->want && lc_want_equal(a, b) && a->slot == b->slot &&
	       a->err == b->err && a->gen == b->gen && a->pass == b->pass &&
	       a->tenure == b->tenure && a->last == b->last &&
	       a->users == b->users && a->inside == b->inside &&
	       a->claim == b->claim && a->cache == b->cache &&
	       a->budget == b->budget && a->spent == b->spent &&
	       a->force == b->force && a->parked == b->parked &&
	       a->parked_pass == b->parked_pass &&
	       a->session == b->session && a->early == b->early &&
	       a->early_rv == b->early_rv &&
	       a->early_force == b->early_force &&
	       lc_succ_equal(&a->succ, &b->succ) &&
	       lc_succ_equal(&a->early_succ, &b->early_succ);
}

static inline bool lc_action_has_msg(const struct tally_lc_action *a)
{
	return a->kind == TALLY_LCA_SEND || a->kind == TALLY_LCA_HANDOVER;
}

static inline bool lc_action_equal(const struct tally_lc_action *a,
				   const struct tally_lc_action *b)
{
	return a->kind == b->kind && a->err == b->err &&
	       a->token == b->token && a->compare == b->compare &&
	       a->value == b->value &&
	       (!lc_action_has_msg(a) || lmsg_equal(&a->msg, &b->msg));
}

/* Runs one case; returns what differs, or NULL. */
static inline const char *lc_case_run(const struct lc_case *c)
{
	struct tally_lc lc = c->from;
	struct tally_lc_actions out;
	int k;

	tally_lc_step(&lc, &c->ev, &out);
	if (out.bug != c->bug)
		return "bug flag";
	if (out.n != c->n)
		return "number of actions";
	for (k = 0; k < out.n; k++)
		if (!lc_action_equal(&out.a[k], &c->act[k]))
			return "action";
	return lc_equal(&lc, &c->to) ? NULL : "state";
}

#undef OWN
#undef OWN_BIT
#undef OTHER_BIT
#undef WANTED_S
#undef IN
#undef IN_S
#undef MS
#undef CLAIM
#undef SUCC9
#undef FAST_S
#undef MANAGED7_S
#undef CAS_X
#undef FAA
#undef NEXT_IS
#undef SUCC
#undef SUCC_NO_LINK
#undef HAND9
#undef IDLE_ONLY
#undef FORCE
#undef OTHER
#undef W_SET
#undef LC
#undef UPW
#undef DOWNW
#undef MX
#undef WANTED
#undef OPER
#undef DOUBT
#undef FAST
#undef MANAGED7
#undef EV
#undef DONE
#undef BROKEN
#undef RECV
#undef A
#undef SEND
#undef GRANTED
#undef FAILED

#endif
