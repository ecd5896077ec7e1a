// SPDX-License-Identifier: GPL-2.0
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <openssl/hmac.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "visitor.h"

const char *key;
struct sockaddr_in address = { .sin_family = AF_INET };

void die(const char *what)
{
	fprintf(stderr, "stranger: %s: %s\n", what, strerror(errno));
	exit(1);
}

void must(int err, const char *what)
{
	if (err)
		die(what);
}

/* The next CM event, or NULL when time is over. */
struct rdma_cm_event *next_event(struct conn *c, int ms)
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

void post_recv(struct conn *c, int i)
{
	struct ibv_sge sge = { (uintptr_t)c->buf[i], SIZE, c->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	must(ibv_post_recv(c->id->qp, &wr, &bad), "ibv_post_recv");
}

static struct conn *begin(void)
{
	struct conn *c = calloc(1, sizeof(*c));

	if (!c)
		die("memory");
	c->channel = rdma_create_event_channel();
	if (!c->channel)
		die("rdma_create_event_channel");
	must(rdma_create_id(c->channel, &c->id, c, RDMA_PS_TCP),
	     "rdma_create_id");
	return c;
}

/* Its device is known. */
static void equip(struct conn *c)
{
	struct ibv_qp_init_attr attr = {
		.cap = { SENDS, RECVS, 1, 1, 0 }, .qp_type = IBV_QPT_RC,
	};
	int i;

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
}

struct conn *resolve(void)
{
	struct conn *c = begin();

	must(rdma_resolve_addr(c->id, NULL, (struct sockaddr *)&address, 5000),
	     "rdma_resolve_addr");
	expect(c, RDMA_CM_EVENT_ADDR_RESOLVED);
	must(rdma_resolve_route(c->id, 5000), "rdma_resolve_route");
	expect(c, RDMA_CM_EVENT_ROUTE_RESOLVED);
	equip(c);
	return c;
}

struct conn *await(uint16_t port)
{
	struct sockaddr_in any = { .sin_family = AF_INET,
				   .sin_port = htons(port) };
	struct rdma_conn_param param = {
		.responder_resources = 1, .initiator_depth = 1,
		.rnr_retry_count = 6,
	};
	struct conn *c = begin();
	struct rdma_cm_event *event;

	must(rdma_bind_addr(c->id, (struct sockaddr *)&any), "rdma_bind_addr");
	must(rdma_listen(c->id, 8), "rdma_listen");
	event = next_event(c, WAIT_MS);
	if (!event || event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		die("nobody connects");
	/* The one that listens ends with the process. */
	c->id = event->id;
	rdma_ack_cm_event(event);
	equip(c);
	must(rdma_accept(c->id, &param), "rdma_accept");
	expect(c, RDMA_CM_EVENT_ESTABLISHED);
	return c;
}

void drop(struct conn *c)
{
	if (!c)
		return;
	rdma_disconnect(c->id);
	rdma_destroy_qp(c->id);
	ibv_dereg_mr(c->mr);
	ibv_destroy_cq(c->cq);
	ibv_dealloc_pd(c->pd);
	rdma_destroy_id(c->id);
	rdma_destroy_event_channel(c->channel);
	free(c);
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
bool connect_with(struct conn *c, const void *data, uint8_t len)
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

bool connect_control(struct conn *c)
{
	struct request req = {
		.magic = htobe32(MAGIC), .version = htobe16(1), .kind = 1,
	};

	return connect_with(c, &req, sizeof(req));
}

void post_send(struct conn *c, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)c->buf[RECVS], len, c->mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = RECVS, .sg_list = &sge, .num_sge = 1,
		.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_send_wr *bad;

	must(ibv_post_send(c->id->qp, &wr, &bad), "ibv_post_send");
	c->sending++;
}

void send_bytes(struct conn *c, const void *data, uint32_t len)
{
	memcpy(c->buf[RECVS], data, len);
	post_send(c, len);
}

void send_message(struct conn *c, uint16_t type, const void *body,
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
const void *receive(struct conn *c, uint16_t type)
{
	time_t end = time(NULL) + WAIT_MS / 1000;
	const struct refuse *refuse;
	const struct request *asked;
	struct rdma_cm_event *event;
	bool is_closed = false, is_lane = false;
	struct header *header;
	struct ibv_wc wc;

	while (time(NULL) < end) {
		if (ibv_poll_cq(c->cq, 1, &wc) < 1) {
			if (is_closed)
				break;
			/* What came before the end is looked at first. */
			event = next_event(c, 2);
			if (!event)
				continue;
			is_closed = true;
			asked = event->param.conn.private_data;
			is_lane = event->event == RDMA_CM_EVENT_CONNECT_REQUEST &&
				  asked && asked->kind == 2;
			rdma_ack_cm_event(event);
			continue;
		}
		if (wc.status != IBV_WC_SUCCESS) {
			is_closed = true;
			break;
		}
		if (wc.opcode != IBV_WC_RECV) {
			c->sending--;
			continue;
		}
		header = (void *)c->buf[wc.wr_id];
		if (be16toh(header->type) == CREDIT)
			continue;
		if (be16toh(header->type) == type)
			return header + 1;
		refuse = (void *)(header + 1);
		if (be16toh(header->type) == REFUSE)
			printf("refused %u\n", be16toh(refuse->reason));
		else
			printf("message %u\n", be16toh(header->type));
		return NULL;
	}
	puts(is_lane ? "lane" : is_closed ? "closed" : "nothing");
	return NULL;
}

void sign_with(const void *with, size_t len, const char *label,
	       const struct hello *a, const struct hello *b, uint8_t mac[32])
{
	size_t label_len = strlen(label) + 1;
	size_t part = offsetof(struct hello, mac);
	uint8_t text[2 * sizeof(*a) + 32];

	memcpy(text, label, label_len);
	memcpy(text + label_len, a, part);
	memcpy(text + label_len + part, b, part);
	if (!HMAC(EVP_sha256(), with, len, text, label_len + 2 * part, mac,
		  NULL))
		die("HMAC");
}

void sign(const char *label, const struct hello *a, const struct hello *b,
	  uint8_t mac[32])
{
	memset(mac, 0, 32);
	if (key)
		sign_with(key, strlen(key), label, a, b, mac);
}

void make_secret(const uint8_t session_key[32], uint8_t secret[32])
{
	static const uint8_t label[] = "tally secret";

	if (!HMAC(EVP_sha256(), session_key, 32, label, sizeof(label), secret,
		  NULL))
		die("HMAC");
}

void sign_lane(struct request *req, const uint8_t session_key[32],
	       uint32_t qpn)
{
	uint8_t text[11 + 8 + 1 + 16 + 4], mac[32];
	uint32_t number = htobe32(qpn);

	memcpy(text, "tally lane", 11);
	memcpy(text + 11, &req->session, 8);
	text[19] = req->lane;
	memcpy(text + 20, req->nonce, 16);
	memcpy(text + 36, &number, 4);
	if (!HMAC(EVP_sha256(), session_key, 32, text, sizeof(text), mac, NULL))
		die("HMAC");
	memcpy(req->tag, mac, sizeof(req->tag));
}

void fill_hello(struct hello *hello, const char *from, const char *to,
		const char *how)
{
	*hello = (struct hello) {
		.version = htobe16(strcmp(how, "version") ? 1 : 2),
		.abi = strcmp(how, "abi") ? 1 : 2, .lanes = 1,
		.features = htobe32(3), .incarnation = htobe64(0x1234567 + getpid()),
		.lease_ms = htobe32(strcmp(how, "lease") ? 20000 : 0),
		.epoch = htobe64(strcmp(how, "epoch") ? 0 : 1 << 14),
		.depth = htobe16(RECVS), .auth = key && strcmp(how, "noauth"),
		.nonce = "as random as any",
	};
	snprintf(hello->from, sizeof(hello->from), "%s", from);
	snprintf(hello->to, sizeof(hello->to), "%s",
		 strcmp(how, "to") ? to : "somebody");
}
