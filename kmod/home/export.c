// SPDX-License-Identifier: GPL-2.0
#include "home/export.h"

#include <linux/err.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include "base/name.h"
#include "session/rpc.h"
#include "session/session.h"
#include "region/region.h"

#define ATTACH_MR_ACCESS	(IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)

static void attach_say_forget(struct tally_attach *attach, u32 object,
			      u32 generation)
{
	struct tally_session *s = attach->session;
	struct tally_wire_object body = {
		.arena = cpu_to_be32(attach->arena->id),
		.object = cpu_to_be32(object),
		.generation = cpu_to_be32(generation),
	};

	/* What cannot be sent now is sent when the link is back. */
	if (!tally_session_send(s, TALLY_MSG_FORGET, &body, sizeof(body)))
		tally_stat_inc(&s->node->stats, TALLY_STAT_FORGET);
}

/**
 * tally_attach_forget_object - tell all who were given it to forget an object
 * @object: deleted
 *
 * Context: process, arena->lock held.
 */
void tally_attach_forget_object(struct tally_object *object)
{
	struct tally_open *open;

	lockdep_assert_held(&object->arena->lock);
	list_for_each_entry(open, &object->opens, list) {
		open->forget = true;
		attach_say_forget(open->attach, object->id,
				  object->generation);
	}
}

/**
 * tally_attach_forget_arena - tell all who attached to forget an arena
 * @arena: dead, all its objects are deleted
 *
 * Context: process, arena->lock held.
 */
void tally_attach_forget_arena(struct tally_arena *arena)
{
	struct tally_attach *attach;

	lockdep_assert_held(&arena->lock);
	list_for_each_entry(attach, &arena->attached, list) {
		attach->forget = true;
		attach_say_forget(attach, 0, 0);
	}
}

/**
 * tally_attach_recheck - rights changed: fence who holds more than it may
 * @arena: which
 *
 * Context: process, arena->lock held.
 */
void tally_attach_recheck(struct tally_arena *arena)
{
	struct tally_attach *attach;
	const char *peer;

	lockdep_assert_held(&arena->lock);
	list_for_each_entry(attach, &arena->attached, list) {
		peer = attach->session->name;
		if (tally_arena_access_locked(arena, peer) < attach->access)
			tally_session_fence(attach->session, -EACCES);
	}
}

/**
 * tally_attach_direct - does any session hold a key to the words?
 * @arena: which
 *
 * Context: process, arena->lock held.
 * Return: true when one does.
 */
bool tally_attach_direct(struct tally_arena *arena)
{
	struct tally_attach *attach;

	lockdep_assert_held(&arena->lock);
	list_for_each_entry(attach, &arena->attached, list)
		if (attach->mr)
			return true;
	return false;
}

/**
 * tally_attach_of - the attachment of a session to an arena
 * @up: of the session, locked
 * @arena: id of the arena
 *
 * Return: the attachment or NULL.
 */
struct tally_attach *tally_attach_of(struct tally_upper *up, u32 arena)
{
	struct tally_attach *attach;

	lockdep_assert_held(&up->lock);
	list_for_each_entry(attach, &up->attaches, mine)
		if (attach->arena->id == arena)
			return attach;
	return NULL;
}

/**
 * tally_attach_open - what an attachment has open
 * @attach: its arena is locked
 * @object: id of the object
 * @generation: of that id
 *
 * Return: the open or NULL.
 */
struct tally_open *tally_attach_open(struct tally_attach *attach, u32 object,
				     u32 generation)
{
	struct tally_open *open;

	lockdep_assert_held(&attach->arena->lock);
	list_for_each_entry(open, &attach->opens, mine)
		if (open->object->id == object &&
		    open->object->generation == generation)
			return open;
	return NULL;
}

/* It is in no list any more. */
static void open_free(struct tally_upper *up, struct tally_open *open)
{
	if (open->object->config.type == TALLY_TYPE_REGION)
		tally_region_home_closed(open->object, up->session);
	tally_object_put(open->object);
	kfree(open);
	atomic_dec(&up->opens);
}

static void opens_free(struct tally_upper *up, struct list_head *opens)
{
	struct tally_open *open, *next;

	list_for_each_entry_safe(open, next, opens, mine)
		open_free(up, open);
}

/* It is in no list of the session any more. */
static void attach_free(struct tally_upper *up, struct tally_attach *attach)
{
	struct tally_arena *arena = attach->arena;
	struct tally_open *open;
	LIST_HEAD(opens);

	/* The key goes before anything it reaches. */
	if (attach->mr) {
		tally_mr_destroy(attach->mr);
		atomic_sub(arena->config.words >> PAGE_SHIFT,
			   &up->session->mr_pages);
	}
	mutex_lock(&arena->lock);
	list_del(&attach->list);
	list_for_each_entry(open, &attach->opens, mine)
		list_del(&open->list);
	list_splice_init(&attach->opens, &opens);
	mutex_unlock(&arena->lock);
	opens_free(up, &opens);
	kfree(attach);
	tally_arena_put(arena);
}

static bool attach_is_over(struct tally_attach *attach)
{
	bool over;

	mutex_lock(&attach->arena->lock);
	over = attach->forgotten && list_empty(&attach->opens);
	mutex_unlock(&attach->arena->lock);
	return over;
}

static void upper_reap(struct work_struct *work)
{
	struct tally_upper *up = container_of(work, struct tally_upper, reap);
	struct tally_attach *attach, *next;
	LIST_HEAD(attaches);
	LIST_HEAD(opens);

	mutex_lock(&up->lock);
	list_splice_init(&up->gone, &opens);
	list_for_each_entry_safe(attach, next, &up->attaches, mine)
		if (attach_is_over(attach))
			list_move(&attach->mine, &attaches);
	mutex_unlock(&up->lock);
	opens_free(up, &opens);
	list_for_each_entry_safe(attach, next, &attaches, mine)
		attach_free(up, attach);
}

/**
 * tally_arenas_session_created - a session begins
 * @s: which
 *
 * Return: 0 or -ENOMEM.
 */
int tally_arenas_session_created(struct tally_session *s)
{
	struct tally_upper *up = kzalloc(sizeof(*up), GFP_KERNEL);

	if (!up)
		return -ENOMEM;
	up->session = s;
	mutex_init(&up->reg_lock);
	mutex_init(&up->lock);
	INIT_LIST_HEAD(&up->attaches);
	INIT_LIST_HEAD(&up->gone);
	INIT_WORK(&up->reap, upper_reap);
	s->upper = up;
	return 0;
}

static void attach_repeat(struct tally_attach *attach)
{
	struct tally_open *open;

	mutex_lock(&attach->arena->lock);
	list_for_each_entry(open, &attach->opens, mine)
		if (open->forget && !open->closing)
			attach_say_forget(attach, open->object->id,
					  open->object->generation);
	if (attach->forget && !attach->forgotten)
		attach_say_forget(attach, 0, 0);
	mutex_unlock(&attach->arena->lock);
}

/**
 * tally_arenas_session_live - the link of a session is up
 * @s: which
 * @resumed: it was up before; requests come before the first time, too
 *
 * Says again what could not be said or was not answered.
 */
void tally_arenas_session_live(struct tally_session *s, bool resumed)
{
	struct tally_upper *up = s->upper;
	struct tally_attach *attach;

	mutex_lock(&up->lock);
	list_for_each_entry(attach, &up->attaches, mine)
		attach_repeat(attach);
	mutex_unlock(&up->lock);
}

/**
 * tally_arenas_session_over - take back all a session was given
 * @s: fenced; its QPs are destroyed and no request comes any more
 *
 * Context: process, sleeps until the requests under way are answered.
 */
void tally_arenas_session_over(struct tally_session *s)
{
	struct tally_upper *up = s->upper;
	struct tally_attach *attach, *next;

	if (!up)
		return;
	wait_event(s->wait, !atomic_read(&up->busy));
	cancel_work_sync(&up->reap);
	opens_free(up, &up->gone);
	list_for_each_entry_safe(attach, next, &up->attaches, mine)
		attach_free(up, attach);
	s->upper = NULL;
	kfree(up);
}

/**
 * tally_arenas_busy - a request goes on in another context
 * @s: its session
 *
 * Context: process, from the request upcall.
 */
void tally_arenas_busy(struct tally_session *s)
{
	struct tally_upper *up = s->upper;

	atomic_inc(&up->busy);
}

/**
 * tally_arenas_done - it is done there, and about to be answered
 * @s: its session
 *
 * Context: process.
 */
void tally_arenas_done(struct tally_session *s)
{
	struct tally_upper *up = s->upper;

	/* The session stays until the reply; @up goes when this is 0. */
	if (atomic_dec_and_test(&up->busy))
		wake_up_all(&s->wait);
}

static void attach_fill(const struct tally_attach *attach,
			struct tally_rep_attach *rep)
{
	const struct tally_arena *arena = attach->arena;

	lockdep_assert_held(&arena->lock);
	*rep = (struct tally_rep_attach) {
		.arena = cpu_to_be32(arena->id),
		.words = cpu_to_be32(arena->config.words),
		.mode = arena->mode,
		.path = TALLY_PATH_MESSAGE,
		.access = attach->access,
		.uid = cpu_to_be32(from_kuid(&init_user_ns,
					     arena->config.uid)),
		.gid = cpu_to_be32(from_kgid(&init_user_ns,
					     arena->config.gid)),
		.perm = cpu_to_be32(arena->config.perm),
	};
	if (attach->mr) {
		rep->path = TALLY_PATH_DIRECT;
		rep->rkey = cpu_to_be32(attach->mr->mr->rkey);
		rep->addr = cpu_to_be64(attach->mr->addr);
	}
}

static int attach_register(struct tally_attach *attach)
{
	struct tally_session *s = attach->session;
	struct tally_arena *arena = attach->arena;
	u32 pages = arena->config.words >> PAGE_SHIFT;
	struct tally_conn *lane = tally_session_lane(s, 0);
	struct tally_mr *mr;

	if (!lane)
		return -EAGAIN;	/* the peer was faster than our last lane */
	mr = tally_mr_create(lane, arena->word_pages, pages, ATTACH_MR_ACCESS);
	tally_conn_put(lane);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	attach->mr = mr;
	atomic_add(pages, &s->mr_pages);
	return 0;
}

/*
 * May this session post atomics to the words itself? Only on the device that
 * owns them: atomics of two devices are not atomic with each other (B18).
 */
static bool attach_may_post(struct tally_attach *attach)
{
	struct tally_arena *arena = attach->arena;

	lockdep_assert_held(&arena->lock);
	return arena->mode == TALLY_MODE_NIC &&
	       attach->access == TALLY_ACCESS_RW &&
	       (attach->session->peer_features & TALLY_FEATURE_ATOMICS) &&
	       attach->session->dev == arena->dev;
}

/* Looks at the arena with its lock held; @attach is not linked yet. */
static int attach_check(struct tally_attach *attach, bool *direct)
{
	struct tally_arena *arena = attach->arena;

	lockdep_assert_held(&arena->lock);
	if (arena->state == TALLY_ARENA_DEAD)
		return -ENOENT;
	attach->access = tally_arena_access_locked(arena,
						   attach->session->name);
	if (attach->access == TALLY_ACCESS_NONE)
		return -EACCES;
	if (arena->state == TALLY_ARENA_STARTING)
		return -EAGAIN;
	*direct = attach_may_post(attach);
	return 0;
}

static int attach_link(struct tally_upper *up, struct tally_attach *attach,
		       bool was_direct, struct tally_rep_attach *rep)
{
	struct tally_arena *arena = attach->arena;
	bool direct = false;
	int err;

	mutex_lock(&up->lock);
	mutex_lock(&arena->lock);
	err = attach_check(attach, &direct);
	if (!err && was_direct != direct)
		err = -EAGAIN;
	if (!err) {
		list_add_tail(&attach->list, &arena->attached);
		list_add_tail(&attach->mine, &up->attaches);
		attach_fill(attach, rep);
	}
	mutex_unlock(&arena->lock);
	mutex_unlock(&up->lock);
	return err;
}

/* A first ATTACH of this session to this arena. */
static int attach_new(struct tally_upper *up, struct tally_arena *arena,
		      struct tally_rep_attach *rep)
{
	struct tally_attach *attach = kzalloc(sizeof(*attach), GFP_KERNEL);
	bool direct = false;
	int err;

	if (!attach)
		return -ENOMEM;
	attach->session = up->session;
	attach->arena = arena;
	INIT_LIST_HEAD(&attach->opens);
	mutex_lock(&arena->lock);
	err = attach_check(attach, &direct);
	mutex_unlock(&arena->lock);
	if (!err && direct)
		err = attach_register(attach);
	if (!err)
		err = attach_link(up, attach, direct, rep);
	if (!err) {
		tally_arena_get(arena);
		return 0;
	}
	if (attach->mr) {
		tally_mr_destroy(attach->mr);
		atomic_sub(arena->config.words >> PAGE_SHIFT,
			   &up->session->mr_pages);
	}
	kfree(attach);
	return err;
}

/* The same key, and the rights of today. */
static int attach_again(struct tally_attach *attach,
			struct tally_rep_attach *rep)
{
	struct tally_arena *arena = attach->arena;
	u8 access;
	int err = 0;

	mutex_lock(&arena->lock);
	access = tally_arena_access_locked(arena, attach->session->name);
	if (arena->state == TALLY_ARENA_DEAD)
		err = -ENOENT;
	else if (access == TALLY_ACCESS_NONE)
		err = -EACCES;
	else
		attach->access = access;
	attach_fill(attach, rep);
	mutex_unlock(&arena->lock);
	return err;
}

static int attach_do(struct tally_upper *up, const char *name,
		     struct tally_rep_attach *rep)
{
	struct tally_arena *arena = tally_arena_find(up->session->node, name);
	struct tally_attach *attach;
	int err;

	if (!arena)
		return -ENOENT;
	mutex_lock(&up->reg_lock);
	mutex_lock(&up->lock);
	attach = tally_attach_of(up, arena->id);
	if (attach)
		err = attach_again(attach, rep);
	mutex_unlock(&up->lock);
	if (!attach)
		err = attach_new(up, arena, rep);
	mutex_unlock(&up->reg_lock);
	tally_arena_put(arena);
	return err;
}

static void attach_work(struct work_struct *work)
{
	struct tally_sreq *req = container_of(work, struct tally_sreq, work);
	struct tally_msg_attach *body = (void *)req->body;
	struct tally_rep_attach rep;
	int err;

	err = attach_do(req->session->upper, body->arena, &rep);
	tally_arenas_done(req->session);
	tally_sreq_reply(req, err, &rep, err ? 0 : sizeof(rep));
}

/**
 * tally_attach_defer - go on with a request where one may sleep
 * @req: the request
 * @fn: goes on with it, and calls tally_arenas_done() before it replies
 *
 * Context: process, from the request upcall.
 */
void tally_attach_defer(struct tally_sreq *req, work_func_t fn)
{
	tally_arenas_busy(req->session);
	INIT_WORK(&req->work, fn);
	queue_work(req->session->node->wq, &req->work);
}

/**
 * tally_attach_request - ATTACH
 * @s: session
 * @req: the request
 */
void tally_attach_request(struct tally_session *s, struct tally_sreq *req)
{
	struct tally_msg_attach *body = (void *)req->body;
	int err;

	if (req->len != sizeof(*body) ||
	    !tally_name_field_valid(body->arena, sizeof(body->arena))) {
		err = tally_attach_malformed(s, "malformed ATTACH");
		tally_sreq_reply(req, err, NULL, 0);
		return;
	}
	tally_attach_defer(req, attach_work);	/* a registration sleeps */
}

/* An answer to what was not asked breaks the protocol; a second one does not. */
static int forgotten_locked(struct tally_upper *up, struct tally_attach *attach,
			    u32 object, u32 generation)
{
	struct tally_open *open;

	lockdep_assert_held(&attach->arena->lock);
	if (!object) {
		if (generation || !attach->forget)
			return -EPROTO;
		attach->forgotten = true;
		return 0;
	}
	open = tally_attach_open(attach, object, generation);
	if (!open)
		return 0;
	if (!open->forget)
		return -EPROTO;
	if (!open->closing) {
		list_del(&open->list);
		list_move(&open->mine, &up->gone);
	}
	return 0;
}

/**
 * tally_arenas_forgotten - a peer will not aim at an object any more
 * @s: its session
 * @body: struct tally_wire_object
 * @len: its length
 *
 * Context: process.
 * Return: 0, or -EPROTO when it broke the protocol.
 */
int tally_arenas_forgotten(struct tally_session *s, const void *body, u32 len)
{
	const struct tally_wire_object *which = body;
	struct tally_upper *up = s->upper;
	struct tally_attach *attach;
	int err = 0;

	if (!tally_attach_names_object(which, len))
		return -EPROTO;
	mutex_lock(&up->lock);
	attach = tally_attach_of(up, be32_to_cpu(which->arena));
	if (attach) {
		mutex_lock(&attach->arena->lock);
		err = forgotten_locked(up, attach, be32_to_cpu(which->object),
				       be32_to_cpu(which->generation));
		mutex_unlock(&attach->arena->lock);
	}
	mutex_unlock(&up->lock);
	if (attach && !err)
		queue_work(s->node->wq, &up->reap);
	return err;
}
