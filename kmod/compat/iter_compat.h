/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pages of an iterator, pinned if they are a user's. Newer kernels have
 * iov_iter_extract_pages(); before 6.3 the same is done here for the types of
 * iterators that reach us.
 */
#ifndef TALLY_ITER_COMPAT_H
#define TALLY_ITER_COMPAT_H

#include <linux/bvec.h>
#include <linux/mm.h>
#include <linux/uio.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)

static inline ssize_t tally_iter_extract(struct iov_iter *iter,
					 struct page **pages, size_t len,
					 unsigned int max, size_t *offset)
{
	return iov_iter_extract_pages(iter, &pages, len, max, 0, offset);
}

#else

/* Length of the run that begins at @offset and fits in @n pages. */
static inline size_t tally_iter_run(size_t len, size_t offset, unsigned int n)
{
	return min_t(size_t, len, n * PAGE_SIZE - offset);
}

static inline ssize_t tally_iter_pin(const struct iov_iter *iter,
				     struct page **pages, size_t len,
				     unsigned int max, size_t *offset)
{
	unsigned int flags = iov_iter_rw(iter) == READ ? FOLL_WRITE : 0;
	const struct iovec *iov = iter->iov;
	size_t skip = iter->iov_offset;
	unsigned long addr;
	int n;

	if (iter_is_ubuf(iter)) {
		addr = (unsigned long)iter->ubuf + skip;
	} else {
		for (; iov->iov_len == skip; iov++)
			skip = 0;
		addr = (unsigned long)iov->iov_base + skip;
		len = min(len, iov->iov_len - skip);
	}
	*offset = offset_in_page(addr);
	len = tally_iter_run(len, *offset, max);
	n = pin_user_pages_fast(addr & PAGE_MASK,
				DIV_ROUND_UP(len + *offset, PAGE_SIZE), flags,
				pages);
	if (n <= 0)
		return n ? n : -EFAULT;
	return tally_iter_run(len, *offset, n);
}

static inline ssize_t tally_iter_kvec(const struct iov_iter *iter,
				      struct page **pages, size_t len,
				      unsigned int max, size_t *offset)
{
	const struct kvec *kvec = iter->kvec;
	size_t skip = iter->iov_offset, i;
	const void *at;

	for (; kvec->iov_len == skip; kvec++)
		skip = 0;
	at = kvec->iov_base + skip;
	*offset = offset_in_page(at);
	len = tally_iter_run(min(len, kvec->iov_len - skip), *offset, max);
	at -= *offset;
	for (i = 0; i < len + *offset; i += PAGE_SIZE)
		*pages++ = !virt_addr_valid(at + i) ?
			   vmalloc_to_page(at + i) : virt_to_page(at + i);
	return len;
}

static inline ssize_t tally_iter_bvec(const struct iov_iter *iter,
				      struct page **pages, size_t len,
				      unsigned int max, size_t *offset)
{
	const struct bio_vec *bvec = iter->bvec;
	size_t skip = iter->iov_offset, i;
	struct page *page;

	for (; bvec->bv_len == skip; bvec++)
		skip = 0;
	len = min_t(size_t, len, bvec->bv_len - skip);
	skip += bvec->bv_offset;
	page = nth_page(bvec->bv_page, skip >> PAGE_SHIFT);
	*offset = offset_in_page(skip);
	len = tally_iter_run(len, *offset, max);
	for (i = 0; i < len + *offset; i += PAGE_SIZE)
		*pages++ = nth_page(page, i >> PAGE_SHIFT);
	return len;
}

static inline ssize_t tally_iter_extract(struct iov_iter *iter,
					 struct page **pages, size_t len,
					 unsigned int max, size_t *offset)
{
	ssize_t got;

	len = min(len, iov_iter_count(iter));
	if (!len)
		return 0;
	if (user_backed_iter(iter))
		got = tally_iter_pin(iter, pages, len, max, offset);
	else if (iov_iter_is_kvec(iter))
		got = tally_iter_kvec(iter, pages, len, max, offset);
	else if (iov_iter_is_bvec(iter))
		got = tally_iter_bvec(iter, pages, len, max, offset);
	else
		return -EOPNOTSUPP;
	if (got > 0)
		iov_iter_advance(iter, got);
	return got;
}

#endif
#endif
