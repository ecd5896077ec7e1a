// SPDX-License-Identifier: GPL-2.0
#include "region/client.h"

#include <linux/sched/signal.h>
#include <linux/slab.h>
#include "base/delay.h"
#include "client/attach.h"
#include "client/idle.h"
#include "region/home.h"
#include "region/wire.h"
#include "region/xfer.h"
#include "session/rpc.h"
#include "session/session.h"

/* To make a region zero: some time, and a second for each 256 MiB. */
#define REGION_ZERO_TIMEOUT	(30 * HZ)
#define REGION_ZERO_SHIFT	28

struct region_key {
	struct tally_xfer_key key;
	bool valid;
};

/**
 * struct region_client - memory keys of a region elsewhere; handle->part
 * @mrs: number of keys, from the last OPEN
 * @unit: bytes each covers, likewise
 * @lock: protects what follows; held while keys are fetched
 * @session: id of the session the keys belong to
 * @keys_opening: and of which @opening
 * @count: how many there are
 * @keys: the keys; NULL before the first is needed
 * @sync_lock: one sync at a time, so that none ends while another still waits
 *	for what it, too, has to wait for
 * @dirty: lanes on which a Write was posted or arrived since the last sync, a bit
 *	each
 * @opening: goes up when the object has been opened, and when keys have become void;
 *	without @lock, for what serves the link may not wait for an answer that comes
 *	by it
 */
struct region_client {
	u32 mrs;
	u32 unit;
	struct mutex lock;	/* see above */
	u64 session;
	int keys_opening;
	u32 count;
	struct region_key *keys;
	struct mutex sync_lock;	/* see above */
	unsigned long dirty;
	atomic_t opening;
};

int tally_region_attach(struct tally_handle *handle,
			const struct tally_rep_open *rep)
{
	struct region_client *client = handle->part;

	if (handle->object)
		return 0;
	if (!client) {
		client = kzalloc(sizeof(*client), GFP_KERNEL);
		if (!client)
			return -ENOMEM;
		mutex_init(&client->lock);
		mutex_init(&client->sync_lock);
		handle->part = client;
	}
	WRITE_ONCE(client->mrs, be32_to_cpu(rep->mrs));
	WRITE_ONCE(client->unit, be32_to_cpu(rep->mr_bytes));
	/* Pairs with region_remote(): of this opening are these. */
	smp_mb__before_atomic();
	atomic_inc(&client->opening);
	return 0;
}

/*
 * It cannot be used any more: its keys are void. In any context, of messages too: does
 * not wait for a task that fetches keys.
 */
void tally_region_error(struct tally_handle *handle, int err)
{
	struct region_client *client = handle->part;

	if (!client)
		return;
	atomic_inc(&client->opening);
	tally_xfer_ended(handle);
}

void tally_region_release(struct tally_handle *handle)
{
	struct region_client *client = handle->part;

	if (!client)
		return;
	kvfree(client->keys);
	mutex_destroy(&client->lock);
	mutex_destroy(&client->sync_lock);
	kfree(client);
}

static bool region_reopened(const struct tally_xfer_args *args)
{
	struct region_client *client = args->handle->part;

	return atomic_read(&client->opening) != args->opening;
}

/* Room for the keys of this session and opening; forgets all others. */
static int region_keys_prepare(const struct tally_xfer_args *args)
{
	struct region_client *client = args->handle->part;

	if (client->keys && client->session == args->session->id &&
	    client->keys_opening == args->opening)
		return 0;
	kvfree(client->keys);
	client->session = args->session->id;
	client->keys_opening = args->opening;
	client->count = READ_ONCE(client->mrs);
	client->keys = kvcalloc(client->count, sizeof(*client->keys),
				GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	return client->keys ? 0 : -ENOMEM;
}

/*
 * Take the home's answer: keys from @first on. The layout may be another one
 * than the caller believes, if the handle was attached anew between.
 */
static int region_keys_take(struct region_client *client, u32 first,
			    u32 unit, const void *reply, u32 len)
{
	const struct tally_rep_region_map *head = reply;
	const struct tally_wire_mr *mr = reply + sizeof(*head);
	struct region_key *key = client->keys + first;
	u32 count, i;

	if (len < sizeof(*head))
		return -EPROTO;
	if (be32_to_cpu(head->mr_bytes) != unit)
		return -ENOTCONN;
	count = be32_to_cpu(head->count);
	if (!count || count > client->count - first ||
	    len != sizeof(*head) + count * sizeof(*mr))
		return -EPROTO;
	for (i = 0; i < count; i++, key++, mr++) {
		if (mr->reserved)
			return -EPROTO;
		key->key.addr = be64_to_cpu(mr->addr);
		key->key.rkey = be32_to_cpu(mr->rkey);
		key->valid = true;
	}
	return 0;
}

static int region_keys_fetch(const struct tally_xfer_args *args, u32 first)
{
	struct tally_handle *handle = args->handle;
	struct tally_msg_region_map msg = {
		.object = tally_handle_wire(handle),
		.first = cpu_to_be32(first),
	};
	u32 len = TALLY_REPLY_MAX;
	void *reply;
	int err;

	reply = kmalloc(len, GFP_KERNEL);
	if (!reply)
		return -ENOMEM;
	err = tally_session_call(args->session, TALLY_MSG_REGION_MAP, &msg,
				 sizeof(msg), reply, &len,
				 tally_until_left(&args->until));
	/* Asking for a key changes nothing: an unknown answer is none. */
	if (err == -EREMOTEIO)
		err = fatal_signal_pending(current) ? -EINTR : -ENOTCONN;
	if (!err) {
		err = region_keys_take(handle->part, first, args->unit, reply,
				       len);
		if (err == -EPROTO)
			tally_session_violation(args->session,
						"malformed region keys");
	}
	kfree(reply);
	return err;
}

/* Has the home told one since it was opened? */
static bool region_keys_any(const struct region_client *client)
{
	u32 i;

	for (i = 0; i < client->count; i++)
		if (client->keys[i].valid)
			return true;
	return false;
}

static int region_key(const struct tally_xfer_args *args, u32 index,
		      struct tally_xfer_key *key)
{
	struct region_client *client = args->handle->part;
	int err;

	if (mutex_lock_killable(&client->lock))
		return -EINTR;
	if (region_reopened(args)) {
		mutex_unlock(&client->lock);
		return -EAGAIN;
	}
	err = region_keys_prepare(args);
	if (!err && index >= client->count)
		err = -ENOTCONN;
	if (!err && !client->keys[index].valid)
		err = region_keys_fetch(args, index);
	/* The table of them counts with all that we have open there. */
	if (err == -EDQUOT && !region_keys_any(client) &&
	    tally_idle_close(args->session, &args->until))
		err = region_keys_fetch(args, index);
	if (!err)
		*key = client->keys[index].key;
	else
		client->session = 0;
	mutex_unlock(&client->lock);
	/* Not as it was opened then, but maybe as it will be. */
	if ((err == -ENOTCONN || err == -EACCES) && region_reopened(args))
		err = -EAGAIN;
	return err;
}

/* By the rights it was opened with, as it is inside. */
static int region_check(const struct tally_xfer_args *args)
{
	if (region_reopened(args))
		return -EAGAIN;
	if (args->write &&
	    READ_ONCE(args->handle->view->access) != TALLY_ACCESS_RW)
		return -EACCES;
	return 0;
}

/*
 * The handle, which is still inside, keeps its client. A sync may come between the two
 * calls for a Write: what arrived has to be synced all the same, and what a caller that
 * was killed left behind must not arrive after a sync that began later.
 */
static void region_wrote(const struct tally_xfer_args *args, u32 lane)
{
	struct region_client *client = args->handle->part;

	set_bit(lane % TALLY_LANES_MAX, &client->dirty);
}

/* The handle has been opened. */
static ssize_t region_remote(struct tally_handle *handle,
			     struct iov_iter *iter, u64 pos, u32 lane,
			     bool write, const struct tally_until *until)
{
	struct region_client *client = handle->part;
	struct tally_xfer_args args = {
		.handle = handle,
		.lane = lane,
		.pos = pos,
		.write = write,
		.opening = atomic_read_acquire(&client->opening),
		.session = tally_view_session(handle->view),
		.until = *until,
		.key = region_key,
		.check = region_check,
		.wrote = write ? region_wrote : NULL,
	};
	ssize_t ret;

	if (!args.session)
		return tally_handle_no_conn(handle);
	args.unit = READ_ONCE(client->unit);
	ret = region_check(&args) ?: tally_xfer_run(&args, iter);
	tally_session_put(args.session);
	/* Of several chunks, one may be refused and the others unknown. */
	if (ret == -EACCES || ret == -EREMOTEIO)
		tally_region_error(handle, ret);
	return ret;
}

static ssize_t region_local(struct tally_handle *handle, struct iov_iter *iter,
			    u64 pos, bool write)
{
	struct tally_region_home *home =
		tally_region_home(handle->object);
	size_t done = 0, len, n;
	struct page *page;
	u32 offset;

	tally_stat_inc(&handle->view->node->stats, TALLY_STAT_LOCAL_OP);
	while (iov_iter_count(iter)) {
		page = home->pages[pos >> PAGE_SHIFT];
		offset = offset_in_page(pos);
		len = min(PAGE_SIZE - offset, iov_iter_count(iter));
		n = write ? copy_page_from_iter(page, offset, len, iter) :
			    copy_page_to_iter(page, offset, len, iter);
		done += n;
		pos += n;
		if (n != len)
			return done ? done : -EFAULT;
		if (fatal_signal_pending(current))
			break;
		cond_resched();
	}
	return done;
}

/* -EAGAIN: nothing was done, as what it was to be done with has ended. */
static ssize_t region_try(struct tally_handle *handle, struct iov_iter *iter,
			  u64 pos, u32 lane, bool write,
			  const struct tally_until *until)
{
	ssize_t ret;

	ret = tally_handle_enter(handle, tally_until_left(until));
	if (ret)
		return ret;
	if (handle->object)
		ret = region_local(handle, iter, pos, write);
	tally_handle_leave(handle);
	if (!handle->object)
		ret = region_remote(handle, iter, pos, lane, write, until);
	return ret;
}

/**
 * tally_region_rw - copy between a region and an iterator
 * @handle: the region
 * @iter: user, kvec or bvec iterator; advanced by the result
 * @pos: offset in the region
 * @write: into the region
 * @timeout: jiffies
 *
 * A kernel buffer is in use until this returns, a user's is pinned until the
 * last operation on it has completed.
 *
 * Context: process; sleeps, killable.
 * Return: bytes of the contiguous acknowledged prefix, or an errno if there
 * are none. 0: reading at or behind the end, or nothing asked for. -ENOSPC:
 * writing there; -EREMOTEIO: unknown.
 */
ssize_t tally_region_rw(struct tally_handle *handle, struct iov_iter *iter,
			u64 pos, bool write, long timeout)
{
	struct tally_until until = tally_until(timeout);
	size_t count = iov_iter_count(iter), cut = 0;
	ssize_t ret;

	if (!count)
		return 0;
	if (pos >= handle->size)
		return write ? -ENOSPC : 0;
	if (count > handle->size - pos) {
		cut = count - (handle->size - pos);
		iov_iter_truncate(iter, handle->size - pos);
	}
	do
		ret = region_try(handle, iter, pos, 0, write, &until);
	while (ret == -EAGAIN);
	iov_iter_reexpand(iter, iov_iter_count(iter) + cut);
	return ret;
}

/* Behind the Writes of each lane a small Read: when it is back, they are there. */
static int region_sync(struct tally_handle *handle, long timeout)
{
	struct region_client *client = handle->part;
	struct tally_until until = tally_until(timeout);
	struct kvec vec = { .iov_len = 1 };
	struct iov_iter iter;
	u32 lane;
	int err = 0;

	lockdep_assert_held(&client->sync_lock);
	vec.iov_base = kmalloc(vec.iov_len, GFP_KERNEL);
	if (!vec.iov_base)
		return -ENOMEM;
	for (lane = 0; lane < TALLY_LANES_MAX && !err; lane++) {
		if (!test_and_clear_bit(lane, &client->dirty))
			continue;
		tally_delay(REGION_SYNC);
		iov_iter_kvec(&iter, ITER_DEST, &vec, 1, vec.iov_len);
		do
			err = min_t(ssize_t, 0, region_try(handle, &iter, 0,
							   lane, false,
							   &until));
		while (err == -EAGAIN && !fatal_signal_pending(current));
		if (err)
			set_bit(lane, &client->dirty);
	}
	kfree(vec.iov_base);
	return err;
}

/**
 * tally_region_sync - let the home's CPU see every completed write of ours
 * @handle: the region
 * @timeout: jiffies
 *
 * Context: process; sleeps, killable.
 * Return: 0 or an errno; after an errno the next call tries the same lanes.
 */
int tally_region_sync(struct tally_handle *handle, long timeout)
{
	struct region_client *client = handle->part;
	int err;

	if (handle->object)
		return 0;
	if (mutex_lock_killable(&client->sync_lock))
		return -EINTR;
	err = READ_ONCE(client->dirty) ? region_sync(handle, timeout) : 0;
	mutex_unlock(&client->sync_lock);
	return err;
}

static int region_remote_zero(struct tally_handle *handle, u64 offset, u32 bytes,
			      const struct tally_until *until)
{
	struct tally_msg_region_zero msg = {
		.object = tally_handle_wire(handle),
		.offset = cpu_to_be64(offset),
		.len = cpu_to_be32(bytes),
	};
	struct tally_session *s = tally_view_session(handle->view);
	int err;

	if (!s)
		return tally_handle_no_conn(handle);
	err = tally_session_call_sure(s, TALLY_MSG_REGION_ZERO, &msg,
				      sizeof(msg), tally_until_left(until));
	/* Refused, as rights changed since it was opened. */
	if (err == -ENOTCONN && READ_ONCE(handle->view->session) == s &&
	    READ_ONCE(handle->error) == err)
		err = -EAGAIN;
	tally_session_put(s);
	return err;
}

static int region_zero_part(struct tally_handle *handle, u64 pos, u32 len,
			    const struct tally_until *until)
{
	int err;

	err = tally_view_may_write(handle->view, until) ?:
	      tally_handle_enter(handle, tally_until_left(until));
	if (err)
		return err;
	if (handle->object)
		tally_region_home_zero(tally_region_home(handle->object), pos,
				       len);
	tally_handle_leave(handle);
	/* Not inside: FORGOTTEN waits for what is. */
	return handle->object ? 0 : region_remote_zero(handle, pos, len, until);
}

/**
 * tally_region_zero - make all of a region zero
 * @handle: the region
 *
 * The home's CPU does it, part by part: a write of another at the same time may
 * come before or after.
 *
 * Context: process; sleeps, killable between two parts: what another writes later, under
 * a lock that the caller had, is not made zero; with a bound for all of it.
 * Return: 0; -EACCES, -ENOTCONN, -ETIMEDOUT, -EIDRM, …; after these, and after -EREMOTEIO,
 * which is unknown, a part may be zero.
 */
int tally_region_zero(struct tally_handle *handle)
{
	long timeout = REGION_ZERO_TIMEOUT +
		       (long)(handle->size >> REGION_ZERO_SHIFT) * HZ;
	struct tally_until until = tally_until(timeout);
	u64 pos = 0;
	u32 len;
	/* What was written before must not arrive after. */
	int err = tally_region_sync(handle, timeout);

	for (; !err && pos < handle->size; pos += len) {
		len = min_t(u64, handle->size - pos, TALLY_REGION_ZERO_MAX);
		do
			err = region_zero_part(handle, pos, len, &until);
		while (err == -EAGAIN);
		if (!err && fatal_signal_pending(current))
			err = -EINTR;
	}
	return err;
}
