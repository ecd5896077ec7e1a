/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
/*
 * tally for programs: numbers shared with the netlink protocol, and the
 * ioctls of the files under a tally mount (usually /dev/tally).
 *
 * Errors every ioctl may return:
 *	EACCES		the file's mode or the arena's rights forbid it
 *	EIDRM		the object was deleted
 *	ENOTCONN	no session with the home; nothing was done
 *	ENETDOWN	our own RDMA device is gone; nothing was done
 *	ESHUTDOWN	the node was stopped
 *	ESTALE		the home started again; the object is another one now
 *	EREMOTEIO	unknown: it was on the wire when the link broke or the
 *			timeout passed; it may have happened or may yet
 *	ETIMEDOUT	the timeout passed and nothing had been sent
 *	EINTR		a signal came and nothing had been sent
 *	EBADF		the file is not open for that
 *	EINVAL		a reserved field is not zero, or a value is unknown
 */
#ifndef _UAPI_LINUX_TALLY_H
#define _UAPI_LINUX_TALLY_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define TALLY_FS_MAGIC	0x54414c59
#define TALLY_NAME_LEN	63

/* How an arena's words are operated on. */
enum tally_mode {
	TALLY_MODE_AUTO		= 0,	/* nic if the device can, else cpu */
	TALLY_MODE_NIC		= 1,	/* one-sided atomics */
	TALLY_MODE_CPU		= 2,	/* messages, the home's CPU */
};

/* What a peer may do in an arena. */
enum tally_access {
	TALLY_ACCESS_NONE	= 0,
	TALLY_ACCESS_RO		= 1,
	TALLY_ACCESS_RW		= 2,
};

enum tally_type {
	TALLY_TYPE_COUNTER	= 1,
	TALLY_TYPE_LOCK		= 2,
	TALLY_TYPE_REGION	= 3,
};

/* What a lock protects; decides how long a dead holder's lock waits. */
enum tally_class {
	TALLY_CLASS_EXTERNAL	= 0,	/* anything: wait for the lease */
	TALLY_CLASS_REGION	= 1,	/* regions of this home: until it is fenced */
};

enum tally_counter_op {
	TALLY_COUNTER_READ	= 1,
	TALLY_COUNTER_ADD	= 2,
	TALLY_COUNTER_SET	= 3,
	TALLY_COUNTER_CAS	= 4,
};

/* Timeouts in these structs are milliseconds; 0 means none. */
#define TALLY_TIMEOUT_NONE	0

/**
 * struct tally_ioc_counter - TALLY_IOC_COUNTER, on a counter's file
 * @op: TALLY_COUNTER_*; READ needs a file open for reading, the others one
 *	open for writing
 * @timeout_ms: give up after this time
 * @value: addend, value to set, or value to swap in
 * @compare: CAS: value expected
 * @old: out: value before the operation; a CAS succeeded if it is @compare
 * @reserved: zero
 */
struct tally_ioc_counter {
	__u32 op;
	__u32 timeout_ms;
	__u64 value;
	__u64 compare;
	__u64 old;
	__u64 reserved[2];
};

#define TALLY_LOCK_TRY		0x1	/* wait for no user: EWOULDBLOCK */
#define TALLY_LOCK_SHARED	0x2	/* beside other shared holders */

/**
 * struct tally_ioc_lock - TALLY_IOC_LOCK, on a lock's file
 * @flags: TALLY_LOCK_*
 * @timeout_ms: give up after this time, ETIMEDOUT; out, when a signal ends the
 *	call: what is left of it
 * @token: out: fencing token of this tenure
 * @reserved: zero
 *
 * The open file holds the lock, whichever process has that; closing releases
 * it. Needs a file open for writing, or the right to open it so. EALREADY: this
 * file holds the lock, in whatever mode; ESTALE: it lost the lock and has not
 * been told by an unlock yet.
 *
 * TALLY_IOC_DOWNGRADE goes on holding it shared; EINVAL: not held exclusively.
 * TALLY_IOC_UPGRADE goes on holding it exclusively and gives the new token;
 * EDEADLK: others hold it, keep it or wait for it, and it is held shared as before;
 * ECANCELED: another thread released it meanwhile.
 *
 * A signal ends a wait with EINTR, unless its handler has SA_RESTART or it has none
 * (a stop, a freezer, a debugger): then the wait goes on, at the end of the queue.
 */
struct tally_ioc_lock {
	__u32 flags;
	__u32 timeout_ms;
	__u64 token;
	__u64 reserved[2];
};

/**
 * struct tally_ioc_lockstat - TALLY_IOC_LOCKSTAT, on a lock's file
 * @held: out: 1 while this open file holds the lock
 * @lost: out: 1 when it held the lock and lost it (ESTALE at unlock)
 * @token: out: token of that tenure
 * @lease_ms: out: how long the tenure is safe without contact to the home;
 *	all ones at the home itself
 * @shared: out: 1 if it is held shared
 * @recalled: out: 1 while another node waits for it
 * @reserved: zero
 *
 * poll(2) on the file: POLLPRI when it was recalled or lost, POLLERR when lost.
 */
struct tally_ioc_lockstat {
	__u32 held;
	__u32 lost;
	__u64 token;
	__u64 lease_ms;
	__u32 shared;
	__u32 recalled;
	__u64 reserved;
};

/**
 * struct tally_ioc_create - TALLY_IOC_CREATE, on an arena's directory
 * @type: TALLY_TYPE_*
 * @lock_class: TALLY_CLASS_* of a lock, else 0
 * @size: bytes of a region, else 0
 * @perm: permission bits
 * @reserved: zero
 * @name: name of the new object, NUL-terminated
 *
 * At the arena's home only, elsewhere EREMOTE.
 */
struct tally_ioc_create {
	__u32 type;
	__u32 lock_class;
	__u64 size;
	__u32 perm;
	__u32 reserved;
	char name[TALLY_NAME_LEN + 1];
};

/**
 * struct tally_ioc_show - TALLY_IOC_SHOW, on the directory of an arena elsewhere
 * @type: TALLY_TYPE_* of objects; 0: the arena itself
 * @after: of all objects of @type: id to go on behind, 0 to begin
 * @next: out: @after for the next one, 0 at the end
 * @len: bytes at @attrs; out: how many came, 0: no object is left
 * @attrs: address of a buffer, which gets the netlink attributes of arena-get or
 *	object-get, as the home would answer
 * @name: of one object, or "" for all; NUL-terminated
 *
 * Needs CAP_NET_ADMIN. EOPNOTSUPP: the arena has its home here.
 */
struct tally_ioc_show {
	__u32 type;
	__u32 after;
	__u32 next;
	__u32 len;
	__u64 attrs;
	char name[TALLY_NAME_LEN + 1];
};

#define TALLY_IOC_MAGIC		'Y'
#define TALLY_IOC_COUNTER	_IOWR(TALLY_IOC_MAGIC, 0x01, struct tally_ioc_counter)
#define TALLY_IOC_LOCK		_IOWR(TALLY_IOC_MAGIC, 0x10, struct tally_ioc_lock)
#define TALLY_IOC_UNLOCK	_IO(TALLY_IOC_MAGIC, 0x11)
#define TALLY_IOC_LOCKSTAT	_IOR(TALLY_IOC_MAGIC, 0x12, struct tally_ioc_lockstat)
#define TALLY_IOC_DOWNGRADE	_IO(TALLY_IOC_MAGIC, 0x13)
#define TALLY_IOC_UPGRADE	_IOR(TALLY_IOC_MAGIC, 0x14, __u64)
#define TALLY_IOC_CREATE	_IOW(TALLY_IOC_MAGIC, 0x20, struct tally_ioc_create)
#define TALLY_IOC_SHOW		_IOWR(TALLY_IOC_MAGIC, 0x21, struct tally_ioc_show)

#endif
