// SPDX-License-Identifier: GPL-2.0
/*
 * One word holds the next ticket and the one that is served, so that drawing one
 * tells at once whether it is its turn.
 */
#include <linux/bits.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include "spin.h"
#include "ticket.h"

#define TICKET_TIMEOUT	(10 * HZ)
#define TICKET_NEXT	BIT_ULL(32)

int ticket_take(struct raw *raw)
{
	unsigned long end = jiffies + TICKET_TIMEOUT;
	u32 mine;
	u64 word;
	int err;

	err = raw_word_add(raw, RAW_WORD_TICKET, TICKET_NEXT, &word);
	mine = upper_32_bits(word);
	while (!err && lower_32_bits(word) != mine) {
		if (time_after(jiffies, end))
			return -ETIMEDOUT;
		spin_rest();
		err = raw_word_read(raw, RAW_WORD_TICKET, &word);
	}
	return err;
}

/* Fewer than 2^32 are drawn between two clearings of the words. */
int ticket_give(struct raw *raw)
{
	u64 word;

	return raw_word_add(raw, RAW_WORD_TICKET, 1, &word);
}
