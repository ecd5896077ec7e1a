// SPDX-License-Identifier: GPL-2.0
#include "region/pages.h"

#include <linux/mm.h>
#include "compat/iter_compat.h"

/* Does a page lie right behind a piece, which may still grow by that much? */
static bool pages_join(const struct tally_pages *pages, struct page *page,
		       u32 len)
{
	const struct bio_vec *vec;
	size_t end;

	if (!pages->n)
		return false;
	vec = &pages->vec[pages->n - 1];
	if (vec->bv_len > pages->piece - len)
		return false;
	end = (size_t)vec->bv_offset + vec->bv_len;
	return !offset_in_page(end) &&
	       page_to_pfn(page) == page_to_pfn(vec->bv_page) +
				    (end >> PAGE_SHIFT);
}

static void pages_add(struct tally_pages *pages, struct page **page,
		      size_t offset, size_t len)
{
	u32 n;

	pages->len += len;
	for (; len; page++, len -= n, offset = 0) {
		n = min_t(size_t, len, PAGE_SIZE - offset);
		if (!offset && pages_join(pages, *page, n)) {
			pages->vec[pages->n - 1].bv_len += n;
			continue;
		}
		bvec_set_page(&pages->vec[pages->n], *page, n, offset);
		pages->n++;
	}
}

/**
 * tally_pages_fill - take the next bytes of an iterator
 * @pages: where to put the pieces; what it held is forgotten
 * @iter: user, kvec or bvec iterator; advanced by what was taken
 * @len: bytes wanted
 * @max: pieces wanted, at most TALLY_PAGES_MAX
 * @piece: bytes a piece may have, at least PAGE_SIZE
 *
 * Context: process; sleeps to fault a user's pages in.
 * Return: 0 with @pages->len > 0, or an errno if there is nothing.
 */
int tally_pages_fill(struct tally_pages *pages, struct iov_iter *iter, u32 len,
		     u32 max, u32 piece)
{
	struct page *page[TALLY_PAGES_MAX];
	size_t offset = 0;
	ssize_t got = 0;

	pages->n = 0;
	pages->len = 0;
	pages->piece = piece;
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
	const struct bio_vec *vec = pages->vec;
	const struct bio_vec *end = vec + (pages->pinned ? pages->n : 0);

	for (; vec != end; vec++)
		unpin_user_page_range_dirty_lock(vec->bv_page,
						 PFN_UP(vec->bv_offset +
							vec->bv_len), dirty);
	pages->n = 0;
	pages->len = 0;
}
