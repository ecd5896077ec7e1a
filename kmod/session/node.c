// SPDX-License-Identifier: GPL-2.0
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include "session/node.h"

static void node_release(struct kref *ref)
{
	struct tally_node *node = container_of(ref, struct tally_node, ref);

	queue_work(node->end_wq, &node->free_work);
}

struct tally_node *tally_node_get(struct tally_node *node)
{
	kref_get(&node->ref);
	return node;
}

/* Any context. */
void tally_node_put(struct tally_node *node)
{
	kref_put(&node->ref, node_release);
}

/* May new work begin? Not once it is being stopped. */
bool tally_node_running(struct tally_node *node)
{
	return READ_ONCE(node->state) == TALLY_NODE_RUNNING;
}

/*
 * Tell the monitors: @event, one word, happened to @subject; @detail may be "".
 */
void tally_node_event(struct tally_node *node, const char *event,
		      const char *subject, const char *detail)
{
	node->ops->event(node, event, subject, detail, true);
}

/* See tally_node_notice(). */
void tally_node_log(struct ratelimit_state *limit, struct tally_node *node,
		    const char *event, const char *subject, const char *detail)
{
	if (__ratelimit(limit))
		pr_notice("node %s: %s %s%s%s\n", node->config.name, event,
			  subject, *detail ? ": " : "", detail);
	tally_node_event(node, event, subject, detail);
}

/* The same of what changes nothing that a list shows. */
void tally_node_news(struct tally_node *node, const char *event,
		     const char *subject)
{
	node->ops->event(node, event, subject, "", false);
}

/*
 * A node gets a user, the current task: @what is "file", "mount" or "kernel";
 * @arena and @object are names, or "". Fills @user, the caller's. Process
 * context.
 */
void tally_user_add(struct tally_node *node, struct tally_user *user,
		    const char *what, const char *arena, const char *object)
{
	user->what = what;
	user->pid = get_pid(task_tgid(current));
	get_task_comm(user->comm, current);
	snprintf(user->object, sizeof(user->object), "%s%s%s", arena,
		 *object ? "/" : "", object);
	guard(mutex)(&node->lock);
	user->id = ++node->user_last;
	list_add_tail(&user->list, &node->users);
}

void tally_user_del(struct tally_node *node, struct tally_user *user)
{
	scoped_guard(mutex, &node->lock)
		list_del(&user->list);
	put_pid(user->pid);
}

/* The process of a user, unless it has ended. Under RCU, any context. */
struct task_struct *tally_user_task(struct pid *pid)
{
	struct task_struct *task = pid_task(pid, PIDTYPE_TGID);

	return task && atomic_read(&task->signal->live) ? task : NULL;
}

