// SPDX-License-Identifier: GPL-2.0
/*
 * stranger ADDRESS PORT CASE [ARGUMENT...]: knocks at a node from user space
 * in ways the module never would, and prints how it was answered:
 *
 *	rejected REASON		the connection was not accepted
 *	refused REASON		it was, and REFUSE came
 *	ready			the handshake was completed
 *	closed			the connection was closed without a word
 *
 * Cases:
 *	request FIELD		connection data that are wrong in FIELD: magic,
 *				version, kind, reserved, lane, short
 *	lane SESSION		a lane for that session, without its key
 *	raw HOW			garbage, short, long, type, silent, flags: what
 *				is sent instead of HELLO
 *	hello FROM TO [KEY] [HOW]
 *				a handshake; HOW: version, abi, to, lease,
 *				prove (wrong proof), noauth, twice (the first
 *				handshake's messages are sent again on a second
 *				connection)
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <openssl/hmac.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAGIC	0x54414c59
#define SIZE	1024
#define RECVS	16
#define WAIT_MS	30000

enum { HELLO = 1, CHALLENGE, PROVE, READY, REFUSE = 7 };

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
	uint8_t buf[RECVS + 1][SIZE];	/* the last one is for sending */
};

static const char *key;
static struct sockaddr_in address = { .sin_family = AF_INET };

static void die(const char *what)
{
	fprintf(stderr, "stranger: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void must(int err, const char *what)
{
	if (err)
		die(what);
}

/* The next CM event, or NULL when time is over. */
static struct rdma_cm_event *next_event(struct conn *c, int ms)
{
	struct pollfd p = { .fd = c->channel->fd, .events = POLLIN };
	struct rdma_cm_event *event;

	if (poll(&p, 1, ms) != 1 || rdma_get_cm_event(c->channel, &event))
		return NULL;
	return event;
}

static void expect(struct conn *c, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event = next_event(c, WAIT_MS);

	if (!event || event->event != type) {
		fprintf(stderr, "stranger: %s instead of %s\n",
			event ? rdma_event_str(event->event) : "nothing",
			rdma_event_str(type));
		exit(1);
	}
	rdma_ack_cm_event(event);
}

static void post_recv(struct conn *c, int i)
{
	struct ibv_sge sge = { (uintptr_t)c->buf[i], SIZE, c->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	must(ibv_post_recv(c->id->qp, &wr, &bad), "ibv_post_recv");
}

static struct conn *resolve(void)
{
	struct ibv_qp_init_attr attr = {
		.cap = { 4, RECVS, 1, 1, 0 }, .qp_type = IBV_QPT_RC,
	};
	struct conn *c = calloc(1, sizeof(*c));
	int i;

	if (!c)
		die("memory");
	c->channel = rdma_create_event_channel();
	if (!c->channel)
		die("rdma_create_event_channel");
	must(rdma_create_id(c->channel, &c->id, c, RDMA_PS_TCP),
	     "rdma_create_id");
	must(rdma_resolve_addr(c->id, NULL, (struct sockaddr *)&address, 5000),
	     "rdma_resolve_addr");
	expect(c, RDMA_CM_EVENT_ADDR_RESOLVED);
	must(rdma_resolve_route(c->id, 5000), "rdma_resolve_route");
	expect(c, RDMA_CM_EVENT_ROUTE_RESOLVED);
	c->pd = ibv_alloc_pd(c->id->verbs);
	c->cq = ibv_create_cq(c->id->verbs, 64, NULL, NULL, 0);
	if (!c->pd || !c->cq)
		die("verbs");
	c->mr = ibv_reg_mr(c->pd, c->buf, sizeof(c->buf),
			   IBV_ACCESS_LOCAL_WRITE);
	if (!c->mr)
		die("ibv_reg_mr");
	attr.send_cq = c->cq;
	attr.recv_cq = c->cq;
	must(rdma_create_qp(c->id, c->pd, &attr), "rdma_create_qp");
	for (i = 0; i < RECVS; i++)
		post_recv(c, i);
	return c;
}

static int say_rejected(const struct rdma_cm_event *event)
{
	const struct reject *reject = event->param.conn.private_data;

	if (event->event == RDMA_CM_EVENT_REJECTED && reject &&
	    event->param.conn.private_data_len >= sizeof(*reject) &&
	    be32toh(reject->magic) == MAGIC)
		printf("rejected %u\n", be16toh(reject->reason));
	else
		printf("rejected %s\n", rdma_event_str(event->event));
	return 0;
}

/* False: not accepted, and said so. */
static bool connect_with(struct conn *c, const void *data, uint8_t len)
{
	struct rdma_conn_param param = {
		.private_data = data, .private_data_len = len,
		.responder_resources = 1, .initiator_depth = 1,
		.retry_count = 6, .rnr_retry_count = 6,
	};
	struct rdma_cm_event *event;
	bool is_up;

	must(rdma_connect(c->id, &param), "rdma_connect");
	event = next_event(c, WAIT_MS);
	if (!event) {
		puts("nothing");
		return false;
	}
	is_up = event->event == RDMA_CM_EVENT_ESTABLISHED;
	if (!is_up)
		say_rejected(event);
	rdma_ack_cm_event(event);
	return is_up;
}

static bool connect_control(struct conn *c)
{
	struct request req = {
		.magic = htobe32(MAGIC), .version = htobe16(1), .kind = 1,
	};

	return connect_with(c, &req, sizeof(req));
}

static void send_bytes(struct conn *c, const void *data, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)c->buf[RECVS], len, c->mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = RECVS, .sg_list = &sge, .num_sge = 1,
		.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_send_wr *bad;

	memcpy(c->buf[RECVS], data, len);
	must(ibv_post_send(c->id->qp, &wr, &bad), "ibv_post_send");
}

static void send_message(struct conn *c, uint16_t type, const void *body,
			 uint32_t len)
{
	uint8_t message[SIZE] = {};
	struct header *header = (void *)message;

	header->type = htobe16(type);
	header->len = htobe32(sizeof(*header) + len);
	memcpy(header + 1, body, len);
	send_bytes(c, message, sizeof(*header) + len);
}

/* The next message; NULL and said so when the connection ended. */
static const void *receive(struct conn *c, uint16_t type)
{
	time_t end = time(NULL) + WAIT_MS / 1000;
	const struct refuse *refuse;
	bool is_closed = false;
	struct header *header;
	struct ibv_wc wc;

	while (time(NULL) < end) {
		if (ibv_poll_cq(c->cq, 1, &wc) < 1) {
			if (is_closed)
				break;
			/* What came before the end is looked at first. */
			is_closed = next_event(c, 2);
			continue;
		}
		if (wc.status != IBV_WC_SUCCESS) {
			is_closed = true;
			break;
		}
		if (wc.opcode != IBV_WC_RECV)
			continue;
		header = (void *)c->buf[wc.wr_id];
		if (be16toh(header->type) == type)
			return header + 1;
		refuse = (void *)(header + 1);
		if (be16toh(header->type) == REFUSE)
			printf("refused %u\n", be16toh(refuse->reason));
		else
			printf("message %u\n", be16toh(header->type));
		return NULL;
	}
	puts(is_closed ? "closed" : "nothing");
	return NULL;
}

static int case_request(const char *field)
{
	struct request req = {
		.magic = htobe32(MAGIC), .version = htobe16(1), .kind = 1,
	};
	struct conn *c = resolve();
	uint8_t len = sizeof(req);

	if (!strcmp(field, "magic"))
		req.magic = htobe32(0x11223344);
	else if (!strcmp(field, "version"))
		req.version = htobe16(77);
	else if (!strcmp(field, "kind"))
		req.kind = 9;
	else if (!strcmp(field, "reserved"))
		req.reserved[3] = 1;
	else if (!strcmp(field, "lane"))
		req.lane = 3;
	else if (!strcmp(field, "short"))
		len = 6;
	if (connect_with(c, &req, len))
		puts("accepted");
	return 0;
}

static int case_lane(const char *session)
{
	struct request req = {
		.magic = htobe32(MAGIC), .version = htobe16(1), .kind = 2,
		.session = htobe64(strtoull(session, NULL, 0)),
		.nonce = "not so random", .tag = "no tag",
	};

	if (connect_with(resolve(), &req, sizeof(req)))
		puts("accepted");
	return 0;
}

static int case_raw(const char *how)
{
	uint8_t bytes[SIZE], empty[SIZE] = {};
	struct header *header = (void *)empty;
	struct conn *c = resolve();
	int i;

	for (i = 0; i < SIZE; i++)
		bytes[i] = i * 37 + 11;
	if (!connect_control(c))
		return 0;
	header->type = htobe16(HELLO);
	header->len = htobe32(sizeof(*header));
	if (!strcmp(how, "garbage")) {
		send_bytes(c, bytes, SIZE);
	} else if (!strcmp(how, "short")) {
		send_bytes(c, bytes, 5);
	} else if (!strcmp(how, "empty")) {
		send_bytes(c, empty, sizeof(*header));
	} else if (!strcmp(how, "type")) {
		send_message(c, 34, bytes, 68);
	} else if (!strcmp(how, "long")) {
		header->len = htobe32(SIZE);
		send_bytes(c, empty, 400);
	} else if (!strcmp(how, "flags")) {
		header->flags = 1;
		send_bytes(c, empty, sizeof(*header));
	}
	if (receive(c, READY))
		puts("ready");
	return 0;
}

/* What the key proves: a label, and both sides' words up to the MAC. */
static void sign(const char *label, const struct hello *a,
		 const struct hello *b, uint8_t mac[32])
{
	size_t label_len = strlen(label) + 1;
	size_t part = offsetof(struct hello, mac);
	uint8_t text[2 * sizeof(*a) + 32];

	memset(mac, 0, 32);
	if (!key)
		return;
	memcpy(text, label, label_len);
	memcpy(text + label_len, a, part);
	memcpy(text + label_len + part, b, part);
	if (!HMAC(EVP_sha256(), key, strlen(key), text, label_len + 2 * part,
		  mac, NULL))
		die("HMAC");
}

static void fill_hello(struct hello *hello, const char *from, const char *to,
		       const char *how)
{
	*hello = (struct hello) {
		.version = htobe16(strcmp(how, "version") ? 1 : 2),
		.abi = strcmp(how, "abi") ? 1 : 2, .lanes = 1,
		.features = htobe32(1), .incarnation = htobe64(0x1234567 + getpid()),
		.lease_ms = htobe32(strcmp(how, "lease") ? 20000 : 0),
		.depth = htobe16(RECVS), .auth = key && strcmp(how, "noauth"),
		.nonce = "as random as any",
	};
	snprintf(hello->from, sizeof(hello->from), "%s", from);
	snprintf(hello->to, sizeof(hello->to), "%s",
		 strcmp(how, "to") ? to : "somebody");
}

static int case_hello(const char *from, const char *to, const char *how)
{
	const struct hello *challenge;
	struct conn *c = resolve();
	struct hello hello;
	uint8_t mac[32];

	fill_hello(&hello, from, to, how);
	hello.qpn = htobe32(c->id->qp->qp_num);
	if (!connect_control(c))
		return 0;
	send_message(c, HELLO, &hello, sizeof(hello));
	challenge = receive(c, CHALLENGE);
	if (!challenge)
		return 0;
	sign("tally initiator", &hello, challenge, mac);
	if (!strcmp(how, "prove"))
		mac[31] ^= 1;
	if (!strcmp(how, "twice")) {
		c = resolve();
		if (!connect_control(c))
			return 0;
		send_message(c, HELLO, &hello, sizeof(hello));
		if (!receive(c, CHALLENGE))
			return 0;
	}
	send_message(c, PROVE, mac, sizeof(mac));
	if (receive(c, READY))
		puts("ready");
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 3 ? argv[3] : "";

	if (argc < 5 || inet_pton(AF_INET, argv[1], &address.sin_addr) != 1) {
		fprintf(stderr, "usage: see the head of %s.c\n", argv[0]);
		return 2;
	}
	address.sin_port = htons(atoi(argv[2]));
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(what, "request"))
		return case_request(argv[4]);
	if (!strcmp(what, "lane"))
		return case_lane(argv[4]);
	if (!strcmp(what, "raw"))
		return case_raw(argv[4]);
	if (!strcmp(what, "hello") && argc > 5) {
		key = NULL;
		if (argc > 6 && *argv[6])
			key = argv[6];
		if (argc > 7)
			return case_hello(argv[4], argv[5], argv[7]);
		return case_hello(argv[4], argv[5], "");
	}
	return 2;
}
