/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Directories: the root lists arenas, an arena lists its objects. Nothing is
 * remembered between two look-ups: names belong to the homes.
 */
#ifndef TALLY_FS_DIR_H
#define TALLY_FS_DIR_H

#include "fs/inode.h"

extern const struct dentry_operations tally_dentry_ops;

struct inode *tally_dir_inode(struct super_block *sb, umode_t perm,
			      struct tally_view *view);

#endif
