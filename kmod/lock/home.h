/* SPDX-License-Identifier: GPL-2.0 */
/* One lock at its home: between lock/home.c and lock/homes.c. */
#ifndef TALLY_LOCK_HOME_H
#define TALLY_LOCK_HOME_H

#include "home/arena.h"
#include "lock/lock.h"
#include "lock/fsm_home.h"
#include "transport/op.h"

struct tally_lock_answer;

/**
 * struct home_node - one session at one lock
 * @n: the table's part
 * @session: referenced; NULL for our own users
 */
struct home_node {
	struct tally_lh_node n;
	struct tally_session *session;
};

/**
 * struct home_swept - a session whose field is to be taken out of the word
 * @list: in home->swept
 * @session: referenced
 */
struct home_swept {
	struct list_head list;
	struct tally_session *session;
};

/**
 * struct home_op - one operation of the home on the word
 * @op: the operation
 * @home: its lock
 * @kind: enum tally_lh_event_kind that its completion is
 * @slot: slot that is swept
 * @busy: it is on its way
 * @done: it has completed, not yet taken up
 */
struct home_op {
	struct tally_op op;
	struct tally_lock_home *home;
	u8 kind;
	u16 slot;
	bool busy;
	bool done;
};

/**
 * struct tally_lock_break - a break by an administrator, lock/break.c
 * @home: the lock, whose object is referenced
 * @work: fences when it is time, and ends it
 * @deadline: in jiffies
 * @fenced: so many nodes were
 */
struct tally_lock_break {
	struct tally_lock_home *home;
	struct delayed_work work;
	unsigned long deadline;
	u32 fenced;
};

/**
 * struct tally_lock_home - one lock at its home
 * @object: its object, which owns this struct
 * @lock: protects everything but @local
 * @lh: the state table
 * @out: of the step being made; kernels that clear the stack would do so in vain
 * @nodes: slot -> struct home_node
 * @dead: the lock was deleted
 * @main: sets and clears W
 * @sweep: takes fields of dead nodes out
 * @swept: struct home_swept: their slots are not free yet
 * @broken: an operation broke: the table must be told when there is a new
 *	loopback conn
 * @breaking: an administrator takes it away, else NULL; its work is kicked when
 *	all have answered
 * @fenced: nodes fenced by the last break
 * @set_changed: settings are not what sessions were told when they opened it
 * @bad: the word is bad: the lock is to be deleted
 * @answer: what the holder said when it was asked last, lock/show.c, or NULL
 * @grace_until: CLOCK_BOOTTIME ns
 * @changed_at: when the holder changed as far as the home knows
 * @work: takes completions up, ends the grace, looks for the loopback conn
 * @local_lock: protects @local
 * @local: handle of our own users, or NULL
 */
struct tally_lock_home {
	struct tally_object *object;
	struct mutex lock;	/* all but @local */
	struct tally_lh lh;
	struct tally_lh_actions out;
	struct xarray nodes;
	bool dead;
	struct home_op main;
	struct home_op sweep;
	struct list_head swept;
	bool broken;
	bool bad;
	bool set_changed;
	struct tally_lock_break *breaking;
	u32 fenced;
	struct tally_lock_answer *answer;
	u64 grace_until;
	u64 changed_at;
	struct delayed_work work;
	spinlock_t local_lock;	/* @local */
	struct tally_handle *local;
};

/* A message to our own users. */
void tally_lock_home_tell(struct tally_object *object,
			  const struct tally_lmsg *msg);
/* With h->lock: one event, with the words as they are now. */
void tally_home_step(struct tally_lock_home *h, struct tally_lh_event *ev);
/* With h->lock: sessions whose slots are free as far as this lock goes. */
void tally_home_take_swept(struct tally_lock_home *h, struct list_head *gone);
/* Without it: let them go. */
void tally_home_put_swept(struct list_head *gone);

#endif
