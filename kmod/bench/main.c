// SPDX-License-Identifier: GPL-2.0
/*
 * What tally's calls cost, in multiples of what verbs alone cost. The command
 * "tally bench" runs it; by hand:
 *
 *	modprobe tally_bench counter=train/steps lock=train/l region=train/r
 *	cd /sys/kernel/debug/tally_bench
 *	cat figures; echo counter.add.latency > run; cat result
 *
 * Baseline and subject take turns, so that they see the same machine; what is
 * told is the median of the rounds' ratios. The ratio of "aa.faa.latency", a
 * baseline against itself, shows what a ratio is worth.
 *
 * The baseline's target is the same device, or another machine's where the module
 * was loaded with listen=PORT, for far=ADDRESS:PORT here.
 *
 * It is also an example of how to use tally from kernel code: see actor.c and
 * stage.c.
 */
#include <linux/module.h>
#include "control.h"
#include "far.h"

static char *nodes = "";
module_param(nodes, charp, 0444);
MODULE_PARM_DESC(nodes, "names of nodes to use, separated by commas (default: the first)");
static char *counter = "";
module_param(counter, charp, 0444);
MODULE_PARM_DESC(counter, "ARENA/COUNTER to add to");
static char *cpu = "";
module_param(cpu, charp, 0444);
MODULE_PARM_DESC(cpu, "ARENA/COUNTER in an arena of mode cpu");
static char *lock = "";
module_param(lock, charp, 0444);
MODULE_PARM_DESC(lock, "ARENA/LOCK to take and release");
static char *cached = "";
module_param(cached, charp, 0444);
MODULE_PARM_DESC(cached, "ARENA/LOCK with caching on");
static char *cpu_lock = "";
module_param(cpu_lock, charp, 0444);
MODULE_PARM_DESC(cpu_lock, "ARENA/LOCK in an arena of mode cpu");
static char *region = "";
module_param(region, charp, 0444);
MODULE_PARM_DESC(region, "ARENA/REGION of 4 MiB to write and read");
static char *dev = "";
module_param(dev, charp, 0444);
MODULE_PARM_DESC(dev, "RDMA device of the baseline (default: the first)");

static char *far = "";
module_param(far, charp, 0444);
MODULE_PARM_DESC(far, "ADDRESS:PORT where the baseline's target listens (default: the same device)");
static ushort listen;
module_param(listen, ushort, 0444);
MODULE_PARM_DESC(listen, "port to be a target at for any machine that asks, without a key (default: none)");

static struct stage_paths bench_paths;

static int bench_add_device(struct ib_device *ibdev)
{
	if (*dev && strcmp(dev, dev_name(&ibdev->dev)))
		return 0;
	far_add_device(ibdev);
	control_add_device(ibdev);
	return 0;
}

static void bench_remove_device(struct ib_device *ibdev, void *data)
{
	control_remove_device(ibdev);
	far_remove_device(ibdev);
}

static struct ib_client bench_client = {
	.name	= "tally_bench",
	.add	= bench_add_device,
	.remove	= bench_remove_device,
};

static int __init bench_init(void)
{
	int err;

	bench_paths = (struct stage_paths) {
		.nodes = nodes,
		.counter = counter,
		.cpu = cpu,
		.lock = lock,
		.cached = cached,
		.cpu_lock = cpu_lock,
		.region = region,
	};
	err = ib_register_client(&bench_client);
	if (err)
		return err;
	if (listen)
		err = far_listen(listen);
	if (err)
		goto err_unregister;
	err = control_create(&bench_paths, far);
	if (err)
		goto err_close;
	return 0;

err_close:
	far_close();
err_unregister:
	ib_unregister_client(&bench_client);
	return err;
}

static void __exit bench_exit(void)
{
	control_destroy();
	far_close();
	ib_unregister_client(&bench_client);
}

module_init(bench_init);
module_exit(bench_exit);

MODULE_DESCRIPTION("What tally's calls cost");
MODULE_VERSION("0.1.0");
MODULE_LICENSE("GPL");
