// SPDX-License-Identifier: GPL-2.0
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include "session/handshake.h"
#include "transport/listen.h"
#include "base/name.h"
#include "session/nodes.h"
#include "session/peer.h"

/* Every node of this kernel; the one piece of global state. */
static LIST_HEAD(nodes);
static u32 nodes_last_id;
static DEFINE_MUTEX(nodes_lock);
static const struct tally_node_ops *node_ops;
/* Stops and frees nodes: neither can run on a queue of the node itself. */
static struct workqueue_struct *nodes_wq;
/* Nodes whose memory is not freed yet. */
static atomic_t nodes_alive;
static DECLARE_WAIT_QUEUE_HEAD(nodes_gone);

/**
 * tally_node_ops - the layer above, as given to tally_nodes_init()
 *
 * Return: its ops; constant while the module is loaded.
 */
const struct tally_node_ops *tally_node_ops(void)
{
	return node_ops;
}

static void node_free(struct work_struct *work)
{
	struct tally_node *node = container_of(work, struct tally_node,
					       free_work);

	if (node->wait_wq)
		destroy_workqueue(node->wait_wq);
	if (node->wq)
		destroy_workqueue(node->wq);
	node_ops->node_free(node);
	xa_destroy(&node->slots);
	tally_auth_exit(&node->auth);
	put_net(node->net);
	kfree(node);
	if (atomic_dec_and_test(&nodes_alive))
		wake_up_all(&nodes_gone);
}

static void node_release(struct kref *ref)
{
	struct tally_node *node = container_of(ref, struct tally_node, ref);

	queue_work(nodes_wq, &node->free_work);
}

/**
 * tally_node_get - take a reference
 * @node: a node the caller may use
 *
 * Return: @node.
 */
struct tally_node *tally_node_get(struct tally_node *node)
{
	kref_get(&node->ref);
	return node;
}

/**
 * tally_node_put - give a reference back
 * @node: the node
 *
 * Context: process.
 */
void tally_node_put(struct tally_node *node)
{
	kref_put(&node->ref, node_release);
}

/**
 * tally_node_running - may new work begin?
 * @node: the node
 *
 * Return: false once it is being stopped.
 */
bool tally_node_running(struct tally_node *node)
{
	return READ_ONCE(node->state) == TALLY_NODE_RUNNING;
}

/**
 * tally_node_event - tell those who watch
 * @node: where it happened
 * @event: what, one word
 * @subject: to whom or to what
 * @detail: more, may be ""
 */
void tally_node_event(struct tally_node *node, const char *event,
		      const char *subject, const char *detail)
{
	node_ops->event(node, event, subject, detail);
}

static enum tally_refusal node_request(void *owner, struct tally_dev *dev,
				       const struct tally_cm_req *req,
				       const struct sockaddr *from,
				       struct tally_conn_params *params)
{
	struct tally_node *node = owner;
	enum tally_refusal reason;
	struct tally_session *s;

	params->stats = &node->stats;
	if (req->kind == TALLY_KIND_CONTROL) {
		params->pd = dev->ctrl_pd;
		return tally_handshake_request(node, from, params);
	}
	if (req->kind != TALLY_KIND_LANE)
		return TALLY_REFUSE_MALFORMED;
	s = tally_session_find(node, be64_to_cpu(req->session));
	if (!s)
		return TALLY_REFUSE_STALE;
	reason = tally_session_lane_request(s, dev, req, params);
	tally_session_put(s);
	return reason;
}

static void node_accepted(void *owner, struct tally_conn_params *params,
			  struct tally_conn *conn)
{
	if (params->messages)
		tally_handshake_accepted(params, conn);
	else
		tally_session_lane_accepted(params->owner, conn);
}

static void node_refused(void *owner, enum tally_refusal reason)
{
	struct tally_node *node = owner;

	atomic64_inc(&node->stats.refused[reason]);
}

static const struct tally_listen_ops listen_ops = {
	.request = node_request,
	.accepted = node_accepted,
	.refused = node_refused,
};

/* All peers at once: each takes half a second where the other side is gone. */
static void node_stop_peers(struct tally_node *node)
{
	struct tally_peer *peer, *next;
	LIST_HEAD(peers);

	mutex_lock(&node->lock);
	list_for_each_entry(peer, &node->peers, list)
		queue_work(node->wq, &peer->stop);
	list_splice_init(&node->peers, &peers);
	mutex_unlock(&node->lock);
	list_for_each_entry_safe(peer, next, &peers, list) {
		flush_work(&peer->stop);
		list_del_init(&peer->list);
		tally_peer_put(peer);
	}
}

static void node_stop(struct work_struct *work)
{
	struct tally_node *node = container_of(work, struct tally_node,
					       stop_work);

	tally_unlisten(node->listener);
	node_stop_peers(node);
	tally_handshakes_stop(node);
	node_ops->node_stop(node);
	mutex_lock(&nodes_lock);
	list_del_init(&node->list);
	mutex_unlock(&nodes_lock);
	WRITE_ONCE(node->state, TALLY_NODE_STOPPED);
	tally_node_event(node, "stopped", node->config.name, "");
	complete_all(&node->stopped);
	tally_node_put(node);	/* the list's */
}

static struct tally_node *node_alloc(struct net *net,
				     const struct tally_node_config *config)
{
	struct tally_node *node = kzalloc(sizeof(*node), GFP_KERNEL);

	if (!node)
		return ERR_PTR(-ENOMEM);
	atomic_inc(&nodes_alive);
	kref_init(&node->ref);
	mutex_init(&node->lock);
	INIT_LIST_HEAD(&node->list);
	INIT_LIST_HEAD(&node->peers);
	INIT_LIST_HEAD(&node->users);
	INIT_LIST_HEAD(&node->half);
	xa_init_flags(&node->slots, XA_FLAGS_ALLOC);
	node->next_slot = TALLY_SLOT_HOME + 1;
	INIT_WORK(&node->stop_work, node_stop);
	INIT_WORK(&node->free_work, node_free);
	init_completion(&node->stopped);
	node->config = *config;
	node->net = get_net(net);
	node->started = ktime_get_boottime_ns();
	do {
		node->incarnation = get_random_u64();
	} while (!node->incarnation);
	return node;
}

static struct tally_node *node_lookup(struct net *net, const char *name)
{
	struct tally_node *node;

	lockdep_assert_held(&nodes_lock);
	list_for_each_entry(node, &nodes, list)
		if (net_eq(node->net, net) &&
		    (!name || !*name || !strcmp(node->config.name, name)))
			return node;
	return NULL;
}

static int node_start(struct tally_node *node, const char **reason)
{
	int err;

	err = tally_auth_init(&node->auth);
	if (err) {
		*reason = "this kernel has no hmac(sha256)";
		node->auth.hmac = NULL;
		return err;
	}
	if (node->config.key[0]) {
		err = tally_auth_load(&node->auth, node->config.key);
		if (err) {
			*reason = "no logon key of that description with 16 to 64 bytes";
			return err;
		}
	}
	/* Renewals run here, and must not be late because the machine is busy. */
	node->wq = alloc_workqueue("tally-%s", WQ_UNBOUND | WQ_HIGHPRI |
				   WQ_MEM_RECLAIM, 0, node->config.name);
	node->wait_wq = alloc_workqueue("tally-%s-wait", WQ_UNBOUND |
					WQ_MEM_RECLAIM, 0, node->config.name);
	if (!node->wq || !node->wait_wq)
		return -ENOMEM;
	err = node_ops->node_start(node);
	if (err)
		return err;
	node->listener = tally_listen(node->net, node->config.port, &listen_ops,
				      node);
	if (IS_ERR(node->listener)) {
		err = PTR_ERR(node->listener);
		*reason = err == -EADDRINUSE ? "the port is in use" :
					       "cannot listen on the port";
		goto err_stop;
	}
	return 0;

err_stop:
	node_ops->node_stop(node);
	return err;
}

/**
 * tally_node_add - start a node
 * @net: namespace it lives in
 * @config: what it is to be; checked by the caller
 * @reason: gets a constant sentence on error
 *
 * Context: process; the caller's keyrings are searched.
 * Return: 0, -EEXIST, -EADDRINUSE, -ENOKEY, -ENOMEM, …
 */
int tally_node_add(struct net *net, const struct tally_node_config *config,
		   const char **reason)
{
	struct tally_node *node;
	int err;

	node = node_alloc(net, config);
	if (IS_ERR(node))
		return PTR_ERR(node);
	mutex_lock(&nodes_lock);
	if (node_lookup(net, config->name)) {
		*reason = "a node of that name exists";
		err = -EEXIST;
	} else {
		err = node_start(node, reason);
	}
	if (!err) {
		node->id = ++nodes_last_id;
		list_add_tail(&node->list, &nodes);
	}
	mutex_unlock(&nodes_lock);
	if (err)
		tally_node_put(node);
	return err;
}

/**
 * tally_node_del - begin to stop a node
 * @node: the node, referenced by the caller
 *
 * New operations get -ESHUTDOWN from now on. It leaves the list when all is
 * done; node->stopped is completed then.
 *
 * Return: 0; -EALREADY.
 */
int tally_node_del(struct tally_node *node)
{
	bool first;

	mutex_lock(&node->lock);
	first = node->state == TALLY_NODE_RUNNING;
	if (first)
		WRITE_ONCE(node->state, TALLY_NODE_STOPPING);
	mutex_unlock(&node->lock);
	if (!first)
		return -EALREADY;
	queue_work(nodes_wq, &node->stop_work);
	return 0;
}

/**
 * tally_node_find - find a node by name
 * @net: namespace
 * @name: its name; NULL or "" for the first
 *
 * Return: referenced, or NULL.
 */
struct tally_node *tally_node_find(struct net *net, const char *name)
{
	struct tally_node *node;

	mutex_lock(&nodes_lock);
	node = node_lookup(net, name);
	if (node)
		tally_node_get(node);
	mutex_unlock(&nodes_lock);
	return node;
}

/**
 * tally_node_next - walk the nodes of a namespace
 * @net: namespace
 * @after: id of the one before, 0 to begin
 *
 * Return: the next one, referenced, or NULL.
 */
struct tally_node *tally_node_next(struct net *net, u32 after)
{
	struct tally_node *node, *next = NULL;

	mutex_lock(&nodes_lock);
	list_for_each_entry(node, &nodes, list) {
		if (node->id > after && net_eq(node->net, net)) {
			next = tally_node_get(node);
			break;
		}
	}
	mutex_unlock(&nodes_lock);
	return next;
}

/**
 * tally_user_add - somebody uses a node
 * @node: the node
 * @user: record owned by the caller, filled here
 * @what: "file", "mount" or "kernel"
 * @arena: name of an arena, or ""
 * @object: name of an object, or ""
 *
 * Context: process; the current task is remembered.
 */
void tally_user_add(struct tally_node *node, struct tally_user *user,
		    const char *what, const char *arena, const char *object)
{
	user->what = what;
	user->pid = task_tgid_nr(current);
	get_task_comm(user->comm, current);
	snprintf(user->object, sizeof(user->object), "%s%s%s", arena,
		 *object ? "/" : "", object);
	mutex_lock(&node->lock);
	user->id = ++node->last_user;
	list_add_tail(&user->list, &node->users);
	mutex_unlock(&node->lock);
}

/**
 * tally_user_del - it no longer does
 * @node: the node
 * @user: from tally_user_add()
 */
void tally_user_del(struct tally_node *node, struct tally_user *user)
{
	mutex_lock(&node->lock);
	list_del(&user->list);
	mutex_unlock(&node->lock);
}

/**
 * tally_node_slot_get - a node slot in our words for a session
 * @node: our node
 * @s: the session
 *
 * Slots go round, so that one is not used again soon.
 *
 * Return: the slot, or -ENOSPC, -ENOMEM.
 */
int tally_node_slot_get(struct tally_node *node, struct tally_session *s)
{
	u32 slot;
	int err;

	err = xa_alloc_cyclic(&node->slots, &slot, s,
			      XA_LIMIT(TALLY_SLOT_HOME + 1, TALLY_SLOT_MAX),
			      &node->next_slot, GFP_KERNEL);
	if (err < 0)
		return err == -EBUSY ? -ENOSPC : err;
	return slot;
}

/**
 * tally_node_slot_put - every bit of the slot has been swept
 * @node: our node
 * @slot: the slot, 0 for none
 */
void tally_node_slot_put(struct tally_node *node, u16 slot)
{
	if (slot)
		xa_erase(&node->slots, slot);
}

/**
 * tally_session_at - who has a node slot?
 * @node: our node
 * @slot: the slot
 *
 * Return: its session, referenced, or NULL.
 */
struct tally_session *tally_session_at(struct tally_node *node, u16 slot)
{
	struct tally_session *s;

	xa_lock(&node->slots);
	s = xa_load(&node->slots, slot);
	if (s && !kref_get_unless_zero(&s->ref))
		s = NULL;
	xa_unlock(&node->slots);
	return s;
}

/**
 * tally_nodes_init - nobody yet
 * @ops: the layer above
 *
 * Return: 0 or -ENOMEM.
 */
int tally_nodes_init(const struct tally_node_ops *ops)
{
	node_ops = ops;
	nodes_wq = alloc_workqueue("tally", WQ_UNBOUND, 0);
	return nodes_wq ? 0 : -ENOMEM;
}

/**
 * tally_nodes_exit - stop every node and wait for it
 *
 * Context: process. Netlink is gone: no node can be added.
 */
void tally_nodes_exit(void)
{
	struct tally_node *node;

	for (;;) {
		mutex_lock(&nodes_lock);
		node = list_first_entry_or_null(&nodes, struct tally_node,
						list);
		if (node)
			tally_node_get(node);
		mutex_unlock(&nodes_lock);
		if (!node)
			break;
		tally_node_del(node);
		wait_for_completion(&node->stopped);
		tally_node_put(node);
	}
	wait_event(nodes_gone, !atomic_read(&nodes_alive));
	destroy_workqueue(nodes_wq);
}
