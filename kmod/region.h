/* SPDX-License-Identifier: GPL-2.0 */
/* Regions: bulk memory at the home, read and written one-sidedly. */
#ifndef TALLY_REGION_H
#define TALLY_REGION_H

#include <linux/uio.h>
#include "view.h"

#define TALLY_REGION_MAX	(1ULL << 40)

/**
 * struct tally_region_home - memory of a region of ours
 * @size: bytes
 * @npages: pages
 * @pages: the pages
 * @lock: protects @shares
 * @shares: sessions it is registered for: their MRs, in their PDs
 */
struct tally_region_home {
	u64 size;
	unsigned long npages;
	struct page **pages;
	struct mutex lock;
	struct list_head shares;
};

/*
 * Copy between a region and an iterator (user, kvec or bvec; user pages are
 * pinned, nothing is bounced). Sleeps, killable. Reads end at the region's
 * end (0 past it); writes past it are -ENOSPC. Return: bytes of the
 * contiguous acknowledged prefix, or an errno if there are none; -EREMOTEIO:
 * unknown.
 */
ssize_t tally_region_rw(struct tally_handle *handle, struct iov_iter *iter,
			u64 pos, bool write, long timeout);
/* The home's CPU sees every completed write of ours. */
int tally_region_sync(struct tally_handle *handle, long timeout);

/* Home side, called by arena.c. -EDQUOT beyond the node's limit, -ENOMEM. */
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

/* Client side, called by view.c. */
int tally_region_client_create(struct tally_handle *handle);
void tally_region_client_reset(struct tally_handle *handle);	/* keys are void */
void tally_region_client_destroy(struct tally_handle *handle);

/* REGION_MAP: registers on first use; true when the request was one. */
bool tally_region_request(struct tally_session *s, struct tally_sreq *req);

#endif
