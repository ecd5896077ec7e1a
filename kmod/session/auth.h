/* SPDX-License-Identifier: GPL-2.0 */
/* Proof of the cluster key: HMAC-SHA256 over what both sides said. */
#ifndef TALLY_AUTH_H
#define TALLY_AUTH_H

#include <crypto/hash.h>
#include <linux/types.h>
#include "base/wire.h"

/**
 * struct tally_auth - the HMAC transform and the cluster key of a node
 * @hmac: "hmac(sha256)"
 * @lock: serialises setkey and digest
 * @key: the key's bytes, or all zero
 * @key_len: 0 without a key
 */
struct tally_auth {
	struct crypto_shash *hmac;
	struct mutex lock;	/* setkey and digest are one step */
	u8 key[64];
	u32 key_len;
};

int tally_auth_init(struct tally_auth *auth);
void tally_auth_exit(struct tally_auth *auth);
/*
 * Take the payload of the `logon` key of that description, searched in the
 * caller's keyrings. Process context of the user who configures the node.
 */
int tally_auth_load(struct tally_auth *auth, const char *description);

/* One piece of what is signed. */
struct tally_auth_part {
	const void *data;
	u32 len;
};

/* MAC over @label and the parts with @key, or the cluster key when NULL. */
int tally_auth_mac(struct tally_auth *auth, const u8 *key, u32 key_len,
		   const char *label, const struct tally_auth_part *part,
		   u32 parts, u8 mac[TALLY_MAC_SIZE]);
/* Constant-time comparison. */
bool tally_auth_equal(const u8 *a, const u8 *b, u32 len);

#endif
