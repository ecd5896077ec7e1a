/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A node: one instance of the service, with its name, port, peers, sessions
 * and arenas, in one network namespace. A kernel may run several.
 */
#ifndef TALLY_NODE_H
#define TALLY_NODE_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/ratelimit.h>
#include <linux/rhashtable-types.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <net/net_namespace.h>
#include "base/names.h"
#include "base/stats.h"
#include "session/auth.h"

#define TALLY_PORT_DEFAULT	7475
#define TALLY_LEASE_DEFAULT	2000	/* ms */
#define TALLY_LEASE_MIN		200
#define TALLY_LEASE_MAX		600000
#define TALLY_SLOT_HOME		1	/* our own node slot in our words */
#define TALLY_SLOT_MAX		4095

struct tally_arenas;
struct tally_listener;
struct tally_node;
struct tally_peer;
struct tally_session;
struct tally_sreq;
struct tally_views;

enum tally_node_state {
	TALLY_NODE_RUNNING,
	TALLY_NODE_STOPPING,
	TALLY_NODE_STOPPED,
};

/**
 * struct tally_node_config - what `node add` says
 * @name: its name
 * @port: RDMA port it listens on
 * @lease_ms: lease
 * @grace_ms: longest lease it may have given before it started, or its lease
 * @epoch: ordered epoch from stable storage, 0 without one (14 bits)
 * @key: description of the cluster key in the caller's keyrings, "" for none
 * @clean: no lock of this home is held any more, so that it need not wait for
 *	a lease before it grants (the administrator's word)
 * @no_atomics: never post atomics from this node; use arenas by message
 * @mem_limit: bytes of region memory its arenas may take together, 0: no limit
 */
struct tally_node_config {
	char name[TALLY_NAME_SIZE];
	u16 port;
	u32 lease_ms;
	u32 grace_ms;
	u32 epoch;
	char key[128];
	bool clean;
	bool no_atomics;
	u64 mem_limit;
};

/**
 * struct tally_user - a user of a node: an open file, a mount, a kernel handle
 * @list: in tally_node.users
 * @id: of this user of the node; larger than those before it in the list
 * @what: "file", "mount", "kernel"
 * @object: ARENA/OBJECT, ARENA or ""
 * @pid: the process that opened it, referenced; it may have ended
 * @comm: its name then
 */
struct tally_user {
	struct list_head list;
	u64 id;
	const char *what;
	char object[2 * TALLY_NAME_SIZE];
	struct pid *pid;
	char comm[16];
};

/**
 * struct tally_node_ops - the layers above, given once
 * @node_start: make node->arenas and node->views
 * @node_stop: no new users; wake waiters with -ESHUTDOWN, delete arenas; all
 *	sessions are OVER already
 * @node_free: last reference is gone
 * @event: something to be told to listeners (netlink monitor); any context
 *	that may sleep. @change: what lists show may be another now.
 * @created: a new session: make its per-session state. May sleep.
 * @live: the link is up (again): may send. @resumed: it was LIVE before.
 * @down: the link broke; its QPs are destroyed, so every op on a lane has
 *	completed and nothing of this session is on the wire
 * @lost: the session is OVER, its QPs may still exist: tell every holder of
 *	a tenure at the peer now. May not sleep for long.
 * @over: fenced: the QPs are destroyed. Destroy every MR made for the peer,
 *	drop attachments both ways, end locks (class external: not before
 *	session->reclaim_at). Called once, after down(). May sleep.
 * @leave: we are going away: give up every tenure held at that peer and tell
 *	its users, so that GOODBYE can say "clean". May sleep.
 * @request: a request; reply now or later. Rx work: may sleep for memory,
 *	not for the network.
 * @message: a one-way message (types 64 and up). Rx work. Return 0, or a
 *	negative errno when the peer broke the protocol: the link is closed.
 *
 * created, live, down, lost and over of one session never run at the same time.
 */
struct tally_node_ops {
	int (*node_start)(struct tally_node *node);
	void (*node_stop)(struct tally_node *node);
	void (*node_free)(struct tally_node *node);
	void (*event)(struct tally_node *node, const char *event,
		      const char *subject, const char *detail, bool change);
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

/**
 * struct tally_peer_ops - how a peer reaches the other side
 * @connect: begin an attempt, under peer->lock; tally_peer_failed() or a
 *	session follows
 * @cancel: give the attempt up, if there is one; process context
 */
struct tally_peer_ops {
	int (*connect)(struct tally_peer *peer);
	void (*cancel)(struct tally_peer *peer, int err);
};

/**
 * struct tally_node - see above
 * @list: in the list of nodes
 * @id: larger than those before it in the list, never used twice
 * @ref: memory of the struct; every pointer that outlives a call
 * @ops: the layers above
 * @peer_ops: for session/peer.c
 * @config: as given; constant
 * @net: its namespace, pinned, as each of its CM ids pins it too: no exit hook of
 *	the namespace runs while the node lives
 * @incarnation: random id of this start
 * @started: CLOCK_BOOTTIME ns
 * @auth: cluster key and HMAC
 * @stats: counters
 * @wq: everything of this node that may sleep; unbound
 * @wait_wq: what waits for the answer of a peer, which may never come: no
 *	number of these may keep @wq from renewing a lease
 * @end_wq: ends peers, frees nodes; no item waits for another one
 * @listener: accepts
 * @lock: protects state, users, and changes of peers; process context, may be
 *	held while sleeping for memory, never while waiting for the network
 * @state: RUNNING, STOPPING, STOPPED
 * @paused: the machine is about to sleep or to end: no sessions
 * @peers: struct tally_peer by id, for walks; also those that are being ended
 * @peer_names: the same by name
 * @peer_next: id of the next one
 * @peers_stopping: peers that were deleted and have not ended yet
 * @peers_pausing: those whose session is being ended as the machine will sleep
 * @users: struct tally_user
 * @user_last: id of the last one
 * @half_lock: protects @half and @half_count
 * @half: half-open handshakes
 * @slots: node slot -> session, for the words of our arenas
 * @sessions: sessions by id
 * @arenas: our arenas, home/arena.c
 * @views: arenas of others as we use them, client/view.c
 * @mem_used: bytes of region memory taken
 * @stop_work: `node del`
 * @free_work: frees it
 * @stopped: completed when it is STOPPED
 */
struct tally_node {
	struct list_head list;
	u32 id;
	struct kref ref;
	const struct tally_node_ops *ops;
	const struct tally_peer_ops *peer_ops;
	struct tally_node_config config;
	struct net *net;
	u64 incarnation;
	u64 started;
	struct tally_auth auth;
	struct tally_stats stats;
	struct workqueue_struct *wq;
	struct workqueue_struct *wait_wq;
	struct workqueue_struct *end_wq;
	struct tally_listener *listener;
	struct mutex lock;	/* see above */
	enum tally_node_state state;
	bool paused;
	struct xarray peers;
	struct tally_names peer_names;
	u32 peer_next;
	atomic_t peers_stopping;
	atomic_t peers_pausing;
	struct list_head users;
	u64 user_last;
	spinlock_t half_lock;	/* half-open handshakes */
	struct list_head half;
	struct xarray slots;
	struct rhashtable sessions;
	struct tally_arenas *arenas;
	struct tally_views *views;
	atomic64_t mem_used;
	struct work_struct stop_work;
	struct work_struct free_work;
	struct completion stopped;
};

struct tally_node *tally_node_get(struct tally_node *node);
void tally_node_put(struct tally_node *node);
bool tally_node_running(struct tally_node *node);
void tally_node_event(struct tally_node *node, const char *event,
		      const char *subject, const char *detail);
void tally_node_log(struct ratelimit_state *limit, struct tally_node *node,
		    const char *event, const char *subject, const char *detail);

/*
 * As tally_node_event(), and a line in the kernel's log: what an administrator looks
 * for afterwards. Each place has a limit of its own.
 */
#define tally_node_notice(node, event, subject, detail)			\
do {									\
	static DEFINE_RATELIMIT_STATE(limit_, DEFAULT_RATELIMIT_INTERVAL, \
				      DEFAULT_RATELIMIT_BURST);		\
									\
	tally_node_log(&limit_, node, event, subject, detail);		\
} while (0)
void tally_node_news(struct tally_node *node, const char *event,
		     const char *subject);

void tally_user_add(struct tally_node *node, struct tally_user *user,
		    const char *what, const char *arena, const char *object);
void tally_user_del(struct tally_node *node, struct tally_user *user);
struct task_struct *tally_user_task(struct pid *pid);

#endif
