/* SPDX-License-Identifier: GPL-2.0 */
/* A configured peer: a name, an address, and the way to a session with it. */
#ifndef TALLY_PEER_H
#define TALLY_PEER_H

#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/socket.h>
#include <linux/workqueue.h>
#include "session/life.h"

struct tally_handshake;

/**
 * struct tally_peer - see above
 * @id: in tally_node.peers; larger than those added before
 * @by_name: in tally_node.peer_names
 * @rcu: frees it when no look-up can see it any more
 * @ref: node, sessions, works
 * @node: our node, referenced
 * @name: its name
 * @addr: where to connect
 * @key: description of the key that only the two nodes have, or ""
 * @secret: that key; constant, like all above
 * @sessions: its sessions, those that have ended and are not freed yet included
 * @admit: one incoming handshake at a time is let in; held while an older
 *	session is ended, bounded
 * @lock: protects what follows
 * @session: OPENING, LIVE or BROKEN session, or NULL; referenced
 * @attempt: our own handshake under way, or NULL
 * @half_count: half-open incoming handshakes
 * @gave_way: our attempt was put off once for these
 * @dead: deleted, no new attempts; listed until its session is over
 * @backoff_ms: wait before the next attempt
 * @connects: attempts made
 * @ended: errno that the last session was fenced with, or 0
 * @last_refusal: enum tally_refusal of the last failed attempt
 * @last_error: errno of the last failed attempt
 * @last_text: sentence that came with it
 * @seen_epoch: highest home epoch this peer ever told
 * @connect: makes the next attempt
 * @stop: ends all: the peer was deleted or the node stops
 * @pause: ends its session: the machine is about to sleep or to end
 */
struct tally_peer {
	u32 id;
	struct tally_name by_name;
	struct rcu_head rcu;
	struct kref ref;
	struct tally_node *node;
	char name[TALLY_NAME_SIZE];
	struct sockaddr_storage addr;
	char key[128];
	struct tally_secret secret;
	atomic_t sessions;
	struct mutex admit;	/* one admission at a time */
	struct mutex lock;	/* see above */
	struct tally_session *session;
	struct tally_handshake *attempt;
	u32 half_count;
	bool gave_way;
	bool dead;
	u32 backoff_ms;
	u64 connects;
	int ended;
	u16 last_refusal;
	int last_error;
	char last_text[128];
	u64 seen_epoch;
	struct delayed_work connect;
	struct work_struct stop;
	struct work_struct pause;
};

/* Does what is left of it only end? Any context. */
static inline bool tally_peer_deleted(const struct tally_peer *peer)
{
	return READ_ONCE(peer->dead);
}

/* None of these waits for the network. */
int tally_peer_add(struct tally_node *node, const char *name,
		   const struct sockaddr_storage *addr, const char *key,
		   const char **reason);
int tally_peer_del(struct tally_node *node, const char *name);
struct tally_peer *tally_peer_find(struct tally_node *node, const char *name);
struct tally_peer *tally_peer_next(struct tally_node *node,
				   unsigned long after);
struct tally_peer *tally_peer_get(struct tally_peer *peer);
void tally_peer_put(struct tally_peer *peer);
const struct tally_secret *tally_peer_secret(const struct tally_peer *peer);
struct tally_session *tally_peer_session(struct tally_peer *peer);

/* For the other files of session/. */
struct tally_session *tally_peer_any_session(struct tally_peer *peer);
int tally_peer_session_start(struct tally_peer *peer, struct tally_session *s);
void tally_peer_failed(struct tally_peer *peer, int err, u16 refusal,
		       const char *text);
void tally_peers_pause(struct tally_node *node);
long tally_peers_paused(struct tally_node *node, long timeout);
void tally_peers_resume(struct tally_node *node);
void tally_peer_unproved(struct tally_peer *peer, const char *text);
void tally_peers_stop(struct tally_node *node);

#endif
