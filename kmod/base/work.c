// SPDX-License-Identifier: GPL-2.0
#include "base/work.h"

/*
 * With a reference of its own to what it works on, which it drops when it has
 * run; the caller has one, too. Any context.
 */
void tally_work_queue(struct workqueue_struct *wq, struct work_struct *work,
		      struct kref *ref)
{
	kref_get(ref);
	if (!queue_work(wq, work))
		refcount_dec(&ref->refcount);
}

/* The same, in @delay jiffies from now, even if it was to run sooner or later. */
void tally_work_delay(struct workqueue_struct *wq, struct delayed_work *work,
		      struct kref *ref, unsigned long delay)
{
	kref_get(ref);
	if (mod_delayed_work(wq, work, delay))
		refcount_dec(&ref->refcount);
}
