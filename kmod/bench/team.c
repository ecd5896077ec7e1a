// SPDX-License-Identifier: GPL-2.0
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include "sample.h"
#include "team.h"

struct team;

/**
 * struct member - one of a team
 * @team: the team
 * @actor: what it uses
 */
struct member {
	struct team *team;
	struct actor *actor;
};

/**
 * struct team - threads that run
 * @call: what they do
 * @left: calls nobody has begun
 * @gate: opened when all are there
 * @inside: those that have not ended
 * @err: first error
 * @end: when the last one ended
 * @ended: it has
 * @member: them
 */
struct team {
	actor_call call;
	atomic_t left;
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

static int team_calls(struct team *team, struct actor *a)
{
	u64 before = ktime_get_ns(), now;
	int err;

	while (atomic_dec_if_positive(&team->left) >= 0) {
		err = team->call(a);
		if (err)
			return err;
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
	if (err) {
		WRITE_ONCE(team->err, err);
		/* The others need not go on. */
		atomic_set(&team->left, 0);
	}
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
		task = kthread_run(team_thread, &team->member[i],
				   "tally_bench/%u", i);
		if (!IS_ERR(task))
			continue;
		WRITE_ONCE(team->err, PTR_ERR(task));
		team_leave(team);
	}
}

int team_run(struct actor *actors, u32 n, actor_call call, u32 calls, u64 *ns)
{
	struct team *team = kzalloc(sizeof(*team), GFP_KERNEL);
	u64 begin;
	int err;

	if (!team)
		return -ENOMEM;
	team->call = call;
	atomic_set(&team->left, n * calls);
	init_completion(&team->gate);
	init_completion(&team->ended);
	atomic_set(&team->inside, n);
	team_start(team, actors, n);
	begin = ktime_get_ns();
	complete_all(&team->gate);
	wait_for_completion(&team->ended);
	*ns = max(team->end - begin, 1ULL);
	err = team->err;
	kfree(team);
	return err;
}
