/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For tests: a build with TALLY_FAULTS=1 includes this before everything else,
 * and every allocation of tally's own code asks whether it is to fail. Those of
 * the kernel that it calls are left alone: soft RoCE loses its queue pairs for
 * good when memory is short in the wrong moment.
 */
#ifndef TALLY_FAULT_H
#define TALLY_FAULT_H

/* As files that print define it: it is too late for that behind what follows. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <crypto/hash.h>
#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <net/genetlink.h>
#include "tests/delay.h"

/* True: this one is the one that fails. */
bool tally_fault(gfp_t gfp);

static inline void *tally_fault_kmalloc(size_t size, gfp_t gfp)
{
	return tally_fault(gfp) ? NULL : kmalloc(size, gfp);
}

static inline void *tally_fault_kzalloc(size_t size, gfp_t gfp)
{
	return tally_fault(gfp) ? NULL : kzalloc(size, gfp);
}

static inline void *tally_fault_kcalloc(size_t n, size_t size, gfp_t gfp)
{
	return tally_fault(gfp) ? NULL : kcalloc(n, size, gfp);
}

static inline void *tally_fault_kvzalloc(size_t size, gfp_t gfp)
{
	return tally_fault(gfp) ? NULL : kvzalloc(size, gfp);
}

static inline void *tally_fault_kvcalloc(size_t n, size_t size, gfp_t gfp)
{
	return tally_fault(gfp) ? NULL : kvcalloc(n, size, gfp);
}

static inline void *tally_fault_cache_zalloc(struct kmem_cache *cache,
					     gfp_t gfp)
{
	return tally_fault(gfp) ? NULL : kmem_cache_zalloc(cache, gfp);
}

static inline struct page *tally_fault_pages(gfp_t gfp, unsigned int order)
{
	return tally_fault(gfp) ? NULL : alloc_pages(gfp, order);
}

static inline void *tally_fault_pages_exact(size_t size, gfp_t gfp)
{
	return tally_fault(gfp) ? NULL : alloc_pages_exact(size, gfp);
}

static inline struct sk_buff *tally_fault_genlmsg(size_t size, gfp_t gfp)
{
	return tally_fault(gfp) ? NULL : genlmsg_new(size, gfp);
}

static inline struct sk_buff *tally_fault_nlmsg(size_t size, gfp_t gfp)
{
	return tally_fault(gfp) ? NULL : nlmsg_new(size, gfp);
}

static inline int tally_fault_xa_insert(struct xarray *xa, unsigned long index,
					void *entry, gfp_t gfp)
{
	return tally_fault(gfp) ? -ENOMEM : xa_insert(xa, index, entry, gfp);
}

static inline void *tally_fault_xa_store(struct xarray *xa, unsigned long index,
					 void *entry, gfp_t gfp)
{
	return tally_fault(gfp) ? XA_ERROR(-ENOMEM) :
				  xa_store(xa, index, entry, gfp);
}

static inline struct crypto_shash *tally_fault_shash(const char *name, u32 type,
						     u32 mask)
{
	return tally_fault(GFP_KERNEL) ? ERR_PTR(-ENOMEM) :
					 crypto_alloc_shash(name, type, mask);
}

#undef kmalloc
#define kmalloc			tally_fault_kmalloc
#undef kzalloc
#define kzalloc			tally_fault_kzalloc
#undef kcalloc
#define kcalloc			tally_fault_kcalloc
#undef kvzalloc
#define kvzalloc		tally_fault_kvzalloc
#undef kvcalloc
#define kvcalloc		tally_fault_kvcalloc
#undef kmem_cache_zalloc
#define kmem_cache_zalloc	tally_fault_cache_zalloc
#undef alloc_pages
#define alloc_pages		tally_fault_pages
#undef alloc_page
#define alloc_page(gfp)		tally_fault_pages(gfp, 0)
#undef alloc_pages_exact
#define alloc_pages_exact	tally_fault_pages_exact
#undef genlmsg_new
#define genlmsg_new		tally_fault_genlmsg
#undef nlmsg_new
#define nlmsg_new		tally_fault_nlmsg
#undef xa_insert
#define xa_insert		tally_fault_xa_insert
#undef xa_store
#define xa_store		tally_fault_xa_store
#undef crypto_alloc_shash
#define crypto_alloc_shash	tally_fault_shash

/* So many milliseconds did the machine sleep, and CLOCK_BOOTTIME alone went on. */
extern unsigned long tally_fault_slept;

static inline u64 tally_fault_slept_ns(void)
{
	return (u64)READ_ONCE(tally_fault_slept) * NSEC_PER_MSEC;
}

static inline u64 tally_fault_boottime(void)
{
	return ktime_get_boottime_ns() + tally_fault_slept_ns();
}

static inline u64 tally_fault_coarse_boottime(void)
{
	return ktime_get_coarse_boottime_ns() + tally_fault_slept_ns();
}

/* All of tally's are of that clock; one that has been started is left alone. */
static inline void tally_fault_timer(struct hrtimer *timer, ktime_t at,
				     enum hrtimer_mode mode)
{
	hrtimer_start(timer, ktime_sub_ns(at, tally_fault_slept_ns()), mode);
}

#define ktime_get_boottime_ns		tally_fault_boottime
#define ktime_get_coarse_boottime_ns	tally_fault_coarse_boottime
#define hrtimer_start			tally_fault_timer

/* Nodes whose slot is higher use no lock's word. */
extern unsigned int tally_fault_lock_slots;
#define tally_lock_slots	tally_fault_lock_slots

/* What the records of a session may take, see home/quota.h. */
extern unsigned int tally_fault_quota;
#define TALLY_QUOTA_BYTES	((u64)READ_ONCE(tally_fault_quota))
/* See kmod/tests/fault.c. */
struct sockaddr_storage;
void tally_fault_claim(struct sockaddr_storage *addr);
#define tally_claim(addr)	tally_fault_claim(addr)

/* So many processors, from the next link on; 0: as many as there are. */
extern unsigned int tally_fault_cpus;
#define tally_cpus()	(READ_ONCE(tally_fault_cpus) ?: num_online_cpus())

#endif
