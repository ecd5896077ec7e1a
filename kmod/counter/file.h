/* SPDX-License-Identifier: GPL-2.0 */
/* Files of counters: read(2) gives the value as text, ioctl(2) all the rest. */
#ifndef TALLY_COUNTER_FILE_H
#define TALLY_COUNTER_FILE_H

#include <linux/fs.h>

extern const struct file_operations tally_counter_ops;

#endif
