/* SPDX-License-Identifier: GPL-2.0 */
/* What a peer is shown of our arenas. */
#ifndef TALLY_SHOW_H
#define TALLY_SHOW_H

#include <linux/types.h>

struct tally_sreq;

bool tally_show_request(struct tally_sreq *req);

#endif
