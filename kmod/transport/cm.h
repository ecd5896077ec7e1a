/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_CM_H
#define TALLY_CM_H

#include "transport/conn.h"

struct tally_conn *tally_conn_connect(struct net *net,
				      const struct sockaddr *dst,
				      const struct tally_conn_params *params);
void tally_cm_from(struct rdma_cm_id *id, struct sockaddr_storage *from);
struct tally_conn *tally_conn_accept(struct rdma_cm_id *id,
				     struct tally_dev *dev,
				     const struct rdma_conn_param *req,
				     const struct tally_conn_params *params);

#endif
