/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The world the explorer walks through: one lock, one home, three clients, the
 * two words, links that break.  The tables of client and home are the real
 * ones; everything around them is the model.
 */
#ifndef TALLY_EXPLORE_WORLD_H
#define TALLY_EXPLORE_WORLD_H

#include <linux/types.h>

#include "../../kmod/lock/fsm_client.h"
#include "../../kmod/lock/fsm_home.h"

#define NC	3
#define CHAN	8
#define HANDS	2
#define LOOPS	4

/* The client that may be evil, generations it speaks of, things it may say. */
#define EVIL		2
#define EVIL_GENS	8
#define EVIL_STEPS	(11 * EVIL_GENS + 7)

/* Beyond the bitmap: what client 3 has with the option "noslot". */
#define SLOT_NO_BIT	60

enum bug {
	BUG_NONE,
	BUG_B1,		/* a claim is forgotten and added again */
	BUG_B3,		/* decides from the word before FAA(+W) */
	BUG_B4,		/* only the last reader out tells */
	BUG_B5,		/* W added for each request */
	BUG_B11,	/* operations of a destroyed QP execute later */
	BUG_B13,	/* a HANDOVER to an older session is accepted */
	BUG_B14,	/* a recall of an older tenure is taken for this one's */
	BUG_B15,	/* a lost REVOKE is not repeated at the resume */
	BUG_B16,	/* a cancelled request is forgotten */
	BUG_B31,	/* a successor's REL before the predecessor's DONE is lost */
	BUG_SWEEP,	/* class external swept before the lease is over */
	BUG_TOKEARLY,	/* token word read at FAA(+W) */
	BUG_TOKEXIT,	/* token word not raised before FAA(-W) */
	BUG_TOKF,	/* token word read only where the owner's end is seen */
	BUG_SYNC,	/* home speaks before it has processed RESYNC */
	BUG_SYNCPARK,	/* a HANDOVER is accepted between RESYNC and SYNCED */
	BUG_REVINFLIGHT, /* REVOKE(0) forgotten while an attempt is in flight */
	BUG_RSYREQ,	/* RESYNC settles the tenure and drops the request */
	BUG_LOOK,	/* a release that saw W does not tell */
	BUG_BLIND,	/* a release in doubt is posted again unread */
	BUG_UNLISTED,	/* a break forgets tenures the client does not list */
	BUG_VIA,	/* GRANT is not repeated when the node that handed over dies */
	BUG_VIARSY,	/* nor when it resumes */
	BUG_LOST,	/* a HANDOVER lost with its link is not told of */
	BUG_GRANTDUP,	/* a repeated GRANT is accepted again */
	BUG_EARLYSUCC,	/* a recall that overtakes its grant is dropped */
	BUG_DRAINBITS,	/* fast readers are not waited for */
	BUG_DOWNF,	/* an owner that may downgrade is no possible reader */
	BUG_DOWNEARLY,	/* a successor's DOWN before DONE is lost */
	BUG_CACHED,	/* a cached holder does not hear REVOKE */
	BUG_BUSY,	/* one that is inside does not answer a try's question */
	BUG_JOIN,	/* readers join after the recall */
	BUG_SHARE,	/* readers keep an exclusive tenure from other readers */
	BUG_STAY,	/* a writer that gave up keeps readers out */
	BUG_CANCDOWN,	/* so does a successor that gave up */
	BUG_BUDGET,	/* local users follow one another for ever */
	BUG_CLAIM,	/* a claim counts as a hold when resumed */
	BUG_CHAINDONE,	/* DONE of a member of the chain, before others, is lost */
	BUG_CHAINDOWN,	/* a downgrade forgets all but the first of the chain */
	BUG_CHAINEND,	/* a member whose session ended is waited for */
	BUG_CHAINGAP,	/* the chain closes up over it at once */
	BUG_CHAINRSY,	/* a member that resumes is not told its SUCC again */
	BUG_TICKET,	/* whoever names a generation is believed to have it */
	BUG_PROOF,	/* whoever hands over is believed to have had it */
	BUG_PASSBARE,	/* SUCC tells the pass of the next to one that waits */
	BUG_PASSRSY,	/* a resume is believed to have had what was announced */
	BUG_LEFTTOLD,	/* a place is taken back before its client agrees */
	BUG_LEFTLAST,	/* who has left its place takes what it is handed */
	BUG_REOPEN,	/* a lock opened again begins with generation 0 */
	BUG_CLOSEVIA,	/* one that handed over closes, and is not asked for it */
	BUG_CLOSERSY,	/* a close in front of the snapshot is no snapshot */
	BUGS,
};

struct options {
	u8 left[NC];	/* acquisitions of each client */
	u8 mode[NC];	/* modes each may ask for: bit of TALLY_LMODE_*, 0: X */
	bool hog;	/* a holder keeps the lock until it is recalled */
	bool meet;	/* a reader stays until no other waits to read */
	bool cancel;
	bool try;
	bool direct;	/* a client may ask without trying the word */
	bool local;	/* a second local user may come while one is inside */
	bool cache;	/* locks are cached */
	bool updown;	/* users downgrade and upgrade */
	u8 budget;	/* of local users after a recall */
	bool cpu;	/* arena without words */
	bool noslot;	/* client 3 has no bit */
	bool nolink;	/* a holder may have no link to its successor */
	bool grace;
	bool brk;	/* session breaks that may be resumed */
	bool crash;	/* sessions that break for good */
	bool rejoin;	/* and whose node attaches again */
	bool pbreak;	/* breaks of links between clients */
	bool force;	/* an administrator breaks the lock */
	bool region;	/* class region: the sweep does not wait */
	bool loop;	/* the loopback QP may break */
	bool tokens;	/* token word, CAS and FAA execute one after the other */
	u8 faults;	/* how many of these */
	bool reopen;	/* a client closes the lock and opens it again */
	u8 evil;	/* client 3 says so many things it should not */
	enum bug bug;
};

struct xmsg {
	u8 type;
	u8 mode;
	u8 flags;
	u8 gen;
	u8 last;
	u8 next_slot;
	u8 next_session;
	u8 next_gen;
	u8 pass;
};

struct xchan {
	struct xmsg m[CHAN];
	u8 n;
	u8 pad[7];
};

/* HANDOVERs on their way from one client to another. */
struct xhand {
	u8 n;
	u8 gen[HANDS];
	u8 session[HANDS];
	u8 pass[HANDS];
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
	u64 compare;
	u64 value;	/* what is put in or added */
	u64 state;	/* value the state word had */
	u64 token;
};

struct xclient {
	struct tally_lc lc;
	struct xop op;
	struct xop ghost;	/* given up by the client, still on the wire */
	struct xchan c2h;
	struct xchan h2c;
	struct xhand hand[NC];	/* to each other client */
	u64 tenure;	/* number of the last grant */
	u8 left;
	u8 users;
	u8 mode;	/* of the users inside */
	u8 spent;	/* local users since the recall */
	u8 session;
	u8 handed;	/* generation last handed over */
	u8 handed_to;
	u8 lost;	/* generation of which the loss is to be told */
	bool asking;
	bool trying;
	bool upgrading;
	bool recalled;
	bool broken;	/* the link is */
	bool cdown;	/* the client has noticed */
	bool hdown;	/* the home has, and the old QPs are destroyed */
	bool val;	/* the lease is valid at the client */
	bool ended;	/* the home has ended the session */
	bool again;	/* it has attached again */
	bool reopened;	/* it has opened the lock again */
};

/* What the evil client was told, by the generation it was told of. */
struct xevil {
	u8 left;		/* so much it may still say */
	u32 knows;		/* passes */
	u8 under[EVIL_GENS];	/* SUCC: its pass is under that of this one */
	u8 slot[EVIL_GENS];	/* SUCC: for whom the home gave its word */
	u8 session[EVIL_GENS];
};

struct world {
	u64 state;
	u64 token;
	u64 max_x;	/* highest token of an exclusive grant, and of any */
	u64 max_any;
	u64 snap_token;	/* at FAA(+W), for BUG_TOKEARLY */
	u8 faults;
	u8 nloop;
	struct tally_lh lh;
	struct tally_lh_node node[NC];
	struct xop loop[LOOPS];
	struct xclient c[NC];
	struct xevil evil;
};

enum step {
	STEP_WANT_X,
	STEP_WANT_S,
	STEP_TRY_X,
	STEP_TRY_S,
	STEP_DIRECT_X,
	STEP_DIRECT_S,
	STEP_CANCEL,
	STEP_DOWNGRADE,
	STEP_UPGRADE,
	STEP_BREAK,
	STEP_PEER_BREAK,
	STEP_HANDS_LOST,
	STEP_REJOIN,
	STEP_REOPEN,
	STEP_FORCE,
	STEP_LOOP_BREAK,
	STEP_NO_LINK,
	STEP_GHOST,
	STEP_LATE,
	STEP_EVIL,
	STEP_EVIL_LAST = STEP_EVIL + EVIL_STEPS - 1,
	STEP_MUST,	/* from here on: what happens by itself in the end */
	STEP_UNLOCK = STEP_MUST,
	STEP_EXEC,
	STEP_DONE,
	STEP_FLUSH,
	STEP_TO_HOME,
	STEP_TO_CLIENT,
	STEP_HAND_1,
	STEP_HAND_2,
	STEP_HANDED_BAD,
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
bool world_fault(enum step s, int i);
bool evil_step(int what);
/* Nothing happens by itself any more: no user waits, records equal reality. */
void world_check_quiet(void);
void world_print(void);

/* The parts steps are made of. */
u16 slot_of(int i);
int client_of(u16 slot);
void world_fail(const char *what);
void world_require(bool ok, const char *what);
void chan_put(struct xchan *ch, const struct tally_lmsg *msg);
struct tally_lmsg chan_get(struct xchan *ch);
void chan_clear(struct xchan *ch);
void word_set_w(void);
void op_exec(struct xop *op, u16 slot);
void loop_exec(struct xop *op);
void client_init(int i);
void client_open(int i, bool resyncing);
void client_event(int i, struct tally_lc_event ev);
void home_event(struct tally_lh_event ev);
u8 pass_of(u64 gen);
void evil_hears(const struct tally_lmsg *msg);

#endif
