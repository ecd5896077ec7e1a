/* SPDX-License-Identifier: GPL-2.0 */
/* A node's listening id, bound to the any-address. */
#ifndef TALLY_LISTEN_H
#define TALLY_LISTEN_H

#include <net/net_namespace.h>
#include <rdma/rdma_cm.h>
#include "transport/conn.h"

struct tally_listener;

/**
 * struct tally_listen_ops - upcall of a listener
 * @request: a peer connects. CM handler context. @req is valid in magic,
 *	version and size. Fill @params (ops, owner, stats, pd, messages, …) and
 *	return TALLY_REFUSE_NONE to accept, or a reason to reject.
 * @accepted: the conn made from it, with a reference for the owner, or NULL
 *	when that failed (then the owner given in @params forgets about it).
 *	Before any upcall of the conn, in the same context.
 * @refused: count a connection that was turned away
 */
struct tally_listen_ops {
	enum tally_refusal (*request)(void *owner, struct tally_dev *dev,
				      const struct tally_cm_req *req,
				      const struct sockaddr *from,
				      struct tally_conn_params *params);
	void (*accepted)(void *owner, struct tally_conn_params *params,
			 struct tally_conn *conn);
	void (*refused)(void *owner, enum tally_refusal reason);
};

struct tally_listener *tally_listen(struct net *net, u16 port,
				    const struct tally_listen_ops *ops,
				    void *owner);
void tally_unlisten(struct tally_listener *listener);

#endif
