/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What sessions were given at this home: an attachment is an arena with a key
 * to its word table, an open is the address of one object.
 */
#ifndef TALLY_ATTACH_H
#define TALLY_ATTACH_H

#include "arena.h"

#define TALLY_OPENS_MAX		4096	/* objects one session may have open */

/**
 * struct tally_attach - an arena as one session was given it
 * @list: in arena->attached, under arena->lock
 * @mine: in the session's attachments, under their lock
 * @session: whose; it outlives the attachment
 * @arena: referenced
 * @mr: the word table in the session's PD, or NULL (by message)
 * @access: TALLY_ACCESS_* when it was given
 * @opens: struct tally_open, under arena->lock
 * @forget: FORGET of the arena is owed an answer, under arena->lock
 * @forgotten: it was answered, under arena->lock
 */
struct tally_attach {
	struct list_head list;
	struct list_head mine;
	struct tally_session *session;
	struct tally_arena *arena;
	struct tally_mr *mr;
	u8 access;
	struct list_head opens;
	bool forget;
	bool forgotten;
};

/**
 * struct tally_open - one object as one session was given it
 * @list: in object->opens, under arena->lock
 * @mine: in attach->opens, under arena->lock
 * @attach: the arena's attachment
 * @object: referenced: its entry is not used again while this exists
 * @forget: FORGET is owed an answer, under arena->lock
 * @closing: a CLOSE is under way and will free it, under arena->lock
 */
struct tally_open {
	struct list_head list;
	struct list_head mine;
	struct tally_attach *attach;
	struct tally_object *object;
	bool forget;
	bool closing;
};

/* All with arena->lock held. */
void tally_attach_forget_object(struct tally_object *object);
void tally_attach_forget_arena(struct tally_arena *arena);
void tally_attach_recheck(struct tally_arena *arena);
bool tally_attach_direct(struct tally_arena *arena);
/* Rights, rights.c. */
void tally_rights_free(struct tally_arena *arena);
u8 tally_arena_access_locked(struct tally_arena *arena, const char *peer);

#endif
