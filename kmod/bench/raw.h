/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The baseline: verbs alone, between two queue pairs that are connected to each
 * other, posted and waited for in the cheapest way. Both are of one device, or,
 * with an address (far.c), one is another machine's.
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
 * struct raw_target - where work requests aim at
 * @words: address of the words' page
 * @words_key: its key
 * @to: addresses of the memory for transfers, in pieces of MEM_UNIT
 * @to_key: their keys
 */
struct raw_target {
	u64 words;
	u64 to[MEM_KEYS];
	u32 words_key;
	u32 to_key[MEM_KEYS];
};

struct far;

/**
 * struct raw - two queue pairs
 * @ibdev: the device
 * @wait: how to wait
 * @pd: protection domain of all
 * @cq: completion queue of all
 * @side: [0] posts and [1] is the target; across machines the other one's is
 *	NULL
 * @far: connection to another machine, NULL without
 * @words: a page: the target's words, results, messages
 * @common: the words' page of another one, NULL before raw_share()
 * @from: source of Writes and sink of Reads, NULL without bulk
 * @to: the other end of them
 * @target: where the other end is
 * @last: completion of what is waited for
 * @quiet: completion of signalled Sends
 * @finished: it came
 * @done: the same for a sleeper (RAW_EVENT); the event came (RAW_DIRECT)
 * @status: how it went
 * @posts: work requests on words of @common so far
 * @wrs: work requests of a transfer
 * @sges: their local memory
 */
struct raw {
	struct ib_device *ibdev;
	enum raw_wait wait;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct raw_side side[2];
	struct far *far;
	struct mem *words;
	struct mem *common;
	struct mem *from;
	struct mem *to;
	struct raw_target target;
	struct ib_cqe last;
	struct ib_cqe quiet;
	bool finished;
	struct completion done;
	enum ib_wc_status status;
	u64 posts;
	struct ib_rdma_wr wrs[RAW_DEPTH];
	struct ib_sge sges[RAW_DEPTH];
};

/* @bulk: with memory for transfers. ERR_PTR on error. */
struct raw *raw_create(struct ib_device *ibdev, enum raw_wait wait, bool bulk);
void raw_destroy(struct raw *raw);
/* Post a chain on side 0 whose last request has wr_cqe &raw->last, and wait. */
int raw_run(struct raw *raw, const struct ib_send_wr *wr);
/* Has the thing that is waited for come? Called where RECVs complete. */
void raw_finish(struct raw *raw, enum ib_wc_status status);
/* Around posting what is waited for. */
void raw_begin(struct raw *raw);
int raw_wait(struct raw *raw);
const char *raw_wait_name(enum raw_wait wait);

/* Bring both queue pairs up, connected to each other (path.c). */
int raw_connect(struct raw *raw);
/* Requests for Reads and atomics that may be under way. */
u8 raw_read_depth(const struct ib_device *ibdev);

void raw_fill_qp_attr(const struct raw *raw, struct ib_qp_init_attr *attr);
/* Both queue pairs go, before one of another machine takes the place of one. */
void raw_drop_qps(struct raw *raw);

/*
 * Words in a page that several of them aim at (rawword.c), which is @owner's.
 * Not across machines.
 */
enum raw_word {
	RAW_WORD_SPIN = 8,	/* the ones before it are not for all */
	RAW_WORD_TICKET,
	RAW_WORD_BACKOFF,
};

int raw_share(struct raw *raw, struct raw *owner);
/* All words are 0 again; nothing is under way. */
void raw_clear_words(struct raw *owner);
/* One work request each, which is waited for; @old is what was there. */
int raw_word_cas(struct raw *raw, enum raw_word word, u64 expected, u64 value,
		 u64 *old);
int raw_word_add(struct raw *raw, enum raw_word word, u64 value, u64 *old);
int raw_word_read(struct raw *raw, enum raw_word word, u64 *old);

/* A key for @mem in the protection domain of @raw. */
int raw_register_mem(struct raw *raw, struct mem *mem);

/* A piece of the own words' page (rawop.c). */
struct ib_sge raw_word_sge(const struct raw *raw, u32 offset, u32 len);
/* One call each (rawop.c). */
int raw_faa(struct raw *raw);
int raw_cas(struct raw *raw);
int raw_cas_faa(struct raw *raw);
/* What taking and releasing a free lock posts. */
int raw_lock(struct raw *raw);
/* The same, shared. */
int raw_shared(struct raw *raw);
int raw_write8(struct raw *raw);
/* @count transfers of @size bytes, posted at once; the last is waited for. */
int raw_write(struct raw *raw, u32 size, u32 count);
int raw_read(struct raw *raw, u32 size, u32 count);
/* One transfer of up to MEM_UNIT bytes by rdma_rw_ctx_*(). */
int raw_rw_write(struct raw *raw, u32 size);
/* There and back. */
int raw_send(struct raw *raw);
/* Make all RECVs ready, once. */
int raw_recv_prepare(struct raw *raw);

#endif
