/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Locks: drives the pure tables of lockclient.c and lockhome.c with words,
 * messages, sessions and callers.
 */
#ifndef TALLY_LOCK_H
#define TALLY_LOCK_H

#include "view.h"

enum tally_lock_req_state {
	TALLY_LOCK_REQ_IDLE,
	TALLY_LOCK_REQ_WAITING,
	TALLY_LOCK_REQ_HELD,
	TALLY_LOCK_REQ_LOST,
};

/**
 * struct tally_lock_req - one local user of a lock; owned by the caller
 * @list: in the client's queue while it waits
 * @handle: the lock; the caller keeps a reference
 * @state: under the client's lock
 * @status: why a request ended without a grant, negative errno
 * @token: fencing token while HELD
 * @granted_at: CLOCK_BOOTTIME ns of the grant
 * @pid: who asked, for `show`
 * @comm: name of that task
 * @try: it does not want to wait
 * @interruptible: any signal ends its wait, not only a fatal one
 * @wake: completed when @state leaves WAITING
 * @lost: called when a held lock is lost, before anybody else can get it; a
 *	spinlock is held: wake somebody up, nothing more; NULL: nobody to tell
 */
struct tally_lock_req {
	struct list_head list;
	struct tally_handle *handle;
	enum tally_lock_req_state state;
	int status;
	u64 token;
	u64 granted_at;
	pid_t pid;
	char comm[TASK_COMM_LEN];
	bool try;
	bool interruptible;
	struct completion wake;
	void (*lost)(struct tally_lock_req *req);
};

void tally_lock_req_init(struct tally_lock_req *req,
			 struct tally_handle *handle);
/*
 * Acquire. @try: do not wait: -EWOULDBLOCK. Killable. 0 with req->token;
 * -ETIMEDOUT, -EINTR, -EIDRM, -ESTALE, -ENOTCONN, -ESHUTDOWN, -EACCES: not
 * acquired (the protocol takes care of what was posted).
 */
int tally_lock_acquire(struct tally_lock_req *req, bool try, long timeout);
/* Release. 0; -ESTALE: it had been lost; -EINVAL: not held. Does not wait. */
int tally_lock_release(struct tally_lock_req *req);
/* True while held and the lease is valid. */
bool tally_lock_held(struct tally_lock_req *req);
/* How long the tenure is safe without contact to the home. */
u64 tally_lock_lease_left(struct tally_lock_req *req);

/* Home side, called by object.c for objects of type lock. */
int tally_lock_home_create(struct tally_object *object);
void tally_lock_home_delete(struct tally_object *object);	/* the name is gone */
void tally_lock_home_destroy(struct tally_object *object);	/* last reference */

/* Client side, called by handle.c for handles of type lock. */
int tally_lock_client_create(struct tally_handle *handle);
void tally_lock_client_error(struct tally_handle *handle, int err); /* deleted, stale, fenced */
void tally_lock_client_destroy(struct tally_handle *handle);

/* Called from the node ops. */
void tally_locks_session_created(struct tally_session *s);
void tally_locks_session_live(struct tally_session *s, bool resumed);
void tally_locks_session_down(struct tally_session *s);
void tally_locks_session_lost(struct tally_session *s);
void tally_locks_session_over(struct tally_session *s);
/* We leave: tenures at that home are lost, their users are told. */
void tally_locks_session_leave(struct tally_session *s);
int tally_locks_message(struct tally_session *s, u16 type, const void *body,
			u32 len);

/* Between lock.c and lock_home.c. */
struct tally_lmsg;
/* The handle of the home's own users comes and goes. */
int tally_lock_home_attach(struct tally_object *object,
			   struct tally_handle *handle);
void tally_lock_home_detach(struct tally_object *object,
			    struct tally_handle *handle);
/* A message to the home of the lock from its own users. Work context. */
void tally_lock_home_local(struct tally_object *object,
			   const struct tally_lmsg *msg);
/* The loopback conn broke under our own users: start them over. */
void tally_lock_home_local_reset(struct tally_object *object, bool up);
void tally_lock_client_message(struct tally_handle *handle,
			       const struct tally_lmsg *msg);
int tally_lock_home_message(struct tally_session *s,
			    struct tally_object *object,
			    const struct tally_lmsg *msg);
/* For tally_locks_session_*(): every lock of ours, for one session. */
void tally_lock_homes_down(struct tally_session *s);
void tally_lock_homes_resync_end(struct tally_session *s);
void tally_lock_homes_over(struct tally_session *s);

/**
 * struct tally_lock_info - what `lock show` tells, at the home
 * @state: "free", "fast", "managed", "grace"
 * @holder: node that holds it, "" if none
 * @holder_slot: its node slot
 * @token: token counter
 * @waiters: nodes in the queue
 * @age_ms: how long the holder has it; 0 where the home cannot know (fast)
 */
struct tally_lock_info {
	const char *state;
	char holder[TALLY_NAME_SIZE];
	u16 holder_slot;
	u64 token;
	u32 waiters;
	u64 age_ms;
};

void tally_lock_info(struct tally_object *object, struct tally_lock_info *info);
/* Name of the i-th waiter, 0 or -ENOENT. */
int tally_lock_waiter(struct tally_object *object, u32 i,
		      char name[TALLY_NAME_SIZE]);

#endif
