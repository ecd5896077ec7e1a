// SPDX-License-Identifier: GPL-2.0
#include "lock/type.h"

#include "lock/api.h"
#include "lock/break.h"
#include "lock/client.h"
#include "lock/file.h"
#include "lock/home.h"
#include "lock/session.h"
#include "lock/show.h"
#include "lock/wire.h"
#include "netlink/gen.h"
#include <net/genetlink.h>
#include <uapi/linux/tally.h>

#define BUDGET_MS_DEFAULT	10

static int lock_fs_take(struct tally_object *object,
			const struct tally_ioc_create *arg)
{
	if (arg->size || arg->lock_class > TALLY_CLASS_REGION)
		return -EINVAL;
	tally_lock_home(object)->class = arg->lock_class;
	return 0;
}

/* What is not given stays as it is. */
static void take_settings(struct genl_info *info, struct tally_lock_set *set)
{
	struct nlattr **attrs = info->attrs;

	if (attrs[TALLY_A_OBJECT_CACHE])
		set->cache = nla_get_u32(attrs[TALLY_A_OBJECT_CACHE]);
	if (attrs[TALLY_A_OBJECT_BUDGET])
		set->grants = nla_get_u32(attrs[TALLY_A_OBJECT_BUDGET]);
	if (attrs[TALLY_A_OBJECT_BUDGET_MS])
		set->ms = nla_get_u32(attrs[TALLY_A_OBJECT_BUDGET_MS]);
}

static int lock_nl_take(struct tally_object *object, struct genl_info *info)
{
	struct tally_lock_home *home = tally_lock_home(object);

	if (info->attrs[TALLY_A_OBJECT_CLASS])
		home->class = nla_get_u32(info->attrs[TALLY_A_OBJECT_CLASS]);
	home->set.ms = BUDGET_MS_DEFAULT;
	take_settings(info, &home->set);
	return 0;
}

static int lock_nl_set(struct tally_object *object, struct genl_info *info)
{
	struct tally_lock_home *home = tally_lock_home(object);
	struct tally_lock_set set;

	scoped_guard(mutex, &home->lock)
		set = home->set;
	take_settings(info, &set);
	return tally_lock_home_set(object, &set);
}

static const struct tally_type_message lock_messages[] = {
	{ .type = TALLY_MSG_LOCK, .len = sizeof(struct tally_msg_lock),
	  .aim_of = tally_lock_aim, .malformed = "malformed LOCK" },
	{ .type = TALLY_MSG_WHO, .len = sizeof(struct tally_wire_object),
	  .aim = TALLY_AIM_HANDLE, .malformed = "malformed WHO" },
	{ .type = TALLY_MSG_RESYNC, .aim = TALLY_AIM_SESSION,
	  .malformed = "malformed RESYNC" },
	{}
};

static bool lock_valid(const struct tally_rep_open *rep)
{
	return !rep->size && !rep->mrs && !rep->mr_bytes &&
	       rep->lock_class <= TALLY_CLASS_REGION && rep->lock_cache <= 1 &&
	       be64_to_cpu(rep->lock_last) <= TALLY_TENURE_MAX;
}

const struct tally_type_ops tally_lock_type = {
	.id		= TALLY_TYPE_LOCK,
	.name		= "lock",
	.word		= true,
	.object_size	= sizeof(struct tally_lock_home),
	.open_size	= sizeof(struct tally_lock_open),
	.messages	= lock_messages,
	.create		= tally_lock_home_create,
	.deleted	= tally_lock_home_delete,
	.destroy	= tally_lock_home_destroy,
	.fill		= tally_lock_home_fill,
	.open		= tally_locks_open,
	.withdraw	= tally_lock_home_withdraw,
	.close		= tally_lock_home_close,
	.forget		= tally_lock_home_forget,
	.message	= tally_lock_message,
	.created	= tally_locks_session_created,
	.live		= tally_locks_session_live,
	.down		= tally_locks_session_down,
	.lost		= tally_locks_session_lost,
	.over		= tally_locks_session_over,
	.leave		= tally_locks_session_lost,
	.news		= tally_lock_news,
	.notice		= tally_lock_notice,
	.question	= tally_lock_who,
	.valid		= lock_valid,
	.attach		= tally_lock_client_attach,
	.error		= tally_lock_client_error,
	.release	= tally_lock_client_destroy,
	.spare		= tally_lock_client_spare,
	.fops		= &tally_lock_ops,
	.fs_take	= lock_fs_take,
	.nl_attrs	= BIT_ULL(TALLY_A_OBJECT_CLASS) |
			  BIT_ULL(TALLY_A_OBJECT_CACHE) |
			  BIT_ULL(TALLY_A_OBJECT_BUDGET) |
			  BIT_ULL(TALLY_A_OBJECT_BUDGET_MS),
	.nl_take	= lock_nl_take,
	.nl_fill	= tally_lock_nl_fill,
	.nl_set		= lock_nl_set,
	.nl_break	= tally_lock_nl_break,
	.nl_ask		= tally_lock_ask_start,
};

int tally_lock_init(void)
{
	int err = tally_lock_homes_init(&tally_lock_local);

	if (err)
		return err;
	err = tally_lock_clients_init();
	if (err)
		goto err_homes;
	err = tally_api_locks_init();
	if (!err)
		return 0;
	tally_lock_clients_exit();
err_homes:
	tally_lock_homes_exit();
	return err;
}

/* There is no node any more. */
void tally_lock_exit(void)
{
	tally_api_locks_exit();
	tally_lock_clients_exit();
	tally_lock_homes_exit();
}
