/* SPDX-License-Identifier: GPL-2.0 */
/* Objects as files below the mount point. */
#ifndef TALLY_FILE_H
#define TALLY_FILE_H

#include "args.h"

int file_open(const char *what, const struct path *path, int flags,
	      uint32_t *timeout, int *fd);
int file_failed(const char *what, const struct path *path, int error);
int file_status(int error);

#endif
