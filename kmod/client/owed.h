/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Answers to FORGET: FORGOTTEN that cannot be said yet, and FORGET that came
 * while something was being opened, maybe just that.
 */
#ifndef TALLY_OWED_H
#define TALLY_OWED_H

#include "client/view.h"
#include "object/wire.h"

/**
 * struct tally_owed - a FORGOTTEN that has to be said
 * @list: in tally_views.owed or tally_view.early
 * @session: id of the session with the home that FORGET came in
 * @body: what is forgotten
 * @doubt: number of the link on which it cannot be said
 */
struct tally_owed {
	struct list_head list;
	u64 session;
	struct tally_wire_object body;
	u32 doubt;
};

struct tally_owed *tally_owed_alloc(const struct tally_session *s,
				    const struct tally_wire_object *which);
void tally_owed_queue(struct tally_owed *owed, struct tally_session *s,
		      u32 arena, u32 doubt);
void tally_owed_flush(struct tally_session *s);

/* With view->lock. */
struct tally_owed *tally_early_find(struct tally_view *view, u32 id,
				    u32 generation);
int tally_early_add(struct tally_view *view, struct tally_owed *owed);
void tally_early_settle(struct tally_view *view);

#endif
