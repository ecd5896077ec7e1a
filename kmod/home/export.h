/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What sessions were given at this home: an attachment is an arena with a key
 * to its word table, an open is the address of one object.
 */
#ifndef TALLY_ATTACH_H
#define TALLY_ATTACH_H

#include "home/arena.h"

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

/**
 * struct tally_upper - what a session was given here; session->upper
 * @session: whose; it outlives this
 * @reg_lock: one registration at a time
 * @lock: protects @attaches, @gone
 * @attaches: struct tally_attach
 * @gone: struct tally_open that were answered FORGOTTEN, for @reap
 * @reap: frees those, and attachments of arenas that are gone
 * @opens: how many opens, against TALLY_OPENS_MAX
 * @busy: requests that go on in another context; session->wait is woken when
 *	it becomes 0
 */
struct tally_upper {
	struct tally_session *session;
	struct mutex reg_lock;	/* see above */
	struct mutex lock;	/* see above */
	struct list_head attaches;
	struct list_head gone;
	struct work_struct reap;
	atomic_t opens;
	atomic_t busy;
};

/* The peer sent what no peer may send. The request still gets its answer. */
static inline int tally_attach_malformed(struct tally_session *s, const char *what)
{
	tally_session_violation(s, what);
	return -EPROTO;
}

static inline bool
tally_attach_names_object(const struct tally_wire_object *body, u32 len)
{
	return len == sizeof(*body) && !body->reserved;
}

/* With up->lock. */
struct tally_attach *tally_attach_of(struct tally_upper *up, u32 arena);
void tally_attach_defer(struct tally_sreq *req, work_func_t fn);
void tally_attach_request(struct tally_session *s, struct tally_sreq *req);

/* All with arena->lock held. */
void tally_attach_forget_object(struct tally_object *object);
void tally_attach_forget_arena(struct tally_arena *arena);
void tally_attach_recheck(struct tally_arena *arena);
bool tally_attach_direct(struct tally_arena *arena);
struct tally_open *tally_attach_open(struct tally_attach *attach, u32 object,
				     u32 generation);
/* Rights, home/rights.c. */
void tally_rights_free(struct tally_arena *arena);
u8 tally_arena_access_locked(struct tally_arena *arena, const char *peer);

#endif
