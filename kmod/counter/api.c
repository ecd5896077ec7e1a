// SPDX-License-Identifier: GPL-2.0
/* The exported kernel API of counters. */
#include <linux/export.h>
#include <linux/tally.h>
#include "api/api.h"
#include "counter/client.h"

struct tally_counter {
	struct tally_api_user user;
};

struct tally_counter *tally_counter_get(struct net *net, const char *node,
					const char *path, long timeout)
{
	return tally_api_get(sizeof(struct tally_counter), net, node, path,
			     TALLY_TYPE_COUNTER, timeout);
}
EXPORT_SYMBOL_GPL(tally_counter_get);

void tally_counter_put(struct tally_counter *counter)
{
	tally_api_put(&counter->user);
}
EXPORT_SYMBOL_GPL(tally_counter_put);

int tally_counter_read(struct tally_counter *counter, u64 *value, long timeout)
{
	return tally_counter_do(counter->user.handle, TALLY_COUNTER_READ, 0, 0,
				value, timeout);
}
EXPORT_SYMBOL_GPL(tally_counter_read);

int tally_counter_add(struct tally_counter *counter, u64 value, u64 *old,
		      long timeout)
{
	return tally_counter_do(counter->user.handle, TALLY_COUNTER_ADD, value,
				0, old, timeout);
}
EXPORT_SYMBOL_GPL(tally_counter_add);

int tally_counter_set(struct tally_counter *counter, u64 value, u64 *old,
		      long timeout)
{
	return tally_counter_do(counter->user.handle, TALLY_COUNTER_SET, value,
				0, old, timeout);
}
EXPORT_SYMBOL_GPL(tally_counter_set);

int tally_counter_cas(struct tally_counter *counter, u64 expected, u64 value,
		      u64 *old, long timeout)
{
	return tally_counter_do(counter->user.handle, TALLY_COUNTER_CAS, value,
				expected, old, timeout);
}
EXPORT_SYMBOL_GPL(tally_counter_cas);
