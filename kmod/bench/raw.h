/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The baseline: verbs alone, between two queue pairs of one device that are
 * connected to each other, posted and waited for in the cheapest way.
 */
#ifndef TALLY_BENCH_RAW_H
#define TALLY_BENCH_RAW_H

#include <linux/completion.h>
#include <rdma/ib_verbs.h>
#include "mem.h"

/* How one can wait for a completion. */
enum raw_wait {
	RAW_SPIN,	/* polls all the time */
	RAW_DIRECT,	/* sleeps; the event wakes it, and it polls */
	RAW_EVENT,	/* sleeps; the event wakes a worker, which wakes it */
	RAW_WAITS
};

/* Work requests in flight. */
#define RAW_DEPTH	64
/* Largest transfer, and what one work request carries of it. */
#define RAW_BULK	0x400000U
#define RAW_CHUNK	0x100000U
/* Both messages of a round trip, as long as those of a counter in mode cpu. */
#define RAW_MESSAGE	68

/**
 * struct raw_side - one queue pair
 * @qp: the queue pair
 * @recv: its RECVs complete here
 * @sends: Sends posted so far; a few of them are signalled
 */
struct raw_side {
	struct ib_qp *qp;
	struct ib_cqe recv;
	unsigned int sends;
};

/**
 * struct raw - two queue pairs
 * @ibdev: the device
 * @wait: how to wait
 * @pd: protection domain of all
 * @cq: completion queue of all
 * @side: [0] posts and [1] is the target
 * @words: a page: the target's words, results, messages
 * @from: source of Writes and sink of Reads, NULL without bulk
 * @to: the other end of them
 * @last: completion of what is waited for
 * @quiet: completion of signalled Sends
 * @finished: it came
 * @done: the same for who sleeps (RAW_EVENT); the event came (RAW_DIRECT)
 * @status: how it went
 * @wrs: work requests of a transfer
 * @sges: their local memory
 */
struct raw {
	struct ib_device *ibdev;
	enum raw_wait wait;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct raw_side side[2];
	struct mem *words;
	struct mem *from;
	struct mem *to;
	struct ib_cqe last;
	struct ib_cqe quiet;
	bool finished;
	struct completion done;
	enum ib_wc_status status;
	struct ib_rdma_wr wrs[RAW_DEPTH];
	struct ib_sge sges[RAW_DEPTH];
};

/* @bulk: with memory for transfers. ERR_PTR on error. */
struct raw *raw_create(struct ib_device *ibdev, enum raw_wait wait, bool bulk);
void raw_destroy(struct raw *raw);
/* Post a chain on side 0, whose last has wr_cqe &raw->last, and wait. */
int raw_run(struct raw *raw, const struct ib_send_wr *wr);
/* Has the thing that is waited for come? Called where RECVs complete. */
void raw_finish(struct raw *raw, enum ib_wc_status status);
/* Around posting what is waited for. */
void raw_begin(struct raw *raw);
int raw_wait(struct raw *raw);
const char *raw_wait_name(enum raw_wait wait);

/* Bring both queue pairs up, connected to each other (path.c). */
int raw_connect(struct raw *raw);

/* One call each (rawop.c). */
int raw_faa(struct raw *raw);
int raw_cas(struct raw *raw);
int raw_cas_faa(struct raw *raw);
/* What taking and releasing a free lock posts. */
int raw_lock(struct raw *raw);
int raw_write8(struct raw *raw);
/* @count transfers of @size bytes, posted at once; the last is waited for. */
int raw_write(struct raw *raw, u32 size, u32 count);
int raw_read(struct raw *raw, u32 size, u32 count);
/* There and back. */
int raw_send(struct raw *raw);
/* Make all RECVs ready, once. */
int raw_recv_prepare(struct raw *raw);

#endif
