/* SPDX-License-Identifier: GPL-2.0 */
/* The tally file system: a directory an arena, a file an object. */
#ifndef TALLY_FS_SUPER_H
#define TALLY_FS_SUPER_H

extern struct file_system_type tally_fs_type;

#endif
