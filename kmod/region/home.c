// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of regions at their home, and what of it each session may reach. A
 * share is one session's part: memory regions in its protection domain, made
 * when it first asks for their keys.
 *
 * Locks: region->lock, then nothing. share->lock is taken without it and is
 * held while memory is registered, which is bounded by the conn's life. None
 * of them is held while arena->lock is taken, which may be held around
 * tally_region_home_closed().
 */
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "region/chunk.h"
#include "session/rpc.h"
#include "session/session.h"
#include "region/region.h"

#define REGION_ORDER_MAX	9	/* a huge page, where one is to be had */
/* Keys one answer has room for. */
#define REGION_MAP_KEYS \
	((TALLY_REPLY_MAX - sizeof(struct tally_rep_region_map)) / \
	 sizeof(struct tally_wire_mr))

/**
 * struct region_share - a region as one session may reach it
 * @list: in region->shares, under region->lock
 * @ref: the list, and work under way
 * @session: whose, referenced
 * @lock: protects what follows
 * @closed: nothing may be registered any more
 * @mr_pages: pages of each memory region (the last has less)
 * @mrs: how many there are
 * @mr: the memory regions, NULL where not yet asked for
 */
struct region_share {
	struct list_head list;
	struct kref ref;
	struct tally_session *session;
	struct mutex lock;	/* see above */
	bool closed;
	u32 mr_pages;
	u32 mrs;
	struct tally_mr **mr;
};

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

	/* Rather refuse than push everybody else's pages out first. */
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

static int region_charge(struct tally_node *node, u64 bytes)
{
	u64 limit = node->config.mem_limit;

	if (atomic64_add_return(bytes, &node->mem_used) <= limit || !limit)
		return 0;
	atomic64_sub(bytes, &node->mem_used);
	tally_stat_inc(&node->stats, TALLY_STAT_QUOTA);
	return -EDQUOT;
}

/**
 * tally_region_home_create - get the memory of a new region
 * @object: the region; its config says how large
 *
 * Context: process; sleeps for memory.
 * Return: 0; -EINVAL for a bad size, -EDQUOT beyond the node's limit,
 * -ENOMEM; then everything is as before.
 */
int tally_region_home_create(struct tally_object *object)
{
	struct tally_node *node = object->arena->node;
	struct tally_region_home *region;
	u64 size = object->config.size;
	int err;

	if (!size || size > TALLY_REGION_MAX)
		return -EINVAL;
	region = kzalloc(sizeof(*region), GFP_KERNEL);
	if (!region)
		return -ENOMEM;
	region->size = size;
	region->npages = DIV_ROUND_UP_ULL(size, PAGE_SIZE);
	mutex_init(&region->lock);
	INIT_LIST_HEAD(&region->shares);
	init_rwsem(&region->zap);
	INIT_LIST_HEAD(&region->maps);
	err = region_charge(node, (u64)region->npages << PAGE_SHIFT);
	if (err)
		goto err_free;
	err = region_pages_alloc(region);
	if (err)
		goto err_uncharge;
	object->region = region;
	return 0;

err_uncharge:
	atomic64_sub((u64)region->npages << PAGE_SHIFT, &node->mem_used);
err_free:
	kfree(region);
	return err;
}

/**
 * tally_region_home_delete - the name is gone: take it out of all programs
 * @object: the region
 *
 * A later access to a mapping of it is SIGBUS. Context: process; sleeps.
 */
void tally_region_home_delete(struct tally_object *object)
{
	struct tally_region_home *region = object->region;
	struct tally_region_map *map;

	down_write(&region->zap);
	region->dead = true;
	list_for_each_entry(map, &region->maps, list)
		unmap_mapping_range(map->mapping, 0, 0, 1);
	up_write(&region->zap);
}

/**
 * tally_region_home_destroy - the last reference is gone: free the memory
 * @object: the region; no session has it any more
 */
void tally_region_home_destroy(struct tally_object *object)
{
	struct tally_region_home *region = object->region;

	if (!region)
		return;
	WARN_ON_ONCE(!list_empty(&region->shares));
	WARN_ON_ONCE(!list_empty(&region->maps));
	region_pages_free(region, region->npages);
	atomic64_sub((u64)region->npages << PAGE_SHIFT,
		     &object->arena->node->mem_used);
	mutex_destroy(&region->lock);
	kfree(region);
	object->region = NULL;
}

static void share_free(struct kref *ref)
{
	struct region_share *share = container_of(ref, struct region_share,
						  ref);

	kvfree(share->mr);
	mutex_destroy(&share->lock);
	tally_session_put(share->session);
	kfree(share);
}

static void share_put(struct region_share *share)
{
	kref_put(&share->ref, share_free);
}

static struct region_share *share_create(struct tally_session *s, u32 mr_pages,
					 u32 mrs)
{
	struct region_share *share = kzalloc(sizeof(*share), GFP_KERNEL);

	if (!share)
		return NULL;
	share->mr = kvcalloc(mrs, sizeof(*share->mr),
			     GFP_KERNEL | __GFP_NOWARN);
	if (!share->mr) {
		kfree(share);
		return NULL;
	}
	kref_init(&share->ref);
	mutex_init(&share->lock);
	share->session = tally_session_get(s);
	share->mr_pages = mr_pages;
	share->mrs = mrs;
	return share;
}

/* Under region->lock. */
static struct region_share *share_find(struct tally_region_home *region,
				       struct tally_session *s)
{
	struct region_share *share;

	list_for_each_entry(share, &region->shares, list)
		if (share->session == s)
			return share;
	return NULL;
}

static struct region_share *share_get(struct tally_region_home *region,
				      struct tally_session *s)
{
	struct region_share *share;

	mutex_lock(&region->lock);
	share = share_find(region, s);
	if (share)
		kref_get(&share->ref);
	mutex_unlock(&region->lock);
	return share;
}

/**
 * tally_region_home_opened - a session opens the region
 * @object: the region
 * @s: the session
 * @reply: what OPEN answers; its size, mrs and mr_bytes are filled in
 *
 * Registers nothing. Without memory for the share the region opens all the
 * same, and asking for its keys is -ENOMEM. Context: process.
 */
void tally_region_home_opened(struct tally_object *object,
			      struct tally_session *s,
			      struct tally_rep_open *reply)
{
	struct tally_region_home *region = object->region;
	u32 mr_pages, mr_bytes, mrs;
	struct region_share *share;

	mr_pages = min_t(u32, s->dev->max_mr_pages, TALLY_REGION_MR_PAGES);
	mr_bytes = mr_pages * PAGE_SIZE;
	mrs = tally_chunk_mrs(region->size, mr_bytes);
	reply->size = cpu_to_be64(region->size);
	reply->mrs = cpu_to_be32(mrs);
	reply->mr_bytes = cpu_to_be32(mr_bytes);

	mutex_lock(&region->lock);
	if (!share_find(region, s)) {
		share = share_create(s, mr_pages, mrs);
		if (share)
			list_add_tail(&share->list, &region->shares);
	}
	mutex_unlock(&region->lock);
}

static u32 share_mr_pages(struct tally_region_home *region,
			  struct region_share *share, u32 index)
{
	unsigned long first = (unsigned long)index * share->mr_pages;

	return min_t(unsigned long, share->mr_pages, region->npages - first);
}

/* Under share->lock. */
static void share_unregister(struct tally_region_home *region,
			     struct region_share *share)
{
	u32 i;

	for (i = 0; i < share->mrs; i++) {
		if (!share->mr[i])
			continue;
		tally_mr_destroy(share->mr[i]);
		share->mr[i] = NULL;
		atomic_sub(share_mr_pages(region, share, i),
			   &share->session->mr_pages);
	}
}

/**
 * tally_region_home_closed - a session closed the region, or is OVER
 * @object: the region
 * @s: the session
 *
 * After it the session cannot reach the memory. Context: process; sleeps.
 */
void tally_region_home_closed(struct tally_object *object,
			      struct tally_session *s)
{
	struct tally_region_home *region = object->region;
	struct region_share *share;

	mutex_lock(&region->lock);
	share = share_find(region, s);
	if (share)
		list_del(&share->list);
	mutex_unlock(&region->lock);
	if (!share)
		return;
	mutex_lock(&share->lock);
	share->closed = true;
	share_unregister(region, share);
	mutex_unlock(&share->lock);
	share_put(share);
}

static int share_charge(struct tally_session *s, u32 pages)
{
	if (atomic_add_return(pages, &s->mr_pages) <= TALLY_REGION_PAGES_MAX)
		return 0;
	atomic_sub(pages, &s->mr_pages);
	tally_stat_inc(&s->node->stats, TALLY_STAT_QUOTA);
	return -EDQUOT;
}

/* Register the @index-th part. Under share->lock. */
static int share_register(struct tally_region_home *region,
			  struct region_share *share, u32 index, int access)
{
	u32 pages = share_mr_pages(region, share, index);
	struct tally_conn *conn;
	struct tally_mr *mr;
	int err;

	if (share->mr[index])
		return 0;
	err = share_charge(share->session, pages);
	if (err)
		return err;
	conn = tally_session_lane(share->session, index);
	mr = conn ? tally_mr_create(conn, region->pages +
				    (unsigned long)index * share->mr_pages,
				    pages, access) :
		    ERR_PTR(-ENOTCONN);
	if (conn)
		tally_conn_put(conn);
	if (IS_ERR(mr)) {
		atomic_sub(pages, &share->session->mr_pages);
		return PTR_ERR(mr);
	}
	share->mr[index] = mr;
	return 0;
}

/* Keys from @first on, as many as can be had. Return how many, or an errno. */
static int share_keys(struct tally_region_home *region,
		      struct region_share *share, u32 first, int access,
		      struct tally_wire_mr *out)
{
	u32 i, n;
	int err = 0;

	if (first >= share->mrs)
		return -EINVAL;
	n = min_t(u32, share->mrs - first, REGION_MAP_KEYS);
	mutex_lock(&share->lock);
	for (i = 0; i < n; i++) {
		err = share->closed ? -ENOTCONN :
		      share_register(region, share, first + i, access);
		if (err)
			break;
		out[i].addr = cpu_to_be64(share->mr[first + i]->addr);
		out[i].rkey = cpu_to_be32(share->mr[first + i]->mr->rkey);
	}
	mutex_unlock(&share->lock);
	return i ? i : err;
}

static int region_access(struct tally_object *object, struct tally_session *s)
{
	switch (tally_arena_access(object->arena, s->name)) {
	case TALLY_ACCESS_RW:
		return IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ |
		       IB_ACCESS_REMOTE_WRITE;
	case TALLY_ACCESS_RO:
		return IB_ACCESS_REMOTE_READ;
	default:
		return -EACCES;
	}
}

static int region_map(struct tally_object *object, struct tally_sreq *req,
		      struct tally_rep_region_map *reply)
{
	const struct tally_msg_region_map *msg = (const void *)req->body;
	struct region_share *share;
	int access, n;
	bool opened;
	u32 mr_bytes;

	if (READ_ONCE(object->region->dead))
		return -EIDRM;
	access = region_access(object, req->session);
	if (access < 0)
		return access;
	share = share_get(object->region, req->session);
	if (!share)
		return -ENOMEM;
	/* A CLOSE that came between has not seen this share. */
	opened = tally_object_opened(object, req->session);
	n = opened ? share_keys(object->region, share,
				be32_to_cpu(msg->first), access,
				(void *)(reply + 1)) : -EACCES;
	mr_bytes = share->mr_pages << PAGE_SHIFT;
	share_put(share);
	if (!opened)
		tally_region_home_closed(object, req->session);
	if (n > 0) {
		reply->count = cpu_to_be32(n);
		reply->mr_bytes = cpu_to_be32(mr_bytes);
	}
	return n;
}

/* On node->wq: registering memory waits for the device. */
static void region_map_work(struct work_struct *work)
{
	struct tally_sreq *req = container_of(work, struct tally_sreq, work);
	struct tally_object *object = req->ctx;
	struct tally_rep_region_map *reply;
	int n = -ENOMEM;

	reply = kzalloc(TALLY_REPLY_MAX, GFP_KERNEL);
	if (reply)
		n = region_map(object, req, reply);
	tally_arenas_done(req->session);
	if (n > 0)
		tally_sreq_reply(req, 0, reply, sizeof(*reply) +
				 n * sizeof(struct tally_wire_mr));
	else
		tally_sreq_reply(req, n, NULL, 0);
	kfree(reply);
	tally_object_put(object);
}

/* The object a request is about, if its session has opened it. */
static struct tally_object *region_find(struct tally_session *s,
					const struct tally_wire_object *wire)
{
	struct tally_object *object;

	object = tally_object_by_id(s->node, be32_to_cpu(wire->arena),
				    be32_to_cpu(wire->object),
				    be32_to_cpu(wire->generation));
	if (!object)
		return ERR_PTR(-EIDRM);
	if (object->config.type == TALLY_TYPE_REGION &&
	    tally_object_opened(object, s))
		return object;
	tally_object_put(object);
	return ERR_PTR(-EACCES);
}

/**
 * tally_region_request - serve a REGION_MAP
 * @s: the session it came from
 * @req: the request
 *
 * Context: Rx work.
 * Return: true when it was one; it is or will be answered.
 */
bool tally_region_request(struct tally_session *s, struct tally_sreq *req)
{
	const struct tally_msg_region_map *msg = (const void *)req->body;
	struct tally_object *object;

	if (req->type != TALLY_MSG_REGION_MAP)
		return false;
	if (req->len != sizeof(*msg) || msg->reserved || msg->object.reserved) {
		tally_sreq_reply(req, -EPROTO, NULL, 0);
		tally_session_violation(s, "malformed REGION_MAP");
		return true;
	}
	object = region_find(s, &msg->object);
	if (IS_ERR(object)) {
		tally_sreq_reply(req, PTR_ERR(object), NULL, 0);
		return true;
	}
	req->ctx = object;
	tally_arenas_busy(s);
	INIT_WORK(&req->work, region_map_work);
	queue_work(s->node->wq, &req->work);
	return true;
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
	struct tally_region_home *region = object->region;
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
	struct tally_region_home *region = object->region;

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
	struct tally_region_home *region = object->region;
	vm_fault_t ret = VM_FAULT_SIGBUS;

	down_read(&region->zap);
	if (!region->dead && vmf->pgoff < region->npages)
		ret = vmf_insert_page(vmf->vma, vmf->address,
				      region->pages[vmf->pgoff]);
	up_read(&region->zap);
	return ret;
}
