// SPDX-License-Identifier: GPL-2.0
/*
 * run:		write "FIGURE" to measure it, "count FIGURE N" to have its subject
 *		called N times; returns when that is done. While a program has it
 *		open, the result is its own: others get -EBUSY
 * result:	of the last run, "key value" pairs
 * progress:	figure and round that is being measured
 * figures:	names, with what they need
 */
#include <linux/ctype.h>
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>
#include "control.h"
#include "rounds.h"
#include "window.h"

static unsigned int rounds = ROUNDS_MIN;
module_param(rounds, uint, 0644);
MODULE_PARM_DESC(rounds, "rounds, each with baseline and subject (9 to 99)");
#define CALLS_MIN	8U
#define CALLS_MAX	1000000U

static unsigned int calls = 8000;
module_param(calls, uint, 0644);
MODULE_PARM_DESC(calls, "calls of each side in a round, 8 to 1000000");

static DEFINE_MUTEX(control_lock);	/* the stage, the result, runs */
static struct stage control_stage;	/* under control_lock */
static const struct stage_paths *control_paths;
static struct dentry *control_dir;
static char control_result[1024];	/* under control_lock */
static const char *control_figure;	/* what is measured */
static u32 control_round;
static atomic_t control_runners;	/* those that have "run" open: 0 or 1 */

static void control_progress(u32 round)
{
	WRITE_ONCE(control_round, round);
}

/* Picoseconds of a call or transfer in the figure's unit, thousandths. */
static u64 control_value(const struct figure *figure, u64 ps)
{
	if (!ps)
		return 0;
	if (figure->kind == FIGURE_BANDWIDTH)
		return div64_u64(figure->size * 1000000000ULL, ps);
	if (figure->kind == FIGURE_THROUGHPUT)
		return div64_u64(NSEC_PER_SEC * 1000000ULL, ps);
	return div_u64(ps, 1000);
}

/* Less time is more of what is not time. */
static u64 control_ratio(const struct figure *figure, u64 ratio)
{
	if (figure->kind == FIGURE_LATENCY || !ratio)
		return ratio;
	return div64_u64(1000000000000ULL, ratio);
}

static size_t control_add(size_t at, const char *key, u64 value, u32 digits)
{
	u32 unit = 1, i;

	if (!digits)
		return at + scnprintf(control_result + at,
				      sizeof(control_result) - at, " %s %llu",
				      key, value);
	for (i = 0; i < digits; i++)
		unit *= 10;
	return at + scnprintf(control_result + at, sizeof(control_result) - at,
			      " %s %llu.%0*llu", key, value / unit, digits,
			      value % unit);
}

/* So many in a second, in thousandths. */
static u64 control_changes(const struct rounds_side *side)
{
	return div64_u64(side->rate * side->changes * 1000, side->calls);
}

static void control_tell(const struct figure *figure,
			 const struct rounds_result *r)
{
	const struct rounds_side *shown = figure->subject ? &r->subject :
							    &r->base;
	u64 low = control_ratio(figure, r->low);
	u64 high = control_ratio(figure, r->high);
	int wait;
	size_t at;

	at = scnprintf(control_result, sizeof(control_result),
		       "name %s unit %s wait %s", figure->name,
		       figure_unit(figure), raw_wait_name(r->wait));
	at = control_add(at, "value", control_value(figure, shown->value), 3);
	at = control_add(at, "baseline",
			 control_value(figure, r->base.value), 3);
	at = control_add(at, "ratio", figure->subject ?
			 control_ratio(figure, r->ratio) : 1000000, 6);
	at = control_add(at, "low", min(low, high), 6);
	at = control_add(at, "high", max(low, high), 6);
	at = control_add(at, "p50", shown->p50, 0);
	at = control_add(at, "p99", shown->p99, 0);
	at = control_add(at, "p999", shown->p999, 0);
	at = control_add(at, "rate", shown->rate, 0);
	at = control_add(at, "base_p50", r->base.p50, 0);
	at = control_add(at, "base_p99", r->base.p99, 0);
	at = control_add(at, "base_p999", r->base.p999, 0);
	at = control_add(at, "base_rate", r->base.rate, 0);
	for (wait = 0; wait < RAW_WAITS; wait++)
		at = control_add(at, raw_wait_name(wait),
				 control_value(figure, r->waits[wait]), 3);
	if (r->subject.changes)
		at = control_add(at, "handoffs", control_changes(&r->subject),
				 3);
	if (r->base.changes)
		at = control_add(at, "base_handoffs",
				 control_changes(&r->base), 3);
	if (r->base.posts)
		at = control_add(at, "base_posts",
				 div64_u64(r->base.posts * 1000,
					   r->base.calls), 3);
	scnprintf(control_result + at, sizeof(control_result) - at, "\n");
}

/* Baseline: the median, or what is fair. */
static void control_tell_window(const struct figure *figure,
				const struct window_result *r)
{
	bool tail = figure->kind == FIGURE_TAIL;
	u64 ratio = tail ? div64_u64(r->p99 * 1000000, r->p50 ?: 1) : r->jain;
	size_t at;

	at = scnprintf(control_result, sizeof(control_result),
		       "name %s unit %s wait %s", figure->name,
		       figure_unit(figure), tail ? "p50" : "equal");
	at = control_add(at, "value", tail ? r->p99 : r->jain, tail ? 3 : 6);
	at = control_add(at, "baseline", tail ? r->p50 : 1, tail ? 3 : 0);
	at = control_add(at, "ratio", ratio, 6);
	at = control_add(at, "low", ratio, 6);
	at = control_add(at, "high", ratio, 6);
	at = control_add(at, "p50", r->p50, 0);
	at = control_add(at, "p99", r->p99, 0);
	at = control_add(at, "p999", r->p999, 0);
	at = control_add(at, "rate", r->rate, 0);
	at = control_add(at, "slowest", r->slowest, 0);
	at = control_add(at, "longest", r->longest, 0);
	scnprintf(control_result + at, sizeof(control_result) - at, "\n");
}

static int control_watch(const struct figure *figure, struct actor *actors)
{
	struct window_result result = { };
	int err;

	err = window_run(figure, actors, stage_actors(figure), &result);
	if (!err)
		control_tell_window(figure, &result);
	return err;
}

static int control_measure(const struct figure *figure, struct actor *actors)
{
	struct rounds_result result = { };
	int err;

	WRITE_ONCE(control_figure, figure->name);
	err = rounds_run(&control_stage, figure, actors,
			 clamp(rounds, ROUNDS_MIN, ROUNDS_MAX), clamp(calls, CALLS_MIN, CALLS_MAX),
			 control_progress, &result);
	WRITE_ONCE(control_figure, NULL);
	if (!err)
		control_tell(figure, &result);
	return err;
}

/*
 * The subject alone, for users that count what it does. What is done only once,
 * such as fetching keys, is not counted: "count FIGURE 0" has done it.
 */
static int control_count(const struct figure *figure, struct actor *actors,
			 unsigned int count)
{
	actor_call call = figure->subject ?: figure->base;
	struct team_result team = { };
	u32 n = stage_actors(figure);
	int err;

	if (n > 1)
		err = team_run(actors, n, call, count ?: 1, &team);
	else
		err = count ? actor_run(actors, call, count, NULL) :
			      call(actors);
	if (!err)
		scnprintf(control_result, sizeof(control_result),
			  "name %s calls %llu handed %llu\n", figure->name,
			  team.all ?: count, team.changes);
	return err;
}

static bool control_is_window(const struct figure *figure)
{
	return figure->kind == FIGURE_TAIL || figure->kind == FIGURE_FAIRNESS;
}

/* What broke is of no use any more: the next figure finds and makes it anew. */
static void control_start_over(void)
{
	struct ib_device *ibdev = control_stage.ibdev;

	stage_clear(&control_stage);
	control_stage.ibdev = ibdev;
}

static int control_run(const char *name, bool count, unsigned int times)
{
	const struct figure *figure = figure_find(name);
	struct actor *actors;
	int err;

	if (!figure)
		return -ENOENT;
	if (!control_stage.ibdev)
		return -ENODEV;
	actors = kcalloc(TEAM_MAX, sizeof(*actors), GFP_KERNEL);
	if (!actors)
		return -ENOMEM;
	err = stage_set(&control_stage, control_paths, figure, actors);
	if (err)
		goto out;
	if (count)
		err = control_count(figure, actors, times);
	else if (control_is_window(figure))
		err = control_watch(figure, actors);
	else
		err = control_measure(figure, actors);
out:
	/* -ENXIO: its object was not named. */
	if (err && err != -ENXIO)
		control_start_over();
	kfree(actors);
	return err;
}

static ssize_t run_write(struct file *file, const char __user *data,
			 size_t len, loff_t *pos)
{
	char text[64], name[64];
	u64 times = 0;
	bool count;
	int err;

	if (len >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, data, len))
		return -EFAULT;
	text[len] = '\0';
	count = sscanf(text, "count %63s %llu", name, &times) == 2;
	if (times > CALLS_MAX)
		return -EINVAL;
	if (!count)
		strscpy(name, strim(text), sizeof(name));
	if (mutex_lock_killable(&control_lock))
		return -EINTR;
	control_result[0] = '\0';
	err = control_run(name, count, times);
	mutex_unlock(&control_lock);
	return err ? err : len;
}

static int run_open(struct inode *inode, struct file *file)
{
	return atomic_cmpxchg(&control_runners, 0, 1) ? -EBUSY : 0;
}

static int run_release(struct inode *inode, struct file *file)
{
	atomic_set_release(&control_runners, 0);
	return 0;
}

static const struct file_operations run_fops = {
	.owner		= THIS_MODULE,
	.open		= run_open,
	.release	= run_release,
	.write		= run_write,
};

static int result_show(struct seq_file *m, void *data)
{
	if (mutex_lock_killable(&control_lock))
		return -EINTR;
	seq_puts(m, control_result);
	mutex_unlock(&control_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(result);

static int progress_show(struct seq_file *m, void *data)
{
	const char *figure = READ_ONCE(control_figure);

	if (figure)
		seq_printf(m, "%s %u %u\n", figure, READ_ONCE(control_round),
			   clamp(rounds, ROUNDS_MIN, ROUNDS_MAX));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(progress);

static int figures_show(struct seq_file *m, void *data)
{
	static const char * const needs[] = {
		[NEED_NOTHING]	= "",
		[NEED_COUNTER]	= " counter",
		[NEED_CPU]	= " cpu",
		[NEED_LOCK]	= " lock",
		[NEED_CACHED]	= " cached",
		[NEED_CPU_LOCK]	= " cpu_lock",
		[NEED_REGION]	= " region",
	};
	const struct figure *figure = NULL;

	while ((figure = figure_next(figure)))
		seq_printf(m, "%s %u%s\n", figure->name,
			   figure->nodes ? figure->actors : 1,
			   needs[figure->need]);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(figures);

void control_add_device(struct ib_device *ibdev)
{
	mutex_lock(&control_lock);
	if (!control_stage.ibdev)
		control_stage.ibdev = ibdev;
	mutex_unlock(&control_lock);
}

void control_remove_device(struct ib_device *ibdev)
{
	mutex_lock(&control_lock);
	if (control_stage.ibdev == ibdev)
		stage_clear(&control_stage);
	mutex_unlock(&control_lock);
}

int control_create(const struct stage_paths *paths, const char *far)
{
	control_stage.far = far;
	control_paths = paths;
	control_dir = debugfs_create_dir("tally_bench", NULL);
	if (IS_ERR(control_dir))
		return PTR_ERR(control_dir);
	debugfs_create_file("run", 0200, control_dir, NULL, &run_fops);
	debugfs_create_file("result", 0400, control_dir, NULL, &result_fops);
	debugfs_create_file("progress", 0400, control_dir, NULL,
			    &progress_fops);
	debugfs_create_file("figures", 0400, control_dir, NULL,
			    &figures_fops);
	return 0;
}

void control_destroy(void)
{
	debugfs_remove(control_dir);
}
