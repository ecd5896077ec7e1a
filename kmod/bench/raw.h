/* SPDX-License-Identifier: GPL-2.0 */
/* The baseline: fetch-and-add by verbs alone, on a QP connected to itself. */
#ifndef TALLY_BENCH_RAW_H
#define TALLY_BENCH_RAW_H

#include <rdma/ib_verbs.h>

struct raw;

/* @polled: spin for completions, else sleep for them. ERR_PTR on error. */
struct raw *raw_create(struct ib_device *ibdev, bool polled);
void raw_destroy(struct raw *raw);
/* One fetch-and-add, waited for. */
int raw_faa(struct raw *raw);

#endif
