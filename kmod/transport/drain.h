/* SPDX-License-Identifier: GPL-2.0 */
/* Emptying a QP that is to be destroyed, in bounded time. */
#ifndef TALLY_DRAIN_H
#define TALLY_DRAIN_H

#include <linux/completion.h>
#include <rdma/ib_verbs.h>
#include "transport/cq.h"

/**
 * struct tally_drain - the last work request of a queue
 * @cqe: its completion
 * @done: it has completed, and so has all before it
 */
struct tally_drain {
	struct ib_cqe cqe;
	struct completion done;
};

bool tally_drain_qp(struct ib_qp *qp, struct tally_cq *q,
		    struct tally_drain *sq, struct tally_drain *rq);

#endif
