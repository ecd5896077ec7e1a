/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Locks: drives the pure tables of lock/fsm_client.c and lock/fsm_home.c with words,
 * messages, sessions and callers.
 */
#ifndef TALLY_LOCK_H
#define TALLY_LOCK_H

#include "lock/msg.h"
#include "client/handle.h"

enum tally_lock_req_state {
	TALLY_LOCK_REQ_IDLE,
	TALLY_LOCK_REQ_WAITING,
	TALLY_LOCK_REQ_HELD,
	TALLY_LOCK_REQ_LOST,
};

/* What a user is told; see struct tally_lock_req. */
enum tally_lock_news {
	TALLY_LOCK_NEWS_GRANTED,	/* HELD, or an upgrade was answered */
	TALLY_LOCK_NEWS_FAILED,		/* IDLE, why is in status */
	TALLY_LOCK_NEWS_RECALL,		/* another node waits */
	TALLY_LOCK_NEWS_LOST,		/* LOST, before anybody else can get it */
};

/**
 * struct tally_lock_req - one local user of a lock; owned by the caller
 * @list: in the client's queue while it waits, among its holders while HELD
 * @handle: the lock; the caller keeps a reference
 * @state: under the client's lock
 * @mode: TALLY_LMODE_*, wanted or held
 * @status: why a request ended without a grant, or an upgrade without X,
 *	negative errno
 * @token: fencing token while HELD
 * @granted_at: CLOCK_BOOTTIME ns of the grant
 * @pid: who asked, for `show`; 0: kernel code
 * @comm: name of that task, or of the kernel's user
 * @try: it does not want to wait
 * @interruptible: any signal ends its wait, not only a fatal one
 * @recalled: it has been told that another node waits
 * @wake: completed when @state leaves WAITING, or an upgrade is answered
 * @conn: then its queue is kicked, as it is helped while we wait; or NULL
 * @news: called with every change; a spinlock is held and it may be any
 *	context: wake somebody up, nothing more; NULL: nobody to tell
 */
struct tally_lock_req {
	struct list_head list;
	struct tally_handle *handle;
	enum tally_lock_req_state state;
	u8 mode;
	int status;
	u64 token;
	u64 granted_at;
	pid_t pid;
	char comm[TASK_COMM_LEN];
	bool try;
	bool interruptible;
	bool recalled;
	struct completion wake;
	struct tally_conn *conn;
	void (*news)(struct tally_lock_req *req, enum tally_lock_news what);
};

void tally_lock_req_init(struct tally_lock_req *req,
			 struct tally_handle *handle);
/* @mode, and who it is for `show`: the current task. */
void tally_lock_req_by_task(struct tally_lock_req *req, u8 mode);
/*
 * Acquire in req->mode. @try: wait for no user: -EWOULDBLOCK. Killable. 0 with
 * req->token; -ETIMEDOUT, -EINTR, -EIDRM, -ESTALE, -ENOTCONN, -ESHUTDOWN,
 * -EACCES: not acquired (the protocol takes care of what was posted).
 */
int tally_lock_acquire(struct tally_lock_req *req, bool try, long timeout);
/* Ask for it in req->mode; news() tells. 0: asked. Does not wait. */
int tally_lock_request(struct tally_lock_req *req, bool try);
/* Ask for exclusive while shared; news() tells, and req->status. */
int tally_lock_request_upgrade(struct tally_lock_req *req);
/* It is not wanted any more. True: no answer comes but FAILED with @why. */
bool tally_lock_cancel(struct tally_lock_req *req, int why);
/* Release. 0; -ESTALE: it had been lost; -EINVAL: not held. Does not wait. */
int tally_lock_release(struct tally_lock_req *req);
/* From exclusive to shared. 0; -ESTALE; -EINVAL. Does not wait. */
int tally_lock_downgrade(struct tally_lock_req *req);
/*
 * From shared to exclusive, with a new token, if nobody else has or wants the
 * lock: else -EDEADLK, and it is still held shared. Killable.
 */
int tally_lock_upgrade(struct tally_lock_req *req);
/* True while held and the lease is valid. */
bool tally_lock_held(struct tally_lock_req *req);
/* Does another node wait for what @req holds? */
bool tally_lock_recalled(struct tally_lock_req *req);
/* How long the tenure is safe without contact to the home. */
u64 tally_lock_lease_left(struct tally_lock_req *req);

/* Home side, called by home/object.c for objects of type lock. */
int tally_lock_home_create(struct tally_object *object);
void tally_lock_home_delete(struct tally_object *object);	/* the name is gone */
void tally_lock_home_destroy(struct tally_object *object);	/* last reference */

/* Change the settings and tell every node that has it open. 0, -EIDRM. */
int tally_lock_home_set(struct tally_object *object,
			const struct tally_lock_set *set);

/* Client side, called by client/handle.c for handles of type lock. */
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

/* Between lock/user.c, lock/home.c, lock/homes.c and lock/show.c. */

/**
 * struct tally_lock_user - what this node has of a lock, and for whom
 * @state: enum tally_who
 * @mode: TALLY_LMODE_* of the tenure, 0: none
 * @pid: of one that is inside, 0: kernel code
 * @comm: name of that one, else ""
 * @since: CLOCK_BOOTTIME ns at which that one came in
 */
struct tally_lock_user {
	u8 state;
	u8 mode;
	pid_t pid;
	char comm[TASK_COMM_LEN];
	u64 since;
};

void tally_lock_client_user(struct tally_handle *handle,
			    struct tally_lock_user *user);
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
/* @next: SUCC: name of the successor, or NULL */
void tally_lock_client_message(struct tally_handle *handle,
			       const struct tally_lmsg *msg, const char *next);
int tally_lock_home_message(struct tally_session *s,
			    struct tally_object *object,
			    const struct tally_lmsg *msg);
/* For tally_locks_session_*(): every lock of ours, for one session. */
void tally_lock_homes_down(struct tally_session *s);
void tally_lock_homes_resync_end(struct tally_session *s);
void tally_lock_homes_over(struct tally_session *s);

/*
 * An administrator takes it away from whoever has it. @fenced: so many nodes did
 * not answer, and their sessions are ended. 0; -ESRCH: nobody has it; -EIDRM;
 * -ETIMEDOUT: not yet; -EINTR. Sleeps.
 */
int tally_lock_home_break(struct tally_object *object, u32 *fenced);

/**
 * struct tally_lock_info - what `lock show` tells, at the home
 * @state: "free", "fast", "managed", "cached", "grace"; "cached" where the home
 *	can know it: of its own users, and of others when they were asked
 * @shared: it is held in shared mode
 * @holders: how many nodes hold it
 * @holder: node that holds it, one of them, "" if none
 * @holder_slot: its node slot
 * @token: token counter
 * @waiters: nodes in the queue
 * @age_ms: how long the user, or else the node, has it; U64_MAX where the home
 *	cannot know (fast)
 * @lease_ms: when the home could reclaim it without a word of the holder, or
 *	the holder itself gives it up if that is sooner; U64_MAX: it is ours
 * @pid: of the user; 0: kernel code, or not known
 * @comm: name of that user, else ""
 * @set: settings
 */
struct tally_lock_info {
	const char *state;
	bool shared;
	u32 holders;
	char holder[TALLY_NAME_SIZE];
	u16 holder_slot;
	u64 token;
	u32 waiters;
	u64 age_ms;
	u64 lease_ms;
	pid_t pid;
	char comm[TASK_COMM_LEN];
	struct tally_lock_set set;
};

void tally_lock_info(struct tally_object *object, struct tally_lock_info *info);
/* Name of the i-th waiter, 0 or -ENOENT. */
int tally_lock_waiter(struct tally_object *object, u32 i,
		      char name[TALLY_NAME_SIZE]);

/**
 * struct tally_lock_asking - what asking holders may cost whoever shows locks
 * @left: jiffies that may still be waited
 * @silent: node slots of those that did not answer
 */
struct tally_lock_asking {
	long left;
	DECLARE_BITMAP(silent, TALLY_SLOT_MAX + 1);
};

void tally_lock_asking_init(struct tally_lock_asking *asking);
/* Ask the holder, if it is another node, who it is. */
void tally_lock_ask(struct tally_object *object, struct tally_lock_info *info,
		    struct tally_lock_asking *asking);
/* Such a question came. True: it was one, and is answered. */
bool tally_locks_request(struct tally_session *s, struct tally_sreq *req);

#endif
