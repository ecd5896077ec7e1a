/* SPDX-License-Identifier: GPL-2.0 */
/* The bodies of the handshake: built, checked, signed. */
#ifndef TALLY_HELLO_H
#define TALLY_HELLO_H

#include "session/node.h"

/**
 * struct tally_transcript - what both sides said; every proof covers it
 * @hello: the initiator's HELLO
 * @challenge: the responder's CHALLENGE
 */
struct tally_transcript {
	struct tally_msg_hello hello;
	struct tally_msg_hello challenge;
};

void tally_hello_fill(struct tally_msg_hello *hello, struct tally_node *node,
		      const char *to, u64 resume, u32 qpn);
/* Everything but the proof and whether we know the sender. */
enum tally_refusal tally_hello_check(const struct tally_msg_hello *hello,
				     u32 len, struct tally_node *node);
/* Proofs; all zero where there is no key. */
int tally_hello_sign(struct tally_node *node, const char *label,
		     const struct tally_transcript *t, u8 mac[TALLY_MAC_SIZE]);
bool tally_hello_proved(struct tally_node *node, const char *label,
			const struct tally_transcript *t,
			const u8 mac[TALLY_MAC_SIZE]);
/* The session key: derived from the cluster key, else random. */
int tally_hello_session_key(struct tally_node *node,
			    const struct tally_transcript *t,
			    u8 key[TALLY_MAC_SIZE]);
int tally_ready_sign(struct tally_node *node, const u8 key[TALLY_MAC_SIZE],
		     const struct tally_msg_ready *ready,
		     u8 mac[TALLY_MAC_SIZE]);
/* First bytes of the MAC that lets a lane into a session. */
int tally_lane_tag(struct tally_node *node, const u8 key[TALLY_MAC_SIZE],
		   const struct tally_cm_req *req, u8 tag[TALLY_TAG_SIZE]);

#define TALLY_LABEL_RESPONDER	"tally responder"
#define TALLY_LABEL_INITIATOR	"tally initiator"

#endif
