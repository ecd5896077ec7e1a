// SPDX-License-Identifier: GPL-2.0
#include <crypto/algapi.h>
#include <keys/user-type.h>
#include <linux/key.h>
#include <linux/random.h>
#include "session/auth.h"

#define TALLY_KEY_MIN 16

/*
 * Get the transform; there is no key yet. Return: 0 or an errno of the crypto
 * layer, as from all that follows.
 */
int tally_auth_init(struct tally_auth *auth)
{
	memset(auth, 0, sizeof(*auth));
	mutex_init(&auth->lock);
	auth->hmac = crypto_alloc_shash("hmac(sha256)", 0, 0);
	return PTR_ERR_OR_ZERO(auth->hmac);
}

/* Give the transform back, if there is one, and wipe the key. */
void tally_auth_exit(struct tally_auth *auth)
{
	crypto_free_shash(auth->hmac);
	memzero_explicit(&auth->secret, sizeof(auth->secret));
}

/*
 * Take a copy of a key from the caller's keyrings, one of type logon with that
 * description. Return: 0; -ENOKEY; -EINVAL when it is shorter
 * than 16 or longer than 64 bytes; another errno of the key service.
 */
int tally_auth_load(struct tally_secret *secret, const char *description)
{
	const struct user_key_payload *payload;
	struct key *key = request_key(&key_type_logon, description, NULL);
	int err = 0;

	if (IS_ERR(key))
		return PTR_ERR(key);
	down_read(&key->sem);
	payload = user_key_payload_locked(key);
	if (!payload) {
		err = -EKEYREVOKED;
	} else if (payload->datalen < TALLY_KEY_MIN ||
		   payload->datalen > sizeof(secret->key)) {
		err = -EINVAL;
	} else {
		memcpy(secret->key, payload->data, payload->datalen);
		secret->len = payload->datalen;
	}
	up_read(&key->sem);
	key_put(key);
	return err;
}

/* One piece of what is signed. */
struct auth_part {
	const void *data;
	u32 len;
};

/* MAC over @label, the name of its purpose, and the parts. Sleeps. */
static int auth_mac(struct tally_auth *auth, const u8 *key, u32 key_len,
		    const char *label, const struct auth_part *part,
		    u32 parts, u8 mac[TALLY_MAC_SIZE])
{
	SHASH_DESC_ON_STACK(desc, auth->hmac);
	int err;
	u32 i;

	desc->tfm = auth->hmac;
	guard(mutex)(&auth->lock);
	err = crypto_shash_setkey(auth->hmac, key, key_len) ?:
	      crypto_shash_init(desc) ?:
	      crypto_shash_update(desc, label, strlen(label) + 1);
	for (i = 0; !err && i < parts; i++)
		err = crypto_shash_update(desc, part[i].data, part[i].len);
	if (!err)
		err = crypto_shash_final(desc, mac);
	shash_desc_zero(desc);
	return err;
}

/* Over all of the transcript but the MACs at its ends. */
static int auth_transcript(struct tally_auth *auth,
			   const struct tally_secret *secret, const char *label,
			   const struct tally_transcript *t,
			   u8 mac[TALLY_MAC_SIZE])
{
	u32 len = offsetof(struct tally_msg_hello, mac);
	struct auth_part part[] = {
		{ &t->hello, len },
		{ &t->challenge, len },
	};

	return auth_mac(auth, secret->key, secret->len, label, part,
			ARRAY_SIZE(part), mac);
}

/*
 * Prove that we hold the key. @label: which side proves; @mac: gets the proof,
 * zero without a key.
 */
int tally_auth_prove(struct tally_auth *auth, const struct tally_secret *secret,
		     const char *label, const struct tally_transcript *t,
		     u8 mac[TALLY_MAC_SIZE])
{
	memset(mac, 0, TALLY_MAC_SIZE);
	return secret->len ? auth_transcript(auth, secret, label, t, mac) : 0;
}

/* Is the proof of the other side right, or is there no key? */
bool tally_auth_proved(struct tally_auth *auth,
		       const struct tally_secret *secret, const char *label,
		       const struct tally_transcript *t,
		       const u8 mac[TALLY_MAC_SIZE])
{
	u8 want[TALLY_MAC_SIZE];

	return !tally_auth_prove(auth, secret, label, t, want) &&
	       !crypto_memneq(want, mac, TALLY_MAC_SIZE);
}

/*
 * The key that lets lanes into a session; where there is no @secret it is random,
 * and READY carries it.
 */
int tally_auth_session_key(struct tally_auth *auth,
			   const struct tally_secret *secret,
			   const struct tally_transcript *t,
			   u8 key[TALLY_MAC_SIZE])
{
	if (secret->len)
		return auth_transcript(auth, secret, "tally session", t, key);
	get_random_bytes(key, TALLY_MAC_SIZE);
	return 0;
}

/* Sign READY, all before its MAC, with the session key. */
int tally_auth_ready(struct tally_auth *auth, const u8 key[TALLY_MAC_SIZE],
		     const struct tally_msg_ready *ready,
		     u8 mac[TALLY_MAC_SIZE])
{
	struct auth_part part = { ready, offsetof(struct tally_msg_ready, mac) };

	return auth_mac(auth, key, TALLY_MAC_SIZE, "tally ready", &part, 1,
			mac);
}

/*
 * What admits a lane into a session: the first bytes of a MAC over session,
 * lane, nonce and the number of the QP that connects.
 */
int tally_auth_tag(struct tally_auth *auth, const u8 key[TALLY_MAC_SIZE],
		   const struct tally_cm_req *req, u32 qpn,
		   u8 tag[TALLY_TAG_SIZE])
{
	__be32 number = cpu_to_be32(qpn);
	struct auth_part part[] = {
		{ &req->session, sizeof(req->session) },
		{ &req->lane, sizeof(req->lane) },
		{ req->nonce, sizeof(req->nonce) },
		{ &number, sizeof(number) },
	};
	u8 mac[TALLY_MAC_SIZE];
	int err = auth_mac(auth, key, TALLY_MAC_SIZE, "tally lane", part,
			   ARRAY_SIZE(part), mac);

	if (!err)
		memcpy(tag, mac, TALLY_TAG_SIZE);
	return err;
}

/*
 * What proves that one is an end of the session that began with @key: members have
 * the cluster key and may learn the id, but not what the two ends said to each other.
 */
int tally_auth_resume(struct tally_auth *auth, const u8 key[TALLY_MAC_SIZE],
		      struct tally_secret *secret)
{
	secret->len = TALLY_MAC_SIZE;
	return auth_mac(auth, key, TALLY_MAC_SIZE, "tally secret", NULL, 0,
			secret->key);
}

/*
 * What signs words to the peer that a third node brings: not the session key, as
 * that is another one with each link.
 */
int tally_auth_ticket(struct tally_auth *auth, const u8 key[TALLY_MAC_SIZE],
		      siphash_key_t *ticket)
{
	__le64 mac[TALLY_MAC_SIZE / sizeof(__le64)];
	int err = auth_mac(auth, key, TALLY_MAC_SIZE, "tally ticket", NULL, 0,
			   (u8 *)mac);

	if (err)
		return err;
	ticket->key[0] = le64_to_cpu(mac[0]);
	ticket->key[1] = le64_to_cpu(mac[1]);
	memzero_explicit(mac, sizeof(mac));
	return 0;
}
