/* SPDX-License-Identifier: GPL-2.0 */
/* Everything that depends on the kernel version, and nothing else. */
#ifndef TALLY_COMPAT_H
#define TALLY_COMPAT_H

#include <linux/bottom_half.h>
#include <linux/irqflags.h>
#include <linux/rcupdate.h>
#include <linux/version.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

/*
 * WQ_UNBOUND is always said: newer kernels want every queue to be explicit,
 * and the name of the other choice does not exist in older ones.
 */
static inline struct workqueue_struct *tally_compat_wq(const char *name)
{
	return alloc_workqueue("%s", WQ_UNBOUND | WQ_HIGHPRI | WQ_MEM_RECLAIM,
			       0, name);
}

/*
 * rxe works in tasklets before 6.4. One that is raised in process context waits
 * for ksoftirqd; raised with bottom halves off it runs when they go on again,
 * which makes an atomic four times faster.
 */
static inline bool tally_compat_posts_in_bh(const struct ib_device *ibdev)
{
	return LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0) &&
	       ibdev->ops.driver_id == RDMA_DRIVER_RXE;
}

/*
 * Destroying a CQ does not wait for its tasklet there. The QP is gone, so no
 * new one is raised; a grace period lets the last one run.
 */
static inline void tally_compat_cq_settle(const struct ib_device *ibdev)
{
	if (tally_compat_posts_in_bh(ibdev))
		synchronize_rcu();
}

/* Around posting. Return: what tally_compat_post_end() wants to be told. */
static inline bool tally_compat_post_begin(bool in_bh)
{
	if (!in_bh || irqs_disabled())
		return false;
	local_bh_disable();
	return true;
}

static inline void tally_compat_post_end(bool begun)
{
	if (begun)
		local_bh_enable();
}

#endif
