/* SPDX-License-Identifier: GPL-2.0 */
/* Credits of a control conn, as arithmetic alone: see transport/credit.c. */
#ifndef TALLY_CREDIT_H
#define TALLY_CREDIT_H

#include <linux/types.h>
#include "base/wire.h"

/* What a peer's ring is taken for until HELLO tells; none has less. */
#define TALLY_CREDIT_DEPTH_MIN	8
/* RECVs that only CREDIT may use. */
#define TALLY_CREDIT_RESERVED	2

/**
 * struct tally_credits - one side of a conn, zero at first but for @depth
 * @depth: RECVs of the peer
 * @mark: messages sent when @depth became known
 * @known: @depth was told by the peer
 * @agreed: the peer knows the depth of our ring
 * @sent: messages sent since the conn began
 * @acked: of these, consumed by the peer
 * @consumed: messages consumed and their RECVs posted again
 * @told: the count of these that was sent last
 */
struct tally_credits {
	u32 depth;
	u32 mark;
	bool known;
	bool agreed;
	u32 sent;
	u32 acked;
	u32 consumed;
	u32 told;
};

void tally_credits_set_depth(struct tally_credits *credits, u32 depth);
bool tally_credits_may_send(const struct tally_credits *credits);
bool tally_credits_owe(const struct tally_credits *credits);
u32 tally_credits_send(struct tally_credits *credits);
bool tally_credits_ack(struct tally_credits *credits, u32 acked);

#endif
