/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A transfer: bytes between an iterator and the memory of another node, by
 * RDMA Read or Write straight from or into the iterator's pages, several
 * chunks in flight.
 */
#ifndef TALLY_REGION_XFER_H
#define TALLY_REGION_XFER_H

#include <linux/uio.h>
#include "client/handle.h"

/**
 * struct tally_xfer_key - a memory region of the target
 * @addr: address of its first byte
 * @rkey: its key
 */
struct tally_xfer_key {
	u64 addr;
	u32 rkey;
};

/**
 * struct tally_xfer_args - what to transfer
 * @handle: the object, of which the caller has a reference
 * @session: session with its home; keys and lanes are this session's
 * @lane: first lane to use, the next chunks use the ones behind it
 * @pos: offset in the target
 * @write: to the target
 * @unit: bytes each memory region of the target covers
 * @until: when to give up
 * @opening: names the state of the object that keys belong to, for @key and @check
 * @key: get the @index-th memory region; called before each chunk. May sleep
 *	until @until. 0 or an errno
 * @check: may a chunk with such a key be sent? Called inside the handle, where that
 *	stays so. 0, -EAGAIN: not as the object was opened then; or an errno
 * @wrote: NULL, or called when a chunk has been posted on @lane, and when it has
 *	arrived, each before anybody hears of that. Any context
 */
struct tally_xfer_args {
	struct tally_handle *handle;
	struct tally_session *session;
	u32 lane;
	u64 pos;
	bool write;
	u32 unit;
	struct tally_until until;
	int opening;
	int (*key)(const struct tally_xfer_args *args, u32 index,
		   struct tally_xfer_key *key);
	int (*check)(const struct tally_xfer_args *args);
	void (*wrote)(const struct tally_xfer_args *args, u32 lane);
};

ssize_t tally_xfer_run(const struct tally_xfer_args *args,
		       struct iov_iter *iter);
void tally_xfer_ended(struct tally_handle *handle);

int tally_xfer_init(void);
void tally_xfer_exit(void);

#endif
