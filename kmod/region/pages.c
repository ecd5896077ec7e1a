// SPDX-License-Identifier: GPL-2.0
#include <linux/mm.h>
#include "region/chunk.h"
#include "iter_compat.h"
#include "region/pages.h"

static void pages_add(struct tally_pages *pages, struct page **page,
		      size_t offset, size_t len)
{
	struct bio_vec *vec = pages->vec + pages->n;

	pages->len += len;
	for (; len; vec++, page++, pages->n++) {
		vec->bv_page = *page;
		vec->bv_offset = offset;
		vec->bv_len = min_t(size_t, len, PAGE_SIZE - offset);
		len -= vec->bv_len;
		offset = 0;
	}
}

/**
 * tally_pages_fill - take the next bytes of an iterator
 * @pages: where to put the pieces; what it held is forgotten
 * @iter: user, kvec or bvec iterator; advanced by what was taken
 * @len: bytes wanted
 * @max: pieces wanted, at most TALLY_PAGES_MAX
 *
 * Context: process; sleeps to fault a user's pages in.
 * Return: 0 with @pages->len > 0, or an errno if there is nothing.
 */
int tally_pages_fill(struct tally_pages *pages, struct iov_iter *iter, u32 len,
		     u32 max)
{
	struct page *page[TALLY_PAGES_MAX];
	size_t offset = 0;
	ssize_t got = 0;

	pages->n = 0;
	pages->len = 0;
	pages->pinned = user_backed_iter(iter);
	max = min_t(u32, max, TALLY_PAGES_MAX);
	while (pages->len < len && pages->n < max) {
		got = tally_iter_extract(iter, page, len - pages->len,
					 max - pages->n, &offset);
		if (got <= 0)
			break;
		pages_add(pages, page, offset, got);
	}
	if (pages->len)
		return 0;
	return got < 0 ? got : -EFAULT;
}

/**
 * tally_pages_release - give pieces back
 * @pages: as filled
 * @dirty: a device wrote into them
 *
 * Context: process; sleeps.
 */
void tally_pages_release(struct tally_pages *pages, bool dirty)
{
	u32 i;

	for (i = 0; pages->pinned && i < pages->n; i++)
		unpin_user_pages_dirty_lock(&pages->vec[i].bv_page, 1, dirty);
	pages->n = 0;
	pages->len = 0;
}
