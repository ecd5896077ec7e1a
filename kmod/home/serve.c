// SPDX-License-Identifier: GPL-2.0
/* The home's side of OPEN, CLOSE and LIST. */
#include <linux/err.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include "home/export.h"
#include "base/name.h"
#include "session/rpc.h"
#include "session/session.h"
#include "region/region.h"

#define LIST_ENTRIES	((TALLY_REPLY_MAX - sizeof(struct tally_rep_list)) / \
			 sizeof(struct tally_list_entry))

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
		.lock_cache = config->set.cache,
		.lock_grants = cpu_to_be16(config->set.grants),
		.lock_ms = cpu_to_be16(config->set.ms),
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
	if (tally_arena_access_locked(arena, up->session->name) ==
	    TALLY_ACCESS_NONE)
		return ERR_PTR(-EACCES);
	list_for_each_entry(object, &arena->names, list)
		if (!strcmp(object->config.name, name))
			break;
	if (list_entry_is_head(object, &arena->names, list))
		return ERR_PTR(-ENOENT);
	open = tally_attach_open(attach, object->id, object->generation);
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
	attach = tally_attach_of(up, arena);
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
		err = tally_attach_malformed(s, "malformed OPEN");
	else
		err = open_do(s->upper, be32_to_cpu(body->arena),
			      body->object, &rep);
	tally_sreq_reply(req, err, &rep, err ? 0 : sizeof(rep));
}

/* The open an attachment has of that object, marked as closing, or NULL. */
static struct tally_open *close_begin(struct tally_upper *up,
				      const struct tally_wire_object *body)
{
	struct tally_attach *attach;
	struct tally_open *open = NULL;

	mutex_lock(&up->lock);
	attach = tally_attach_of(up, be32_to_cpu(body->arena));
	if (attach) {
		mutex_lock(&attach->arena->lock);
		open = tally_attach_open(attach, be32_to_cpu(body->object),
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

	if (!tally_attach_names_object((void *)req->body, req->len)) {
		err = tally_attach_malformed(s, "malformed CLOSE");
	} else {
		open = close_begin(up, (void *)req->body);
		if (open && open->object->config.type == TALLY_TYPE_REGION) {
			req->ctx = open;
			tally_attach_defer(req, close_work);	/* keys to destroy */
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
	struct tally_arena *arena;
	bool room = true;

	while (room && (arena = tally_arena_next(s->node, after))) {
		after = arena->id;
		if (tally_arena_access(arena, s->name) != TALLY_ACCESS_NONE)
			room = list_put(list, after, 0, arena->config.name);
		tally_arena_put(arena);
	}
	if (room)
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
	attach = tally_attach_of(up, id);
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
		err = tally_attach_malformed(s, "malformed LIST");
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
		tally_attach_request(s, req);
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
