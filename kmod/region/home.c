// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of regions at their home, and what of it each session may reach:
 * memory regions in its protection domain, made when it first asks for their
 * keys.
 *
 * tally_region_open.lock is held while memory is registered, which is bounded by the
 * conn's life; nothing else is taken under it.
 */
#include "region/home.h"

#include <linux/err.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "base/delay.h"
#include "home/export.h"
#include "home/serve.h"
#include "region/chunk.h"
#include "region/wire.h"
#include "session/rpc.h"

#define REGION_ORDER_MAX	9	/* a huge page, where one is to be had */
/* Keys one answer has room for. */
#define REGION_MAP_KEYS \
	((TALLY_REPLY_MAX - sizeof(struct tally_rep_region_map)) / \
	 sizeof(struct tally_wire_mr))

static void region_pages_free(struct tally_region_home *region,
			      unsigned long n)
{
	while (n--)
		__free_page(region->pages[n]);
	kvfree(region->pages);
}

/* Add 2^order pages, as single ones. */
static bool region_pages_get(struct page **pages, unsigned int order)
{
	gfp_t gfp = GFP_KERNEL | __GFP_ZERO | __GFP_NORETRY | __GFP_NOWARN;
	struct page *page;
	unsigned int i;

	if (order > PAGE_ALLOC_COSTLY_ORDER)
		gfp &= ~__GFP_DIRECT_RECLAIM;
	page = alloc_pages(gfp, order);
	if (!page)
		return false;
	if (order)
		split_page(page, order);
	for (i = 0; i < 1U << order; i++)
		pages[i] = page + i;
	return true;
}

static int region_pages_alloc(struct tally_region_home *region)
{
	unsigned int order = REGION_ORDER_MAX;
	unsigned long n = 0;

	/* Refuse rather than push all other pages out first. */
	if ((long)region->npages > si_mem_available())
		return -ENOMEM;
	region->pages = kvmalloc_array(region->npages, sizeof(*region->pages),
				       GFP_KERNEL | __GFP_NOWARN);
	if (!region->pages)
		return -ENOMEM;
	while (n < region->npages) {
		while (region->npages - n < 1UL << order)
			order--;
		if (region_pages_get(region->pages + n, order))
			n += 1UL << order;
		else if (order && !fatal_signal_pending(current))
			order--;
		else
			goto err_free;
		cond_resched();
	}
	return 0;

err_free:
	region_pages_free(region, n);
	return fatal_signal_pending(current) ? -EINTR : -ENOMEM;
}

/**
 * tally_region_check - is a region of that size possible?
 * @object: the region
 * @reason: says why not
 *
 * Return: 0 or -EINVAL.
 */
int tally_region_check(struct tally_object *object, const char **reason)
{
	u64 size = tally_region_home(object)->size;

	if (size && size <= TALLY_REGION_MAX)
		return 0;
	*reason = size ? "larger than a region may be" : "a region has a size";
	return -EINVAL;
}

/**
 * tally_region_create - get the memory of a new region
 * @object: the region
 * @reason: says why when it fails
 *
 * Context: process; sleeps for memory.
 * Return: 0; -EDQUOT beyond the node's limit, -ENOMEM, -EINTR; then everything
 * is as before.
 */
int tally_region_create(struct tally_object *object, const char **reason)
{
	struct tally_region_home *region = tally_region_home(object);
	struct tally_node *node = object->arena->node;
	u64 bytes;
	int err;

	region->npages = DIV_ROUND_UP_ULL(region->size, PAGE_SIZE);
	bytes = (u64)region->npages << PAGE_SHIFT;
	init_rwsem(&region->zap);
	INIT_LIST_HEAD(&region->maps);
	*reason = "beyond the node's memory limit";
	err = tally_quota_charge(node, &node->mem_used, bytes,
				 node->config.mem_limit);
	if (err)
		return err;
	err = region_pages_alloc(region);
	*reason = err == -EINTR ? "interrupted" : "not enough memory";
	if (err)
		tally_quota_uncharge(&node->mem_used, bytes);
	return err;
}

/**
 * tally_region_deleted - the name is gone: take it out of all programs
 * @object: the region
 *
 * A later access to a mapping of it is SIGBUS. Context: process; sleeps.
 */
void tally_region_deleted(struct tally_object *object)
{
	struct tally_region_home *region = tally_region_home(object);
	struct tally_region_map *map;

	down_write(&region->zap);
	region->dead = true;
	list_for_each_entry(map, &region->maps, list)
		unmap_mapping_range(map->mapping, 0, 0, 1);
	up_write(&region->zap);
}

/**
 * tally_region_destroy - the last reference is gone: free the memory
 * @object: the region; no session has it any more
 */
void tally_region_destroy(struct tally_object *object)
{
	struct tally_region_home *region = tally_region_home(object);

	WARN_ON_ONCE(!list_empty(&region->maps));
	region_pages_free(region, region->npages);
	tally_quota_uncharge(&object->arena->node->mem_used,
			     (u64)region->npages << PAGE_SHIFT);
}

static struct tally_region_open *region_of(struct tally_open *open)
{
	return container_of(open, struct tally_region_open, open);
}

/**
 * tally_region_open - a session opens the region for the first time
 * @open: as it will have it
 *
 * Registers nothing.
 *
 * Return: 0.
 */
int tally_region_open(struct tally_open *open)
{
	struct tally_region_open *ro = region_of(open);
	u64 size = tally_region_home(open->object)->size;

	mutex_init(&ro->lock);
	ro->mr_pages = min_t(u32, open->attach->session->dev->max_mr_pages,
			     TALLY_REGION_MR_PAGES);
	ro->mrs = tally_chunk_mrs(size, ro->mr_pages * PAGE_SIZE);
	return 0;
}

/**
 * tally_region_fill - a region's part of what OPEN answers
 * @object: the region
 * @open: as a session has it, or NULL for our own users
 * @rep: its size, mrs and mr_bytes are filled in
 */
void tally_region_fill(struct tally_object *object, struct tally_open *open,
		       struct tally_rep_open *rep)
{
	rep->size = cpu_to_be64(tally_region_home(object)->size);
	if (!open)
		return;
	rep->mrs = cpu_to_be32(region_of(open)->mrs);
	rep->mr_bytes = cpu_to_be32(region_of(open)->mr_pages * PAGE_SIZE);
}

static struct tally_session *open_session(struct tally_region_open *ro)
{
	return ro->open.attach->session;
}

static struct tally_quota *open_quota(struct tally_region_open *ro)
{
	struct tally_export *export = open_session(ro)->home;

	return &export->quota;
}

static u32 open_pages(struct tally_region_open *ro, u32 index)
{
	struct tally_region_home *region = tally_region_home(ro->open.object);
	unsigned long first = (unsigned long)index * ro->mr_pages;

	return min_t(unsigned long, ro->mr_pages, region->npages - first);
}

static void open_unregister(struct tally_region_open *ro, u32 index)
{
	lockdep_assert_held(&ro->lock);
	if (!ro->key[index].mr)
		return;
	tally_mr_destroy(ro->key[index].mr);
	ro->key[index].mr = NULL;
	tally_quota_uncharge(&open_quota(ro)->pages, open_pages(ro, index));
}

/**
 * tally_region_close - a session closed the region, or is OVER
 * @open: as it had it
 *
 * After it the session cannot reach the memory. Context: process; sleeps.
 */
void tally_region_close(struct tally_open *open)
{
	struct tally_region_open *ro = region_of(open);
	u32 i;

	mutex_lock(&ro->lock);
	ro->closed = true;
	if (ro->key) {
		for (i = 0; i < ro->mrs; i++)
			open_unregister(ro, i);
		kvfree(ro->key);
		ro->key = NULL;
		tally_quota_uncharge(&open_quota(ro)->bytes,
				     ro->mrs * sizeof(*ro->key));
	}
	mutex_unlock(&ro->lock);
}

/* Register the @index-th part, anew when the rights have changed. */
static int open_register(struct tally_region_open *ro, u32 index, int access)
{
	struct tally_region_home *region = tally_region_home(ro->open.object);
	struct tally_session *s = open_session(ro);
	struct tally_region_key *key = &ro->key[index];
	u32 pages = open_pages(ro, index);
	struct tally_conn *conn;
	struct tally_mr *mr;
	int err;

	if (key->mr && key->access == access)
		return 0;
	open_unregister(ro, index);
	err = tally_quota_charge(s->node, &open_quota(ro)->pages, pages,
				 TALLY_QUOTA_PAGES);
	if (err)
		return err;
	conn = tally_session_lane(s, index);
	mr = conn ? tally_mr_create(conn, region->pages +
				    (unsigned long)index * ro->mr_pages,
				    pages, access) :
		    ERR_PTR(-ENOTCONN);
	if (conn)
		tally_conn_put(conn);
	if (IS_ERR(mr)) {
		tally_quota_uncharge(&open_quota(ro)->pages, pages);
		return PTR_ERR(mr);
	}
	key->mr = mr;
	key->access = access;
	return 0;
}

static int open_make_keys(struct tally_region_open *ro)
{
	u64 bytes = ro->mrs * sizeof(*ro->key);
	int err;

	lockdep_assert_held(&ro->lock);
	if (ro->closed)
		return -EACCES;
	if (ro->key)
		return 0;
	err = tally_quota_charge(open_session(ro)->node, &open_quota(ro)->bytes,
				 bytes, TALLY_QUOTA_BYTES);
	if (err)
		return err;
	ro->key = kvcalloc(ro->mrs, sizeof(*ro->key),
			   GFP_KERNEL | __GFP_NOWARN);
	if (ro->key)
		return 0;
	tally_quota_uncharge(&open_quota(ro)->bytes, bytes);
	return -ENOMEM;
}

static int region_access(u8 access)
{
	if (access == TALLY_ACCESS_RW)
		return IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ |
		       IB_ACCESS_REMOTE_WRITE;
	return IB_ACCESS_REMOTE_READ;
}

/* Keys from @first on, as many as can be had. Return how many, or an errno. */
static int open_keys(struct tally_region_open *ro, u32 first,
		     struct tally_wire_mr *out)
{
	struct tally_region_key *key;
	u8 access;
	u32 i, n;
	int err;

	if (first >= ro->mrs)
		return -EINVAL;
	n = min_t(u32, ro->mrs - first, REGION_MAP_KEYS);
	mutex_lock(&ro->lock);
	err = open_make_keys(ro);
	access = tally_open_access(&ro->open);
	if (access == TALLY_ACCESS_NONE)
		err = -EACCES;
	for (i = 0; !err && i < n; i++) {
		err = open_register(ro, first + i, region_access(access));
		if (err)
			break;
		key = &ro->key[first + i];
		out[i].addr = cpu_to_be64(key->mr->addr);
		out[i].rkey = cpu_to_be32(key->mr->mr->rkey);
	}
	mutex_unlock(&ro->lock);
	return i ? i : err;
}

static int region_map(struct tally_region_open *ro, struct tally_sreq *req,
		      struct tally_rep_region_map *reply)
{
	const struct tally_msg_region_map *msg = (const void *)req->body;
	int n;

	if (READ_ONCE(tally_region_home(ro->open.object)->dead))
		return -EIDRM;
	n = open_keys(ro, be32_to_cpu(msg->first), (void *)(reply + 1));
	if (n > 0) {
		reply->count = cpu_to_be32(n);
		reply->mr_bytes = cpu_to_be32(ro->mr_pages << PAGE_SHIFT);
	}
	return n;
}

/* On node->wq: registering memory waits for the device. */
static void region_map_work(struct work_struct *work)
{
	struct tally_sreq *req = container_of(work, struct tally_sreq, work);
	struct tally_rep_region_map *reply;
	struct tally_region_open *ro = req->ctx;
	int n = -ENOMEM;

	reply = kzalloc(TALLY_REPLY_MAX, GFP_KERNEL);
	if (reply)
		n = region_map(ro, req, reply);
	tally_delay(region_map);
	tally_export_done(req->session);
	if (n > 0)
		tally_sreq_reply(req, 0, reply, sizeof(*reply) +
				 n * sizeof(struct tally_wire_mr));
	else
		tally_sreq_reply(req, n, NULL, 0);
	kfree(reply);
	tally_open_put(&ro->open);
}

/**
 * tally_region_request - a session wants keys of a region
 * @open: the region as it has it
 * @req: REGION_MAP
 *
 * Context: Rx.
 */
void tally_region_request(struct tally_open *open, struct tally_sreq *req)
{
	const struct tally_msg_region_map *msg = (const void *)req->body;

	if (msg->reserved) {
		tally_serve_malformed(req, "malformed REGION_MAP");
		return;
	}
	req->ctx = region_of(tally_open_get(open));
	tally_export_defer(req, region_map_work);
}

/**
 * tally_region_map_add - an open file of a program is about to map a region
 * @object: the region
 * @map: belongs to the open file; may have been added before
 * @mapping: the file's
 *
 * Return: 0, or -EIDRM when the region is deleted.
 */
int tally_region_map_add(struct tally_object *object,
			 struct tally_region_map *map,
			 struct address_space *mapping)
{
	struct tally_region_home *region = tally_region_home(object);
	int err = 0;

	down_write(&region->zap);
	if (region->dead) {
		err = -EIDRM;
	} else if (list_empty(&map->list)) {
		map->mapping = mapping;
		list_add_tail(&map->list, &region->maps);
	}
	up_write(&region->zap);
	return err;
}

/**
 * tally_region_map_del - the open file is closed, so nothing of it is mapped
 * @object: the region
 * @map: as added; nothing happens if it never was
 */
void tally_region_map_del(struct tally_object *object,
			  struct tally_region_map *map)
{
	struct tally_region_home *region = tally_region_home(object);

	down_write(&region->zap);
	list_del_init(&map->list);
	up_write(&region->zap);
}

/**
 * tally_region_fault - map one page of a region into a program
 * @object: the region
 * @vmf: the fault
 *
 * Context: page fault.
 * Return: a VM_FAULT code; SIGBUS behind the end and after deletion.
 */
vm_fault_t tally_region_fault(struct tally_object *object,
			      struct vm_fault *vmf)
{
	struct tally_region_home *region = tally_region_home(object);
	vm_fault_t ret = VM_FAULT_SIGBUS;

	down_read(&region->zap);
	if (!region->dead && vmf->pgoff < region->npages)
		ret = vmf_insert_page(vmf->vma, vmf->address,
				      region->pages[vmf->pgoff]);
	up_read(&region->zap);
	return ret;
}
