/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The world the explorer walks through: one lock, one home, three clients, the
 * two words, links that break.  The tables of client and home are the real
 * ones; everything around them is the model.
 */
#ifndef TALLY_EXPLORE_WORLD_H
#define TALLY_EXPLORE_WORLD_H

#include <linux/types.h>

#include "../../kmod/lockclient.h"
#include "../../kmod/lockhome.h"

#define NC	3
#define CHAN	6
#define LOOPS	4

enum bug {
	BUG_NONE,
	BUG_B3,		/* decides from the word before FAA(+W) */
	BUG_B5,		/* W added for each request */
	BUG_B11,	/* operations of a destroyed QP execute later */
	BUG_B15,	/* a lost REVOKE is not repeated at the resume */
	BUG_B16,	/* a cancelled request is forgotten */
	BUG_SWEEP,	/* class external swept before the lease is over */
	BUG_TOKEARLY,	/* token word read at FAA(+W) */
	BUG_TOKEXIT,	/* token word not raised before FAA(-W) */
	BUG_SYNC,	/* home speaks before it has processed RESYNC */
	BUG_REVINFLIGHT, /* REVOKE(0) forgotten while an attempt is in flight */
	BUG_RSYREQ,	/* RESYNC settles the tenure and drops the request */
	BUG_LOOK,	/* a release that saw W does not tell */
	BUG_BLIND,	/* a release in doubt is posted again unread */
	BUG_UNLISTED,	/* a break forgets tenures the client does not list */
	BUGS,
};

struct options {
	u8 left[NC];	/* acquisitions of each client */
	bool hog;	/* a holder keeps the lock until it is recalled */
	bool cancel;
	bool try;
	bool direct;	/* a client may ask without trying the word */
	bool next;	/* a second local user may follow in the tenure */
	bool cpu;	/* arena without words */
	bool grace;
	bool brk;	/* session breaks that may be resumed */
	bool crash;	/* sessions that break for good */
	bool region;	/* class region: the sweep does not wait */
	bool loop;	/* the loopback QP may break */
	bool tokens;	/* token word, CAS and FAA execute one after the other */
	u8 faults;	/* how many of these */
	enum bug bug;
};

struct xmsg {
	u8 type;
	u8 mode;
	u8 flags;
	u8 gen;
	u8 last;
};

struct xchan {
	u8 n;
	struct xmsg m[CHAN];
};

/* Kinds of loopback operation */
#define LOOP_SETW	1
#define LOOP_CLRW	2
#define LOOP_SWEEP	3

/* A posted word operation: executed in one or two steps, then completed. */
struct xop {
	u8 kind;
	u8 stage;	/* steps executed */
	u8 steps;
	u8 slot;	/* sweep */
	bool sent;	/* posted on a living QP */
	u64 delta;	/* token raise */
	u64 state;	/* value the state word had */
	u64 token;
};

struct xclient {
	struct tally_lc lc;
	struct xop op;
	struct xop ghost;	/* given up by the client, still on the wire */
	struct xchan c2h;
	struct xchan h2c;
	u8 left;
	bool asking;
	bool inside;
	bool recalled;
	bool followed;
	bool broken;	/* the link is */
	bool cdown;	/* the client has noticed */
	bool hdown;	/* the home has, and the old QPs are destroyed */
	bool val;	/* the lease is valid at the client */
	bool ended;	/* the home has ended the session */
};

struct world {
	u64 state;
	u64 token;
	u64 max_token;
	u64 snap_token;	/* at FAA(+W), for BUG_TOKEARLY */
	u8 faults;
	u8 nloop;
	struct tally_lh lh;
	struct tally_lh_node node[NC];
	struct xop loop[LOOPS];
	struct xclient c[NC];
};

enum step {
	STEP_WANT,
	STEP_WANT_TRY,
	STEP_WANT_DIRECT,
	STEP_CANCEL,
	STEP_BREAK,
	STEP_LOOP_BREAK,
	STEP_GHOST,
	STEP_NEXT,
	STEP_MUST,	/* from here on: what happens by itself in the end */
	STEP_UNLOCK = STEP_MUST,
	STEP_EXEC,
	STEP_DONE,
	STEP_FLUSH,
	STEP_TO_HOME,
	STEP_TO_CLIENT,
	STEP_CLIENT_DOWN,
	STEP_HOME_DOWN,
	STEP_RESUME,
	STEP_LEASE_LOST,
	STEP_SESSION_END,
	STEP_LOOP_EXEC,
	STEP_LOOP_DONE,
	STEP_GRACE_OVER,
	STEPS,
};

extern struct world W;
extern struct options opt;
extern const char *broken;	/* what went wrong in the last step */

const char *step_name(enum step s);
void world_init(void);
/* One step of client i (home steps ignore i); false if it cannot happen. */
bool world_step(enum step s, int i);
/* Nothing happens by itself any more: nobody waits, records equal reality. */
void world_check_quiet(void);
void world_print(void);

/* The parts steps are made of. */
void world_fail(const char *what);
void world_require(bool ok, const char *what);
void chan_put(struct xchan *ch, const struct tally_lmsg *msg);
struct tally_lmsg chan_get(struct xchan *ch);
void chan_clear(struct xchan *ch);
void word_set_w(void);
void op_exec(struct xop *op, u16 slot);
void loop_exec(struct xop *op);
void client_event(int i, struct tally_lc_event ev);
void home_event(struct tally_lh_event ev);

#endif
