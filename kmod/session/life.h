/* SPDX-License-Identifier: GPL-2.0 */
/* A session from its beginning to its end, and its link. */
#ifndef TALLY_LIFE_H
#define TALLY_LIFE_H

#include "session/session.h"

struct tally_session *tally_session_alloc(struct tally_node *node,
					  struct tally_dev *dev,
					  const u8 key[TALLY_MAC_SIZE]);
int tally_session_start(struct tally_session *s);
int tally_session_break_wait(struct tally_session *s, int err);
int tally_session_fence_wait(struct tally_session *s, int err);
void tally_session_leave(struct tally_session *s);
void tally_session_goodbye(struct tally_session *s);

int tally_link_open(struct tally_session *s, struct tally_conn *ctrl, u8 lanes,
		    bool resumed, bool initiator, const u8 *key, u64 since);
enum tally_refusal tally_link_lane_request(struct tally_session *s,
					   struct tally_dev *dev,
					   const struct tally_cm_req *req,
					   struct tally_conn_params *params);
void tally_link_lane_accepted(struct tally_session *s,
			      struct tally_conn *conn);

#endif
