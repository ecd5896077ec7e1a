/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Registered memory: pages mapped for one device and registered in one PD,
 * by a QP of that PD. The address that is advertised is not the kernel's.
 */
#ifndef TALLY_MR_H
#define TALLY_MR_H

#include <linux/mm_types.h>
#include <linux/scatterlist.h>
#include <rdma/ib_verbs.h>
#include "transport/conn.h"

/**
 * struct tally_mr - one memory region
 * @mr: the verbs object
 * @conn: serial number of the conn that registered it
 * @dev: its device, referenced
 * @sg: scatter list of its pages, mapped for the device
 * @addr: address peers use (never a kernel address)
 */
struct tally_mr {
	struct ib_mr *mr;
	u32 conn;
	struct tally_dev *dev;
	struct sg_table sg;
	u64 addr;
};

struct tally_mr *tally_mr_create(struct tally_conn *conn, struct page **pages,
				 u32 n, int access);
void tally_mr_destroy(struct tally_mr *mr);

#endif
