// SPDX-License-Identifier: GPL-2.0
#include "base/work.h"

/**
 * tally_work_queue - queue a work item with a reference of its own
 * @wq: where
 * @work: drops the reference when it has run
 * @ref: what @work keeps; the caller has a reference, too
 *
 * Context: any.
 */
void tally_work_queue(struct workqueue_struct *wq, struct work_struct *work,
		      struct kref *ref)
{
	kref_get(ref);
	if (!queue_work(wq, work))
		refcount_dec(&ref->refcount);
}

/**
 * tally_work_delay - set when a delayed work item runs, with a reference of its own
 * @wq: where
 * @work: drops the reference when it has run
 * @ref: what @work keeps; the caller has a reference, too
 * @delay: in jiffies, from now
 *
 * Context: any.
 */
void tally_work_delay(struct workqueue_struct *wq, struct delayed_work *work,
		      struct kref *ref, unsigned long delay)
{
	kref_get(ref);
	if (mod_delayed_work(wq, work, delay))
		refcount_dec(&ref->refcount);
}
