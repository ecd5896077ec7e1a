/* SPDX-License-Identifier: GPL-2.0 */
/* Lock messages that come. */
#ifndef TALLY_LOCK_RECV_H
#define TALLY_LOCK_RECV_H

#include "object/type.h"

enum tally_aim tally_lock_aim(const void *body);
int tally_lock_message(struct tally_open *open, u16 type, const void *body,
		       u32 len);
int tally_lock_notice(struct tally_handle *handle, u16 type, const void *body,
		      u32 len);
int tally_lock_news(struct tally_session *s, u16 type, const void *body,
		    u32 len);

#endif
