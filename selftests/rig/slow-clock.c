// SPDX-License-Identifier: GPL-2.0
/*
 * Preloaded into a user-mode kernel, it makes its clock and timers slower by the
 * factor SLOW_CLOCK, so that what is done under checkers, by processors that the
 * host lets wait, takes no longer by that clock than elsewhere: all bounds, of the
 * kernel, the module and the tests, stay what they are.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

#define SECOND	1000000000LL

static int (*real_gettime)(clockid_t id, struct timespec *ts);
static int (*real_settime)(timer_t timer, int flags,
			   const struct itimerspec *value,
			   struct itimerspec *old);
static long long factor;

__attribute__((constructor)) static void find(void)
{
	const char *slow = getenv("SLOW_CLOCK");

	factor = slow && atoi(slow) > 0 ? atoi(slow) : 1;
	real_gettime = dlsym(RTLD_NEXT, "clock_gettime");
	real_settime = dlsym(RTLD_NEXT, "timer_settime");
}

static long long ns_of(const struct timespec *ts)
{
	return ts->tv_sec * SECOND + ts->tv_nsec;
}

static struct timespec timespec_of(long long ns)
{
	return (struct timespec){ ns / SECOND, ns % SECOND };
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
	int ret = real_gettime(id, ts);

	if (!ret && id == CLOCK_MONOTONIC)
		*ts = timespec_of(ns_of(ts) / factor);
	return ret;
}

/* Those of the kernel are all relative. */
int timer_settime(timer_t timer, int flags, const struct itimerspec *value,
		  struct itimerspec *old)
{
	struct itimerspec slow = {
		.it_value = timespec_of(ns_of(&value->it_value) * factor),
		.it_interval = timespec_of(ns_of(&value->it_interval) * factor),
	};

	return real_settime(timer, flags, &slow, old);
}
