/* SPDX-License-Identifier: GPL-2.0 */
/* What the home of an arena elsewhere shows of it. */
#ifndef TALLY_REMOTE_H
#define TALLY_REMOTE_H

#include "args.h"
#include "nl.h"

int remote_show(const struct tnl_request *req, const char *node,
		const struct path *path, uint32_t type, int max,
		tnl_answer answer);

#endif
