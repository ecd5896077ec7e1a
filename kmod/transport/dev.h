/* SPDX-License-Identifier: GPL-2.0 */
/* One RDMA device as tally uses it, from its arrival to its removal. */
#ifndef TALLY_DEV_H
#define TALLY_DEV_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <rdma/ib_verbs.h>

struct tally_conn;

/* What posting an atomic to ourselves showed. */
enum tally_atomics {
	TALLY_ATOMICS_UNKNOWN,	/* not tried, or no address to try on */
	TALLY_ATOMICS_YES,
	TALLY_ATOMICS_NO,
};

/**
 * struct tally_dev - one usable ib_device
 * @ibdev: the device; valid until the last reference is gone
 * @ctrl_pd: for control conns; never holds remotely accessible memory
 * @home_pd: for the loopback conn and the home's own view of its words
 * @list: in the list of all devices, under that list's lock
 * @ref: users; the removal of the device waits for the last one
 * @released: completed by the last put
 * @users: struct tally_dev_user, under @lock
 * @lock: protects @users, @dying, @loop, @atomics; may be held while sleeping
 * @loop: the loopback conn, or NULL
 * @atomics: result of the probe
 * @dying: the device is going away, nothing new may start; written under
 *	@lock and @conns_lock
 * @conns: every conn that uses it, under @conns_lock
 * @conns_lock: taken outside of conn->lock
 * @probe_lock: one probe at a time
 * @calling: whose gone() is running
 * @remover: the task that calls it
 * @called: woken when it returned
 * @max_mr_pages: pages of PAGE_SIZE one MR may have
 * @max_sge: scatter elements one work request may have
 * @max_rd_atomic: reads and atomics in flight as initiator
 * @max_dest_rd_atomic: reads and atomics in flight as target
 * @busy_bytes: bytes that its users keep it busy with, where they keep count
 */
struct tally_dev {
	struct ib_device *ibdev;
	struct ib_pd *ctrl_pd;
	struct ib_pd *home_pd;
	struct list_head list;
	struct kref ref;
	struct completion released;
	struct list_head users;
	struct mutex lock;	/* see above */
	struct tally_conn *loop;
	enum tally_atomics atomics;
	bool dying;
	struct list_head conns;
	spinlock_t conns_lock;	/* see above */
	struct mutex probe_lock;	/* see above */
	struct tally_dev_user *calling;
	struct task_struct *remover;
	wait_queue_head_t called;
	u32 max_mr_pages;
	u32 max_sge;
	u8 max_rd_atomic;
	u8 max_dest_rd_atomic;
	atomic_t busy_bytes;
};

/**
 * struct tally_dev_user - somebody to be told that a device goes away
 * @list: in tally_dev.users
 * @gone: called at most once, in process context, tally_dev.lock not held; must
 *	see to it that the user's references and everything it made on the
 *	device are given up soon, without waiting for anything on the network
 */
struct tally_dev_user {
	struct list_head list;
	void (*gone)(struct tally_dev_user *user);
};

int tally_dev_init(void);
void tally_dev_exit(void);

/* By ib_device (a CM handler asks), or the first one usable in a namespace. */
struct tally_dev *tally_dev_get(struct ib_device *ibdev);
struct tally_dev *tally_dev_find(struct net *net, const char *name);
void tally_dev_hold(struct tally_dev *dev);
void tally_dev_put(struct tally_dev *dev);
/* -ENODEV when the device is already going away. */
int tally_dev_watch(struct tally_dev *dev, struct tally_dev_user *user);
/* Waits for a running gone(), unless that is where it is called from. */
void tally_dev_unwatch(struct tally_dev *dev, struct tally_dev_user *user);

/*
 * The loopback conn, made on first use; sleeps. Returns a reference or an
 * ERR_PTR(): -ENODEV, -EADDRNOTAVAIL (no address on the device yet), …
 */
struct tally_conn *tally_dev_loop(struct tally_dev *dev);
/* Can this device's kernel QPs post atomics? Tried once; sleeps. */
enum tally_atomics tally_dev_probe(struct tally_dev *dev);

/* Every conn of the device is failed when it goes away. For transport/conn.c. */
int tally_dev_join(struct tally_dev *dev, struct tally_conn *conn);
void tally_dev_leave(struct tally_dev *dev, struct tally_conn *conn);

#endif
