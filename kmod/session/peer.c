// SPDX-License-Identifier: GPL-2.0
#include <linux/err.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include "base/delay.h"
#include "session/life.h"
#include "session/peer.h"

#define BACKOFF_MIN	20	/* ms */
#define BACKOFF_MAX	1000
/* One that lives, and those that have ended while what they held is not free. */
#define PEER_SESSIONS	16

static void peer_free(struct kref *ref)
{
	struct tally_peer *peer = container_of(ref, struct tally_peer, ref);

	tally_node_put(peer->node);
	memzero_explicit(&peer->secret, sizeof(peer->secret));
	kfree_rcu(peer, rcu);
}

struct tally_peer *tally_peer_get(struct tally_peer *peer)
{
	kref_get(&peer->ref);
	return peer;
}

/* NULL is allowed. */
void tally_peer_put(struct tally_peer *peer)
{
	if (peer)
		kref_put(&peer->ref, peer_free);
}

/* What proves who it is; its length is 0 where nothing does. */
const struct tally_secret *tally_peer_secret(const struct tally_peer *peer)
{
	return peer->secret.len ? &peer->secret : &peer->node->auth.secret;
}

static bool peer_needs_link(struct tally_peer *peer)
{
	lockdep_assert_held(&peer->lock);
	return !peer->dead && !peer->attempt && !READ_ONCE(peer->node->paused) &&
	       (!peer->session ||
		READ_ONCE(peer->session->state) == TALLY_SESSION_BROKEN);
}

/*
 * Try again after a while, where that is needed; the node's reference keeps the
 * peer until stop. The wait doubles; a random quarter keeps two sides from
 * meeting for ever.
 */
static void peer_retry(struct tally_peer *peer)
{
	u32 ms = peer->backoff_ms;

	if (!peer_needs_link(peer))
		return;
	peer->backoff_ms = min_t(u32, 2 * ms, BACKOFF_MAX);
	ms += get_random_u32_below(ms / 4 + 1);
	mod_delayed_work(peer->node->wq, &peer->connect, msecs_to_jiffies(ms));
}

/*
 * Let a peer that connects itself go first, once for an attempt: what has come has
 * proved nothing yet, and may be silent for ever.
 */
static bool peer_gives_way(struct tally_peer *peer)
{
	lockdep_assert_held(&peer->lock);
	peer->gave_way = peer->half_count && !peer->gave_way;
	return peer->gave_way;
}

/*
 * Keep why an attempt failed, and tell it where it is not what was told before. That
 * both sides connect at once is no trouble, and hides none.
 */
static void peer_note(struct tally_peer *peer, int err, u16 refusal,
		      const char *text)
{
	bool news = peer->last_error != err || peer->last_refusal != refusal;
	char name[32];

	lockdep_assert_held(&peer->lock);
	if (refusal == TALLY_REFUSE_COLLISION && peer->last_error)
		return;
	if (err == -ENODEV)
		text = "no RDMA device leads there; 'rdma link add' makes one of an interface";
	peer->last_error = err;
	peer->last_refusal = refusal;
	strscpy(peer->last_text, text, sizeof(peer->last_text));
	if (!news || peer->dead || refusal == TALLY_REFUSE_COLLISION)
		return;
	snprintf(name, sizeof(name), "%pe", ERR_PTR(err));
	tally_node_notice(peer->node, "failed", peer->name,
			  text[0] ? text : name);
}

static void peer_connect(struct work_struct *work)
{
	struct tally_peer *peer = container_of(work, struct tally_peer,
					       connect.work);
	/* Memory may wait for the session that is resumed. */
	unsigned int noio = memalloc_noio_save();
	int err;

	guard(mutex)(&peer->lock);
	if (peer_needs_link(peer) && !peer_gives_way(peer)) {
		peer->connects++;
		err = peer->node->peer_ops->connect(peer);
		if (err)
			peer_note(peer, err, 0, "");
	}
	/* Still, while the peer tries itself, or where the attempt failed. */
	peer_retry(peer);
	memalloc_noio_restore(noio);
}

/*
 * Our attempt came to nothing. @refusal: enum tally_refusal when we were turned
 * away, else 0. @text: the sentence that came with it, or "".
 */
void tally_peer_failed(struct tally_peer *peer, int err, u16 refusal,
		       const char *text)
{
	guard(mutex)(&peer->lock);
	peer_note(peer, err, refusal, text);
	peer_retry(peer);
}

/* One that connected to us, and said it was this peer, did not prove it. */
void tally_peer_unproved(struct tally_peer *peer, const char *text)
{
	guard(mutex)(&peer->lock);
	if (!peer->session)
		peer_note(peer, -ECONNREFUSED, TALLY_REFUSE_AUTH, text);
}

static void peer_session_live(struct tally_session *s)
{
	struct tally_peer *peer = s->peer;

	guard(mutex)(&peer->lock);
	if (peer->session == s) {
		peer->backoff_ms = BACKOFF_MIN;
		peer->last_error = 0;
		peer->last_refusal = 0;
		peer->last_text[0] = 0;
	}
}

/* Connect again at once. */
static void peer_link_lost(struct tally_session *s)
{
	struct tally_peer *peer = s->peer;

	guard(mutex)(&peer->lock);
	peer->backoff_ms = BACKOFF_MIN;
	if (peer_needs_link(peer))
		mod_delayed_work(peer->node->wq, &peer->connect, 0);
}

static void peer_session_over(struct tally_session *s)
{
	struct tally_peer *peer = s->peer;

	guard(mutex)(&peer->lock);
	peer->ended = s->error;
	if (peer->session == s) {
		peer->session = NULL;
		tally_session_put(s);
	}
	peer_retry(peer);
}

static void peer_session_put(struct tally_peer *peer)
{
	atomic_dec(&peer->sessions);
	tally_peer_put(peer);
}

static const struct tally_session_owner_ops peer_owner_ops = {
	.live = peer_session_live,
	.link_lost = peer_link_lost,
	.over = peer_session_over,
	.put = peer_session_put,
};

/*
 * A new session begins; all that the peer knows of it is filled in here. Takes
 * over the reference to @s when it fails: -ESHUTDOWN when the peer was deleted,
 * has a session already, or is not to have one now; -EDQUOT when too many have not
 * come to their end.
 */
int tally_peer_session_start(struct tally_peer *peer, struct tally_session *s)
{
	int err;

	s->peer = tally_peer_get(peer);
	s->owner_ops = &peer_owner_ops;
	strscpy(s->name, peer->name, sizeof(s->name));
	s->addr = peer->addr;
	if (atomic_inc_return(&peer->sessions) > PEER_SESSIONS) {
		tally_stat_inc(&peer->node->stats, TALLY_STAT_QUOTA);
		tally_session_put(s);
		return -EDQUOT;
	}
	err = tally_session_start(s);
	if (err)
		return err;
	tally_delay(SESSION_START);
	/* It may be OVER already: then over() has been here before us. */
	scoped_guard(mutex, &peer->lock) {
		if (!peer->dead && !peer->session && !peer->node->paused &&
		    READ_ONCE(s->state) != TALLY_SESSION_OVER) {
			peer->session = tally_session_get(s);
			return 0;
		}
	}
	tally_session_fence_wait(s, -ESHUTDOWN);
	tally_session_put(s);
	return -ESHUTDOWN;
}

/* The session, whatever its state, referenced, or NULL. */
struct tally_session *tally_peer_any_session(struct tally_peer *peer)
{
	guard(mutex)(&peer->lock);
	return peer->session ? tally_session_get(peer->session) : NULL;
}

/*
 * The session, if it is LIVE or BROKEN and the peer was not deleted, referenced,
 * or NULL.
 */
struct tally_session *tally_peer_session(struct tally_peer *peer)
{
	struct tally_session *s = tally_peer_any_session(peer);
	enum tally_session_state state;

	if (!s)
		return NULL;
	state = READ_ONCE(s->state);
	if (!tally_peer_deleted(peer) &&
	    (state == TALLY_SESSION_LIVE || state == TALLY_SESSION_BROKEN))
		return s;
	tally_session_put(s);
	return NULL;
}

/* A peer by name, referenced, or NULL. Any context. */
struct tally_peer *tally_peer_find(struct tally_node *node, const char *name)
{
	return tally_names_get(&node->peer_names, name, struct tally_peer);
}

/*
 * Walk the peers of a node. @after: id of the one before, 0 to begin. Return:
 * the next one, referenced, or NULL. Any context.
 */
struct tally_peer *tally_peer_next(struct tally_node *node,
				   unsigned long after)
{
	struct tally_peer *peer;

	rcu_read_lock();
	do {
		peer = xa_find_after(&node->peers, &after, U32_MAX, XA_PRESENT);
	} while (peer && !kref_get_unless_zero(&peer->ref));
	rcu_read_unlock();
	return peer;
}

/*
 * End all that is going on with a peer that cannot be found by name any more;
 * bounded. It is listed until it is out.
 */
static void peer_stop(struct work_struct *work)
{
	struct tally_peer *peer = container_of(work, struct tally_peer, stop);
	struct tally_node *node = peer->node;
	struct tally_session *s;

	cancel_delayed_work_sync(&peer->connect);
	node->peer_ops->cancel(peer, -ESHUTDOWN);
	s = tally_peer_any_session(peer);
	if (s)
		tally_session_goodbye(s);
	tally_session_put(s);
	tally_delay(PEER_STOP);
	/* Who walks the peers with that lock has no reference. */
	scoped_guard(mutex, &node->lock)
		xa_erase(&node->peers, peer->id);
	/* Its end is waited for by tally_peers_stop(), which has the node. */
	if (atomic_dec_and_test(&node->peers_stopping))
		wake_up_var(&node->peers_stopping);
	tally_peer_put(peer);	/* the node's */
}

/* Under node->lock. Each takes half a second where the other side is gone. */
static void peer_remove(struct tally_peer *peer)
{
	struct tally_node *node = peer->node;

	lockdep_assert_held(&node->lock);
	scoped_guard(mutex, &peer->lock) {
		if (peer->dead)
			return;
		WRITE_ONCE(peer->dead, true);
	}
	tally_names_del(&node->peer_names, &peer->by_name);
	atomic_inc(&node->peers_stopping);
	queue_work(node->end_wq, &peer->stop);
}

/* As the machine is about to sleep or to end; bounded. */
static void peer_pause(struct work_struct *work)
{
	struct tally_peer *peer = container_of(work, struct tally_peer, pause);
	struct tally_node *node = peer->node;
	struct tally_session *s = NULL;

	if (READ_ONCE(node->paused))
		s = tally_peer_any_session(peer);
	if (s)
		tally_session_goodbye(s);
	tally_session_put(s);
	if (atomic_dec_and_test(&node->peers_pausing))
		wake_up_var(&node->peers_pausing);
	tally_peer_put(peer);
}

/* Begin to end all sessions of a node, which then has none until it resumes. */
void tally_peers_pause(struct tally_node *node)
{
	struct tally_peer *peer;
	unsigned long id = 0;

	WRITE_ONCE(node->paused, true);
	while ((peer = tally_peer_next(node, id))) {
		id = peer->id;
		atomic_inc(&node->peers_pausing);
		if (queue_work(node->end_wq, &peer->pause))
			continue;
		/* Still on its way from the last time. */
		atomic_dec(&node->peers_pausing);
		tally_peer_put(peer);
	}
}

/* Wait for that, at most so long. Return: jiffies left, 0 where it is not done. */
long tally_peers_paused(struct tally_node *node, long timeout)
{
	return wait_var_event_timeout(&node->peers_pausing,
				      !atomic_read(&node->peers_pausing),
				      timeout);
}

/* Let a node have sessions again. */
void tally_peers_resume(struct tally_node *node)
{
	struct tally_peer *peer;
	unsigned long id = 0;

	WRITE_ONCE(node->paused, false);
	while ((peer = tally_peer_next(node, id))) {
		id = peer->id;
		scoped_guard(mutex, &peer->lock)
			if (peer_needs_link(peer))
				mod_delayed_work(node->wq, &peer->connect, 0);
		tally_peer_put(peer);
	}
}

/* Delete all peers of a node that stops, at once, and wait. */
void tally_peers_stop(struct tally_node *node)
{
	struct tally_peer *peer;
	unsigned long index;

	scoped_guard(mutex, &node->lock)
		xa_for_each(&node->peers, index, peer) {
			tally_delay(PEERS_STOP);
			peer_remove(peer);
		}
	wait_var_event(&node->peers_stopping,
		       !atomic_read(&node->peers_stopping));
}

static struct tally_peer *peer_alloc(struct tally_node *node, const char *name,
				     const struct sockaddr_storage *addr,
				     const char *key, const char **reason)
{
	struct tally_peer *peer = kzalloc(sizeof(*peer), GFP_KERNEL);
	int err;

	if (!peer)
		return ERR_PTR(-ENOMEM);
	err = *key ? tally_auth_load(&peer->secret, key) : 0;
	if (err) {
		*reason = "no logon key of that description with 16 to 64 bytes";
		kfree(peer);
		return ERR_PTR(err);
	}
	kref_init(&peer->ref);
	mutex_init(&peer->admit);
	mutex_init(&peer->lock);
	INIT_DELAYED_WORK(&peer->connect, peer_connect);
	INIT_WORK(&peer->stop, peer_stop);
	INIT_WORK(&peer->pause, peer_pause);
	peer->node = tally_node_get(node);
	strscpy(peer->name, name, sizeof(peer->name));
	peer->by_name.name = peer->name;
	peer->addr = *addr;
	strscpy(peer->key, key, sizeof(peer->key));
	peer->backoff_ms = BACKOFF_MIN;
	return peer;
}

/* Under node->lock. */
static int peer_insert(struct tally_peer *peer, const char **reason)
{
	struct tally_node *node = peer->node;
	int err;

	lockdep_assert_held(&node->lock);
	if (node->state != TALLY_NODE_RUNNING) {
		*reason = "the node is being stopped";
		return -ESHUTDOWN;
	}
	err = xa_alloc_cyclic(&node->peers, &peer->id, tally_peer_get(peer),
			      XA_LIMIT(1, INT_MAX), &node->peer_next,
			      GFP_KERNEL);
	/* Last: from its name on a handshake finds it. */
	if (err >= 0)
		err = tally_names_add(&node->peer_names, &peer->by_name);
	if (err) {
		if (err == -EEXIST)
			*reason = "a peer of that name exists; delete it first to change it";
		if (peer->id)
			xa_erase(&node->peers, peer->id);
		tally_peer_put(peer);
		return err;
	}
	/* Whatever deletes it waits for the lock. */
	mod_delayed_work(node->wq, &peer->connect, 0);
	return 0;
}

/*
 * Configure a peer and start connecting. @name: valid; @key: description of a key
 * that only the two nodes have, in the caller's keyrings, or "": the cluster's;
 * @reason: gets a constant sentence on error. Return: 0, -EEXIST, -EINVAL,
 * -ESHUTDOWN, -ENOMEM, -ENOKEY, ...
 */
int tally_peer_add(struct tally_node *node, const char *name,
		   const struct sockaddr_storage *addr, const char *key,
		   const char **reason)
{
	struct tally_peer *peer;
	int err;

	if (!strcmp(name, node->config.name)) {
		*reason = "a node cannot be its own peer";
		return -EINVAL;
	}
	peer = peer_alloc(node, name, addr, key, reason);
	if (IS_ERR(peer))
		return PTR_ERR(peer);
	scoped_guard(mutex, &node->lock)
		err = peer_insert(peer, reason);
	tally_peer_put(peer);
	return err;
}

/*
 * Forget a peer; it is out when it is listed no more, soon after. Return: 0 or
 * -ENOENT.
 */
int tally_peer_del(struct tally_node *node, const char *name)
{
	struct tally_peer *peer;

	guard(mutex)(&node->lock);
	peer = tally_names_lookup(&node->peer_names, name, struct tally_peer);
	if (peer)
		peer_remove(peer);
	return peer ? 0 : -ENOENT;
}
