// SPDX-License-Identifier: GPL-2.0
#include <linux/random.h>
#include <linux/reboot.h>
#include <linux/rhashtable.h>
#include <linux/slab.h>
#include <linux/suspend.h>
#include "session/handshake.h"
#include "session/nodes.h"
#include "transport/listen.h"

/* A goodbye takes half a second, and ten more where a device holds up its end. */
#define NODES_PAUSE_WAIT	(15 * HZ)

/* Every node of this kernel; the one piece of global state. */
static LIST_HEAD(nodes);
/* Those that were stopped, and that somebody uses still. */
static LIST_HEAD(ended_nodes);
static u32 nodes_last_id;
/* The machine is about to sleep or to end; under nodes_lock. */
static bool nodes_paused;
static DEFINE_MUTEX(nodes_lock);
static const struct tally_node_ops *node_ops;
/* Stops and frees nodes: neither can run on a queue of the node itself. */
static struct workqueue_struct *nodes_wq;
/* Apart: each node that ends waits for its peers'. */
static struct workqueue_struct *peers_wq;
/* Nodes whose memory is not freed yet. */
static atomic_t nodes_alive;
static DECLARE_WAIT_QUEUE_HEAD(nodes_gone);

static void node_free(struct work_struct *work)
{
	struct tally_node *node = container_of(work, typeof(*node), free_work);

	scoped_guard(mutex, &nodes_lock)
		list_del(&node->list);
	if (node->wait_wq)
		destroy_workqueue(node->wait_wq);
	if (node->wq)
		destroy_workqueue(node->wq);
	node->ops->node_free(node);
	rhashtable_destroy(&node->sessions);
	tally_names_destroy(&node->peer_names);
	xa_destroy(&node->peers);
	xa_destroy(&node->slots);
	tally_auth_exit(&node->auth);
	put_net(node->net);
	kfree(node);
	if (atomic_dec_and_test(&nodes_alive))
		wake_up_all(&nodes_gone);
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
	reason = tally_link_lane_request(s, dev, req, params);
	tally_session_put(s);
	return reason;
}

static void node_accepted(void *owner, struct tally_conn_params *params,
			  struct tally_conn *conn)
{
	if (params->messages)
		tally_handshake_accepted(params, conn);
	else
		tally_link_lane_accepted(params->owner, conn);
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

static void node_stop(struct work_struct *work)
{
	struct tally_node *node = container_of(work, typeof(*node), stop_work);

	tally_unlisten(node->listener);
	tally_peers_stop(node);
	tally_handshakes_stop(node);
	node->ops->node_stop(node);
	WRITE_ONCE(node->state, TALLY_NODE_STOPPED);
	scoped_guard(mutex, &nodes_lock)
		list_move_tail(&node->list, &ended_nodes);
	tally_node_event(node, "stopped", node->config.name, "");
	complete_all(&node->stopped);
	tally_node_put(node);	/* the list's */
}

static const struct tally_peer_ops peer_ops = {
	.connect = tally_handshake_connect,
	.cancel = tally_handshake_cancel,
};

static struct tally_node *node_alloc(struct net *net,
				     const struct tally_node_config *config)
{
	struct tally_node *node = kzalloc(sizeof(*node), GFP_KERNEL);
	int err;

	if (!node)
		return ERR_PTR(-ENOMEM);
	err = rhashtable_init(&node->sessions, &tally_sessions_params);
	if (err)
		goto err_free;
	err = tally_names_init(&node->peer_names);
	if (err)
		goto err_sessions;
	atomic_inc(&nodes_alive);
	kref_init(&node->ref);
	mutex_init(&node->lock);
	INIT_LIST_HEAD(&node->list);
	xa_init_flags(&node->peers, XA_FLAGS_ALLOC);
	INIT_LIST_HEAD(&node->users);
	spin_lock_init(&node->half_lock);
	INIT_LIST_HEAD(&node->half);
	xa_init_flags(&node->slots, XA_FLAGS_ALLOC);
	node->ops = node_ops;
	node->peer_ops = &peer_ops;
	node->end_wq = peers_wq;
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

err_sessions:
	rhashtable_destroy(&node->sessions);
err_free:
	kfree(node);
	return ERR_PTR(err);
}

static struct tally_node *node_lookup(u32 netns, const char *name)
{
	struct tally_node *node;

	lockdep_assert_held(&nodes_lock);
	list_for_each_entry(node, &nodes, list)
		if (node->net->ns.inum == netns &&
		    (!name || !strcmp(node->config.name, name)))
			return node;
	return NULL;
}

static int node_start(struct tally_node *node, const char **reason)
{
	int err;

	*reason = "this kernel has no hmac(sha256)";
	err = tally_auth_init(&node->auth);
	if (err)
		return err;
	*reason = "no logon key of that description with 16 to 64 bytes";
	if (node->config.key[0])
		err = tally_auth_load(&node->auth.secret, node->config.key);
	if (err)
		return err;
	*reason = NULL;
	/* Renewals run here, and must not be late because the machine is busy. */
	node->wq = alloc_workqueue("tally-%s", WQ_UNBOUND | WQ_HIGHPRI |
				   WQ_MEM_RECLAIM, 0, node->config.name);
	node->wait_wq = alloc_workqueue("tally-%s-wait", WQ_UNBOUND |
					WQ_MEM_RECLAIM, 0, node->config.name);
	if (!node->wq || !node->wait_wq)
		return -ENOMEM;
	err = node->ops->node_start(node);
	if (err)
		return err;
	node->listener = tally_listen(node->net, node->config.port, &listen_ops,
				      node);
	if (IS_ERR(node->listener)) {
		err = PTR_ERR(node->listener);
		*reason = err == -EADDRINUSE ? "the port is in use" :
					       "cannot listen on the port";
		node->ops->node_stop(node);
		return err;
	}
	return 0;
}

/*
 * Start a node as @config, which the caller has checked, says. The caller's
 * keyrings are searched. @reason: gets a constant sentence on error, or stays
 * as it is. Return: 0, -EEXIST, -EADDRINUSE, -ENOKEY, -ENOMEM, ...
 */
int tally_node_add(struct net *net, const struct tally_node_config *config,
		   const char **reason)
{
	struct tally_node *node = node_alloc(net, config);
	int err;

	if (IS_ERR(node))
		return PTR_ERR(node);
	guard(mutex)(&nodes_lock);
	if (node_lookup(net->ns.inum, config->name)) {
		*reason = "a node of that name exists";
		err = -EEXIST;
	} else {
		node->paused = nodes_paused;
		err = node_start(node, reason);
	}
	if (err) {
		tally_node_put(node);
		return err;
	}
	node->id = ++nodes_last_id;
	list_add_tail(&node->list, &nodes);
	return 0;
}

/*
 * Begin to stop a node: new operations get -ESHUTDOWN from now on. It leaves
 * the list when all is done; node->stopped is completed then. Return: 0 or
 * -EALREADY.
 */
int tally_node_del(struct tally_node *node)
{
	guard(mutex)(&node->lock);
	if (node->state != TALLY_NODE_RUNNING)
		return -EALREADY;
	WRITE_ONCE(node->state, TALLY_NODE_STOPPING);
	queue_work(nodes_wq, &node->stop_work);
	return 0;
}

/*
 * A node by name in any namespace, which may have lost its own: @netns is its
 * inode number. Return: referenced, or NULL.
 */
struct tally_node *tally_node_find_in(u32 netns, const char *name)
{
	struct tally_node *node;

	guard(mutex)(&nodes_lock);
	node = node_lookup(netns, name);
	return node ? tally_node_get(node) : NULL;
}

/* A node by name; NULL for the first. Return: referenced, or NULL. */
struct tally_node *tally_node_find(struct net *net, const char *name)
{
	return tally_node_find_in(net->ns.inum, name);
}

/*
 * Walk the nodes of a namespace, NULL for all. @after: id of the one before, 0
 * to begin. Return: the next one, referenced, or NULL.
 */
struct tally_node *tally_node_next(struct net *net, u32 after)
{
	struct tally_node *node;

	guard(mutex)(&nodes_lock);
	list_for_each_entry(node, &nodes, list)
		if (node->id > after && (!net || net_eq(node->net, net)))
			return tally_node_get(node);
	return NULL;
}

/*
 * Walk those that were stopped and are used still; @name: of that name, or NULL.
 * @after: id of the one before, 0 to begin. Return: referenced, or NULL.
 */
struct tally_node *tally_node_next_ended(struct net *net, const char *name,
					 u32 after)
{
	struct tally_node *node, *next = NULL;

	guard(mutex)(&nodes_lock);
	/* In the order in which they ended. */
	list_for_each_entry(node, &ended_nodes, list)
		if (node->id > after && net_eq(node->net, net) &&
		    (!name || !strcmp(node->config.name, name)) &&
		    (!next || node->id < next->id) && kref_read(&node->ref))
			next = node;
	return next && kref_get_unless_zero(&next->ref) ? next : NULL;
}

/*
 * All nodes and all their peers at once, bounded in all: what a device holds up
 * longer goes on behind.
 */
static void nodes_pause(void)
{
	long left = NODES_PAUSE_WAIT;
	struct tally_node *node;
	u32 after;

	/* What is made from here on starts like that. */
	scoped_guard(mutex, &nodes_lock)
		nodes_paused = true;
	for (after = 0; (node = tally_node_next(NULL, after));) {
		after = node->id;
		tally_peers_pause(node);
		tally_node_put(node);
	}
	for (after = 0; (node = tally_node_next(NULL, after));) {
		after = node->id;
		left = tally_peers_paused(node, left);
		tally_node_put(node);
	}
}

static void nodes_resume(void)
{
	struct tally_node *node;
	u32 after = 0;

	scoped_guard(mutex, &nodes_lock)
		nodes_paused = false;
	while ((node = tally_node_next(NULL, after))) {
		after = node->id;
		tally_peers_resume(node);
		tally_node_put(node);
	}
}

/*
 * No timer runs while the machine sleeps: holders are told before that, and
 * others need not wait for a lease.
 */
static int nodes_sleep(struct notifier_block *nb, unsigned long event,
		       void *data)
{
	switch (event) {
	case PM_SUSPEND_PREPARE:
	case PM_HIBERNATION_PREPARE:
	case PM_RESTORE_PREPARE:
		nodes_pause();
		break;
	case PM_POST_SUSPEND:
	case PM_POST_HIBERNATION:
	case PM_POST_RESTORE:
		nodes_resume();
		break;
	}
	return NOTIFY_DONE;
}

static int nodes_reboot(struct notifier_block *nb, unsigned long event,
			void *data)
{
	nodes_pause();
	return NOTIFY_DONE;
}

static struct notifier_block sleep_nb = { .notifier_call = nodes_sleep };
static struct notifier_block reboot_nb = { .notifier_call = nodes_reboot };

/* @ops: the layers above. Return: 0 or -ENOMEM. */
int tally_nodes_init(const struct tally_node_ops *ops)
{
	node_ops = ops;
	nodes_wq = alloc_workqueue("tally", WQ_UNBOUND, 0);
	if (!nodes_wq)
		return -ENOMEM;
	peers_wq = alloc_workqueue("tally-peer", WQ_UNBOUND, WQ_MAX_ACTIVE);
	if (!peers_wq) {
		destroy_workqueue(nodes_wq);
		return -ENOMEM;
	}
	/* Neither fails: they are not there yet. */
	register_pm_notifier(&sleep_nb);
	register_reboot_notifier(&reboot_nb);
	return 0;
}

/* Stop every node and wait for it. Netlink is gone: no node can be added. */
void tally_nodes_exit(void)
{
	struct tally_node *node;

	unregister_reboot_notifier(&reboot_nb);
	unregister_pm_notifier(&sleep_nb);
	while ((node = tally_node_next(NULL, 0))) {
		tally_node_del(node);
		wait_for_completion(&node->stopped);
		tally_node_put(node);
	}
	wait_event(nodes_gone, !atomic_read(&nodes_alive));
	destroy_workqueue(peers_wq);
	destroy_workqueue(nodes_wq);
}
