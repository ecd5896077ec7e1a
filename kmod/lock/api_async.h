/* SPDX-License-Identifier: GPL-2.0 */
/* A kernel user of a lock, and its calls that do not wait. */
#ifndef TALLY_LOCK_API_ASYNC_H
#define TALLY_LOCK_API_ASYNC_H

#include <linux/lockdep.h>
#include <linux/tally.h>
#include "api/api.h"
#include "lock/user.h"

int tally_api_locks_init(void);
void tally_api_locks_exit(void);

/* What was not told yet. */
#define API_ANSWER	BIT(0)
#define API_RECALL	BIT(1)
#define API_LOST	BIT(2)
#define API_REOPEN	BIT(3)	/* it is to be found again, then asked for */

/* What granted() is to be called for. */
enum api_asked {
	API_ASKED_NOTHING,
	API_ASKED_ACQUIRE,
	API_ASKED_UPGRADE,
};

/**
 * struct tally_lock - a kernel user of a lock
 * @user: as every user
 * @req: its one request
 * @ops: what it is told by, NULL: nothing
 * @data: the callbacks' argument
 * @claimed: bit 0: acquiring, until it is answered
 * @watched: by lockdep
 * @map: for lockdep
 * @spin: all below; nests in the client's lock
 * @asked: whose answer is due
 * @try: it does not want to wait
 * @cancelled: it does not want the lock any more
 * @closing: it is being put
 * @told: API_*
 * @err: the answer
 * @token: the answer
 * @work: calls back
 */
struct tally_lock {
	struct tally_api_user user;
	struct tally_lock_req req;
	const struct tally_lock_ops *ops;
	void *data;
	unsigned long claimed;
	bool watched;
	struct lockdep_map map;
	spinlock_t spin;	/* all below */
	enum api_asked asked;
	bool try;
	bool cancelled;
	bool closing;
	u8 told;
	int err;
	u64 token;
	struct work_struct work;
};

int tally_api_locks_init(void);
void tally_api_locks_exit(void);

bool tally_api_claim(struct tally_lock *lock);
void tally_api_unclaim(struct tally_lock *lock);
int tally_api_idle(struct tally_lock *lock);
void tally_api_async_init(struct tally_lock *lock);
void tally_api_async_end(struct tally_lock *lock);
void tally_api_async_released(struct tally_lock *lock);

#endif
