// SPDX-License-Identifier: GPL-2.0
/*
 * Requests of peers: those for the directory (ATTACH, OPEN, CLOSE, LIST) are
 * served from a work item, as they need memory and mutexes; those about an
 * object go to its type at once.
 */
#include "home/serve.h"

#include <linux/err.h>
#include <linux/slab.h>
#include "base/name.h"
#include "home/export.h"
#include "session/rpc.h"

#define LIST_ENTRIES	((TALLY_REPLY_MAX - sizeof(struct tally_rep_list)) / \
			 sizeof(struct tally_list_entry))

static void serve_attach(struct tally_sreq *req)
{
	struct tally_msg_attach *body = (void *)req->body;
	struct tally_rep_attach rep;
	int err;

	err = tally_export_attach(req->session, body->arena, &rep);
	tally_export_done(req->session);
	tally_sreq_reply(req, err, &rep, err ? 0 : sizeof(rep));
}

static void serve_open(struct tally_sreq *req)
{
	struct tally_msg_open *body = (void *)req->body;
	struct tally_attach *attach;
	struct tally_rep_open rep;
	int err = -EIDRM;

	attach = tally_attach_find(req->session, be32_to_cpu(body->arena));
	if (attach) {
		err = tally_export_open(attach, body->object, &rep);
		tally_attach_put(attach);
	}
	tally_export_done(req->session);
	tally_sreq_reply(req, err, &rep, err ? 0 : sizeof(rep));
}

static void serve_close(struct tally_sreq *req)
{
	tally_export_close(req->session, (void *)req->body);
	tally_export_done(req->session);
	tally_sreq_reply(req, 0, NULL, 0);
}

/* The names of an arena's objects, or of the node's arenas. */
struct serve_list {
	struct tally_session *session;
	u32 count;
	u32 next;
	u8 reply[TALLY_REPLY_MAX];
};

/* False when the reply is full: @id is where to go on. */
static bool list_put(struct serve_list *list, u32 id, u8 type,
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

static void list_arenas(struct serve_list *list, u32 after)
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

static void list_objects(struct serve_list *list, struct tally_arena *arena,
			 u32 after)
{
	struct tally_object *object;
	bool room = true;

	while (room && (object = tally_object_next(arena, after))) {
		after = object->id;
		room = list_put(list, after, object->config.type->id,
				object->config.name);
		tally_object_put(object);
	}
	if (room)
		list->next = 0;
}

static int list_fill(struct serve_list *list, u32 id, u32 after)
{
	struct tally_attach *attach;

	if (!id) {
		list_arenas(list, after);
		return 0;
	}
	attach = tally_attach_find(list->session, id);
	if (!attach)
		return -EIDRM;
	list_objects(list, attach->arena, after);
	tally_attach_put(attach);
	return 0;
}

static void serve_names(struct tally_sreq *req)
{
	struct serve_list *list = kzalloc(sizeof(*list), GFP_KERNEL);
	struct tally_msg_list *body = (void *)req->body;
	struct tally_rep_list *head;
	int err = -ENOMEM;
	u32 len = 0;

	if (list) {
		list->session = req->session;
		err = list_fill(list, be32_to_cpu(body->arena),
				be32_to_cpu(body->after));
		head = (void *)list->reply;
		head->count = cpu_to_be32(list->count);
		head->next = cpu_to_be32(list->next);
		len = sizeof(*head) +
		      list->count * sizeof(struct tally_list_entry);
	}
	tally_export_done(req->session);
	tally_sreq_reply(req, err, list ? list->reply : NULL, err ? 0 : len);
	kfree(list);
}

static void serve_work(struct work_struct *work)
{
	struct tally_sreq *req = container_of(work, struct tally_sreq, work);

	switch (req->type) {
	case TALLY_MSG_ATTACH:
		serve_attach(req);
		break;
	case TALLY_MSG_OPEN:
		serve_open(req);
		break;
	case TALLY_MSG_CLOSE:
		serve_close(req);
		break;
	case TALLY_MSG_LIST:
		serve_names(req);
		break;
	}
}

/* Why the request is malformed, or NULL. */
static const char *serve_fault(const struct tally_sreq *req)
{
	const struct tally_wire_object *which = (const void *)req->body;
	const struct tally_msg_attach *attach = (const void *)req->body;
	const struct tally_msg_open *open = (const void *)req->body;

	switch (req->type) {
	case TALLY_MSG_ATTACH:
		return req->len == sizeof(*attach) &&
		       tally_name_field_valid(attach->arena,
					      sizeof(attach->arena)) ?
		       NULL : "malformed ATTACH";
	case TALLY_MSG_OPEN:
		return req->len == sizeof(*open) &&
		       !memchr_inv(open->reserved, 0, sizeof(open->reserved)) &&
		       tally_name_field_valid(open->object,
					      sizeof(open->object)) ?
		       NULL : "malformed OPEN";
	case TALLY_MSG_CLOSE:
		return req->len == sizeof(*which) && !which->reserved ?
		       NULL : "malformed CLOSE";
	default:
		return req->len == sizeof(struct tally_msg_list) ?
		       NULL : "malformed LIST";
	}
}

/**
 * tally_serve_request - a peer attaches, opens, closes or lists
 * @req: the request
 *
 * Context: Rx.
 * Return: true when the request was one of these and is or will be answered.
 */
bool tally_serve_request(struct tally_sreq *req)
{
	const char *fault;

	if (req->type < TALLY_MSG_ATTACH || req->type > TALLY_MSG_LIST)
		return false;
	fault = serve_fault(req);
	if (fault)
		tally_serve_malformed(req, fault);
	else
		tally_export_defer(req, serve_work);
	return true;
}

/**
 * tally_serve_object - a peer wants something of an object it has open
 * @type: the type that the request belongs to
 * @req: the request, which begins with struct tally_wire_object
 *
 * Context: Rx.
 */
void tally_serve_object(const struct tally_type_ops *type,
			struct tally_sreq *req)
{
	struct tally_open *open;

	open = tally_open_find(req->session, (void *)req->body);
	if (IS_ERR(open)) {
		tally_sreq_reply(req, PTR_ERR(open), NULL, 0);
		return;
	}
	if (open->type == type && type->request)
		type->request(open, req);
	else
		tally_sreq_reply(req, -EPROTOTYPE, NULL, 0);
	tally_open_put(open);
}

/**
 * tally_serve_message - a peer says something about an object it has open
 * @type: the type that the message belongs to
 * @s: its session
 * @number: enum tally_msg_type
 * @body: begins with struct tally_wire_object
 * @len: its length
 *
 * Context: Rx.
 * Return: 0, or a negative errno when it broke the protocol.
 */
int tally_serve_message(const struct tally_type_ops *type,
			struct tally_session *s, u16 number, const void *body,
			u32 len)
{
	struct tally_open *open = tally_open_find(s, body);
	int err = -EPROTO;

	/* That it was deleted meanwhile is no fault. */
	if (IS_ERR(open))
		return PTR_ERR(open) == -EIDRM ? 0 : -EPROTO;
	if (open->type == type && type->message)
		err = type->message(open, number, body, len);
	tally_open_put(open);
	return err;
}

/**
 * tally_serve_malformed - refuse a request, and count it against the peer
 * @req: the request
 * @what: "malformed ...", constant
 *
 * Context: process.
 */
void tally_serve_malformed(struct tally_sreq *req, const char *what)
{
	tally_session_violation(req->session, what);
	tally_sreq_reply(req, -EPROTO, NULL, 0);
}
