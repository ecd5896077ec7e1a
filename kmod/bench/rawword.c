// SPDX-License-Identifier: GPL-2.0
/* Words that several post to, as what is a lock between them. */
#include <linux/mm.h>
#include "raw.h"

/* Where the old value goes in our own words' page, behind other results. */
#define RESULT		1536

int raw_share(struct raw *raw, struct raw *owner)
{
	struct mem *common = mem_share(owner->words);
	int err;

	if (IS_ERR(common))
		return PTR_ERR(common);
	err = raw_register_mem(raw, common);
	if (err)
		mem_destroy(common);
	else
		raw->common = common;
	return err;
}

void raw_clear_words(struct raw *owner)
{
	u64 *words = page_address(owner->words->page);

	words[RAW_WORD_SPIN] = 0;
	words[RAW_WORD_TICKET] = 0;
	words[RAW_WORD_BACKOFF] = 0;
}

static int raw_word_run(struct raw *raw, const struct ib_send_wr *wr, u64 *old)
{
	int err;

	raw->posts++;
	err = raw_run(raw, wr);
	if (!err)
		*old = READ_ONCE(*(u64 *)(page_address(raw->words->page) +
					  RESULT));
	return err;
}

static int raw_word_atomic(struct raw *raw, enum raw_word word,
			   enum ib_wr_opcode opcode, u64 compare_add, u64 swap,
			   u64 *old)
{
	struct ib_sge sge = raw_word_sge(raw, RESULT, sizeof(u64));
	struct ib_atomic_wr wr = {
		.wr.wr_cqe = &raw->last,
		.wr.send_flags = IB_SEND_SIGNALED,
		.wr.opcode = opcode,
		.wr.sg_list = &sge,
		.wr.num_sge = 1,
		.remote_addr = raw->common->mr[0]->iova + word * sizeof(u64),
		.rkey = raw->common->mr[0]->rkey,
		.compare_add = compare_add,
		.swap = swap,
	};

	return raw_word_run(raw, &wr.wr, old);
}

int raw_word_cas(struct raw *raw, enum raw_word word, u64 expected, u64 value,
		 u64 *old)
{
	return raw_word_atomic(raw, word, IB_WR_ATOMIC_CMP_AND_SWP, expected,
			       value, old);
}

int raw_word_add(struct raw *raw, enum raw_word word, u64 value, u64 *old)
{
	return raw_word_atomic(raw, word, IB_WR_ATOMIC_FETCH_AND_ADD, value, 0,
			       old);
}

int raw_word_read(struct raw *raw, enum raw_word word, u64 *old)
{
	struct ib_sge sge = raw_word_sge(raw, RESULT, sizeof(u64));
	struct ib_rdma_wr wr = {
		.wr.wr_cqe = &raw->last,
		.wr.send_flags = IB_SEND_SIGNALED,
		.wr.opcode = IB_WR_RDMA_READ,
		.wr.sg_list = &sge,
		.wr.num_sge = 1,
		.remote_addr = raw->common->mr[0]->iova + word * sizeof(u64),
		.rkey = raw->common->mr[0]->rkey,
	};

	return raw_word_run(raw, &wr.wr, old);
}
