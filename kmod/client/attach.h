/* SPDX-License-Identifier: GPL-2.0 */
/* How a view becomes an arena: ATTACH, the first time and again. */
#ifndef TALLY_ATTACH_H
#define TALLY_ATTACH_H

#include "client/view.h"

int tally_view_attach(struct tally_view *view, bool again,
		      const struct tally_until *until);
int tally_view_may_write(struct tally_view *view,
			 const struct tally_until *until);
int tally_view_ask(struct tally_session *s, u16 type, const void *body,
		   u32 len, void *reply, u32 *reply_len,
		   const struct tally_until *until);

#endif
