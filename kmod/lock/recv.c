// SPDX-License-Identifier: GPL-2.0
/* Lock messages that come. */
#include "client/views.h"
#include "lock/client.h"
#include "lock/home.h"
#include "lock/recover.h"
#include "lock/recv.h"
#include "object/type.h"
#include "lock/wire.h"
#include "session/peer.h"

/**
 * tally_lock_aim - what a lock message is about
 * @body: struct tally_msg_lock
 *
 * Return: an open for what clients say, a handle for what the home says; the
 * successor is told of by a third node, which is home of nothing here.
 */
enum tally_aim tally_lock_aim(const void *body)
{
	const struct tally_msg_lock *lock = body;

	if (lock->type == TALLY_LM_HANDOVER)
		return TALLY_AIM_SESSION;
	return lock->type < TALLY_LM_GRANT ? TALLY_AIM_OPEN : TALLY_AIM_HANDLE;
}

/**
 * tally_lock_message - a client says something about a lock of ours
 * @open: the lock as it has it
 * @type: TALLY_MSG_LOCK
 * @body: struct tally_msg_lock
 * @len: its length
 *
 * Return: 0; -EPROTO when the peer broke the protocol; -ENOMEM.
 */
int tally_lock_message(struct tally_open *open, u16 type, const void *body,
		       u32 len)
{
	struct tally_lmsg msg;
	u32 arena, id, gen;

	if (tally_lock_decode(body, len, &arena, &id, &gen, &msg))
		return -EPROTO;
	return tally_lock_home_message(open, &msg);
}

/**
 * tally_lock_notice - the home of a lock says something
 * @handle: the lock
 * @type: TALLY_MSG_LOCK
 * @body: struct tally_msg_lock
 * @len: its length
 *
 * Return: 0; -EPROTO when the peer broke the protocol.
 */
int tally_lock_notice(struct tally_handle *handle, u16 type, const void *body,
		      u32 len)
{
	const struct tally_msg_lock *lock = body;
	struct tally_lmsg msg;
	u32 arena, id, gen;

	if (tally_lock_decode(lock, len, &arena, &id, &gen, &msg))
		return -EPROTO;
	tally_lock_client_message(handle, &msg, lock->next);
	return 0;
}

/*
 * Another client hands the lock over. Its message names our session with the
 * home; that we wait, and for which generation, is for the table to judge.
 */
static int lock_handover(struct tally_session *from, const void *body, u32 len)
{
	struct tally_session *home;
	struct tally_handle *handle;
	struct tally_lmsg msg;
	u32 arena, id, gen;

	if (tally_lock_decode(body, len, &arena, &id, &gen, &msg))
		return -EPROTO;
	home = tally_session_find(from->node, msg.next_session);
	if (!home)
		return 0;	/* ended meanwhile */
	handle = tally_views_by_id(home, arena, id, gen);
	tally_session_put(home);
	if (!handle)
		return 0;
	if (handle->ops == tally_type(TALLY_TYPE_LOCK))
		tally_lock_client_message(handle, &msg, NULL);
	tally_handle_put(handle);
	return 0;
}

/**
 * tally_lock_news - a lock is handed over to us, or a client has said all
 * @s: session it came on
 * @type: TALLY_MSG_LOCK or TALLY_MSG_RESYNC
 * @body: its body
 * @len: length of the body
 *
 * Return: 0; -EPROTO when the peer broke the protocol.
 */
int tally_lock_news(struct tally_session *s, u16 type, const void *body,
		    u32 len)
{
	return type == TALLY_MSG_RESYNC ? tally_locks_resync_end(s) :
					  lock_handover(s, body, len);
}
