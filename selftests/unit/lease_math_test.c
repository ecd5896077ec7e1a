// SPDX-License-Identifier: GPL-2.0
// needs: session/lease_math.c
/*
 * A client that asks for renewals and a home that hears them, with clocks that
 * drift, ticks of any length and phase, messages and timers that are late, and a
 * client that sleeps: before the home may grant to others the client does not take
 * a grant for good any more, and has told its holders.
 */
#include <linux/math64.h>
#include <linux/time64.h>
#include "ktap.h"
#include "session/lease_math.h"

/* No clock begins at 0. */
#define EPOCH	(1000ULL * NSEC_PER_SEC)
#define SECOND	1000U

static const u32 rates[] = { 100, 250, 300, 1000 };
static const u32 leases[] = {
	200, 201, 233, 250, 256, 300, 333, 400, 500, 640, 777, SECOND,
	1500, 2 * SECOND, 3333, 5 * SECOND, 8 * SECOND, 10 * SECOND,
	20 * SECOND, 30 * SECOND, 40 * SECOND, 60 * SECOND, 100 * SECOND,
	200 * SECOND, 300 * SECOND, 599999, 600 * SECOND,
};

/* Two machines; real time is ns from the client's question on. */
struct world {
	u32 ms;		/* the lease */
	u32 tick;	/* of the client, ns */
	u32 phase;	/* of its ticks at the question */
	s32 client;	/* drift of its clock, in parts of 1/500 */
	s32 home;
	u64 asked;	/* the client's clock */
	u64 until;
	u64 end;	/* the same in real time */
	u64 grant;	/* real time from which on the home grants to others */
};

static u64 clock_of(s32 drift, u64 real)
{
	return EPOCH + real + (s64)real / TALLY_LEASE_RHO * drift;
}

/* The first real time at which the clock shows that; the client is not favoured. */
static u64 real_of(s32 drift, u64 clock)
{
	u64 low = 0, high = 2 * (clock - EPOCH) + TALLY_LEASE_RHO, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (clock_of(drift, middle) < clock)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Of the client, from the tick that was last. */
static u64 since_tick(const struct world *w, u64 clock)
{
	return (clock - w->asked + w->phase) % w->tick;
}

/* The home hears the question after @delay and nothing after that. */
static void begin(struct world *w, u64 delay)
{
	w->asked = clock_of(w->client, 0);
	w->until = 0;
	tally_lease_renews(&w->until, w->asked, w->asked, w->ms, w->tick);
	w->end = real_of(w->client, w->until);
	w->grant = real_of(w->home,
			   tally_lease_reclaim(clock_of(w->home, delay), w->ms));
}

/* A timer that only ticks, and a task, that are as late as they may be. */
static u64 told(const struct world *w, bool ticks, u64 late)
{
	u64 at = w->until, past = since_tick(w, at);

	if (ticks && past)
		at += w->tick - past;
	return real_of(w->client, at + late);
}

/* Does the client take a grant for good at @real? @lost: ticks that did not come. */
static bool takes(const struct world *w, u64 real, u32 lost)
{
	u64 now = clock_of(w->client, real);
	u64 coarse = now - since_tick(w, now) - (u64)lost * w->tick;

	if (!tally_lease_far(w->until, coarse, w->ms))
		coarse = now;
	return coarse < w->until;
}

static const char *tell_run(struct world *w)
{
	u64 slack = tally_lease_slack(w->ms, w->tick);

	/* The slack is all there is: what is just below it is in time. */
	if (told(w, false, slack - 1) >= w->grant ||
	    told(w, true, slack - w->tick - 1) >= w->grant)
		return "the time at which holders are told";
	/* Asleep from any time on: the holders are told before that. */
	if (w->end > w->grant)
		return "what holds when the client wakes";
	return NULL;
}

static const char *takes_run(const struct world *w)
{
	const u64 quarter = tally_lease_renew(w->ms);
	const u64 at[] = {
		w->end - 1, w->end, w->end + 1, w->end + w->tick,
		w->end - w->tick, w->end - quarter, w->end - quarter + 1,
		w->end - quarter - w->tick, w->end - quarter + w->tick,
		w->end - quarter / 2, w->end + quarter, w->grant, w->grant + 1,
		w->grant + quarter, 2 * w->grant,
	};
	u32 k, lost;

	for (k = 0; k < ARRAY_SIZE(at); k++)
		for (lost = 0; (u64)(lost + 1) * w->tick < quarter && lost < 4;
		     lost++)
			if (takes(w, at[k], lost) !=
			    (clock_of(w->client, at[k]) < w->until))
				return "whether a grant is taken";
	return NULL;
}

static const char *world_run(u32 rate, u32 ms)
{
	struct world w = { .ms = ms, .tick = NSEC_PER_SEC / rate };
	const char *wrong = NULL;
	u64 delay;
	u32 phase;

	for (phase = 0; phase < 16; phase++)
		for (w.client = -1; w.client <= 1; w.client++)
			for (w.home = -1; w.home <= 1; w.home++)
				for (delay = 0; delay < 4 && !wrong; delay++) {
					w.phase = w.tick / 16 * phase + phase;
					begin(&w, delay * delay * ms * 20000);
					wrong = tell_run(&w) ?: takes_run(&w);
				}
	return wrong;
}

/* When a timer of the kernel's wheel that is set now for @delay is due, in ticks. */
static u64 wheel(u64 now, u64 delay)
{
	u64 expires = now + delay;
	u32 shift = 0;

	while (shift < 24 && delay >= 63ULL << shift)
		shift += 3;
	return (expires + (1ULL << shift)) >> shift << shift;
}

/* One renewal may be lost, though the timer of the next one is of the wheel. */
static const char *renew_run(u32 rate, u32 ms)
{
	u64 tick = NSEC_PER_SEC / rate, pause, now;
	u64 left = tally_lease_until(0, ms, tick);

	for (now = 0; now < 4096; now += 7) {
		pause = wheel(now, tally_lease_renew(ms) / tick + 1) - now;
		if (2 * pause * tick >= left)
			return "the time for two renewals";
	}
	return NULL;
}

/* Such a timer would not do for the end: this test finds that. */
static const char *wheel_run(void)
{
	struct world w = { .ms = 10 * SECOND, .tick = NSEC_PER_SEC / 250,
			   .client = -1, .home = 1 };
	u64 delay = (tally_lease_renew(w.ms) - 1) / w.tick, now, late = 0;

	begin(&w, 0);
	for (now = 0; now < 64; now++)
		if (wheel(now, delay) - now - delay > late)
			late = wheel(now, delay) - now - delay;
	return told(&w, true, late * w.tick) >= w.grant ? NULL : "nothing";
}

static const char *renews_run(void)
{
	u64 until = 0, first;

	if (!tally_lease_renews(&until, EPOCH, EPOCH + 1, SECOND, 1) ||
	    until != tally_lease_until(EPOCH, SECOND, 1))
		return "the first answer";
	first = until;
	if (!tally_lease_renews(&until, EPOCH - 9, first - 1, SECOND, 1) ||
	    until != first)
		return "an answer to an older question";
	if (!tally_lease_renews(&until, EPOCH + 9, first - 1, SECOND, 1) ||
	    until != first + 9)
		return "an answer in time";
	first = until;
	if (tally_lease_renews(&until, first - 1, first, SECOND, 1) ||
	    until != first)
		return "an answer that comes too late";
	return NULL;
}

int main(void)
{
	const char *wrong;
	char name[64];
	u32 rate, lease;

	ktap_start(ARRAY_SIZE(rates) * ARRAY_SIZE(leases) + 2);
	for (rate = 0; rate < ARRAY_SIZE(rates); rate++) {
		for (lease = 0; lease < ARRAY_SIZE(leases); lease++) {
			snprintf(name, sizeof(name), "HZ %u, lease %u ms",
				 rates[rate], leases[lease]);
			wrong = world_run(rates[rate], leases[lease]) ?:
				renew_run(rates[rate], leases[lease]);
			ktap_result(name, wrong);
		}
	}
	ktap_result("a timer of the wheel is too late", wheel_run());
	ktap_result("what renews a lease", renews_run());
	return ktap_end();
}
