/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Places where a test holds a task, to open a window that is narrow otherwise.
 * Nothing is left of them but in a build with TALLY_FAULTS=1: kmod/tests/delay.c
 * says how they are set.
 */
#ifndef TALLY_DELAY_H
#define TALLY_DELAY_H

/*
 * open: home: an OPEN is served, and what it opens has not been looked for
 * region_map: home: keys of a region are made, and the answer is not on its way
 * object_del: home: sessions are told that an object goes, its type is not yet
 * link_live: a session is LIVE, and nothing above it has heard of that
 * lock_bind: client: a lock is about to be bound to the session it is used in
 * handle_opened: client: OPEN is answered, and the handle does not know yet
 */
#define TALLY_DELAYS(each) \
	each(open) \
	each(region_map) \
	each(object_del) \
	each(link_live) \
	each(lock_bind) \
	each(handle_opened)

#ifdef TALLY_FAULT_H
#define TALLY_DELAY_NUMBER(name)	TALLY_DELAY_##name,
enum tally_delay { TALLY_DELAYS(TALLY_DELAY_NUMBER) __TALLY_DELAYS };

/* May sleep. */
#define tally_delay(name)	tally_fault_delay(TALLY_DELAY_##name)
#else
#define tally_delay(name)	do { } while (0)
#endif

#endif
