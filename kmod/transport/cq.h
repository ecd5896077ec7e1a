/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The completion queue of a conn. A work item takes its completions. On a
 * control conn it goes on to handle the messages that came, without another
 * change of tasks; as that may sleep, it has a workqueue of its own. On a lane it
 * makes way for one caller that waits for the only operation in flight: the
 * device's event wakes the caller, which takes the completion itself.
 */
#ifndef TALLY_CQ_H
#define TALLY_CQ_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

/* Completions that are taken at a time. */
#define TALLY_CQ_BATCH	8

/**
 * struct tally_polls - what waits taught about polling; zero at first
 * @budget: so many polls may come before sleeping
 * @waits: number of waits
 */
struct tally_polls {
	u32 budget;
	u32 waits;
};

/**
 * struct tally_cq - a completion queue, part of its conn
 * @cq: the device's queue, whose context is this; NULL before and after
 * @after: called by @work when it took some, may sleep; NULL on a lane
 * @work: takes completions
 * @taken: bit 0: a task takes completions
 * @wc: what it took
 * @state: TALLY_CQ_* of transport/cq.c; 0 on a control conn
 * @flying: operations posted and not completed; under the conn's lock
 * @polls: of its callers
 * @wait: where the caller inside waits, and later the destruction for it
 * @deadline: of the caller inside, in jiffies
 * @expiry: wakes it then; may stay behind for the next caller
 */
struct tally_cq {
	struct ib_cq *cq;
	void (*after)(struct tally_cq *q);
	struct work_struct work;
	unsigned long taken;
	struct ib_wc wc[TALLY_CQ_BATCH];
	atomic_t state;
	int flying;
	struct tally_polls polls;
	wait_queue_head_t wait;
	unsigned long deadline;
	struct delayed_work expiry;
};

void tally_cq_init(struct tally_cq *q);
int tally_cq_create(struct tally_cq *q, struct ib_device *ibdev,
		    int entries, void (*after)(struct tally_cq *q));
void tally_cq_destroy(struct tally_cq *q);
void tally_cq_queue(struct tally_cq *q);
void tally_cq_posted(struct tally_cq *q);
void tally_cq_kick(struct tally_cq *q);
long tally_cq_wait(struct tally_cq *q, struct completion *done, long timeout);
long tally_cq_help(struct tally_cq *q, struct completion *done, long timeout,
		   struct tally_polls *p);

int tally_cqs_init(void);
void tally_cqs_exit(void);

#endif
