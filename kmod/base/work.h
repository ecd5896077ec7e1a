/* SPDX-License-Identifier: GPL-2.0 */
/* Work items that keep what they work on. */
#ifndef TALLY_WORK_H
#define TALLY_WORK_H

#include <linux/kref.h>
#include <linux/workqueue.h>

void tally_work_queue(struct workqueue_struct *wq, struct work_struct *work,
		      struct kref *ref);
void tally_work_delay(struct workqueue_struct *wq, struct delayed_work *work,
		      struct kref *ref, unsigned long delay);

#endif
