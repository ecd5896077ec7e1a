/* SPDX-License-Identifier: GPL-2.0 */
/* Regions: bulk memory at the home, read and written one-sidedly. */
#ifndef TALLY_REGION_H
#define TALLY_REGION_H

#include <linux/uio.h>
#include "client/view.h"
#include "region/home.h"

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

/* Client side, called by client/view.c. */
int tally_region_client_create(struct tally_handle *handle);
void tally_region_client_reset(struct tally_handle *handle);	/* keys are void */
void tally_region_client_destroy(struct tally_handle *handle);

#endif
