/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What sessions were given at this home: an attachment is an arena with a key
 * to its word table, an open is the address of one object. A message finds its
 * open under RCU: session, id of the arena, id and generation of the object.
 */
#ifndef TALLY_HOME_EXPORT_H
#define TALLY_HOME_EXPORT_H

#include <linux/llist.h>
#include "home/object.h"
#include "home/quota.h"
#include "session/session.h"

/* Bits of tally_attach.flags and tally_open.flags. */
#define TALLY_EXPORT_FORGET	0	/* FORGET was or is to be said */
#define TALLY_EXPORT_FORGOTTEN	1	/* and answered */
#define TALLY_EXPORT_ENDING	2	/* of an open: one context frees it */
#define TALLY_EXPORT_LESS	3	/* of an attachment: rights were taken */

/**
 * struct tally_attach - an arena as one session was given it
 * @ref: the session, opens
 * @rcu: frees it
 * @session: whose, referenced
 * @arena: referenced
 * @mr: the word table in the session's PD, or NULL (by message)
 * @access: TALLY_ACCESS_* it was given, or what is left of it; keys that were
 *	made with more are destroyed with the attachment. Under arena->lock
 * @opens: id of the object -> struct tally_open; changed under arena->lock; RCU
 * @flags: TALLY_EXPORT_*
 * @looks: for how many looks of export->patience FORGET has had no answer
 * @round: its rights changed: of what is FORGET, and FORGOTTEN has to be; else 0.
 *	Written under arena->lock
 * @due: with TALLY_EXPORT_LESS: and until when, in jiffies; under arena->lock
 * @link: number of the link for which that is, 0: none was up; likewise
 * @end: until when at the latest, however often its link breaks; likewise
 */
struct tally_attach {
	struct kref ref;
	struct rcu_head rcu;
	struct tally_session *session;
	struct tally_arena *arena;
	struct tally_mr *mr;
	u8 access;
	struct xarray opens;
	unsigned long flags;
	u8 looks;
	u32 round;
	unsigned long due;
	u32 link;
	unsigned long end;
};

/**
 * struct tally_open - one object as one session was given it; a type may have a
 *	struct that begins with this one
 * @list: in object->opens, under arena->lock
 * @ref: the attachment, requests, whatever the type keeps
 * @rcu: frees it
 * @attach: the arena's attachment, referenced
 * @object: referenced: its entry is not used again while this exists
 * @type: its type
 * @flags: TALLY_EXPORT_*
 * @looks: as of the attachment
 * @reap: in export->gone
 */
struct tally_open {
	struct list_head list;
	struct kref ref;
	struct rcu_head rcu;
	struct tally_attach *attach;
	struct tally_object *object;
	const struct tally_type_ops *type;
	unsigned long flags;
	u8 looks;
	struct llist_node reap;
};

/**
 * struct tally_export - what a session was given here; session->home
 * @session: whose; it outlives this
 * @rcu: frees it
 * @reg_lock: one registration at a time
 * @lock: serialises changes of @attaches
 * @attaches: id of the arena -> struct tally_attach; RCU
 * @gone: opens that were answered FORGOTTEN, for @reap
 * @reap: frees those, and attachments that were forgotten
 * @patience: looks for answers to FORGET that do not come
 * @overdue: fences a session that does not answer when rights are withdrawn
 * @rounds: how often that was done
 * @quota: what it has taken
 * @busy: requests that go on in another context; session->wait is woken when
 *	it becomes 0
 * @private: what each type keeps of the session, by its id
 */
struct tally_export {
	struct tally_session *session;
	struct rcu_head rcu;
	struct mutex reg_lock;	/* see above */
	struct mutex lock;	/* see above */
	struct xarray attaches;
	struct llist_head gone;
	struct work_struct reap;
	struct delayed_work patience;
	struct delayed_work overdue;
	atomic_t rounds;
	struct tally_quota quota;
	atomic_t busy;
	void *private[TALLY_TYPES_MAX];
};

int tally_exports_created(struct tally_session *s);
void tally_exports_live(struct tally_session *s);
void tally_exports_settle(struct tally_session *s);
void tally_exports_over(struct tally_session *s);
int tally_exports_forgotten(struct tally_session *s, const void *body, u32 len);
void **tally_export_private(struct tally_session *s,
			    const struct tally_type_ops *type);
void tally_export_each(struct tally_session *s,
		       const struct tally_type_ops *type,
		       void (*fn)(struct tally_open *open));
void tally_export_begin(struct tally_session *s);
void tally_export_defer(struct tally_sreq *req, struct workqueue_struct *wq,
			work_func_t fn);
void tally_export_done(struct tally_session *s);

int tally_export_attach(struct tally_session *s, const char *name,
			struct tally_rep_attach *rep);
struct tally_attach *tally_attach_find(struct tally_session *s, u32 arena);
void tally_attach_put(struct tally_attach *attach);
int tally_attach_missing(struct tally_session *s, u32 arena);
bool tally_attach_withdrawn(const struct tally_attach *attach);
bool tally_export_withdrew(struct tally_session *s);
int tally_arena_attached(struct tally_arena *arena, unsigned long *slot,
			 char name[TALLY_NAME_SIZE]);

int tally_export_open(struct tally_attach *attach, const char *name,
		      struct tally_rep_open *rep);
int tally_export_stat(struct tally_attach *attach, struct tally_open *open,
		      struct tally_rep_stat *rep);
void tally_export_close(struct tally_session *s,
			const struct tally_wire_object *which);
struct tally_open *tally_open_find(struct tally_session *s,
				   const struct tally_wire_object *which);
struct tally_open *tally_open_get(struct tally_open *open);
void tally_open_put(struct tally_open *open);
u8 tally_open_access(const struct tally_open *open);
bool tally_open_withdrawn(struct tally_session *s,
			  const struct tally_wire_object *which);

/* With arena->lock held, except for the third. */
u8 tally_export_access(struct tally_arena *arena, const struct tally_session *s);
void tally_export_forget_object(struct tally_object *object);
void tally_export_forget_arena(struct tally_arena *arena);
void tally_export_set_access(struct tally_arena *arena);

#endif
