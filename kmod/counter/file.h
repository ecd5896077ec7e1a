/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Files of counters: reading gives the value as text, the ioctl does the rest.
 */
#ifndef TALLY_COUNTER_FILE_H
#define TALLY_COUNTER_FILE_H

#include <linux/fs.h>

extern const struct file_operations tally_counter_ops;

#endif
