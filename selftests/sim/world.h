/* SPDX-License-Identifier: GPL-2.0 */
/* What nodes, home and users share; see sim.h. */
#ifndef TALLY_SIM_WORLD_H
#define TALLY_SIM_WORLD_H

#include "sim.h"

/* The home's own users have slot 1; they have no part here. */
#define SLOT_FIRST	2

/**
 * struct seat - a node at a lock
 * @lc: its table
 * @hn: the home's record of it
 * @known: the home has one
 * @asking: a user waits for an answer
 * @managed: the last tenure was: ask the home first
 * @busy: a word operation is outstanding
 * @want: number of the user's request
 * @asked_at: when it came
 * @mode: TALLY_LMODE_* asked for, or of the user inside
 * @inside: a user is
 */
struct seat {
	struct tally_lc lc;
	struct tally_lh_node hn;
	bool known;
	bool asking;
	bool managed;
	bool busy;
	u32 want;
	u64 asked_at;
	u8 mode;
	bool inside;
};

/**
 * struct snode - a client node
 * @session: id of its session
 * @link: number of the link
 * @broken: the link is
 * @cdown: the client has noticed
 * @hdown: the home has, and the old QPs are destroyed
 * @syncing: resumed, the snapshot is not complete
 * @val: the lease is valid
 * @ended: the home has ended the session
 * @accused: an evil one, which the home ends
 * @lease_at: when the lease ends unless it is resumed; of an evil one: in any case
 * @cut: word operations of the broken link execute before that
 * @to_home: when the last message arrives there
 * @to_client: when the last message arrives here
 * @lane: when the last word operation arrives
 * @sender: when the sender of its messages has time
 * @grants: its users had
 */
struct snode {
	u64 session;
	u32 link;
	bool broken;
	bool cdown;
	bool hdown;
	bool syncing;
	bool val;
	bool ended;
	bool accused;
	u64 lease_at;
	u64 cut;
	u64 to_home;
	u64 to_client;
	u64 lane;
	u64 sender;
	u64 grants;
};

/**
 * struct slock - a lock at the home
 * @lh: its table
 * @state: the word
 * @token: the token word
 * @unit: when the NIC's unit for this word is free
 * @readers: users inside
 * @writers: users inside
 * @max_x: highest token of an exclusive grant
 * @max_any: of any
 */
struct slock {
	struct tally_lh lh;
	u64 state;
	u64 token;
	u64 unit;
	u32 readers;
	u32 writers;
	u64 max_x;
	u64 max_any;
};

struct world {
	const struct sim_load *load;
	const struct sim_costs *costs;
	struct sim_result *result;
	struct snode *node;
	struct slock *lock;
	struct seat *seat;
	u64 sessions;
	u64 home_free;	/* when the worker at the home's tables is */
	u32 last;	/* node that was granted a lock */
	u64 again;	/* times, one after the other */
	u64 granted_at;	/* when a user had a lock last */
	u64 *wait;	/* times from request to grant */
	bool over;	/* no new users, no new faults */
	const char *wrong;
};

extern struct world w;

static inline struct seat *seat_of(u32 node, u32 lock)
{
	return &w.seat[(size_t)node * w.load->locks + lock];
}

static inline u16 slot_of(u32 node)
{
	return node + SLOT_FIRST;
}

/* world.c */
void wrong(const char *what);
u64 vary(u64 cost);
u64 message_time(void);

/* users.c */
void user_come(u32 node);
void user_answer(u32 node, u32 lock, const struct tally_lc_action *a);
void user_lost(u32 node, u32 lock);
void user_event(const struct event *ev);

/* clients.c */
void client_init(u32 node, u32 lock, bool up);
void client_step(u32 node, u32 lock, struct tally_lc_event ev);
void client_event(const struct event *ev);

/* home.c */
void home_init(u32 lock);
void home_step(u32 lock, struct tally_lh_event ev);
void home_event(const struct event *ev);
void word_exec(const struct event *ev);

/* evil.c */
bool node_evil(u32 node);
void evil_init(void);
void evil_exit(void);
void evil_hears(u32 node, u32 lock, const struct tally_lmsg *msg);
void evil_event(u32 node);
/* What shows that one has, or had, a tenure. */
u64 pass_of(u32 lock, u64 gen);

/* faults.c */
void fault_event(const struct event *ev);

#endif
