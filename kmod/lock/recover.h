/* SPDX-License-Identifier: GPL-2.0 */
/* What sessions mean to locks: links that break and come back, leases, ends. */
#ifndef TALLY_LOCK_RECOVER_H
#define TALLY_LOCK_RECOVER_H

#include <linux/types.h>

struct tally_open;
struct tally_session;

int tally_locks_session_created(struct tally_session *s);
void tally_locks_session_live(struct tally_session *s, bool resumed);
void tally_locks_session_down(struct tally_session *s);
void tally_locks_session_lost(struct tally_session *s);
void tally_locks_session_over(struct tally_session *s);
int tally_locks_open(struct tally_open *open);
int tally_locks_resync_end(struct tally_session *s);

#endif
