// SPDX-License-Identifier: GPL-2.0
/*
 * Credits of a control conn, as arithmetic alone.
 *
 * Both sides count what they sent and what they consumed since the conn
 * began, all messages alike. Every header tells the count consumed, so
 * sent - acked is what may still lie in the peer's RECVs. Ordinary messages
 * leave the last two RECVs to CREDIT, which goes out when a quarter of the
 * ring was consumed and no other message told it.
 *
 * No deadlock: a side that is stuck at its limit sent a CREDIT last. The
 * other one, when that arrived, had its own window opened by it, and whatever
 * it sent later told all it consumed. So not both can be stuck.
 *
 * Until the peer knows the depth of our ring a quarter of it may be more than
 * all it dares to send. It tells depths in the first message of each side, so
 * it knows ours when it has consumed something we sent after we knew its own.
 */
#include <linux/minmax.h>
#include "transport/credit.h"

void tally_credits_set_depth(struct tally_credits *credits, u32 depth)
{
	if (depth > TALLY_CREDIT_DEPTH_MIN)
		credits->depth = depth;
	credits->mark = credits->sent;
	credits->known = true;
}

/* Is there a RECV for an ordinary message? */
bool tally_credits_may_send(const struct tally_credits *credits)
{
	return credits->sent - credits->acked <
	       credits->depth - TALLY_CREDIT_RESERVED;
}

/* Is it time for a CREDIT, and is there a RECV for it? */
bool tally_credits_owe(const struct tally_credits *credits)
{
	u32 ring = TALLY_CREDIT_DEPTH_MIN;

	if (credits->agreed)
		ring = min(credits->depth, TALLY_MSG_DEPTH);
	return credits->consumed - credits->told >= ring / 4 &&
	       credits->sent - credits->acked < credits->depth;
}

/* A message goes out. Return: what its header tells. */
u32 tally_credits_send(struct tally_credits *credits)
{
	credits->sent++;
	credits->told = credits->consumed;
	return credits->told;
}

/* A header told @acked. Return: false when that cannot be true. */
bool tally_credits_ack(struct tally_credits *credits, u32 acked)
{
	if (acked - credits->acked > credits->sent - credits->acked)
		return false;
	credits->acked = acked;
	if (credits->known && (s32)(acked - credits->mark) > 0)
		credits->agreed = true;
	return true;
}
