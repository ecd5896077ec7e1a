/* SPDX-License-Identifier: GPL-2.0 */
/* Layout of the messages about locks, and to host form (lock/msg.h) and back. */
#ifndef TALLY_LOCK_WIRE_H
#define TALLY_LOCK_WIRE_H

#include <linux/siphash.h>
#include "lock/msg.h"
#include "object/wire.h"

/* What a node has of a lock. */
enum tally_who {
	TALLY_WHO_NOTHING	= 0,	/* nothing, or nothing settled */
	TALLY_WHO_CACHED	= 1,	/* it, and no user is inside */
	TALLY_WHO_INSIDE	= 2,	/* it, and a user is inside */
};

/**
 * struct tally_rep_who - answer to a home that asks which user has its lock
 * @state: enum tally_who
 * @mode: TALLY_LMODE_* of lock/msg.h in which the node has it, else 0
 * @reserved: zero
 * @pid: of one that is inside; 0: kernel code, or none is
 * @age_ms: how long that one has been inside, else 0
 * @lease_ms: how long the node may act on it without a word from the home
 * @comm: name of that one, NUL-padded; whatever a process calls itself
 */
struct tally_rep_who {
	u8	state;
	u8	mode;
	u8	reserved[2];
	__be32	pid;
	__be64	age_ms;
	__be64	lease_ms;
	char	comm[16];
} __packed;
static_assert(sizeof(struct tally_rep_who) == 40);

/**
 * struct tally_msg_lock - one lock message, either direction
 * @object: the lock
 * @type: enum tally_lmsg_type of lock/msg.h
 * @mode: mode asked for or granted
 * @flags: flags of that message
 * @reserved: zero
 * @gen: generation of the tenure
 * @pass: of that tenure; SUCC: and of the successor's
 * @last: RESYNC: highest generation ever accepted; SUCC, HANDOVER: proof
 * @next_gen: SUCC, HANDOVER, LOST: generation of the successor
 * @next_session: SUCC, HANDOVER: id of the successor's session with the home
 * @next: SUCC: name of the successor, NUL-padded
 */
struct tally_msg_lock {
	struct tally_wire_object object;
	u8	type;
	u8	mode;
	u8	flags;
	u8	reserved[5];
	__be64	gen;
	__be64	pass;
	__be64	last;
	__be64	next_gen;
	__be64	next_session;
	char	next[TALLY_NAME_SIZE];
} __packed;

void tally_lock_encode(struct tally_msg_lock *body, u32 arena, u32 object,
		       u32 generation, const struct tally_lmsg *msg);
int tally_lock_decode(const struct tally_msg_lock *body,
		      struct tally_lmsg *msg);
u64 tally_lock_proof(const siphash_key_t *key,
		     const struct tally_wire_object *which, u64 gen, u64 pass);

#endif
