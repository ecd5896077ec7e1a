/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Local memory of one work request: an iterator's next bytes, page by page.
 * A user's pages are pinned; kernel memory belongs to the caller, who must
 * keep it until the transfer is over.
 */
#ifndef TALLY_PAGES_H
#define TALLY_PAGES_H

#include <linux/bvec.h>
#include <linux/uio.h>

/* Elements of a work request: what common devices take (rxe: 32, mlx5: 30). */
#define TALLY_PAGES_MAX	30

/**
 * struct tally_pages - see above
 * @vec: the pieces, none crosses a page
 * @n: how many
 * @len: bytes in all
 * @pinned: they are to be unpinned
 */
struct tally_pages {
	struct bio_vec vec[TALLY_PAGES_MAX];
	u32 n;
	u32 len;
	bool pinned;
};

/*
 * Take up to @len bytes in up to @max pieces and advance @iter past them.
 * May take less. Sleeps. 0, or an errno when there are none: -EFAULT, -ENOMEM.
 */
int tally_pages_fill(struct tally_pages *pages, struct iov_iter *iter, u32 len,
		     u32 max);
/* Give them back; @dirty: a device wrote into them. Sleeps. */
void tally_pages_release(struct tally_pages *pages, bool dirty);

#endif
