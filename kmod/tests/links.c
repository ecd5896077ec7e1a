// SPDX-License-Identifier: GPL-2.0
/*
 * The parameter break_link: "NODE PEER" breaks that node's link with the peer, as
 * an error of the network would. In the writer's network namespace.
 *
 * The parameter try_sleep: the machine is about to sleep, and then does not.
 */
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/suspend.h>
#include "base/delay.h"
#include "session/nodes.h"
#include "session/peer.h"
#include "session/session.h"

static int break_set(const char *text, const struct kernel_param *param)
{
	char name[TALLY_NAME_SIZE], with[TALLY_NAME_SIZE];
	struct tally_session *s = NULL;
	struct tally_peer *peer = NULL;
	struct tally_node *node;

	static_assert(TALLY_NAME_SIZE == 64);
	if (sscanf(text, "%63s %63s", name, with) != 2)
		return -EINVAL;
	node = tally_node_find(current->nsproxy->net_ns, name);
	if (node)
		peer = tally_peer_find(node, with);
	if (peer)
		s = tally_peer_session(peer);
	if (s)
		tally_session_break(s, -ECONNRESET);
	tally_peer_put(peer);
	if (node)
		tally_node_put(node);
	if (!s)
		return -ENOENT;
	tally_session_put(s);
	return 0;
}

static const struct kernel_param_ops break_ops = {
	.set	= break_set,
};
module_param_cb(break_link, &break_ops, NULL, 0200);
MODULE_PARM_DESC(break_link, "NODE PEER: see the source");

/* After all others. */
static int sleep_refuse(struct notifier_block *nb, unsigned long event,
			void *data)
{
	if (event != PM_SUSPEND_PREPARE)
		return NOTIFY_DONE;
	tally_delay(SLEEP);
	return notifier_from_errno(-EBUSY);
}

static int sleep_set(const char *text, const struct kernel_param *param)
{
	struct notifier_block refuse = {
		.notifier_call = sleep_refuse,
		.priority = INT_MIN,
	};
	int err = register_pm_notifier(&refuse);

	if (err)
		return err;
	/* Other parameters are set meanwhile. */
	kernel_param_unlock(THIS_MODULE);
	err = pm_suspend(PM_SUSPEND_TO_IDLE);
	kernel_param_lock(THIS_MODULE);
	unregister_pm_notifier(&refuse);
	return err == -EBUSY ? 0 : err;
}

static const struct kernel_param_ops sleep_ops = {
	.set	= sleep_set,
};
module_param_cb(try_sleep, &sleep_ops, NULL, 0200);
MODULE_PARM_DESC(try_sleep, "see the source");
