/* SPDX-License-Identifier: GPL-2.0 */
/* Regions: bulk memory at the home, read and written one-sidedly. */
#ifndef TALLY_REGION_H
#define TALLY_REGION_H

#include <linux/bits.h>
#include <linux/mm_types.h>
#include <linux/rwsem.h>
#include <linux/uio.h>
#include "client/view.h"

#define TALLY_REGION_MAX	BIT_ULL(40)

/* Pages one session may have registered: 4 GiB of 4 KiB. */
#define TALLY_REGION_PAGES_MAX	(1024 * 1024)
/* Pages of one memory region at most, whatever the device offers. */
#define TALLY_REGION_MR_PAGES	8192

/**
 * struct tally_region_home - memory of a region of ours
 * @size: bytes
 * @npages: pages
 * @pages: the pages, each on its own: they may be mapped by programs
 * @lock: protects @shares
 * @shares: sessions it is registered for: their MRs, in their PDs
 * @zap: held for reading while a page is mapped, for writing to change @dead
 *	and @maps
 * @dead: deleted; no page may be mapped any more
 * @maps: open files that were mapped, struct tally_region_map
 */
struct tally_region_home {
	u64 size;
	unsigned long npages;
	struct page **pages;
	struct mutex lock;	/* see above */
	struct list_head shares;
	struct rw_semaphore zap;
	bool dead;
	struct list_head maps;
};

/**
 * struct tally_region_map - an open file whose region may be mapped
 * @list: in tally_region_home.maps; empty while it was never mapped
 * @mapping: the file's mapping
 */
struct tally_region_map {
	struct list_head list;
	struct address_space *mapping;
};

/* Home side, called by home/arena.c. -EDQUOT beyond the node's limit, -ENOMEM. */
int tally_region_home_create(struct tally_object *object);
void tally_region_home_delete(struct tally_object *object);	/* zap mappings */
void tally_region_home_destroy(struct tally_object *object);
/* A session opens it: fill what OPEN answers. Registers nothing yet. */
void tally_region_home_opened(struct tally_object *object,
			      struct tally_session *s,
			      struct tally_rep_open *reply);
/* The session closed it or is OVER: its MRs go. Sleeps. */
void tally_region_home_closed(struct tally_object *object,
			      struct tally_session *s);

/* Programs at the home map it. -EIDRM once it is deleted. */
int tally_region_map_add(struct tally_object *object,
			 struct tally_region_map *map,
			 struct address_space *mapping);
void tally_region_map_del(struct tally_object *object,
			  struct tally_region_map *map);
vm_fault_t tally_region_fault(struct tally_object *object,
			      struct vm_fault *vmf);

/* REGION_MAP: registers on first use; true when the request was one. */
bool tally_region_request(struct tally_session *s, struct tally_sreq *req);

#endif
