/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Arenas at their home: names, the word table, its device, and rights.
 *
 * A word or page is used again only after every session that was given its
 * address has answered FORGET or is OVER. Deleting an object takes its name
 * away at once, tells those sessions, and frees the entry when the last has
 * answered.
 */
#ifndef TALLY_HOME_ARENA_H
#define TALLY_HOME_ARENA_H

/**
 * DOC: locks of the object layer
 *
 * Taken in this order; those on one line are never held together:
 *
 *	tally_export.reg_lock	serialises the registrations of one session; the
 *				only one held while a device works (2 s at most)
 *	tally_export.lock	attachments of one session change
 *	tally_arenas.lock, tally_views.lock
 *	tally_arena.watch_lock	watches of one arena and its objects
 *	tally_view.lock
 *	tally_arena.lock	objects, rights, attachments, opens of one arena
 *	tally_views.owed_lock	answers to FORGET that could not be sent yet
 *	tally_arena.spin, tally_view.spin, tally_handle.spin
 *
 * The mutexes are for process context and are held while memory is allocated
 * and while a message is queued, never while the network is waited for. The
 * spinlocks are for any context. Nothing of a type is called with one of them
 * held, unless struct tally_type_ops says so. Messages and look-ups take none:
 * arenas, objects, attachments and opens are found under RCU.
 *
 * DOC: what may write a word
 *
 * In a nic arena the NIC is the only writer of a word that anybody can aim
 * at. The whole table is registered from the start, so it is not the key that
 * protects an entry but the address: an entry belongs to none from the
 * moment the last reference to its object is dropped (every session that was
 * given the address has answered FORGET or is OVER, every local user has
 * left) until the next object that gets it can be found by its name.
 * In that time, and only then, the CPU writes it: zeroes at the end of the one
 * life, the initial value at the beginning of the next. At any other time a
 * store, an atomic one too, could fall between the NIC's read and its write, and
 * be lost; the CPU only reads then, and the home's own operations go through
 * the loopback conn. In a cpu arena no node gets a key, so that there are no
 * atomics of a NIC, and the CPU is the only writer.
 */

#include <linux/bits.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <uapi/linux/tally.h>
#include "base/names.h"
#include "session/rpc.h"
#include "transport/dev.h"
#include "transport/mr.h"

#define TALLY_ENTRY_SIZE	16	/* two words: an object's, or its and a second */
#define TALLY_WORDS_DEFAULT	65536	/* bytes of a word table */
#define TALLY_WORDS_MAX		(2 << 20)
#define TALLY_NO_WORD		U32_MAX	/* the object has no entry */

enum tally_arena_state {
	TALLY_ARENA_STARTING,	/* waits for a device or for the probe */
	TALLY_ARENA_READY,
	TALLY_ARENA_DEAD,	/* deleted, or the node stops */
};

/**
 * struct tally_watch - wants to know when an arena or object is deleted
 * @list: where it is on the watch; private to home/
 * @gone: called once, in process context, with the arena's watch_lock held:
 *	the end of a watch waits for it
 */
struct tally_watch {
	struct list_head list;
	void (*gone)(struct tally_watch *watch);
};

/**
 * struct tally_owner - whose a directory or file is
 * @uid: owner
 * @gid: group
 * @perm: permission bits (of a directory: x means "may look up")
 * @changed: when it was made or one of these was changed, in nanoseconds since
 *	1970; 0 where that is not known
 */
struct tally_owner {
	kuid_t uid;
	kgid_t gid;
	umode_t perm;
	u64 changed;
};

/* What of an owner is to be changed. */
#define TALLY_OWNER_UID		BIT(0)
#define TALLY_OWNER_GID		BIT(1)
#define TALLY_OWNER_PERM	BIT(2)

/**
 * struct tally_arena_config - what `arena add` says
 * @name: its name
 * @mode: TALLY_MODE_*
 * @dev: name of the RDMA device, "" for the first usable
 * @words: bytes of the word table, a multiple of PAGE_SIZE; 0: default
 * @access: TALLY_ACCESS_* of peers without an entry of their own
 * @owner: of the directory
 */
struct tally_arena_config {
	char name[TALLY_NAME_SIZE];
	u8 mode;
	char dev[64];
	u32 words;
	u8 access;
	struct tally_owner owner;
};

/**
 * struct tally_arena - one arena of ours
 * @by_name: in the node's arenas
 * @all: in the node's arenas, until it is freed
 * @ref: memory of the struct
 * @rcu: frees it
 * @node: its node, referenced
 * @config: as given; owner and access change under @lock
 * @id: id within the node, never used twice
 * @lock: protects all that follows; process context
 * @state: see above
 * @mode: TALLY_MODE_NIC or TALLY_MODE_CPU once it was READY, and then for
 *	ever; before that 0, which is TALLY_MODE_AUTO
 * @words: the table, page aligned, in the linear map
 * @word_pages: its pages
 * @bitmap: entries in use or in quarantine
 * @next_word: where to look for a free entry first
 * @dev: the device a nic arena is bound to, referenced, or NULL
 * @spin: protects @loop and @loop_mr, for any context
 * @loop: loopback conn of @dev, or NULL
 * @loop_mr: the table registered in the home PD of @dev; outlives @loop
 * @watch: device removal
 * @lost: @dev is going away, @start has to give it up
 * @start: finds the device and the mode, renews @loop; the only one that
 *	changes @dev, @loop and @loop_mr
 * @free: the last reference is gone
 * @wait: woken when @state changes
 * @objects: id -> struct tally_object, until they are freed; RCU
 * @next_id: ids are given once
 * @names: name -> object that is not deleted; RCU
 * @dying: those that are, until they are freed
 * @rights: struct tally_right by ids in the order they were given
 * @rights_by_name: the same by the name of the peer
 * @attached: sessions that attached: node slot -> struct tally_attach
 * @keys: how many of them hold a key to the words
 * @tenure: highest number that a deleted object has given; a type's
 * @watch_lock: protects @watches and those of objects
 * @watch_task: calls gone() just now, under @watch_lock
 * @watches: struct tally_watch
 */
struct tally_arena {
	struct tally_name by_name;
	struct list_head all;
	struct kref ref;
	struct rcu_head rcu;
	struct tally_node *node;
	struct tally_arena_config config;
	u32 id;
	struct mutex lock;	/* see above */
	enum tally_arena_state state;
	u8 mode;
	void *words;
	struct page **word_pages;
	unsigned long *bitmap;
	unsigned long next_word;
	struct tally_dev *dev;
	spinlock_t spin;	/* see above */
	struct tally_conn *loop;
	struct tally_mr *loop_mr;
	struct tally_dev_user watch;
	bool lost;
	struct delayed_work start;
	struct work_struct free;
	wait_queue_head_t wait;
	struct xarray objects;
	u32 next_id;
	struct tally_names names;
	struct list_head dying;
	struct xarray rights;
	struct tally_names rights_by_name;
	struct xarray attached;
	u32 keys;
	u64 tenure;
	struct mutex watch_lock;	/* see above */
	struct task_struct *watch_task;
	struct list_head watches;
};

int tally_arenas_start(struct tally_node *node);
void tally_arenas_free(struct tally_node *node);

int tally_arena_add(struct tally_node *node,
		    const struct tally_arena_config *config,
		    const char **reason);
struct tally_arena *tally_arena_take(struct tally_node *node, const char *name);
struct tally_arena *tally_arena_find(struct tally_node *node, const char *name);
struct tally_arena *tally_arena_by_id(struct tally_node *node, u32 id);
u64 tally_arenas_named(struct tally_node *node, const char *name,
		       void (*fn)(struct tally_arena *arena, void *ctx),
		       void *ctx);
struct tally_arena *tally_arena_next(struct tally_node *node,
				     unsigned long after);
struct tally_arena *tally_arena_get(struct tally_arena *arena);
void tally_arena_put(struct tally_arena *arena);
int tally_arena_wait_ready(struct tally_arena *arena, long timeout);
void tally_arena_watch(struct tally_arena *arena, struct list_head *watches,
		       struct tally_watch *watch);
void tally_arena_unwatch(struct tally_arena *arena, struct tally_watch *watch);

/* Rights. */
u8 tally_arena_access(struct tally_arena *arena, const char *peer);
int tally_arena_give_access(struct tally_arena *arena, const char *peer,
			    u8 access);
void tally_arena_drop_access(struct tally_arena *arena, const char *peer);
int tally_arena_right(struct tally_arena *arena, unsigned long *id,
		      char name[TALLY_NAME_SIZE], u8 *access);

/* Words. */
int tally_arena_word_take(struct tally_arena *arena, u32 *word);
void tally_arena_word_give(struct tally_arena *arena, u32 word);
u64 *tally_arena_word(struct tally_arena *arena, u32 word);
struct tally_conn *tally_arena_loop(struct tally_arena *arena);
u64 tally_arena_loop_addr(struct tally_arena *arena, u32 word, u32 *rkey);

static inline u32 tally_arena_pages(const struct tally_arena *arena)
{
	return arena->config.words >> PAGE_SHIFT;
}

#endif
