/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A discrete-event simulator of nodes, links and locks.  The tables of client
 * and home are the module's own; time, wires, NICs, users and faults are here.
 */
#ifndef TALLY_SIM_H
#define TALLY_SIM_H

#include <stdio.h>

#include <linux/types.h>

#include "lock/fsm_client.h"
#include "lock/fsm_home.h"

/**
 * struct sim_costs - what takes how long, in ns; see costs.c
 * @wire: a word operation, from its post to the home's NIC, and back
 * @atomic: an atomic occupies the NIC's unit for that word
 * @read: as @wire, of a READ
 * @send: a message, from its post to the other side's completion queue
 * @cpu: posting and polling, of each of these
 * @loop: a loopback operation, without @atomic and @cpu
 * @jitter: percent by which all of these vary, at most
 * @irq: from the completion to the task that is told
 * @hop: a work item that is queued, or a task that is woken, begins to run
 * @in: hops from the interrupt to the table
 * @wake: hops from the table to the user that waits for a message
 * @work: each side's code for a message
 * @op: our code for a word operation
 * @apart: the token beside a word has a unit of its own
 */
struct sim_costs {
	u64 wire;
	u64 atomic;
	u64 read;
	u64 send;
	u64 cpu;
	u64 loop;
	u64 jitter;
	u64 irq;
	u64 hop;
	u64 in;
	u64 wake;
	u64 work;
	u64 op;
	bool apart;
};

/**
 * struct sim_load - what users and fate do
 * @nodes: client nodes
 * @locks: locks, all at one home
 * @grants: how many to reach
 * @until: simulated ns after which no user comes any more; 0: @grants decide
 * @hold: ns a user is inside, at most
 * @think: ns between two locks of a node, at most
 * @shared: percent of the requests that are shared
 * @odd: percent of the users that try, give up, downgrade or upgrade
 * @hot: percent of the requests for lock 0
 * @cache: nodes keep locks
 * @budget: local users after a recall
 * @fault: ns between two faults; 0: none
 * @lease: ns
 * @evil: so many of @nodes, the last ones, keep to no rule
 * @cpu: locks have no words, as where those are kept away from such nodes
 * @trusting: the home believes what it is told without the pass, which is a mistake
 */
struct sim_load {
	u32 nodes;
	u32 locks;
	u64 grants;
	u64 until;
	u64 hold;
	u64 think;
	u32 shared;
	u32 odd;
	u32 hot;
	bool cache;
	u16 budget;
	u64 fault;
	u64 lease;
	u32 evil;
	bool cpu;
	bool trusting;
};

/**
 * struct sim_result - what came out
 * @grants: locks granted
 * @time: simulated ns
 * @atomics: executed on words, loopback too
 * @messages: of clients and home
 * @faults: links that broke
 * @lost: sessions that ended
 * @tried: tries, and requests that were given up, without a grant
 * @wait50: median of the time from request to grant, in ns
 * @wait99: 99th percentile
 * @worst: longest
 * @jain: Jain's index of the grants of the nodes
 * @slowest: the fewest a node had
 * @longest: how often a node had the lock again before another
 * @undone: additions to a word that were taken back
 * @lies: messages of nodes that keep to no rule
 * @stolen: locks that they were granted or handed
 * @accused: sessions of theirs that the home ended for it
 */
struct sim_result {
	u64 grants;
	u64 time;
	u64 atomics;
	u64 messages;
	u64 faults;
	u64 lost;
	u64 tried;
	u64 wait50;
	u64 wait99;
	u64 worst;
	double jain;
	u64 slowest;
	u64 longest;
	u64 undone;
	u64 lies;
	u64 stolen;
	u64 accused;
};

enum event_kind {
	EV_WANT,
	EV_GIVE_UP,
	EV_CHANGE,
	EV_UNLOCK,
	EV_EXEC,
	EV_DONE,
	EV_AT_HOME,
	EV_TO_HOME,
	EV_SYNC_END,
	EV_TO_CLIENT,
	EV_HAND,
	EV_HAND_BAD,
	EV_LOOP_EXEC,
	EV_LOOP_DONE,
	EV_FAULT,
	EV_CLIENT_DOWN,
	EV_HOME_DOWN,
	EV_RESUME,
	EV_LEASE,
	EV_END,
	EV_REJOIN,
	EV_EVIL,
	EV_RIVAL_TAKE,
	EV_RIVAL_EXEC,
	EV_RIVAL_DONE,
};

/**
 * struct event - something that happens
 * @at: when, in ns
 * @order: of those at one time, the first made comes first
 * @kind: enum event_kind
 * @op: EXEC: enum tally_lc_action_kind; LOOP_*: enum tally_lh_action_kind;
 *	AT_HOME: the kind it becomes; RIVAL_*: enum rival_op
 * @lc_op: EXEC, DONE: enum tally_lc_op
 * @node: which node
 * @lock: which lock
 * @link: number of the link it belongs to, or of the user's request
 * @value: operand, or the value the state word had
 * @compare: operand, or the value the token word had
 * @msg: the message
 */
struct event {
	u64 at;
	u64 order;
	u8 kind;
	u8 op;
	u8 lc_op;
	u32 node;
	u32 lock;
	u32 link;
	u64 value;
	u64 compare;
	struct tally_lmsg msg;
};

/* queue.c */
extern u64 now;
void queue_reset(void);
void queue_put(struct event ev, u64 at);
bool queue_get(struct event *ev);
/* One at a time: what comes @at is served when it is @free. Return: until when. */
u64 in_turn(u64 *free, u64 at, u64 cost);

/* Also queue.c: random numbers that a seed decides. */
void random_seed(u64 seed);
/* A number below @n; 0 for 0. */
u64 random_below(u64 n);
bool percent(u32 p);

/* world.c: returns NULL, or what went wrong. */
const char *sim_run(const struct sim_load *load, const struct sim_costs *costs,
		    struct sim_result *result);

/* rival.c: what one would write without tally, on the same NIC, by polling. */
void rival_spin(u32 nodes, u64 until, const struct sim_costs *costs,
		struct sim_result *result);
void rival_backoff(u32 nodes, u64 until, const struct sim_costs *costs,
		   struct sim_result *result);
void rival_ticket(u32 nodes, u64 until, const struct sim_costs *costs,
		  struct sim_result *result);

/**
 * struct sim_rate - a NIC, and our software as it is
 * @suffix: of the names of its figures
 * @text: atomics on one word, and who says so
 * @costs: the costs
 */
struct sim_rate {
	const char *suffix;
	const char *text;
	struct sim_costs costs;
};

/**
 * struct sim_kind - what else the software, or the NIC, might be like
 * @suffix: of the names of its figures
 * @text: for people
 * @percent: what the software costs
 * @in: hops, as in sim_costs
 * @wake: hops
 * @polled: there are no interrupts
 * @apart: as in sim_costs
 */
struct sim_kind {
	const char *suffix;
	const char *text;
	u32 percent;
	u8 in;
	u8 wake;
	bool polled;
	bool apart;
};

/* costs.c; of each, the first is what we believe. */
extern const struct sim_rate sim_rates[];
extern const size_t sim_rates_n;
extern const struct sim_kind sim_kinds[];
extern const size_t sim_kinds_n;
struct sim_costs costs_make(const struct sim_rate *rate,
			    const struct sim_kind *kind);
/* @cost, and some more by chance. */
u64 costs_vary(const struct sim_costs *costs, u64 cost);
/* Half a round trip of messages by verbs alone, with the same waiting. */
u64 costs_message(const struct sim_costs *costs);

/* rows.c */
void rows_run(void);
unsigned int rows_count(void);

/* out.c: KTAP, and figures for a file. */
bool out_open(const char *path);
int out_close(void);
void ok(bool good, const char *what);
void figure(const char *name, double value, const char *unit, double baseline,
	    double ratio);
/* Simulates, and says what came out. */
bool run(const char *what, const struct sim_load *load,
	 const struct sim_costs *costs, struct sim_result *result);

#define US	1000ULL
#define MS	(1000 * US)

#endif
