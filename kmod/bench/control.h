/* SPDX-License-Identifier: GPL-2.0 */
/* Files in debugfs by which a benchmark is run and read. */
#ifndef TALLY_BENCH_CONTROL_H
#define TALLY_BENCH_CONTROL_H

#include "stage.h"

/* @far: address and port of the baseline's target, or empty. */
int control_create(const struct stage_paths *paths, const char *far);
void control_destroy(void);
/* A device came or goes; what stands on one that goes is cleared. */
void control_add_device(struct ib_device *ibdev);
void control_remove_device(struct ib_device *ibdev);

#endif
