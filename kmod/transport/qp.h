/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_QP_H
#define TALLY_QP_H

#include "transport/conn.h"

struct tally_conn *tally_qp_alloc(const struct tally_conn_params *params);
void tally_qp_discard(struct tally_conn *conn);
int tally_qp_set_dev(struct tally_conn *conn, struct tally_dev *dev);
int tally_qp_prepare(struct tally_conn *conn, struct ib_qp_init_attr *attr);
void tally_qp_made(struct tally_conn *conn, struct ib_qp *qp);
bool tally_qp_set_up(struct tally_conn *conn);

#endif
