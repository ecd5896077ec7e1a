// SPDX-License-Identifier: GPL-2.0
#include <linux/fs.h>
#include <linux/module.h>
#include "client/homes.h"
#include "client/idle.h"
#include "client/views.h"
#include "counter/type.h"
#include "fs/super.h"
#include "home/admin.h"
#include "home/export.h"
#include "home/serve.h"
#include "lock/type.h"
#include "netlink/msg.h"
#include "netlink/show.h"
#include "region/home.h"
#include "region/type.h"
#include "region/xfer.h"
#include "session/nodes.h"
#include "session/rpc.h"
#include "transport/dev.h"
#include "transport/conn.h"

/* The types of objects: one line each. */
static const struct tally_type_ops *const main_types[] = {
	&tally_counter_type,
	&tally_lock_type,
	&tally_region_type,
#ifdef TALLY_TEST_TYPE
	&TALLY_TEST_TYPE,
#endif
	NULL
};

#define main_for_each(type)						\
	for (const struct tally_type_ops *const *type = main_types;	\
	     *type; type++)

static int main_created(struct tally_session *s)
{
	const struct tally_type_ops *const *type;
	int err = tally_exports_created(s);

	if (err)
		return err;
	for (type = main_types; *type; type++) {
		err = (*type)->created ? (*type)->created(s) : 0;
		if (err)
			goto err_over;
	}
	return 0;

err_over:
	while (type > main_types) {
		type--;
		if ((*type)->over)
			(*type)->over(s);
	}
	tally_exports_over(s);
	return err;
}

static void main_live(struct tally_session *s, bool resumed)
{
	tally_exports_live(s);
	tally_views_session_live(s, resumed);
	main_for_each(type)
		if ((*type)->live)
			(*type)->live(s, resumed);
}

static void main_down(struct tally_session *s)
{
	main_for_each(type)
		if ((*type)->down)
			(*type)->down(s);
}

static void main_lost(struct tally_session *s)
{
	main_for_each(type)
		if ((*type)->lost)
			(*type)->lost(s);
}

static void main_over(struct tally_session *s)
{
	tally_exports_settle(s);
	main_for_each(type)
		if ((*type)->over)
			(*type)->over(s);
	tally_views_session_over(s);
	tally_exports_over(s);
}

static void main_leave(struct tally_session *s)
{
	main_for_each(type)
		if ((*type)->leave)
			(*type)->leave(s);
}

/* What a message of a type is about; false when it is malformed. */
static bool main_aim(const struct tally_type_message *message, const void *body,
		     u32 len, enum tally_aim *aim)
{
	const struct tally_wire_object *which = body;

	if (len != message->len)
		return false;
	*aim = message->aim_of ? message->aim_of(body) : message->aim;
	return *aim == TALLY_AIM_SESSION || !which->reserved;
}

static void main_question(const struct tally_type_ops *type,
			  struct tally_session *s, struct tally_sreq *req)
{
	struct tally_handle *handle = tally_views_by_id(s,
							(void *)req->body);

	if (!handle) {
		tally_sreq_reply(req, -ENOENT, NULL, 0);
		return;
	}
	if (READ_ONCE(handle->made) && handle->ops == type)
		type->question(handle, req);
	else
		tally_sreq_reply(req, -EPROTOTYPE, NULL, 0);
	tally_handle_put(handle);
}

static void main_request(struct tally_session *s, struct tally_sreq *req)
{
	const struct tally_type_message *message;
	const struct tally_type_ops *type;
	enum tally_aim aim;

	if (tally_serve_request(req) || tally_show_request(req))
		return;
	message = tally_type_message(req->type, &type);
	if (!message)
		tally_sreq_reply(req, -EOPNOTSUPP, NULL, 0);
	else if (!main_aim(message, req->body, req->len, &aim))
		tally_serve_malformed(req, message->malformed);
	else if (aim == TALLY_AIM_OPEN && type->request)
		tally_serve_object(type, req);
	else if (aim == TALLY_AIM_HANDLE && type->question)
		main_question(type, s, req);
	else
		tally_sreq_reply(req, -EOPNOTSUPP, NULL, 0);
}

static int main_notice(const struct tally_type_ops *type,
		       struct tally_session *s, u16 number, const void *body,
		       u32 len)
{
	struct tally_handle *handle = tally_views_by_id(s, body);
	int err = -EPROTO;

	if (!handle) {
		atomic_inc(&s->missed);
		/* What is being opened is seen now, or the opener sees this. */
		smp_mb__after_atomic();
		handle = tally_views_by_id(s, body);
	}
	if (!handle)
		return 0;
	if (handle->ops == type && type->notice)
		err = type->notice(handle, number, body, len);
	tally_handle_put(handle);
	return err;
}

static int main_message(struct tally_session *s, u16 number, const void *body,
			u32 len)
{
	const struct tally_type_message *message;
	const struct tally_type_ops *type;
	enum tally_aim aim;

	if (number == TALLY_MSG_FORGET)
		return tally_views_forget(s, body, len);
	if (number == TALLY_MSG_FORGOTTEN)
		return tally_exports_forgotten(s, body, len);
	message = tally_type_message(number, &type);
	if (!message || !main_aim(message, body, len, &aim))
		return -EPROTO;
	if (aim == TALLY_AIM_OPEN)
		return tally_serve_message(type, s, number, body, len);
	if (aim == TALLY_AIM_HANDLE)
		return main_notice(type, s, number, body, len);
	return type->news ? type->news(s, number, body, len) : -EPROTO;
}

static int main_node_start(struct tally_node *node)
{
	return tally_arenas_start(node) ?: tally_views_start(node) ?:
	       tally_idle_start(node);
}

static void main_node_stop(struct tally_node *node)
{
	tally_views_stop(node);
	tally_arenas_stop(node);
}

static void main_node_free(struct tally_node *node)
{
	tally_idle_free(node);
	tally_views_free(node);
	tally_arenas_free(node);
}

static const struct tally_node_ops main_ops = {
	.node_start = main_node_start,
	.node_stop = main_node_stop,
	.node_free = main_node_free,
	.event = tally_nl_event,
	.created = main_created,
	.live = main_live,
	.down = main_down,
	.lost = main_lost,
	.over = main_over,
	.leave = main_leave,
	.request = main_request,
	.message = main_message,
};

static int main_types_init(void)
{
	return tally_types_init(main_types);
}

static int main_nodes_init(void)
{
	return tally_nodes_init(&main_ops);
}

static int main_fs_init(void)
{
	return register_filesystem(&tally_fs_type);
}

static void main_fs_exit(void)
{
	unregister_filesystem(&tally_fs_type);
}

static int main_nl_init(void)
{
	return genl_register_family(&tally_nl_family);
}

static void main_nl_exit(void)
{
	genl_unregister_family(&tally_nl_family);
}

/* In this order; they end in the other. */
static const struct {
	int (*init)(void);
	void (*exit)(void);
} main_parts[] = {
	{ main_types_init, tally_types_exit },
	{ tally_conn_init, tally_conn_exit },
	{ tally_dev_init, tally_dev_exit },
	{ tally_xfer_init, tally_xfer_exit },
	{ tally_region_homes_init, tally_region_homes_exit },
	{ tally_homes_init, tally_homes_exit },
	{ tally_lock_init, tally_lock_exit },
	{ main_nodes_init, tally_nodes_exit },
	{ main_fs_init, main_fs_exit },
	{ main_nl_init, main_nl_exit },
};

/* End the first @n parts. */
static void main_end(u32 n)
{
	while (n)
		main_parts[--n].exit();
}

static int __init tally_init(void)
{
	u32 i;
	int err;

	for (i = 0; i < ARRAY_SIZE(main_parts); i++) {
		err = main_parts[i].init();
		if (err) {
			main_end(i);
			return err;
		}
	}
	return 0;
}

static void __exit tally_exit(void)
{
	main_end(ARRAY_SIZE(main_parts));
}

module_init(tally_init);
module_exit(tally_exit);

MODULE_DESCRIPTION("Shared counters, locks and regions over RDMA");
MODULE_VERSION("0.1.0");
MODULE_LICENSE("GPL");
MODULE_ALIAS_FS("tally");
MODULE_ALIAS("net-pf-16-proto-16-family-tally");
