/* SPDX-License-Identifier: GPL-2.0 */
/* A session from its beginning to its end. */
#ifndef TALLY_LIFE_H
#define TALLY_LIFE_H

#include "session/session.h"

struct tally_session *tally_session_alloc(struct tally_node *node,
					  struct tally_dev *dev);
int tally_session_start(struct tally_session *s);
int tally_session_break_wait(struct tally_session *s, int err);
int tally_session_fence_wait(struct tally_session *s, int err);
void tally_session_goodbye(struct tally_session *s);

#endif
