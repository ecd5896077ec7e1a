// SPDX-License-Identifier: GPL-2.0
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include "sample.h"
#include "team.h"

struct team;

/**
 * struct member - one of a team
 * @team: the team
 * @actor: what it uses
 * @task: its thread, NULL: there is none
 */
struct member {
	struct team *team;
	struct actor *actor;
	struct task_struct *task;
};

/**
 * struct team - threads that run
 * @call: what they do
 * @n: so many
 * @begun: those that have begun
 * @begin: when all had
 * @left: calls still to be made since then
 * @all: calls made
 * @changes: of the guard, at that time
 * @gate: opened when all are there
 * @inside: those that have not ended
 * @err: first error
 * @end: when the last one ended
 * @ended: it has
 * @member: them
 */
struct team {
	actor_call call;
	u32 n;
	atomic_t begun;
	u64 begin;
	atomic_t left;
	atomic64_t all;
	u64 changes;
	struct completion gate;
	atomic_t inside;
	int err;
	u64 end;
	struct completion ended;
	struct member member[TEAM_MAX];
};

static void team_leave(struct team *team)
{
	if (!atomic_dec_and_test(&team->inside))
		return;
	team->end = ktime_get_ns();
	complete(&team->ended);
}

static void team_begin(struct team *team, struct guard *guard)
{
	if (atomic_inc_return(&team->begun) < team->n)
		return;
	team->changes = READ_ONCE(guard->changes);
	guard_begin(guard);
	team->begin = ktime_get_ns();
}

/*
 * Those that are there first do not wait for the others, but call as well, so
 * that all are in a call when it begins; with rests, since on one processor the
 * others must be able to come in.
 */
static bool team_goes_on(struct team *team)
{
	if (READ_ONCE(team->err))
		return false;
	if (atomic_read(&team->begun) == team->n)
		return atomic_dec_if_positive(&team->left) >= 0;
	usleep_range(50, 100);
	return true;
}

static int team_calls(struct team *team, struct actor *a)
{
	u64 before = ktime_get_ns(), now;
	int err;

	team_begin(team, a->guard);
	while (team_goes_on(team)) {
		err = team->call(a);
		if (err)
			return err;
		atomic64_inc(&team->all);
		if (!a->samples)
			continue;
		now = ktime_get_ns();
		if (guard_is_open(a->guard))
			samples_add(a->samples, now - before);
		before = now;
	}
	return 0;
}

static int team_thread(void *arg)
{
	struct member *member = arg;
	struct team *team = member->team;
	int err;

	wait_for_completion(&team->gate);
	err = team_calls(team, member->actor);
	if (err)
		WRITE_ONCE(team->err, err);
	team_leave(team);
	return 0;
}

static void team_start(struct team *team, struct actor *actors, u32 n)
{
	struct task_struct *task;
	u32 i;

	for (i = 0; i < n; i++) {
		team->member[i].team = team;
		team->member[i].actor = &actors[i];
		task = kthread_create(team_thread, &team->member[i],
				      "tally_bench/%u", i);
		if (IS_ERR(task)) {
			WRITE_ONCE(team->err, PTR_ERR(task));
			team_leave(team);
			continue;
		}
		team->member[i].task = get_task_struct(task);
		wake_up_process(task);
	}
}

/* A thread that has left runs some more of this module: wait before unloading. */
static void team_end(struct team *team)
{
	struct task_struct *task;
	u32 i;

	for (i = 0; i < team->n; i++) {
		task = team->member[i].task;
		if (!task)
			continue;
		kthread_stop(task);
		put_task_struct(task);
	}
}

int team_run(struct actor *actors, u32 n, actor_call call, u32 calls,
	     struct team_result *result)
{
	struct team *team = kzalloc(sizeof(*team), GFP_KERNEL);
	int err;

	if (!team)
		return -ENOMEM;
	team->call = call;
	team->n = n;
	atomic_set(&team->left, n * calls);
	init_completion(&team->gate);
	init_completion(&team->ended);
	atomic_set(&team->inside, n);
	team_start(team, actors, n);
	complete_all(&team->gate);
	if (wait_for_completion_killable(&team->ended)) {
		WRITE_ONCE(team->err, -EINTR);
		wait_for_completion(&team->ended);
	}
	team_end(team);
	*result = (struct team_result) {
		.ns = max(team->end - team->begin, 1ULL),
		.calls = (u64)calls * n,
		.all = atomic64_read(&team->all),
		.changes = actors->guard->changes - team->changes,
	};
	err = team->err;
	kfree(team);
	return err;
}
