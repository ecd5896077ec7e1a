/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requests and replies of a session. Each side has TALLY_RPC_SLOTS request
 * slots at the other. The home keeps the last reply of every slot, so that a
 * client that resumes its session can send its open requests again and learn
 * what became of them: nothing is executed twice.
 */
#ifndef TALLY_RPC_H
#define TALLY_RPC_H

#include "session/session.h"

/**
 * struct tally_sreq - one request of a peer, at its home
 * @session: whose; referenced while the request is open
 * @type: enum tally_msg_type
 * @body: the request's body, valid until the reply; then the reply, kept for
 *	a resumed session
 * @len: its length
 * @work: free for the handler, to go on in another context
 * @ctx: free for the handler
 * @list: likewise
 * @slot: request slot; private to session/rpc.c, like all that follows
 * @seq: number of the request in its slot
 * @link: number of the link it came by last
 * @state: idle, busy or done
 */
struct tally_sreq {
	struct tally_session *session;
	u16 type;
	u16 len;
	u8 body[TALLY_BODY_MAX] __aligned(8);
	struct work_struct work;
	void *ctx;
	struct list_head list;
	u16 slot;
	u32 seq;
	u32 link;
	u8 state;
};

/* What a home may take, beside a lease, for what is to be done surely. */
#define TALLY_RPC_SURE	(5 * HZ)

int tally_session_call_sure(struct tally_session *s, u16 type, const void *body,
			    u32 len, long timeout);
int tally_session_call(struct tally_session *s, u16 type, const void *body,
		       u32 len, void *reply, u32 *reply_len, long timeout);
void tally_sreq_reply(struct tally_sreq *req, int status, const void *body,
		      u32 len);

/* For the other files of session/. */
int tally_rpc_create(struct tally_session *s);
void tally_rpc_resend(struct tally_session *s);
void tally_rpc_close(struct tally_session *s);
int tally_rpc_receive_reply(struct tally_session *s,
			    const struct tally_hdr *hdr, const void *body,
			    u32 len);
int tally_rpc_receive_request(struct tally_session *s,
			      const struct tally_hdr *hdr, const void *body,
			      u32 len);

#endif
