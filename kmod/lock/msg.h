/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lock messages in host form.  The sender's arena, lock, home incarnation and
 * session epoch travel in the frame around them and are checked before a
 * message gets here; a value block, where one travels, follows the message
 * and is the driver's.
 */
#ifndef TALLY_LOCKMSG_H
#define TALLY_LOCKMSG_H

#include <linux/types.h>

/* What a lock message says; the numbers are on the wire. */
enum tally_lmsg_type {
	/* client to home */
	TALLY_LM_ENQUEUE	= 1,	/* mode, flags TRY */
	TALLY_LM_CANCEL		= 2,
	TALLY_LM_REL		= 3,	/* gen, pass, flags VALUE_BAD */
	TALLY_LM_DONE		= 4,	/* gen, pass; handed over */
	TALLY_LM_LOOK		= 5,	/* hint: my field left a word with W */
	TALLY_LM_DOWN		= 6,	/* gen, pass: shared from now on */
	TALLY_LM_UPG		= 7,	/* gen, pass: shared, asks for X */
	TALLY_LM_LOST		= 8,	/* next_gen of a doubtful HANDOVER */
	TALLY_LM_BUSY		= 9,	/* gen; answers REVOKE, IDLE_ONLY */
	/* mode of the pending request or 0; gen held or 0, pass; last; flags */
	TALLY_LM_RESYNC		= 10,
	TALLY_LM_RESYNC_END	= 11,	/* no lock: the snapshot is complete */

	/* home to client */
	TALLY_LM_GRANT		= 17,	/* gen, pass, mode */
	TALLY_LM_SUCC		= 18,	/* gen, next_{slot,session,gen}, pass */
	TALLY_LM_REVOKE		= 19,	/* gen, 0: a fast tenure; mode, flags */
	TALLY_LM_CANCELLED	= 20,	/* gen: of a place that is taken back, or 0 */
	TALLY_LM_DENIED		= 21,
	TALLY_LM_UPGRADED	= 22,	/* gen of the new X tenure, pass */
	TALLY_LM_SYNCED		= 23,	/* RESYNC of this lock is processed */
	/* settings, not for the tables: flags; gen: grants; last: ms */
	TALLY_LM_SET		= 24,

	/* client to client */
	TALLY_LM_HANDOVER	= 33,	/* next_session, next_gen, pass */
};

/* Modes of a tenure or a request; 0 is none. */
#define TALLY_LMODE_X		1	/* exclusive */
#define TALLY_LMODE_S		2	/* shared */

#define TALLY_LMF_TRY		0x01	/* ENQUEUE, RESYNC: do not wait */
#define TALLY_LMF_CANC		0x02	/* RESYNC: the request was cancelled; REL: never had */
#define TALLY_LMF_HELD_S	0x04	/* RESYNC: held in shared mode */
#define TALLY_LMF_UPG		0x08	/* RESYNC: upgrade asked */
#define TALLY_LMF_VALUE		0x10	/* a value block follows */
#define TALLY_LMF_VALUE_BAD	0x20	/* the value block is not valid */
#define TALLY_LMF_FORCE		0x40	/* REVOKE: by an administrator */
#define TALLY_LMF_IDLE_ONLY	0x80	/* REVOKE: only if no user is inside */
#define TALLY_LMF_CACHE		0x01	/* SET: keep it when no node waits */

/**
 * struct tally_lock_set - settings of a lock, the same for every node
 * @cache: a node keeps the lock when none waits
 * @grants: after a recall so many further local users may have it,
 * @ms: for so long
 */
struct tally_lock_set {
	bool cache;
	u16 grants;
	u16 ms;
};

/**
 * struct tally_lmsg - one lock message
 * @type: enum tally_lmsg_type
 * @mode: TALLY_LMODE_*
 * @flags: TALLY_LMF_*
 * @pad: zero
 * @next_slot: SUCC: slot of the successor
 * @zero: zero
 * @next_session: SUCC, HANDOVER: session of the successor at the home
 * @gen: generation of a managed tenure, which is its tenure number; 0: none
 * @next_gen: SUCC, HANDOVER, LOST: generation of the successor
 * @last: RESYNC: the highest generation the client ever accepted; SUCC, HANDOVER:
 *	the proof, which is the drivers' affair
 * @pass: pass of the tenure @gen, HANDOVER: @next_gen; SUCC: both, by exclusive or
 */
struct tally_lmsg {
	u8 type;
	u8 mode;
	u8 flags;
	u8 pad;
	u16 next_slot;
	u16 zero;
	u64 next_session;
	u64 gen;
	u64 next_gen;
	u64 last;
	u64 pass;
};

#endif
