/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A session: what two nodes have with each other and what survives a broken
 * link. It is one struct on each side and serves both directions: we are a
 * client of the peer's arenas and the home of ours.
 *
 *	OPENING -> LIVE <-> BROKEN
 *	   \         \        \
 *	    `---------`--------`----> OVER
 *
 * OPENING: authenticated, lanes are being connected. LIVE: link up. BROKEN:
 * the link is down, the lease runs, a resume may make it LIVE again. OVER:
 * fenced; every QP is destroyed, every rkey is dead.
 */
#ifndef TALLY_SESSION_H
#define TALLY_SESSION_H

#include <linux/hrtimer.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/rhashtable-types.h>
#include <linux/siphash.h>
#include <linux/socket.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include "base/wire.h"
#include "session/node.h"
#include "transport/conn.h"
#include "transport/dev.h"
#include "transport/msg.h"

struct tally_rpc;
struct tally_session_owner_ops;
struct tally_sreq;

enum tally_session_state {
	TALLY_SESSION_OPENING,
	TALLY_SESSION_LIVE,
	TALLY_SESSION_BROKEN,
	TALLY_SESSION_OVER,
};

/**
 * struct tally_session - see above
 * @ref: peer, conns, requests, attachments, every user
 * @node: our node, referenced
 * @peer: its owner, the configured peer, referenced
 * @owner_ops: what the owner is told
 * @name: the peer's name
 * @addr: its address
 * @id: random id, agreed in READY; written as the epoch in messages
 * @by_id: in tally_node.sessions, until it is OVER
 * @peer_incarnation: start of the peer it belongs to
 * @peer_epoch: ordered epoch of that start
 * @peer_features: TALLY_FEATURE_* of the peer
 * @my_slot: our node slot in the peer's words (2..), from READY or ACTIVE
 * @peer_slot: the peer's node slot in our words (2..; 1 is ourselves)
 * @dev: the device its conns run on, referenced
 * @pd: its protection domain: lanes, and every MR the peer may reach
 * @key: session key of this link, signs lane tags
 * @secret: proves that a node is an end of it, and makes the keys of links but the
 *	first, from whose key it is; like @ticket it outlives them
 * @ticket: signs what third nodes bring
 * @lease_ms: agreed lease
 * @initiator: we connected
 * @lock: protects all that follows; spin_lock_irqsave
 * @state: see above
 * @error: why it is BROKEN or OVER, negative errno
 * @ctrl: control conn of the present link, NULL while BROKEN
 * @lane: its lanes, also while they connect; NULL where there is none
 * @lanes: how many lanes the link has; the next one may have others
 * @lanes_begun: which of them were begun, a bit for each
 * @lanes_up: how many of them are up
 * @conns: conns of this session whose down() has not come yet
 * @link_nr: number of the link, which no other link of any session has, or 0
 * @asked_at: our clock before the message that made the peer, as home, begin
 *	to count for this link
 * @valid_until: CLOCK_BOOTTIME ns until which we may act as a client
 * @reclaim_at: CLOCK_BOOTTIME ns after which we, as home, may reclaim what
 *	the peer holds
 * @tick: renews the lease
 * @expiry: ends the session at the first of both times
 * @link_work: follows up changes of the link: tells the layers above, asks
 *	for a reconnect, ends the session
 * @lanes_work: all lanes are up: say so to the peer
 * @free_work: frees it, as the last reference may go anywhere
 * @rcu: and when no look-up can see it any more
 * @watch: device removal
 * @rpc: requests, ours and the peer's, session/rpc.c
 * @wait: woken when the state, @conns, @over or a request slot changes
 * @upcall: serialises the ops created, live, down and over
 * @announced: live() was called and down() was not; under @upcall
 * @resumed: the link being opened goes on with an existing session
 * @active: ACTIVE came, but not all lanes are up yet
 * @said: ACTIVE or ACTIVE_ACK was sent on this link
 * @lived: it was LIVE at least once
 * @over: over() was called
 * @told: lost() was called; under @upcall
 * @leaving: we say goodbye: nothing is granted to us in it any more
 * @left_at: jiffies when GOODBYE was sent; under @upcall
 * @withdrawn: how often the peer changed what we may do in arenas of its
 * @missed: what it said to handles that were not there, or just being opened
 * @home: what the peer was given here, opaque; set in created()
 */
struct tally_session {
	struct kref ref;
	struct tally_node *node;
	struct tally_peer *peer;
	const struct tally_session_owner_ops *owner_ops;
	char name[TALLY_NAME_SIZE];
	struct sockaddr_storage addr;
	u64 id;
	struct rhash_head by_id;
	u64 peer_incarnation;
	u64 peer_epoch;
	u32 peer_features;
	u16 my_slot;
	u16 peer_slot;
	struct tally_dev *dev;
	struct ib_pd *pd;
	u8 key[TALLY_MAC_SIZE];
	struct tally_secret secret;
	siphash_key_t ticket;
	u32 lease_ms;
	bool initiator;
	spinlock_t lock;	/* all below but @upcall */
	enum tally_session_state state;
	int error;
	struct tally_conn *ctrl;
	struct tally_conn *lane[TALLY_LANES_MAX];
	u8 lanes;
	u8 lanes_begun;
	u8 lanes_up;
	u32 conns;
	u32 link_nr;
	u64 asked_at;
	u64 valid_until;
	u64 reclaim_at;
	struct delayed_work tick;
	struct hrtimer expiry;
	struct work_struct link_work;
	struct work_struct lanes_work;
	struct work_struct free_work;
	struct rcu_head rcu;
	struct tally_dev_user watch;
	struct tally_rpc *rpc;
	wait_queue_head_t wait;
	struct mutex upcall;	/* ops of the layers above */
	bool announced;
	bool resumed;
	bool active;
	bool said;
	bool lived;
	bool over;
	bool told;
	bool leaving;
	unsigned long left_at;
	atomic_t withdrawn;
	atomic_t missed;
	void *home;
};

/**
 * struct tally_session_owner_ops - what the owner of a session is told
 * @live: its link is up
 * @link_lost: its link is down, all QPs destroyed: connect again
 * @over: it is fenced; called once
 * @put: gives the reference to the owner back
 *
 * Process context; none of them waits for the network.
 */
struct tally_session_owner_ops {
	void (*live)(struct tally_session *s);
	void (*link_lost)(struct tally_session *s);
	void (*over)(struct tally_session *s);
	void (*put)(struct tally_peer *peer);
};

/* What struct tally_node.sessions is made with. */
extern const struct rhashtable_params tally_sessions_params;

struct tally_session *tally_session_get(struct tally_session *s);
void tally_session_put(struct tally_session *s);
struct tally_session *tally_session_find(struct tally_node *node, u64 id);
struct tally_session *tally_session_at(struct tally_node *node, u16 slot);
bool tally_session_is_live(struct tally_session *s);
bool tally_session_addr(struct tally_session *s, struct sockaddr_storage *addr);
const char *tally_session_why(int err);
struct tally_conn *tally_session_lane(struct tally_session *s, u32 hash);
struct tally_conn *tally_session_link(struct tally_session *s, u16 type,
				      struct tally_msg_head *head, u32 *link);
int tally_session_send_on(struct tally_session *s, u32 nr, u16 type,
			  const void *body, u32 len);
int tally_session_send(struct tally_session *s, u16 type, const void *body,
		       u32 len);
void tally_session_violation(struct tally_session *s, const char *what);
bool tally_session_fence(struct tally_session *s, int err);

/* For the other files of session/. */
bool tally_session_set_state(struct tally_session *s,
			     enum tally_session_state state, int err);
void tally_session_break(struct tally_session *s, int err);

#endif
