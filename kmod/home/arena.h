/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Arenas and objects at their home: names, the word table, rights, and who
 * has been given which address.
 *
 * A word or page is used again only after every session that was given its
 * address has answered FORGET or is OVER (race B32). Deleting an object takes
 * its name away at once, tells those sessions, and frees the entry when the
 * last has answered.
 */
#ifndef TALLY_ARENA_H
#define TALLY_ARENA_H

/**
 * DOC: locks of the object layer
 *
 * Taken in this order; those on one line are never held together:
 *
 *	tally_upper.reg_lock	serialises the registrations of one session; the
 *				only one held while a device works (2 s at most)
 *	tally_upper.lock	attachments of one session
 *	tally_arenas.lock, tally_views.lock, tally_view.lock
 *	tally_arena.lock	objects, rights, attachments, opens of one arena
 *	tally_views.owed_lock	answers to FORGET that could not be sent yet
 *	tally_arena.spin, tally_view.spin, tally_handle.spin
 *
 * The mutexes are for process context and are held while memory is allocated
 * and while a message is queued, never while the network is waited for. The
 * spinlocks are for any context. Nothing of lock/user.c or region/client.c is called with
 * one of these locks held.
 *
 * DOC: who may write a word
 *
 * In a nic arena the NIC is the only writer of a word that anybody can aim
 * at. The whole table is registered from the start, so it is not the key that
 * protects an entry but the address: an entry belongs to nobody from the
 * moment the last reference to its object is dropped (every session that was
 * given the address has answered FORGET or is OVER, every local user has
 * left) until the next object that gets it is linked into the arena's names.
 * In that time, and only then, the CPU writes it: zeroes at the end of the one
 * life, the initial value at the beginning of the next. At any other time a
 * store, an atomic one too, could fall between the NIC's read and its write, and
 * be lost (race B19); the CPU only reads then, and the home's own operations go
 * through the loopback conn. In a cpu arena nobody gets a key, so that there are
 * no atomics of a NIC, and the CPU is the only writer.
 */

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <uapi/linux/tally.h>
#include "transport/dev.h"
#include "lock/msg.h"
#include "transport/mr.h"
#include "session/rpc.h"

#define TALLY_ENTRY_SIZE	16	/* state and token of a lock, or one word */
#define TALLY_WORDS_DEFAULT	65536	/* bytes of a word table */
#define TALLY_WORDS_MAX		(2 << 20)
#define TALLY_NO_WORD		U32_MAX	/* the object has no entry (regions) */

struct tally_lock_home;
struct tally_region_home;

enum tally_arena_state {
	TALLY_ARENA_STARTING,	/* waits for a device or for the probe */
	TALLY_ARENA_READY,
	TALLY_ARENA_DEAD,	/* deleted, or the node stops */
};

/**
 * struct tally_arena_config - what `arena add` says
 * @name: its name
 * @mode: TALLY_MODE_*
 * @dev: name of the RDMA device, "" for the first usable
 * @words: bytes of the word table, a multiple of PAGE_SIZE; 0: default
 * @access: TALLY_ACCESS_* of peers without an entry of their own
 * @uid: owner of the directory
 * @gid: its group
 * @perm: its permission bits (a directory: x means "may look up")
 */
struct tally_arena_config {
	char name[TALLY_NAME_SIZE];
	u8 mode;
	char dev[64];
	u32 words;
	u8 access;
	kuid_t uid;
	kgid_t gid;
	umode_t perm;
};

/**
 * struct tally_arena - one arena of ours
 * @list: in the node's arenas
 * @ref: memory of the struct
 * @node: its node, referenced
 * @config: as given; uid, gid, perm, access change under @lock
 * @id: id within the node, never used twice
 * @lock: protects all that follows; process context
 * @state: see above
 * @mode: TALLY_MODE_NIC or TALLY_MODE_CPU once it was READY, and then for
 *	ever; before that 0, which is TALLY_MODE_AUTO
 * @words: the table, page aligned, in the linear map
 * @word_pages: its pages
 * @bitmap: entries in use or in quarantine
 * @dev: the device a nic arena is bound to, referenced, or NULL
 * @spin: protects @loop and @loop_mr, for any context
 * @loop: loopback conn of @dev, or NULL
 * @loop_mr: the table registered in the home PD of @dev; outlives @loop
 * @watch: device removal
 * @lost: @dev is going away, @start has to give it up
 * @start: finds the device and the mode, renews @loop; the only one that
 *	changes @dev, @loop and @loop_mr
 * @began: when it began to look, in jiffies
 * @free: the last reference is gone
 * @wait: woken when @state changes
 * @objects: id -> struct tally_object (deleted ones until they are freed)
 * @next_id: ids are given once
 * @names: live objects, by name
 * @peers: name -> access, struct tally_arena_peer
 * @attached: sessions that attached, struct tally_attach
 * @lock_tenure: highest token counter of any deleted lock
 */
struct tally_arena {
	struct list_head list;
	struct kref ref;
	struct tally_node *node;
	struct tally_arena_config config;
	u32 id;
	struct mutex lock;	/* see above */
	enum tally_arena_state state;
	u8 mode;
	void *words;
	struct page **word_pages;
	unsigned long *bitmap;
	struct tally_dev *dev;
	spinlock_t spin;	/* see above */
	struct tally_conn *loop;
	struct tally_mr *loop_mr;
	struct tally_dev_user watch;
	bool lost;
	struct delayed_work start;
	unsigned long began;
	struct work_struct free;
	wait_queue_head_t wait;
	struct xarray objects;
	u32 next_id;
	struct list_head names;
	struct list_head peers;
	struct list_head attached;
	u64 lock_tenure;
};

/**
 * struct tally_object_config - what `counter add`, `lock add`, … say
 * @name: its name
 * @type: TALLY_TYPE_*
 * @lock_class: TALLY_CLASS_* (locks)
 * @set: settings (locks)
 * @size: bytes (regions)
 * @initial: value (counters)
 * @uid: owner
 * @gid: group
 * @perm: permission bits
 */
struct tally_object_config {
	char name[TALLY_NAME_SIZE];
	u8 type;
	u8 lock_class;
	struct tally_lock_set set;
	u64 size;
	u64 initial;
	kuid_t uid;
	kgid_t gid;
	umode_t perm;
};

/**
 * struct tally_object - one object of ours
 * @list: in arena->names while it is live
 * @ref: names list, opens, local handles, requests
 * @arena: its arena, referenced
 * @config: as given; uid, gid, perm, set change under arena->lock
 * @id: id in the arena
 * @generation: of that id
 * @word: offset of its entry in the word table, or TALLY_NO_WORD
 * @deleted: its name is gone; written under arena->lock
 * @opens: sessions that were given its address, struct tally_open; under
 *	arena->lock
 * @free: the last reference is gone
 * @lock: home side of a lock, lock/user.c
 * @region: memory of a region, region/client.c
 */
struct tally_object {
	struct list_head list;
	struct kref ref;
	struct tally_arena *arena;
	struct tally_object_config config;
	u32 id;
	u32 generation;
	u32 word;
	bool deleted;
	struct list_head opens;
	struct work_struct free;
	union {
		struct tally_lock_home *lock;
		struct tally_region_home *region;
	};
};

/* Per-node state; called from the node ops in api.c/main.c. */
int tally_arenas_start(struct tally_node *node);
void tally_arenas_stop(struct tally_node *node);
void tally_arenas_free(struct tally_node *node);

/* None of these waits for the network. @reason: a constant sentence. */
int tally_arena_add(struct tally_node *node,
		    const struct tally_arena_config *config,
		    const char **reason);
int tally_arena_del(struct tally_node *node, const char *name,
		    const char **reason);
struct tally_arena *tally_arena_find(struct tally_node *node, const char *name);
struct tally_arena *tally_arena_by_id(struct tally_node *node, u32 id);
struct tally_arena *tally_arena_next(struct tally_node *node,
				     struct tally_arena *prev);
struct tally_arena *tally_arena_get(struct tally_arena *arena);
void tally_arena_put(struct tally_arena *arena);
/* @peer "" changes what peers without an entry get. */
int tally_arena_set_access(struct tally_arena *arena, const char *peer,
			   u8 access);
void tally_arena_set_owner(struct tally_arena *arena, kuid_t uid, kgid_t gid,
			   umode_t perm);
u8 tally_arena_access(struct tally_arena *arena, const char *peer);
/* The i-th peer with an entry of its own, for `show`: 0 or -ENOENT. */
int tally_arena_right(struct tally_arena *arena, u32 i,
		      char name[TALLY_NAME_SIZE], u8 *access);
/* The i-th node that attached, for `show`: 0 or -ENOENT. */
int tally_arena_attached(struct tally_arena *arena, u32 i,
			 char name[TALLY_NAME_SIZE]);
/* Sleeps, killable, until it is READY. 0, -ETIMEDOUT, -EINTR, -EIDRM. */
int tally_arena_wait_ready(struct tally_arena *arena, long timeout);
/*
 * Loopback conn for the home's own operations, referenced; NULL without. Any
 * context. Ask for the conn first and for the address afterwards: an address
 * that belongs to a later device than the conn is never posted, the other way
 * round it would be.
 */
struct tally_conn *tally_arena_loop(struct tally_arena *arena);
/* CPU address of an entry's words. A nic word may only be read here. */
u64 *tally_arena_word(struct tally_arena *arena, u32 word);
/* Address and key of an entry for ops on the loopback conn. */
u64 tally_arena_loop_addr(struct tally_arena *arena, u32 word, u32 *rkey);

int tally_object_add(struct tally_arena *arena,
		     const struct tally_object_config *config,
		     const char **reason);
/* @type 0: any. -ENOENT, -EPROTOTYPE when it is of another type. */
int tally_object_del(struct tally_arena *arena, const char *name, u8 type,
		     const char **reason);
struct tally_object *tally_object_find(struct tally_arena *arena,
				       const char *name);
struct tally_object *tally_object_by_id(struct tally_node *node, u32 arena,
					u32 id, u32 generation);
/* The live one with the next id above @after, for dumps. */
struct tally_object *tally_object_next(struct tally_arena *arena, u32 after);
struct tally_object *tally_object_get(struct tally_object *object);
void tally_object_put(struct tally_object *object);
void tally_object_set_owner(struct tally_object *object, kuid_t uid,
			    kgid_t gid, umode_t perm);
/* Was this session given the object (OPEN), and has not closed it? */
bool tally_object_opened(struct tally_object *object, struct tally_session *s);
/* Other nodes that have it open, for `show`. */
u32 tally_object_users(struct tally_object *object);

/* The session side, called from the node ops: */
int tally_arenas_session_created(struct tally_session *s);
void tally_arenas_session_live(struct tally_session *s, bool resumed);
void tally_arenas_session_over(struct tally_session *s);
/* ATTACH, OPEN, CLOSE, LIST; true when the request was one of these. */
bool tally_arenas_request(struct tally_session *s, struct tally_sreq *req);
/*
 * A request goes on in another context: over() waits until it is done there.
 * Both ends of it are in process context, tally_arenas_done() comes before
 * the reply.
 */
void tally_arenas_busy(struct tally_session *s);
void tally_arenas_done(struct tally_session *s);
/* FORGOTTEN. */
int tally_arenas_forgotten(struct tally_session *s, const void *body, u32 len);

#endif
