/* SPDX-License-Identifier: GPL-2.0 */
/* Layout of the messages about regions: see base/wire.h. */
#ifndef TALLY_REGION_WIRE_H
#define TALLY_REGION_WIRE_H

#include "object/wire.h"

struct tally_msg_region_map {
	struct tally_wire_object object;
	__be32	first;		/* index of the first key asked for */
	__be32	reserved;
} __packed;

/*
 * REGION_MAP's reply: this head, then @count keys. @mr_bytes is what each of
 * them covers, as in OPEN's reply.
 */
struct tally_rep_region_map {
	__be32	count;
	__be32	mr_bytes;
} __packed;

/* REGION_ZERO: its reply is empty. */
struct tally_msg_region_zero {
	struct tally_wire_object object;
	__be64	offset;
	__be32	len;		/* 1 to TALLY_REGION_ZERO_MAX */
	__be32	reserved;
} __packed;

#define TALLY_REGION_ZERO_MAX	(16 << 20)

struct tally_wire_mr {
	__be64	addr;
	__be32	rkey;
	__be32	reserved;
} __packed;

#endif
