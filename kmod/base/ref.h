/* SPDX-License-Identifier: GPL-2.0 */
/* References to what is found under RCU. */
#ifndef TALLY_REF_H
#define TALLY_REF_H

#include <linux/kref.h>
#include <linux/rcupdate.h>

/*
 * What @lookup, done under RCU, finds: a struct @type with a reference, or NULL
 * where there is none or its last reference is gone. Any context.
 */
#define tally_find_get(type, lookup)					\
({									\
	type *found_;							\
									\
	rcu_read_lock();						\
	found_ = (lookup);						\
	if (found_ && !kref_get_unless_zero(&found_->ref))		\
		found_ = NULL;						\
	rcu_read_unlock();						\
	found_;								\
})

#endif
