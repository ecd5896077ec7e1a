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

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/socket.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include "transport/conn.h"
#include "transport/dev.h"
#include "transport/msg.h"
#include "base/wire.h"

struct tally_node;
struct tally_peer;
struct tally_rpc_client;
struct tally_rpc_server;

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
 * @peer: the configured peer, referenced
 * @name: its name
 * @addr: its address
 * @id: random id, agreed in READY; written as the epoch in messages
 * @peer_incarnation: start of the peer it belongs to
 * @peer_features: TALLY_FEATURE_* of the peer
 * @my_slot: our node slot in the peer's words (2..), from READY or ACTIVE
 * @peer_slot: the peer's node slot in our words (2..; 1 is ourselves)
 * @dev: the device its conns run on, referenced
 * @pd: its protection domain: lanes, and every MR the peer may reach
 * @key: session key, signs lane tags
 * @lease_ms: agreed lease
 * @initiator: we connected
 * @lock: protects all that follows; spin_lock_irqsave
 * @state: see above
 * @error: why it is BROKEN or OVER, negative errno
 * @ctrl: control conn of the present link, NULL while BROKEN
 * @lane: its lanes, NULL while they are not up
 * @lanes: how many lanes the link has
 * @lanes_up: how many of them are up
 * @conns: conns of this session whose down() has not come yet
 * @link_nr: number of the link, counted from 1
 * @valid_until: CLOCK_BOOTTIME ns until which we may act as a client
 * @reclaim_at: CLOCK_BOOTTIME ns after which we, as home, may reclaim what
 *	the peer holds
 * @tick: renews the lease and watches both times
 * @link_work: follows up changes of the link: tells the object layer, asks
 *	for a reconnect, ends the session
 * @lanes_work: all lanes are up: say so to the peer
 * @free_work: frees it, as the last reference may go anywhere
 * @watch: device removal
 * @client: our requests at the peer, session/rpc.c
 * @server: the peer's requests at us, session/rpc.c
 * @wait: woken when @conns or @over changes
 * @upcall: serialises the ops created, live, down and over
 * @announced: live() was called and down() was not; under @upcall
 * @resumed: the link being opened goes on with an existing session
 * @active: ACTIVE came, but not all lanes are up yet
 * @lived: it was LIVE at least once
 * @ending: state is OVER, over() is still to come
 * @over: over() was called
 * @told: lost() was called; under @upcall
 * @home: what the peer was given here, opaque; set in created()
 */
struct tally_session {
	struct kref ref;
	struct tally_node *node;
	struct tally_peer *peer;
	char name[TALLY_NAME_SIZE];
	struct sockaddr_storage addr;
	u64 id;
	u64 peer_incarnation;
	u32 peer_features;
	u16 my_slot;
	u16 peer_slot;
	struct tally_dev *dev;
	struct ib_pd *pd;
	u8 key[TALLY_MAC_SIZE];
	u32 lease_ms;
	bool initiator;
	spinlock_t lock;	/* all below but @upcall */
	enum tally_session_state state;
	int error;
	struct tally_conn *ctrl;
	struct tally_conn *lane[TALLY_LANES_MAX];
	u8 lanes;
	u8 lanes_up;
	u8 conns;
	u32 link_nr;
	u64 valid_until;
	u64 reclaim_at;
	struct delayed_work tick;
	struct work_struct link_work;
	struct work_struct lanes_work;
	struct work_struct free_work;
	struct tally_dev_user watch;
	struct tally_rpc_client *client;
	struct tally_rpc_server *server;
	wait_queue_head_t wait;
	struct mutex upcall;	/* ops of the object layer */
	bool announced;
	bool resumed;
	bool active;
	bool lived;
	bool ending;
	bool over;
	bool told;
	void *home;
};

/**
 * struct tally_sreq - one request of a peer, at its home
 * @session: whose; referenced while the request is open
 * @type: enum tally_msg_type
 * @body: the request's body, valid until the reply
 * @len: its length
 * @work: free for the handler, to go on in another context
 * @ctx: free for the handler
 * @list: private to session/rpc.c, like all that follows
 * @slot: request slot
 * @seq: number of the request in its slot
 * @state: idle, busy or done
 * @reply_len: length of @reply
 * @reply: the last reply, kept for a resumed session
 */
struct tally_sreq {
	struct tally_session *session;
	u16 type;
	u16 len;
	u8 body[TALLY_BODY_MAX];
	struct work_struct work;
	void *ctx;
	struct list_head list;
	u16 slot;
	u32 seq;
	u8 state;
	u16 reply_len;
	u8 reply[TALLY_BODY_MAX];
};

/* Answer, exactly once. @status: 0 or negative errno. Process context. */
void tally_sreq_reply(struct tally_sreq *req, int status, const void *body,
		      u32 len);

/**
 * struct tally_session_ops - what the object layer does for sessions
 * @created: a new session: make its per-session state. May sleep.
 * @live: the link is up (again): may send. @resumed: it was LIVE before.
 * @down: the link broke; its QPs are destroyed, so every op on a lane has
 *	completed and nothing of this session is on the wire
 * @lost: the session is OVER, its QPs may still exist: tell every holder of
 *	a tenure at the peer now. May not sleep for long.
 * @over: fenced: the QPs are destroyed. Destroy every MR made for the peer,
 *	drop attachments both ways, end locks (class external: not before
 *	session->reclaim_at). Called once, after down(). May sleep.
 * @request: a request; reply now or later. Rx work: may sleep for memory,
 *	not for the network.
 * @message: a one-way message (types 64 and up). Rx work. Return 0, or a
 *	negative errno when the peer broke the protocol: the link is closed.
 *
 * @leave: we are going away: give up every tenure held at that peer and tell
 *	its users, so that GOODBYE can say "clean". May sleep.
 *
 * created, live, down, lost and over of one session never run at the same time.
 */
struct tally_session_ops {
	int (*created)(struct tally_session *s);
	void (*live)(struct tally_session *s, bool resumed);
	void (*down)(struct tally_session *s);
	void (*lost)(struct tally_session *s);
	void (*over)(struct tally_session *s);
	void (*leave)(struct tally_session *s);
	void (*request)(struct tally_session *s, struct tally_sreq *req);
	int (*message)(struct tally_session *s, u16 type, const void *body,
		       u32 len);
};

struct tally_session *tally_session_get(struct tally_session *s);
void tally_session_put(struct tally_session *s);
bool tally_session_is_live(struct tally_session *s);
/* May we still act as holder of what this peer's home gave us? */
bool tally_session_lease_valid(struct tally_session *s, u64 now);
/* Milliseconds of it left, 0 when over. */
u64 tally_session_lease_left(struct tally_session *s);

/*
 * The lane for a word or a transfer: the same hash always gets the same lane
 * of a link, as operations on one word must not change places (race B21): a bit
 * that is added before it was taken away carries into the next. Two QPs have no
 * order. Returns a reference, NULL when there is no link. Any context.
 */
struct tally_conn *tally_session_lane(struct tally_session *s, u32 hash);

/*
 * The way of a message of @type: the control conn, referenced, and @head; NULL
 * when there is no link. Any context.
 */
struct tally_conn *tally_session_ctrl(struct tally_session *s, u16 type,
				      struct tally_msg_head *head);
/* Send a one-way message. Process context. Return: 0 or -ENOTCONN. */
int tally_session_send(struct tally_session *s, u16 type, const void *body,
		       u32 len, const void *more, u32 more_len);
/*
 * A request and its reply. @timeout in jiffies. Return: 0 with @reply_len set
 * (what did not fit is cut), the home's errno, -ENOTCONN: not sent;
 * -ETIMEDOUT, -EINTR: not sent; -EREMOTEIO: sent, the outcome is unknown.
 */
int tally_session_call(struct tally_session *s, u16 type, const void *body,
		       u32 len, void *reply, u32 *reply_len, long timeout);

/* The peer broke the protocol: count it and close the link. Any context. */
void tally_session_violation(struct tally_session *s, const char *what);
/* End the session for good (fence). Any context; over() follows. */
void tally_session_fence(struct tally_session *s, int err);

/* For the handshake only. */

/**
 * struct tally_session_params - what READY settles
 * @node: our node
 * @peer: the peer
 * @id: session id
 * @incarnation: the peer's
 * @features: the peer's
 * @my_slot: our slot at the peer, 0 when ACTIVE will tell it
 * @lanes: how many lanes
 * @lease_ms: agreed lease
 * @initiator: we connected
 * @key: session key
 */
struct tally_session_params {
	struct tally_node *node;
	struct tally_peer *peer;
	u64 id;
	u64 incarnation;
	u32 features;
	u16 my_slot;
	u8 lanes;
	u32 lease_ms;
	bool initiator;
	u8 key[TALLY_MAC_SIZE];
};

/* A new session on the device of @ctrl; sleeps. The caller gets a reference. */
struct tally_session *
tally_session_create(struct tally_conn *ctrl,
		     const struct tally_session_params *params);
/*
 * Make @ctrl the control conn of the session's next link: from @ctrl's
 * message() upcall, which passes the owner's reference on. @since: our clock
 * before the message that made the peer start its lease was sent. An
 * initiator goes on to open the lanes.
 */
int tally_session_open_link(struct tally_session *s, struct tally_conn *ctrl,
			    bool resumed, bool initiator,
			    const u8 *key, u64 since);
/* Take the link down and wait until its QPs are destroyed; bounded. */
int tally_session_break_link(struct tally_session *s, int err);
/* End it and wait until it is OVER; bounded. */
int tally_session_finish(struct tally_session *s, int err);
/* Say goodbye, then end it; waits, bounded. */
void tally_session_goodbye(struct tally_session *s);
/* An incoming lane: check its proof and fill @params, or say why not. */
enum tally_refusal tally_session_lane_request(struct tally_session *s,
					      struct tally_dev *dev,
					      const struct tally_cm_req *req,
					      struct tally_conn_params *params);
void tally_session_lane_accepted(struct tally_session *s,
				 struct tally_conn *conn);
/* Ask the peer to prove that it lives: an extra RENEW. */
void tally_session_ping(struct tally_session *s);

#endif
