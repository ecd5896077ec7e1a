// SPDX-License-Identifier: GPL-2.0
#include "client/list.h"

#include <linux/err.h>
#include <linux/slab.h>
#include "base/name.h"
#include "client/attach.h"
#include "client/homes.h"
#include "object/wire.h"
#include "session/peer.h"
#include "session/session.h"

/*
 * Arenas one look takes in, of one home and of all: a peer's word is no reason to
 * run out of memory.
 */
#define LIST_ARENAS_MAX	4096

/* An answer to LIST. */
struct list_reply {
	struct tally_rep_list head;
	struct tally_list_entry entry[];
} __packed;

static bool reply_valid(const struct list_reply *reply, u32 len, bool arenas,
			u32 after)
{
	const struct tally_list_entry *entry = reply->entry;
	u32 count, i;

	if (len < sizeof(*reply))
		return false;
	count = be32_to_cpu(reply->head.count);
	if (count > TALLY_REPLY_MAX / sizeof(*entry) ||
	    len != sizeof(*reply) + count * sizeof(*entry))
		return false;
	for (i = 0; i < count; i++, entry++) {
		/* Ids grow, so a peer cannot keep us here for ever. */
		if (be32_to_cpu(entry->id) <= after ||
		    arenas != !entry->type ||
		    (!arenas && !tally_type(entry->type)) ||
		    memchr_inv(entry->reserved, 0, sizeof(entry->reserved)) ||
		    !tally_name_field_valid(entry->name, sizeof(entry->name)))
			return false;
		after = be32_to_cpu(entry->id);
	}
	return !reply->head.next ||
	       (count && be32_to_cpu(reply->head.next) == after);
}

static int list_ask(struct tally_session *s, u32 arena, u32 after,
		    struct list_reply *reply, const struct tally_until *until)
{
	struct tally_msg_list body = {
		.arena = cpu_to_be32(arena),
		.after = cpu_to_be32(after),
	};
	u32 len = TALLY_REPLY_MAX;
	int err;

	err = tally_view_ask(s, TALLY_MSG_LIST, &body, sizeof(body), reply,
			     &len, until);
	if (!err && !reply_valid(reply, len, !arena, after)) {
		tally_session_violation(s, "malformed answer to LIST");
		err = -EPROTO;
	}
	return err;
}

static int list_session(struct tally_session *s, u32 arena, u32 after,
			tally_list_fn fn, void *ctx,
			const struct tally_until *until)
{
	struct list_reply *reply = kmalloc(TALLY_REPLY_MAX, GFP_KERNEL);
	const struct tally_list_entry *entry;
	bool more = true;
	int err = 0;
	u32 i;

	if (!reply)
		return -ENOMEM;
	while (more) {
		err = list_ask(s, arena, after, reply, until);
		if (err)
			break;
		after = be32_to_cpu(reply->head.next);
		more = after;
		for (i = 0; i < be32_to_cpu(reply->head.count); i++) {
			entry = &reply->entry[i];
			if (!fn(ctx, entry->name, entry->type,
				be32_to_cpu(entry->id)))
				goto out;
		}
	}
out:
	kfree(reply);
	return err;
}

static void list_local(struct tally_arena *arena, u32 after, tally_list_fn fn,
		       void *ctx)
{
	struct tally_object *object;
	bool more = true;

	while (more && (object = tally_object_next(arena, after))) {
		after = object->id;
		more = fn(ctx, object->config.name, object->config.type->id,
			  after);
		tally_object_put(object);
	}
}

/**
 * tally_view_list - the objects of an arena
 * @view: the arena
 * @after: id to go on behind, 0 to begin
 * @fn: called for each, in the order of ids, without locks
 * @ctx: given to @fn
 * @timeout: in jiffies, MAX_SCHEDULE_TIMEOUT for none
 *
 * Context: process, sleeps, killable.
 * Return: 0 or the errors of tally_view_find().
 */
int tally_view_list(struct tally_view *view, u32 after, tally_list_fn fn,
		    void *ctx, long timeout)
{
	struct tally_until until = tally_until(timeout);
	struct tally_session *s;
	int err;

	err = tally_view_attach(view, false, &until);
	if (err)
		return err;
	if (view->arena) {
		list_local(view->arena, after, fn, ctx);
		return 0;
	}
	s = tally_view_session(view);
	if (!s)
		return -ENOTCONN;
	err = list_session(s, view->remote_id, after, fn, ctx, &until);
	tally_session_put(s);
	if (err == -EIDRM)
		tally_view_fail(view, err);
	return err;
}

/* An arena somewhere. */
struct list_found {
	struct list_head list;
	const char *home;
	bool ambiguous;
	char name[TALLY_NAME_SIZE];
};

/* Those of one home. */
struct list_arenas {
	struct list_head found;
	u32 count;
	bool no_memory;
};

static bool arenas_note(void *ctx, const char *name, u8 type, u32 id)
{
	struct list_arenas *arenas = ctx;
	struct list_found *found;

	if (arenas->count == LIST_ARENAS_MAX)
		return false;
	found = kzalloc(sizeof(*found), GFP_KERNEL);
	if (!found) {
		arenas->no_memory = true;
		return false;
	}
	strscpy(found->name, name, sizeof(found->name));
	list_add_tail(&found->list, &arenas->found);
	arenas->count++;
	return true;
}

static void arenas_own(struct tally_node *node, struct list_arenas *arenas)
{
	struct tally_arena *arena;
	u32 after = 0;

	while ((arena = tally_arena_next(node, after))) {
		after = arena->id;
		arenas_note(arenas, arena->config.name, 0, after);
		tally_arena_put(arena);
	}
}

static void arenas_of(struct tally_node *node, const char *home,
		      struct list_arenas *arenas,
		      const struct tally_until *until)
{
	struct tally_peer *peer = tally_peer_find(node, home);
	struct tally_session *s;

	if (!peer)
		return;
	s = tally_peer_session(peer);
	if (s && tally_session_is_live(s))
		list_session(s, 0, 0, arenas_note, arenas, until);
	if (s)
		tally_session_put(s);
	tally_peer_put(peer);
}

/* One that does not answer shows nothing; that is not an error of ours. */
static void *arenas_ask(struct tally_homes *homes, const char *home)
{
	struct list_arenas *arenas = kzalloc(sizeof(*arenas), GFP_KERNEL);

	if (!arenas)
		return ERR_PTR(-ENOMEM);
	INIT_LIST_HEAD(&arenas->found);
	if (home)
		arenas_of(homes->node, home, arenas, &homes->until);
	else
		arenas_own(homes->node, arenas);
	return arenas;
}

static void found_free(struct list_head *list)
{
	struct list_found *found, *next;

	list_for_each_entry_safe(found, next, list, list)
		kfree(found);
}

static void arenas_drop(void *answer)
{
	struct list_arenas *arenas = answer;

	found_free(&arenas->found);
	kfree(arenas);
}

static const struct tally_question arenas_question = {
	.ask = arenas_ask,
	.drop = arenas_drop,
};

static void found_add(struct list_head *all, struct list_found *found)
{
	struct list_found *other;

	list_for_each_entry(other, all, list) {
		if (!strcmp(other->name, found->name)) {
			other->ambiguous = true;
			found->ambiguous = true;
		}
	}
	list_move_tail(&found->list, all);
}

/* In the order of the homes, not of their answers. */
static int found_collect(struct tally_homes *homes, struct list_head *all)
{
	struct list_found *found, *next;
	struct list_arenas *arenas;
	struct tally_home *home;
	u32 count = 0;

	list_for_each_entry(home, &homes->list, list) {
		if (IS_ERR(home->answer))
			return PTR_ERR(home->answer);
		arenas = home->answer;
		if (arenas->no_memory)
			return -ENOMEM;
		list_for_each_entry_safe(found, next, &arenas->found, list) {
			if (count++ == LIST_ARENAS_MAX)
				return 0;
			found->home = home->name;
			found_add(all, found);
		}
	}
	return 0;
}

static void found_tell(struct list_head *all, tally_list_fn fn, void *ctx)
{
	char name[2 * TALLY_NAME_SIZE];
	struct list_found *found;
	u32 id = 0;

	list_for_each_entry(found, all, list) {
		if (found->ambiguous)
			snprintf(name, sizeof(name), "%s@%s", found->name,
				 found->home);
		else
			strscpy(name, found->name, sizeof(name));
		if (!fn(ctx, name, 0, ++id))
			return;
	}
}

/**
 * tally_views_list - the arenas a node can see
 * @node: which
 * @fn: called for each, without locks; the id is only its place in this list
 * @ctx: given to @fn
 * @timeout: in jiffies, MAX_SCHEDULE_TIMEOUT for none
 *
 * Context: process, sleeps, killable.
 * Return: 0, -ENOMEM, -EINTR.
 */
int tally_views_list(struct tally_node *node, tally_list_fn fn, void *ctx,
		     long timeout)
{
	struct tally_until until = tally_until(timeout);
	struct tally_homes *homes;
	LIST_HEAD(all);
	int err;

	homes = tally_homes_ask(node, "", &arenas_question, &until);
	if (IS_ERR(homes))
		return PTR_ERR(homes);
	err = found_collect(homes, &all);
	if (!err)
		found_tell(&all, fn, ctx);
	found_free(&all);
	tally_homes_put(homes);
	return err;
}
