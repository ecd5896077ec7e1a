// SPDX-License-Identifier: GPL-2.0
#include <crypto/algapi.h>
#include <keys/user-type.h>
#include <linux/key.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include "session/auth.h"

#define TALLY_KEY_MIN 16

/**
 * tally_auth_init - get the transform; there is no key yet
 * @auth: to be initialised
 *
 * Return: 0 or an errno of the crypto layer.
 */
int tally_auth_init(struct tally_auth *auth)
{
	memset(auth, 0, sizeof(*auth));
	mutex_init(&auth->lock);
	auth->hmac = crypto_alloc_shash("hmac(sha256)", 0, 0);
	return PTR_ERR_OR_ZERO(auth->hmac);
}

/**
 * tally_auth_exit - give the transform back and wipe the key
 * @auth: from tally_auth_init()
 */
void tally_auth_exit(struct tally_auth *auth)
{
	crypto_free_shash(auth->hmac);
	memzero_explicit(auth->key, sizeof(auth->key));
}

/**
 * tally_auth_load - take the cluster key from the caller's keyrings
 * @auth: gets a copy of it
 * @description: of a key of type logon, e.g. "tally:cluster"
 *
 * Return: 0; -ENOKEY; -EINVAL when it is shorter than 16 or longer than 64
 * bytes; another errno of the key service.
 */
int tally_auth_load(struct tally_auth *auth, const char *description)
{
	const struct user_key_payload *payload;
	struct key *key;
	int err = 0;

	key = request_key(&key_type_logon, description, NULL);
	if (IS_ERR(key))
		return PTR_ERR(key);
	down_read(&key->sem);
	payload = user_key_payload_locked(key);
	if (!payload) {
		err = -EKEYREVOKED;
	} else if (payload->datalen < TALLY_KEY_MIN ||
		   payload->datalen > sizeof(auth->key)) {
		err = -EINVAL;
	} else {
		memcpy(auth->key, payload->data, payload->datalen);
		auth->key_len = payload->datalen;
	}
	up_read(&key->sem);
	key_put(key);
	return err;
}

static int auth_digest(struct tally_auth *auth, const char *label,
		       const struct tally_auth_part *part, u32 parts, u8 *mac)
{
	SHASH_DESC_ON_STACK(desc, auth->hmac);
	int err;
	u32 i;

	desc->tfm = auth->hmac;
	err = crypto_shash_init(desc);
	if (!err)
		err = crypto_shash_update(desc, label, strlen(label) + 1);
	for (i = 0; !err && i < parts; i++)
		err = crypto_shash_update(desc, part[i].data, part[i].len);
	if (!err)
		err = crypto_shash_final(desc, mac);
	shash_desc_zero(desc);
	return err;
}

/**
 * tally_auth_mac - sign
 * @auth: transform and cluster key
 * @key: key to use, or NULL for the cluster key
 * @key_len: its length
 * @label: what the MAC is for; part of what is signed
 * @part: pieces to sign
 * @parts: how many
 * @mac: gets the MAC
 *
 * Context: process; sleeps.
 * Return: 0; -ENOKEY without a key; an errno of the crypto layer.
 */
int tally_auth_mac(struct tally_auth *auth, const u8 *key, u32 key_len,
		   const char *label, const struct tally_auth_part *part,
		   u32 parts, u8 mac[TALLY_MAC_SIZE])
{
	int err;

	if (!key) {
		key = auth->key;
		key_len = auth->key_len;
	}
	if (!key_len)
		return -ENOKEY;
	mutex_lock(&auth->lock);
	err = crypto_shash_setkey(auth->hmac, key, key_len);
	if (!err)
		err = auth_digest(auth, label, part, parts, mac);
	mutex_unlock(&auth->lock);
	return err;
}

/**
 * tally_auth_equal - compare two MACs in constant time
 * @a: one
 * @b: the other
 * @len: bytes to compare
 *
 * Return: true when they are equal.
 */
bool tally_auth_equal(const u8 *a, const u8 *b, u32 len)
{
	return !crypto_memneq(a, b, len);
}
