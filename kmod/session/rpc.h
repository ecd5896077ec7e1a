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

int tally_rpc_create(struct tally_session *s);
void tally_rpc_destroy(struct tally_session *s);
/* The link is up again: send every open request once more. */
void tally_rpc_resend(struct tally_session *s);
/* The link is down: who waits for a free slot need not wait any longer. */
void tally_rpc_link_down(struct tally_session *s);
/* The session is OVER: open requests end, their outcome is unknown. */
void tally_rpc_abort(struct tally_session *s);
/* From the rx work. Return: 0, or -EPROTO when the peer broke the rules. */
int tally_rpc_receive_reply(struct tally_session *s,
			    const struct tally_hdr *hdr, const void *body,
			    u32 len);
int tally_rpc_receive_request(struct tally_session *s,
			      const struct tally_hdr *hdr, const void *body,
			      u32 len);

#endif
