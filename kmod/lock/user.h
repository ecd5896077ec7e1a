/* SPDX-License-Identifier: GPL-2.0 */
/* Locks for their users on this node. */
#ifndef TALLY_LOCK_USER_H
#define TALLY_LOCK_USER_H

#include "lock/client.h"

void tally_lock_req_init(struct tally_lock_req *req,
			 struct tally_handle *handle,
			 void (*news)(struct tally_lock_req *req,
				      enum tally_lock_news what));
void tally_lock_req_destroy(struct tally_lock_req *req);
int tally_lock_req_idle(struct tally_lock_req *req);
int tally_lock_req_acquire(struct tally_lock_req *req, u8 mode, bool try,
			   long timeout);
int tally_lock_req_ask(struct tally_lock_req *req, u8 mode, bool try);
int tally_lock_req_ask_upgrade(struct tally_lock_req *req);
long tally_lock_req_try_check(struct tally_lock_req *req);
void tally_lock_req_cancel(struct tally_lock_req *req, u32 serial, int why);
int tally_lock_req_release(struct tally_lock_req *req);
int tally_lock_req_downgrade(struct tally_lock_req *req);
int tally_lock_req_upgrade(struct tally_lock_req *req);
bool tally_lock_req_held(struct tally_lock_req *req);
bool tally_lock_req_lost(struct tally_lock_req *req);
bool tally_lock_req_recalled(struct tally_lock_req *req);
u64 tally_lock_req_lease_left(struct tally_lock_req *req);

#endif
