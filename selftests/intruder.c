// SPDX-License-Identifier: GPL-2.0
#include <endian.h>
#include <string.h>
#include "intruder.h"

uint8_t table[TABLE] __attribute__((aligned(4096)));
const char *from, *to;
uint64_t incarnation, chance = 1;
bool fuzzing, resuming, hasty;
struct its its;
unsigned int sessions;
uint16_t its_slot = 2;

uint32_t rnd(uint32_t n)
{
	chance ^= chance << 13;
	chance ^= chance >> 7;
	chance ^= chance << 17;
	return (chance >> 11) % n;
}

bool one_in(uint32_t n)
{
	return fuzzing && !rnd(n);
}

/* Numbers that programs stumble over. */
uint64_t odd(void)
{
	static const uint64_t numbers[] = {
		0, 1, 2, 3, 7, 16, 4095, 4096, 0x7fffffff, 0x80000000,
		0xffffffff, 1ULL << 40, 1ULL << 63, ~0ULL,
	};

	return numbers[rnd(sizeof(numbers) / sizeof(numbers[0]))] + rnd(2);
}

void scramble(void *data, uint32_t len)
{
	uint32_t n = 1 + rnd(4);

	while (len && n--)
		((uint8_t *)data)[rnd(len)] = rnd(2) ? odd() : rnd(256);
}

static void take(struct link *l, struct conn *c, const struct ibv_wc *wc)
{
	struct message *m = &l->in[(l->first + l->count) % 64];

	if (wc->opcode != IBV_WC_RECV) {
		c->sending--;
		return;
	}
	if (l->count < 64) {
		memcpy(m, c->buf[wc->wr_id], wc->byte_len);
		m->len = wc->byte_len;
		l->count++;
	}
	post_recv(c, wc->wr_id);
	if (!l->silent)
		l->consumed++;
}

void look(struct link *l, int ms)
{
	struct conn *c = l->control;
	struct rdma_cm_event *event;
	struct ibv_wc wc;

	if (ibv_poll_cq(c->cq, 1, &wc) == 1) {
		if (wc.status == IBV_WC_SUCCESS)
			take(l, c, &wc);
		else
			l->closed = true;
		return;
	}
	event = next_event(c, ms);
	if (!event)
		return;
	l->closed |= event->event == RDMA_CM_EVENT_DISCONNECTED;
	rdma_ack_cm_event(event);
}

void transmit(struct link *l, uint16_t type, uint16_t req, uint32_t seq,
	      const void *body, uint32_t len)
{
	uint8_t bytes[SIZE] = {};
	struct header *header = (void *)bytes;

	header->type = htobe16(type);
	header->len = htobe32(sizeof(*header) + len);
	header->credit = htobe32(l->consumed);
	header->req = htobe16(req);
	header->slot = htobe16(l->slot);
	header->seq = htobe32(seq);
	header->session = htobe64(l->session);
	memcpy(header + 1, body, len);
	if (one_in(400))
		scramble(header, sizeof(*header));
	/* An answer may overtake the completion of its question. */
	while (l->control->sending && !l->closed)
		look(l, 1);
	if (l->closed)
		return;
	l->sent++;
	send_bytes(l->control, bytes, sizeof(*header) + len);
}

/* Sometimes it is not what it should be. */
void transmit_odd(struct link *l, uint16_t type, uint16_t req, uint32_t seq,
		  void *body, uint32_t len)
{
	uint8_t bytes[BODY] = {};

	memcpy(bytes, body, len);
	if (one_in(300))
		scramble(bytes, len);
	if (one_in(500))
		len = rnd(BODY + 1);
	transmit(l, type, req, seq, bytes, len);
}

struct conn *lane_open(struct link *l, const uint8_t *session_key,
		       struct request *req)
{
	struct conn *c = resolve();

	*req = (struct request) {
		.magic = htobe32(MAGIC), .version = htobe16(1), .kind = 2,
		.session = htobe64(l->session), .nonce = "by the book",
	};
	sign_lane(req, session_key, c->id->qp->qp_num);
	if (connect_with(c, req, sizeof(*req)))
		return c;
	drop(c);
	return NULL;
}

void say_active(struct link *l, uint16_t slot)
{
	uint8_t body[8] = {};
	uint16_t wire = htobe16(slot);

	memcpy(body, &wire, sizeof(wire));
	transmit(l, ACTIVE, 0, 0, body, sizeof(body));
}

bool greet(struct link *l, uint8_t session_key[32])
{
	uint64_t former = resuming ? l->session : 0;
	static uint8_t secret[32];
	const struct hello *challenge;
	const struct ready *ready;
	struct prove prove = {};
	struct hello hello;

	memset(l, 0, sizeof(*l));
	/* One that is refused tries again. */
	l->session = former;
	memset(&its, 0, sizeof(its));
	l->control = resolve();
	fill_hello(&hello, from, to, "");
	hello.incarnation = htobe64(incarnation);
	hello.resume = htobe64(former);
	hello.lease_ms = htobe32(600000);	/* the other side's counts */
	hello.qpn = htobe32(l->control->id->qp->qp_num);
	if (!connect_control(l->control))
		return false;
	send_message(l->control, HELLO, &hello, sizeof(hello));
	challenge = receive(l->control, CHALLENGE);
	if (!challenge)
		return false;
	sign("tally initiator", &hello, challenge, prove.mac);
	if (former)
		sign_with(secret, sizeof(secret), "tally resume", &hello,
			  challenge, prove.resume);
	send_message(l->control, PROVE, &prove, sizeof(prove));
	ready = receive(l->control, READY);
	if (!ready)
		return false;
	l->session = be64toh(ready->session);
	l->slot = be16toh(ready->slot);
	l->resumed = ready->resumed;
	memcpy(session_key, ready->key, sizeof(ready->key));
	if (l->resumed)
		sign_with(secret, sizeof(secret), "tally session", &hello,
			  challenge, session_key);
	else if (key)
		sign("tally session", &hello, challenge, session_key);
	if (!l->resumed)
		make_secret(session_key, secret);
	/* CHALLENGE and READY came in the first two. */
	post_recv(l->control, 0);
	post_recv(l->control, 1);
	l->consumed = 2;
	sessions++;
	return true;
}

bool join(struct link *l)
{
	uint8_t session_key[32];
	struct request req;

	if (!greet(l, session_key))
		return false;
	if (hasty)
		say_active(l, its_slot);
	l->lane = lane_open(l, session_key, &req);
	if (!l->lane)
		return false;
	l->table = ibv_reg_mr(l->lane->pd, table, TABLE,
			      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
			      IBV_ACCESS_REMOTE_WRITE |
			      IBV_ACCESS_REMOTE_ATOMIC);
	if (!l->table)
		die("ibv_reg_mr");
	if (!hasty)
		say_active(l, its_slot);
	return true;
}

void leave(struct link *l)
{
	if (l->table)
		ibv_dereg_mr(l->table);
	drop(l->lane);
	drop(l->control);
}
