/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The client table row by row: (state, event) -> (state, actions).  The numbers
 * are the sections of the protocol: 4 fast mode, 5 managed mode, 8 break and
 * resume.
 */
#ifndef TALLY_LOCK_CLIENT_CASES_H
#define TALLY_LOCK_CLIENT_CASES_H

#include <linux/errno.h>

#include "../lockclient.h"

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
#define W_SET	TALLY_LW_W

#define LC(_st, ...) { .st = TALLY_LC_##_st, .slot = OWN, ##__VA_ARGS__ }
#define UPW	.up = true, .word = true
#define DOWNW	.word = true
#define MX	.mode = TALLY_LMODE_X
#define WANTED	.want = true
#define OPER(_op) .op = TALLY_LC_OP_##_op
#define DOUBT(_op) .doubt = TALLY_LC_OP_##_op
#define FAST(_c) MX, .fast = true, .tenure = (_c)
#define MANAGED7 MX, .gen = 7, .tenure = 7, .last = 7

#define EV(_kind, ...) { .kind = TALLY_LCE_##_kind, ##__VA_ARGS__ }
/* Not by way of EV() and OPER(): the kernel has a macro READ. */
#define DONE(_op, ...) { \
	.kind = TALLY_LCE_OP_DONE, .op = TALLY_LC_OP_##_op, ##__VA_ARGS__ }
#define BROKEN(_op) { \
	.kind = TALLY_LCE_OP_DONE, .op = TALLY_LC_OP_##_op, .broken = true }
#define RECV(_type, ...) \
	EV(MSG, .msg = { .type = TALLY_LM_##_type, ##__VA_ARGS__ })

#define A(_kind, ...) { .kind = TALLY_LCA_##_kind, ##__VA_ARGS__ }
#define SEND(_type, ...) \
	A(SEND, .msg = { .type = TALLY_LM_##_type, ##__VA_ARGS__ })
#define GRANTED(_c, _k) A(GRANTED, .token = (_c) << 8 | (_k))
#define FAILED(_err) A(FAILED, .err = -(_err))

static const struct lc_case lc_cases[] = {
	/* ---- 4: attempts ---- */
	{ "want, IDLE: CAS and FAA",
	  LC(IDLE, UPW), EV(WANT),
	  LC(ATT, UPW, MX, OPER(ACQ), WANTED),
	  1, { A(POST_CAS_FAA) } },
	{ "want, IDLE, W seen lately: ENQUEUE",
	  LC(IDLE, UPW), EV(WANT, .direct = true),
	  LC(WAIT, UPW, MX, WANTED, .want_direct = true),
	  1, { SEND(ENQUEUE, MX) } },
	{ "try, IDLE, W seen lately: the word all the same",
	  LC(IDLE, UPW), EV(WANT, .direct = true, .try = true),
	  LC(ATT, UPW, MX, OPER(ACQ), WANTED, .want_try = true,
	     .want_direct = true),
	  1, { A(POST_CAS_FAA) } },
	{ "want, IDLE, no word: ENQUEUE",
	  LC(IDLE, .up = true), EV(WANT),
	  LC(WAIT, .up = true, MX, WANTED),
	  1, { SEND(ENQUEUE, MX) } },
	{ "try, IDLE, no word: ENQUEUE try",
	  LC(IDLE, .up = true), EV(WANT, .try = true),
	  LC(WAIT, .up = true, MX, WANTED, .want_try = true, .try = true),
	  1, { SEND(ENQUEUE, MX, .flags = TALLY_LMF_TRY) } },
	{ "want, IDLE, link down: waits",
	  LC(IDLE, DOWNW), EV(WANT), LC(IDLE, DOWNW, WANTED), 0 },
	{ "try, IDLE, link down: no",
	  LC(IDLE, DOWNW), EV(WANT, .try = true),
	  LC(IDLE, DOWNW, .want_try = true),
	  1, { FAILED(ENOTCONN) } },
	{ "completion, old = 0: HOLD fast, token is old token + 1",
	  LC(ATT, UPW, MX, OPER(ACQ), WANTED), DONE(ACQ, .token = 41),
	  LC(HOLD, UPW, FAST(42)),
	  1, { GRANTED(42, 0) } },
	{ "completion, old = 0, recalled in flight: RECALL follows",
	  LC(ATT, UPW, MX, OPER(ACQ), WANTED, .rv = true),
	  DONE(ACQ, .token = 41),
	  LC(HOLD, UPW, FAST(42), .rv = true),
	  2, { GRANTED(42, 0), A(RECALL) } },
	{ "completion, old = 0, nobody wants it: release",
	  LC(ATT, UPW, MX, OPER(ACQ)), DONE(ACQ, .token = 41),
	  LC(RELF, UPW, FAST(42), OPER(REL)),
	  1, { A(POST_RELEASE_FAA) } },
	{ "completion, failed: ENQUEUE, rv clear",
	  LC(ATT, UPW, MX, OPER(ACQ), WANTED, .rv = true),
	  DONE(ACQ, .state = OTHER),
	  LC(WAIT, UPW, MX, WANTED),
	  1, { SEND(ENQUEUE, MX) } },
	{ "completion, failed by a reader bit: ENQUEUE",
	  LC(ATT, UPW, MX, OPER(ACQ), WANTED),
	  DONE(ACQ, .state = 1ULL << TALLY_LW_BIT_SHIFT),
	  LC(WAIT, UPW, MX, WANTED),
	  1, { SEND(ENQUEUE, MX) } },
	{ "completion, failed, try, W = 0: -EBUSY",
	  LC(ATT, UPW, MX, OPER(ACQ), WANTED, .want_try = true),
	  DONE(ACQ, .state = OTHER),
	  LC(IDLE, UPW, .want_try = true),
	  2, { FAILED(EBUSY), A(RELEASED) } },
	{ "completion, failed, try, W = 1: ENQUEUE try",
	  LC(ATT, UPW, MX, OPER(ACQ), WANTED, .want_try = true),
	  DONE(ACQ, .state = W_SET),
	  LC(WAIT, UPW, MX, WANTED, .want_try = true, .try = true),
	  1, { SEND(ENQUEUE, MX, .flags = TALLY_LMF_TRY) } },
	{ "completion, failed, nobody wants it: IDLE",
	  LC(ATT, UPW, MX, OPER(ACQ), .rv = true), DONE(ACQ, .state = OTHER),
	  LC(IDLE, UPW),
	  1, { A(RELEASED) } },
	{ "completion, failed, link down: WAIT, RESYNC will tell",
	  LC(ATT, DOWNW, MX, OPER(ACQ), WANTED), DONE(ACQ, .state = OTHER),
	  LC(WAIT, DOWNW, MX, WANTED), 0 },
	{ "completion, failed, the owner is this node: word bad",
	  LC(ATT, UPW, MX, OPER(ACQ), WANTED), DONE(ACQ, .state = OWN),
	  LC(DEAD, UPW, .err = -EIO),
	  2, { A(WORD_BAD), FAILED(EIO) } },
	{ "completion of something else: bug",
	  LC(ATT, UPW, MX, OPER(ACQ), WANTED), DONE(REL),
	  LC(ATT, UPW, MX, OPER(ACQ), WANTED), 0, {}, .bug = true },
	{ "completion of nothing: bug",
	  LC(IDLE, UPW), DONE(NONE), LC(IDLE, UPW), 0, {}, .bug = true },
	{ "want, HOLD: bug",
	  LC(HOLD, UPW, FAST(42)), EV(WANT), LC(HOLD, UPW, FAST(42)),
	  0, {}, .bug = true },
	{ "want twice: bug",
	  LC(ATT, UPW, MX, OPER(ACQ), WANTED), EV(WANT),
	  LC(ATT, UPW, MX, OPER(ACQ), WANTED), 0, {}, .bug = true },

	/* ---- 4: recall of a fast tenure ---- */
	{ "REVOKE(0), ATT: remembered",
	  LC(ATT, UPW, MX, OPER(ACQ), WANTED), RECV(REVOKE),
	  LC(ATT, UPW, MX, OPER(ACQ), WANTED, .rv = true), 0 },
	{ "REVOKE(0), attempt in doubt: remembered",
	  LC(DBT, DOWNW, MX, DOUBT(ACQ), WANTED), RECV(REVOKE),
	  LC(DBT, DOWNW, MX, DOUBT(ACQ), WANTED, .rv = true), 0 },
	{ "REVOKE(0), fast HOLD: RECALL",
	  LC(HOLD, UPW, FAST(42)), RECV(REVOKE),
	  LC(HOLD, UPW, FAST(42), .rv = true),
	  1, { A(RECALL) } },
	{ "REVOKE(0), fast HOLD, again: nothing",
	  LC(HOLD, UPW, FAST(42), .rv = true), RECV(REVOKE),
	  LC(HOLD, UPW, FAST(42), .rv = true), 0 },
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
	  LC(HOLD, UPW, MANAGED7), RECV(REVOKE),
	  LC(HOLD, UPW, MANAGED7), 0 },

	/* ---- 4: release ---- */
	{ "unlock, fast HOLD: FAA",
	  LC(HOLD, UPW, FAST(42), .rv = true), EV(UNLOCK),
	  LC(RELF, UPW, FAST(42), OPER(REL)),
	  1, { A(POST_RELEASE_FAA) } },
	{ "unlock, fast HOLD, link down: in doubt",
	  LC(HOLD, DOWNW, FAST(42)), EV(UNLOCK),
	  LC(DBT, DOWNW, FAST(42), DOUBT(REL)), 0 },
	{ "unlock, fast HOLD, recalled, link down: in doubt",
	  LC(HOLD, DOWNW, FAST(42), .rv = true), EV(UNLOCK),
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
	  LC(ATT, UPW, MX, OPER(ACQ), WANTED),
	  2, { SEND(LOOK), A(POST_CAS_FAA) } },
	{ "release done, the owner was not this node: word bad",
	  LC(RELF, UPW, FAST(42), OPER(REL)), DONE(REL, .state = OTHER),
	  LC(DEAD, UPW, .err = -EIO),
	  1, { A(WORD_BAD) } },
	{ "want, RELF: waits for the completion",
	  LC(RELF, UPW, FAST(42), OPER(REL)), EV(WANT),
	  LC(RELF, UPW, FAST(42), OPER(REL), WANTED), 0 },
	{ "unlock, IDLE: bug",
	  LC(IDLE, UPW), EV(UNLOCK), LC(IDLE, UPW), 0, {}, .bug = true },
	{ "next, HOLD: next sub-number",
	  LC(HOLD, UPW, FAST(42), .local = 1), EV(NEXT),
	  LC(HOLD, UPW, FAST(42), .local = 2),
	  1, { GRANTED(42, 2) } },
	{ "next, fast HOLD, sub-numbers used up: a new tenure",
	  LC(HOLD, UPW, FAST(42), .local = 255), EV(NEXT),
	  LC(RELF, UPW, FAST(42), .local = 255, OPER(REL), WANTED),
	  1, { A(POST_RELEASE_FAA) } },
	{ "next, managed HOLD, sub-numbers used up: REL, new attempt",
	  LC(HOLD, UPW, MANAGED7, .local = 255), EV(NEXT),
	  LC(ATT, UPW, MX, OPER(ACQ), WANTED, .last = 7),
	  2, { SEND(REL, .gen = 7), A(POST_CAS_FAA) } },
	{ "next, sub-numbers used up: the next user's wishes count",
	  LC(HOLD, UPW, FAST(42), .local = 255, .want_direct = true),
	  EV(NEXT, .try = true),
	  LC(RELF, UPW, FAST(42), .local = 255, OPER(REL), WANTED,
	     .want_try = true),
	  1, { A(POST_RELEASE_FAA) } },
	{ "next, RELF: bug",
	  LC(RELF, UPW, FAST(42), OPER(REL)), EV(NEXT),
	  LC(RELF, UPW, FAST(42), OPER(REL)), 0, {}, .bug = true },
	{ "unknown event: bug",
	  LC(IDLE, UPW), { .kind = 0xff }, LC(IDLE, UPW), 0, {}, .bug = true },

	/* ---- 5: grants ---- */
	{ "GRANT, WAIT: HOLD managed",
	  LC(WAIT, UPW, MX, WANTED, .last = 6), RECV(GRANT, MX, .gen = 7),
	  LC(HOLD, UPW, MANAGED7),
	  1, { GRANTED(7, 0) } },
	{ "GRANT, WAIT, gen = last: dropped",
	  LC(WAIT, UPW, MX, WANTED, .last = 7), RECV(GRANT, MX, .gen = 7),
	  LC(WAIT, UPW, MX, WANTED, .last = 7), 0 },
	{ "GRANT, WAIT, try: HOLD managed",
	  LC(WAIT, UPW, MX, WANTED, .try = true), RECV(GRANT, MX, .gen = 7),
	  LC(HOLD, UPW, MANAGED7),
	  1, { GRANTED(7, 0) } },
	{ "GRANT, IDLE: dropped",
	  LC(IDLE, UPW), RECV(GRANT, MX, .gen = 7), LC(IDLE, UPW), 0 },
	{ "GRANT, HOLD: dropped",
	  LC(HOLD, UPW, MANAGED7), RECV(GRANT, MX, .gen = 8),
	  LC(HOLD, UPW, MANAGED7), 0 },
	{ "GRANT, WAIT, cancelled: REL",
	  LC(WAIT, UPW, MX, .canc = true), RECV(GRANT, MX, .gen = 7),
	  LC(IDLE, UPW, .last = 7),
	  2, { SEND(REL, .gen = 7), A(RELEASED) } },
	{ "GRANT, WAIT, cancelled and adopted: HOLD",
	  LC(WAIT, UPW, MX, WANTED, .canc = true), RECV(GRANT, MX, .gen = 7),
	  LC(HOLD, UPW, MANAGED7),
	  1, { GRANTED(7, 0) } },
	{ "GRANT, WAIT, another mode: violation",
	  LC(WAIT, UPW, MX, WANTED),
	  RECV(GRANT, .mode = TALLY_LMODE_S, .gen = 7),
	  LC(WAIT, UPW, MX, WANTED),
	  1, { A(VIOLATION) } },

	/* ---- 5: recall and release of a managed tenure ---- */
	{ "REVOKE(gen), managed, mine: RECALL",
	  LC(HOLD, UPW, MANAGED7), RECV(REVOKE, .gen = 7),
	  LC(HOLD, UPW, MANAGED7, .rv = true),
	  1, { A(RECALL) } },
	{ "REVOKE(gen), managed, stale: dropped",
	  LC(HOLD, UPW, MANAGED7), RECV(REVOKE, .gen = 6),
	  LC(HOLD, UPW, MANAGED7), 0 },
	{ "REVOKE(gen), fast HOLD: dropped",
	  LC(HOLD, UPW, FAST(42), .last = 7), RECV(REVOKE, .gen = 7),
	  LC(HOLD, UPW, FAST(42), .last = 7), 0 },
	{ "REVOKE(gen), ATT: dropped",
	  LC(ATT, UPW, MX, OPER(ACQ), WANTED, .last = 7),
	  RECV(REVOKE, .gen = 7),
	  LC(ATT, UPW, MX, OPER(ACQ), WANTED, .last = 7), 0 },
	{ "unlock, managed HOLD: REL",
	  LC(HOLD, UPW, MANAGED7, .rv = true), EV(UNLOCK),
	  LC(IDLE, UPW, .last = 7),
	  2, { SEND(REL, .gen = 7), A(RELEASED) } },
	{ "unlock, managed HOLD, link down: RESYNC will tell",
	  LC(HOLD, DOWNW, MANAGED7), EV(UNLOCK),
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
	{ "cancel, WAIT, try: its answer is under way",
	  LC(WAIT, UPW, MX, WANTED, .try = true), EV(CANCEL),
	  LC(WAIT, UPW, MX, .try = true, .canc = true),
	  1, { A(CANCELLED) } },
	{ "cancel, WAIT, link down: RESYNC will tell",
	  LC(WAIT, DOWNW, MX, WANTED), EV(CANCEL),
	  LC(WAIT, DOWNW, MX, .canc = true),
	  1, { A(CANCELLED) } },
	{ "cancel, ATT: the attempt lives on",
	  LC(ATT, UPW, MX, OPER(ACQ), WANTED), EV(CANCEL),
	  LC(ATT, UPW, MX, OPER(ACQ)),
	  1, { A(CANCELLED) } },
	{ "cancel, IDLE, link down: gone",
	  LC(IDLE, DOWNW, WANTED), EV(CANCEL), LC(IDLE, DOWNW),
	  2, { A(CANCELLED), A(RELEASED) } },
	{ "cancel, HOLD: too late",
	  LC(HOLD, UPW, MANAGED7), EV(CANCEL), LC(HOLD, UPW, MANAGED7), 0 },
	{ "want, WAIT, cancelled: adopts the request",
	  LC(WAIT, UPW, MX, .canc = true), EV(WANT),
	  LC(WAIT, UPW, MX, WANTED, .canc = true), 0 },
	{ "CANCELLED, WAIT: IDLE",
	  LC(WAIT, UPW, MX, .canc = true), RECV(CANCELLED), LC(IDLE, UPW),
	  1, { A(RELEASED) } },
	{ "CANCELLED, WAIT, adopted: a new attempt",
	  LC(WAIT, UPW, MX, WANTED, .canc = true), RECV(CANCELLED),
	  LC(ATT, UPW, MX, OPER(ACQ), WANTED),
	  1, { A(POST_CAS_FAA) } },
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
	  LC(ATT, UPW, MX, OPER(ACQ), WANTED),
	  1, { A(POST_CAS_FAA) } },
	{ "DENIED, no try: violation",
	  LC(WAIT, UPW, MX, WANTED), RECV(DENIED), LC(WAIT, UPW, MX, WANTED),
	  1, { A(VIOLATION) } },
	{ "a message only a home receives: violation",
	  LC(IDLE, UPW), RECV(ENQUEUE, MX), LC(IDLE, UPW),
	  1, { A(VIOLATION) } },

	/* ---- 8: break ---- */
	{ "link down, WAIT",
	  LC(WAIT, UPW, MX, WANTED), EV(LINK_DOWN),
	  LC(WAIT, DOWNW, MX, WANTED), 0 },
	{ "link down, unsynced: the next RESYNC counts",
	  LC(WAIT, UPW, MX, WANTED, .unsynced = true), EV(LINK_DOWN),
	  LC(WAIT, DOWNW, MX, WANTED), 0 },
	{ "attempt broken: in doubt",
	  LC(ATT, DOWNW, MX, OPER(ACQ), WANTED), BROKEN(ACQ),
	  LC(DBT, DOWNW, MX, DOUBT(ACQ), WANTED), 0 },
	{ "release broken: in doubt",
	  LC(RELF, DOWNW, FAST(42), OPER(REL)), BROKEN(REL),
	  LC(DBT, DOWNW, FAST(42), DOUBT(REL)), 0 },
	{ "token broken: the acquisition is in doubt again",
	  LC(ATT, DOWNW, MX, .fast = true, OPER(TOKEN), WANTED), BROKEN(TOKEN),
	  LC(DBT, DOWNW, MX, .fast = true, DOUBT(ACQ), WANTED), 0 },
	{ "READ broken: as much in doubt as before",
	  LC(DBT, DOWNW, FAST(42), OPER(READ), DOUBT(REL)), BROKEN(READ),
	  LC(DBT, DOWNW, FAST(42), DOUBT(REL)), 0 },

	/* ---- 8: resume ---- */
	{ "link up, IDLE: nothing to list",
	  LC(IDLE, DOWNW, .last = 7), EV(LINK_UP), LC(IDLE, UPW, .last = 7),
	  0 },
	{ "link up, fast HOLD: nothing to list",
	  LC(HOLD, DOWNW, FAST(42)), EV(LINK_UP), LC(HOLD, UPW, FAST(42)), 0 },
	{ "link up, WAIT: RESYNC lists the request",
	  LC(WAIT, DOWNW, MX, WANTED, .last = 6), EV(LINK_UP),
	  LC(WAIT, UPW, MX, WANTED, .last = 6, .unsynced = true),
	  1, { SEND(RESYNC, MX, .last = 6) } },
	{ "link up, WAIT, cancelled try: RESYNC says so",
	  LC(WAIT, DOWNW, MX, .canc = true, .try = true), EV(LINK_UP),
	  LC(WAIT, UPW, MX, .canc = true, .try = true, .unsynced = true),
	  1, { SEND(RESYNC, MX, .flags = TALLY_LMF_CANC | TALLY_LMF_TRY) } },
	{ "link up, managed HOLD: RESYNC lists the tenure",
	  LC(HOLD, DOWNW, MANAGED7), EV(LINK_UP),
	  LC(HOLD, UPW, MANAGED7, .unsynced = true),
	  1, { SEND(RESYNC, .gen = 7, .last = 7) } },
	{ "link up, IDLE, somebody wants it: attempt",
	  LC(IDLE, DOWNW, WANTED), EV(LINK_UP),
	  LC(ATT, UPW, MX, OPER(ACQ), WANTED),
	  1, { A(POST_CAS_FAA) } },
	{ "link up, in doubt: READ",
	  LC(DBT, DOWNW, MX, DOUBT(ACQ), WANTED), EV(LINK_UP),
	  LC(DBT, UPW, MX, DOUBT(ACQ), OPER(READ), WANTED),
	  1, { A(POST_READ) } },
	{ "link up, operation not drained: bug",
	  LC(RELF, DOWNW, FAST(42), OPER(REL)), EV(LINK_UP),
	  LC(RELF, DOWNW, FAST(42), OPER(REL)), 0, {}, .bug = true },
	{ "link up while up: bug",
	  LC(IDLE, UPW), EV(LINK_UP), LC(IDLE, UPW), 0, {}, .bug = true },
	{ "SYNCED: the home may speak",
	  LC(WAIT, UPW, MX, WANTED, .unsynced = true), RECV(SYNCED),
	  LC(WAIT, UPW, MX, WANTED), 0 },
	{ "SYNCED, no RESYNC: violation",
	  LC(WAIT, UPW, MX, WANTED), RECV(SYNCED), LC(WAIT, UPW, MX, WANTED),
	  1, { A(VIOLATION) } },
	{ "GRANT before SYNCED: violation",
	  LC(WAIT, UPW, MX, WANTED, .unsynced = true),
	  RECV(GRANT, MX, .gen = 7),
	  LC(WAIT, UPW, MX, WANTED, .unsynced = true),
	  1, { A(VIOLATION) } },
	{ "REVOKE(0) before SYNCED: harmless",
	  LC(WAIT, UPW, MX, WANTED, .unsynced = true), RECV(REVOKE),
	  LC(WAIT, UPW, MX, WANTED, .unsynced = true), 0 },
	{ "attempt in doubt, READ: mine, token again",
	  LC(DBT, UPW, MX, DOUBT(ACQ), OPER(READ), WANTED),
	  DONE(READ, .state = OWN | W_SET),
	  LC(ATT, UPW, MX, .fast = true, OPER(TOKEN), WANTED),
	  1, { A(POST_TOKEN_FAA) } },
	{ "attempt in doubt, token: HOLD fast",
	  LC(ATT, UPW, MX, .fast = true, OPER(TOKEN), WANTED, .rv = true),
	  DONE(TOKEN, .token = 50),
	  LC(HOLD, UPW, FAST(51), .rv = true),
	  2, { GRANTED(51, 0), A(RECALL) } },
	{ "attempt in doubt, READ: mine, nobody wants it: release",
	  LC(DBT, UPW, MX, DOUBT(ACQ), OPER(READ)), DONE(READ, .state = OWN),
	  LC(RELF, UPW, MX, .fast = true, OPER(REL)),
	  1, { A(POST_RELEASE_FAA) } },
	{ "attempt in doubt, READ: mine, link down again: still in doubt",
	  LC(DBT, DOWNW, MX, DOUBT(ACQ), OPER(READ), WANTED),
	  DONE(READ, .state = OWN),
	  LC(DBT, DOWNW, MX, DOUBT(ACQ), WANTED), 0 },
	{ "attempt in doubt, READ: not mine: start again",
	  LC(DBT, UPW, MX, DOUBT(ACQ), OPER(READ), WANTED, .rv = true),
	  DONE(READ, .state = OTHER | W_SET),
	  LC(ATT, UPW, MX, OPER(ACQ), WANTED),
	  1, { A(POST_CAS_FAA) } },
	{ "attempt in doubt, READ: not mine, nobody wants it: IDLE",
	  LC(DBT, UPW, MX, DOUBT(ACQ), OPER(READ)), DONE(READ, .state = OTHER),
	  LC(IDLE, UPW),
	  1, { A(RELEASED) } },
	{ "release in doubt, READ: mine: post it again",
	  LC(DBT, UPW, FAST(42), DOUBT(REL), OPER(READ), WANTED),
	  DONE(READ, .state = OWN),
	  LC(RELF, UPW, FAST(42), OPER(REL), WANTED),
	  1, { A(POST_RELEASE_FAA) } },
	{ "release in doubt, READ: not mine: done",
	  LC(DBT, UPW, FAST(42), DOUBT(REL), OPER(READ)), DONE(READ),
	  LC(IDLE, UPW),
	  1, { A(RELEASED) } },
	{ "release in doubt, READ: not mine, W = 1: LOOK",
	  LC(DBT, UPW, FAST(42), DOUBT(REL), OPER(READ)),
	  DONE(READ, .state = OTHER | W_SET),
	  LC(IDLE, UPW),
	  2, { SEND(LOOK), A(RELEASED) } },

	/* ---- 5: lease over ---- */
	{ "lease lost, HOLD: LOST",
	  LC(HOLD, DOWNW, MANAGED7), EV(LEASE_LOST),
	  LC(DEAD, DOWNW, .last = 7, .err = -ENOTCONN),
	  2, { A(LOST), A(RELEASED) } },
	{ "lease lost, WAIT: the user is told",
	  LC(WAIT, DOWNW, MX, WANTED), EV(LEASE_LOST),
	  LC(DEAD, DOWNW, .err = -ENOTCONN),
	  2, { FAILED(ENOTCONN), A(RELEASED) } },
	{ "lease lost, RELF: RELEASED comes with the completion",
	  LC(RELF, DOWNW, FAST(42), OPER(REL)), EV(LEASE_LOST),
	  LC(DEAD, DOWNW, OPER(REL), .err = -ENOTCONN), 0 },
	{ "lease lost, IDLE: nothing to tell",
	  LC(IDLE, DOWNW), EV(LEASE_LOST),
	  LC(DEAD, DOWNW, .err = -ENOTCONN), 0 },
	{ "completion, DEAD",
	  LC(DEAD, DOWNW, OPER(ACQ), .err = -ENOTCONN), DONE(ACQ),
	  LC(DEAD, DOWNW, .err = -ENOTCONN),
	  1, { A(RELEASED) } },
	{ "want, DEAD: no",
	  LC(DEAD, DOWNW, .err = -ENOTCONN), EV(WANT),
	  LC(DEAD, DOWNW, .err = -ENOTCONN),
	  1, { FAILED(ENOTCONN) } },
	{ "next, DEAD: no",
	  LC(DEAD, DOWNW, .err = -ENOTCONN), EV(NEXT),
	  LC(DEAD, DOWNW, .err = -ENOTCONN),
	  1, { FAILED(ENOTCONN) } },
	{ "unlock, DEAD: nothing left",
	  LC(DEAD, DOWNW, .err = -ENOTCONN), EV(UNLOCK),
	  LC(DEAD, DOWNW, .err = -ENOTCONN), 0 },
	{ "GRANT, DEAD: dropped",
	  LC(DEAD, UPW, .err = -ENOTCONN), RECV(GRANT, MX, .gen = 7),
	  LC(DEAD, UPW, .err = -ENOTCONN), 0 },
	{ "link up, DEAD: stays dead",
	  LC(DEAD, DOWNW, .err = -EIO), EV(LINK_UP),
	  LC(DEAD, DOWNW, .err = -EIO), 0 },
};

static inline bool lmsg_equal(const struct tally_lmsg *a,
			      const struct tally_lmsg *b)
{
	return a->type == b->type && a->mode == b->mode &&
	       a->flags == b->flags && a->gen == b->gen &&
	       a->last == b->last && a->next_gen == b->next_gen &&
	       a->next_slot == b->next_slot && a->next_epoch == b->next_epoch;
}

static inline bool lc_equal(const struct tally_lc *a, const struct tally_lc *b)
{
	return a->st == b->st && a->mode == b->mode && a->op == b->op &&
	       a->doubt == b->doubt && a->local == b->local &&
	       a->word == b->word && a->up == b->up &&
	       a->unsynced == b->unsynced && a->fast == b->fast &&
	       a->rv == b->rv && a->canc == b->canc && a->try == b->try &&
	       a->want == b->want && a->want_try == b->want_try &&
	       a->want_direct == b->want_direct && a->slot == b->slot &&
	       a->err == b->err && a->gen == b->gen &&
	       a->tenure == b->tenure && a->last == b->last;
}

static inline bool lc_action_equal(const struct tally_lc_action *a,
				   const struct tally_lc_action *b)
{
	return a->kind == b->kind && a->err == b->err &&
	       a->token == b->token && lmsg_equal(&a->msg, &b->msg);
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
