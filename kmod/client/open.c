// SPDX-License-Identifier: GPL-2.0
/* How a handle becomes an object: OPEN, the first time and again. */
#include <linux/jhash.h>
#include <linux/user_namespace.h>
#include "region/chunk.h"
#include "lock/client.h"
#include "region/region.h"
#include "client/view.h"
#include "session/session.h"

/* What an object is, from its home or from our own arena. */
struct handle_facts {
	u32 id;
	u32 generation;
	u32 word;
	u64 size;
	u32 mrs;
	u32 mr_bytes;
	u8 type;
	u8 lock_class;
	struct tally_lock_set set;
	kuid_t uid;
	kgid_t gid;
	umode_t perm;
};

static int handle_make(struct tally_handle *handle)
{
	switch (handle->type) {
	case TALLY_TYPE_LOCK:
		return tally_lock_client_create(handle);
	case TALLY_TYPE_REGION:
		return tally_region_client_create(handle);
	default:
		return 0;
	}
}

static void handle_fill(struct tally_handle *handle,
			const struct handle_facts *facts)
{
	handle->id = facts->id;
	handle->generation = facts->generation;
	handle->word = facts->word;
	handle->size = facts->size;
	handle->type = facts->type;
	handle->lock_class = facts->lock_class;
	handle->hash = jhash_3words(handle->view->remote_id, facts->id,
				    facts->word, 0);
}

static bool handle_is(const struct tally_handle *handle,
		      const struct handle_facts *facts)
{
	return handle->id == facts->id &&
	       handle->generation == facts->generation &&
	       handle->word == facts->word && handle->size == facts->size &&
	       handle->type == facts->type &&
	       handle->lock_class == facts->lock_class;
}

/*
 * The first time it becomes that object, later it must still be that one.
 * Only the opener does this, so nothing else changes the handle meanwhile;
 * FORGET leaves alone what is being opened.
 */
static int handle_become(struct tally_handle *handle,
			 const struct handle_facts *facts)
{
	unsigned long flags;
	int err;

	handle->set = facts->set;
	handle->mrs = facts->mrs;
	handle->mr_bytes = facts->mr_bytes;
	handle->uid = facts->uid;
	handle->gid = facts->gid;
	handle->perm = facts->perm;
	if (handle->made)
		return handle_is(handle, facts) ? 0 : -EIDRM;
	handle_fill(handle, facts);
	err = handle_make(handle);
	if (err)
		return err;
	spin_lock_irqsave(&handle->spin, flags);
	handle->made = true;
	spin_unlock_irqrestore(&handle->spin, flags);
	return 0;
}

/* It can be used from here on, unless something came between. */
static int handle_opened(struct tally_handle *handle, struct tally_session *s)
{
	struct tally_view *view = handle->view;
	unsigned long flags;
	int err;

	lockdep_assert_held(&view->lock);
	if (view->error)
		return view->error;
	if (view->session != s)
		return -ENOTCONN;
	if (tally_view_early(view, handle->id, handle->generation) ||
	    (handle->object && READ_ONCE(handle->object->deleted)))
		return -EIDRM;
	spin_lock_irqsave(&handle->spin, flags);
	err = tally_view_final(handle->error) ? handle->error : 0;
	if (!err)
		WRITE_ONCE(handle->error, 0);
	spin_unlock_irqrestore(&handle->spin, flags);
	return err;
}

static void facts_of_reply(const struct tally_rep_open *rep,
			   struct handle_facts *facts)
{
	*facts = (struct handle_facts) {
		.id = be32_to_cpu(rep->object),
		.generation = be32_to_cpu(rep->generation),
		.word = be32_to_cpu(rep->word),
		.size = be64_to_cpu(rep->size),
		.mrs = be32_to_cpu(rep->mrs),
		.mr_bytes = be32_to_cpu(rep->mr_bytes),
		.type = rep->type,
		.lock_class = rep->lock_class,
		.set.cache = rep->lock_cache,
		.set.grants = be16_to_cpu(rep->lock_grants),
		.set.ms = be16_to_cpu(rep->lock_ms),
		.uid = make_kuid(&init_user_ns, be32_to_cpu(rep->uid)),
		.gid = make_kgid(&init_user_ns, be32_to_cpu(rep->gid)),
		.perm = be32_to_cpu(rep->perm),
	};
}

static void facts_of_object(struct tally_object *object,
			    struct handle_facts *facts)
{
	struct tally_rep_open rep;

	mutex_lock(&object->arena->lock);
	tally_object_fill(object, NULL, &rep);
	mutex_unlock(&object->arena->lock);
	facts_of_reply(&rep, facts);
}

/* What a try before this one left behind gives way, unless it was used. */
static void handle_take_object(struct tally_handle *handle,
			       struct tally_object *object)
{
	struct tally_object *old = handle->object;

	if (handle->made) {
		old = object;
	} else {
		if (old)
			tally_arena_unwatch(old->arena, &handle->watch);
		WRITE_ONCE(handle->object, object);
		tally_object_watch(object, &handle->watch);
	}
	if (old)
		tally_object_put(old);
}

static int handle_open_local(struct tally_handle *handle,
			     const struct tally_until *until)
{
	struct tally_view *view = handle->view;
	struct tally_object *object;
	struct handle_facts facts;
	int err;

	err = tally_view_attach(view, false, until);
	if (err)
		return err;
	object = tally_object_find(view->arena, handle->name);
	if (!object)
		return -ENOENT;
	facts_of_object(object, &facts);
	handle_take_object(handle, object);
	err = handle_become(handle, &facts);
	if (err)
		return err;
	mutex_lock(&view->lock);
	err = handle_opened(handle, NULL);
	mutex_unlock(&view->lock);
	return err;
}

/* We divide by it, and keep a key for each of its parts. */
static bool reply_layout_valid(const struct tally_rep_open *rep)
{
	u32 mrs = be32_to_cpu(rep->mrs), unit = be32_to_cpu(rep->mr_bytes);
	u64 size = be64_to_cpu(rep->size);

	return size && size <= TALLY_REGION_MAX && unit >= PAGE_SIZE &&
	       mrs <= TALLY_QUOTA_PAGES &&
	       mrs == tally_chunk_mrs(size, unit);
}

static bool reply_valid(const struct tally_view *view,
			const struct tally_rep_open *rep, u32 len)
{
	u32 word = be32_to_cpu(rep->word);
	bool region = rep->type == TALLY_TYPE_REGION;

	if (len != sizeof(*rep) || !rep->object ||
	    rep->reserved || rep->lock_cache > 1)
		return false;
	if (rep->type < TALLY_TYPE_COUNTER || rep->type > TALLY_TYPE_REGION)
		return false;
	if (rep->lock_class > TALLY_CLASS_REGION ||
	    (rep->lock_class && rep->type != TALLY_TYPE_LOCK))
		return false;
	if ((rep->lock_cache || rep->lock_grants || rep->lock_ms) &&
	    rep->type != TALLY_TYPE_LOCK)
		return false;
	if (!IS_ALIGNED(word, TALLY_ENTRY_SIZE) ||
	    word > view->words - TALLY_ENTRY_SIZE)
		return false;
	if (region ? !reply_layout_valid(rep) :
		     rep->size || rep->mrs || rep->mr_bytes)
		return false;
	if (be32_to_cpu(rep->perm) & ~0777)
		return false;
	return uid_valid(make_kuid(&init_user_ns, be32_to_cpu(rep->uid))) &&
	       gid_valid(make_kgid(&init_user_ns, be32_to_cpu(rep->gid)));
}

static int handle_ask(struct tally_handle *handle, struct tally_session *s,
		      struct handle_facts *facts,
		      const struct tally_until *until)
{
	struct tally_msg_open body = {
		.arena = cpu_to_be32(handle->view->remote_id),
	};
	struct tally_rep_open rep;
	u32 len = sizeof(rep);
	int err;

	strscpy(body.object, handle->name, sizeof(body.object));
	err = tally_view_ask(s, TALLY_MSG_OPEN, &body, sizeof(body), &rep,
			     &len, until);
	if (err)
		return err;
	if (!reply_valid(handle->view, &rep, len)) {
		tally_session_violation(s, "malformed answer to OPEN");
		return -EPROTO;
	}
	facts_of_reply(&rep, facts);
	return 0;
}

static int handle_open_session(struct tally_handle *handle,
			       struct tally_session *s,
			       const struct tally_until *until)
{
	struct tally_view *view = handle->view;
	struct handle_facts facts;
	int err;

	err = handle_ask(handle, s, &facts, until);
	if (err == -EIDRM)
		tally_view_fail(view, err);	/* the whole arena is gone */
	if (!err)
		err = handle_become(handle, &facts);
	if (err)
		return err;
	mutex_lock(&view->lock);
	err = handle_opened(handle, s);
	mutex_unlock(&view->lock);
	return err;
}

static int handle_open_remote(struct tally_handle *handle,
			      const struct tally_until *until)
{
	struct tally_view *view = handle->view;
	struct tally_session *s;
	int err;

	err = tally_view_attach(view, false, until);
	if (err)
		return err;
	s = tally_view_session(view);
	if (!s)
		return -ENOTCONN;
	err = handle_open_session(handle, s, until);
	tally_session_put(s);
	/* It had an id here, and now the name is nobody's. */
	if (err == -ENOENT && handle->made)
		err = -EIDRM;
	return err;
}

/**
 * tally_handle_open - open a handle (again) unless it is open
 * @handle: which
 * @until: when to give up
 *
 * One caller does it, the others wait for the outcome.
 *
 * Context: process, sleeps, killable.
 * Return: 0 or the handle's error; -ENOENT, -EACCES, -EDQUOT, -ETIMEDOUT,
 * -EINTR, …
 */
int tally_handle_open(struct tally_handle *handle,
		      const struct tally_until *until)
{
	struct tally_view *view = handle->view;
	int err = 0;

	mutex_lock(&view->lock);
	while (handle->opening && !err)
		err = tally_view_wait(view, until);
	if (err || READ_ONCE(handle->error) != -ENOTCONN) {
		err = err ? err : READ_ONCE(handle->error);
		mutex_unlock(&view->lock);
		return err;
	}
	handle->opening = true;
	view->opening++;
	mutex_unlock(&view->lock);

	err = view->arena ? handle_open_local(handle, until) :
			    handle_open_remote(handle, until);
	if (err == -EIDRM)
		tally_handle_fail(handle, err);

	mutex_lock(&view->lock);
	handle->opening = false;
	if (!--view->opening)
		tally_view_settle(view);
	tally_view_changed(view);
	mutex_unlock(&view->lock);
	return err;
}
