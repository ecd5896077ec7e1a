// SPDX-License-Identifier: GPL-2.0
#include <linux/err.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/string.h>
#include "far.h"
#include "stage.h"

#define STAGE_TIMEOUT	(10 * HZ)
/* A list of names is not longer than that. */
#define STAGE_NAME	64
/* How often to look for a target that does not answer. */
#define STAGE_TRIES	3
/* As many as a target's machine may have of before we were switched off. */
#define STAGE_STALE	64

u32 stage_actors(const struct figure *figure)
{
	return figure->actors ?: 1;
}

static struct raw *stage_raw_once(struct stage *stage, enum raw_wait wait,
				  bool bulk)
{
	struct raw *raw = raw_create(stage->ibdev, wait, bulk);
	int err;

	if (IS_ERR(raw) || !*stage->far)
		return raw;
	err = far_connect(raw, stage->far, bulk);
	if (!err)
		return raw;
	raw_destroy(raw);
	return ERR_PTR(err);
}

/*
 * Under load so many packets may get lost that it times out; then nothing is left
 * of it. What is stale has ended at the target, but the next queue pair may be
 * stale as well.
 */
static bool stage_again(const struct raw *raw, unsigned int tries)
{
	if (raw == ERR_PTR(-ESTALE))
		return tries <= STAGE_STALE;
	return raw == ERR_PTR(-ETIMEDOUT) && tries < STAGE_TRIES;
}

static struct raw *stage_raw(struct stage *stage, enum raw_wait wait, bool bulk)
{
	unsigned int tries = 0;
	struct raw *raw;

	do
		raw = stage_raw_once(stage, wait, bulk);
	while (stage_again(raw, ++tries));
	return raw;
}

/* Those that wait alike contend for words of the first of them. */
static int stage_share(struct stage *stage, enum raw_wait wait, u32 index)
{
	struct raw *raw = stage->raw[wait][index];
	struct raw *owner = stage->raw[wait][0];

	if (*stage->far)
		return 0;
	if (!index)
		raw_clear_words(owner);
	return raw->common ? 0 : raw_share(raw, owner);
}

int stage_wait(struct stage *stage, enum raw_wait wait, struct actor *actors,
	       u32 n)
{
	struct raw *raw;
	int err;
	u32 i;

	for (i = 0; i < n; i++) {
		raw = stage->raw[wait][i];
		if (!raw)
			raw = stage_raw(stage, wait, !i);
		if (IS_ERR(raw))
			return PTR_ERR(raw);
		stage->raw[wait][i] = raw;
		actors[i].raw = raw;
		err = stage_share(stage, wait, i);
		if (err)
			return err;
	}
	return 0;
}

/* The @index-th name of the list, NULL with an empty list. -ENXIO: no such. */
static int stage_node(const struct stage_paths *paths, u32 index, char *name)
{
	const char *at = paths->nodes, *end;

	while (at && index--) {
		at = strchr(at, ',');
		at = at ? at + 1 : NULL;
	}
	if (!at)
		return -ENXIO;
	end = strchrnul(at, ',');
	/* Without a list it is the only node there is; "a,,b" is no list. */
	if (end - at >= STAGE_NAME || (end == at && *paths->nodes))
		return -EINVAL;
	memcpy(name, at, end - at);
	name[end - at] = '\0';
	return 0;
}

static struct net *stage_net(void)
{
	return current->nsproxy->net_ns;
}

static bool stage_named(const char *path)
{
	return path && *path;
}

static int stage_counter(struct stage *stage, const struct stage_paths *paths,
			 u32 index)
{
	char name[STAGE_NAME];
	int err;

	if (stage->counter[index])
		return 0;
	if (!stage_named(paths->counter))
		return -ENXIO;
	err = stage_node(paths, index, name);
	if (err)
		return err;
	stage->counter[index] = tally_counter_get(stage_net(),
						  *name ? name : NULL,
						  paths->counter,
						  STAGE_TIMEOUT);
	return PTR_ERR_OR_ZERO(stage->counter[index]);
}

static int stage_cpu(struct stage *stage, const struct stage_paths *paths,
		     const char *node)
{
	if (stage->cpu)
		return 0;
	if (!stage_named(paths->cpu))
		return -ENXIO;
	stage->cpu = tally_counter_get(stage_net(), node, paths->cpu,
				       STAGE_TIMEOUT);
	return PTR_ERR_OR_ZERO(stage->cpu);
}

static int stage_lock(struct tally_lock **lock, const char *path,
		      const char *node)
{
	if (*lock)
		return 0;
	if (!stage_named(path))
		return -ENXIO;
	*lock = tally_lock_get(stage_net(), node, path, STAGE_TIMEOUT);
	return PTR_ERR_OR_ZERO(*lock);
}

static int stage_locks(struct stage *stage, const struct stage_paths *paths,
		       u32 nodes)
{
	char name[STAGE_NAME];
	int err = 0;
	u32 i;

	for (i = 0; !err && i < nodes; i++) {
		err = stage_node(paths, i, name);
		if (!err)
			err = stage_lock(&stage->lock[i], paths->lock,
					 *name ? name : NULL);
	}
	return err;
}

static int stage_region(struct stage *stage, const struct stage_paths *paths,
			const char *node)
{
	if (stage->region)
		return 0;
	if (!stage_named(paths->region))
		return -ENXIO;
	stage->region = tally_region_get(stage_net(), node, paths->region,
					 STAGE_TIMEOUT);
	return PTR_ERR_OR_ZERO(stage->region);
}

/* What one failed to make must not be taken for a thing. */
static void stage_forget_errors(struct stage *stage)
{
	u32 i;

	for (i = 0; i < STAGE_NODES; i++) {
		if (IS_ERR(stage->counter[i]))
			stage->counter[i] = NULL;
		if (IS_ERR(stage->lock[i]))
			stage->lock[i] = NULL;
	}
	if (IS_ERR(stage->cpu))
		stage->cpu = NULL;
	if (IS_ERR(stage->cached))
		stage->cached = NULL;
	if (IS_ERR(stage->cpu_lock))
		stage->cpu_lock = NULL;
	if (IS_ERR(stage->region))
		stage->region = NULL;
}

static int stage_need(struct stage *stage, const struct stage_paths *paths,
		      const struct figure *figure)
{
	u32 nodes = figure->nodes ? stage_actors(figure) : 1, i;
	char first[STAGE_NAME];
	const char *name = first;
	int err;

	err = stage_node(paths, 0, first);
	if (err)
		return err;
	if (!*first)
		name = NULL;
	switch (figure->need) {
	case NEED_NOTHING:
		return 0;
	case NEED_COUNTER:
		for (i = 0; !err && i < nodes; i++)
			err = stage_counter(stage, paths, i);
		return err;
	case NEED_CPU:
		return stage_cpu(stage, paths, name);
	case NEED_LOCK:
		/* Its rivals contend on one device. */
		if (figure->guarded && *stage->far)
			return -ENXIO;
		return stage_locks(stage, paths, nodes);
	case NEED_CACHED:
		err = stage_lock(&stage->cached, paths->cached, name);
		return err ? err : stage_locks(stage, paths, 1);
	case NEED_CPU_LOCK:
		err = stage_lock(&stage->cpu_lock, paths->cpu_lock, name);
		return err ? err : stage_locks(stage, paths, 1);
	case NEED_REGION:
		return stage_region(stage, paths, name);
	}
	return -EINVAL;
}

/* Of no use any more since its target has left. No actor has it. */
static void stage_forget_ended(struct stage *stage)
{
	struct raw **raw;
	u32 wait, i;

	for (wait = 0; wait < RAW_WAITS; wait++) {
		for (i = 0; i < TEAM_MAX; i++) {
			raw = &stage->raw[wait][i];
			if (!*raw || !(*raw)->far ||
			    !far_has_ended((*raw)->far))
				continue;
			raw_destroy(*raw);
			*raw = NULL;
		}
	}
}

int stage_set(struct stage *stage, const struct stage_paths *paths,
	      const struct figure *figure, struct actor *actors)
{
	u32 n = stage_actors(figure), i;
	int err;

	err = stage_need(stage, paths, figure);
	stage_forget_errors(stage);
	stage_forget_ended(stage);
	if (!err)
		err = stage_wait(stage, RAW_EVENT, actors, n);
	if (err)
		return err;
	stage->guard = (struct guard){
		.rest = figure->queued ? GUARD_YIELD : GUARD_NONE,
	};
	for (i = 0; i < n; i++) {
		actors[i].who = i + 1;
		actors[i].seed = i + 1;
		actors[i].guard = &stage->guard;
		actors[i].counter = stage->counter[figure->nodes ? i : 0];
		actors[i].cpu = stage->cpu;
		actors[i].lock = stage->lock[figure->nodes ? i : 0];
		actors[i].cached = stage->cached;
		actors[i].cpu_lock = stage->cpu_lock;
		actors[i].region = stage->region;
		actors[i].size = figure->size;
		actors[i].count = figure->count;
		actors[i].block = !i ? page_address(actors[i].raw->from->page) :
				       NULL;
	}
	return 0;
}

void stage_clear(struct stage *stage)
{
	u32 i, wait;

	for (i = 0; i < STAGE_NODES; i++) {
		if (stage->counter[i])
			tally_counter_put(stage->counter[i]);
		if (stage->lock[i])
			tally_lock_put(stage->lock[i]);
	}
	if (stage->cpu)
		tally_counter_put(stage->cpu);
	if (stage->cached)
		tally_lock_put(stage->cached);
	if (stage->cpu_lock)
		tally_lock_put(stage->cpu_lock);
	if (stage->region)
		tally_region_put(stage->region);
	for (wait = 0; wait < RAW_WAITS; wait++)
		for (i = 0; i < TEAM_MAX; i++)
			raw_destroy(stage->raw[wait][i]);
	*stage = (struct stage){ .far = stage->far };
}
