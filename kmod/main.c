// SPDX-License-Identifier: GPL-2.0
#include <linux/module.h>
#include "api/api.h"
#include "home/arena.h"
#include "counter/counter.h"
#include "transport/conn.h"
#include "transport/dev.h"
#include "fs/super.h"
#include "client/homes.h"
#include "lock/lock.h"
#include "netlink/family.h"
#include "session/nodes.h"
#include "session/rpc.h"
#include "region/region.h"
#include "client/view.h"
#include "region/xfer.h"

static int main_created(struct tally_session *s)
{
	tally_locks_session_created(s);
	return tally_arenas_session_created(s);
}

static void main_live(struct tally_session *s, bool resumed)
{
	tally_arenas_session_live(s, resumed);
	tally_views_session_live(s, resumed);
	tally_locks_session_live(s, resumed);
}

static void main_down(struct tally_session *s)
{
	tally_locks_session_down(s);
}

static void main_over(struct tally_session *s)
{
	tally_locks_session_over(s);
	tally_views_session_over(s);
	tally_arenas_session_over(s);
}

static void main_request(struct tally_session *s, struct tally_sreq *req)
{
	if (tally_arenas_request(s, req) || tally_counter_request(s, req) ||
	    tally_region_request(s, req) || tally_locks_request(s, req))
		return;
	tally_sreq_reply(req, -EOPNOTSUPP, NULL, 0);
}

static int main_message(struct tally_session *s, u16 type, const void *body,
			u32 len)
{
	switch (type) {
	case TALLY_MSG_FORGET:
		return tally_views_forget(s, body, len);
	case TALLY_MSG_FORGOTTEN:
		return tally_arenas_forgotten(s, body, len);
	case TALLY_MSG_LOCK:
	case TALLY_MSG_RESYNC:
		return tally_locks_message(s, type, body, len);
	}
	return -EPROTO;
}

static int main_node_start(struct tally_node *node)
{
	int err;

	err = tally_arenas_start(node);
	if (err)
		return err;
	err = tally_views_start(node);
	if (err)
		tally_arenas_stop(node);
	return err;
}

static void main_node_stop(struct tally_node *node)
{
	tally_views_stop(node);
	tally_arenas_stop(node);
}

static void main_node_free(struct tally_node *node)
{
	tally_views_free(node);
	tally_arenas_free(node);
}

static const struct tally_session_ops main_session_ops = {
	.created = main_created,
	.live = main_live,
	.down = main_down,
	.lost = tally_locks_session_lost,
	.over = main_over,
	.leave = tally_locks_session_leave,
	.request = main_request,
	.message = main_message,
};

static const struct tally_node_ops main_node_ops = {
	.session = &main_session_ops,
	.node_start = main_node_start,
	.node_stop = main_node_stop,
	.node_free = main_node_free,
	.event = tally_netlink_event,
};

static int __init tally_init(void)
{
	int err;

	err = tally_conn_init();
	if (err)
		return err;
	err = tally_dev_init();
	if (err)
		goto err_conn;
	err = tally_xfer_init();
	if (err)
		goto err_dev;
	err = tally_homes_init();
	if (err)
		goto err_xfer;
	err = tally_nodes_init(&main_node_ops);
	if (err)
		goto err_homes;
	err = tally_api_locks_init();
	if (err)
		goto err_nodes;
	err = tally_fs_init();
	if (err)
		goto err_api;
	err = tally_netlink_init();
	if (err)
		goto err_fs;
	return 0;

err_fs:
	tally_fs_exit();
err_api:
	tally_api_locks_exit();
err_nodes:
	tally_nodes_exit();
err_homes:
	tally_homes_exit();
err_xfer:
	tally_xfer_exit();
err_dev:
	tally_dev_exit();
err_conn:
	tally_conn_exit();
	return err;
}

static void __exit tally_exit(void)
{
	tally_netlink_exit();
	tally_fs_exit();
	tally_api_locks_exit();
	tally_nodes_exit();
	tally_homes_exit();
	tally_xfer_exit();
	tally_dev_exit();
	tally_conn_exit();
}

module_init(tally_init);
module_exit(tally_exit);

MODULE_DESCRIPTION("Shared counters, locks and regions over RDMA");
MODULE_VERSION("0.1.0");
MODULE_LICENSE("GPL");
MODULE_ALIAS_FS("tally");
MODULE_ALIAS("net-pf-16-proto-16-family-tally");
