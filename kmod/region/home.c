// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of regions at their home, and what of it each session may reach:
 * memory regions in its protection domain, made when it first asks for their
 * keys.
 *
 * tally_region_open.lock is held while memory is registered, which is bounded
 * by the conn's life; nothing else is taken under it.
 */
#include "region/home.h"

#include <linux/err.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
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
/* Made zero for a session before it is another one's turn. */
#define REGION_ZERO_TURN	SZ_1M
/* Sessions for which that is done at once. */
#define REGION_ZERO_JOBS	4

/**
 * struct region_zero - what a session wants to be made zero
 * @work: does the next part, and queues itself behind those of others
 * @lock: protects @requests
 * @requests: struct tally_sreq, of which each says in its body what is left; as many
 *	as the session has slots
 */
struct region_zero {
	struct work_struct work;
	spinlock_t lock;	/* see above */
	struct list_head requests;
};

static struct workqueue_struct *zero_wq;

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

int tally_region_check(struct tally_object *object, const char **reason)
{
	u64 size = tally_region_home(object)->size;

	if (size && size <= TALLY_REGION_MAX)
		return 0;
	*reason = size ? "larger than a region may be" : "a region has a size";
	return -EINVAL;
}

/* Returns 0, -EDQUOT, -ENOMEM or -EINTR; with an errno all is as before. */
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

/* Take it out of all programs: a later access to a mapping of it is SIGBUS. */
void tally_region_deleted(struct tally_object *object)
{
	struct tally_region_home *region = tally_region_home(object);
	struct tally_region_map *map;

	guard(rwsem_write)(&region->zap);
	region->dead = true;
	list_for_each_entry(map, &region->maps, list)
		unmap_mapping_range(map->mapping, 0, 0, 1);
}

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

/* Registers nothing. */
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

void tally_region_fill(struct tally_object *object, struct tally_open *open,
		       struct tally_rep_open *rep)
{
	rep->size = cpu_to_be64(tally_region_home(object)->size);
	if (!open)
		return;
	rep->mrs = cpu_to_be32(region_of(open)->mrs);
	rep->mr_bytes = cpu_to_be32(region_of(open)->mr_pages * PAGE_SIZE);
}

static struct tally_quota *open_quota(struct tally_region_open *ro)
{
	struct tally_export *export = ro->open.attach->session->home;

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
	if (!ro->key[index])
		return;
	tally_mr_destroy(ro->key[index]);
	ro->key[index] = NULL;
	tally_quota_uncharge(&open_quota(ro)->pages, open_pages(ro, index));
}

/* After it the session cannot reach the memory. */
void tally_region_close(struct tally_open *open)
{
	struct tally_region_open *ro = region_of(open);
	u32 i;

	guard(mutex)(&ro->lock);
	ro->closed = true;
	if (!ro->key)
		return;
	for (i = 0; i < ro->mrs; i++)
		open_unregister(ro, i);
	kvfree(ro->key);
	ro->key = NULL;
	tally_quota_uncharge(&open_quota(ro)->bytes,
			     ro->mrs * sizeof(*ro->key));
}

/* Register the @index-th part: a key lasts, with its rights, until the close. */
static int open_register(struct tally_region_open *ro, u32 index, int access)
{
	struct tally_region_home *region = tally_region_home(ro->open.object);
	struct tally_session *s = ro->open.attach->session;
	struct tally_mr **key = &ro->key[index];
	u32 pages = open_pages(ro, index);
	struct tally_conn *conn;
	struct tally_mr *mr;
	int err;

	if (*key)
		return 0;
	err = tally_quota_charge(s->node, &open_quota(ro)->pages, pages,
				 TALLY_QUOTA_PAGES);
	if (err)
		return err;
	conn = tally_session_lane(s, index);
	mr = conn ? tally_mr_create(conn, region->pages +
				    (unsigned long)index * ro->mr_pages,
				    pages, access) :
		    ERR_PTR(-ENOTCONN);
	tally_conn_put(conn);
	if (IS_ERR(mr)) {
		tally_quota_uncharge(&open_quota(ro)->pages, pages);
		return PTR_ERR(mr);
	}
	*key = mr;
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
	err = tally_quota_charge(ro->open.attach->session->node,
				 &open_quota(ro)->bytes, bytes,
				 TALLY_QUOTA_BYTES);
	if (err)
		return err;
	ro->key = kvcalloc(ro->mrs, sizeof(*ro->key),
			   GFP_KERNEL | __GFP_NOWARN);
	if (ro->key)
		return 0;
	tally_quota_uncharge(&open_quota(ro)->bytes, bytes);
	return -ENOMEM;
}

/* Keys from @first on, as many as can be had. Return how many, or an errno. */
static int open_keys(struct tally_region_open *ro, u32 first,
		     struct tally_wire_mr *out)
{
	int err, access = IB_ACCESS_REMOTE_READ;
	struct tally_mr *mr;
	u32 i, n;
	u8 right;

	if (first >= ro->mrs)
		return -EINVAL;
	n = min_t(u32, ro->mrs - first, REGION_MAP_KEYS);
	guard(mutex)(&ro->lock);
	err = open_make_keys(ro);
	right = tally_open_access(&ro->open);
	if (right == TALLY_ACCESS_NONE)
		err = -EACCES;
	if (right == TALLY_ACCESS_RW)
		access |= IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE;
	for (i = 0; !err && i < n; i++) {
		err = open_register(ro, first + i, access);
		if (err)
			break;
		mr = ro->key[first + i];
		out[i].addr = cpu_to_be64(mr->addr);
		out[i].rkey = cpu_to_be32(mr->mr->rkey);
	}
	return i ? i : err;
}

/* On node->wq: registering memory waits for the device. */
static void region_map_work(struct work_struct *work)
{
	struct tally_sreq *req = container_of(work, struct tally_sreq, work);
	const struct tally_msg_region_map *msg = (const void *)req->body;
	struct tally_region_open *ro = req->ctx;
	struct tally_rep_region_map *reply;
	u32 len = 0;
	int n;

	reply = kzalloc(TALLY_REPLY_MAX, GFP_KERNEL);
	if (!reply)
		n = -ENOMEM;
	else if (READ_ONCE(tally_region_home(ro->open.object)->dead))
		n = -EIDRM;
	else
		n = open_keys(ro, be32_to_cpu(msg->first), (void *)(reply + 1));
	if (n > 0) {
		reply->count = cpu_to_be32(n);
		reply->mr_bytes = cpu_to_be32(ro->mr_pages << PAGE_SHIFT);
		len = sizeof(*reply) + n * sizeof(struct tally_wire_mr);
	}
	tally_delay(REGION_MAP);
	tally_export_done(req->session);
	tally_sreq_reply(req, min(n, 0), reply, len);
	kfree(reply);
	tally_open_put(&ro->open);
}

/* Up to the end of a page. Return: how many. */
static u32 region_zero_page(struct tally_region_home *region, u64 offset,
			    u64 len)
{
	u32 at = offset_in_page(offset), n = min_t(u64, PAGE_SIZE - at, len);

	memzero_page(region->pages[offset >> PAGE_SHIFT], at, n);
	return n;
}

/* Make a part of it zero, by the CPU. Process context. */
void tally_region_home_zero(struct tally_region_home *region, u64 offset,
			    u64 len)
{
	u32 n;

	for (; len; offset += n, len -= n) {
		n = region_zero_page(region, offset, len);
		cond_resched();
	}
}

/*
 * Still? Without a link not now: its client may believe that the session is over, and
 * asks again on the next one.
 */
static int open_may_zero(const struct tally_region_open *ro)
{
	if (tally_open_access(&ro->open) != TALLY_ACCESS_RW)
		return -EACCES;
	if (READ_ONCE(tally_region_home(ro->open.object)->dead))
		return -EIDRM;
	if (test_bit(TALLY_EXPORT_ENDING, &ro->open.flags) ||
	    tally_attach_withdrawn(ro->open.attach))
		return -ENOTCONN;
	return tally_session_is_live(ro->open.attach->session) ? 0 : -EAGAIN;
}

/* One turn. @msg: gets what is left. */
static int open_zero(struct tally_region_open *ro,
		     struct tally_msg_region_zero *msg)
{
	struct tally_region_home *region = tally_region_home(ro->open.object);
	u64 offset = be64_to_cpu(msg->offset);
	u32 n, left = be32_to_cpu(msg->len), len = min(left, REGION_ZERO_TURN);
	int err;

	if (offset >= region->size || left > region->size - offset)
		return -EINVAL;
	msg->offset = cpu_to_be64(offset + len);
	msg->len = cpu_to_be32(left - len);
	for (; len; offset += n, len -= n) {
		cond_resched();
		/* What ends the attachment waits for the page. */
		guard(rcu)();
		err = open_may_zero(ro);
		if (err)
			return err;
		n = region_zero_page(region, offset, len);
	}
	return 0;
}

/*
 * On zero_wq. A session may ask for much, and at once: it gets one turn for each that
 * the others get, and where one of them has to wait the others do not. It is queued
 * while there is a request.
 */
static void region_zero_work(struct work_struct *work)
{
	struct region_zero *zero = container_of(work, struct region_zero, work);
	struct tally_msg_region_zero *msg;
	struct tally_region_open *ro;
	struct tally_sreq *req;
	int err;

	scoped_guard(spinlock, &zero->lock)
		req = list_first_entry(&zero->requests, struct tally_sreq, list);
	ro = req->ctx;
	msg = (void *)req->body;
	err = open_zero(ro, msg);
	if (!err && msg->len) {
		tally_delay(REGION_ZERO);
		queue_work(zero_wq, &zero->work);
		return;
	}
	scoped_guard(spinlock, &zero->lock) {
		list_del(&req->list);
		if (!list_empty(&zero->requests))
			queue_work(zero_wq, &zero->work);
	}
	/* After it the session may end, and @zero with it. */
	tally_export_done(req->session);
	tally_sreq_reply(req, err, NULL, 0);
	tally_open_put(&ro->open);
}

static struct region_zero **zero_of(struct tally_session *s)
{
	return (void *)tally_export_private(s, tally_type(TALLY_TYPE_REGION));
}

int tally_region_session_created(struct tally_session *s)
{
	struct region_zero *zero = kzalloc(sizeof(*zero), GFP_KERNEL);

	if (!zero)
		return -ENOMEM;
	INIT_WORK(&zero->work, region_zero_work);
	spin_lock_init(&zero->lock);
	INIT_LIST_HEAD(&zero->requests);
	*zero_of(s) = zero;
	return 0;
}

/* No request of it is left. */
void tally_region_session_over(struct tally_session *s)
{
	kfree(*zero_of(s));
}

static void region_zero_queue(struct tally_sreq *req)
{
	struct region_zero *zero = *zero_of(req->session);

	tally_export_begin(req->session);
	spin_lock(&zero->lock);
	list_add_tail(&req->list, &zero->requests);
	queue_work(zero_wq, &zero->work);
	spin_unlock(&zero->lock);
}

static bool region_valid(const struct tally_sreq *req)
{
	const struct tally_msg_region_map *map = (const void *)req->body;
	const struct tally_msg_region_zero *zero = (const void *)req->body;
	u32 len;

	if (req->type == TALLY_MSG_REGION_MAP)
		return !map->reserved;
	len = be32_to_cpu(zero->len);
	return !zero->reserved && len && len <= TALLY_REGION_ZERO_MAX;
}

void tally_region_request(struct tally_open *open, struct tally_sreq *req)
{
	bool map = req->type == TALLY_MSG_REGION_MAP;

	if (!region_valid(req)) {
		tally_serve_malformed(req, map ? "malformed REGION_MAP" :
						 "malformed REGION_ZERO");
		return;
	}
	req->ctx = region_of(tally_open_get(open));
	if (map)
		tally_export_defer(req, req->session->node->wq,
				   region_map_work);
	else
		region_zero_queue(req);
}

/* Less urgent than renewals. */
int tally_region_homes_init(void)
{
	zero_wq = alloc_workqueue("tally_zero", WQ_UNBOUND | WQ_MEM_RECLAIM,
				  REGION_ZERO_JOBS);
	return zero_wq ? 0 : -ENOMEM;
}

/* No node is left. */
void tally_region_homes_exit(void)
{
	destroy_workqueue(zero_wq);
}
