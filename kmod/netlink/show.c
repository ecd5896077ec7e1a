// SPDX-License-Identifier: GPL-2.0
/*
 * SHOW: a peer wants to see an arena of ours, or its objects, as our own
 * administrator does: the answer has the attributes of netlink.
 */
#include <linux/err.h>
#include <net/genetlink.h>
#include "compat/genl_compat.h"
#include "home/export.h"
#include "home/serve.h"
#include "netlink/arena.h"
#include "netlink/msg.h"
#include "netlink/object.h"
#include "netlink/show.h"
#include "session/rpc.h"

#define SHOW_HEAD	(NLMSG_HDRLEN + GENL_HDRLEN)
#define SHOW_ROOM	(TALLY_REPLY_MAX - sizeof(struct tally_rep_show))

/*
 * The attributes as @fill puts them, behind the header of a netlink message, with
 * the room of a reply for them.
 */
static struct sk_buff *show_pack(tally_nl_fill fill, void *entry)
{
	struct sk_buff *skb = alloc_skb(SHOW_HEAD + SHOW_ROOM, GFP_KERNEL);
	void *hdr;

	if (!skb)
		return ERR_PTR(-ENOMEM);
	skb_reserve(skb, skb_tailroom(skb) - SHOW_HEAD - SHOW_ROOM);
	hdr = genlmsg_put(skb, 0, 0, &tally_nl_family, 0, 0);
	if (hdr && !fill(skb, hdr, entry))
		return skb;
	kfree_skb(skb);
	return ERR_PTR(-EMSGSIZE);
}

/*
 * The object that is named, or the next of that type, referenced; NULL at the end
 * of those.
 */
static struct tally_object *show_object(struct tally_arena *arena,
					const struct tally_msg_show *msg)
{
	u32 after = be32_to_cpu(msg->after);
	struct tally_object *object;

	if (msg->name[0]) {
		object = tally_object_find(arena, msg->name);
		if (!object)
			return ERR_PTR(-ENOENT);
		if (object->config.type->id == msg->type)
			return object;
		tally_object_put(object);
		return ERR_PTR(-EPROTOTYPE);
	}
	while ((object = tally_object_next(arena, after))) {
		if (object->config.type->id == msg->type)
			break;
		after = object->id;
		tally_object_put(object);
	}
	return object;
}

static struct sk_buff *show_entry(struct tally_arena *arena,
				  const struct tally_msg_show *msg, u32 *next)
{
	struct tally_object *object;
	struct sk_buff *skb;

	*next = 0;
	if (!msg->type)
		return show_pack(tally_nl_fill_arena, arena);
	object = show_object(arena, msg);
	if (IS_ERR_OR_NULL(object))
		return ERR_CAST(object);
	skb = show_pack(tally_nl_fill_object, object);
	if (!msg->name[0])
		*next = object->id;
	tally_object_put(object);
	return skb;
}

static struct sk_buff *show_serve(struct tally_sreq *req, u32 *next)
{
	const struct tally_msg_show *msg = (const void *)req->body;
	u32 id = be32_to_cpu(msg->arena);
	struct tally_attach *attach = tally_attach_find(req->session, id);
	struct sk_buff *skb;

	if (!attach)
		return ERR_PTR(tally_attach_missing(req->session, id));
	skb = READ_ONCE(attach->access) == TALLY_ACCESS_NONE ?
	      ERR_PTR(-EACCES) : show_entry(attach->arena, msg, next);
	tally_attach_put(attach);
	return skb;
}

static void show_work(struct work_struct *work)
{
	struct tally_sreq *req = container_of(work, struct tally_sreq, work);
	struct tally_rep_show end = {}, *rep = &end;
	struct sk_buff *skb;
	u32 next = 0;

	skb = show_serve(req, &next);
	/* Nobody needs the headers before the attributes. */
	static_assert(sizeof(*rep) <= SHOW_HEAD);
	if (!IS_ERR_OR_NULL(skb))
		rep = (void *)skb->data + SHOW_HEAD - sizeof(*rep);
	*rep = (struct tally_rep_show){ .next = cpu_to_be32(next) };
	tally_export_done(req->session);
	tally_sreq_reply(req, PTR_ERR_OR_ZERO(skb), rep, rep == &end ?
			 sizeof(*rep) : skb->len - SHOW_HEAD + sizeof(*rep));
	if (rep != &end)
		kfree_skb(skb);
}

/*
 * A peer wants to see something. Rx. Return: true when the request was this and is
 * or will be answered.
 */
bool tally_show_request(struct tally_sreq *req)
{
	const struct tally_msg_show *msg = (const void *)req->body;

	if (req->type != TALLY_MSG_SHOW)
		return false;
	if (req->len != sizeof(*msg) ||
	    memchr_inv(msg->reserved, 0, sizeof(msg->reserved)) ||
	    strnlen(msg->name, sizeof(msg->name)) == sizeof(msg->name))
		tally_serve_malformed(req, "malformed SHOW");
	else
		tally_export_defer(req, req->session->node->wq, show_work);
	return true;
}
