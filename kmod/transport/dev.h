/* SPDX-License-Identifier: GPL-2.0 */
/* One RDMA device as tally uses it, from its arrival to its removal. */
#ifndef TALLY_DEV_H
#define TALLY_DEV_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
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
 * @lock: protects @users and @dying
 * @dying: the device is going away, nothing new may start
 * @loop_lock: protects @loop; held while it is made
 * @loop: the loopback conn, or NULL; transport/loop.c
 * @probe_lock: protects @atomics; held while they are tried
 * @atomics: result of the probe; transport/probe.c
 * @calling: the user in whose gone() the remover is
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
	bool dying;
	struct mutex loop_lock;	/* see above */
	struct tally_conn *loop;
	struct mutex probe_lock;	/* see above */
	enum tally_atomics atomics;
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
 * struct tally_dev_user - what is to be told that a device goes away
 * @list: in tally_dev.users
 * @last: tell it after those that are not; conns, so that their owners know
 * @gone: called at most once, in process context, tally_dev.lock not held; must
 *	see to it that the user's references and everything it made on the
 *	device are given up soon, without waiting for anything on the network
 */
struct tally_dev_user {
	struct list_head list;
	bool last;
	void (*gone)(struct tally_dev_user *user);
};

int tally_dev_init(void);
void tally_dev_exit(void);

struct tally_dev *tally_dev_find(const struct ib_device *ibdev,
				 const char *name, struct net *net);
void tally_dev_hold(struct tally_dev *dev);
void tally_dev_put(struct tally_dev *dev);
int tally_dev_watch(struct tally_dev *dev, struct tally_dev_user *user);
void tally_dev_unwatch(struct tally_dev *dev, struct tally_dev_user *user);

#endif
