// SPDX-License-Identifier: GPL-2.0
#include "client/find.h"

#include <linux/err.h>
#include "base/name.h"
#include "client/attach.h"
#include "client/homes.h"
#include "session/session.h"

static struct tally_view *view_at(struct tally_node *node, const char *home,
				  const char *name, struct tally_arena *arena,
				  const struct tally_until *until)
{
	struct tally_view *view;
	int err;

	/* A view that turns out to be of an arena that is gone is replaced. */
	do {
		view = tally_view_of(node, home, name, arena);
		if (IS_ERR(view))
			return view;
		err = tally_view_attach(view, true, until);
		if (!err)
			return view;
		tally_view_put(view);
	} while (!arena && (err == -EIDRM || err == -ESTALE));
	return ERR_PTR(err == -EIDRM ? -ENOENT : err);
}

static struct tally_view *view_here(struct tally_node *node, const char *name,
				    const struct tally_until *until)
{
	struct tally_arena *arena = tally_arena_find(node, name);
	struct tally_view *view;

	if (!arena)
		return ERR_PTR(-ENOENT);
	view = view_at(node, node->config.name, name, arena, until);
	tally_arena_put(arena);
	return view;
}

static void *find_ask(struct tally_homes *homes, struct tally_session *s)
{
	if (!s)
		return view_here(homes->node, homes->name, &homes->until);
	return view_at(homes->node, s->name, homes->name, NULL, &homes->until);
}

static void find_drop(void *answer)
{
	tally_view_put(answer);
}

static const struct tally_question find_question = {
	.ask = find_ask,
	.drop = find_drop,
	.enough = 2,
};

/* The only view among the answers, or the first error that says more than -ENOENT. */
static struct tally_view *find_among(struct tally_homes *homes)
{
	struct tally_view *found = NULL;
	struct tally_home *home;
	int err = -ENOENT;

	list_for_each_entry(home, &homes->list, list) {
		if (!home->answer)
			continue;
		if (IS_ERR(home->answer)) {
			if (err == -ENOENT)
				err = PTR_ERR(home->answer);
			continue;
		}
		if (found)
			return ERR_PTR(-ENOTUNIQ);
		found = home->answer;
	}
	return found ? found : ERR_PTR(err);
}

static struct tally_view *view_search(struct tally_node *node,
				      const char *name,
				      const struct tally_until *until)
{
	struct tally_homes *homes = tally_homes_ask(node, name, &find_question,
						    until);
	struct tally_view *found;

	if (IS_ERR(homes))
		return ERR_CAST(homes);
	found = find_among(homes);
	if (!IS_ERR(found))
		tally_view_get(found);
	tally_homes_put(homes);
	return found;
}

/**
 * tally_view_find - find an arena by name
 * @node: the one that asks
 * @name: "ARENA", sought at this node and all with a live session at once, or
 *	"ARENA@NODE"
 * @timeout: in jiffies, MAX_SCHEDULE_TIMEOUT for none; of "ARENA", no node is
 *	given more than a lease to answer
 *
 * Context: process, sleeps, killable.
 * Return: a reference, or an error pointer: -ENOENT, -ENOTUNIQ (two homes
 * have it), -EACCES, -ENOTCONN (NODE has no session), -ESHUTDOWN, -ETIMEDOUT,
 * -EINTR, -ENOMEM.
 */
struct tally_view *tally_view_find(struct tally_node *node, const char *name,
				   long timeout)
{
	struct tally_until until = tally_until(timeout);
	const char *at = strchrnul(name, '@');
	char arena[TALLY_NAME_SIZE] = {};

	if (!tally_name_valid(name, at - name))
		return ERR_PTR(-ENOENT);
	memcpy(arena, name, at - name);
	if (!*at)
		return view_search(node, arena, &until);
	if (!tally_name_valid(at + 1, strlen(at + 1)))
		return ERR_PTR(-ENOENT);
	if (!strcmp(at + 1, node->config.name))
		return view_here(node, arena, &until);
	return view_at(node, at + 1, arena, NULL, &until);
}
