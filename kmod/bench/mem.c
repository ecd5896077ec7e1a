// SPDX-License-Identifier: GPL-2.0
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include "mem.h"

static u32 mem_size(const struct mem *mem)
{
	return PAGE_SIZE << mem->order;
}

void mem_destroy(struct mem *mem)
{
	int i;

	if (IS_ERR_OR_NULL(mem))
		return;
	for (i = 0; i < MEM_KEYS; i++)
		if (!IS_ERR_OR_NULL(mem->mr[i]))
			ib_dereg_mr(mem->mr[i]);
	ib_dma_unmap_page(mem->ibdev, mem->dma, mem_size(mem),
			  DMA_BIDIRECTIONAL);
	__free_pages(mem->page, mem->order);
	kfree(mem);
}

/* @page becomes its own; NULL: there was none. */
static struct mem *mem_make(struct ib_device *ibdev, struct page *page,
			    unsigned int order)
{
	struct mem *mem = kzalloc(sizeof(*mem), GFP_KERNEL);
	u64 dma;

	if (!mem || !page)
		goto err;
	dma = ib_dma_map_page(ibdev, page, 0, PAGE_SIZE << order,
			      DMA_BIDIRECTIONAL);
	if (ib_dma_mapping_error(ibdev, dma))
		goto err;
	mem->ibdev = ibdev;
	mem->page = page;
	mem->order = order;
	mem->dma = dma;
	return mem;
err:
	if (page)
		__free_pages(page, order);
	kfree(mem);
	return ERR_PTR(-ENOMEM);
}

struct mem *mem_create(struct ib_device *ibdev, u32 size)
{
	unsigned int order = get_order(size);

	return mem_make(ibdev, alloc_pages(GFP_KERNEL | __GFP_ZERO |
					   __GFP_NOWARN, order), order);
}

struct mem *mem_share(struct mem *other)
{
	if (WARN_ON_ONCE(other->order))
		return ERR_PTR(-EINVAL);
	get_page(other->page);
	return mem_make(other->ibdev, other->page, 0);
}

/* The @index-th key. */
static int mem_register_one(struct mem *mem, struct ib_pd *pd, int index,
			    int (*reg)(void *arg, struct ib_reg_wr *wr),
			    void *arg)
{
	u32 offset = index * MEM_UNIT;
	u32 len = min_t(u32, MEM_UNIT, mem_size(mem) - offset);
	struct ib_reg_wr wr = {
		.wr.opcode = IB_WR_REG_MR,
		.access = MEM_ACCESS,
	};
	struct scatterlist sg;
	struct ib_mr *mr;

	mr = ib_alloc_mr(pd, IB_MR_TYPE_MEM_REG, len >> PAGE_SHIFT);
	mem->mr[index] = mr;
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	sg_init_table(&sg, 1);
	sg_set_page(&sg, mem->page + (offset >> PAGE_SHIFT), len, 0);
	sg_dma_address(&sg) = mem->dma + offset;
	sg_dma_len(&sg) = len;
	if (ib_map_mr_sg(mr, &sg, 1, NULL, PAGE_SIZE) != 1)
		return -EINVAL;
	ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
	wr.mr = mr;
	wr.key = mr->rkey;
	return reg(arg, &wr);
}

int mem_register(struct mem *mem, struct ib_pd *pd,
		 int (*reg)(void *arg, struct ib_reg_wr *wr), void *arg)
{
	int err = 0, i;

	for (i = 0; !err && i * MEM_UNIT < mem_size(mem); i++)
		err = mem_register_one(mem, pd, i, reg, arg);
	return err;
}
