/* SPDX-License-Identifier: GPL-2.0 */
/* Layout of the messages about arenas and objects: see base/wire.h. */
#ifndef TALLY_OBJECT_WIRE_H
#define TALLY_OBJECT_WIRE_H

#include "base/wire.h"

struct tally_msg_attach {
	char	arena[TALLY_NAME_SIZE];
} __packed;

/**
 * struct tally_rep_attach - an arena as the attaching node may use it
 * @arena: id of the arena at its home
 * @rkey: key of the word table; 0 when @path is TALLY_PATH_MESSAGE
 * @addr: address of the word table in that key
 * @words: length of the table in bytes
 * @mode: TALLY_MODE_NIC or TALLY_MODE_CPU (uapi)
 * @path: enum tally_path
 * @access: TALLY_ACCESS_* of the attaching node (uapi)
 * @reserved: zero
 */
struct tally_rep_attach {
	__be32	arena;
	__be32	rkey;
	__be64	addr;
	__be32	words;
	u8	mode;
	u8	path;
	u8	access;
	u8	reserved;
} __packed;

struct tally_msg_open {
	__be32	arena;
	u8	reserved[4];
	char	object[TALLY_NAME_SIZE];
} __packed;

/**
 * struct tally_rep_open - an object as the opening node may use it
 * @object: id of the object in its arena
 * @generation: generation of that id; every later message carries both
 * @size: bytes of a region, else 0
 * @word: offset of the object's entry in the word table
 * @mrs: memory keys a region is made of, to be fetched by REGION_MAP
 * @mr_bytes: bytes each of them covers (the last one less)
 * @type: TALLY_TYPE_* (uapi)
 * @lock_class: TALLY_CLASS_* of a lock (uapi), else 0
 * @lock_cache: of a lock: 1 if it is cached, else 0
 * @reserved: zero
 * @lock_grants: of a lock: budget of local users after a recall, else 0
 * @lock_ms: of a lock: the same in milliseconds, else 0
 * @lock_last: of a lock: the highest generation that any node was given or promised,
 *	so that none of those is the opener's, else 0
 */
struct tally_rep_open {
	__be32	object;
	__be32	generation;
	__be64	size;
	__be32	word;
	__be32	mrs;
	__be32	mr_bytes;
	u8	type;
	u8	lock_class;
	u8	lock_cache;
	u8	reserved;
	__be16	lock_grants;
	__be16	lock_ms;
	__be64	lock_last;
} __packed;
static_assert(sizeof(struct tally_rep_open) == 44);

/**
 * struct tally_rep_stat - whose an arena or object is today
 * @uid: owner
 * @gid: group
 * @perm: permission bits
 * @reserved: zero
 * @changed: when it was made or one of these was changed, by the home's clock,
 *	in nanoseconds since 1970
 */
struct tally_rep_stat {
	__be32	uid;
	__be32	gid;
	__be32	perm;
	__be32	reserved;
	__be64	changed;
} __packed;

/*
 * Which object: CLOSE, STAT, WHO, FORGET, FORGOTTEN, and the head of all object bodies.
 * Ids begin with 1. STAT, FORGET and FORGOTTEN of object 0, generation 0 mean the
 * arena itself with its word table, after all of its objects; before them where
 * rights changed.
 */
struct tally_wire_object {
	__be32	arena;
	__be32	object;
	__be32	generation;
	union {
		__be32	reserved;	/* but in FORGET and FORGOTTEN: */
		__be32	round;		/* 0: deleted, else: rights changed */
	};
} __packed;

struct tally_msg_list {
	__be32	arena;		/* 0: the arenas of this node */
	__be32	after;		/* id to go on behind, 0 to begin */
} __packed;

/* LIST's reply: this head, then @count entries. */
struct tally_rep_list {
	__be32	count;
	__be32	next;		/* id for the next LIST, 0 at the end */
} __packed;

/* SHOW: an arena, or an object in it. */
struct tally_msg_show {
	__be32	arena;
	__be32	after;		/* of all objects of @type: id to go on behind */
	u8	type;		/* TALLY_TYPE_*; 0: the arena itself */
	u8	reserved[3];
	char	name[TALLY_NAME_SIZE];	/* of one object, or "" */
} __packed;

/*
 * SHOW's reply: this head, then the attributes of arena-get or object-get in the
 * byte order of both; none at the end.
 */
struct tally_rep_show {
	__be32	next;		/* id for the next SHOW, 0 at the end */
	__be32	reserved;
} __packed;

struct tally_list_entry {
	__be32	id;
	u8	type;		/* TALLY_TYPE_*, 0 for an arena */
	u8	reserved[3];
	char	name[TALLY_NAME_SIZE];
} __packed;

#endif
