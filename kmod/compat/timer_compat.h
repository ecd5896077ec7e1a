/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_TIMER_COMPAT_H
#define TALLY_TIMER_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/version.h>

static inline void
tally_compat_hrtimer(struct hrtimer *timer,
		     enum hrtimer_restart (*fn)(struct hrtimer *timer),
		     clockid_t clock, enum hrtimer_mode mode)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(timer, fn, clock, mode);
#else
	hrtimer_init(timer, clock, mode);
	timer->function = fn;
#endif
}

#endif
