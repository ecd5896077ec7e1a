/* SPDX-License-Identifier: GPL-2.0 */
/* Locks for their users on this node. */
#ifndef TALLY_LOCK_USER_H
#define TALLY_LOCK_USER_H

#include "lock/client.h"

void tally_lock_req_init(struct tally_lock_req *req,
			 struct tally_handle *handle,
			 void (*news)(struct tally_lock_req *req,
				      enum tally_lock_news what));
int tally_lock_req_idle(struct tally_lock_req *req);
int tally_lock_acquire(struct tally_lock_req *req, u8 mode, bool try,
		       long timeout);
int tally_lock_request(struct tally_lock_req *req, u8 mode, bool try);
int tally_lock_request_upgrade(struct tally_lock_req *req);
bool tally_lock_cancel(struct tally_lock_req *req, int why);
int tally_lock_release(struct tally_lock_req *req);
int tally_lock_downgrade(struct tally_lock_req *req);
int tally_lock_upgrade(struct tally_lock_req *req);
bool tally_lock_held(struct tally_lock_req *req);
bool tally_lock_lost(struct tally_lock_req *req);
bool tally_lock_recalled(struct tally_lock_req *req);
u64 tally_lock_lease_left(struct tally_lock_req *req);

#endif
