/* SPDX-License-Identifier: GPL-2.0 */
/* Regions at their home: bulk memory, and what of it sessions may reach. */
#ifndef TALLY_REGION_HOME_H
#define TALLY_REGION_HOME_H

#include <linux/bits.h>
#include <linux/mm_types.h>
#include <linux/rwsem.h>
#include "home/export.h"

#define TALLY_REGION_MAX	BIT_ULL(40)
/* Pages of one memory region at most, whatever the device offers. */
#define TALLY_REGION_MR_PAGES	8192

/**
 * struct tally_region_home - a region of ours
 * @object: what all objects have
 * @size: bytes
 * @npages: pages
 * @pages: the pages, each on its own: they may be mapped by programs
 * @zap: held for reading while a page is mapped, for writing to change @dead
 *	and @maps
 * @dead: deleted; no page may be mapped any more
 * @maps: open files that were mapped, struct tally_region_map
 */
struct tally_region_home {
	struct tally_object object;
	u64 size;
	unsigned long npages;
	struct page **pages;
	struct rw_semaphore zap;
	bool dead;
	struct list_head maps;
};

/**
 * struct tally_region_open - a region as one session may reach it
 * @open: what all opens have
 * @lock: protects what follows; held while memory is registered
 * @closed: nothing may be registered any more
 * @mr_pages: pages of each memory region (the last has less)
 * @mrs: how many there are
 * @key: the memory regions, NULL before the first is asked for
 */
struct tally_region_open {
	struct tally_open open;
	struct mutex lock;	/* see above */
	bool closed;
	u32 mr_pages;
	u32 mrs;
	struct tally_mr **key;
};

/**
 * struct tally_region_map - an open file whose region may be mapped
 * @list: in tally_region_home.maps, once it was mapped
 * @mapping: the file's mapping, NULL while it was never mapped
 */
struct tally_region_map {
	struct list_head list;
	struct address_space *mapping;
};

static inline struct tally_region_home *
tally_region_home(struct tally_object *object)
{
	return container_of(object, struct tally_region_home, object);
}

/* Columns of the type. */
int tally_region_check(struct tally_object *object, const char **reason);
int tally_region_create(struct tally_object *object, const char **reason);
void tally_region_deleted(struct tally_object *object);
void tally_region_destroy(struct tally_object *object);
int tally_region_open(struct tally_open *open);
void tally_region_fill(struct tally_object *object, struct tally_open *open,
		       struct tally_rep_open *rep);
void tally_region_close(struct tally_open *open);
void tally_region_request(struct tally_open *open, struct tally_sreq *req);
int tally_region_session_created(struct tally_session *s);
void tally_region_session_over(struct tally_session *s);

void tally_region_home_zero(struct tally_region_home *region, u64 offset,
			    u64 len);

int tally_region_homes_init(void);
void tally_region_homes_exit(void);

#endif
