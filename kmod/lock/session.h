/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_LOCK_SESSION_H
#define TALLY_LOCK_SESSION_H

#include "object/type.h"

int tally_locks_session_created(struct tally_session *s);
void tally_locks_session_live(struct tally_session *s, bool resumed);
void tally_locks_session_down(struct tally_session *s);
void tally_locks_session_lost(struct tally_session *s);
void tally_locks_session_over(struct tally_session *s);
int tally_locks_open(struct tally_open *open);
enum tally_aim tally_lock_aim(const void *body);
int tally_lock_message(struct tally_open *open, u16 type, const void *body,
		       u32 len);
int tally_lock_notice(struct tally_handle *handle, u16 type, const void *body,
		      u32 len);
int tally_lock_news(struct tally_session *s, u16 type, const void *body,
		    u32 len);

#endif
