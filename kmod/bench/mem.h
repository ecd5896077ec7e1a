/* SPDX-License-Identifier: GPL-2.0 */
/* A piece of memory that a device may reach, with keys for the other side. */
#ifndef TALLY_BENCH_MEM_H
#define TALLY_BENCH_MEM_H

#include <rdma/ib_verbs.h>

#define MEM_ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ | \
			 IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC)
/* A key covers that much. */
#define MEM_UNIT	0x100000U
#define MEM_KEYS	4

/**
 * struct mem - contiguous pages
 * @ibdev: the device
 * @page: the first page
 * @order: log2 of the number of pages
 * @dma: address for the device
 * @mr: keys, each for MEM_UNIT bytes or what there is
 */
struct mem {
	struct ib_device *ibdev;
	struct page *page;
	unsigned int order;
	u64 dma;
	struct ib_mr *mr[MEM_KEYS];
};

/* ERR_PTR on error. */
struct mem *mem_create(struct ib_device *ibdev, u32 size);
void mem_destroy(struct mem *mem);
/* Memory of one page, once more, for keys of another protection domain. */
struct mem *mem_share(struct mem *other);
/* Make the keys; each is registered by a call of @reg. */
int mem_register(struct mem *mem, struct ib_pd *pd,
		 int (*reg)(void *arg, struct ib_reg_wr *wr), void *arg);

#endif
