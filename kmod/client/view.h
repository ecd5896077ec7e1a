/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Arenas and objects as their users see them, on the home and elsewhere: a
 * view is an arena reached through one home, a handle is one object of it.
 * A node has one handle an object, shared by all that use it there.
 *
 * A handle outlives its object and its session. Every operation enters it
 * and leaves it; an answer to FORGET is sent when the last has left.
 */
#ifndef TALLY_VIEW_H
#define TALLY_VIEW_H

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/list_lru.h>
#include <linux/mutex.h>
#include <linux/rhashtable.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include "base/deadline.h"
#include "home/object.h"

struct shrinker;
struct tally_owed;

/* How this node reaches the words of a view. */
enum tally_reach {
	TALLY_REACH_CPU,	/* ours, cpu mode: the CPU's own atomics */
	TALLY_REACH_LOOP,	/* ours, nic mode: the loopback conn */
	TALLY_REACH_LANE,	/* a peer's, nic mode: its lanes */
	TALLY_REACH_MESSAGE,	/* a peer's, by requests (cpu mode or proxy) */
};

/**
 * struct tally_key - what a home calls an arena or object
 * @home: the home's incarnation
 * @arena: id of the arena
 * @object: id of the object; 0: the arena itself
 */
struct tally_key {
	u64 home;
	u32 arena;
	u32 object;
};

/**
 * struct tally_known - something of another home, in tally_views.by_id
 * @node: there
 * @key: never changes once it is there
 */
struct tally_known {
	struct rhlist_head node;
	struct tally_key key;
};

/**
 * struct tally_view - one arena of one home
 * @list: in tally_views.list
 * @by_name: in tally_views.by_name
 * @known: in tally_views.by_id once it was attached, unless it is ours: a home
 *	that started again has other arenas
 * @rcu: frees it
 * @ref: handles, open directories, dentries
 * @node: our node, referenced
 * @name: name of the arena
 * @home: name of the home
 * @arena: the arena if it is ours, referenced, else NULL
 * @watch: on @arena
 * @session: session with its home, referenced, NULL if it is ours or OVER
 * @remote_id: id of the arena at its home, once it was attached
 * @rkey: key of the word table (REACH_LANE)
 * @addr: address of the word table (REACH_LANE)
 * @words: its bytes
 * @reach: enum tally_reach
 * @access: TALLY_ACCESS_* of this node
 * @spin: protects @session, @rkey, @addr, @reach, for any context
 * @lock: protects everything but the constant parts
 * @wait: woken when @changes changes
 * @changes: counts what callers may wait for
 * @handles: struct tally_handle
 * @names: the same by name
 * @closing: those of them that nobody uses any more, and whose home is to know
 * @close_work: tells it, one after the other; set up with the first handle
 * @silent: until when its home counts as one that does not answer, in jiffies, or 0;
 *	for those that have not much time, without a lock
 * @attaching: it is being attached just now
 * @opening: handles being opened just now
 * @early: FORGET that came while something was being opened, struct tally_owed
 * @early_count: how many
 * @error: 0, or why it cannot be used (negative errno); -ENOTCONN until it is
 *	attached (again), anything else for good
 */
struct tally_view {
	struct list_head list;
	struct rhlist_head by_name;
	struct tally_known known;
	struct rcu_head rcu;
	struct kref ref;
	struct tally_node *node;
	char name[TALLY_NAME_SIZE];	/* with @home the key of @by_name */
	char home[TALLY_NAME_SIZE];
	struct tally_arena *arena;
	struct tally_watch watch;
	struct tally_session *session;
	u32 remote_id;
	u32 rkey;
	u64 addr;
	u32 words;
	enum tally_reach reach;
	u8 access;
	spinlock_t spin;	/* see above */
	struct mutex lock;	/* see above */
	wait_queue_head_t wait;
	u32 changes;
	struct list_head handles;
	struct rhltable names;
	struct list_head closing;
	struct work_struct close_work;
	unsigned long silent;
	bool attaching;
	u32 opening;
	struct list_head early;
	u32 early_count;
	int error;
};

/**
 * struct tally_handle - one object as this node uses it
 * @list: in view->handles
 * @by_name: in view->names
 * @idle: in tally_views.idle once it is made, where its type has spare(), unless it
 *	is ours
 * @known: in tally_views.by_id once it is made, unless it is ours
 * @watch: on @object, if it is ours
 * @rcu: frees it
 * @ref: open files, dentries, kernel users, operations
 * @view: its view, referenced
 * @name: its name
 * @ops: its type, once it is @made
 * @part: what its type keeps here, from ops->attach() to ops->release()
 * @id: id at the home
 * @generation: of that id
 * @word: offset of its entry in the word table
 * @object: the object if it is ours, referenced, else NULL
 * @size: bytes of its file
 * @hash: chooses the lane
 * @opening: it is being opened just now; under view->lock
 * @spin: protects @error, @made, @forget
 * @error: 0, or why it cannot be used: -ENOTCONN until it is opened (again);
 *	-EIDRM, -ESTALE, -ESHUTDOWN for good
 * @made: it is a certain object, and its type has attached it
 * @inside: operations that entered
 * @forget: FORGOTTEN, to be said when @inside becomes 0, or NULL
 * @doubt: number of the link on which an operation ended unknown, or 0
 * @forget_work: says FORGOTTEN
 * @release_work: the last reference is gone
 * @closing: in view->closing
 * @closing_in: id of the session that it was open in when its last user left
 */
struct tally_handle {
	struct list_head list;
	struct rhlist_head by_name;
	struct list_head idle;
	union {
		struct tally_known known;
		struct tally_watch watch;
	};
	struct rcu_head rcu;
	struct kref ref;
	struct tally_view *view;
	char name[TALLY_NAME_SIZE];
	const struct tally_type_ops *ops;
	void *part;
	u32 id;
	u32 generation;
	u32 word;
	struct tally_object *object;
	u64 size;
	u32 hash;
	bool opening;
	spinlock_t spin;	/* see above */
	int error;
	bool made;
	atomic_t inside;
	struct tally_owed *forget;
	u32 doubt;
	struct work_struct forget_work;
	struct work_struct release_work;
	struct list_head closing;
	u64 closing_in;
};

/**
 * struct tally_views - the views of a node
 * @lock: protects @list, @by_name and @stopped
 * @list: struct tally_view
 * @by_name: the same by the names of arena and home
 * @by_id: views and handles of other homes, struct tally_known; under RCU
 * @stopped: nothing new
 * @owed_lock: protects @owed; taken after tally_view.lock, held while a
 *	message is queued
 * @owed: FORGOTTEN that could not be said yet, struct tally_owed
 * @idle: handles that may be open though nobody uses them, in use or not
 * @shrinker: closes some of them when memory is short
 * @closing: how many handles are being closed
 * @closed: how many were
 * @idle_wait: woken when that changes
 */
struct tally_views {
	struct mutex lock;	/* see above */
	struct list_head list;
	struct rhltable by_name;
	struct rhltable by_id;
	bool stopped;
	struct mutex owed_lock;	/* see above */
	struct list_head owed;
	struct list_lru idle;
	struct shrinker *shrinker;
	atomic_t closing;
	atomic_t closed;
	wait_queue_head_t idle_wait;
};

/* Attaching or opening again does not help against these. */
static inline bool tally_view_final(int err)
{
	return err && err != -ENOTCONN;
}

int tally_views_start(struct tally_node *node);
void tally_views_stop(struct tally_node *node);
void tally_views_free(struct tally_node *node);

struct tally_view *tally_view_of(struct tally_node *node, const char *home,
				 const char *name, struct tally_arena *arena);
struct tally_view *tally_view_get(struct tally_view *view);
void tally_view_put(struct tally_view *view);
struct tally_view *tally_view_next(struct tally_node *node,
				   struct tally_view *prev);
struct tally_view *tally_view_by_id(struct tally_session *s, u32 arena);
bool tally_view_alive(struct tally_view *view);
struct tally_session *tally_view_session(struct tally_view *view);
void tally_view_fail(struct tally_view *view, int err);

/* With view->lock, which the first gives up meanwhile. */
int tally_view_wait(struct tally_view *view, const struct tally_until *until);
void tally_view_close(struct tally_view *view);
void tally_view_changed(struct tally_view *view);
int tally_views_know(struct tally_node *node, struct tally_known *known,
		     struct tally_key key);

/* With view->lock: into and out of its tables. */
int tally_handle_add(struct tally_handle *handle);
void tally_handle_del(struct tally_handle *handle);
struct tally_handle *tally_handle_named(struct tally_view *view,
					const char *name);
/* Likewise, or under RCU. */
struct tally_handle *tally_handle_known(struct tally_session *s, u32 arena,
					u32 id, u32 generation);

struct tally_handle *tally_handle_get(struct tally_handle *handle);
void tally_handle_put(struct tally_handle *handle);
struct tally_handle *tally_handle_next(struct tally_view *view,
				       struct tally_handle *prev);
struct tally_wire_object tally_handle_wire(const struct tally_handle *handle);
struct tally_handle *
tally_views_by_id(struct tally_session *s,
		  const struct tally_wire_object *which);
bool tally_handle_alive(struct tally_handle *handle);
void tally_handle_fail(struct tally_handle *handle, int err);

#endif
