/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_QP_H
#define TALLY_QP_H

#include "transport/conn.h"

void tally_qp_close(struct work_struct *work);
void tally_qp_discard(struct tally_conn *conn);
int tally_qp_set_dev(struct tally_conn *conn, struct tally_dev *dev);
int tally_qp_create(struct tally_conn *conn);
bool tally_qp_set_up(struct tally_conn *conn);

#endif
