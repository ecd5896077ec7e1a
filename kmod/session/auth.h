/* SPDX-License-Identifier: GPL-2.0 */
/* Proof of a shared key: HMAC-SHA256 over what both sides said. */
#ifndef TALLY_AUTH_H
#define TALLY_AUTH_H

#include <crypto/hash.h>
#include <linux/mutex.h>
#include <linux/siphash.h>
#include <linux/types.h>
#include "base/wire.h"

#define TALLY_LABEL_RESPONDER	"tally responder"
#define TALLY_LABEL_INITIATOR	"tally initiator"
#define TALLY_LABEL_RESUME	"tally resume"

/**
 * struct tally_secret - a key
 * @key: its bytes
 * @len: their number, 0 without a key
 */
struct tally_secret {
	u8 key[64];
	u32 len;
};

/**
 * struct tally_auth - the HMAC transform and the cluster key of a node
 * @hmac: "hmac(sha256)"
 * @lock: serialises setkey and digest
 * @secret: proves to all peers that have no key of their own
 */
struct tally_auth {
	struct crypto_shash *hmac;
	struct mutex lock;	/* setkey and digest are one step */
	struct tally_secret secret;
};

/**
 * struct tally_transcript - what both sides said; every proof covers it
 * @hello: the initiator's HELLO
 * @challenge: the responder's CHALLENGE
 */
struct tally_transcript {
	struct tally_msg_hello hello;
	struct tally_msg_hello challenge;
};

int tally_auth_init(struct tally_auth *auth);
void tally_auth_exit(struct tally_auth *auth);
int tally_auth_load(struct tally_secret *secret, const char *description);
int tally_auth_prove(struct tally_auth *auth, const struct tally_secret *secret,
		     const char *label, const struct tally_transcript *t,
		     u8 mac[TALLY_MAC_SIZE]);
bool tally_auth_proved(struct tally_auth *auth,
		       const struct tally_secret *secret, const char *label,
		       const struct tally_transcript *t,
		       const u8 mac[TALLY_MAC_SIZE]);
int tally_auth_session_key(struct tally_auth *auth,
			   const struct tally_secret *secret,
			   const struct tally_transcript *t,
			   u8 key[TALLY_MAC_SIZE]);
int tally_auth_ready(struct tally_auth *auth, const u8 key[TALLY_MAC_SIZE],
		     const struct tally_msg_ready *ready,
		     u8 mac[TALLY_MAC_SIZE]);
int tally_auth_tag(struct tally_auth *auth, const u8 key[TALLY_MAC_SIZE],
		   const struct tally_cm_req *req, u32 qpn,
		   u8 tag[TALLY_TAG_SIZE]);
int tally_auth_resume(struct tally_auth *auth, const u8 key[TALLY_MAC_SIZE],
		      struct tally_secret *secret);
int tally_auth_ticket(struct tally_auth *auth, const u8 key[TALLY_MAC_SIZE],
		      siphash_key_t *ticket);

#endif
