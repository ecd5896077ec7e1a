/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Control messages on a conn: a RECV ring, a send queue, and credits. A side
 * never has more messages on the wire than the other has RECVs posted; the
 * last two are kept for CREDIT. Messages are delivered in order, in the work
 * item of the conn's completion queue, through conn->ops->message.
 */
#ifndef TALLY_MSG_H
#define TALLY_MSG_H

#include <linux/types.h>
#include "transport/conn.h"

/* Send buffers for messages, and for CREDIT; each has a send queue entry. */
#define TALLY_MSG_BUFFERS	64
#define TALLY_MSG_CREDITS	4
#define TALLY_MSG_SENDS		(TALLY_MSG_BUFFERS + TALLY_MSG_CREDITS)

/**
 * struct tally_msg_head - the header fields a sender chooses
 * @type: enum tally_msg_type
 * @req: request slot or 0
 * @slot: own node slot at the receiver or 0
 * @seq: sequence number in the request slot or 0
 * @session: session id or 0
 */
struct tally_msg_head {
	u16 type;
	u16 req;
	u16 slot;
	u32 seq;
	u64 session;
};

/* Around the life of the QP: made before it, then RECVs posted, up, drained. */
int tally_msgs_create(struct tally_conn *conn);
int tally_msgs_start(struct tally_conn *conn);
void tally_msgs_live(struct tally_conn *conn);
void tally_msgs_deliver(struct tally_cq *q);
void tally_msgs_stop(struct tally_conn *conn);
void tally_msgs_destroy(struct tally_conn *conn);

void tally_msgs_set_depth(struct tally_conn *conn, u16 depth);
int tally_msg_send(struct tally_conn *conn, const struct tally_msg_head *head,
		   const void *body, u32 len, gfp_t gfp);

#endif
