// SPDX-License-Identifier: GPL-2.0
#include <linux/module.h>
#include "conn.h"
#include "dev.h"
#include "msg.h"
#include "op.h"

static int __init tally_init(void)
{
	int err;

	err = tally_conn_init();
	if (err)
		return err;
	err = tally_msgs_init();
	if (err)
		goto err_conn;
	err = tally_op_init();
	if (err)
		goto err_msgs;
	err = tally_dev_init();
	if (err)
		goto err_op;
	return 0;

err_op:
	tally_op_exit();
err_msgs:
	tally_msgs_exit();
err_conn:
	tally_conn_exit();
	return err;
}

static void __exit tally_exit(void)
{
	tally_dev_exit();
	tally_conn_exit();
	tally_op_exit();
	tally_msgs_exit();
}

module_init(tally_init);
module_exit(tally_exit);

MODULE_DESCRIPTION("Counters, locks and regions over RDMA");
MODULE_LICENSE("GPL");
