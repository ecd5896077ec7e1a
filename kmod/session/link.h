/* SPDX-License-Identifier: GPL-2.0 */
/* The link of a session: its control conn and its lanes. */
#ifndef TALLY_LINK_H
#define TALLY_LINK_H

#include "session/session.h"

int tally_link_open(struct tally_session *s, struct tally_conn *ctrl,
		    bool resumed, bool initiator, const u8 *key, u64 since);
enum tally_refusal tally_link_lane_request(struct tally_session *s,
					   struct tally_dev *dev,
					   const struct tally_cm_req *req,
					   struct tally_conn_params *params);
void tally_link_lane_accepted(struct tally_session *s,
			      struct tally_conn *conn);
void tally_link_lanes_work(struct work_struct *work);

#endif
