/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Local memory of one work request: an iterator's next bytes, pages that lie
 * together in one piece. A user's pages are pinned; kernel memory is the
 * caller's, to be kept until the transfer has ended.
 */
#ifndef TALLY_REGION_PAGES_H
#define TALLY_REGION_PAGES_H

#include <linux/bvec.h>
#include <linux/uio.h>

/* Elements of a work request: what common devices take (rxe: 32, mlx5: 30). */
#define TALLY_PAGES_MAX	30

/**
 * struct tally_pages - see above
 * @vec: the pieces
 * @n: how many
 * @len: bytes in all
 * @piece: bytes each may have
 * @pinned: they are to be unpinned
 */
struct tally_pages {
	struct bio_vec vec[TALLY_PAGES_MAX];
	u32 n;
	u32 len;
	u32 piece;
	bool pinned;
};

int tally_pages_fill(struct tally_pages *pages, struct iov_iter *iter, u32 len,
		     u32 max, u32 piece);
void tally_pages_release(struct tally_pages *pages, bool dirty);

#endif
