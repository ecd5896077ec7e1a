/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Arenas and objects as their users see them, on the home and elsewhere: a
 * view is an arena reached through one home, a handle is one object of it.
 * A node has one handle an object, shared by everybody who uses it there.
 *
 * A handle outlives its object and its session. Every operation enters it
 * and leaves it; an answer to FORGET is sent when the last has left.
 */
#ifndef TALLY_VIEW_H
#define TALLY_VIEW_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include "home/admin.h"
#include "lock/msg.h"
#include "base/deadline.h"

struct counter_call;
struct tally_lock_client;
struct tally_region_client;

/* How this node reaches the words of a view. */
enum tally_reach {
	TALLY_REACH_CPU,	/* ours, cpu mode: the CPU's own atomics */
	TALLY_REACH_LOOP,	/* ours, nic mode: the loopback conn */
	TALLY_REACH_LANE,	/* a peer's, nic mode: its lanes */
	TALLY_REACH_MESSAGE,	/* a peer's, by requests (cpu mode or proxy) */
};

/**
 * struct tally_view - one arena of one home
 * @list: in node->views
 * @ref: handles, open directories, dentries
 * @node: our node, referenced
 * @name: name of the arena
 * @home: name of the home
 * @arena: the arena if it is ours, referenced, else NULL
 * @watch: on @arena
 * @session: session with its home, referenced, NULL if it is ours or OVER
 * @home_incarnation: start of the home this view was made from
 * @remote_id: id of the arena at its home
 * @rkey: key of the word table (REACH_LANE)
 * @addr: address of the word table (REACH_LANE)
 * @words: its bytes
 * @reach: enum tally_reach
 * @mode: TALLY_MODE_* at the home
 * @access: TALLY_ACCESS_* of this node
 * @uid: owner of the directory
 * @gid: its group
 * @perm: its permission bits
 * @spin: protects @session, @rkey, @addr, @reach, for any context
 * @lock: protects everything but the constant parts
 * @wait: woken when @changes changes
 * @changes: counts what somebody may wait for
 * @handles: struct tally_handle
 * @attaching: somebody attaches just now
 * @opening: handles being opened just now
 * @early: FORGET that came while something was being opened, struct view_early
 * @early_count: how many
 * @error: 0, or why it cannot be used (negative errno); -ENOTCONN until it is
 *	attached (again), anything else for good
 */
struct tally_view {
	struct list_head list;
	struct kref ref;
	struct tally_node *node;
	char name[TALLY_NAME_SIZE];
	char home[TALLY_NAME_SIZE];
	struct tally_arena *arena;
	struct tally_watch watch;
	struct tally_session *session;
	u64 home_incarnation;
	u32 remote_id;
	u32 rkey;
	u64 addr;
	u32 words;
	enum tally_reach reach;
	u8 mode;
	u8 access;
	kuid_t uid;
	kgid_t gid;
	umode_t perm;
	spinlock_t spin;	/* see above */
	struct mutex lock;	/* see above */
	wait_queue_head_t wait;
	u32 changes;
	struct list_head handles;
	bool attaching;
	u32 opening;
	struct list_head early;
	u32 early_count;
	int error;
};

/**
 * struct tally_handle - one object as this node uses it
 * @list: in view->handles
 * @ref: open files, dentries, kernel users, operations
 * @view: its view, referenced
 * @name: its name
 * @type: TALLY_TYPE_*
 * @id: id at the home
 * @generation: of that id
 * @word: offset of its entry in the word table
 * @object: the object if it is ours, referenced, else NULL
 * @watch: on @object
 * @size: bytes of a region
 * @mrs: number of memory keys of a region
 * @mr_bytes: bytes each covers
 * @lock_class: TALLY_CLASS_* of a lock
 * @set: settings of a lock, from the home
 * @uid: owner
 * @gid: group
 * @perm: permission bits
 * @hash: chooses the lane
 * @opening: it is being opened just now; under view->lock
 * @spin: protects @error, @made, @inside, @forget, @doubt
 * @error: 0, or why it cannot be used: -ENOTCONN until it is opened (again);
 *	-EIDRM, -ESTALE, -ESHUTDOWN for good
 * @made: the client side of its type exists
 * @inside: operations that entered
 * @forget: FORGOTTEN is owed when @inside becomes 0
 * @doubt: number of the link on which an operation ended unknown, or 0
 * @forget_work: says FORGOTTEN
 * @release_work: the last reference is gone
 * @spare: what a counter's last operation left for the next, counter/client.c
 * @lock: client side of a lock, lock/user.c
 * @region: memory keys of a region, region/client.c
 */
struct tally_handle {
	struct list_head list;
	struct kref ref;
	struct tally_view *view;
	char name[TALLY_NAME_SIZE];
	u8 type;
	u32 id;
	u32 generation;
	u32 word;
	struct tally_object *object;
	struct tally_watch watch;
	u64 size;
	u32 mrs;
	u32 mr_bytes;
	u8 lock_class;
	struct tally_lock_set set;
	kuid_t uid;
	kgid_t gid;
	umode_t perm;
	u32 hash;
	bool opening;
	spinlock_t spin;	/* see above */
	int error;
	bool made;
	u32 inside;
	bool forget;
	u32 doubt;
	struct work_struct forget_work;
	struct work_struct release_work;
	struct counter_call *spare;
	union {
		struct tally_lock_client *lock;
		struct tally_region_client *region;
	};
};

/**
 * struct tally_views - the views of a node
 * @lock: protects @list and @stopped
 * @list: struct tally_view
 * @stopped: nothing new
 * @owed_lock: protects @owed; taken after tally_view.lock, held while a
 *	message is queued
 * @owed: FORGOTTEN that could not be said yet
 */
struct tally_views {
	struct mutex lock;	/* see above */
	struct list_head list;
	bool stopped;
	struct mutex owed_lock;	/* see above */
	struct list_head owed;
};

int tally_views_start(struct tally_node *node);
void tally_views_stop(struct tally_node *node);
void tally_views_free(struct tally_node *node);

/*
 * Find an arena: "ARENA" asks this node and every live session, all at once,
 * "ARENA@NODE" one of them. Sleeps, killable. -ENOENT, -ENOTUNIQ (two homes have it),
 * -EACCES (no rights), -ENOTCONN (NODE has no session), -ESHUTDOWN,
 * -ETIMEDOUT, -EINTR.
 */
struct tally_view *tally_view_find(struct tally_node *node, const char *name,
				   long timeout);
struct tally_view *tally_view_get(struct tally_view *view);
/* Process context. */
void tally_view_put(struct tally_view *view);
/* Still the arena of that name? For d_revalidate; does not sleep. */
bool tally_view_alive(struct tally_view *view);

/* An entry of a directory. Return false to stop. */
typedef bool (*tally_list_fn)(void *ctx, const char *name, u8 type, u32 id);
/*
 * Objects of a view with ids above @after, or the arenas a node can see, for which
 * all homes are asked at once: a name that several of them have is given as
 * ARENA@NODE for each.
 */
int tally_view_list(struct tally_view *view, u32 after, tally_list_fn fn,
		    void *ctx, long timeout);
int tally_views_list(struct tally_node *node, tally_list_fn fn, void *ctx,
		     long timeout);

/* Find an object. -ENOENT and the errors of tally_view_find(). */
struct tally_handle *tally_handle_find(struct tally_view *view,
				       const char *name, long timeout);
struct tally_handle *tally_handle_get(struct tally_handle *handle);
/* Any context; the rest follows in the node's workqueue. */
void tally_handle_put(struct tally_handle *handle);
bool tally_handle_alive(struct tally_handle *handle);

/*
 * Begin an operation; the caller's reference stays until it has left. 0, or
 * the handle's error. Where the session of the view
 * is OVER and the same start of the home has a new one, attaches and opens
 * again first (sleeps, killable); another start is -ESTALE.
 */
int tally_handle_enter(struct tally_handle *handle, long timeout);
/* The same without sleeping; -EAGAIN when it would have to attach again. */
int tally_handle_try_enter(struct tally_handle *handle);
/*
 * Any context. Whoever posted on the word leaves when the operation has
 * completed, not when its caller gave up waiting: FORGOTTEN follows.
 */
void tally_handle_leave(struct tally_handle *handle);
/*
 * Inside only: an operation on the word ended unknown, so it may still be
 * executed. FORGOTTEN then waits for the next link, before which the home
 * destroys the QPs of this one. Any context.
 */
void tally_handle_doubt(struct tally_handle *handle);
/* Inside only: conn and address for ops on the word. NULL: -ENOTCONN. */
struct tally_conn *tally_handle_conn(struct tally_handle *handle, u64 *addr,
				     u32 *rkey);
/* Error of an operation that found no conn: -ENETDOWN, -ENOTCONN, … */
int tally_handle_no_conn(struct tally_handle *handle);

/* Called from the node ops: */
void tally_views_session_live(struct tally_session *s, bool resumed);
void tally_views_session_over(struct tally_session *s);
/* FORGET from a home. */
int tally_views_forget(struct tally_session *s, const void *body, u32 len);
/* Calls @fn for every handle of that session (locks resync this way). */
void tally_views_each(struct tally_session *s, u8 type,
		      void (*fn)(struct tally_handle *handle, void *ctx),
		      void *ctx);
/* Likewise for every handle of the node, whatever its home. */
void tally_views_all(struct tally_node *node, u8 type,
		     void (*fn)(struct tally_handle *handle, void *ctx),
		     void *ctx);
/* The handle of that object of that home, referenced, or NULL. */
struct tally_handle *tally_views_by_id(struct tally_session *s, u32 arena,
				       u32 id, u32 generation);

/* Between client/view.c, client/find.c, client/handle.c, client/open.c, client/list.c and client/forget.c: */

/* No attaching or opening again helps against these. */
static inline bool tally_view_final(int err)
{
	return err && err != -ENOTCONN;
}

/* With view->lock, which is given up meanwhile. 0, -ETIMEDOUT, -EINTR. */
int tally_view_wait(struct tally_view *view, const struct tally_until *until);
/* With view->lock: something changed that somebody may wait for. */
void tally_view_changed(struct tally_view *view);
/* Attach if that is necessary; @again: ask the home in any case. */
int tally_view_attach(struct tally_view *view, bool again,
		      const struct tally_until *until);
/* The session, referenced, or NULL. Any context. */
struct tally_session *tally_view_session(struct tally_view *view);
/* It cannot be used any more, nor can its handles. No locks. */
void tally_view_fail(struct tally_view *view, int err);
struct tally_view *tally_view_alloc(struct tally_node *node, const char *home,
				    const char *name,
				    struct tally_arena *arena);
/* Walks the views; puts @prev, references the result. */
struct tally_view *tally_view_next(struct tally_node *node,
				   struct tally_view *prev);
/* Ask a home; asks again while it says -EAGAIN. Never -EREMOTEIO. */
int tally_view_ask(struct tally_session *s, u16 type, const void *body,
		   u32 len, void *reply, u32 *reply_len,
		   const struct tally_until *until);

/* Open it (again) unless it is open. */
int tally_handle_open(struct tally_handle *handle,
		      const struct tally_until *until);
/* Walks the handles; puts @prev, references the result. */
struct tally_handle *tally_handle_next(struct tally_view *view,
				       struct tally_handle *prev);
void tally_handle_fail(struct tally_handle *handle, int err);
/* FORGOTTEN is owed for it, now or when the last operation leaves. */
void tally_handle_forget(struct tally_handle *handle);

/* Tell a home FORGOTTEN, after link number @doubt if that is not 0. */
void tally_views_owe(struct tally_session *s, u32 arena, u32 object,
		     u32 generation, u32 doubt);
/* With view->lock: was what is just being opened deleted meanwhile? */
bool tally_view_early(struct tally_view *view, u32 id, u32 generation);
/* With view->lock: the last opening ended, or the session did. */
void tally_view_settle(struct tally_view *view);

#endif
