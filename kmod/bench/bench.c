// SPDX-License-Identifier: GPL-2.0
/*
 * What tally's calls cost, in multiples of a fetch-and-add by verbs alone:
 *
 *	insmod tally_bench.ko counter=train/steps lock=train/l region=train/r
 *	cat /sys/module/tally_bench/parameters/report
 *
 * Every round measures all of them one after the other, so that they see the
 * same machine; what is told is the median of the rounds' ratios. The second
 * raw row against the first shows what a ratio is worth.
 *
 * It is also an example of how to use tally from kernel code.
 */
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/nsproxy.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/tally.h>
#include "raw.h"

#define ROUNDS		9
#define BLOCK		(64 * 1024)
#define TIMEOUT		(5 * HZ)

static char *node;
module_param(node, charp, 0444);
MODULE_PARM_DESC(node, "name of the node to use (default: the first)");
static char *counter;
module_param(counter, charp, 0444);
MODULE_PARM_DESC(counter, "ARENA/COUNTER to add to");
static char *lock;
module_param(lock, charp, 0444);
MODULE_PARM_DESC(lock, "ARENA/LOCK to take and release");
static char *region;
module_param(region, charp, 0444);
MODULE_PARM_DESC(region, "ARENA/REGION to write 64 KiB to");
static char *dev;
module_param(dev, charp, 0444);
MODULE_PARM_DESC(dev, "RDMA device of the baseline (default: the first)");
static unsigned int ops = 200;
module_param(ops, uint, 0444);
MODULE_PARM_DESC(ops, "operations a round");
static char report[1024];
module_param_string(report, report, sizeof(report), 0444);
MODULE_PARM_DESC(report, "the result");

/* What is measured. The raw rows take the better way to wait each round. */
enum row {
	ROW_RAW,
	ROW_RAW_AGAIN,
	ROW_COUNTER,
	ROW_LOCK,
	ROW_REGION,
	ROWS
};

struct bench {
	struct raw *polled;
	struct raw *sleeping;
	struct tally_counter *counter;
	struct tally_lock *lock;
	struct tally_region *region;
	void *block;
	u64 ns[ROWS][ROUNDS];
};

static struct ib_device *bench_dev;	/* under bench_lock */
static DEFINE_MUTEX(bench_lock);	/* held while the device is in use */

static int do_polled(struct bench *b)
{
	return raw_faa(b->polled);
}

static int do_sleeping(struct bench *b)
{
	return raw_faa(b->sleeping);
}

static int do_counter(struct bench *b)
{
	u64 old;

	return tally_counter_add(b->counter, 1, &old, TIMEOUT);
}

static int do_lock(struct bench *b)
{
	u64 token;
	int err;

	err = tally_lock_acquire_sync(b->lock, &token, TIMEOUT);
	return err ? err : tally_lock_release_sync(b->lock);
}

static int do_region(struct bench *b)
{
	struct kvec vec = { .iov_base = b->block, .iov_len = BLOCK };
	struct iov_iter iter;
	ssize_t ret;

	iov_iter_kvec(&iter, ITER_SOURCE, &vec, 1, BLOCK);
	ret = tally_region_write(b->region, &iter, 0, TIMEOUT);
	if (ret < 0)
		return ret;
	return ret == BLOCK ? 0 : -ENOSPC;
}

/* Nanoseconds one operation takes. */
static int measure(struct bench *b, int (*op)(struct bench *), u64 *ns)
{
	u64 start = ktime_get_ns();
	unsigned int i;
	int err;

	for (i = 0; i < ops; i++) {
		err = op(b);
		if (err)
			return err;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	*ns = max(div_u64(ktime_get_ns() - start, ops), 1ULL);
	return 0;
}

static int measure_raw(struct bench *b, u64 *ns)
{
	u64 other;
	int err;

	err = measure(b, do_polled, ns);
	if (!err)
		err = measure(b, do_sleeping, &other);
	if (!err)
		*ns = min(*ns, other);
	return err;
}

static int run_round(struct bench *b, int round)
{
	int err;

	err = measure_raw(b, &b->ns[ROW_RAW][round]);
	if (!err && b->counter)
		err = measure(b, do_counter, &b->ns[ROW_COUNTER][round]);
	if (!err && b->lock)
		err = measure(b, do_lock, &b->ns[ROW_LOCK][round]);
	if (!err && b->region)
		err = measure(b, do_region, &b->ns[ROW_REGION][round]);
	if (!err)
		err = measure_raw(b, &b->ns[ROW_RAW_AGAIN][round]);
	return err;
}

static int cmp_u64(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static u64 median(u64 *values)
{
	sort(values, ROUNDS, sizeof(*values), cmp_u64, NULL);
	return values[ROUNDS / 2];
}

static void tell(struct bench *b)
{
	static const char * const names[ROWS] = {
		"raw_faa", "raw_faa_again", "counter_add", "lock_unlock",
		"region_write_64k"
	};
	u64 ratio[ROWS][ROUNDS], r;
	size_t len = 0;
	int row, i;

	for (row = 0; row < ROWS; row++)
		for (i = 0; i < ROUNDS; i++)
			ratio[row][i] = div64_u64(b->ns[row][i] * 1000,
						  b->ns[ROW_RAW][i]);
	for (row = 0; row < ROWS; row++) {
		r = median(ratio[row]);
		if (!r)
			continue;
		pr_info("tally_bench: %s %llu ns ratio %llu.%03llu\n",
			names[row], median(b->ns[row]), r / 1000, r % 1000);
		len += scnprintf(report + len, sizeof(report) - len,
				 "%s ns %llu ratio %llu.%03llu\n", names[row],
				 median(b->ns[row]), r / 1000, r % 1000);
	}
}

static void close_all(struct bench *b)
{
	if (!IS_ERR_OR_NULL(b->counter))
		tally_counter_put(b->counter);
	if (!IS_ERR_OR_NULL(b->lock))
		tally_lock_put(b->lock);
	if (!IS_ERR_OR_NULL(b->region))
		tally_region_put(b->region);
	if (!IS_ERR_OR_NULL(b->polled))
		raw_destroy(b->polled);
	if (!IS_ERR_OR_NULL(b->sleeping))
		raw_destroy(b->sleeping);
	kvfree(b->block);
}

static int open_all(struct bench *b)
{
	struct net *net = current->nsproxy->net_ns;

	b->block = kvzalloc(BLOCK, GFP_KERNEL);
	if (!b->block)
		return -ENOMEM;
	b->polled = raw_create(bench_dev, true);
	if (!IS_ERR(b->polled))
		b->sleeping = raw_create(bench_dev, false);
	if (IS_ERR(b->polled) || IS_ERR(b->sleeping))
		return IS_ERR(b->polled) ? PTR_ERR(b->polled) :
					   PTR_ERR(b->sleeping);
	if (counter)
		b->counter = tally_counter_get(net, node, counter, TIMEOUT);
	if (IS_ERR(b->counter))
		return PTR_ERR(b->counter);
	if (lock)
		b->lock = tally_lock_get(net, node, lock, TIMEOUT);
	if (IS_ERR(b->lock))
		return PTR_ERR(b->lock);
	if (region)
		b->region = tally_region_get(net, node, region, TIMEOUT);
	return PTR_ERR_OR_ZERO(b->region);
}

static int bench_run(void)
{
	struct bench *b = kzalloc(sizeof(*b), GFP_KERNEL);
	int err, round;

	if (!b)
		return -ENOMEM;
	err = open_all(b);
	for (round = 0; !err && round < ROUNDS; round++)
		err = run_round(b, round);
	if (!err)
		tell(b);
	else
		pr_err("tally_bench: error %d\n", err);
	close_all(b);
	kfree(b);
	return err;
}

static int bench_add_dev(struct ib_device *ibdev)
{
	mutex_lock(&bench_lock);
	if (!bench_dev && (!dev || !strcmp(dev, dev_name(&ibdev->dev))))
		bench_dev = ibdev;
	mutex_unlock(&bench_lock);
	return 0;
}

static void bench_remove_dev(struct ib_device *ibdev, void *data)
{
	mutex_lock(&bench_lock);
	if (bench_dev == ibdev)
		bench_dev = NULL;
	mutex_unlock(&bench_lock);
}

static struct ib_client bench_client = {
	.name	= "tally_bench",
	.add	= bench_add_dev,
	.remove	= bench_remove_dev,
};

static int __init bench_init(void)
{
	int err;

	if (!ops)
		return -EINVAL;
	err = ib_register_client(&bench_client);
	if (err)
		return err;
	mutex_lock(&bench_lock);
	err = bench_dev ? bench_run() : -ENODEV;
	mutex_unlock(&bench_lock);
	ib_unregister_client(&bench_client);
	return err;
}

static void __exit bench_exit(void)
{
}

module_init(bench_init);
module_exit(bench_exit);

MODULE_DESCRIPTION("What tally's operations cost");
MODULE_LICENSE("GPL");
