/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The client side of one lock as it runs: between lockrun.c, which turns what
 * happens into events and carries actions out, and lock.c, where it comes from.
 */
#ifndef TALLY_LOCKRUN_H
#define TALLY_LOCKRUN_H

#include "lock.h"
#include "lockclient.h"
#include "op.h"

/* Messages one lock can have waiting to be sent: it asks one thing at a time. */
#define TALLY_LOCK_OUTBOX	16

/* What is to be told to the table, in this order. */
#define TALLY_LOCK_DOWN		BIT(0)
#define TALLY_LOCK_UP		BIT(1)
#define TALLY_LOCK_LOST		BIT(2)

/**
 * struct lock_in - a message that came
 * @list: in client->inbox
 * @msg: the message
 */
struct lock_in {
	struct list_head list;
	struct tally_lmsg msg;
};

/**
 * struct tally_lock_client - a lock as this node uses it
 * @handle: its handle, which owns this struct
 * @lock: protects everything below; any context
 * @session: session @lc stands in, referenced; NULL for our own locks
 * @lc: the state table
 * @error: what its users get instead of -ENOTCONN, 0: that
 * @queue: requests that wait behind @wanted
 * @wanted: request the table has been asked for
 * @inside: request that has the lock
 * @running: somebody is in tally_lock_run()
 * @pinned: we hold a reference of the handle: something of us may be left at
 *	the home, or the table must remember what it accepted in this session
 * @recalled: somebody else waits for this tenure
 * @unlock: the user inside left
 * @cancel: @wanted gave up
 * @pending: TALLY_LOCK_*
 * @inbox: struct lock_in
 * @op: the one word operation in flight
 * @kind: enum tally_lc_op of it
 * @op_done: it has completed
 * @outbox: ring of messages to send
 * @out_head: next to send
 * @out_tail: next free
 * @violation: the home broke the protocol
 * @send: sends
 * @retry: starts our own lock over when the loopback conn broke
 * @polls: what acquiring it taught about polling; any value will do
 * @idle: woken when pending events have been taken
 */
struct tally_lock_client {
	struct tally_handle *handle;
	spinlock_t lock;	/* all below */
	struct tally_session *session;
	struct tally_lc lc;
	int error;
	struct list_head queue;
	struct tally_lock_req *wanted;
	struct tally_lock_req *inside;
	bool running;
	bool pinned;
	bool recalled;
	bool unlock;
	bool cancel;
	u8 pending;
	struct list_head inbox;
	struct tally_op op;
	u8 kind;
	bool op_done;
	struct tally_lmsg outbox[TALLY_LOCK_OUTBOX];
	u32 out_head;
	u32 out_tail;
	bool violation;
	struct work_struct send;
	struct delayed_work retry;
	struct tally_polls polls;
	wait_queue_head_t idle;
};

/* It is a lock of our own node. */
bool tally_lock_ours(struct tally_lock_client *c);
/* The grant counts only while the lease does; our own locks have none. */
bool tally_lock_lease_valid(struct tally_lock_client *c);
/* The session the table stands in, referenced, or NULL. */
struct tally_session *tally_lock_session(struct tally_lock_client *c);
/* With c->lock: the request ends without the lock. */
void tally_lock_req_end(struct tally_lock_req *req, int status);
/* Any context, without c->lock; the caller keeps the handle. */
void tally_lock_run(struct tally_lock_client *c);
/* Note TALLY_LOCK_* and see it taken. Process context. */
void tally_lock_signal(struct tally_lock_client *c, u8 what);

#endif
