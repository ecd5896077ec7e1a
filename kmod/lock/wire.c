// SPDX-License-Identifier: GPL-2.0
#include "lock/wire.h"

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

/* @next: SUCC: name of the successor; else NULL */
void tally_lock_encode(struct tally_msg_lock *body, u32 arena, u32 object,
		       u32 generation, const struct tally_lmsg *msg,
		       const char *next)
{
	memset(body, 0, sizeof(*body));
	body->object.arena = cpu_to_be32(arena);
	body->object.object = cpu_to_be32(object);
	body->object.generation = cpu_to_be32(generation);
	body->type = msg->type;
	body->mode = msg->mode;
	body->flags = msg->flags;
	body->gen = cpu_to_be64(msg->gen);
	body->last = cpu_to_be64(msg->last);
	body->next_gen = cpu_to_be64(msg->next_gen);
	body->next_session = cpu_to_be64(msg->next_session);
	if (next)
		strscpy(body->next, next, sizeof(body->next));
}

/* Is there in @body what no message of its type has? */
static bool lock_malformed(const struct tally_msg_lock *body)
{
	bool succ = body->type == TALLY_LM_SUCC;
	bool handover = body->type == TALLY_LM_HANDOVER;
	bool lost = body->type == TALLY_LM_LOST;

	if (body->object.reserved || body->token ||
	    memchr_inv(body->reserved, 0, sizeof(body->reserved)))
		return true;
	if (!succ && !handover && !lost && body->next_gen)
		return true;
	if (!succ && !handover && body->next_session)
		return true;
	if (succ)
		return strnlen(body->next, sizeof(body->next)) ==
		       sizeof(body->next);
	return memchr_inv(body->next, 0, sizeof(body->next));
}

/* 0, or -EPROTO for what no peer may send. */
int tally_lock_decode(const struct tally_msg_lock *body, u32 len, u32 *arena,
		      u32 *object, u32 *generation, struct tally_lmsg *msg)
{
	if (len != sizeof(*body) || lock_malformed(body))
		return -EPROTO;
	memset(msg, 0, sizeof(*msg));
	*arena = be32_to_cpu(body->object.arena);
	*object = be32_to_cpu(body->object.object);
	*generation = be32_to_cpu(body->object.generation);
	msg->type = body->type;
	msg->mode = body->mode;
	msg->flags = body->flags;
	msg->gen = be64_to_cpu(body->gen);
	msg->last = be64_to_cpu(body->last);
	msg->next_gen = be64_to_cpu(body->next_gen);
	msg->next_session = be64_to_cpu(body->next_session);
	return 0;
}
