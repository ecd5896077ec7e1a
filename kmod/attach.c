// SPDX-License-Identifier: GPL-2.0
#include "attach.h"

#include <linux/err.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include "name.h"
#include "peer.h"
#include "region.h"

#define ATTACH_MR_ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ | \
				 IB_ACCESS_REMOTE_ATOMIC)
#define LIST_ENTRIES	((TALLY_REPLY_MAX - sizeof(struct tally_rep_list)) / \
			 sizeof(struct tally_list_entry))

/**
 * struct tally_upper - what a session was given here; session->upper
 * @session: whose; it outlives this
 * @reg_lock: one registration at a time
 * @lock: protects @attaches, @gone
 * @attaches: struct tally_attach
 * @gone: struct tally_open that were answered FORGOTTEN, for @reap
 * @reap: frees those, and attachments of arenas that are gone
 * @opens: how many opens, against TALLY_OPENS_MAX
 * @busy: requests that go on in another context
 * @idle: woken when @busy becomes 0
 */
struct tally_upper {
	struct tally_session *session;
	struct mutex reg_lock;
	struct mutex lock;
	struct list_head attaches;
	struct list_head gone;
	struct work_struct reap;
	atomic_t opens;
	atomic_t busy;
	wait_queue_head_t idle;
};

/* The peer sent what no peer may send. The request still gets its answer. */
static int attach_malformed(struct tally_session *s, const char *what)
{
	tally_session_violation(s, what);
	return -EPROTO;
}

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
	if (!tally_session_send(s, TALLY_MSG_FORGET, &body, sizeof(body),
				NULL, 0))
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
		peer = attach->session->peer->name;
		if (tally_arena_access_locked(arena, peer) < attach->access)
			tally_session_end(attach->session, -EACCES);
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

static struct tally_attach *attach_of(struct tally_upper *up, u32 arena)
{
	struct tally_attach *attach;

	lockdep_assert_held(&up->lock);
	list_for_each_entry(attach, &up->attaches, mine)
		if (attach->arena->id == arena)
			return attach;
	return NULL;
}

static struct tally_open *attach_open(struct tally_attach *attach, u32 object,
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
	init_waitqueue_head(&up->idle);
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
	wait_event(up->idle, !atomic_read(&up->busy));
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

	/* Under the lock of the queue, lest over() frees it before the wake-up. */
	spin_lock_irq(&up->idle.lock);
	if (atomic_dec_and_test(&up->busy))
		wake_up_locked(&up->idle);
	spin_unlock_irq(&up->idle.lock);
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
	if (IS_ERR_OR_NULL(mr))
		return mr ? PTR_ERR(mr) : -ENOMEM;
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
						   attach->session->peer->name);
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
	access = tally_arena_access_locked(arena, attach->session->peer->name);
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
	attach = attach_of(up, arena->id);
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

static void request_defer(struct tally_sreq *req, work_func_t fn)
{
	tally_arenas_busy(req->session);
	INIT_WORK(&req->work, fn);
	queue_work(req->session->node->wq, &req->work);
}

static void request_attach(struct tally_session *s, struct tally_sreq *req)
{
	struct tally_msg_attach *body = (void *)req->body;
	int err;

	if (req->len != sizeof(*body) ||
	    !tally_name_field_valid(body->arena, sizeof(body->arena))) {
		err = attach_malformed(s, "malformed ATTACH");
		tally_sreq_reply(req, err, NULL, 0);
		return;
	}
	request_defer(req, attach_work);	/* a registration sleeps */
}

static void open_fill(const struct tally_object *object,
		      struct tally_rep_open *rep)
{
	const struct tally_object_config *config = &object->config;

	lockdep_assert_held(&object->arena->lock);
	*rep = (struct tally_rep_open) {
		.object = cpu_to_be32(object->id),
		.generation = cpu_to_be32(object->generation),
		.size = cpu_to_be64(config->size),
		.uid = cpu_to_be32(from_kuid(&init_user_ns, config->uid)),
		.gid = cpu_to_be32(from_kgid(&init_user_ns, config->gid)),
		.perm = cpu_to_be32(config->perm),
		.type = config->type,
		.lock_class = config->lock_class,
	};
	if (object->word != TALLY_NO_WORD)
		rep->word = cpu_to_be32(object->word);
}

static int open_new(struct tally_upper *up, struct tally_attach *attach,
		    struct tally_object *object)
{
	struct tally_open *open;

	lockdep_assert_held(&attach->arena->lock);
	if (atomic_read(&up->opens) >= TALLY_OPENS_MAX) {
		tally_stat_inc(&up->session->node->stats, TALLY_STAT_QUOTA);
		return -EDQUOT;
	}
	open = kzalloc(sizeof(*open), GFP_KERNEL_ACCOUNT);
	if (!open)
		return -ENOMEM;
	atomic_inc(&up->opens);
	open->attach = attach;
	open->object = tally_object_get(object);
	list_add_tail(&open->list, &object->opens);
	list_add_tail(&open->mine, &attach->opens);
	return 0;
}

/* Returns a reference to the object. Opening twice is opening once. */
static struct tally_object *open_locked(struct tally_upper *up,
					struct tally_attach *attach,
					const char *name,
					struct tally_rep_open *rep)
{
	struct tally_arena *arena = attach->arena;
	struct tally_object *object;
	struct tally_open *open;
	int err;

	lockdep_assert_held(&arena->lock);
	if (arena->state == TALLY_ARENA_DEAD)
		return ERR_PTR(-EIDRM);
	if (tally_arena_access_locked(arena, up->session->peer->name) ==
	    TALLY_ACCESS_NONE)
		return ERR_PTR(-EACCES);
	list_for_each_entry(object, &arena->names, list)
		if (!strcmp(object->config.name, name))
			break;
	if (list_entry_is_head(object, &arena->names, list))
		return ERR_PTR(-ENOENT);
	open = attach_open(attach, object->id, object->generation);
	if (open && open->closing)
		return ERR_PTR(-EAGAIN);
	err = open ? 0 : open_new(up, attach, object);
	if (err)
		return ERR_PTR(err);
	open_fill(object, rep);
	return tally_object_get(object);
}

static int open_do(struct tally_upper *up, u32 arena, const char *name,
		   struct tally_rep_open *rep)
{
	struct tally_object *object = ERR_PTR(-EIDRM);
	struct tally_attach *attach;

	mutex_lock(&up->lock);
	attach = attach_of(up, arena);
	if (attach) {
		mutex_lock(&attach->arena->lock);
		object = open_locked(up, attach, name, rep);
		mutex_unlock(&attach->arena->lock);
	}
	mutex_unlock(&up->lock);
	if (IS_ERR(object))
		return PTR_ERR(object);
	if (object->config.type == TALLY_TYPE_REGION)
		tally_region_home_opened(object, up->session, rep);
	tally_object_put(object);
	return 0;
}

static void request_open(struct tally_session *s, struct tally_sreq *req)
{
	struct tally_msg_open *body = (void *)req->body;
	struct tally_rep_open rep;
	int err;

	if (req->len != sizeof(*body) ||
	    memchr_inv(body->reserved, 0, sizeof(body->reserved)) ||
	    !tally_name_field_valid(body->object, sizeof(body->object)))
		err = attach_malformed(s, "malformed OPEN");
	else
		err = open_do(s->upper, be32_to_cpu(body->arena),
			      body->object, &rep);
	tally_sreq_reply(req, err, &rep, err ? 0 : sizeof(rep));
}

static bool wire_object_valid(const struct tally_wire_object *body, u32 len)
{
	return len == sizeof(*body) && !body->reserved;
}

/* The open an attachment has of that object, marked as closing, or NULL. */
static struct tally_open *close_begin(struct tally_upper *up,
				      const struct tally_wire_object *body)
{
	struct tally_attach *attach;
	struct tally_open *open = NULL;

	mutex_lock(&up->lock);
	attach = attach_of(up, be32_to_cpu(body->arena));
	if (attach) {
		mutex_lock(&attach->arena->lock);
		open = attach_open(attach, be32_to_cpu(body->object),
				   be32_to_cpu(body->generation));
		if (open && open->closing)
			open = NULL;
		if (open)
			open->closing = true;
		mutex_unlock(&attach->arena->lock);
	}
	mutex_unlock(&up->lock);
	return open;
}

/* Nobody else frees an open that is closing. */
static void close_end(struct tally_upper *up, struct tally_open *open)
{
	struct tally_arena *arena = open->attach->arena;
	bool reap;

	if (open->object->config.type == TALLY_TYPE_REGION)
		tally_region_home_closed(open->object, up->session);
	mutex_lock(&arena->lock);
	list_del(&open->list);
	list_del(&open->mine);
	reap = open->attach->forgotten;
	mutex_unlock(&arena->lock);
	tally_object_put(open->object);
	kfree(open);
	atomic_dec(&up->opens);
	if (reap)
		queue_work(up->session->node->wq, &up->reap);
}

static void close_work(struct work_struct *work)
{
	struct tally_sreq *req = container_of(work, struct tally_sreq, work);

	close_end(req->session->upper, req->ctx);
	tally_arenas_done(req->session);
	tally_sreq_reply(req, 0, NULL, 0);
}

static void request_close(struct tally_session *s, struct tally_sreq *req)
{
	struct tally_upper *up = s->upper;
	struct tally_open *open;
	int err = 0;

	if (!wire_object_valid((void *)req->body, req->len)) {
		err = attach_malformed(s, "malformed CLOSE");
	} else {
		open = close_begin(up, (void *)req->body);
		if (open && open->object->config.type == TALLY_TYPE_REGION) {
			req->ctx = open;
			request_defer(req, close_work);	/* keys to destroy */
			return;
		}
		if (open)
			close_end(up, open);
	}
	tally_sreq_reply(req, err, NULL, 0);
}

/* The names of an arena's objects, or of the node's arenas. */
struct attach_list {
	struct tally_session *session;
	u32 count;
	u32 next;
	u8 reply[TALLY_REPLY_MAX];
};

/* False when the reply is full: @id is where to go on. */
static bool list_put(struct attach_list *list, u32 id, u8 type,
		     const char *name)
{
	struct tally_list_entry *entry;

	if (list->count == LIST_ENTRIES)
		return false;
	entry = (void *)(list->reply + sizeof(struct tally_rep_list));
	entry += list->count++;
	entry->id = cpu_to_be32(id);
	entry->type = type;
	strscpy_pad(entry->name, name, sizeof(entry->name));
	list->next = id;
	return true;
}

static void list_arenas(struct attach_list *list, u32 after)
{
	struct tally_session *s = list->session;
	struct tally_arena *arena = NULL;

	while ((arena = tally_arena_next(s->node, arena))) {
		if (arena->id <= after ||
		    tally_arena_access(arena, s->peer->name) ==
		    TALLY_ACCESS_NONE)
			continue;
		if (!list_put(list, arena->id, 0, arena->config.name)) {
			tally_arena_put(arena);
			return;
		}
	}
	list->next = 0;
}

static void list_objects(struct attach_list *list, struct tally_arena *arena,
			 u32 after)
{
	struct tally_object *object;
	bool room = true;

	while (room && (object = tally_object_next(arena, after))) {
		after = object->id;
		room = list_put(list, after, object->config.type,
				object->config.name);
		tally_object_put(object);
	}
	if (room)
		list->next = 0;
}

static int list_do(struct attach_list *list, u32 id, u32 after)
{
	struct tally_upper *up = list->session->upper;
	struct tally_arena *arena = NULL;
	struct tally_attach *attach;

	if (!id) {
		list_arenas(list, after);
		return 0;
	}
	mutex_lock(&up->lock);
	attach = attach_of(up, id);
	if (attach)
		arena = tally_arena_get(attach->arena);
	mutex_unlock(&up->lock);
	if (!arena)
		return -EIDRM;
	list_objects(list, arena, after);
	tally_arena_put(arena);
	return 0;
}

static void request_list(struct tally_session *s, struct tally_sreq *req)
{
	struct tally_msg_list *body = (void *)req->body;
	struct tally_rep_list *head;
	struct attach_list *list;
	u32 len;
	int err;

	if (req->len != sizeof(*body)) {
		err = attach_malformed(s, "malformed LIST");
		tally_sreq_reply(req, err, NULL, 0);
		return;
	}
	list = kzalloc(sizeof(*list), GFP_KERNEL);
	if (!list) {
		tally_sreq_reply(req, -ENOMEM, NULL, 0);
		return;
	}
	list->session = s;
	err = list_do(list, be32_to_cpu(body->arena), be32_to_cpu(body->after));
	head = (void *)list->reply;
	head->count = cpu_to_be32(list->count);
	head->next = cpu_to_be32(list->next);
	len = sizeof(*head) + list->count * sizeof(struct tally_list_entry);
	tally_sreq_reply(req, err, list->reply, err ? 0 : len);
	kfree(list);
}

/**
 * tally_arenas_request - a peer attaches, opens, closes or lists
 * @s: its session
 * @req: the request
 *
 * Context: process, may sleep for memory.
 * Return: true when the request was one of these and is or will be answered.
 */
bool tally_arenas_request(struct tally_session *s, struct tally_sreq *req)
{
	switch (req->type) {
	case TALLY_MSG_ATTACH:
		request_attach(s, req);
		return true;
	case TALLY_MSG_OPEN:
		request_open(s, req);
		return true;
	case TALLY_MSG_CLOSE:
		request_close(s, req);
		return true;
	case TALLY_MSG_LIST:
		request_list(s, req);
		return true;
	default:
		return false;
	}
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
	open = attach_open(attach, object, generation);
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

	if (!wire_object_valid(which, len))
		return -EPROTO;
	mutex_lock(&up->lock);
	attach = attach_of(up, be32_to_cpu(which->arena));
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
