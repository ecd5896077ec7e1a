/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The client side of one lock: a pure state table.
 */
#ifndef TALLY_LOCKCLIENT_H
#define TALLY_LOCKCLIENT_H

#include <linux/types.h>

#include "lock/msg.h"
#include "lock/word.h"

/**
 * DOC: driving the client table
 *
 * One struct tally_lc stands for one lock as one node sees it in one session
 * with the lock's home.  tally_lc_step() takes one event, changes the struct
 * and fills a list of actions.  It allocates nothing, reads no clock and takes
 * no lock.
 *
 * Serialisation.  All steps of one lc run under one lock of the driver (a
 * spinlock is enough).  The actions of a step are carried out in the order of
 * the list and before those of a later step of the same lc.  An event that an
 * action causes (a post that fails, a message to the home on the same node, a
 * callback that unlocks) is given after the step, never from inside it.
 *
 * Local users.  The node has at most one request (WANT) outstanding and queues
 * its other users above the table, in their order.  A WANT is answered by
 * exactly one of GRANTED, FAILED and CANCELLED; then comes the next one's.
 * CANCEL is answered in the same step (CANCELLED) unless the WANT had been
 * answered before: then it does nothing and the user must unlock.  What is left
 * of a cancelled request is the table's own business; the next WANT of the same
 * mode takes it over.
 *
 * After GRANTED a user is inside until its UNLOCK.  Several are inside together
 * only in shared mode.  RECALL says once per tenure, and once more when it has
 * become shared, if a user is inside that another node waits for: no reader
 * joins any more, and after the last UNLOCK
 * further local users get an exclusive tenure only while the budget lasts:
 * @budget of them, and none after an UNLOCK that is @late (the driver looks at
 * the time since RECALL).  RELEASED says that nothing of the node is left in
 * the lock or on its way there.
 *
 * DOWNGRADE is for the only user inside, which is there in X; it cannot fail
 * and has no answer.  UPGRADE is for a user inside in S and is answered by
 * UPGRADED or NOT_UPGRADED; the user keeps S meanwhile.  One is outstanding at
 * a time; an UNLOCK of its user before the answer makes the answer void.
 *
 * Caching.  With @cache the node keeps the lock after the last UNLOCK until
 * another node asks.  Managed tenures of a lock that has a word for this node
 * are given back all the same: the next one is fast and can be kept.
 *
 * Lease.  On each GRANTED, and before every UNLOCK and WANT, the driver checks
 * that the session's lease is valid now; if it is not, it does not tell the
 * user but gives LEASE_LOST.  When the lease ends, LEASE_LOST is given to every
 * lc of the session before the home may reclaim anything: LOST and FAILED must
 * reach the users before that.  After it the lc answers FAILED(-ENOTCONN) to
 * every WANT until tally_lc_init() for a new session, which needs
 * !tally_lc_busy().
 *
 * Word operations.  All operations on one word go to one lane, those of a pair
 * behind one doorbell; its completion is good only if both are.  Every post is
 * answered by one OP_DONE with the table's @op, after a good completion or,
 * with @broken set, if the operation was flushed, failed or could not be
 * posted.  A broken operation is in doubt: it is never posted again blindly.
 * The table asks for a READ after the resume and decides from that, which is
 * sound because by then the home has destroyed the old responder QP, so that
 * nothing of it can execute any more.
 *
 * Messages.  SEND goes to the home on the control conn, in order.  While the
 * link is down the table sends nothing; a message that could not be sent is
 * dropped, RESYNC makes up for it.  A message depends on word operations only
 * after their completion, since it goes by another QP, on which it could be
 * there first (race B21 in docs/protocol.md); the table keeps that order.
 *
 * Successor.  HANDOVER goes to the node in @next_slot of the home, straight and
 * in parallel with the DONE behind it.  With a SUCC the driver says whether it
 * has a link to that node (@linked); without one the table sends REL and the
 * home grants.  When the delivery of a HANDOVER becomes uncertain (it could not
 * be sent, or the link broke before its completion): HANDED_BAD with its
 * @msg.next_gen, also if it may have arrived.
 *
 * Break and resume.  When the control conn or the word's lane breaks:
 *
 * 1. LINK_DOWN to every lc of the session, then drain the old QPs: every
 *    outstanding operation gives its OP_DONE, broken or not, and what had been
 *    received is delivered.
 * 2. New QPs, same session epoch.  Nothing on lock matters is sent on them yet:
 *    what waits in a send queue of the driver is dropped, or it would go out in
 *    front of RESYNC and speak for a lock that has not been listed.
 * 3. LINK_UP to every lc.  An lc that has something to list answers with SEND
 *    of a RESYNC as its first action, and may send more behind that.  An lc
 *    that is made during this walk counts as visited.
 * 4. Behind the last of them, RESYNC_END for the session.
 *
 * Passes.  Only the home can make the pass of a tenure; a node has it from GRANT,
 * UPGRADED or HANDOVER, and shows it with what it says of that tenure.  SUCC has
 * that of the next tenure under the one of the tenure it is for, so that it is of
 * use only to the holder.  The driver gives a HANDOVER to the table only if the
 * home has signed its pass.
 *
 * VIOLATION: end the session.  WORD_BAD: the word does not hold what only this
 * node may change; the table has stopped using the lock, tell the home's
 * administrator.  @bug in the list of actions: an invariant of the driver or of
 * the table is broken, WARN_ON_ONCE().
 *
 * Life.  An lc keeps @last, the highest generation accepted: a HANDOVER of an old
 * tenure may still be on its way, and names the same session.  The home gives
 * none twice, so an lc that is tally_lc_idle(), with all that it sent received,
 * may be closed, and a later one opened in the same session, if that begins with
 * the highest generation that the home had given by then.
 */

/* What the node has of the lock. */
enum tally_lc_state {
	TALLY_LC_IDLE,		/* nothing */
	TALLY_LC_ATT,		/* attempt on the word in flight */
	TALLY_LC_WAIT,		/* request at the home */
	TALLY_LC_HOLD,		/* local users are inside */
	TALLY_LC_CACHED,	/* owned, no user inside */
	TALLY_LC_RELF,		/* releasing FAA in flight */
	TALLY_LC_DNF,		/* downgrade in flight */
	TALLY_LC_UPF,		/* upgrade in flight */
	TALLY_LC_UPW,		/* managed upgrade asked, still holding S */
	TALLY_LC_DBT,		/* a word operation is in doubt */
	TALLY_LC_DEAD,		/* the session has ended, or the word is bad */
};

/* Word operations; an "and token" is an FAA(token, 1) behind it. */
enum tally_lc_op {
	TALLY_LC_OP_NONE,	/* none in flight */
	TALLY_LC_OP_ACQ_X,	/* CAS 0 to owner, and token */
	TALLY_LC_OP_ACQ_S,	/* FAA of the own bit, and token */
	TALLY_LC_OP_REL,	/* FAA that takes owner or bit out */
	TALLY_LC_OP_DOWN,	/* FAA: bit in, owner out */
	TALLY_LC_OP_UPG,	/* CAS from just the own bit to owner, token */
	TALLY_LC_OP_CLAIM,	/* FAA that takes a bit out that is no hold */
	TALLY_LC_OP_READ,	/* READ of a word in doubt */
	TALLY_LC_OP_TOKEN,	/* FAA of the token for a tenure */
};

/* The own bit in the word where it is not a hold. */
enum tally_lc_claim {
	TALLY_LC_CLAIM_NONE,	/* not there */
	TALLY_LC_CLAIM_IN,	/* there */
	TALLY_LC_CLAIM_OUT,	/* its removal is in flight */
	TALLY_LC_CLAIM_DOUBT,	/* its removal is in doubt */
};

/* The next holder. */
struct tally_lc_succ {
	u64 gen;	/* generation that is handed to it, 0: there is none */
	u64 session;	/* its session at the home, 0: no way to it */
	u64 pass;	/* of its tenure and ours, by exclusive or */
	u16 slot;	/* its slot at the home */
};

struct tally_lc_actions;

/**
 * struct tally_lc - one lock as one node sees it; all fields are the table's
 * @st: enum tally_lc_state
 * @mode: TALLY_LMODE_* of the tenure or request, 0 if none
 * @op: enum tally_lc_op in flight
 * @doubt: ACQ_X, ACQ_S, REL, DOWN or UPG while @st is DBT
 * @claim: enum tally_lc_claim
 * @local: sub-number of the last local grant of this tenure
 * @inside: TALLY_LMODE_* of the users inside
 * @word: the node may use the word (a slot with a bit, arena not cpu mode)
 * @cache: keep the lock when no node waits
 * @up: the link is up
 * @unsynced: a RESYNC that lists something is not answered yet
 * @fast: the tenure lives in the word
 * @rv: the home wants the lock back
 * @force: an administrator takes it away
 * @canc: the pending request was cancelled
 * @try: the pending request is one that does not wait
 * @want: a local user waits for an answer
 * @want_try: it does not want to wait
 * @want_direct: it skips the attempt on the word
 * @want_mode: TALLY_LMODE_* it wants
 * @early_rv: a REVOKE of @early came before its grant
 * @early_force: one by an administrator did
 * @slot: this node's slot
 * @users: how many are inside
 * @budget: local grants allowed after the recall
 * @spent: local grants since the recall
 * @err: what a WANT gets in DEAD
 * @gen: generation of the managed tenure, else 0
 * @pass: what shows the home that we have that tenure
 * @tenure: tenure number of the fast or managed tenure
 * @last: highest generation that cannot be one of a tenure to come: accepted, or
 *	given to others before the lock was opened
 * @session: this node's session at the home
 * @early: generation a SUCC or REVOKE came for before its grant, 0: none
 * @parked: generation of a HANDOVER that waits for SYNCED, 0: none
 * @parked_pass: its pass
 * @succ: the next holder
 * @early_succ: the next holder after @early
 * @out: what the step under way wants done; NULL between steps
 */
struct tally_lc {
	u8 st;
	u8 mode;
	u8 op;
	u8 doubt;
	u8 claim;
	u8 local;
	u8 inside;
	bool word;
	bool cache;
	bool up;
	bool unsynced;
	bool fast;
	bool rv;
	bool force;
	bool canc;
	bool try;
	bool want;
	bool want_try;
	bool want_direct;
	u8 want_mode;
	bool early_rv;
	bool early_force;
	u16 slot;
	u16 budget;
	u16 spent;
	u32 users;
	int err;
	u64 gen;
	u64 pass;
	u64 tenure;
	u64 last;
	u64 session;
	u64 early;
	u64 parked;
	u64 parked_pass;
	struct tally_lc_succ succ;
	struct tally_lc_succ early_succ;
	struct tally_lc_actions *out;
};

/* What can happen to a client. */
enum tally_lc_event_kind {
	TALLY_LCE_WANT,		/* a local user wants it: mode, try, direct */
	TALLY_LCE_CANCEL,	/* it does not any more */
	TALLY_LCE_UNLOCK,	/* a user inside leaves: late */
	TALLY_LCE_DOWNGRADE,	/* the only user inside goes on in S */
	TALLY_LCE_UPGRADE,	/* a user in S wants X without waiting */
	TALLY_LCE_SET,		/* settings: cache, budget */
	TALLY_LCE_OP_DONE,	/* one ended: op, broken, state, token */
	TALLY_LCE_MSG,		/* a message came: msg, linked */
	TALLY_LCE_HANDED_BAD,	/* a HANDOVER may be lost: msg.next_gen */
	TALLY_LCE_LINK_DOWN,	/* the link broke */
	TALLY_LCE_LINK_UP,	/* the session was resumed on new QPs */
	TALLY_LCE_LEASE_LOST,	/* the session has ended */
};

/* One event. */
struct tally_lc_event {
	u8 kind;	/* enum tally_lc_event_kind */
	u8 op;		/* OP_DONE: enum tally_lc_op */
	u8 mode;	/* WANT: TALLY_LMODE_* */
	bool broken;	/* OP_DONE: no good completion */
	bool try;	/* WANT: wait for no other user */
	/*
	 * WANT: the lock was managed a moment ago, ask the home without trying
	 * the word first (a hint, ignored together with try)
	 */
	bool direct;
	bool late;	/* UNLOCK: the time after a recall has run out */
	bool linked;	/* MSG, SUCC: there is a link to the successor */
	bool cache;	/* SET: keep the lock when no node waits */
	u16 budget;	/* SET: local grants after a recall */
	u64 state;	/* OP_DONE: the state word before it, or as read */
	u64 token;	/* OP_DONE: the token word before its FAA */
	struct tally_lmsg msg;	/* MSG: the message */
};

/* What the driver does. */
enum tally_lc_action_kind {
	TALLY_LCA_POST_CAS_FAA,	/* CAS(state, compare, value), FAA(token, 1) */
	TALLY_LCA_POST_FAA_FAA,	/* FAA(state, value), FAA(token, 1) */
	TALLY_LCA_POST_FAA,	/* FAA(state, value) */
	TALLY_LCA_POST_READ,	/* READ(state) */
	TALLY_LCA_POST_TOKEN_FAA, /* FAA(token, 1) */
	TALLY_LCA_SEND,		/* send msg to the home */
	TALLY_LCA_HANDOVER,	/* send msg to the successor */
	TALLY_LCA_GRANTED,	/* the local user has the lock: token */
	/*
	 * It does not get it: err is -EBUSY (try), -ENOTCONN (no session, or
	 * try while the link is down), -EIO (word bad).
	 */
	TALLY_LCA_FAILED,
	TALLY_LCA_CANCELLED,	/* answer to CANCEL */
	TALLY_LCA_UPGRADED,	/* the user inside has X: token */
	/*
	 * It has S as before: err is -EDEADLK (others hold it or wait for it),
	 * -EAGAIN (the tenure has no token left).
	 */
	TALLY_LCA_NOT_UPGRADED,
	TALLY_LCA_RECALL,	/* another node waits for this tenure */
	TALLY_LCA_LOST,		/* all users inside have lost the lock */
	TALLY_LCA_RELEASED,	/* nothing of this node is left in the lock */
	TALLY_LCA_VIOLATION,	/* the home broke the protocol */
	TALLY_LCA_WORD_BAD,	/* the word holds what it cannot hold */
};

/* One action. */
struct tally_lc_action {
	u8 kind;	/* enum tally_lc_action_kind */
	int err;	/* FAILED, NOT_UPGRADED: negative errno */
	u64 token;	/* GRANTED, UPGRADED: fencing token */
	u64 compare;	/* POST_CAS_FAA: value the state word must have */
	u64 value;	/* CAS: value it gets; FAA: what is added */
	struct tally_lmsg msg;	/* SEND, HANDOVER; of no meaning in others */
};

#define TALLY_LC_ACTIONS	6

/* What a step wants done, in this order. */
struct tally_lc_actions {
	u8 n;		/* number of actions */
	bool bug;	/* an own invariant is broken */
	struct tally_lc_action a[TALLY_LC_ACTIONS];	/* the actions */
};

void tally_lc_init(struct tally_lc *lc, u16 slot, u64 session, u64 last,
		   bool word, bool up);
void tally_lc_step(struct tally_lc *lc, const struct tally_lc_event *ev,
		   struct tally_lc_actions *out);
bool tally_lc_idle(const struct tally_lc *lc);

/* Is a word operation outstanding?  Until its OP_DONE has been given. */
static inline bool tally_lc_busy(const struct tally_lc *lc)
{
	return lc->op != TALLY_LC_OP_NONE;
}

/* Does another node wait for this tenure? */
static inline bool tally_lc_recalled(const struct tally_lc *lc)
{
	return lc->rv || lc->succ.gen;
}

#endif
