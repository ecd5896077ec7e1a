// SPDX-License-Identifier: GPL-2.0
/* Who may do what in an arena of ours. */
#include <linux/slab.h>
#include "home/arena.h"
#include "home/export.h"
#include "base/name.h"

struct tally_arena_peer {
	struct list_head list;
	char name[TALLY_NAME_SIZE];
	u8 access;
};

static struct tally_arena_peer *arena_peer(struct tally_arena *arena,
					   const char *name)
{
	struct tally_arena_peer *peer;

	lockdep_assert_held(&arena->lock);
	list_for_each_entry(peer, &arena->peers, list)
		if (!strcmp(peer->name, name))
			return peer;
	return NULL;
}

/**
 * tally_arena_access_locked - tally_arena_access() with arena->lock held
 * @arena: an arena of ours
 * @peer: name of a peer
 *
 * Return: TALLY_ACCESS_*.
 */
u8 tally_arena_access_locked(struct tally_arena *arena, const char *peer)
{
	struct tally_arena_peer *entry = arena_peer(arena, peer);

	return entry ? entry->access : arena->config.access;
}

/**
 * tally_arena_access - what a peer may do in an arena
 * @arena: an arena of ours
 * @peer: name of the peer
 *
 * Context: process.
 * Return: TALLY_ACCESS_*.
 */
u8 tally_arena_access(struct tally_arena *arena, const char *peer)
{
	u8 access;

	mutex_lock(&arena->lock);
	access = tally_arena_access_locked(arena, peer);
	mutex_unlock(&arena->lock);
	return access;
}

/**
 * tally_arena_set_access - change what a peer may do
 * @arena: an arena of ours
 * @peer: name of the peer, or "" for those without an entry
 * @access: TALLY_ACCESS_*
 *
 * A session that was given more than it may have now is fenced: the fabric
 * knows only the keys it was given.
 *
 * Context: process.
 * Return: 0, -EINVAL, -ENOMEM.
 */
int tally_arena_set_access(struct tally_arena *arena, const char *peer,
			   u8 access)
{
	struct tally_arena_peer *entry, *fresh;

	if (access > TALLY_ACCESS_RW ||
	    (peer[0] && !tally_name_valid(peer, strlen(peer))))
		return -EINVAL;
	fresh = kzalloc(sizeof(*fresh), GFP_KERNEL);
	if (!fresh)
		return -ENOMEM;
	mutex_lock(&arena->lock);
	entry = arena_peer(arena, peer);
	if (!peer[0]) {
		arena->config.access = access;
	} else if (entry) {
		entry->access = access;
	} else {
		strscpy(fresh->name, peer, sizeof(fresh->name));
		fresh->access = access;
		list_add_tail(&fresh->list, &arena->peers);
		fresh = NULL;
	}
	tally_attach_recheck(arena);
	mutex_unlock(&arena->lock);
	kfree(fresh);
	return 0;
}

/**
 * tally_arena_right - walk the peers that have an entry of their own
 * @arena: an arena of ours
 * @i: which, from 0
 * @name: gets the peer's name
 * @access: gets its TALLY_ACCESS_*
 *
 * Context: process.
 * Return: 0 or -ENOENT.
 */
int tally_arena_right(struct tally_arena *arena, u32 i,
		      char name[TALLY_NAME_SIZE], u8 *access)
{
	struct tally_arena_peer *entry;
	int err = -ENOENT;

	mutex_lock(&arena->lock);
	list_for_each_entry(entry, &arena->peers, list) {
		if (i--)
			continue;
		strscpy(name, entry->name, TALLY_NAME_SIZE);
		*access = entry->access;
		err = 0;
		break;
	}
	mutex_unlock(&arena->lock);
	return err;
}

/**
 * tally_arena_attached - walk the nodes that attached
 * @arena: an arena of ours
 * @i: which, from 0
 * @name: gets the node's name
 *
 * Context: process.
 * Return: 0 or -ENOENT.
 */
int tally_arena_attached(struct tally_arena *arena, u32 i,
			 char name[TALLY_NAME_SIZE])
{
	struct tally_attach *attach;
	int err = -ENOENT;

	mutex_lock(&arena->lock);
	list_for_each_entry(attach, &arena->attached, list) {
		if (i--)
			continue;
		strscpy(name, attach->session->name, TALLY_NAME_SIZE);
		err = 0;
		break;
	}
	mutex_unlock(&arena->lock);
	return err;
}

/**
 * tally_rights_free - forget every entry
 * @arena: arena that is being freed
 */
void tally_rights_free(struct tally_arena *arena)
{
	struct tally_arena_peer *entry, *next;

	list_for_each_entry_safe(entry, next, &arena->peers, list)
		kfree(entry);
}
