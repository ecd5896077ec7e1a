/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The home side of one lock: a pure state table.
 */
#ifndef TALLY_LOCKHOME_H
#define TALLY_LOCKHOME_H

#include <linux/types.h>

#include "lock/msg.h"
#include "lock/word.h"

/**
 * DOC: driving the home table
 *
 * One struct tally_lh stands for one lock at its home, one struct
 * tally_lh_node for one lock and one session.  tally_lh_step() takes one event,
 * changes them and fills a list of actions.  It allocates nothing, reads no
 * clock and takes no lock.
 *
 * Serialisation.  All steps of one lh run under one lock of the driver.  The
 * actions of a step are carried out in the order of the list and before those
 * of a later step of the same lh; events they cause are given after the step.
 *
 * The word.  Every event of a lock with a word carries both words, read inside
 * the lock right before the step: state first, token after it (smp_rmb()
 * between), by aligned CPU reads on coherent hardware, else by a loopback READ.
 * A step must not see words read before an earlier step.  A cpu arena passes
 * zeros.
 *
 * Nodes.  The driver makes a tally_lh_node before the first message of a
 * session on this lock comes in and passes it with every event of that session.
 * It may free it after SESSION_END, which it also gives to close a lock for a
 * session that goes on, if that is tally_lh_node_idle() and has nothing in the
 * word; before that RESYNC_END, if the node is not @up.  A session that attaches again has a new
 * one.  The home's own users are a client like the others, in slot 1, whose
 * tally_lc is linked to this table by calls: their messages go through a local
 * queue, not through recursion, and their word operations through the loopback
 * lane.  To them a broken loopback QP is a broken link: LINK_DOWN for the
 * client, its queued messages delivered, LINK_DOWN for the node, and after the
 * LOOP_RESET LINK_UP, the RESYNC delivered, RESYNC_END.
 *
 * Loopback operations.  All go to the one loopback lane of that word, those of
 * a pair behind one doorbell, and are answered by SETW_DONE, CLRW_DONE and
 * SWEEP_DONE with the value the state word had.  At most one of POST_SETW and
 * POST_CLRW and one POST_SWEEP are outstanding.  Each takes a round trip
 * through the NIC, longer than a message (race B20 in docs/protocol.md): so W
 * is set when the first one has to wait, stays while the queue passes the lock
 * on by messages alone, and is cleared when none is left; and nothing waits for
 * any of them in a completion handler.  If the loopback QP breaks: destroy it,
 * make a new one, give completions that were reaped before, then LOOP_RESET to
 * every lock; the table posts again what the word shows as not done.
 *
 * Messages.  SEND names a slot.  It is dropped if that session has no live
 * control conn.  The table itself is silent towards a node between its break
 * and its RESYNC, with one exception that is harmless at any time: REVOKE of a
 * fast tenure, whose holder may have no tally_lh_node at all.
 *
 * Break of a session and resume.
 *
 * 1. Stop delivering from its old conn, then LINK_DOWN for each of its nodes.
 *    Messages already received may be delivered before LINK_DOWN or dropped,
 *    but not delivered after it.
 * 2. Its QPs to error, drained and destroyed, before new ones are accepted.
 * 3. On the new conn RESYNC messages are given as they come.  A lock whose
 *    first message is another one had nothing to list; the table knows.
 * 4. On RESYNC_END: the event RESYNC_END for every lock of the arena that has a
 *    node of this session or is not FAST (tally_lh_fast()), with the node or
 *    NULL.
 *
 * End of a session, in this order and no other:
 *
 * 1. all QPs of the session to error, drained, destroyed;
 * 2. locks of class external: the lease deadline the home computed has passed.
 *    Locks of class region do not wait;
 * 3. SESSION_END for every lock of the arena, with the node or NULL.
 *    VALUE_BAD comes before POST_SWEEP in the list: clear the valid flag of the
 *    value block first;
 * 4. the slot is free when every lock has been visited and its field is out of
 *    each word: !tally_lh_sweeping() after SESSION_END or a later step.
 *
 * The sweep is a grant, since the next CAS can succeed as soon as it has
 * executed.  Visiting a lock late, at its first conflict, is allowed in the
 * same order.
 *
 * Tries.  A try is queued only where no other node waits, and then the holder
 * is asked whether it is inside: REVOKE with IDLE_ONLY, answered by a release
 * or by BUSY, which denies the try.  Those behind it wait meanwhile.
 *
 * Break by an administrator.  BREAK sends REVOKE with FORCE to all that have
 * the lock now, after FAA(+W) where that is needed.  A holder that does not
 * answer is the driver's to fence: SESSION_END.
 *
 * Passes.  The driver makes the pass of a generation, which nobody can guess, and
 * puts it into GRANT and UPGRADED, and into SUCC under that of the tenure that SUCC
 * is for (struct tally_lmsg).  So a node has the pass of a tenure only if it has or
 * had that tenure, whatever else it was told or says.
 *
 * Grace.  A lock of class external that is made within one lease after the
 * start of an unclean home is made with TALLY_LH_GRACE: its word is born with W
 * set, requests queue, and GRACE_OVER lets the first one in.  The word is
 * written by the CPU before the table can be reached.
 *
 * VIOLATION: that node broke the protocol, end its session.  WORD_BAD: the word
 * was changed by one that may not; the table has stopped, forgotten queue and
 * holder, and answers nothing any more: delete the lock, which also ends the
 * waiting of its users.  @more: the list was full: give MORE before anything
 * else happens to the lock; a large group of readers is granted or recalled in
 * several steps.  @bug: an own invariant is broken, WARN_ON_ONCE().
 */

/* What decides about the lock. */
enum tally_lh_mode {
	TALLY_LH_FAST,		/* the word, W is clear */
	TALLY_LH_SETW,		/* FAA(+W) is posted */
	TALLY_LH_DRAIN,		/* W is set, a fast owner is left */
	TALLY_LH_MAN,		/* the queue */
	TALLY_LH_CLRW,		/* FAA(-W) is posted */
	TALLY_LH_BAD,		/* nothing, the word is bad */
};

/* Flags of tally_lh_init() */
#define TALLY_LH_CPU	0x1	/* no word, managed for ever */
#define TALLY_LH_GRACE	0x2	/* grants nothing before GRACE_OVER */

/* How a holder was asked to give the lock back. */
enum tally_lh_asked {
	TALLY_LH_ASKED_NOT,	/* it was not */
	TALLY_LH_ASKED_IDLE,	/* only if no user is inside */
	TALLY_LH_ASKED,		/* as soon as its users are out */
	TALLY_LH_ASKED_FORCE,	/* at once */
};

/* What one that was announced knows and says of its giving up. */
enum tally_lh_canc {
	TALLY_LH_CANC_NOT,	/* it waits */
	TALLY_LH_CANC_SAID,	/* it has said CANCEL */
	TALLY_LH_CANC_TOLD,	/* it was sent CANCELLED, and answers REL */
};

/* One session at one lock; all fields are the table's. */
struct tally_lh_node {
	struct tally_lh_node *next;	/* behind it in queue or holders */
	u64 session;	/* id of the session, which SUCC names */
	u64 gen;	/* generation of its shared tenure, else 0 */
	u16 slot;	/* node slot */
	u8 mode;	/* TALLY_LMODE_* asked for, 0 when not queued */
	bool try;	/* asked not to wait */
	u8 canc;	/* enum tally_lh_canc, while in the chain */
	u8 asked;	/* enum tally_lh_asked, of its managed tenure */
	bool force;	/* that tenure is to be ended */
	bool up;	/* messages may be sent */
};

/*
 * How many successors are announced ahead.  DONE and the SUCC that answers it
 * take two hops, in which an empty critical section is handed over twice.
 */
#define TALLY_LH_CHAIN	3

struct tally_lh_actions;

/**
 * struct tally_lh - one lock at its home; all fields are the table's
 * @hm: enum tally_lh_mode
 * @cpu: the lock has no word
 * @grace: nothing is granted yet
 * @down: @cur has become shared, but may have handed over before
 * @forced: fast tenures are being ended by an administrator
 * @sweep: slot whose field is being swept, or 0
 * @sweep_next: slots to be swept when that has completed, bit of slot - 1
 * @fast: slots whose bit may be a fast shared hold (F), bit of slot - 1
 * @fast_idle: fast holders asked with IDLE_ONLY, likewise
 * @fast_asked: fast holders asked without, likewise
 * @fast_forced: fast holders asked with FORCE, likewise
 * @head: first in the queue
 * @tail: last in the queue
 * @cur: exclusive holder of a managed tenure
 * @via: node that handed it over, or NULL
 * @gen: its generation
 * @suc: announced successors, in order; NULL with @suc_gen if that session is
 *	dead, or has had that tenure
 * @suc_gen: generations announced, 0 behind the last
 * @shared: shared holders of managed tenures
 * @ng: last generation given
 * @out: what the step under way wants done; NULL between steps
 */
struct tally_lh {
	u8 hm;
	bool cpu;
	bool grace;
	bool down;
	bool forced;
	u16 sweep;
	u64 sweep_next;
	u64 fast;
	u64 fast_idle;
	u64 fast_asked;
	u64 fast_forced;
	struct tally_lh_node *head;
	struct tally_lh_node *tail;
	struct tally_lh_node *cur;
	struct tally_lh_node *via;
	u64 gen;
	struct tally_lh_node *suc[TALLY_LH_CHAIN];
	u64 suc_gen[TALLY_LH_CHAIN];
	struct tally_lh_node *shared;
	u64 ng;
	struct tally_lh_actions *out;
};

/* What can happen at the home. */
enum tally_lh_event_kind {
	TALLY_LHE_MSG,		/* a message came: node, msg */
	TALLY_LHE_SETW_DONE,	/* FAA(+W) completed: old */
	TALLY_LHE_CLRW_DONE,	/* FAA(-W) completed: old */
	TALLY_LHE_SWEEP_DONE,	/* a sweep completed: slot, old */
	TALLY_LHE_LINK_DOWN,	/* a link broke: node */
	TALLY_LHE_RESYNC_END,	/* a snapshot is complete: slot, node or NULL */
	TALLY_LHE_SESSION_END,	/* a session is fenced: slot, node or NULL */
	TALLY_LHE_GRACE_OVER,	/* one lease has passed since the start */
	TALLY_LHE_LOOP_RESET,	/* a new loopback QP replaced a broken one */
	TALLY_LHE_BREAK,	/* an administrator ends the tenure there is */
	TALLY_LHE_MORE,		/* the last step's list was full */
};

/* One event. */
struct tally_lh_event {
	u8 kind;	/* enum tally_lh_event_kind */
	u16 slot;	/* SWEEP_DONE, RESYNC_END, SESSION_END: node slot */
	struct tally_lh_node *node;	/* the session at this lock, or NULL */
	u64 state;	/* state word now */
	u64 token;	/* token word now, read after @state */
	u64 old;	/* the state word before a loopback operation */
	bool proven;	/* MSG: msg.pass is that of msg.gen */
	struct tally_lmsg msg;	/* MSG: the message */
};

/* What the driver does. */
enum tally_lh_action_kind {
	TALLY_LHA_POST_SETW,	/* FAA(state, W) */
	TALLY_LHA_POST_CLRW,	/* FAA(token, delta) if not 0, FAA(state, -W) */
	TALLY_LHA_POST_SWEEP,	/* FAA(state, -delta) */
	TALLY_LHA_SEND,		/* send msg to the session in slot */
	TALLY_LHA_VALUE_BAD,	/* the value block is not valid any more */
	TALLY_LHA_VIOLATION,	/* the session in slot broke the protocol */
	TALLY_LHA_WORD_BAD,	/* the word holds what it cannot hold */
};

/* One action. */
struct tally_lh_action {
	u8 kind;	/* enum tally_lh_action_kind */
	u16 slot;	/* SEND, POST_SWEEP, VIOLATION: node slot */
	u64 delta;	/* CLRW: growth of the token; SWEEP: field taken out */
	struct tally_lmsg msg;	/* SEND: message */
};

#define TALLY_LH_ACTIONS	10

/* What a step wants done, in this order. */
struct tally_lh_actions {
	u8 n;		/* number of actions */
	bool more;	/* there was no room for all: MORE is the next event */
	bool bug;	/* an own invariant is broken */
	struct tally_lh_action a[TALLY_LH_ACTIONS];	/* the actions */
};

u64 tally_lh_init(struct tally_lh *lh, unsigned int flags, u64 tenure);
void tally_lh_node_init(struct tally_lh_node *node, u16 slot, u64 session,
			bool up);
void tally_lh_step(struct tally_lh *lh, const struct tally_lh_event *ev,
		   struct tally_lh_actions *out);
int tally_lh_announced(const struct tally_lh *lh,
		       const struct tally_lh_node *node);
bool tally_lh_node_idle(const struct tally_lh *lh,
			const struct tally_lh_node *node);
bool tally_lh_taken(const struct tally_lh *lh, u64 state);
bool tally_lh_breaking(const struct tally_lh *lh);
bool tally_lh_unanswered(const struct tally_lh *lh, u16 slot,
			 const struct tally_lh_node *node, u64 state);

/* The bit of @slot in the masks above; 0 where it has none in the word. */
static inline u64 tally_lh_slot_mask(u16 slot)
{
	return slot && slot <= TALLY_LW_BIT_SLOT_MAX ? 1ULL << (slot - 1) : 0;
}

/* From SESSION_END on: is @slot's field still to be taken out of the word? */
static inline bool tally_lh_sweeping(const struct tally_lh *lh, u16 slot)
{
	return lh->sweep == slot || lh->sweep_next & tally_lh_slot_mask(slot);
}

/* Is the lock entirely the word's?  Then the home changes nothing. */
static inline bool tally_lh_fast(const struct tally_lh *lh)
{
	return lh->hm == TALLY_LH_FAST;
}

#endif
