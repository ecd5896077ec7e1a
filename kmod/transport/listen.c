// SPDX-License-Identifier: GPL-2.0
/*
 * A listening id. It is bound to the any-address, so that the core attaches
 * it to every device, also to one that is removed and comes back. Accepted
 * ids are the conns'; refused ones the core destroys when the handler says so.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/slab.h>
#include <rdma/ib_cm.h>
#include "transport/cm.h"
#include "transport/listen.h"

/* Connection requests that may wait for the handler. */
#define TALLY_LISTEN_BACKLOG	64

struct tally_listener {
	struct rdma_cm_id *id;
	const struct tally_listen_ops *ops;
	void *owner;
};

static bool tally_req_kind_valid(const struct tally_cm_req *req)
{
	if (req->kind == TALLY_KIND_CONTROL)
		return !req->lane && !req->session;
	return req->kind == TALLY_KIND_LANE && req->lane < TALLY_LANES_MAX;
}

/* The version comes first: all behind it may be different in another one. */
static enum tally_refusal tally_req_check(const struct rdma_conn_param *param)
{
	const struct tally_cm_req *req = param->private_data;

	if (!req || param->private_data_len < sizeof(*req) ||
	    req->magic != cpu_to_be32(TALLY_WIRE_MAGIC))
		return TALLY_REFUSE_MALFORMED;
	if (req->version != cpu_to_be16(TALLY_WIRE_VERSION))
		return TALLY_REFUSE_VERSION;
	if (!tally_req_kind_valid(req) ||
	    memchr_inv(req->reserved, 0, sizeof(req->reserved)))
		return TALLY_REFUSE_MALFORMED;
	/* Without these one side could never read or post an atomic. */
	if (!param->initiator_depth || !param->responder_resources)
		return TALLY_REFUSE_MALFORMED;
	/* Our QP takes these over, and would retry for ever with 7. */
	if (param->retry_count > TALLY_CONN_RETRIES ||
	    param->rnr_retry_count > TALLY_CONN_RETRIES)
		return TALLY_REFUSE_MALFORMED;
	return TALLY_REFUSE_NONE;
}

static enum tally_refusal tally_listen_request(struct tally_listener *listener,
					       struct rdma_cm_id *id,
					       const struct rdma_conn_param *param)
{
	enum tally_refusal reason = tally_req_check(param);
	struct tally_conn_params params = {};
	struct sockaddr_storage from;
	struct tally_conn *conn;
	struct tally_dev *dev;

	if (reason != TALLY_REFUSE_NONE)
		return reason;
	dev = tally_dev_find(id->device, NULL, NULL);
	if (!dev)
		return TALLY_REFUSE_SHUTDOWN;
	memcpy(&params.priv, param->private_data, sizeof(params.priv));
	params.peer_qpn = param->qp_num;
	tally_cm_from(id, &from);
	reason = listener->ops->request(listener->owner, dev, &params.priv,
					(struct sockaddr *)&from, &params);
	if (reason == TALLY_REFUSE_NONE) {
		conn = tally_conn_accept(id, dev, param, &params);
		if (IS_ERR(conn)) {
			conn = NULL;
			reason = TALLY_REFUSE_BUSY;
		}
		listener->ops->accepted(listener->owner, &params, conn);
	}
	tally_dev_put(dev);
	return reason;
}

/* Not zero makes the core destroy the id, which here is the new one. */
static int tally_listen_handler(struct rdma_cm_id *id,
				struct rdma_cm_event *event)
{
	struct tally_listener *listener = id->context;
	enum tally_refusal reason;
	struct tally_cm_rej rej;

	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;
	reason = tally_listen_request(listener, id, &event->param.conn);
	if (reason == TALLY_REFUSE_NONE)
		return 0;
	listener->ops->refused(listener->owner, reason);
	rej = (struct tally_cm_rej) {
		.magic = cpu_to_be32(TALLY_WIRE_MAGIC),
		.version = cpu_to_be16(TALLY_WIRE_VERSION),
		.reason = cpu_to_be16(reason),
	};
	rdma_reject(id, &rej, sizeof(rej), IB_CM_REJ_CONSUMER_DEFINED);
	return -ECONNREFUSED;
}

static struct rdma_cm_id *tally_listen_on(struct tally_listener *listener,
					  struct net *net,
					  struct sockaddr *addr)
{
	struct rdma_cm_id *id;
	int err;

	id = rdma_create_id(net, tally_listen_handler, listener, RDMA_PS_TCP,
			    IB_QPT_RC);
	if (IS_ERR(id))
		return id;
	/* Both address families, whatever the namespace's default is. */
	err = addr->sa_family == AF_INET6 ? rdma_set_afonly(id, 0) : 0;
	err = err ?: rdma_bind_addr(id, addr) ?:
	      rdma_listen(id, TALLY_LISTEN_BACKLOG);
	if (!err)
		return id;
	rdma_destroy_id(id);
	return ERR_PTR(err);
}

/* One id serves both address families; without IPv6 the other one alone. */
static struct rdma_cm_id *tally_listen_any(struct tally_listener *listener,
					   struct net *net, u16 port)
{
	struct sockaddr_in6 any6 = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(port),
		.sin6_addr = IN6ADDR_ANY_INIT,
	};
	struct sockaddr_in any = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_ANY),
	};
	struct rdma_cm_id *id;

	id = tally_listen_on(listener, net, (struct sockaddr *)&any6);
	if (id == ERR_PTR(-EAFNOSUPPORT))
		id = tally_listen_on(listener, net, (struct sockaddr *)&any);
	/* What the core says when the port is taken by another any-address. */
	if (id == ERR_PTR(-EADDRNOTAVAIL))
		id = ERR_PTR(-EADDRINUSE);
	return id;
}

/**
 * tally_listen - listen on every address of every device
 * @net: network namespace; pinned until tally_unlisten()
 * @port: port
 * @ops: upcalls
 * @owner: their first argument
 *
 * Context: process. Upcalls may come before it returns.
 * Return: a listener, or an ERR_PTR(): -EADDRINUSE when the port is taken.
 */
struct tally_listener *tally_listen(struct net *net, u16 port,
				    const struct tally_listen_ops *ops,
				    void *owner)
{
	struct tally_listener *listener;
	struct rdma_cm_id *id;

	listener = kzalloc(sizeof(*listener), GFP_KERNEL);
	if (!listener)
		return ERR_PTR(-ENOMEM);
	listener->ops = ops;
	listener->owner = owner;
	id = tally_listen_any(listener, net, port);
	if (IS_ERR(id)) {
		kfree(listener);
		return ERR_CAST(id);
	}
	listener->id = id;
	return listener;
}

/* Waits for a running upcall; none comes afterwards. Accepted conns stay. */
void tally_unlisten(struct tally_listener *listener)
{
	rdma_destroy_id(listener->id);
	kfree(listener);
}
