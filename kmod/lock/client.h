/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The client side of one lock as it runs: between lock/client.c, which turns what
 * happens into events and carries actions out, lock/send.c, which sends, and
 * lock/user.c and lock/recv.c, where it comes from.
 */
#ifndef TALLY_LOCKRUN_H
#define TALLY_LOCKRUN_H

#include <linux/slab.h>
#include "lock/lock.h"
#include "lock/fsm_client.h"
#include "transport/msg.h"
#include "transport/op.h"

/* Messages one lock can have waiting to be sent: it asks one thing at a time. */
#define TALLY_LOCK_OUTBOX	16

/* What is to be told to the table, in this order. */
#define TALLY_LOCK_DOWN		BIT(0)
#define TALLY_LOCK_UP		BIT(1)
#define TALLY_LOCK_LOST		BIT(2)
#define TALLY_LOCK_HANDED_BAD	BIT(3)
#define TALLY_LOCK_SET		BIT(4)

/**
 * struct lock_way - how a message goes
 * @conn: control conn, referenced; NULL: there is no link
 * @head: what its header says
 */
struct lock_way {
	struct tally_conn *conn;
	struct tally_msg_head head;
};

/**
 * struct lock_in - a message that came
 * @list: in client->inbox
 * @msg: the message
 * @next: SUCC: the way to the successor
 */
struct lock_in {
	struct list_head list;
	struct tally_lmsg msg;
	struct lock_way next;
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
 * @holders: requests that have the lock
 * @upgrader: the one among them that asked for exclusive
 * @running: somebody is in tally_lock_run_unlock()
 * @ev: of whoever runs: too large to be cleared on his stack each time
 * @out: likewise
 * @pinned: we hold a reference of the handle: something of us may be left at
 *	the home, or the table must remember what it accepted in this session
 * @unlocks: so many holders left
 * @downgrade: a holder goes on shared
 * @upgrade: @upgrader is still to be told to the table
 * @cancel: @wanted gave up
 * @pending: TALLY_LOCK_*
 * @inbox: struct lock_in
 * @op: the one word operation in flight
 * @op_conn: conn it is on, referenced; NULL when none is in flight
 * @op_done: it has completed
 * @recalled_at: CLOCK_BOOTTIME ns at which another node began to wait
 * @managed_until: jiffies until which the word is not worth a look
 * @outbox: ring of messages to send
 * @out_head: next to send, or being sent
 * @out_tail: next free
 * @sending: somebody empties the outbox, or is about to: one at a time, which
 *	keeps the messages in order
 * @send_due: it is whoever runs, when nothing is left to be done
 * @sends: how often somebody was through with it
 * @next: the way to the successor that was announced last
 * @next_session: its session at the home
 * @handed: generation last handed over, 0: it is known to have arrived
 * @handed_to: id of our session with the node it went to
 * @send: sends what could not be sent at once
 * @accuse: the home broke the protocol
 * @retry: starts our own lock over when the loopback conn broke
 * @polls: what acquiring it taught about polling; any value will do
 * @idle: woken when pending events have been taken, or the outbox is empty
 */
struct tally_lock_client {
	struct tally_handle *handle;
	spinlock_t lock;	/* all below */
	struct tally_session *session;
	struct tally_lc lc;
	int error;
	struct list_head queue;
	struct tally_lock_req *wanted;
	struct list_head holders;
	struct tally_lock_req *upgrader;
	bool running;
	struct tally_lc_event ev;
	struct tally_lc_actions out;
	bool pinned;
	u32 unlocks;
	bool downgrade;
	bool upgrade;
	bool cancel;
	u8 pending;
	struct list_head inbox;
	struct tally_op op;
	struct tally_conn *op_conn;
	bool op_done;
	u64 recalled_at;
	unsigned long managed_until;
	struct tally_lmsg outbox[TALLY_LOCK_OUTBOX];
	u32 out_head;
	u32 out_tail;
	bool sending;
	bool send_due;
	u32 sends;
	struct lock_way next;
	u64 next_session;
	u64 handed;
	u64 handed_to;
	struct work_struct send;
	struct work_struct accuse;
	struct delayed_work retry;
	struct tally_polls polls;
	wait_queue_head_t idle;
};

/* A message has been taken, or never will be. */
static inline void tally_lock_in_free(struct lock_in *in)
{
	if (in->next.conn)
		tally_conn_put(in->next.conn);
	kfree(in);
}

/* It is a lock of our own node. */
static inline bool tally_lock_ours(struct tally_lock_client *c)
{
	return c->handle->object;
}

/* With c->lock: something is taken or sent that may be waited for. */
static inline void tally_lock_wake_idle(struct tally_lock_client *c)
{
	/* Who waits comes into the queue first, and looks with c->lock then. */
	if (waitqueue_active(&c->idle))
		wake_up_all(&c->idle);
}

/* The grant counts only while the lease does; our own locks have none. */
bool tally_lock_lease_valid(struct tally_lock_client *c, u64 now);
/* The session the table stands in, referenced, or NULL. */
struct tally_session *tally_lock_session(struct tally_lock_client *c);
/* With c->lock: the request ends without the lock. */
void tally_lock_req_end(struct tally_lock_req *req, int status);
/* Do what has been noted. Any context; the caller keeps the handle. */
void tally_lock_run_unlock(struct tally_lock_client *c, unsigned long flags)
	__releases(&c->lock);
/* The same without c->lock. */
void tally_lock_run(struct tally_lock_client *c);
/* Note TALLY_LOCK_* and see it taken. Process context. */
void tally_lock_signal(struct tally_lock_client *c, u8 what);

/* Between lock/client.c and lock/send.c. With c->lock: */
void tally_lock_out(struct tally_lock_client *c, const struct tally_lmsg *msg);
/* Nothing that waits goes to the home: RESYNC says it as state. */
void tally_lock_out_drop(struct tally_lock_client *c);
/* The home broke the protocol. */
void tally_lock_accuse(struct tally_lock_client *c);
/* Our own lock's operation broke: start over when that is possible. */
void tally_lock_start_over(struct tally_lock_client *c);
/* Without it: @send_due was true, and is false now. Any context. */
void tally_lock_send(struct tally_lock_client *c);
/* What is in the outbox has left it on return. Process context. */
void tally_lock_send_flush(struct tally_lock_client *c);
void tally_lock_send_init(struct tally_lock_client *c);

#endif
