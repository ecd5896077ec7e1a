// SPDX-License-Identifier: GPL-2.0
#include "home/export.h"

#include <linux/err.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include "base/delay.h"
#include "base/ref.h"
#include "base/trace.h"
#include "session/peer.h"
#include "session/rpc.h"

#define ATTACH_MR_ACCESS	(IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)
/* A peer has as long to give up what it may not have as for a broken lock. */
#define EXPORT_ANSWER(s)	(msecs_to_jiffies((s)->lease_ms / 4) + 1)
/* What the tables take for an open, beside its struct. */
#define OPEN_OVERHEAD		32

/* So long a peer has to answer FORGET, or its lease, if that is longer. */
#define FORGET_WAIT		(5 * HZ)
/*
 * Looks, so far apart, that find no answer. The first may come right after FORGET was
 * said, and the one after the break right after it was said again on a new link.
 */
#define FORGET_BREAK		2
#define FORGET_FENCE		4

static unsigned long export_patience(const struct tally_session *s)
{
	return max_t(unsigned long, FORGET_WAIT, msecs_to_jiffies(s->lease_ms));
}

static void export_say_forget(struct tally_attach *attach, u32 object,
			      u32 generation)
{
	struct tally_session *s = attach->session;
	struct tally_export *export = s->home;
	struct tally_wire_object body = {
		.arena = cpu_to_be32(attach->arena->id),
		.object = cpu_to_be32(object),
		.generation = cpu_to_be32(generation),
		.round = cpu_to_be32(attach->round),
	};

	trace_tally_forget(s->id, attach->arena->id, object, generation);
	queue_delayed_work(s->node->wq, &export->patience, export_patience(s));
	/* What cannot be sent now is sent when the link is back. */
	if (!tally_session_send(s, TALLY_MSG_FORGET, &body, sizeof(body)))
		tally_stat_inc(&s->node->stats, TALLY_STAT_FORGET);
}

/*
 * Tell its sessions to forget an object that is deleted. With arena->lock held.
 */
void tally_export_forget_object(struct tally_object *object)
{
	struct tally_open *open;

	lockdep_assert_held(&object->arena->lock);
	list_for_each_entry(open, &object->opens, list) {
		set_bit(TALLY_EXPORT_FORGET, &open->flags);
		export_say_forget(open->attach, object->id,
				  object->generation);
	}
}

/*
 * Tell all that attached to forget an arena that is dead, with all its objects.
 * Process context.
 */
void tally_export_forget_arena(struct tally_arena *arena)
{
	struct tally_attach *attach;
	unsigned long slot;

	guard(mutex)(&arena->lock);
	xa_for_each(&arena->attached, slot, attach) {
		set_bit(TALLY_EXPORT_FORGET, &attach->flags);
		export_say_forget(attach, 0, 0);
	}
}

/* It has more than it may: from now on it has as long as that to answer. */
static void attach_hurry(struct tally_attach *attach)
{
	struct tally_session *s = attach->session;
	struct tally_export *export = s->home;

	lockdep_assert_held(&attach->arena->lock);
	attach->due = jiffies + EXPORT_ANSWER(s);
	attach->link = tally_session_is_live(s) ? READ_ONCE(s->link_nr) : 0;
	mod_delayed_work(s->node->wq, &export->overdue, 0);
}

/*
 * Say that the rights changed, the arena first: then nothing of it is opened again
 * by what was attached before. With arena->lock held.
 */
static void attach_say_withdrawn(struct tally_attach *attach)
{
	struct tally_open *open;
	unsigned long id;

	lockdep_assert_held(&attach->arena->lock);
	export_say_forget(attach, 0, 0);
	xa_for_each(&attach->opens, id, open)
		export_say_forget(attach, id, open->object->generation);
	if (test_bit(TALLY_EXPORT_LESS, &attach->flags))
		attach_hurry(attach);
}

/* Rights that it was given are taken. With arena->lock held. */
static void attach_lessen(struct tally_attach *attach)
{
	if (test_and_set_bit(TALLY_EXPORT_LESS, &attach->flags))
		return;
	attach->end = jiffies + msecs_to_jiffies(attach->session->lease_ms);
	/* It was told before, as it got more then. */
	if (tally_attach_withdrawn(attach))
		attach_hurry(attach);
}

static void attach_withdraw(struct tally_attach *attach)
{
	struct tally_export *export = attach->session->home;
	struct tally_open *open;
	unsigned long id;

	WRITE_ONCE(attach->round, atomic_inc_return(&export->rounds));
	set_bit(TALLY_EXPORT_FORGET, &attach->flags);
	xa_for_each(&attach->opens, id, open) {
		set_bit(TALLY_EXPORT_FORGET, &open->flags);
		if (open->type->withdraw)
			open->type->withdraw(open);
	}
	attach_say_withdrawn(attach);
}

/*
 * What a session may have of an arena: nothing once its peer is deleted, whatever
 * others of that name may. With arena->lock held.
 */
u8 tally_export_access(struct tally_arena *arena, const struct tally_session *s)
{
	/* Set before the peer's entry goes: who misses that sees this. */
	if (tally_peer_deleted(s->peer))
		return TALLY_ACCESS_NONE;
	return tally_arena_access(arena, s->name);
}

/*
 * Rights changed. What a session was given is not made to fit: it is told to
 * forget the arena and to attach again, and all it has of it, keys too, ends when
 * it has answered. For that it has little time where rights were taken, and as long as
 * for what was deleted where it got more. With arena->lock held.
 */
void tally_export_set_access(struct tally_arena *arena)
{
	struct tally_attach *attach;
	unsigned long slot;
	u8 access, old;

	lockdep_assert_held(&arena->lock);
	xa_for_each(&arena->attached, slot, attach) {
		old = attach->access;
		access = tally_export_access(arena, attach->session);
		if (access < old)
			attach_lessen(attach);
		if (access != old && !tally_attach_withdrawn(attach))
			attach_withdraw(attach);
		if (access < old)
			/* What finds this lowered finds the reason. */
			smp_store_release(&attach->access, access);
	}
}

/*
 * Walk the nodes that attached. *@slot: node slot of the one before, 0 to
 * begin; gets that of the next. Process context. Return: 0, or -ENOENT at the
 * end.
 */
int tally_arena_attached(struct tally_arena *arena, unsigned long *slot,
			 char name[TALLY_NAME_SIZE])
{
	struct tally_attach *attach;

	guard(mutex)(&arena->lock);
	attach = xa_find_after(&arena->attached, slot, ULONG_MAX, XA_PRESENT);
	if (attach)
		strscpy(name, attach->session->name, TALLY_NAME_SIZE);
	return attach ? 0 : -ENOENT;
}

static void attach_release(struct kref *ref)
{
	struct tally_attach *attach = container_of(ref, typeof(*attach), ref);

	xa_destroy(&attach->opens);
	tally_arena_put(attach->arena);
	tally_session_put(attach->session);
	kfree_rcu(attach, rcu);
}

/* Any context. */
void tally_attach_put(struct tally_attach *attach)
{
	kref_put(&attach->ref, attach_release);
}

/* Under RCU. */
static struct tally_attach *attach_load(struct tally_session *s, u32 arena)
{
	struct tally_export *export = READ_ONCE(s->home);

	return export ? xa_load(&export->attaches, arena) : NULL;
}

/* The attachment of a session to an arena, referenced, or NULL. Any context. */
struct tally_attach *tally_attach_find(struct tally_session *s, u32 arena)
{
	return tally_find_get(struct tally_attach, attach_load(s, arena));
}

/*
 * Why a session has an arena not attached: -EIDRM, it was deleted; -ENOTCONN, it
 * has to attach again.
 */
int tally_attach_missing(struct tally_session *s, u32 id)
{
	struct tally_arena *arena = tally_arena_by_id(s->node, id);

	tally_arena_put(arena);
	return arena ? -ENOTCONN : -EIDRM;
}

/* Have its rights changed, so that nothing new may come of it? Any context. */
bool tally_attach_withdrawn(const struct tally_attach *attach)
{
	return READ_ONCE(attach->round);
}

/* Were rights of the session changed once? Any context. */
bool tally_export_withdrew(struct tally_session *s)
{
	struct tally_export *export;

	guard(rcu)();
	export = READ_ONCE(s->home);
	return export && atomic_read(&export->rounds);
}

struct tally_open *tally_open_get(struct tally_open *open)
{
	kref_get(&open->ref);
	return open;
}

static void open_free_memory(struct rcu_head *rcu)
{
	struct tally_open *open = container_of(rcu, struct tally_open, rcu);

	tally_type_free(open->type, true, open);
}

static void open_release(struct kref *ref)
{
	struct tally_open *open = container_of(ref, struct tally_open, ref);

	if (open->type->forget)
		open->type->forget(open);
	tally_object_put(open->object);
	tally_attach_put(open->attach);
	call_rcu(&open->rcu, open_free_memory);
}

/* Any context. */
void tally_open_put(struct tally_open *open)
{
	kref_put(&open->ref, open_release);
}

/* What the session may do with an object now: TALLY_ACCESS_*. Any context. */
u8 tally_open_access(const struct tally_open *open)
{
	/* Pairs with tally_export_set_access(). */
	return smp_load_acquire(&open->attach->access);
}

/*
 * May the session have said this before it knew that it has lost its rights?
 * Any context.
 */
bool tally_open_withdrawn(struct tally_session *s,
			  const struct tally_wire_object *which)
{
	struct tally_attach *attach;

	guard(rcu)();
	attach = attach_load(s, be32_to_cpu(which->arena));
	return attach && tally_attach_withdrawn(attach);
}

/* A reference to the open, which may be ending, or NULL. */
static struct tally_open *open_load(struct tally_session *s,
				    const struct tally_wire_object *which)
{
	struct tally_attach *attach;
	struct tally_open *open;

	rcu_read_lock();
	attach = attach_load(s, be32_to_cpu(which->arena));
	open = attach ? xa_load(&attach->opens, be32_to_cpu(which->object)) :
			NULL;
	if (open &&
	    (open->object->generation != be32_to_cpu(which->generation) ||
	     !kref_get_unless_zero(&open->ref)))
		open = NULL;
	rcu_read_unlock();
	return open;
}

/**
 * tally_open_find - what a session calls an object that it has open
 * @s: the session
 * @which: the object
 *
 * Context: any.
 * Return: a reference; or an error pointer: -EIDRM, the object was deleted;
 * -EACCES, the session has it not open or has no rights any more; -ENOTCONN, it has
 * to be opened again, maybe, as rights of the session changed.
 */
struct tally_open *tally_open_find(struct tally_session *s,
				   const struct tally_wire_object *which)
{
	struct tally_open *open = open_load(s, which);
	bool exists;

	if (!open) {
		exists = tally_object_exists(s->node, which);
		return ERR_PTR(!exists ? -EIDRM : tally_export_withdrew(s) ?
			       -ENOTCONN : -EACCES);
	}
	exists = !READ_ONCE(open->object->deleted);
	if (exists && !test_bit(TALLY_EXPORT_ENDING, &open->flags) &&
	    tally_open_access(open) != TALLY_ACCESS_NONE)
		return open;
	tally_open_put(open);
	return ERR_PTR(exists ? -EACCES : -EIDRM);
}

/* The one that set ENDING takes it out of the tables. */
static void open_end(struct tally_export *export, struct tally_open *open)
{
	struct tally_object *object = open->object;
	struct tally_arena *arena = object->arena;

	if (open->type->close)
		open->type->close(open);
	trace_tally_close(export->session->id, arena->id, object->id,
			  object->generation);
	mutex_lock(&arena->lock);
	list_del(&open->list);
	object->users--;
	xa_erase(&open->attach->opens, object->id);
	mutex_unlock(&arena->lock);
	tally_quota_uncharge(&export->quota.bytes,
			     open->type->open_size + OPEN_OVERHEAD);
	tally_open_put(open);
}

/* The table of words is the session's no more; nothing where it never was. */
static void attach_unregister(struct tally_export *export,
			      struct tally_attach *attach)
{
	if (!attach->mr)
		return;
	tally_mr_destroy(attach->mr);
	tally_quota_uncharge(&export->quota.pages,
			     tally_arena_pages(attach->arena));
}

/* It is not in the session's table any more. */
static void attach_end(struct tally_export *export, struct tally_attach *attach)
{
	struct tally_arena *arena = attach->arena;
	struct tally_open *open;
	unsigned long id;

	/* What types do for it under RCU, while it was not withdrawn, has ended. */
	if (tally_attach_withdrawn(attach))
		synchronize_rcu();
	/* The key goes before anything it reaches. */
	attach_unregister(export, attach);
	xa_for_each(&attach->opens, id, open)
		if (!test_and_set_bit(TALLY_EXPORT_ENDING, &open->flags))
			open_end(export, open);
	/* Last: from here on the session may attach again. */
	mutex_lock(&arena->lock);
	xa_erase(&arena->attached, export->session->peer_slot);
	if (attach->mr)
		arena->keys--;
	mutex_unlock(&arena->lock);
	tally_attach_put(attach);
}

/* Can no operation of the session aim at anything of it any more? */
static bool attach_forgotten(struct tally_attach *attach)
{
	struct tally_open *open;
	unsigned long id;

	if (!test_bit(TALLY_EXPORT_FORGOTTEN, &attach->flags))
		return false;
	/* A CLOSE may take one out meanwhile. */
	guard(rcu)();
	xa_for_each(&attach->opens, id, open)
		if (!test_bit(TALLY_EXPORT_FORGOTTEN, &open->flags))
			return false;
	return true;
}

/* Takes one out of the table that was forgotten, with all that was open. */
static struct tally_attach *export_take_forgotten(struct tally_export *export)
{
	struct tally_attach *attach;
	unsigned long id;

	guard(mutex)(&export->lock);
	xa_for_each(&export->attaches, id, attach)
		if (attach_forgotten(attach))
			break;
	if (attach)
		xa_erase(&export->attaches, id);
	return attach;
}

static void export_reap(struct work_struct *work)
{
	struct tally_export *export = container_of(work, typeof(*export), reap);
	struct llist_node *gone = llist_del_all(&export->gone);
	struct tally_attach *attach;
	struct tally_open *open, *next;

	llist_for_each_entry_safe(open, next, gone, reap)
		open_end(export, open);
	while ((attach = export_take_forgotten(export)))
		attach_end(export, attach);
}

/* *@most: of all looks that found no answer. */
static void forget_look(const unsigned long *flags, unsigned long answered,
			u8 *looks, u8 *most)
{
	if (!test_bit(TALLY_EXPORT_FORGET, flags) ||
	    READ_ONCE(*flags) & (answered | BIT(TALLY_EXPORT_FORGOTTEN)))
		return;
	*looks = min(*looks + 1, FORGET_FENCE);
	*most = max(*most, *looks);
}

/* For how many looks is an answer due? 0: none is. */
static u8 export_look(struct tally_export *export)
{
	struct tally_attach *attach;
	unsigned long arena, id;
	struct tally_open *open;
	u8 most = 0;

	guard(mutex)(&export->lock);
	xa_for_each(&export->attaches, arena, attach) {
		if (test_bit(TALLY_EXPORT_LESS, &attach->flags))
			continue;	/* export_overdue() looks at that */
		forget_look(&attach->flags, 0, &attach->looks, &most);
		guard(mutex)(&attach->arena->lock);
		xa_for_each(&attach->opens, id, open)
			forget_look(&open->flags, BIT(TALLY_EXPORT_ENDING),
				    &open->looks, &most);
	}
	return most;
}

/*
 * What is deleted, or was given before the peer got more rights, stays until all
 * have said that they do not aim at it any more.
 * One that does not say so in time gets a new link, after which nothing of it can
 * be in doubt; then it is fenced, so that it cannot keep memory for ever.
 */
static void export_patience_work(struct work_struct *work)
{
	struct tally_export *export = container_of(work, typeof(*export),
						   patience.work);
	struct tally_session *s = export->session;
	/* One that has no link then counts, or it would have none at each look. */
	u8 looks = export_look(export);

	if (!looks)
		return;
	if (looks == FORGET_FENCE) {
		tally_session_violation(s, "what it was to forget is not forgotten");
		tally_session_fence(s, -ETIMEDOUT);
		return;
	}
	if (looks == FORGET_BREAK)
		tally_session_break(s, -ETIMEDOUT);
	queue_delayed_work(s->node->wq, &export->patience, export_patience(s));
}

/*
 * How long a session has yet to give up what it has lost the right to: 0 or less,
 * no longer; LONG_MAX, it has nothing of that. Each link gives it a new term, but
 * none beyond the end. Process context.
 */
static long attach_time_left(struct tally_attach *attach)
{
	struct tally_session *s = attach->session;
	unsigned long now;
	long left;

	guard(mutex)(&attach->arena->lock);
	if (!test_bit(TALLY_EXPORT_LESS, &attach->flags) ||
	    attach_forgotten(attach))
		return LONG_MAX;
	now = jiffies;
	left = attach->end - now;
	/* On a link that is just up it has not been told yet. */
	if (tally_session_is_live(s) && attach->link == READ_ONCE(s->link_nr))
		left = min_t(long, left, attach->due - now);
	return left;
}

/*
 * What a session was told to forget it still has: it is fenced, which takes it. One
 * without a link has no keys that work, and is asked again when it is back.
 */
static void export_overdue(struct work_struct *work)
{
	struct tally_export *export = container_of(to_delayed_work(work),
						   typeof(*export), overdue);
	struct tally_session *s = export->session;
	struct tally_attach *attach;
	long left = LONG_MAX;
	unsigned long id;

	guard(mutex)(&export->lock);
	xa_for_each(&export->attaches, id, attach)
		left = min(left, attach_time_left(attach));
	if (left <= 0)
		tally_session_fence(s, -EACCES);
	else if (left != LONG_MAX)
		queue_delayed_work(s->node->wq, &export->overdue,
				   min_t(long, left, EXPORT_ANSWER(s)));
}

/* A session begins. Return: 0 or -ENOMEM. */
int tally_exports_created(struct tally_session *s)
{
	struct tally_export *export = kzalloc(sizeof(*export), GFP_KERNEL);

	if (!export)
		return -ENOMEM;
	export->session = s;
	mutex_init(&export->reg_lock);
	mutex_init(&export->lock);
	xa_init(&export->attaches);
	INIT_WORK(&export->reap, export_reap);
	INIT_DELAYED_WORK(&export->patience, export_patience_work);
	INIT_DELAYED_WORK(&export->overdue, export_overdue);
	s->home = export;
	return 0;
}

static void attach_repeat(struct tally_attach *attach)
{
	struct tally_open *open;
	unsigned long id;

	guard(mutex)(&attach->arena->lock);
	if (tally_attach_withdrawn(attach)) {
		attach_say_withdrawn(attach);
		return;
	}
	xa_for_each(&attach->opens, id, open)
		if (test_bit(TALLY_EXPORT_FORGET, &open->flags) &&
		    !test_bit(TALLY_EXPORT_ENDING, &open->flags))
			export_say_forget(attach, id, open->object->generation);
	if (test_bit(TALLY_EXPORT_FORGET, &attach->flags) &&
	    !test_bit(TALLY_EXPORT_FORGOTTEN, &attach->flags))
		export_say_forget(attach, 0, 0);
}

/*
 * The link of a session is up: say again what could not be said or was not
 * answered.
 */
void tally_exports_live(struct tally_session *s)
{
	struct tally_export *export = s->home;
	struct tally_attach *attach;
	unsigned long id;

	guard(mutex)(&export->lock);
	xa_for_each(&export->attaches, id, attach)
		attach_repeat(attach);
}

/*
 * Wait until no request of a session is under way that is fenced: its QPs are
 * destroyed and no request comes any more. Until then an object may still be
 * opened: types take back what the session has after that. Sleeps.
 */
void tally_exports_settle(struct tally_session *s)
{
	struct tally_export *export = s->home;

	wait_event(s->wait, !atomic_read(&export->busy));
}

/*
 * Take back all a session was given that is fenced and settled. Process context.
 */
void tally_exports_over(struct tally_session *s)
{
	struct tally_export *export = s->home;
	struct tally_attach *attach;
	unsigned long id;

	cancel_work_sync(&export->reap);
	export_reap(&export->reap);
	xa_for_each(&export->attaches, id, attach) {
		/* Looks go through them. */
		scoped_guard(mutex, &export->lock)
			xa_erase(&export->attaches, id);
		attach_end(export, attach);
	}
	/* Nothing is left to be forgotten. */
	cancel_delayed_work_sync(&export->patience);
	/* Nothing is attached that it could be queued for. */
	cancel_delayed_work_sync(&export->overdue);
	xa_destroy(&export->attaches);
	WRITE_ONCE(s->home, NULL);
	kfree_rcu(export, rcu);
}

/*
 * Where a type keeps what it has of a session, from created() to over(); NULL
 * at first.
 */
void **tally_export_private(struct tally_session *s,
			    const struct tally_type_ops *type)
{
	struct tally_export *export = s->home;

	return &export->private[type->id];
}

/*
 * Call @fn, without locks, for all of a type that a session has open, from its
 * created() to its over(). Rx.
 */
void tally_export_each(struct tally_session *s,
		       const struct tally_type_ops *type,
		       void (*fn)(struct tally_open *open))
{
	struct tally_export *export = s->home;
	struct tally_attach *attach;
	unsigned long arena, id;
	struct tally_open *open;

	rcu_read_lock();
	xa_for_each(&export->attaches, arena, attach) {
		if (!kref_get_unless_zero(&attach->ref))
			continue;
		xa_for_each(&attach->opens, id, open) {
			if (open->type != type ||
			    !kref_get_unless_zero(&open->ref))
				continue;
			rcu_read_unlock();
			fn(open);
			tally_open_put(open);
			rcu_read_lock();
		}
		tally_attach_put(attach);
	}
	rcu_read_unlock();
}

/*
 * A request of a session goes on in another context, which calls
 * tally_export_done() before it replies: the end of the session waits for that.
 * From the request upcall.
 */
void tally_export_begin(struct tally_session *s)
{
	struct tally_export *export = s->home;

	atomic_inc(&export->busy);
}

/* The same on @wq, where one may sleep, with @fn. */
void tally_export_defer(struct tally_sreq *req, struct workqueue_struct *wq,
			work_func_t fn)
{
	tally_export_begin(req->session);
	INIT_WORK(&req->work, fn);
	queue_work(wq, &req->work);
}

/* What was begun, or deferred, is done, and about to be answered. Process context. */
void tally_export_done(struct tally_session *s)
{
	struct tally_export *export = s->home;

	/* The session stays until the reply; @export goes when this is 0. */
	if (atomic_dec_and_test(&export->busy))
		wake_up_all(&s->wait);
}

static void attach_fill(const struct tally_attach *attach,
			struct tally_rep_attach *rep)
{
	const struct tally_arena *arena = attach->arena;

	lockdep_assert_held(&arena->lock);
	*rep = (struct tally_rep_attach) {
		.arena = cpu_to_be32(arena->id),
		.words = cpu_to_be32(arena->config.words),
		.mode = arena->mode,
		.path = TALLY_PATH_MESSAGE,
		.access = attach->access,
	};
	if (attach->mr) {
		rep->path = TALLY_PATH_DIRECT;
		rep->rkey = cpu_to_be32(attach->mr->mr->rkey);
		rep->addr = cpu_to_be64(attach->mr->addr);
	}
}

static int attach_register(struct tally_export *export,
			   struct tally_attach *attach)
{
	struct tally_arena *arena = attach->arena;
	u32 pages = tally_arena_pages(arena);
	struct tally_conn *lane = tally_session_lane(export->session, 0);
	struct tally_mr *mr;

	if (!lane)
		return -EAGAIN;	/* the peer was faster than our last lane */
	mr = tally_mr_create(lane, arena->word_pages, pages, ATTACH_MR_ACCESS);
	tally_conn_put(lane);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	attach->mr = mr;
	atomic64_add(pages, &export->quota.pages);
	return 0;
}

/* A session that is about to end is told to wait for that. */
static int access_denied(const struct tally_session *s)
{
	return tally_peer_deleted(s->peer) ? -EAGAIN : -EACCES;
}

/*
 * Looks at the arena with its lock held; @attach is not linked yet. *@direct: it
 * may post atomics to the words itself, which it may only on the device that owns
 * them: atomics of two devices are not atomic with each other.
 */
static int attach_check(struct tally_attach *attach, bool *direct)
{
	struct tally_session *s = attach->session;
	struct tally_arena *arena = attach->arena;

	lockdep_assert_held(&arena->lock);
	if (arena->state == TALLY_ARENA_DEAD)
		return -ENOENT;
	attach->access = tally_export_access(arena, s);
	if (attach->access == TALLY_ACCESS_NONE)
		return access_denied(s);
	if (arena->state == TALLY_ARENA_STARTING)
		return -EAGAIN;
	*direct = arena->mode == TALLY_MODE_NIC &&
		  attach->access == TALLY_ACCESS_RW &&
		  (s->peer_features & TALLY_FEATURE_ATOMICS) &&
		  s->dev == arena->dev;
	return 0;
}

static int attach_link(struct tally_export *export, struct tally_attach *attach,
		       struct tally_rep_attach *rep)
{
	u32 slot = export->session->peer_slot;
	struct tally_arena *arena = attach->arena;
	bool direct = false;
	int err;

	guard(mutex)(&export->lock);
	guard(mutex)(&arena->lock);
	err = attach_check(attach, &direct);
	if (!err && direct != !!attach->mr)
		err = -EAGAIN;
	if (err)
		return err;
	err = xa_insert(&arena->attached, slot, attach, GFP_KERNEL);
	if (err == -EBUSY)
		err = -EAGAIN;	/* the one before is just going */
	if (err)
		return err;
	err = xa_insert(&export->attaches, arena->id, attach, GFP_KERNEL);
	if (err) {
		xa_erase(&arena->attached, slot);
		return err;
	}
	kref_get(&attach->ref);
	if (attach->mr)
		arena->keys++;
	attach_fill(attach, rep);
	return 0;
}

/* A first ATTACH of this session to this arena. */
static int attach_new(struct tally_export *export, struct tally_arena *arena,
		      struct tally_rep_attach *rep)
{
	struct tally_attach *attach = kzalloc(sizeof(*attach), GFP_KERNEL);
	bool direct = false;
	int err;

	if (!attach)
		return -ENOMEM;
	kref_init(&attach->ref);
	attach->session = tally_session_get(export->session);
	attach->arena = tally_arena_get(arena);
	xa_init(&attach->opens);
	scoped_guard(mutex, &arena->lock)
		err = attach_check(attach, &direct);
	if (!err && direct)
		err = attach_register(export, attach);
	if (!err)
		err = attach_link(export, attach, rep);
	if (err)
		attach_unregister(export, attach);
	tally_attach_put(attach);
	return err;
}

/* The same key and the same rights. */
static int attach_again(struct tally_attach *attach,
			struct tally_rep_attach *rep)
{
	struct tally_arena *arena = attach->arena;

	tally_delay(ATTACH_AGAIN);
	guard(mutex)(&arena->lock);
	if (arena->state == TALLY_ARENA_DEAD)
		return -ENOENT;
	if (tally_export_access(arena, attach->session) == TALLY_ACCESS_NONE)
		return access_denied(attach->session);
	/* Its key may be gone already. */
	if (tally_attach_withdrawn(attach))
		return -EAGAIN;
	attach_fill(attach, rep);
	return 0;
}

/**
 * tally_export_attach - a session attaches to an arena, first or again
 * @s: the session
 * @name: name of the arena
 * @rep: gets what it is given
 *
 * Context: process, sleeps while the table is registered.
 * Return: 0, -ENOENT, -EACCES, -EAGAIN, -ENOMEM, or the device's error.
 */
int tally_export_attach(struct tally_session *s, const char *name,
			struct tally_rep_attach *rep)
{
	struct tally_arena *arena = tally_arena_find(s->node, name);
	struct tally_export *export = s->home;
	struct tally_attach *attach;
	int err;

	if (!arena)
		return -ENOENT;
	guard(mutex)(&export->reg_lock);
	attach = tally_attach_find(s, arena->id);
	if (attach) {
		err = attach_again(attach, rep);
		tally_attach_put(attach);
	} else {
		err = attach_new(export, arena, rep);
	}
	if (!err)
		trace_tally_attach(s->id, arena->id, rep->path, rep->access);
	tally_arena_put(arena);
	return err;
}

static struct tally_open *open_new(struct tally_attach *attach,
				   struct tally_object *object)
{
	const struct tally_type_ops *type = object->config.type;
	struct tally_export *export = attach->session->home;
	u64 bytes = type->open_size + OPEN_OVERHEAD;
	struct tally_open *open;
	int err;

	lockdep_assert_held(&attach->arena->lock);
	err = tally_quota_charge(export->session->node, &export->quota.bytes,
				 bytes, TALLY_QUOTA_BYTES);
	if (err)
		return ERR_PTR(err);
	err = -ENOMEM;
	open = tally_type_alloc(type, true);
	if (!open)
		goto err_uncharge;
	kref_init(&open->ref);
	open->attach = attach;
	open->object = object;
	open->type = type;
	err = type->open ? type->open(open) : 0;
	if (err)
		goto err_free;
	err = xa_insert(&attach->opens, object->id, open, GFP_KERNEL);
	if (err)
		goto err_close;
	kref_get(&attach->ref);
	tally_object_get(object);
	list_add_tail(&open->list, &object->opens);
	object->users++;
	return open;

err_close:
	if (type->forget)
		type->forget(open);
err_free:
	tally_type_free(type, true, open);
err_uncharge:
	tally_quota_uncharge(&export->quota.bytes, bytes);
	return ERR_PTR(err);
}

/*
 * A session opens an object, first or again: opening twice is opening once.
 * With arena->lock held. Return: 0, -EIDRM, -ENOTCONN (attach again), -EACCES,
 * -ENOENT, -EAGAIN, -EDQUOT, -ENOMEM.
 */
int tally_export_open(struct tally_attach *attach, const char *name,
		      struct tally_rep_open *rep)
{
	struct tally_arena *arena = attach->arena;
	struct tally_object *object;
	struct tally_open *open;

	lockdep_assert_held(&arena->lock);
	if (arena->state == TALLY_ARENA_DEAD)
		return -EIDRM;
	if (tally_attach_withdrawn(attach))
		return -ENOTCONN;
	if (attach->access == TALLY_ACCESS_NONE)
		return -EACCES;
	object = tally_names_lookup(&arena->names, name, struct tally_object);
	if (!object || !object->live)
		return -ENOENT;
	open = xa_load(&attach->opens, object->id);
	if (!open)
		open = open_new(attach, object);
	if (IS_ERR(open))
		return PTR_ERR(open);
	if (test_bit(TALLY_EXPORT_ENDING, &open->flags))
		return -EAGAIN;
	tally_object_fill(object, open, rep);
	trace_tally_open(attach->session->id, arena->id, object->id,
			 object->config.type->id);
	return 0;
}

/*
 * A session wants to know whose an object is that it has open, or, with NULL, the
 * arena. Process context. Return: 0, -EIDRM, -EACCES.
 */
int tally_export_stat(struct tally_attach *attach, struct tally_open *open,
		      struct tally_rep_stat *rep)
{
	struct tally_arena *arena = attach->arena;
	const struct tally_owner *owner = open ? &open->object->config.owner :
						 &arena->config.owner;

	guard(mutex)(&arena->lock);
	if (arena->state == TALLY_ARENA_DEAD)
		return -EIDRM;
	if (attach->access == TALLY_ACCESS_NONE)
		return -EACCES;
	*rep = (struct tally_rep_stat) {
		.uid = cpu_to_be32(from_kuid(&init_user_ns, owner->uid)),
		.gid = cpu_to_be32(from_kgid(&init_user_ns, owner->gid)),
		.perm = cpu_to_be32(owner->perm),
		.changed = cpu_to_be64(owner->changed),
	};
	return 0;
}

/*
 * A session has no use for an object any more; nothing happens if it is not
 * open. Process context, sleeps while keys are destroyed.
 */
void tally_export_close(struct tally_session *s,
			const struct tally_wire_object *which)
{
	struct tally_open *open = open_load(s, which);
	struct tally_export *export = s->home;

	if (!open)
		return;
	if (!test_and_set_bit(TALLY_EXPORT_ENDING, &open->flags)) {
		open_end(export, open);
		if (test_bit(TALLY_EXPORT_FORGOTTEN, &open->attach->flags))
			queue_work(s->node->wq, &export->reap);
	}
	tally_open_put(open);
}

/* An answer to what was not asked breaks the protocol; a second one does not. */
static int arena_forgotten(struct tally_session *s,
			   const struct tally_wire_object *which)
{
	struct tally_attach *attach;
	int err = 0;

	if (which->generation)
		return -EPROTO;
	attach = tally_attach_find(s, be32_to_cpu(which->arena));
	if (!attach)
		return 0;
	if (READ_ONCE(attach->round) != be32_to_cpu(which->round))
		;	/* an answer to what was said before that */
	else if (test_bit(TALLY_EXPORT_FORGET, &attach->flags))
		set_bit(TALLY_EXPORT_FORGOTTEN, &attach->flags);
	else
		err = -EPROTO;
	tally_attach_put(attach);
	return err;
}

static int object_forgotten(struct tally_session *s,
			    const struct tally_wire_object *which)
{
	struct tally_open *open = open_load(s, which);
	struct tally_export *export = s->home;
	int err = 0;

	if (!open)
		return 0;
	if (READ_ONCE(open->attach->round) != be32_to_cpu(which->round))
		;	/* likewise */
	else if (!test_bit(TALLY_EXPORT_FORGET, &open->flags))
		err = -EPROTO;
	else if (which->round)
		/* Ended with the arena: its key goes first. */
		set_bit(TALLY_EXPORT_FORGOTTEN, &open->flags);
	else if (!test_and_set_bit(TALLY_EXPORT_ENDING, &open->flags))
		llist_add(&open->reap, &export->gone);
	tally_open_put(open);
	return err;
}

/*
 * A peer will not aim at an object any more, as it says. Rx. Return: 0, or
 * -EPROTO when it broke the protocol.
 */
int tally_exports_forgotten(struct tally_session *s, const void *body, u32 len)
{
	const struct tally_wire_object *which = body;
	struct tally_export *export = s->home;
	int err;

	if (len != sizeof(*which))
		return -EPROTO;
	trace_tally_forgotten(s->id, be32_to_cpu(which->arena),
			      be32_to_cpu(which->object),
			      be32_to_cpu(which->generation));
	err = which->object ? object_forgotten(s, which) :
			      arena_forgotten(s, which);
	if (!err)
		queue_work(s->node->wq, &export->reap);
	return err;
}
