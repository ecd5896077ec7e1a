/* SPDX-License-Identifier: GPL-2.0 */
/* Between session/half.c, the life of an attempt, and session/handshake.c, what is said in it. */
#ifndef TALLY_HALF_H
#define TALLY_HALF_H

#include "session/hello.h"

/**
 * struct tally_handshake - one attempt, either direction
 * @list: in node->half, under node->lock
 * @ref: conn (until it passes to a session), works
 * @node: our node, referenced
 * @peer: referenced; incoming: NULL until HELLO named it
 * @conn: its conn; the owner's reference is ours
 * @incoming: the peer connected
 * @counted: it counts in peer->half_count
 * @evicted: told to go, no longer counts
 * @finished: off the list
 * @expect: message that must come next, 0: none may
 * @t: what both sides said
 * @since: our clock before the peer's lease began
 * @from: where it came from
 * @refusal: why the peer turned us away
 * @text: its sentence
 * @start: sends HELLO
 * @deadline: ends the attempt
 */
struct tally_handshake {
	struct list_head list;
	struct kref ref;
	struct tally_node *node;
	struct tally_peer *peer;
	struct tally_conn *conn;
	bool incoming;
	bool counted;
	bool evicted;
	bool finished;
	u16 expect;
	struct tally_transcript t;
	u64 since;
	struct sockaddr_storage from;
	u16 refusal;
	char text[128];
	struct work_struct start;
	struct delayed_work deadline;
};

void tally_half_put(struct tally_handshake *hs);
/* It is over, one way or the other; its place in the counts is free. */
void tally_half_finish(struct tally_handshake *hs);
/* End it after @wait jiffies, unless it is finished. */
void tally_half_arm(struct tally_handshake *hs, unsigned long wait);
int tally_handshake_send(struct tally_handshake *hs, u16 type, const void *body,
			 u32 len);
void tally_handshake_message(struct tally_conn *conn, const struct tally_hdr *hdr,
			     const void *body, u32 len);

#endif
