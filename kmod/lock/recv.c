// SPDX-License-Identifier: GPL-2.0
/* Lock messages that come; see struct tally_type_ops. */
#include "base/trace.h"
#include "client/views.h"
#include "lock/client.h"
#include "lock/home.h"
#include "lock/recover.h"
#include "lock/recv.h"
#include "object/type.h"
#include "lock/wire.h"
#include "session/peer.h"

/* The successor is told by a third node, which is home of nothing here. */
enum tally_aim tally_lock_aim(const void *body)
{
	const struct tally_msg_lock *lock = body;

	if (lock->type == TALLY_LM_HANDOVER)
		return TALLY_AIM_SESSION;
	return lock->type < TALLY_LM_GRANT ? TALLY_AIM_OPEN : TALLY_AIM_HANDLE;
}

/* A client says something about a lock of ours. */
int tally_lock_message(struct tally_open *open, u16 type, const void *body,
		       u32 len)
{
	struct tally_object *object = open->object;
	struct tally_lmsg msg;

	if (tally_lock_decode(body, &msg) ||
	    tally_open_access(open) != TALLY_ACCESS_RW)
		return -EPROTO;
	trace_tally_lock_message(false, object->arena->id, object->id, msg.type,
				 msg.gen);
	tally_lock_home_event(open, TALLY_LHE_MSG, &msg);
	return 0;
}

/* The home of a lock says something. */
int tally_lock_notice(struct tally_handle *handle, u16 type, const void *body,
		      u32 len)
{
	const struct tally_msg_lock *lock = body;
	struct tally_lmsg msg;

	if (tally_lock_decode(lock, &msg))
		return -EPROTO;
	tally_lock_client_message(handle, &msg, lock->next);
	return 0;
}

/*
 * Another client hands the lock over. Its message names our session with the
 * home; that we wait, and for which generation, is for the table to judge.
 */
static int lock_handover(struct tally_session *from,
			 const struct tally_msg_lock *lock)
{
	const struct tally_wire_object *object = &lock->object;
	struct tally_session *home;
	struct tally_handle *handle;
	struct tally_lmsg msg;

	if (tally_lock_decode(lock, &msg))
		return -EPROTO;
	home = tally_session_find(from->node, msg.next_session);
	if (!home)
		return 0;	/* ended meanwhile */
	handle = tally_views_by_id(home, be32_to_cpu(object->arena),
				   be32_to_cpu(object->object),
				   be32_to_cpu(object->generation));
	tally_session_put(home);
	if (!handle)
		return 0;
	if (handle->ops == tally_type(TALLY_TYPE_LOCK))
		tally_lock_client_message(handle, &msg, NULL);
	tally_handle_put(handle);
	return 0;
}

/* A lock is handed over to us, or a client has said all. */
int tally_lock_news(struct tally_session *s, u16 type, const void *body,
		    u32 len)
{
	return type == TALLY_MSG_RESYNC ? tally_locks_resync_end(s) :
					  lock_handover(s, body);
}
