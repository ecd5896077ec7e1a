// SPDX-License-Identifier: GPL-2.0
/*
 * The parameter delays: "NAME MS" holds each task that comes by the point NAME (of
 * base/delay.h) for so long, or until the point is set anew; 0 lets all go on.
 * Reading gives a line a point: its name, its time, and how many tasks have come by
 * since it was set.
 */
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/string.h>
#include <linux/wait.h>
#include "base/delay.h"
#include "tests/delay.h"

#define DELAY_MAX	60000

/**
 * struct delay - a point
 * @ms: how long it holds
 * @set: how often it was set
 * @hits: tasks that came by since
 */
struct delay {
	u32 ms;
	u32 set;
	atomic_t hits;
};

static const char * const delay_names[__TALLY_DELAYS] = {
	[TALLY_DELAY_OPEN]	 = "open",
	[TALLY_DELAY_CLOSE]	 = "close",
	[TALLY_DELAY_MESSAGE]	 = "message",
	[TALLY_DELAY_COUNTER_SET] = "counter_set",
	[TALLY_DELAY_REGION_MAP] = "region_map",
	[TALLY_DELAY_OBJECT_ADD] = "object_add",
	[TALLY_DELAY_OBJECT_DEL] = "object_del",
	[TALLY_DELAY_LINK_LIVE]	 = "link_live",
	[TALLY_DELAY_LOCK_BIND]	 = "lock_bind",
	[TALLY_DELAY_OPENED]	 = "opened",
	[TALLY_DELAY_LOST]	 = "lost",
	[TALLY_DELAY_GOODBYE]	 = "goodbye",
	[TALLY_DELAY_READY]	 = "ready",
	[TALLY_DELAY_ACTIVE]	 = "active",
	[TALLY_DELAY_RENEW]	 = "renew",
	[TALLY_DELAY_REQUEST]	 = "request",
	[TALLY_DELAY_REGION_SYNC] = "region_sync",
	[TALLY_DELAY_SESSION_START] = "session_start",
	[TALLY_DELAY_SESSION_OVER] = "session_over",
	[TALLY_DELAY_ACCEPT]	 = "accept",
	[TALLY_DELAY_PROBE]	 = "probe",
	[TALLY_DELAY_FORGET]	 = "forget",
	[TALLY_DELAY_ATTACHED]	 = "attached",
	[TALLY_DELAY_HANDOVER]	 = "handover",
	[TALLY_DELAY_SET_OWNER]	 = "set_owner",
	[TALLY_DELAY_XFER]	 = "xfer",
	[TALLY_DELAY_HELLO]	 = "hello",
	[TALLY_DELAY_LINK_MESSAGE] = "link_message",
	[TALLY_DELAY_PEER_STOP]	 = "peer_stop",
	[TALLY_DELAY_PEERS_STOP] = "peers_stop",
	[TALLY_DELAY_ATTACH_AGAIN] = "attach_again",
	[TALLY_DELAY_SLEEP]	 = "sleep",
	[TALLY_DELAY_REGION_ZERO] = "region_zero",
	[TALLY_DELAY_STAT]	 = "stat",
};

static struct delay delays[__TALLY_DELAYS];
static DECLARE_WAIT_QUEUE_HEAD(delay_wait);

void tally_fault_delay(unsigned int point)
{
	struct delay *delay = &delays[point];
	u32 ms = READ_ONCE(delay->ms), set = READ_ONCE(delay->set);

	if (!ms)
		return;
	atomic_inc(&delay->hits);
	pr_info("held at %s\n", delay_names[point]);
	wait_event_timeout(delay_wait, READ_ONCE(delay->set) != set,
			   msecs_to_jiffies(ms));
}

static int delay_set(const char *text, const struct kernel_param *param)
{
	char name[32];
	u32 ms;
	int i;

	if (sscanf(text, "%31s %u", name, &ms) != 2 || ms > DELAY_MAX)
		return -EINVAL;
	i = match_string(delay_names, __TALLY_DELAYS, name);
	if (i < 0)
		return i;
	if (ms)
		atomic_set(&delays[i].hits, 0);
	WRITE_ONCE(delays[i].ms, ms);
	WRITE_ONCE(delays[i].set, delays[i].set + 1);
	wake_up_all(&delay_wait);
	return 0;
}

static int delay_get(char *text, const struct kernel_param *param)
{
	int len = 0, i;

	for (i = 0; i < __TALLY_DELAYS; i++)
		len += sysfs_emit_at(text, len, "%s %u %d\n", delay_names[i],
				     delays[i].ms, atomic_read(&delays[i].hits));
	return len;
}

static const struct kernel_param_ops delay_ops = {
	.set	= delay_set,
	.get	= delay_get,
};
module_param_cb(delays, &delay_ops, NULL, 0600);
MODULE_PARM_DESC(delays, "NAME MS: see the source");
