// SPDX-License-Identifier: GPL-2.0
/* The exported kernel API of counters. */
#include <linux/export.h>
#include <linux/tally.h>
#include "api/api.h"
#include "counter/client.h"

struct tally_counter {
	struct tally_api_user user;
};

/**
 * tally_counter_get - begin to use a counter
 * @net: network namespace of the node
 * @node: name of our node; NULL for the first one
 * @path: "ARENA/COUNTER" or "ARENA@NODE/COUNTER"
 * @timeout: jiffies
 *
 * The counter goes on being usable when it is deleted or the node is stopped:
 * every operation then says so. Several users may share it.
 *
 * Context: process; sleeps, killable. No locks needed.
 * Return: the counter, to be given back with tally_counter_put(), or an
 * ERR_PTR: -ENODEV: no such node; -ENOENT: no such arena or object; -EINVAL:
 * not a path; -EPROTOTYPE: not a counter; -ENOTUNIQ: two homes have an arena
 * of that name; -EACCES: no right; -ENOTCONN: no session with that home;
 * -ESHUTDOWN, -ETIMEDOUT, -EINTR, -ENOMEM.
 */
struct tally_counter *tally_counter_get(struct net *net, const char *node,
					const char *path, long timeout)
{
	return tally_api_get(sizeof(struct tally_counter), net, node, path,
			     TALLY_TYPE_COUNTER, timeout);
}
EXPORT_SYMBOL_GPL(tally_counter_get);

/**
 * tally_counter_put - end the use of a counter
 * @counter: from tally_counter_get(); not usable after this
 *
 * The caller sees to it that no operation on it is under way.
 *
 * Context: process; may sleep.
 */
void tally_counter_put(struct tally_counter *counter)
{
	tally_api_put(&counter->user);
}
EXPORT_SYMBOL_GPL(tally_counter_put);

/**
 * tally_counter_read - read a counter
 * @counter: from tally_counter_get()
 * @value: out: its value at some time during the call; not NULL
 * @timeout: jiffies
 *
 * Context: process; sleeps, killable. Any number of calls may run at once.
 * Return: 0; not done: -EACCES, -EIDRM, -ENOTCONN, -ENETDOWN, -ESHUTDOWN,
 * -ESTALE, -ETIMEDOUT, -EINTR, -ENOMEM; -EREMOTEIO: unknown.
 */
int tally_counter_read(struct tally_counter *counter, u64 *value, long timeout)
{
	return tally_counter_do(counter->user.handle, TALLY_COUNTER_READ, 0, 0,
				value, timeout);
}
EXPORT_SYMBOL_GPL(tally_counter_read);

/**
 * tally_counter_add - add to a counter
 * @counter: from tally_counter_get()
 * @value: what to add, modulo 2^64
 * @old: out: its value just before, which no other add gets; not NULL
 * @timeout: jiffies
 *
 * Context: process; sleeps, killable. Any number of calls may run at once.
 * Return: 0, or the errors of tally_counter_read(); after -EREMOTEIO it may
 * have been added or may yet be.
 */
int tally_counter_add(struct tally_counter *counter, u64 value, u64 *old,
		      long timeout)
{
	return tally_counter_do(counter->user.handle, TALLY_COUNTER_ADD, value,
				0, old, timeout);
}
EXPORT_SYMBOL_GPL(tally_counter_add);

/**
 * tally_counter_set - set a counter
 * @counter: from tally_counter_get()
 * @value: new value
 * @old: out: its value just before; not NULL
 * @timeout: jiffies
 *
 * Context: process; sleeps, killable. Any number of calls may run at once.
 * Return: 0, or the errors of tally_counter_read(); after -EREMOTEIO it may
 * have been set or may yet be.
 */
int tally_counter_set(struct tally_counter *counter, u64 value, u64 *old,
		      long timeout)
{
	return tally_counter_do(counter->user.handle, TALLY_COUNTER_SET, value,
				0, old, timeout);
}
EXPORT_SYMBOL_GPL(tally_counter_set);

/**
 * tally_counter_cas - set a counter if it has an expected value
 * @counter: from tally_counter_get()
 * @expected: the value it must have
 * @value: new value
 * @old: out: its value just before; it was set if this is @expected; not NULL
 * @timeout: jiffies
 *
 * Context: process; sleeps, killable. Any number of calls may run at once.
 * Return: 0, also when it was not set, or the errors of
 * tally_counter_read(); after -EREMOTEIO it may have been set or may yet be.
 */
int tally_counter_cas(struct tally_counter *counter, u64 expected, u64 value,
		      u64 *old, long timeout)
{
	return tally_counter_do(counter->user.handle, TALLY_COUNTER_CAS, value,
				expected, old, timeout);
}
EXPORT_SYMBOL_GPL(tally_counter_cas);
