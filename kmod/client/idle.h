/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Handles that stay open though nobody uses them, as the next use is cheaper then.
 * Their home keeps a record of each, and bounds what it keeps: the ones that were not
 * used for long are closed when it has no room, or when this node has no memory.
 */
#ifndef TALLY_IDLE_H
#define TALLY_IDLE_H

#include "client/view.h"

int tally_idle_start(struct tally_node *node);
void tally_idle_free(struct tally_node *node);
void tally_idle_add(struct tally_handle *handle);
void tally_idle_del(struct tally_handle *handle);
void tally_idle_closed(struct tally_handle *handle);
bool tally_idle_close(struct tally_session *s, const struct tally_until *until);

#endif
