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

/**
 * enum tally_lmsg_type - what a lock message says; the numbers are on the wire
 * @TALLY_LM_ENQUEUE: client to home: mode, flags TRY
 * @TALLY_LM_CANCEL: client to home
 * @TALLY_LM_REL: client to home: gen, flags VALUE_BAD, value block
 * @TALLY_LM_DONE: client to home: gen, value block; handed to the successor
 * @TALLY_LM_LOOK: client to home: a hint, my field left the word while W was set
 * @TALLY_LM_DOWN: client to home: gen, which is a shared tenure from now on
 * @TALLY_LM_UPG: client to home: gen of a shared tenure that asks for X
 * @TALLY_LM_LOST: client to home: next_gen of a HANDOVER that may not arrive
 * @TALLY_LM_BUSY: client to home: gen, answers REVOKE with IDLE_ONLY
 * @TALLY_LM_RESYNC: client to home: mode of the pending request or 0, flags
 *	CANC, TRY; gen held or 0, flags HELD_S, UPG; last
 * @TALLY_LM_RESYNC_END: client to home: no lock, the snapshot is complete
 * @TALLY_LM_GRANT: home to client: gen, mode, flags VALUE_BAD, value block
 * @TALLY_LM_SUCC: home to client: gen, next_slot, next_session, next_gen
 * @TALLY_LM_REVOKE: home to client: gen, 0 for a fast tenure; flags FORCE,
 *	IDLE_ONLY
 * @TALLY_LM_CANCELLED: home to client
 * @TALLY_LM_DENIED: home to client
 * @TALLY_LM_UPGRADED: home to client: gen of the new X tenure
 * @TALLY_LM_SYNCED: home to client: the RESYNC of this lock has been processed
 * @TALLY_LM_SET: home to client: settings of the lock, not for the tables:
 *	flags CACHE, gen: grants, last: milliseconds of the budget
 * @TALLY_LM_HANDOVER: client to client: next_session, next_gen, value block
 */
enum tally_lmsg_type {
	TALLY_LM_ENQUEUE	= 1,
	TALLY_LM_CANCEL		= 2,
	TALLY_LM_REL		= 3,
	TALLY_LM_DONE		= 4,
	TALLY_LM_LOOK		= 5,
	TALLY_LM_DOWN		= 6,
	TALLY_LM_UPG		= 7,
	TALLY_LM_LOST		= 8,
	TALLY_LM_BUSY		= 9,
	TALLY_LM_RESYNC		= 10,
	TALLY_LM_RESYNC_END	= 11,

	TALLY_LM_GRANT		= 17,
	TALLY_LM_SUCC		= 18,
	TALLY_LM_REVOKE		= 19,
	TALLY_LM_CANCELLED	= 20,
	TALLY_LM_DENIED		= 21,
	TALLY_LM_UPGRADED	= 22,
	TALLY_LM_SYNCED		= 23,
	TALLY_LM_SET		= 24,

	TALLY_LM_HANDOVER	= 33,
};

/* Modes of a tenure or a request; 0 is none. */
#define TALLY_LMODE_X		1	/* exclusive */
#define TALLY_LMODE_S		2	/* shared */

#define TALLY_LMF_TRY		0x01	/* ENQUEUE, RESYNC: do not wait */
#define TALLY_LMF_CANC		0x02	/* RESYNC: the request was cancelled */
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
 * @last: RESYNC: the highest generation the client ever accepted
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
};

#endif
