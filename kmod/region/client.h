/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Regions as their users see them. Keys are fetched from the home as they are
 * needed and belong to one session: a transfer takes its keys and its lanes
 * from the same session, so that a key can never meet another session's QP,
 * which would break it.
 */
#ifndef TALLY_REGION_CLIENT_H
#define TALLY_REGION_CLIENT_H

#include <linux/uio.h>
#include "client/handle.h"

ssize_t tally_region_rw(struct tally_handle *handle, struct iov_iter *iter,
			u64 pos, bool write, long timeout);
int tally_region_sync(struct tally_handle *handle, long timeout);
int tally_region_zero(struct tally_handle *handle);

int tally_region_attach(struct tally_handle *handle,
			const struct tally_rep_open *rep);
void tally_region_error(struct tally_handle *handle, int err);
void tally_region_release(struct tally_handle *handle);

#endif
