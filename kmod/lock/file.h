/* SPDX-License-Identifier: GPL-2.0 */
/* Files of locks: flock(), and ioctls for the rest. */
#ifndef TALLY_LOCK_FILE_H
#define TALLY_LOCK_FILE_H

#include <linux/fs.h>

extern const struct file_operations tally_lock_ops;

#endif
