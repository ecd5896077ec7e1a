/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What travels between two nodes: connection data, the message header, and the
 * bodies of handshake and session. The other bodies are in object/wire.h,
 * counter/wire.h, lock/wire.h and region/wire.h. All integers are big-endian,
 * all reserved fields are zero when sent and checked when received. The 64-bit
 * words themselves keep the byte order of their home; the ABI tag in HELLO says
 * which that is.
 */
#ifndef TALLY_WIRE_H
#define TALLY_WIRE_H

#include <linux/build_bug.h>
#include <linux/types.h>

#define TALLY_WIRE_MAGIC	0x54414c59	/* "TALY" */
#define TALLY_WIRE_VERSION	1

#define TALLY_NAME_SIZE		64	/* 63 characters and the NUL */
#define TALLY_NONCE_SIZE	16
#define TALLY_MAC_SIZE		32	/* HMAC-SHA256 */
#define TALLY_TAG_SIZE		16	/* leading bytes of a MAC */

/* One control message, header included; one RECV buffer is this large. */
#define TALLY_MSG_SIZE		1024
/* RECV buffers a control conn posts: the credits it gives to its peer. */
#define TALLY_MSG_DEPTH		128
/* Requests one side may have open at the other (request slots). */
#define TALLY_RPC_SLOTS		48
#define TALLY_LANES_MAX		4
#define TALLY_EPOCH_MAX		0x3fff	/* of a home */

/* Word layout: machines of one byte order only share words directly. */
#ifdef __LITTLE_ENDIAN
#define TALLY_ABI		1
#else
#define TALLY_ABI		2
#endif

enum tally_conn_kind {
	TALLY_KIND_CONTROL	= 1,
	TALLY_KIND_LANE		= 2,
};

/**
 * struct tally_cm_req - private data of a connection request
 * @magic: TALLY_WIRE_MAGIC
 * @version: TALLY_WIRE_VERSION of the sender
 * @kind: enum tally_conn_kind
 * @lane: index of the lane, 0 for a control conn
 * @session: id of the session the lane belongs to, 0 for a control conn
 * @nonce: random, lanes only
 * @tag: proof that the sender knows the session key, lanes only
 * @reserved: zero
 */
struct tally_cm_req {
	__be32	magic;
	__be16	version;
	u8	kind;
	u8	lane;
	__be64	session;
	u8	nonce[TALLY_NONCE_SIZE];
	u8	tag[TALLY_TAG_SIZE];
	u8	reserved[8];
} __packed;
static_assert(sizeof(struct tally_cm_req) == 56);

/* Private data of a rejection, so that the other side can say why. */
struct tally_cm_rej {
	__be32	magic;
	__be16	version;
	__be16	reason;		/* enum tally_refusal */
} __packed;
static_assert(sizeof(struct tally_cm_rej) == 8);

/* Why a node refused another; counted one by one, shown by name. */
enum tally_refusal {
	TALLY_REFUSE_NONE,
	TALLY_REFUSE_VERSION,		/* unequal wire versions */
	TALLY_REFUSE_UNKNOWN_PEER,	/* no peer of that name is configured */
	TALLY_REFUSE_WRONG_NAME,	/* meant for a node of another name */
	TALLY_REFUSE_AUTH,		/* the proof of the key is wrong */
	TALLY_REFUSE_AUTH_MISMATCH,	/* one side has a key, the other none */
	TALLY_REFUSE_NAME_IN_USE,	/* a live node holds that name */
	TALLY_REFUSE_COLLISION,		/* the link in the other direction wins */
	TALLY_REFUSE_BUSY,		/* too many half-open handshakes */
	TALLY_REFUSE_MALFORMED,		/* not our protocol */
	TALLY_REFUSE_BAD_TAG,		/* lane without or with a wrong tag */
	TALLY_REFUSE_STALE,		/* session unknown or fenced */
	TALLY_REFUSE_TIMEOUT,		/* handshake not finished in time */
	TALLY_REFUSE_ABI,		/* other byte order */
	TALLY_REFUSE_SHUTDOWN,		/* the node is going away */
	TALLY_REFUSE_EPOCH,		/* home epoch lower than one seen before */
	__TALLY_REFUSE_MAX
};

enum tally_msg_type {
	/* handshake, in this order */
	TALLY_MSG_HELLO		= 1,
	TALLY_MSG_CHALLENGE	= 2,
	TALLY_MSG_PROVE		= 3,
	TALLY_MSG_READY		= 4,
	TALLY_MSG_ACTIVE	= 5,	/* initiator: all my lanes are up */
	TALLY_MSG_ACTIVE_ACK	= 6,
	TALLY_MSG_REFUSE	= 7,
	/* session */
	TALLY_MSG_GOODBYE	= 16,
	TALLY_MSG_CREDIT	= 17,
	TALLY_MSG_RENEW		= 18,
	TALLY_MSG_RENEW_ACK	= 19,
	TALLY_MSG_REPLY		= 20,
	/* requests: each gets one REPLY */
	TALLY_MSG_ATTACH	= 32,
	TALLY_MSG_OPEN		= 33,
	TALLY_MSG_CLOSE		= 34,
	TALLY_MSG_LIST		= 35,
	TALLY_MSG_COUNTER	= 36,
	TALLY_MSG_REGION_MAP	= 37,
	TALLY_MSG_WHO		= 38,
	TALLY_MSG_REGION_ZERO	= 39,
	TALLY_MSG_STAT		= 40,
	TALLY_MSG_SHOW		= 41,
	TALLY_MSG_TESTS		= 48,	/* to 63: for kmod/tests/ */
	/* one-way */
	TALLY_MSG_FORGET	= 64,
	TALLY_MSG_FORGOTTEN	= 65,
	TALLY_MSG_LOCK		= 66,
	TALLY_MSG_RESYNC	= 67,	/* empty: every lock has been listed */
	__TALLY_MSG_MAX
};

/**
 * struct tally_hdr - first 32 bytes of every control message
 * @type: enum tally_msg_type
 * @flags: zero
 * @len: length of the whole message in bytes
 * @credit: RECV buffers the sender consumed and posted again on this conn
 * @req: request slot (requests and REPLY), else 0
 * @slot: the sender's node slot at the receiver, 0 before READY
 * @seq: number of the request in its slot, counted from 1, else 0
 * @reserved: zero
 * @session: id of the session (its epoch), 0 before READY
 */
struct tally_hdr {
	__be16	type;
	__be16	flags;
	__be32	len;
	__be32	credit;
	__be16	req;
	__be16	slot;
	__be32	seq;
	__be32	reserved;
	__be64	session;
} __packed;
static_assert(sizeof(struct tally_hdr) == 32);

#define TALLY_BODY_MAX	(TALLY_MSG_SIZE - sizeof(struct tally_hdr))

/* Features: bits both sides must know to use. */
#define TALLY_FEATURE_ATOMICS	BIT(0)	/* this node can post atomics */
#define TALLY_FEATURE_WHO	BIT(1)	/* this node answers WHO */

/**
 * struct tally_msg_hello - HELLO and, with @mac, CHALLENGE
 * @version: TALLY_WIRE_VERSION
 * @abi: TALLY_ABI
 * @lanes: lanes the sender wants; the smaller number is used
 * @features: TALLY_FEATURE_*
 * @from: name of the sending node, NUL-padded
 * @to: name of the node it wants to talk to
 * @incarnation: random id of this start of the sender
 * @epoch: ordered epoch of the sender as a home, 0 without one
 * @resume: id of the session to resume, 0 for a new one
 * @qpn: queue pair number of the sender's control conn
 * @lease_ms: lease of the sender; the smaller one is used
 * @depth: RECV buffers the sender has posted on this conn
 * @auth: 1 when the sender holds a cluster key
 * @reserved: zero
 * @nonce: random
 * @mac: CHALLENGE: HMAC over "tally responder" and both bodies up to @mac;
 *	HELLO: zero
 */
struct tally_msg_hello {
	__be16	version;
	u8	abi;
	u8	lanes;
	__be32	features;
	char	from[TALLY_NAME_SIZE];
	char	to[TALLY_NAME_SIZE];
	__be64	incarnation;
	__be64	epoch;
	__be64	resume;
	__be32	qpn;
	__be32	lease_ms;
	__be16	depth;
	u8	auth;
	u8	reserved[5];
	u8	nonce[TALLY_NONCE_SIZE];
	u8	mac[TALLY_MAC_SIZE];
} __packed;
static_assert(sizeof(struct tally_msg_hello) == 224);

/**
 * struct tally_msg_prove - the initiator is what it said
 * @mac: HMAC with the cluster key over "tally initiator" and both bodies
 * @resume: HMAC with the secret of the session that HELLO wants to resume over
 *	"tally resume" and the same; zero without one
 */
struct tally_msg_prove {
	u8	mac[TALLY_MAC_SIZE];
	u8	resume[TALLY_MAC_SIZE];
} __packed;

/**
 * struct tally_msg_ready - the responder accepted; lanes may be opened now
 * @session: id of the session
 * @slot: node slot of the initiator in the responder's words
 * @lanes: number of lanes to open
 * @resumed: 1 when an existing session goes on
 * @lease_ms: the lease both sides use
 * @key: session key of a new session when there is no cluster key, else zero
 * @mac: HMAC with the session key over all before it
 */
struct tally_msg_ready {
	__be64	session;
	__be16	slot;
	u8	lanes;
	u8	resumed;
	__be32	lease_ms;
	u8	key[TALLY_MAC_SIZE];
	u8	mac[TALLY_MAC_SIZE];
} __packed;

struct tally_msg_active {
	__be16	slot;		/* slot of the receiver in the sender's words */
	u8	reserved[6];
} __packed;

struct tally_msg_refuse {
	__be16	reason;		/* enum tally_refusal */
	__be16	version;
	u8	reserved[4];
	char	text[128];	/* a sentence for people, NUL-terminated */
} __packed;

struct tally_msg_goodbye {
	__be32	clean;		/* 1: every tenure was given up before */
	u8	reserved[4];
} __packed;

struct tally_msg_renew {
	__be64	stamp;		/* sender's clock, returned unchanged */
	__be64	epoch;		/* RENEW: highest home epoch seen of the receiver */
} __packed;

/* Begins every REPLY. */
struct tally_msg_reply {
	__be32	status;		/* 0 or a positive errno */
	__be32	reserved;
} __packed;

#define TALLY_REPLY_MAX	(TALLY_BODY_MAX - sizeof(struct tally_msg_reply))

/* How a node reaches an object's word. */
enum tally_path {
	TALLY_PATH_DIRECT	= 1,	/* its own atomics on a lane */
	TALLY_PATH_MESSAGE	= 2,	/* requests; the home executes */
};

#endif
