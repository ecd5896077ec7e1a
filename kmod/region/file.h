/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Files of regions: regular files of a fixed size without a page cache.
 * Reading and writing is RDMA from and into the caller's pages. Like a block
 * device: reading ends at the end, writing there is ENOSPC, also with
 * O_APPEND.
 *
 * At the home the region can be mapped: ordinary pages, shared.
 */
#ifndef TALLY_REGION_FILE_H
#define TALLY_REGION_FILE_H

#include <linux/fs.h>

extern const struct file_operations tally_region_ops;

#endif
