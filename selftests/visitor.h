/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tally's wire protocol from user space, for programs that do not keep to it:
 * formats, connections, and the words of the handshake.
 */
#ifndef VISITOR_H
#define VISITOR_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>

#define MAGIC	0x54414c59
#define SIZE	1024
#define RECVS	16
#define SENDS	32
#define WAIT_MS	30000

enum { HELLO = 1, CHALLENGE, PROVE, READY, REFUSE = 7, CREDIT = 17 };

struct request {
	uint32_t magic;
	uint16_t version;
	uint8_t kind, lane;
	uint64_t session;
	uint8_t nonce[16], tag[16], reserved[8];
} __attribute__((packed));

struct header {
	uint16_t type, flags;
	uint32_t len, credit;
	uint16_t req, slot;
	uint32_t seq, reserved;
	uint64_t session;
} __attribute__((packed));

struct hello {
	uint16_t version;
	uint8_t abi, lanes;
	uint32_t features;
	char from[64], to[64];
	uint64_t incarnation, epoch, resume;
	uint32_t qpn, lease_ms;
	uint16_t depth;
	uint8_t auth, reserved[5], nonce[16], mac[32];
} __attribute__((packed));

struct prove {
	uint8_t mac[32], resume[32];
} __attribute__((packed));

struct ready {
	uint64_t session;
	uint16_t slot;
	uint8_t lanes, resumed;
	uint32_t lease_ms;
	uint8_t key[32], mac[32];
} __attribute__((packed));

struct refuse {
	uint16_t reason, version;
	uint8_t reserved[4];
	char text[128];
} __attribute__((packed));

struct reject {
	uint32_t magic;
	uint16_t version, reason;
} __attribute__((packed));

/* One connection. */
struct conn {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint32_t sending;		/* posted, and not completed */
	uint8_t buf[RECVS + 1][SIZE];	/* the last one is for sending */
};

/* The cluster key, or NULL; and whom to talk to. */
extern const char *key;
extern struct sockaddr_in address;

void die(const char *what);
void must(int err, const char *what);
struct rdma_cm_event *next_event(struct conn *c, int ms);
void post_recv(struct conn *c, int i);
struct conn *resolve(void);
/* The next one that connects to @port here. */
struct conn *await(uint16_t port);
void drop(struct conn *c);
/* False: not accepted, and said so. */
bool connect_with(struct conn *c, const void *data, uint8_t len);
bool connect_control(struct conn *c);
/* What was sent last, again. */
void post_send(struct conn *c, uint32_t len);
void send_bytes(struct conn *c, const void *data, uint32_t len);
void send_message(struct conn *c, uint16_t type, const void *body,
		  uint32_t len);
/* The next message; NULL and said so when the connection ended. */
const void *receive(struct conn *c, uint16_t type);
/* With a key, over a label and both sides' words up to the MAC. */
void sign_with(const void *with, size_t len, const char *label,
	       const struct hello *a, const struct hello *b, uint8_t mac[32]);
/* With the cluster's, if there is one. */
void sign(const char *label, const struct hello *a, const struct hello *b,
	  uint8_t mac[32]);
/* What proves that one is an end of the session that began with that key. */
void make_secret(const uint8_t session_key[32], uint8_t secret[32]);
/* The tag of a lane. */
void sign_lane(struct request *req, const uint8_t session_key[32],
	       uint32_t qpn);
void fill_hello(struct hello *hello, const char *from, const char *to,
		const char *how);

#endif
