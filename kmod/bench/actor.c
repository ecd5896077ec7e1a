// SPDX-License-Identifier: GPL-2.0
/* The calls that are compared; these are the uses of tally to learn from. */
#include <linux/ktime.h>
#include <linux/sched/signal.h>
#include "actor.h"
#include "guard.h"
#include "sample.h"
#include "spin.h"
#include "ticket.h"

/* Longer than anything here may take. */
#define TIMEOUT		(10 * HZ)

int actor_raw_faa(struct actor *a)
{
	return raw_faa(a->raw);
}

int actor_raw_cas(struct actor *a)
{
	return raw_cas(a->raw);
}

int actor_raw_cas_faa(struct actor *a)
{
	return raw_cas_faa(a->raw);
}

int actor_raw_lock(struct actor *a)
{
	return raw_lock(a->raw);
}

int actor_raw_shared(struct actor *a)
{
	return raw_shared(a->raw);
}

int actor_raw_write8(struct actor *a)
{
	return raw_write8(a->raw);
}

int actor_raw_write(struct actor *a)
{
	return raw_write(a->raw, a->size, a->count);
}

int actor_raw_read(struct actor *a)
{
	return raw_read(a->raw, a->size, a->count);
}

int actor_raw_rw_write(struct actor *a)
{
	return raw_rw_write(a->raw, a->size);
}

int actor_raw_send(struct actor *a)
{
	return raw_send(a->raw);
}

int actor_counter_add(struct actor *a)
{
	u64 old;

	return tally_counter_add(a->counter, 1, &old, TIMEOUT);
}

int actor_cpu_add(struct actor *a)
{
	u64 old;

	return tally_counter_add(a->cpu, 1, &old, TIMEOUT);
}

static int actor_take(struct tally_lock *lock)
{
	u64 token;
	int err;

	err = tally_lock_acquire(lock, TALLY_LOCK_EX, &token, TIMEOUT);
	return err ? err : tally_lock_release(lock);
}

/* Taken and given back to its home, which costs two round trips. */
int actor_lock_cold(struct actor *a)
{
	return actor_take(a->lock);
}

int actor_lock_shared(struct actor *a)
{
	u64 token;
	int err;

	err = tally_lock_acquire(a->lock, TALLY_LOCK_SH, &token, TIMEOUT);
	return err ? err : tally_lock_release(a->lock);
}

/* Costs nothing on the wire as long as no other node asks. */
int actor_lock_cached(struct actor *a)
{
	return actor_take(a->cached);
}

int actor_lock_cpu(struct actor *a)
{
	return actor_take(a->cpu_lock);
}

int actor_lock_pass(struct actor *a)
{
	int err, passed;
	u64 token;

	err = tally_lock_acquire(a->lock, TALLY_LOCK_EX, &token, TIMEOUT);
	if (err)
		return err;
	passed = guard_pass_token(a->guard, a->who, token);
	err = tally_lock_release(a->lock);
	return passed ? passed : err;
}

int actor_spin_pass(struct actor *a)
{
	int err = spin_take(a->raw, a->who);

	if (err)
		return err;
	guard_pass(a->guard, a->who);
	return spin_give(a->raw, a->who);
}

int actor_backoff_pass(struct actor *a)
{
	int err = backoff_take(a->raw, a->who, &a->seed);

	if (err)
		return err;
	guard_pass(a->guard, a->who);
	return backoff_give(a->raw, a->who);
}

int actor_ticket_pass(struct actor *a)
{
	int err = ticket_take(a->raw);

	if (err)
		return err;
	guard_pass(a->guard, a->who);
	return ticket_give(a->raw);
}

static int actor_transferred(struct actor *a, ssize_t ret)
{
	if (ret < 0)
		return ret;
	return ret == a->size ? 0 : -ENOSPC;
}

int actor_region_write(struct actor *a)
{
	struct kvec vec = { .iov_base = a->block, .iov_len = a->size };
	struct iov_iter iter;

	iov_iter_kvec(&iter, ITER_SOURCE, &vec, 1, a->size);
	return actor_transferred(a, tally_region_write(a->region, &iter, 0,
						       TIMEOUT));
}

int actor_region_read(struct actor *a)
{
	struct kvec vec = { .iov_base = a->block, .iov_len = a->size };
	struct iov_iter iter;

	iov_iter_kvec(&iter, ITER_DEST, &vec, 1, a->size);
	return actor_transferred(a, tally_region_read(a->region, &iter, 0,
						      TIMEOUT));
}

int actor_run(struct actor *a, actor_call call, u32 calls,
	      struct samples *samples)
{
	u64 before = ktime_get_ns(), now;
	u32 i;
	int err;

	for (i = 0; i < calls; i++) {
		err = call(a);
		if (!err && fatal_signal_pending(current))
			err = -EINTR;
		if (err)
			return err;
		now = ktime_get_ns();
		if (samples)
			samples_add(samples, now - before);
		before = now;
	}
	cond_resched();
	return 0;
}
