// SPDX-License-Identifier: GPL-2.0
#include <linux/random.h>
#include "session/hello.h"
#include "base/name.h"

/* What of a HELLO is signed: all of it but the MAC at its end. */
#define HELLO_SIGNED	offsetof(struct tally_msg_hello, mac)

/**
 * tally_hello_fill - say who we are
 * @hello: body to fill, HELLO or CHALLENGE
 * @node: our node
 * @to: name of the node we talk to
 * @resume: session to resume, or 0
 * @qpn: queue pair number of the control conn
 */
void tally_hello_fill(struct tally_msg_hello *hello, struct tally_node *node,
		      const char *to, u64 resume, u32 qpn)
{
	u32 atomics = node->config.no_atomics ? 0 : TALLY_FEATURE_ATOMICS;
	u8 lanes = min_t(u32, num_online_cpus(), TALLY_LANES_MAX);

	memset(hello, 0, sizeof(*hello));
	hello->version = cpu_to_be16(TALLY_WIRE_VERSION);
	hello->abi = TALLY_ABI;
	hello->lanes = lanes;
	hello->features = cpu_to_be32(TALLY_FEATURE_WHO | atomics);
	strscpy(hello->from, node->config.name, sizeof(hello->from));
	strscpy(hello->to, to, sizeof(hello->to));
	hello->incarnation = cpu_to_be64(node->incarnation);
	hello->epoch = cpu_to_be64(node->config.epoch);
	hello->resume = cpu_to_be64(resume);
	hello->qpn = cpu_to_be32(qpn);
	hello->lease_ms = cpu_to_be32(node->config.lease_ms);
	hello->depth = cpu_to_be16(TALLY_MSG_DEPTH);
	hello->auth = node->auth.key_len != 0;
	get_random_bytes(hello->nonce, sizeof(hello->nonce));
}

static bool hello_well_formed(const struct tally_msg_hello *hello)
{
	u32 lease = be32_to_cpu(hello->lease_ms);
	u16 depth = be16_to_cpu(hello->depth);

	return tally_name_field_valid(hello->from, sizeof(hello->from)) &&
	       tally_name_field_valid(hello->to, sizeof(hello->to)) &&
	       !memchr_inv(hello->reserved, 0, sizeof(hello->reserved)) &&
	       hello->auth <= 1 && hello->incarnation &&
	       hello->lanes >= 1 && hello->lanes <= TALLY_LANES_MAX &&
	       depth >= 16 && depth <= 4096 &&
	       lease >= TALLY_LEASE_MIN && lease <= TALLY_LEASE_MAX;
}

/**
 * tally_hello_check - is this HELLO or CHALLENGE acceptable?
 * @hello: body as it came
 * @len: its length
 * @node: our node
 *
 * Return: TALLY_REFUSE_NONE, or why not.
 */
enum tally_refusal tally_hello_check(const struct tally_msg_hello *hello,
				     u32 len, struct tally_node *node)
{
	if (len < sizeof(hello->version))
		return TALLY_REFUSE_MALFORMED;
	if (be16_to_cpu(hello->version) != TALLY_WIRE_VERSION)
		return TALLY_REFUSE_VERSION;
	if (len != sizeof(*hello) || !hello_well_formed(hello))
		return TALLY_REFUSE_MALFORMED;
	if (hello->abi != TALLY_ABI)
		return TALLY_REFUSE_ABI;
	if (strcmp(hello->to, node->config.name))
		return TALLY_REFUSE_WRONG_NAME;
	if (hello->auth != !!node->auth.key_len)
		return TALLY_REFUSE_AUTH_MISMATCH;
	return TALLY_REFUSE_NONE;
}

/**
 * tally_hello_sign - prove that we hold the cluster key
 * @node: our node
 * @label: which side proves
 * @t: what both sides said
 * @mac: gets the proof, zero without a key
 *
 * Return: 0 or an errno of the crypto layer.
 */
int tally_hello_sign(struct tally_node *node, const char *label,
		     const struct tally_transcript *t, u8 mac[TALLY_MAC_SIZE])
{
	struct tally_auth_part part[] = {
		{ &t->hello, HELLO_SIGNED },
		{ &t->challenge, HELLO_SIGNED },
	};

	memset(mac, 0, TALLY_MAC_SIZE);
	if (!node->auth.key_len)
		return 0;
	return tally_auth_mac(&node->auth, NULL, 0, label, part,
			      ARRAY_SIZE(part), mac);
}

/**
 * tally_hello_proved - does the other side hold the cluster key?
 * @node: our node
 * @label: which side proves
 * @t: what both sides said
 * @mac: its proof
 *
 * Return: true when the proof is right (or nobody has a key).
 */
bool tally_hello_proved(struct tally_node *node, const char *label,
			const struct tally_transcript *t,
			const u8 mac[TALLY_MAC_SIZE])
{
	u8 want[TALLY_MAC_SIZE];

	return !tally_hello_sign(node, label, t, want) &&
	       tally_auth_equal(want, mac, TALLY_MAC_SIZE);
}

/**
 * tally_hello_session_key - the key that lets lanes into a session
 * @node: our node
 * @t: what both sides said
 * @key: gets the key
 *
 * Without a cluster key it is random, and READY carries it.
 *
 * Return: 0 or an errno of the crypto layer.
 */
int tally_hello_session_key(struct tally_node *node,
			    const struct tally_transcript *t,
			    u8 key[TALLY_MAC_SIZE])
{
	struct tally_auth_part part[] = {
		{ &t->hello, HELLO_SIGNED },
		{ &t->challenge, HELLO_SIGNED },
	};

	if (!node->auth.key_len) {
		get_random_bytes(key, TALLY_MAC_SIZE);
		return 0;
	}
	return tally_auth_mac(&node->auth, NULL, 0, "tally session", part,
			      ARRAY_SIZE(part), key);
}

/**
 * tally_ready_sign - sign READY with the session key
 * @node: our node
 * @key: session key
 * @ready: body; all before its MAC is signed
 * @mac: gets the MAC
 *
 * Return: 0 or an errno of the crypto layer.
 */
int tally_ready_sign(struct tally_node *node, const u8 key[TALLY_MAC_SIZE],
		     const struct tally_msg_ready *ready,
		     u8 mac[TALLY_MAC_SIZE])
{
	struct tally_auth_part part = {
		ready, offsetof(struct tally_msg_ready, mac)
	};

	return tally_auth_mac(&node->auth, key, TALLY_MAC_SIZE, "tally ready",
			      &part, 1, mac);
}

/**
 * tally_lane_tag - what admits a lane into a session
 * @node: our node
 * @key: session key
 * @req: connection data; session, lane and nonce are signed
 * @tag: gets the tag
 *
 * Return: 0 or an errno of the crypto layer.
 */
int tally_lane_tag(struct tally_node *node, const u8 key[TALLY_MAC_SIZE],
		   const struct tally_cm_req *req, u8 tag[TALLY_TAG_SIZE])
{
	struct tally_auth_part part[] = {
		{ &req->session, sizeof(req->session) },
		{ &req->lane, sizeof(req->lane) },
		{ req->nonce, sizeof(req->nonce) },
	};
	u8 mac[TALLY_MAC_SIZE];
	int err;

	err = tally_auth_mac(&node->auth, key, TALLY_MAC_SIZE, "tally lane",
			     part, ARRAY_SIZE(part), mac);
	if (!err)
		memcpy(tag, mac, TALLY_TAG_SIZE);
	return err;
}
