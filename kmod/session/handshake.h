/* SPDX-License-Identifier: GPL-2.0 */
/* The way to a session: from a connection to READY. */
#ifndef TALLY_HANDSHAKE_H
#define TALLY_HANDSHAKE_H

#include "session/node.h"

struct tally_peer;

#define TALLY_HANDSHAKE_TIMEOUT	(5 * HZ)

/* Begin an attempt; the peer's @attempt is set, under its lock. */
int tally_handshake_connect(struct tally_peer *peer);
/* End the attempt of a peer, if there is one. Any process context. */
void tally_handshake_cancel(struct tally_peer *peer, int err);
/* An incoming control connection: may it try? Fills @params. */
enum tally_refusal tally_handshake_request(struct tally_node *node,
					   const struct sockaddr *from,
					   struct tally_conn_params *params);
void tally_handshake_accepted(struct tally_conn_params *params,
			      struct tally_conn *conn);
/* The node stops: end every half-open handshake and wait for them. */
void tally_handshakes_stop(struct tally_node *node);

#endif
