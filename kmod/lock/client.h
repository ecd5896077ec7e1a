/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The client side of one lock: what happens to it becomes events of the table
 * in lock/fsm_client.c, whose actions are carried out: operations on the word,
 * messages, news for the users of this node.
 */
#ifndef TALLY_LOCK_CLIENT_H
#define TALLY_LOCK_CLIENT_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include "client/handle.h"
#include "lock/fsm_client.h"
#include "lock/msg.h"
#include "transport/cq.h"
#include "transport/op.h"

enum tally_lock_req_state {
	TALLY_LOCK_REQ_IDLE,
	TALLY_LOCK_REQ_WAITING,
	TALLY_LOCK_REQ_HELD,
	TALLY_LOCK_REQ_LOST,
};

/* What a user is told; see struct tally_lock_req. */
enum tally_lock_news {
	TALLY_LOCK_NEWS_GRANTED,	/* HELD, or an upgrade was answered */
	TALLY_LOCK_NEWS_FAILED,		/* IDLE, why is in status */
	TALLY_LOCK_NEWS_RECALL,		/* another node waits */
	TALLY_LOCK_NEWS_LOST,		/* LOST, before another gets it */
};

/* One local user of a lock; owned by the caller. */
struct tally_lock_req {
	struct list_head list;		/* in queue, or holders while HELD */
	struct tally_handle *handle;	/* the caller keeps a reference */
	enum tally_lock_req_state state; /* under the client's lock */
	u8 mode;			/* TALLY_LMODE_*, wanted or held */
	int status;			/* why there is no grant, or no X */
	u32 serial;			/* the user's, which it may change while idle */
	u64 token;			/* fencing token while HELD */
	u64 granted_at;			/* CLOCK_BOOTTIME ns */
	/* For `show`: who asked for it and, of a file, who opened that. */
	struct pid *asker;		/* NULL: kernel code */
	struct pid *opener;		/* or NULL; the caller's */
	unsigned long asked_at;		/* jiffies, of this node, then of the home */
	bool try;			/* it does not want to wait */
	bool interruptible;		/* any signal ends its wait */
	bool recalled;			/* it was told: another node waits */
	/* Completed when state leaves WAITING, or an upgrade is answered. */
	struct completion wake;
	/* Then its queue is kicked, as it is helped while we wait; or NULL. */
	struct tally_conn *conn;
	/*
	 * Called with every change; a spinlock is held and it may be any
	 * context: wake a task up, nothing more.
	 */
	void (*news)(struct tally_lock_req *req, enum tally_lock_news what);
};

/* What is to be told to the table, in this order. */
#define TALLY_LOCK_OP_DONE	BIT(0)	/* op has completed */
#define TALLY_LOCK_IN		BIT(1)	/* a message came; the next one waits */
#define TALLY_LOCK_DOWN		BIT(2)
#define TALLY_LOCK_UP		BIT(3)
#define TALLY_LOCK_LOST		BIT(4)
#define TALLY_LOCK_HANDED_BAD	BIT(5)
#define TALLY_LOCK_SET		BIT(6)
#define TALLY_LOCK_CANCEL	BIT(7)	/* wanted gave up */
#define TALLY_LOCK_DOWNGRADE	BIT(8)	/* a holder goes on shared */
#define TALLY_LOCK_UPGRADE	BIT(9)	/* of upgrader */

/* Messages of one lock that wait to be sent: it asks one thing at a time. */
#define TALLY_LOCK_OUTBOX	8

/* A message that waits to be sent. */
struct tally_lock_out {
	u64 head;	/* gen or next_gen (56 bits), type (6), mode (2) */
	u64 tail;	/* last (56), flags (8) */
	u64 pass;
};

/* How the lock goes to its next holder. */
struct tally_lock_way {
	struct tally_conn *conn;	/* control conn, referenced, or NULL */
	u64 session;	/* id of our session with that node */
	u64 home_session;	/* id of its session with the home */
	u64 gen;	/* generation it is to have, */
	u64 proof;	/* which the home signed for it */
	u16 slot;	/* our slot there */
};

/**
 * struct tally_lock_client - a lock as this node uses it
 * @handle: its handle, which owns this struct
 * @session: session @lc stands in, referenced; NULL for our own locks
 * @lock: protects all but @handle; any context
 * @error: what its users get instead of -ENOTCONN, 0: that
 * @set: settings, from the home
 * @last: what the table begins with, from the home
 * @lc: the state table
 * @queue: requests that wait behind @wanted
 * @holders: requests that have the lock
 * @wanted: request the table has been asked for
 * @upgrader: the one among @holders that asked for exclusive
 * @upgrade_void: and does not want it any more
 * @running: tally_lock_run_unlock() is at work
 * @pinned: we hold a reference of the handle: something of us may be left at
 *	the home, or nobody has needed its room since
 * @used: it was asked for since it was last looked whether it is
 * @sending: the outbox is being emptied, or about to be: one at a time, which
 *	keeps the messages in order
 * @send_later: by @work
 * @accuse: the home broke the protocol, @work is to say so
 * @in_linked: SUCC: @next leads to the successor
 * @pending: TALLY_LOCK_*
 * @out_head: next to send, or being sent
 * @out_tail: next free
 * @sends: how often the outbox became empty
 * @unlocks: so many holders left
 * @in: a message that came
 * @outbox: ring of messages to send
 * @op: the one word operation in flight
 * @op_conn: conn it is on, referenced; NULL when none is in flight
 * @recalled_at: CLOCK_BOOTTIME ms at which another node began to wait
 * @managed_until: jiffies until which the word is not worth a look
 * @next: the way to the successor that was announced last
 * @handed: generation last handed over, 0: it is known to have arrived
 * @handed_to: id of our session with the node it went to
 * @work: sends what could not be sent at once, and accuses
 * @polls: what acquiring it taught about polling; any value will do
 */
struct tally_lock_client {
	struct tally_handle *handle;
	struct tally_session *session;
	spinlock_t lock;	/* all but @handle */
	struct tally_lock_set set;
	u64 last;
	int error;
	struct tally_lc lc;
	struct list_head queue;
	struct list_head holders;
	struct tally_lock_req *wanted;
	struct tally_lock_req *upgrader;
	bool upgrade_void;
	bool running;
	bool pinned;
	bool used;
	bool sending;
	bool send_later;
	bool accuse;
	bool in_linked;
	u16 pending;
	u8 out_head;
	u8 out_tail;
	u16 sends;
	u32 unlocks;
	struct tally_lmsg in;
	struct tally_lock_out outbox[TALLY_LOCK_OUTBOX];
	struct tally_op op;
	struct tally_conn *op_conn;
	u32 recalled_at;
	u32 managed_until;
	struct tally_lock_way next;
	u64 handed;
	u64 handed_to;
	struct work_struct work;
	struct tally_polls polls;
};

/* Bytes that an idle lock takes at a client. */
#define TALLY_LOCK_BYTES_CLIENT	(sizeof(struct tally_handle) + \
				 sizeof(struct tally_lock_client))

static inline struct tally_lock_client *
tally_lock_client(struct tally_handle *handle)
{
	return handle->part;
}

/* It is a lock of our own node. */
static inline bool tally_lock_ours(struct tally_lock_client *c)
{
	return c->handle->object;
}

int tally_lock_client_attach(struct tally_handle *handle,
			     const struct tally_rep_open *rep);
void tally_lock_client_destroy(struct tally_handle *handle);
bool tally_lock_client_spare(struct tally_handle *handle);
void tally_lock_client_error(struct tally_handle *handle, int err);
void tally_lock_client_message(struct tally_handle *handle,
			       const struct tally_lmsg *msg, const char *next);
extern const struct tally_lock_local tally_lock_local;

int tally_lock_clients_init(void);
void tally_lock_clients_exit(void);

/* With c->lock: */
bool tally_lock_lease_valid(struct tally_lock_client *c);
void tally_lock_req_end(struct tally_lock_req *req, int status);
void tally_lock_no_upgrade(struct tally_lock_client *c, int status);
void tally_lock_run_unlock(struct tally_lock_client *c, unsigned long flags)
	__releases(&c->lock);

/* Without it: */
void tally_lock_signal(struct tally_lock_client *c, u16 what);

#endif
