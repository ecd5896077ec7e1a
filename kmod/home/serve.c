// SPDX-License-Identifier: GPL-2.0
/*
 * Requests of peers: those for the directory (ATTACH, OPEN, CLOSE, LIST, STAT) are
 * served from a work item, as they need memory and mutexes; those about an
 * object go to its type at once.
 */
#include "home/serve.h"

#include <linux/err.h>
#include "base/delay.h"
#include "base/name.h"
#include "home/export.h"
#include "session/rpc.h"

#define LIST_ENTRIES	((TALLY_REPLY_MAX - sizeof(struct tally_rep_list)) / \
			 sizeof(struct tally_list_entry))

/*
 * Where the answer goes: over the request, which has been read then. What follows
 * returns how long it is, or a negative errno.
 */
static void *reply_of(struct tally_sreq *req)
{
	return req->body + sizeof(struct tally_msg_reply);
}

static int serve_attach(struct tally_sreq *req)
{
	struct tally_msg_attach *body = (void *)req->body;

	return tally_export_attach(req->session, body->arena, reply_of(req)) ?:
	       sizeof(struct tally_rep_attach);
}

static int serve_open(struct tally_sreq *req)
{
	struct tally_msg_open *body = (void *)req->body;
	struct tally_attach *attach;
	int err;

	attach = tally_attach_find(req->session, be32_to_cpu(body->arena));
	if (!attach)
		return tally_attach_missing(req->session,
					    be32_to_cpu(body->arena));
	tally_delay(OPEN);
	scoped_guard(mutex, &attach->arena->lock)
		err = tally_export_open(attach, body->object, reply_of(req));
	tally_attach_put(attach);
	return err ?: sizeof(struct tally_rep_open);
}

/* False when the reply is full: @id is where to go on. */
static bool list_put(struct tally_rep_list *list, u32 id, u8 type,
		     const char *name)
{
	struct tally_list_entry *entry = (void *)(list + 1);
	u32 count = be32_to_cpu(list->count);

	if (count == LIST_ENTRIES)
		return false;
	entry += count;
	*entry = (struct tally_list_entry) {
		.id = cpu_to_be32(id),
		.type = type,
	};
	strscpy(entry->name, name, sizeof(entry->name));
	list->count = cpu_to_be32(count + 1);
	list->next = cpu_to_be32(id);
	return true;
}

static void list_arenas(struct tally_rep_list *list, struct tally_session *s,
			u32 after)
{
	struct tally_arena *arena;
	bool room = true;
	u8 access;

	while (room && (arena = tally_arena_next(s->node, after))) {
		after = arena->id;
		scoped_guard(mutex, &arena->lock)
			access = tally_export_access(arena, s);
		if (access != TALLY_ACCESS_NONE)
			room = list_put(list, after, 0, arena->config.name);
		tally_arena_put(arena);
	}
	if (room)
		list->next = 0;
}

static void list_objects(struct tally_rep_list *list, struct tally_arena *arena,
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

/* The names of an arena's objects, or of the node's arenas. */
static int serve_list(struct tally_sreq *req)
{
	struct tally_msg_list *body = (void *)req->body;
	u32 id = be32_to_cpu(body->arena), after = be32_to_cpu(body->after);
	struct tally_rep_list *list = reply_of(req);
	struct tally_attach *attach;
	int err = 0;

	*list = (struct tally_rep_list) {};
	if (!id) {
		list_arenas(list, req->session, after);
	} else {
		attach = tally_attach_find(req->session, id);
		if (!attach)
			return tally_attach_missing(req->session, id);
		if (READ_ONCE(attach->access) == TALLY_ACCESS_NONE)
			err = -EACCES;
		else
			list_objects(list, attach->arena, after);
		tally_attach_put(attach);
	}
	return err ?: sizeof(*list) + be32_to_cpu(list->count) *
				      sizeof(struct tally_list_entry);
}

/* Whose an arena or object is. */
static int serve_stat(struct tally_sreq *req)
{
	struct tally_wire_object *which = (void *)req->body;
	u32 arena = be32_to_cpu(which->arena);
	struct tally_rep_stat *rep = reply_of(req);
	struct tally_open *open = NULL;
	struct tally_attach *attach;
	int err;

	if (which->object) {
		open = tally_open_find(req->session, which);
		if (IS_ERR(open))
			return PTR_ERR(open);
	}
	tally_delay(STAT);
	attach = tally_attach_find(req->session, arena);
	err = attach ? tally_export_stat(attach, open, rep) :
		       tally_attach_missing(req->session, arena);
	if (attach)
		tally_attach_put(attach);
	if (open)
		tally_open_put(open);
	return err ?: sizeof(*rep);
}

static void serve_work(struct work_struct *work)
{
	struct tally_sreq *req = container_of(work, struct tally_sreq, work);
	int ret;

	switch (req->type) {
	case TALLY_MSG_ATTACH:
		ret = serve_attach(req);
		break;
	case TALLY_MSG_OPEN:
		ret = serve_open(req);
		break;
	case TALLY_MSG_CLOSE:
		tally_delay(CLOSE);
		tally_export_close(req->session, (void *)req->body);
		ret = 0;
		break;
	case TALLY_MSG_STAT:
		ret = serve_stat(req);
		break;
	default:
		ret = serve_list(req);
	}
	tally_export_done(req->session);
	tally_sreq_reply(req, min(ret, 0), reply_of(req), max(ret, 0));
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
	case TALLY_MSG_STAT:
		return req->len == sizeof(*which) && !which->reserved &&
		       (which->object || !which->generation) ?
		       NULL : "malformed STAT";
	default:
		return req->len == sizeof(struct tally_msg_list) ?
		       NULL : "malformed LIST";
	}
}

/*
 * A peer attaches, opens, closes, lists or looks. Rx. Return: true when the request
 * was one of these and is or will be answered.
 */
bool tally_serve_request(struct tally_sreq *req)
{
	const char *fault;

	if ((req->type < TALLY_MSG_ATTACH || req->type > TALLY_MSG_LIST) &&
	    req->type != TALLY_MSG_STAT)
		return false;
	fault = serve_fault(req);
	if (fault)
		tally_serve_malformed(req, fault);
	else
		tally_export_defer(req, req->session->node->wq, serve_work);
	return true;
}

/*
 * A peer wants something of an object it has open, in a request of @type that
 * begins with struct tally_wire_object. Rx.
 */
void tally_serve_object(const struct tally_type_ops *type,
			struct tally_sreq *req)
{
	struct tally_open *open = tally_open_find(req->session,
						  (void *)req->body);

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

/*
 * A peer says something about an object it has open, in a message of @type
 * whose body begins with struct tally_wire_object. Rx. Return: 0, or a negative
 * errno when it broke the protocol.
 */
int tally_serve_message(const struct tally_type_ops *type,
			struct tally_session *s, u16 number, const void *body,
			u32 len)
{
	struct tally_open *open;
	int err = -EPROTO;

	if (tally_open_withdrawn(s, body))
		return 0;
	tally_delay(MESSAGE);
	open = tally_open_find(s, body);
	/* That it was deleted meanwhile is no fault. */
	if (PTR_ERR_OR_ZERO(open) == -EIDRM)
		return 0;
	if (!IS_ERR(open)) {
		if (open->type == type && type->message)
			err = type->message(open, number, body, len);
		tally_open_put(open);
	}
	/* Nor that its rights were lowered meanwhile. */
	return err && tally_open_withdrawn(s, body) ? 0 : err;
}

/*
 * Refuse a request, and count it against the peer. @what: "malformed ...",
 * constant. Process context.
 */
void tally_serve_malformed(struct tally_sreq *req, const char *what)
{
	tally_session_violation(req->session, what);
	tally_sreq_reply(req, -EPROTO, NULL, 0);
}
