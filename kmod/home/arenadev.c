// SPDX-License-Identifier: GPL-2.0
#include "home/arenadev.h"

#include <linux/err.h>
#include "home/export.h"
#include "transport/loop.h"
#include "transport/probe.h"

#define ARENA_RETRY	msecs_to_jiffies(200)	/* between looks for a device */
#define ARENA_GIVE_UP	msecs_to_jiffies(2000)	/* auto: then the CPU does it */

#define ARENA_MR_ACCESS	(IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)

/**
 * tally_arena_kick - have the start work run
 * @arena: which; referenced while it is queued
 * @delay: in jiffies
 *
 * Context: any.
 */
void tally_arena_kick(struct tally_arena *arena, unsigned long delay)
{
	tally_arena_get(arena);
	if (mod_delayed_work(arena->node->wq, &arena->start, delay))
		tally_arena_put(arena);	/* was queued, and has its own */
}

/**
 * tally_arena_ready - an arena that was STARTING can be used
 * @arena: which
 * @mode: its mode from now on
 *
 * Context: process.
 */
void tally_arena_ready(struct tally_arena *arena, u8 mode)
{
	bool ready;

	mutex_lock(&arena->lock);
	ready = arena->state == TALLY_ARENA_STARTING;
	if (ready) {
		WRITE_ONCE(arena->mode, mode);
		WRITE_ONCE(arena->state, TALLY_ARENA_READY);
	}
	mutex_unlock(&arena->lock);
	if (!ready)
		return;
	wake_up_all(&arena->wait);
	tally_node_event(arena->node, "arena_ready", arena->config.name,
			 mode == TALLY_MODE_NIC ? "nic" : "cpu");
}

/**
 * tally_arena_dev_gone - the device of an arena goes away
 * @user: arena->watch
 *
 * Context: process.
 */
void tally_arena_dev_gone(struct tally_dev_user *user)
{
	struct tally_arena *arena = container_of(user, struct tally_arena,
						 watch);

	if (!kref_get_unless_zero(&arena->ref))
		return;	/* being freed, which gives the device up as well */
	WRITE_ONCE(arena->lost, true);
	tally_arena_kick(arena, 0);
	tally_arena_put(arena);
}

/**
 * tally_arena_unbind - give up everything on the device
 * @arena: which
 *
 * Context: process; only from the start work, or when that cannot run.
 */
void tally_arena_unbind(struct tally_arena *arena)
{
	bool lost = READ_ONCE(arena->lost);
	struct tally_dev *dev = arena->dev;
	struct tally_conn *loop;
	struct tally_mr *mr;
	unsigned long flags;
	bool down;

	if (!dev)
		return;
	mutex_lock(&arena->lock);
	down = arena->state == TALLY_ARENA_READY;
	if (down)
		WRITE_ONCE(arena->state, TALLY_ARENA_STARTING);
	arena->dev = NULL;
	spin_lock_irqsave(&arena->spin, flags);
	loop = arena->loop;
	mr = arena->loop_mr;
	arena->loop = NULL;
	arena->loop_mr = NULL;
	spin_unlock_irqrestore(&arena->spin, flags);
	mutex_unlock(&arena->lock);
	tally_dev_unwatch(dev, &arena->watch);
	WRITE_ONCE(arena->lost, false);
	/* Other arenas use the conn as well; it ends only with the device. */
	if (lost)
		tally_conn_close(loop, -ENETDOWN);
	tally_mr_destroy(mr);
	tally_conn_put(loop);
	tally_dev_put(dev);
	if (down)
		tally_node_event(arena->node, "arena_down",
				 arena->config.name, "device gone");
}

static void arena_publish(struct tally_arena *arena, struct tally_dev *dev,
			  struct tally_conn *loop, struct tally_mr *mr)
{
	unsigned long flags;

	mutex_lock(&arena->lock);
	arena->dev = dev;
	spin_lock_irqsave(&arena->spin, flags);
	arena->loop = loop;
	arena->loop_mr = mr;
	spin_unlock_irqrestore(&arena->spin, flags);
	mutex_unlock(&arena->lock);
}

/* Takes over the reference to @dev when it succeeds. */
static int arena_bind_dev(struct tally_arena *arena, struct tally_dev *dev)
{
	enum tally_atomics atomics = tally_dev_probe(dev);
	struct tally_conn *loop;
	struct tally_mr *mr;
	int err;

	if (atomics == TALLY_ATOMICS_UNKNOWN)
		return -EADDRNOTAVAIL;
	if (atomics == TALLY_ATOMICS_NO ||
	    tally_arena_pages(arena) > dev->max_mr_pages)
		return -EOPNOTSUPP;
	loop = tally_dev_loop(dev);
	if (IS_ERR(loop))
		return PTR_ERR(loop);
	mr = tally_mr_create(loop, arena->word_pages, tally_arena_pages(arena),
			     ARENA_MR_ACCESS);
	if (IS_ERR(mr)) {
		err = PTR_ERR(mr);
		goto err_put_loop;
	}
	arena_publish(arena, dev, loop, mr);
	err = tally_dev_watch(dev, &arena->watch);
	if (err)
		goto err_unpublish;
	return 0;

err_unpublish:
	arena_publish(arena, NULL, NULL, NULL);
	tally_mr_destroy(mr);
err_put_loop:
	tally_conn_put(loop);
	return err;
}

static int arena_bind(struct tally_arena *arena)
{
	struct tally_dev *dev;
	bool direct;
	int err;

	/*
	 * Sessions on a device that is going away may still reach the words
	 * through it. Two devices at one word are not atomic (race B18).
	 */
	mutex_lock(&arena->lock);
	direct = tally_attach_direct(arena);
	mutex_unlock(&arena->lock);
	if (direct)
		return -EBUSY;
	dev = tally_dev_find(arena->node->net,
			     arena->config.dev[0] ? arena->config.dev : NULL);
	if (!dev)
		return -ENODEV;
	err = arena_bind_dev(arena, dev);
	if (err)
		tally_dev_put(dev);
	return err;
}

static void arena_try(struct tally_arena *arena)
{
	int err = arena_bind(arena);

	if (!err) {
		tally_arena_ready(arena, TALLY_MODE_NIC);
		return;
	}
	/* An arena whose words a NIC has owned stays that way. */
	if (arena->config.mode == TALLY_MODE_AUTO && !arena->mode &&
	    (err == -EOPNOTSUPP ||
	     time_after(jiffies, arena->began + ARENA_GIVE_UP)))
		tally_arena_ready(arena, TALLY_MODE_CPU);
	else
		tally_arena_kick(arena, ARENA_RETRY);
}

/*
 * The loopback conn died: the key lives on in the PD, a new conn goes on. What
 * was in flight on the old one is decided when that is closed (race B33).
 */
static void arena_renew_loop(struct tally_arena *arena)
{
	struct tally_conn *old = arena->loop, *loop;
	unsigned long flags;

	if (!old || tally_conn_is_up(old))
		return;
	tally_conn_close(old, -ENOTCONN);
	loop = tally_dev_loop(arena->dev);
	if (IS_ERR(loop)) {
		tally_arena_kick(arena, ARENA_RETRY);
		return;
	}
	spin_lock_irqsave(&arena->spin, flags);
	arena->loop = loop;
	spin_unlock_irqrestore(&arena->spin, flags);
	tally_conn_put(old);
}

/**
 * tally_arena_start_work - what arena->start does
 * @work: its work; it holds a reference
 */
void tally_arena_start_work(struct work_struct *work)
{
	struct tally_arena *arena = container_of(to_delayed_work(work),
						 struct tally_arena, start);

	if (READ_ONCE(arena->lost))
		tally_arena_unbind(arena);
	switch (READ_ONCE(arena->state)) {
	case TALLY_ARENA_STARTING:
		arena_try(arena);
		break;
	case TALLY_ARENA_READY:
		arena_renew_loop(arena);
		break;
	case TALLY_ARENA_DEAD:
		break;
	}
	tally_arena_put(arena);
}

/**
 * tally_arena_wait_ready - wait until an arena can be used
 * @arena: an arena of ours
 * @timeout: in jiffies, MAX_SCHEDULE_TIMEOUT for none
 *
 * Context: process, sleeps, killable.
 * Return: 0, -ETIMEDOUT, -EINTR, -EIDRM.
 */
int tally_arena_wait_ready(struct tally_arena *arena, long timeout)
{
	long ret;

	ret = wait_event_killable_timeout(arena->wait,
					  READ_ONCE(arena->state) !=
					  TALLY_ARENA_STARTING, timeout);
	if (ret < 0)
		return -EINTR;
	if (!ret)
		return -ETIMEDOUT;
	return READ_ONCE(arena->state) == TALLY_ARENA_DEAD ? -EIDRM : 0;
}

/**
 * tally_arena_loop - the conn for the home's own operations
 * @arena: a nic arena of ours
 *
 * A conn that died is replaced in the background.
 *
 * Context: any.
 * Return: a reference, or NULL while there is none.
 */
struct tally_conn *tally_arena_loop(struct tally_arena *arena)
{
	struct tally_conn *loop;
	unsigned long flags;

	spin_lock_irqsave(&arena->spin, flags);
	loop = arena->loop;
	if (loop)
		tally_conn_get(loop);
	spin_unlock_irqrestore(&arena->spin, flags);
	if (!loop || tally_conn_is_up(loop))
		return loop;
	tally_conn_put(loop);
	tally_arena_kick(arena, 0);
	return NULL;
}

/**
 * tally_arena_word - address of an entry for the CPU
 * @arena: an arena of ours
 * @word: offset of the entry
 *
 * In a nic arena it may only be read, see who may write a word above.
 *
 * Context: any.
 * Return: the first of its two words.
 */
u64 *tally_arena_word(struct tally_arena *arena, u32 word)
{
	return arena->words + word;
}

/**
 * tally_arena_loop_addr - address of an entry on the loopback conn
 * @arena: a nic arena of ours
 * @word: offset of the entry
 * @rkey: gets the key; 0 when there is no device (then there is no conn)
 *
 * Context: any, after tally_arena_loop().
 * Return: the address.
 */
u64 tally_arena_loop_addr(struct tally_arena *arena, u32 word, u32 *rkey)
{
	unsigned long flags;
	u64 addr = 0;

	*rkey = 0;
	spin_lock_irqsave(&arena->spin, flags);
	if (arena->loop_mr) {
		addr = arena->loop_mr->addr + word;
		*rkey = arena->loop_mr->mr->rkey;
	}
	spin_unlock_irqrestore(&arena->spin, flags);
	return addr;
}
