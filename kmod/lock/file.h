/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_LOCK_FILE_H
#define TALLY_LOCK_FILE_H

#include <linux/fs.h>

extern const struct file_operations tally_lock_ops;

#endif
