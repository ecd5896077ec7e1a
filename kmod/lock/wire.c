// SPDX-License-Identifier: GPL-2.0
#include "lock/wire.h"

#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

/* All but the name of a successor. */
void tally_lock_encode(struct tally_msg_lock *body, u32 arena, u32 object,
		       u32 generation, const struct tally_lmsg *msg)
{
	*body = (struct tally_msg_lock){
		.object.arena = cpu_to_be32(arena),
		.object.object = cpu_to_be32(object),
		.object.generation = cpu_to_be32(generation),
		.type = msg->type,
		.mode = msg->mode,
		.flags = msg->flags,
		.gen = cpu_to_be64(msg->gen),
		.pass = cpu_to_be64(msg->pass),
		.last = cpu_to_be64(msg->last),
		.next_gen = cpu_to_be64(msg->next_gen),
		.next_session = cpu_to_be64(msg->next_session),
	};
}

/* Types of messages with a pass. */
#define LOCK_PASSES	(BIT_ULL(TALLY_LM_REL) | BIT_ULL(TALLY_LM_DONE) |	\
			 BIT_ULL(TALLY_LM_DOWN) | BIT_ULL(TALLY_LM_UPG) |	\
			 BIT_ULL(TALLY_LM_RESYNC) | BIT_ULL(TALLY_LM_GRANT) |	\
			 BIT_ULL(TALLY_LM_SUCC) | BIT_ULL(TALLY_LM_UPGRADED) |	\
			 BIT_ULL(TALLY_LM_HANDOVER))

/* Is there in @body what no message of its type has? */
static bool lock_malformed(const struct tally_msg_lock *body)
{
	bool succ = body->type == TALLY_LM_SUCC;
	bool handover = body->type == TALLY_LM_HANDOVER;

	if (body->object.reserved ||
	    memchr_inv(body->reserved, 0, sizeof(body->reserved)))
		return true;
	if (body->pass &&
	    (body->type > TALLY_LM_HANDOVER ||
	     !(LOCK_PASSES >> body->type & 1)))
		return true;
	if (!succ && !handover && body->type != TALLY_LM_LOST && body->next_gen)
		return true;
	if (!succ && !handover && body->next_session)
		return true;
	if (succ)
		return strnlen(body->next, sizeof(body->next)) ==
		       sizeof(body->next);
	return memchr_inv(body->next, 0, sizeof(body->next));
}

/* 0, or -EPROTO for what no peer may send; the length is right. */
int tally_lock_decode(const struct tally_msg_lock *body, struct tally_lmsg *msg)
{
	if (lock_malformed(body))
		return -EPROTO;
	*msg = (struct tally_lmsg){
		.type = body->type,
		.mode = body->mode,
		.flags = body->flags,
		.gen = be64_to_cpu(body->gen),
		.pass = be64_to_cpu(body->pass),
		.last = be64_to_cpu(body->last),
		.next_gen = be64_to_cpu(body->next_gen),
		.next_session = be64_to_cpu(body->next_session),
	};
	return 0;
}

/*
 * What the home signs, with the key of the successor's session, so that the
 * successor believes the node which hands over: the pass of generation @gen.
 */
u64 tally_lock_proof(const siphash_key_t *key,
		     const struct tally_wire_object *which, u64 gen, u64 pass)
{
	u64 object = (u64)be32_to_cpu(which->arena) << 32 |
		     be32_to_cpu(which->object);

	return siphash_4u64(object, be32_to_cpu(which->generation), gen, pass,
			    key);
}
