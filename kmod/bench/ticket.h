/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The other thing one would write: tickets. Fair, and a contender polls by Reads,
 * which do not change anything.
 */
#ifndef TALLY_BENCH_TICKET_H
#define TALLY_BENCH_TICKET_H

#include "raw.h"

/* -ETIMEDOUT: a holder did not give it back. */
int ticket_take(struct raw *raw);
int ticket_give(struct raw *raw);

#endif
