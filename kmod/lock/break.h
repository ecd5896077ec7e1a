/* SPDX-License-Identifier: GPL-2.0 */
/* An administrator takes a lock away from all nodes that have it. */
#ifndef TALLY_LOCK_BREAK_H
#define TALLY_LOCK_BREAK_H

struct tally_object;

/*
 * Begin to take the lock away: 0; -ESRCH: no node has it; -EALREADY: that is
 * being done; -EIDRM: it was deleted; -ENOMEM. Does not wait. Its end is the
 * event "lock_broken" with subject "ARENA/LOCK" and, as detail, the number of
 * nodes that did not answer and were fenced, or "deleted" if the lock was; until
 * then tally_lock_info says that it is being broken.
 */
int tally_lock_break_start(struct tally_object *object);

#endif
