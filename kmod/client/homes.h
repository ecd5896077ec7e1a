/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All homes are asked at once: one that does not answer would keep those behind
 * it from being asked in time.
 */
#ifndef TALLY_HOMES_H
#define TALLY_HOMES_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include "base/name.h"
#include "session/node.h"
#include "base/deadline.h"

struct tally_homes;
struct tally_session;

/**
 * struct tally_question - what homes are asked
 * @ask: asks one, by our session with it, which is NULL for our own node; process
 *	context, sleeps until homes->until at most. An answer or an error pointer
 * @drop: the answer is wanted no more; process context
 * @enough: so many answers end the asking; 0: all are wanted
 */
struct tally_question {
	void *(*ask)(struct tally_homes *homes, struct tally_session *s);
	void (*drop)(void *answer);
	u32 enough;
};

/**
 * struct tally_home - one of the homes that are asked
 * @list: in tally_homes.list
 * @homes: all of them, referenced until it has answered
 * @work: asks it
 * @session: with it, referenced; NULL: it is our own node
 * @name: of the node, as long as this
 * @answer: what ask() returned; NULL: nothing yet, or too late
 */
struct tally_home {
	struct list_head list;
	struct tally_homes *homes;
	struct work_struct work;
	struct tally_session *session;
	const char *name;
	void *answer;
};

/**
 * struct tally_homes - our own node and all it has live sessions with
 * @ref: the caller, and each home that is still asked
 * @node: our node, referenced
 * @question: what is asked
 * @name: what it is asked about, or empty
 * @until: when they give up
 * @list: struct tally_home, our own first, then in the order of the peers
 * @lock: protects what follows and the answers, until @over
 * @due: answers that are
 * @good: answers that were no errors
 * @over: no more answers are taken
 * @wait: for the last answer, or for one that is enough
 */
struct tally_homes {
	struct kref ref;
	struct tally_node *node;
	const struct tally_question *question;
	char name[TALLY_NAME_SIZE];
	struct tally_until until;
	struct list_head list;
	spinlock_t lock;	/* see above */
	u32 due;
	u32 good;
	bool over;
	wait_queue_head_t wait;
};

int tally_homes_init(void);
void tally_homes_exit(void);

struct tally_homes *tally_homes_ask(struct tally_node *node, const char *name,
				    const struct tally_question *question,
				    const struct tally_until *until);
void tally_homes_put(struct tally_homes *homes);

#endif
