// SPDX-License-Identifier: GPL-2.0
#include "client/homes.h"

#include <linux/err.h>
#include <linux/slab.h>
#include "base/name.h"
#include "base/work.h"
#include "client/attach.h"
#include "object/wire.h"
#include "session/peer.h"
#include "session/session.h"

/*
 * Arenas one look takes in, of one home and of all: a peer's word is no reason
 * to run out of memory.
 */
#define LIST_ARENAS_MAX	4096

struct home;
struct homes;

/**
 * struct question - what homes are asked
 * @ask: asks one; process context, sleeps until homes->until at most. An answer
 *	or an error pointer
 * @drop: the answer is wanted no more; process context
 * @enough: so many answers end the asking; 0: all are wanted
 */
struct question {
	void *(*ask)(const struct home *home);
	void (*drop)(void *answer);
	u32 enough;
};

/**
 * struct home - one of the homes that are asked
 * @list: in homes.list
 * @homes: all of them, referenced until it has answered
 * @work: asks it
 * @session: with it, referenced; NULL: it is our own node
 * @name: of the node, as long as this
 * @answer: what ask() returned; NULL: nothing yet, or too late
 */
struct home {
	struct list_head list;
	struct homes *homes;
	struct work_struct work;
	struct tally_session *session;
	const char *name;
	void *answer;
};

/**
 * struct homes - our own node and all it has live sessions with
 * @ref: the caller, and each home that is still asked
 * @node: our node, referenced
 * @question: what is asked
 * @name: what it is asked about, or empty
 * @until: when they give up
 * @list: struct home, our own first, then in the order of the peers
 * @lock: protects what follows and the answers, until @over
 * @due: answers that are
 * @good: answers that were no errors
 * @over: no more answers are taken
 * @missing: a peer that was here is out of reach, and may have it; constant
 * @wait: for the last answer, or for one that is enough
 */
struct homes {
	struct kref ref;
	struct tally_node *node;
	const struct question *question;
	char name[TALLY_NAME_SIZE];
	struct tally_until until;
	struct list_head list;
	spinlock_t lock;	/* see above */
	u32 due;
	u32 good;
	bool over;
	bool missing;
	wait_queue_head_t wait;
};

static struct workqueue_struct *homes_wq;

static void homes_release(struct kref *ref)
{
	struct homes *homes = container_of(ref, struct homes, ref);
	struct home *home, *next;

	list_for_each_entry_safe(home, next, &homes->list, list) {
		tally_session_put(home->session);
		kfree(home);
	}
	tally_node_put(homes->node);
	kfree(homes);
}

/* True: it was taken. */
static bool home_answered(struct home *home, void *answer)
{
	struct homes *homes = home->homes;
	bool taken;

	spin_lock(&homes->lock);
	taken = !homes->over;
	if (taken)
		home->answer = answer;
	if (!IS_ERR_OR_NULL(answer))
		WRITE_ONCE(homes->good, homes->good + 1);
	WRITE_ONCE(homes->due, homes->due - 1);
	wake_up(&homes->wait);
	spin_unlock(&homes->lock);
	return taken;
}

static void home_work(struct work_struct *work)
{
	struct home *home = container_of(work, struct home, work);
	struct homes *homes = home->homes;
	void *answer = ERR_PTR(-EINTR);

	/* It may have waited for others while its asker went away. */
	if (!READ_ONCE(homes->over))
		answer = homes->question->ask(home);
	if (!home_answered(home, answer) && !IS_ERR_OR_NULL(answer))
		homes->question->drop(answer);
	kref_put(&homes->ref, homes_release);
}

/* The reference to @s, of a peer or NULL, is taken over. */
static int homes_add(struct homes *homes, struct tally_session *s)
{
	struct home *home = kzalloc(sizeof(*home), GFP_KERNEL);

	if (!home) {
		tally_session_put(s);
		return -ENOMEM;
	}
	INIT_WORK(&home->work, home_work);
	home->homes = homes;
	home->session = s;
	home->name = s ? s->name : homes->node->config.name;
	list_add_tail(&home->list, &homes->list);
	homes->due++;
	return 0;
}

static int homes_add_all(struct homes *homes)
{
	struct tally_session *s;
	struct tally_peer *peer;
	int err = homes_add(homes, NULL);
	u32 after = 0;

	while (!err && (peer = tally_peer_next(homes->node, after))) {
		after = peer->id;
		s = tally_peer_session(peer);
		if (s && tally_session_is_live(s)) {
			err = homes_add(homes, s);
		} else if (s) {
			homes->missing = true;
			tally_session_put(s);
		}
		tally_peer_put(peer);
	}
	return err;
}

static struct homes *homes_alloc(struct tally_node *node, const char *name,
				 const struct question *question,
				 const struct tally_until *until)
{
	struct homes *homes = kzalloc(sizeof(*homes), GFP_KERNEL);
	long most = msecs_to_jiffies(node->config.lease_ms);

	if (!homes)
		return NULL;
	kref_init(&homes->ref);
	spin_lock_init(&homes->lock);
	init_waitqueue_head(&homes->wait);
	INIT_LIST_HEAD(&homes->list);
	homes->node = tally_node_get(node);
	homes->question = question;
	/*
	 * The work that asks cannot be killed, as its caller can. A home that
	 * means to answer does so long before, and without a link its session
	 * ends by then.
	 */
	homes->until = tally_until(min(tally_until_left(until), most));
	strscpy(homes->name, name, sizeof(homes->name));
	return homes;
}

static bool homes_are_done(const struct homes *homes)
{
	u32 enough = homes->question->enough;

	return !READ_ONCE(homes->due) ||
	       (enough && READ_ONCE(homes->good) >= enough);
}

/* Drop the answers now, not when the last home has answered. */
static void homes_put(struct homes *homes)
{
	struct home *home;

	list_for_each_entry(home, &homes->list, list) {
		if (!IS_ERR_OR_NULL(home->answer))
			homes->question->drop(home->answer);
		home->answer = NULL;
	}
	kref_put(&homes->ref, homes_release);
}

/*
 * Ask our own node and all it has live sessions with, at once, about @name. A
 * caller that is killed does not wait for the homes that are still asked. The
 * answers belong to the caller until homes_put(); -ENOMEM, -EINTR.
 */
static struct homes *homes_ask(struct tally_node *node, const char *name,
			       const struct question *question,
			       const struct tally_until *until)
{
	struct homes *homes = homes_alloc(node, name, question, until);
	struct home *home;
	int err;

	if (!homes)
		return ERR_PTR(-ENOMEM);
	err = homes_add_all(homes);
	if (err)
		goto err_put;
	list_for_each_entry(home, &homes->list, list)
		tally_work_queue(homes_wq, &home->work, &homes->ref);
	err = wait_event_killable(homes->wait, homes_are_done(homes));
	spin_lock(&homes->lock);
	WRITE_ONCE(homes->over, true);
	spin_unlock(&homes->lock);
	if (!err)
		return homes;
	err = -EINTR;
err_put:
	homes_put(homes);
	return ERR_PTR(err);
}

static struct tally_view *view_at(struct tally_node *node, const char *home,
				  const char *name,
				  const struct tally_until *until)
{
	struct tally_arena *arena = NULL;
	struct tally_view *view;
	int err;

	if (!strcmp(home, node->config.name)) {
		arena = tally_arena_find(node, name);
		if (!arena)
			return ERR_PTR(-ENOENT);
	}
	/* A view that turns out to be of an arena that is gone is replaced. */
	do {
		view = tally_view_of(node, home, name, arena);
		err = PTR_ERR_OR_ZERO(view);
		if (err)
			break;
		err = tally_view_attach(view, true, until);
		if (err)
			tally_view_put(view);
	} while (!arena && (err == -EIDRM || err == -ESTALE));
	tally_arena_put(arena);
	return !err ? view : ERR_PTR(err == -EIDRM ? -ENOENT : err);
}

static void *find_ask(const struct home *home)
{
	struct homes *homes = home->homes;

	return view_at(homes->node, home->name, homes->name, &homes->until);
}

static void find_drop(void *answer)
{
	tally_view_put(answer);
}

static const struct question find_question = {
	.ask = find_ask,
	.drop = find_drop,
	.enough = 2,
};

/* Is the home of an arena of that name, which is still used, out of reach? */
static bool home_is_away(struct tally_node *node, const char *name)
{
	struct tally_view *view = NULL;
	struct tally_peer *peer = NULL;

	while (!peer && (view = tally_view_next(node, view)))
		if (!strcmp(view->name, name) &&
		    READ_ONCE(view->error) == -ENOTCONN)
			peer = tally_peer_find(node, view->home);
	tally_view_put(view);
	tally_peer_put(peer);
	return peer;
}

/* The only view among the answers, or the first error but for -ENOENT. */
static struct tally_view *find_among(struct homes *homes)
{
	struct tally_view *found = NULL;
	struct home *home;
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
	struct homes *homes = homes_ask(node, name, &find_question, until);
	struct tally_view *found;

	if (IS_ERR(homes))
		return ERR_CAST(homes);
	found = find_among(homes);
	if (!IS_ERR(found))
		tally_view_get(found);
	else if (found == ERR_PTR(-ENOENT) &&
		 (homes->missing || home_is_away(node, name)))
		found = ERR_PTR(-ENOTCONN);
	homes_put(homes);
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
 * have it), -EACCES, -ENOTCONN (NODE has no session; or none that can be asked has
 * it, and one that may have it is out of reach), -ESHUTDOWN, -ETIMEDOUT,
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
	return view_at(node, at + 1, arena, &until);
}

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
		    (arenas ? entry->type : !tally_type(entry->type)) ||
		    memchr_inv(entry->reserved, 0, sizeof(entry->reserved)) ||
		    !tally_name_field_valid(entry->name, sizeof(entry->name)))
			return false;
		after = be32_to_cpu(entry->id);
	}
	return !reply->head.next ||
	       (count && be32_to_cpu(reply->head.next) == after);
}

static int list_session(struct tally_session *s, u32 arena, u32 after,
			tally_list_fn fn, void *ctx,
			const struct tally_until *until)
{
	struct list_reply *reply = kmalloc(TALLY_REPLY_MAX, GFP_KERNEL);
	struct tally_msg_list body = { .arena = cpu_to_be32(arena) };
	const struct tally_list_entry *entry;
	u32 len, left;
	int err;

	if (!reply)
		return -ENOMEM;
	do {
		len = TALLY_REPLY_MAX;
		body.after = cpu_to_be32(after);
		err = tally_view_ask(s, TALLY_MSG_LIST, &body, sizeof(body),
				     reply, &len, until);
		if (!err && !reply_valid(reply, len, !arena, after)) {
			tally_session_violation(s, "malformed answer to LIST");
			err = -EPROTO;
		}
		if (err)
			break;
		after = be32_to_cpu(reply->head.next);
		entry = reply->entry;
		for (left = be32_to_cpu(reply->head.count); left; left--) {
			if (!fn(ctx, entry->name, entry->type,
				be32_to_cpu(entry->id)))
				goto out;
			entry++;
		}
	} while (after);
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
 * tally_view_show - what its home shows of an arena or an object
 * @view: the arena, of another node
 * @msg: what is wanted; @arena is filled in
 * @rep: gets the reply
 * @len: in: size of @rep, out: length of what came
 * @timeout: in jiffies, MAX_SCHEDULE_TIMEOUT for none
 *
 * Context: process, sleeps, killable.
 * Return: 0, -EOPNOTSUPP (it is ours), -ENOENT (no such object), -EPROTOTYPE, or the
 * errors of tally_view_find().
 */
int tally_view_show(struct tally_view *view, struct tally_msg_show *msg,
		    struct tally_rep_show *rep, u32 *len, long timeout)
{
	struct tally_until until = tally_until(timeout);
	int err = view->arena ? -EOPNOTSUPP :
		  tally_view_attach(view, false, &until);
	struct tally_session *s = err ? NULL : tally_view_session(view);
	u32 next;

	if (!s)
		return err ?: -ENOTCONN;
	msg->arena = cpu_to_be32(view->remote_id);
	err = tally_view_ask(s, TALLY_MSG_SHOW, msg, sizeof(*msg), rep, len,
			     &until);
	next = !err && *len >= sizeof(*rep) ? be32_to_cpu(rep->next) : 0;
	/* Ids grow, as in LIST. */
	if (!err && (*len < sizeof(*rep) ||
		     (next && next <= be32_to_cpu(msg->after))))
		err = -EPROTO;
	if (err == -EPROTO)
		tally_session_violation(s, "malformed answer to SHOW");
	tally_session_put(s);
	return err;
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
	int err = tally_view_attach(view, false, &until);
	struct tally_session *s;

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

struct list_found {
	struct list_head list;
	char name[TALLY_NAME_SIZE];
};

/* The arenas of one home. */
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

static void arenas_drop(void *answer)
{
	struct list_arenas *arenas = answer;
	struct list_found *found, *next;

	list_for_each_entry_safe(found, next, &arenas->found, list)
		kfree(found);
	kfree(arenas);
}

/* One that does not answer shows nothing; that is not an error of ours. */
static void *arenas_ask(const struct home *home)
{
	struct list_arenas *arenas = kzalloc(sizeof(*arenas), GFP_KERNEL);
	struct homes *homes = home->homes;
	struct tally_arena *arena;
	u32 after = 0;

	if (!arenas)
		return ERR_PTR(-ENOMEM);
	INIT_LIST_HEAD(&arenas->found);
	if (home->session)
		list_session(home->session, 0, 0, arenas_note, arenas,
			     &homes->until);
	while (!home->session && (arena = tally_arena_next(homes->node, after))) {
		after = arena->id;
		arenas_note(arenas, arena->config.name, 0, after);
		tally_arena_put(arena);
	}
	if (!arenas->no_memory)
		return arenas;
	arenas_drop(arenas);
	return ERR_PTR(-ENOMEM);
}

static const struct question arenas_question = {
	.ask = arenas_ask,
	.drop = arenas_drop,
};

static bool arenas_elsewhere(const struct homes *homes,
			     const struct home *home, const char *name)
{
	struct list_arenas *arenas;
	u32 left = LIST_ARENAS_MAX;
	struct list_found *found;
	struct home *other;

	cond_resched();
	list_for_each_entry(other, &homes->list, list) {
		if (other == home)
			continue;
		arenas = other->answer;
		list_for_each_entry(found, &arenas->found, list) {
			if (!left--)
				return false;
			if (!strcmp(found->name, name))
				return true;
		}
	}
	return false;
}

/* In the order of the homes, not of their answers. */
static void arenas_tell(const struct homes *homes, u32 after, tally_list_fn fn,
			void *ctx)
{
	char name[2 * TALLY_NAME_SIZE];
	struct list_arenas *arenas;
	struct list_found *found;
	struct home *home;
	u32 id = 0;

	list_for_each_entry(home, &homes->list, list) {
		arenas = home->answer;
		list_for_each_entry(found, &arenas->found, list) {
			if (id++ < after)
				continue;
			strscpy(name, found->name, sizeof(name));
			if (arenas_elsewhere(homes, home, found->name))
				snprintf(name, sizeof(name), "%s@%s",
					 found->name, home->name);
			if (id > LIST_ARENAS_MAX || !fn(ctx, name, 0, id))
				return;
		}
	}
}

/**
 * tally_views_list - the arenas a node can see
 * @node: which
 * @after: id to go on behind, 0 to begin
 * @fn: called for each, without locks; the id is only its place in this list
 * @ctx: given to @fn
 * @timeout: in jiffies, MAX_SCHEDULE_TIMEOUT for none
 *
 * Context: process, sleeps, killable.
 * Return: 0, -ENOMEM, -EINTR.
 */
int tally_views_list(struct tally_node *node, u32 after, tally_list_fn fn,
		     void *ctx, long timeout)
{
	struct tally_until until = tally_until(timeout);
	struct homes *homes = homes_ask(node, "", &arenas_question, &until);
	struct home *home;
	int err = 0;

	if (IS_ERR(homes))
		return PTR_ERR(homes);
	list_for_each_entry(home, &homes->list, list)
		err = err ?: PTR_ERR_OR_ZERO(home->answer);
	if (!err)
		arenas_tell(homes, after, fn, ctx);
	homes_put(homes);
	return err;
}

int tally_homes_init(void)
{
	homes_wq = alloc_workqueue("tally_homes", WQ_UNBOUND, 0);
	return homes_wq ? 0 : -ENOMEM;
}

/* No node is left: waits for questions whose callers have left. */
void tally_homes_exit(void)
{
	destroy_workqueue(homes_wq);
}
