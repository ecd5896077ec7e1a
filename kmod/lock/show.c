// SPDX-License-Identifier: GPL-2.0
/*
 * Who holds a lock: of a holder on another node only that node knows. What it
 * says is shown, and nothing else depends on it.
 */
#include "home/export.h"
#include "lock/lock.h"
#include "session/lease.h"
#include "session/rpc.h"
#include "session/session.h"

/*
 * So long for all answers. For one a quarter of what is left, or of the lease: those
 * that are silent leave time for those behind them.
 */
#define WHO_LIMIT_ALL	(2 * HZ)
#define WHO_SHARE	4

/* One byte more than an answer has, to see that it is too long. */
struct who_reply {
	struct tally_rep_who rep;
	u8 more;
} __packed;

/**
 * tally_lock_asking_init - locks are about to be shown
 * @asking: what asking for their holders may cost
 */
void tally_lock_asking_init(struct tally_lock_asking *asking)
{
	memset(asking, 0, sizeof(*asking));
	asking->left = WHO_LIMIT_ALL;
}

static bool who_valid(const struct tally_rep_who *rep, u32 len)
{
	if (len != sizeof(*rep) || rep->state > TALLY_WHO_INSIDE ||
	    memchr_inv(rep->reserved, 0, sizeof(rep->reserved)) ||
	    be32_to_cpu(rep->pid) > S32_MAX)
		return false;
	if (rep->state != TALLY_WHO_INSIDE &&
	    (rep->pid || rep->age_ms ||
	     memchr_inv(rep->comm, 0, sizeof(rep->comm))))
		return false;
	if (rep->state == TALLY_WHO_NOTHING)
		return !rep->mode;
	return rep->mode == TALLY_LMODE_X || rep->mode == TALLY_LMODE_S;
}

/* Is it worth asking: will it know what is asked, and is it there? */
static bool who_may_ask(struct tally_session *s)
{
	return (s->peer_features & TALLY_FEATURE_WHO) &&
	       tally_session_is_live(s);
}

/* Anything but -EREMOTEIO, -ETIMEDOUT, -ENOTCONN and -EINTR was an answer. */
static int who_ask(struct tally_session *s, struct tally_object *object,
		   struct tally_rep_who *rep, long timeout)
{
	struct tally_wire_object body = {
		.arena = cpu_to_be32(object->arena->id),
		.object = cpu_to_be32(object->id),
		.generation = cpu_to_be32(object->generation),
	};
	struct who_reply answer = {};
	u32 len = sizeof(answer);
	int err;

	err = tally_session_call(s, TALLY_MSG_WHO, &body, sizeof(body),
				 &answer, &len, timeout);
	if (!err && !who_valid(&answer.rep, len)) {
		tally_session_violation(s, "malformed answer to WHO");
		err = -EPROTO;
	}
	*rep = answer.rep;
	return err;
}

static bool who_was_silent(int err)
{
	return err == -EREMOTEIO || err == -ETIMEDOUT || err == -ENOTCONN ||
	       err == -EINTR;
}

/* It goes to terminals. */
static void who_comm(char comm[TASK_COMM_LEN], const struct tally_rep_who *rep)
{
	size_t i;

	static_assert(sizeof(rep->comm) == TASK_COMM_LEN);
	for (i = 0; i < TASK_COMM_LEN - 1 && rep->comm[i]; i++)
		comm[i] = rep->comm[i] >= ' ' && rep->comm[i] <= '~' ?
			  rep->comm[i] : '?';
	comm[i] = '\0';
}

/* If it has it in another mode than we saw, it speaks of another tenure. */
static void who_show(struct tally_lock_info *info,
		     const struct tally_rep_who *rep)
{
	if (rep->mode != (info->shared ? TALLY_LMODE_S : TALLY_LMODE_X))
		return;
	info->lease_ms = min(info->lease_ms, be64_to_cpu(rep->lease_ms));
	if (rep->state == TALLY_WHO_CACHED) {
		info->state = "cached";
		return;
	}
	info->pid = be32_to_cpu(rep->pid);
	info->age_ms = be64_to_cpu(rep->age_ms);
	who_comm(info->comm, rep);
}

/**
 * tally_lock_ask - ask the node that holds a lock who it is
 * @object: the lock
 * @info: from tally_lock_info(); what the holder says is filled in
 * @asking: what this may cost
 *
 * A holder whose link is down is not asked. One that does not answer in time
 * is not asked again with the same @asking.
 *
 * Context: process, no locks held; sleeps, killable, bounded.
 */
void tally_lock_ask(struct tally_object *object, struct tally_lock_info *info,
		    struct tally_lock_asking *asking)
{
	unsigned long start = jiffies;
	u16 slot = info->holder_slot;
	struct tally_rep_who rep;
	struct tally_session *s;
	long timeout;
	int err;

	if (slot <= TALLY_SLOT_HOME || asking->left <= 0 ||
	    test_bit(slot, asking->silent))
		return;
	s = tally_session_at(object->arena->node, slot);
	if (!s)
		return;
	if (who_may_ask(s)) {
		timeout = min_t(long, msecs_to_jiffies(s->lease_ms / 4),
				DIV_ROUND_UP(asking->left, WHO_SHARE));
		err = who_ask(s, object, &rep, timeout);
		if (!err)
			who_show(info, &rep);
		else if (who_was_silent(err))
			__set_bit(slot, asking->silent);
		asking->left -= jiffies - start;
	}
	tally_session_put(s);
}

static void who_fill(struct tally_rep_who *rep, struct tally_session *s,
		     const struct tally_lock_user *user)
{
	u64 now = ktime_get_boottime_ns();

	memset(rep, 0, sizeof(*rep));
	rep->state = user->state;
	rep->mode = user->mode;
	if (user->state)
		rep->lease_ms = cpu_to_be64(tally_session_lease_left(s));
	if (user->state != TALLY_WHO_INSIDE)
		return;
	rep->pid = cpu_to_be32(user->pid);
	rep->age_ms = cpu_to_be64(div_u64(now - user->since, NSEC_PER_MSEC));
	strscpy_pad(rep->comm, user->comm, sizeof(rep->comm));
}

/* Only the home of a lock is told about it: @s leads to the handle. */
static int who_answer(struct tally_session *s,
		      const struct tally_wire_object *body,
		      struct tally_rep_who *rep)
{
	struct tally_lock_user user;
	struct tally_handle *handle;
	int err = -EPROTOTYPE;

	handle = tally_views_by_id(s, be32_to_cpu(body->arena),
				   be32_to_cpu(body->object),
				   be32_to_cpu(body->generation));
	if (!handle)
		return -ENOENT;
	if (READ_ONCE(handle->made) && handle->type == TALLY_TYPE_LOCK) {
		tally_lock_client_user(handle, &user);
		who_fill(rep, s, &user);
		err = 0;
	}
	tally_handle_put(handle);
	return err;
}

/**
 * tally_locks_request - a home asks who of us holds its lock
 * @s: session with it
 * @req: the request
 *
 * Context: process; does not wait.
 * Return: true when it was a WHO request and is answered.
 */
bool tally_locks_request(struct tally_session *s, struct tally_sreq *req)
{
	struct tally_rep_who rep;
	int err;

	if (req->type != TALLY_MSG_WHO)
		return false;
	if (tally_attach_names_object((void *)req->body, req->len))
		err = who_answer(s, (void *)req->body, &rep);
	else
		err = tally_attach_malformed(s, "malformed WHO");
	tally_sreq_reply(req, err, &rep, err ? 0 : sizeof(rep));
	return true;
}
