/* SPDX-License-Identifier: GPL-2.0 */
/* The way to a session: from a connection to READY. */
#ifndef TALLY_HANDSHAKE_H
#define TALLY_HANDSHAKE_H

#include "session/peer.h"

int tally_handshake_connect(struct tally_peer *peer);
void tally_handshake_cancel(struct tally_peer *peer, int err);
enum tally_refusal tally_handshake_request(struct tally_node *node,
					   const struct sockaddr *from,
					   struct tally_conn_params *params);
void tally_handshake_accepted(struct tally_conn_params *params,
			      struct tally_conn *conn);
void tally_handshakes_stop(struct tally_node *node);

#endif
