// SPDX-License-Identifier: GPL-2.0
#include "client/owed.h"

#include <linux/slab.h>
#include "session/session.h"

/* What FORGET may leave here while something is being opened. */
#define EARLY_MAX	4096

/*
 * An answer to FORGET, which came in that session. Freed by kfree() or given to
 * tally_owed_queue(); NULL without memory.
 */
struct tally_owed *tally_owed_alloc(const struct tally_session *s,
				    const struct tally_wire_object *which)
{
	struct tally_owed *owed = kzalloc(sizeof(*owed), GFP_KERNEL);

	if (owed) {
		owed->session = s->id;
		owed->body = *which;
	}
	return owed;
}

/**
 * tally_owed_flush - say what can be said, in the order in which it came
 * @s: session with the home; when it is OVER, that says the same
 *
 * Context: process.
 */
void tally_owed_flush(struct tally_session *s)
{
	struct tally_views *views = s->node->views;
	struct tally_owed *owed, *next;
	bool over;

	guard(mutex)(&views->owed_lock);
	over = READ_ONCE(s->state) == TALLY_SESSION_OVER;
	list_for_each_entry_safe(owed, next, &views->owed, list) {
		if (owed->session != s->id ||
		    (!over && owed->doubt == READ_ONCE(s->link_nr)))
			continue;
		if (!over && tally_session_send(s, TALLY_MSG_FORGOTTEN,
						&owed->body,
						sizeof(owed->body)))
			break;
		list_del(&owed->list);
		kfree(owed);
	}
}

/**
 * tally_owed_queue - tell a home that an object is forgotten
 * @owed: what to say, from tally_owed_alloc(); taken over
 * @s: session with the home
 * @arena: id of the arena
 * @doubt: number of the link on which an operation ended unknown, or 0
 *
 * It is said now, or as soon as there is a link again, and not at all when
 * the session that FORGET came in is OVER: in another one it would be an answer to
 * what that asks.
 *
 * Context: process.
 */
void tally_owed_queue(struct tally_owed *owed, struct tally_session *s,
		      u32 arena, u32 doubt)
{
	struct tally_views *views = s->node->views;

	if (owed->session != s->id) {
		kfree(owed);
		return;
	}
	owed->body.arena = cpu_to_be32(arena);
	owed->doubt = doubt;
	scoped_guard(mutex, &views->owed_lock)
		list_add_tail(&owed->list, &views->owed);
	tally_owed_flush(s);
}

/* Was an object deleted while it was being opened? With view->lock. */
struct tally_owed *tally_early_find(struct tally_view *view, u32 id,
				    u32 generation)
{
	struct tally_owed *owed;

	lockdep_assert_held(&view->lock);
	list_for_each_entry(owed, &view->early, list)
		if (be32_to_cpu(owed->body.object) == id &&
		    be32_to_cpu(owed->body.generation) == generation)
			return owed;
	return NULL;
}

/*
 * FORGET came for what may just be being opened; @owed is taken over. 0, or
 * -ENOMEM: close the link, it will be said again.
 */
int tally_early_add(struct tally_view *view, struct tally_owed *owed)
{
	struct tally_owed *twice =
		tally_early_find(view, be32_to_cpu(owed->body.object),
				 be32_to_cpu(owed->body.generation));

	if (twice)
		twice->body.round = owed->body.round;
	if (twice || view->early_count == EARLY_MAX) {
		kfree(owed);
		return twice ? 0 : -ENOMEM;
	}
	list_add_tail(&owed->list, &view->early);
	view->early_count++;
	return 0;
}

/* Nothing is being opened: what came early is forgotten. With view->lock. */
void tally_early_settle(struct tally_view *view)
{
	struct tally_owed *owed, *next;

	lockdep_assert_held(&view->lock);
	list_for_each_entry_safe(owed, next, &view->early, list) {
		list_del(&owed->list);
		if (view->session)
			tally_owed_queue(owed, view->session, view->remote_id,
					 0);
		else
			kfree(owed);
	}
	view->early_count = 0;
}
