// SPDX-License-Identifier: GPL-2.0
/* Lock messages that come. */
#include "lock/client.h"
#include "lock/home.h"
#include "lock/recover.h"
#include "lock/recv.h"
#include "lock/wire.h"
#include "session/peer.h"

/*
 * Another client hands the lock over. Its message names our session with the
 * home; that we wait, and for which generation, is for the table to judge.
 */
static int lock_handover(struct tally_session *from, u32 arena, u32 id, u32 gen,
			 const struct tally_lmsg *msg)
{
	struct tally_session *home;
	struct tally_handle *handle;

	home = tally_session_find(from->node, msg->next_session);
	if (!home)
		return 0;	/* over meanwhile */
	handle = tally_views_by_id(home, arena, id, gen);
	tally_session_put(home);
	if (!handle)
		return 0;
	if (handle->type == TALLY_TYPE_LOCK)
		tally_lock_client_message(handle, msg, NULL);
	tally_handle_put(handle);
	return 0;
}

static int lock_from_client(struct tally_session *s, u32 arena, u32 id, u32 gen,
			    const struct tally_lmsg *msg)
{
	struct tally_object *object;
	int err;

	object = tally_object_by_id(s->node, arena, id, gen);
	if (!object)
		return 0;	/* deleted meanwhile */
	err = tally_lock_home_message(s, object, msg);
	tally_object_put(object);
	return err;
}

static int lock_from_home(struct tally_session *s, u32 arena, u32 id, u32 gen,
			  const struct tally_lmsg *msg, const char *next)
{
	struct tally_handle *handle = tally_views_by_id(s, arena, id, gen);
	int err = 0;

	if (!handle)
		return 0;
	if (handle->type == TALLY_TYPE_LOCK)
		tally_lock_client_message(handle, msg, next);
	else
		err = -EPROTO;
	tally_handle_put(handle);
	return err;
}

/**
 * tally_locks_message - a lock message came
 * @s: session it came on
 * @type: TALLY_MSG_LOCK or TALLY_MSG_RESYNC
 * @body: its body
 * @len: length of the body
 *
 * Return: 0; -EPROTO when the peer broke the protocol; -ENOMEM.
 */
int tally_locks_message(struct tally_session *s, u16 type, const void *body,
			u32 len)
{
	const struct tally_msg_lock *lock = body;
	struct tally_lmsg msg;
	u32 arena, id, gen;

	if (type == TALLY_MSG_RESYNC)
		return len ? -EPROTO : tally_locks_resync_end(s);
	if (tally_lock_decode(lock, len, &arena, &id, &gen, &msg))
		return -EPROTO;
	if (msg.type == TALLY_LM_HANDOVER)
		return lock_handover(s, arena, id, gen, &msg);
	if (msg.type < TALLY_LM_GRANT)
		return lock_from_client(s, arena, id, gen, &msg);
	return lock_from_home(s, arena, id, gen, &msg, lock->next);
}
