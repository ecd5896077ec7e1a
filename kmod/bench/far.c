// SPDX-License-Identifier: GPL-2.0
#include <linux/inet.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_cm.h>
#include "far.h"

#define FAR_MAGIC	0x74626e63
/* To find the way; and for all of it: the CM asks again each four seconds or so. */
#define FAR_PATH_MS	10000
#define FAR_TIMEOUT_MS	30000
#define FAR_RETRIES	6
/* 4.096 us * 2^16: a busy machine is not a lost packet. */
#define FAR_ACK_TIMEOUT	16
/* No machine needs more targets than there are actors and ways to wait. */
#define FAR_MAX		64

/* Private data of a request. */
struct far_request {
	__be32 magic;
	__be32 bulk;
};

/* Private data of the answer: struct raw_target. */
struct far_reply {
	__be64 words;
	__be64 to[MEM_KEYS];
	__be32 words_key;
	__be32 to_key[MEM_KEYS];
};

/**
 * struct far - a connection with another machine
 * @list: among the targets
 * @raw: what it belongs to; a target owns it
 * @id: the CM's, with the queue pair
 * @bulk: with memory for transfers
 * @err: why it was not made
 * @done: it was made, or not
 * @dead: there is no other end any more
 */
struct far {
	struct list_head list;
	struct raw *raw;
	struct rdma_cm_id *id;
	bool bulk;
	int err;
	struct completion done;
	bool dead;
};

static DEFINE_MUTEX(far_lock);		/* all of this */
static struct ib_device *far_ibdev;
static struct rdma_cm_id *far_listener;
static LIST_HEAD(far_targets);		/* the newest first */

static int far_make_qp(struct far *far, int side)
{
	struct ib_qp_init_attr attr;
	int err;

	raw_fill_qp_attr(far->raw, &attr);
	err = rdma_create_qp(far->id, far->raw->pd, &attr);
	if (err)
		return err;
	far->raw->side[side].qp = far->id->qp;
	return raw_recv_prepare(far->raw);
}

static struct rdma_conn_param far_param(const struct far *far, const void *data,
					u8 len)
{
	return (struct rdma_conn_param) {
		.private_data = data,
		.private_data_len = len,
		.initiator_depth = raw_read_depth(far->raw->ibdev),
		.responder_resources = raw_read_depth(far->raw->ibdev),
		.retry_count = FAR_RETRIES,
		.rnr_retry_count = FAR_RETRIES,
	};
}

static int far_resolved(struct far *far)
{
	int err;

	if (far->id->device != far->raw->ibdev)
		return -ENODEV;
	err = far_make_qp(far, 0);
	if (!err)
		err = rdma_set_ack_timeout(far->id, FAR_ACK_TIMEOUT);
	return err ? err : rdma_resolve_route(far->id, FAR_PATH_MS);
}

static int far_ask(struct far *far)
{
	struct far_request request = {
		.magic = cpu_to_be32(FAR_MAGIC),
		.bulk = cpu_to_be32(far->bulk),
	};
	struct rdma_conn_param param = far_param(far, &request,
						 sizeof(request));

	return rdma_connect_locked(far->id, &param);
}

static int far_aim(struct far *far, const struct rdma_conn_param *param)
{
	const struct far_reply *reply = param->private_data;
	struct raw_target *target = &far->raw->target;
	int i;

	if (param->private_data_len < sizeof(*reply))
		return -EPROTO;
	target->words = be64_to_cpu(reply->words);
	target->words_key = be32_to_cpu(reply->words_key);
	for (i = 0; i < MEM_KEYS; i++) {
		target->to[i] = be64_to_cpu(reply->to[i]);
		target->to_key[i] = be32_to_cpu(reply->to_key[i]);
	}
	complete(&far->done);
	return 0;
}

/*
 * A machine that was switched off and now has a queue pair of the same number as
 * before is taken for its former self, once; that one is ended because of it.
 */
static bool far_is_stale(const struct rdma_cm_event *event)
{
	return event->event == RDMA_CM_EVENT_REJECTED &&
	       event->status == IB_CM_REJ_STALE_CONN;
}

static int far_event(struct far *far, const struct rdma_cm_event *event)
{
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		return far_resolved(far);
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		return far_ask(far);
	case RDMA_CM_EVENT_ESTABLISHED:
		return far_aim(far, &event->param.conn);
	default:
		if (far_is_stale(event))
			return -ESTALE;
		return event->status < 0 ? event->status : -ECONNREFUSED;
	}
}

/* When it stands, it matters only that the target is gone: our RECVs end then. */
static int far_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct far *far = id->context;
	int err;

	if (completion_done(&far->done)) {
		if (event->event == RDMA_CM_EVENT_DISCONNECTED) {
			WRITE_ONCE(far->dead, true);
			rdma_disconnect(id);
		}
		return 0;
	}
	err = far_event(far, event);
	if (err) {
		far->err = err;
		complete(&far->done);
	}
	return 0;
}

static int far_wait(struct far *far)
{
	long left;

	left = wait_for_completion_killable_timeout(&far->done,
						    msecs_to_jiffies(FAR_TIMEOUT_MS));
	/* For far_handler(), which is not in the middle of it: this stays done. */
	rdma_lock_handler(far->id);
	complete_all(&far->done);
	rdma_unlock_handler(far->id);
	if (left < 0)
		return left;
	return left ? far->err : -ETIMEDOUT;
}

static int far_parse(const char *where, struct sockaddr_storage *addr)
{
	const char *colon = strrchr(where, ':');
	char host[INET6_ADDRSTRLEN + 1];

	if (!colon || colon - where >= sizeof(host))
		return -EINVAL;
	strscpy(host, where, colon - where + 1);
	return inet_pton_with_scope(current->nsproxy->net_ns, AF_UNSPEC, host,
				    colon + 1, addr);
}

int far_connect(struct raw *raw, const char *where, bool bulk)
{
	struct sockaddr_storage addr;
	struct far *far;
	int err;

	err = far_parse(where, &addr);
	if (err)
		return err;
	far = kzalloc(sizeof(*far), GFP_KERNEL);
	if (!far)
		return -ENOMEM;
	far->raw = raw;
	far->bulk = bulk;
	init_completion(&far->done);
	raw_drop_qps(raw);
	far->id = rdma_create_id(current->nsproxy->net_ns, far_handler, far,
				 RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(far->id)) {
		err = PTR_ERR(far->id);
		kfree(far);
		return err;
	}
	raw->far = far;
	err = rdma_resolve_addr(far->id, NULL, (struct sockaddr *)&addr,
				FAR_PATH_MS);
	return err ? err : far_wait(far);
}

bool far_has_ended(const struct far *far)
{
	return READ_ONCE(far->dead);
}

void far_destroy_qp(struct far *far)
{
	rdma_destroy_qp(far->id);
}

void far_destroy(struct far *far)
{
	rdma_disconnect(far->id);
	raw_drop_qps(far->raw);
	rdma_destroy_id(far->id);
	kfree(far);
}

static void far_fill(struct far_reply *reply, const struct raw_target *target)
{
	int i;

	reply->words = cpu_to_be64(target->words);
	reply->words_key = cpu_to_be32(target->words_key);
	for (i = 0; i < MEM_KEYS; i++) {
		reply->to[i] = cpu_to_be64(target->to[i]);
		reply->to_key[i] = cpu_to_be32(target->to_key[i]);
	}
}

static int far_accept(struct far *far)
{
	struct far_reply reply = { };
	struct rdma_conn_param param;
	int err;

	raw_drop_qps(far->raw);
	far->raw->far = far;
	err = far_make_qp(far, 1);
	if (err)
		return err;
	far_fill(&reply, &far->raw->target);
	param = far_param(far, &reply, sizeof(reply));
	return rdma_accept(far->id, &param);
}

static void far_destroy_targets(struct list_head *targets)
{
	struct far *far, *next;

	list_for_each_entry_safe(far, next, targets, list)
		raw_destroy(far->raw);
}

/* Keys of a target live no longer than its connection. */
static void far_reap(struct work_struct *work)
{
	struct far *far, *next;
	LIST_HEAD(gone);

	mutex_lock(&far_lock);
	list_for_each_entry_safe(far, next, &far_targets, list)
		if (READ_ONCE(far->dead))
			list_move(&far->list, &gone);
	mutex_unlock(&far_lock);
	far_destroy_targets(&gone);
}

static DECLARE_WORK(far_reaper, far_reap);

static void far_end_target(struct far *far)
{
	WRITE_ONCE(far->dead, true);
	schedule_work(&far_reaper);
}

/* A machine that was switched off sends nothing that would end its target. */
static void far_make_room(void)
{
	struct far *far, *oldest = NULL;
	unsigned int n = 0;

	list_for_each_entry(far, &far_targets, list) {
		if (READ_ONCE(far->dead))
			continue;
		oldest = far;
		n++;
	}
	if (n >= FAR_MAX)
		far_end_target(oldest);
}

/* A target for the machine that asks. On errors the CM destroys the id. */
static int far_serve(struct rdma_cm_id *id, const struct rdma_conn_param *param)
{
	const struct far_request *request = param->private_data;
	struct far *far;
	int err;

	if (param->private_data_len < sizeof(*request) ||
	    request->magic != cpu_to_be32(FAR_MAGIC))
		return -EPROTO;
	if (id->device != far_ibdev)
		return -ENODEV;
	far = kzalloc(sizeof(*far), GFP_KERNEL);
	if (!far)
		return -ENOMEM;
	far->raw = raw_create(id->device, RAW_EVENT, request->bulk);
	if (IS_ERR(far->raw)) {
		err = PTR_ERR(far->raw);
		kfree(far);
		return err;
	}
	far->id = id;
	id->context = far;
	err = far_accept(far);
	if (!err) {
		far_make_room();
		list_add(&far->list, &far_targets);
		return 0;
	}
	raw_drop_qps(far->raw);
	far->raw->far = NULL;
	raw_destroy(far->raw);
	kfree(far);
	return err;
}

/* The id of a target comes here, too, and cannot be destroyed here. */
static int far_target_event(struct far *far, const struct rdma_cm_event *event)
{
	if (!far || event->event == RDMA_CM_EVENT_ESTABLISHED)
		return 0;
	far_end_target(far);
	return 0;
}

static int far_listen_handler(struct rdma_cm_id *id,
			      struct rdma_cm_event *event)
{
	int err;

	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return far_target_event(id->context, event);
	mutex_lock(&far_lock);
	err = far_serve(id, &event->param.conn);
	mutex_unlock(&far_lock);
	return err;
}

int far_listen(u16 port)
{
	struct sockaddr_in6 any = {
		.sin6_family = AF_INET6,
		.sin6_port = cpu_to_be16(port),
	};
	struct rdma_cm_id *id;
	int err;

	id = rdma_create_id(current->nsproxy->net_ns, far_listen_handler, NULL,
			    RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	err = rdma_set_afonly(id, 0);
	if (!err)
		err = rdma_bind_addr(id, (struct sockaddr *)&any);
	if (!err)
		err = rdma_listen(id, FAR_MAX);
	if (err)
		rdma_destroy_id(id);
	else
		far_listener = id;
	return err;
}

void far_close(void)
{
	if (far_listener)
		rdma_destroy_id(far_listener);
	far_listener = NULL;
}

void far_add_device(struct ib_device *ibdev)
{
	mutex_lock(&far_lock);
	if (!far_ibdev)
		far_ibdev = ibdev;
	mutex_unlock(&far_lock);
}

void far_remove_device(struct ib_device *ibdev)
{
	LIST_HEAD(gone);

	mutex_lock(&far_lock);
	if (far_ibdev == ibdev) {
		far_ibdev = NULL;
		list_splice_init(&far_targets, &gone);
	}
	mutex_unlock(&far_lock);
	/* Their handlers take no lock. After them nothing wakes the reaper. */
	far_destroy_targets(&gone);
	flush_work(&far_reaper);
}
