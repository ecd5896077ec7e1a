/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The home side of one lock: drives the table in lock/fsm_home.c with messages,
 * words and sessions.
 */
#ifndef TALLY_LOCK_HOME_H
#define TALLY_LOCK_HOME_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include "home/export.h"
#include "lock/fsm_home.h"
#include "lock/msg.h"

struct home_op;
struct tally_handle;
struct tally_lock_answer;

/* Bit of tally_open.flags: closed, and referenced until its session ends. */
#define TALLY_LOCK_KEPT		8

/* A lock as one session has it open. */
struct tally_lock_open {
	struct tally_open open;	/* what all opens have */
	struct hlist_node list;	/* in home->opens, until its session ends */
	struct tally_lh_node n;	/* the table's part */
};

/* How the home reaches its own users. */
struct tally_lock_local {
	void (*message)(struct tally_handle *handle,
			const struct tally_lmsg *msg, const char *next);
	/* The loopback conn is there again after theirs broke. */
	void (*reset)(struct tally_handle *handle);
};

/* A break by an administrator, lock/break.c. */
struct tally_lock_break {
	struct tally_lock_home *home;	/* its object is referenced */
	struct delayed_work work;	/* fences in time, and ends it */
	unsigned long deadline;	/* in jiffies */
	u32 fenced;	/* so many nodes were */
};

/**
 * struct tally_lock_home - one lock at its home
 * @object: what all objects have
 * @class: TALLY_CLASS_*
 * @lock: protects all that follows but @local and @local_broken
 * @set: settings
 * @lh: the state table
 * @own: our own users in it
 * @opens: struct tally_lock_open
 * @main: operation that sets or clears W, NULL: none is under way
 * @sweep: operation that takes the field of a dead node out, likewise
 * @swept: sessions that are referenced until their fields are out of the word:
 *	bit of slot - 1
 * @dead: the lock was deleted
 * @broken: an operation broke, or could not be posted: the table must be told
 *	when there is a new loopback conn
 * @bad: the word is bad: the lock is to be deleted
 * @set_changed: settings are not what sessions were told when they opened it
 * @local_broken: an operation of our own users broke, likewise
 * @fenced: nodes fenced by the last break
 * @breaking: an administrator takes it away, else NULL; its work is kicked when
 *	all have answered
 * @answer: what the holder said when it was asked last, lock/show.c, or NULL
 * @changed_at: CLOCK_BOOTTIME ns at which the holder changed as far as the home
 *	knows
 * @work: takes completions up, ends the grace, looks for the loopback conn
 * @local_lock: protects @local
 * @local: handle of our own users, or NULL
 */
struct tally_lock_home {
	struct tally_object object;
	u8 class;
	struct mutex lock;	/* see above */
	struct tally_lock_set set;
	struct tally_lh lh;
	struct tally_lh_node own;
	struct hlist_head opens;
	struct home_op *main;
	struct home_op *sweep;
	u64 swept;
	bool dead;
	bool broken;
	bool bad;
	bool set_changed;
	bool local_broken;
	u32 fenced;
	struct tally_lock_break *breaking;
	struct tally_lock_answer *answer;
	u64 changed_at;
	struct delayed_work work;
	spinlock_t local_lock;	/* see above */
	struct tally_handle *local;
};

/* Bytes that an idle lock takes at its home, one session having it open. */
#define TALLY_LOCK_BYTES_HOME	(sizeof(struct tally_lock_home) + \
				 sizeof(struct tally_lock_open))

static inline struct tally_lock_home *
tally_lock_home(struct tally_object *object)
{
	return container_of(object, struct tally_lock_home, object);
}

static inline struct tally_lock_open *tally_lock_open(struct tally_open *open)
{
	return container_of(open, struct tally_lock_open, open);
}

int tally_lock_homes_init(const struct tally_lock_local *local);
void tally_lock_homes_exit(void);

int tally_lock_home_create(struct tally_object *object, const char **reason);
void tally_lock_home_fill(struct tally_object *object, struct tally_open *open,
			  struct tally_rep_open *rep);
void tally_lock_home_delete(struct tally_object *object);
void tally_lock_home_destroy(struct tally_object *object);
int tally_lock_home_set(struct tally_object *object,
			const struct tally_lock_set *set);
void tally_lock_home_withdraw(struct tally_open *open);
void tally_lock_home_close(struct tally_open *open);
void tally_lock_home_forget(struct tally_open *open);
void tally_lock_home_event(struct tally_open *open, u8 kind,
			   const struct tally_lmsg *msg);
void tally_lock_home_resync_end(struct tally_open *open);
void tally_lock_homes_each(struct tally_node *node,
			   void (*fn)(struct tally_lock_home *h, void *ctx),
			   void *ctx);

/* Our own users. */
void tally_lock_home_attach(struct tally_object *object,
			    struct tally_handle *handle, bool gone);
struct tally_handle *tally_lock_home_user(struct tally_lock_home *h);
void tally_lock_home_local(struct tally_object *object, u8 kind,
			   const struct tally_lmsg *msg);
void tally_lock_home_loop_broken(struct tally_object *object);

/* With h->lock: */
u64 tally_lock_home_word(struct tally_lock_home *h);
void tally_lock_home_step(struct tally_lock_home *h, struct tally_lh_event *ev);
void tally_lock_home_session_end(struct tally_lock_home *h,
				 struct tally_session *s);

#endif
