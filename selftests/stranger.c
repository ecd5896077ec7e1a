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
 *				prove (wrong proof), noauth, epoch (one that is
 *				none), relay (a HELLO of another queue pair),
 *				twice (the first handshake's messages are sent
 *				again on a second connection)
 *	steal FROM TO PORT [SESSION [KEY]]
 *				a handshake in the name of a node that is asked, at
 *				that port, which start of it this is; to go on with
 *				that session, "resumed" says that it does
 *	silent FROM TO SECONDS	HELLO in a node's name, then nothing; again as soon
 *				as that is given up
 *	flood FROM TO SECONDS	all of this, and nonsense, as fast as it goes
 *	answer PORT FROM TO HOW	waits to be connected to, and answers as node FROM,
 *				which node TO takes it for; HOW: good, epoch,
 *				relay, slot, far, lanes, lease, resumed, session,
 *				mac, taken (the session that HELLO names goes on),
 *				refuse (with a sentence for terminals), or the id of
 *				a session; "lane" says that it was believed
 *	targets N		so many connections to the benchmark's target,
 *				and what happens with the first one
 */
#include <arpa/inet.h>
#include <endian.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "visitor.h"

/* FAR_MAGIC of kmod/bench/far.c */
#define BENCH_MAGIC	0x74626e63

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

/* CHALLENGE, or NULL: how it was answered is said. */
static const struct hello *say_hello(struct conn *c, struct hello *hello)
{
	if (!connect_control(c))
		return NULL;
	send_message(c, HELLO, hello, sizeof(*hello));
	return receive(c, CHALLENGE);
}

static int case_hello(const char *from, const char *to, const char *how,
		      uint64_t incarnation, uint64_t resume)
{
	const struct hello *challenge;
	const struct ready *ready;
	struct conn *c = resolve();
	struct prove prove = {};
	struct hello hello;

	fill_hello(&hello, from, to, how);
	hello.qpn = htobe32(c->id->qp->qp_num ^ !strcmp(how, "relay"));
	if (incarnation)
		hello.incarnation = incarnation;
	hello.resume = htobe64(resume);
	challenge = say_hello(c, &hello);
	if (!challenge)
		return 0;
	sign("tally initiator", &hello, challenge, prove.mac);
	/* All that others than the two of a session have. */
	if (resume)
		sign("tally resume", &hello, challenge, prove.resume);
	if (!strcmp(how, "prove"))
		prove.mac[31] ^= 1;
	if (!strcmp(how, "twice")) {
		c = resolve();
		if (!connect_control(c))
			return 0;
		send_message(c, HELLO, &hello, sizeof(hello));
		if (!receive(c, CHALLENGE))
			return 0;
	}
	send_message(c, PROVE, &prove, sizeof(prove));
	ready = receive(c, READY);
	if (ready)
		puts(ready->resumed ? "resumed" : "ready");
	return 0;
}

/* @more: what follows the names. */
static int case_steal(const char *from, const char *to, char **more)
{
	const struct hello *challenge;
	uint16_t there = address.sin_port;
	uint64_t resume = 0;
	struct conn *c;
	struct hello hello;

	address.sin_port = htons(atoi(more[0]));
	key = NULL;
	if (more[1]) {
		resume = strtoull(more[1], NULL, 16);
		key = more[2];
	}
	c = resolve();
	fill_hello(&hello, to, from, "");
	hello.qpn = htobe32(c->id->qp->qp_num);
	challenge = say_hello(c, &hello);
	if (!challenge)
		return 1;
	address.sin_port = there;
	return case_hello(from, to, "", challenge->incarnation, resume);
}

static int case_silent(const char *from, const char *to, int seconds)
{
	time_t end = time(NULL) + seconds;
	struct hello hello;
	struct conn *c;

	while (time(NULL) < end) {
		c = resolve();
		fill_hello(&hello, from, to, "");
		hello.qpn = htobe32(c->id->qp->qp_num);
		if (say_hello(c, &hello)) {
			puts("challenged");
			receive(c, READY);
		}
		drop(c);
	}
	return 0;
}

/* One of all the ways to waste a node's time; some connections are kept. */
static void annoy(const char *from, const char *to, struct conn **kept)
{
	struct request req = {
		.magic = htobe32(MAGIC), .version = htobe16(1),
		.kind = 1 + rand() % 2,
	};
	struct conn *c = resolve();
	struct hello hello;
	uint8_t bytes[SIZE];
	int i, n = 1 + rand() % SIZE;

	for (i = 0; i < SIZE; i++)
		bytes[i] = rand();
	if (req.kind == 2) {
		memcpy(&req.session, bytes, sizeof(req.session));
		memcpy(req.tag, bytes, sizeof(req.tag));
		req.lane = rand() % 5;
	}
	fill_hello(&hello, rand() % 4 ? from : "nobody", to,
		   rand() % 4 ? "" : "lease");
	hello.qpn = htobe32(c->id->qp->qp_num);
	if (connect_with(c, &req, sizeof(req))) {
		if (rand() % 3)
			send_message(c, HELLO, &hello, sizeof(hello));
		else
			send_bytes(c, bytes, n);
		if (rand() % 2 && receive(c, CHALLENGE))
			send_message(c, PROVE, bytes, sizeof(struct prove));
	}
	drop(*kept);
	*kept = c;
}

static int case_flood(const char *from, const char *to, int seconds)
{
	time_t end = time(NULL) + seconds;
	struct conn *kept[16] = {};
	unsigned int n;

	for (n = 0; time(NULL) < end; n++)
		annoy(from, to, &kept[n % 16]);
	printf("annoyed %u times\n", n);
	return 0;
}

/* What the home signs. */
static const uint8_t *ready_text(const struct ready *ready)
{
	static uint8_t text[60];

	memcpy(text, "tally ready", 12);
	memcpy(text + 12, ready, 48);
	return text;
}

static void lie(struct ready *ready, const char *how)
{
	if (!strcmp(how, "slot"))
		ready->slot = htobe16(1);
	else if (!strcmp(how, "far"))
		ready->slot = htobe16(4096);
	else if (!strcmp(how, "lanes"))
		ready->lanes = 5;
	else if (!strcmp(how, "lease"))
		ready->lease_ms = htobe32(0xffffffff);
	else if (!strcmp(how, "resumed") || !strcmp(how, "taken"))
		ready->resumed = 1;
	else if (!strcmp(how, "session"))
		ready->session = 0;
	else if (!strncmp(how, "0x", 2))
		ready->session = htobe64(strtoull(how, NULL, 0));
	if (!HMAC(EVP_sha256(), ready->key, 32, ready_text(ready), 60,
		  ready->mac, NULL))
		die("HMAC");
	if (!strcmp(how, "mac"))
		ready->mac[0] ^= 1;
}

static int case_answer(uint16_t port, const char *from, const char *to,
		       const char *how)
{
	struct ready ready = { .session = htobe64(4711), .slot = htobe16(2),
			       .lanes = 1, .key = "session" };
	struct refuse refuse = { .reason = htobe16(8), .version = htobe16(1),
				 .text = "e\033[31mvil\n\377" };
	struct conn *c = await(port);
	const struct hello *said;
	struct hello hello;

	said = receive(c, HELLO);
	if (!said)
		return 0;
	if (!strcmp(how, "refuse")) {
		send_message(c, REFUSE, &refuse, sizeof(refuse));
		receive(c, HELLO);
		return 0;
	}
	fill_hello(&hello, from, to, how);
	hello.qpn = htobe32(c->id->qp->qp_num ^ !strcmp(how, "relay"));
	ready.lease_ms = said->lease_ms;
	if (!strcmp(how, "taken"))
		ready.session = said->resume;
	hello.lease_ms = said->lease_ms;
	send_message(c, CHALLENGE, &hello, sizeof(hello));
	if (!receive(c, PROVE))
		return 0;
	lie(&ready, how);
	send_message(c, READY, &ready, sizeof(ready));
	receive(c, HELLO);
	return 0;
}

static int case_targets(int n)
{
	uint32_t request[2] = { htobe32(BENCH_MAGIC) };
	struct conn *c, *first = NULL;
	struct rdma_cm_event *event;
	int i;

	for (i = 0; i < n; i++) {
		c = resolve();
		if (!connect_with(c, request, sizeof(request)))
			break;
		if (!first)
			first = c;
	}
	event = first ? next_event(first, WAIT_MS) : NULL;
	printf("%d accepted, the first: %s\n", i,
	       event ? rdma_event_str(event->event) : "stands");
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
	if (!strcmp(what, "targets"))
		return case_targets(atoi(argv[4]));
	if (!strcmp(what, "hello") && argc > 5) {
		key = NULL;
		if (argc > 6 && *argv[6])
			key = argv[6];
		if (argc > 7)
			return case_hello(argv[4], argv[5], argv[7], 0, 0);
		return case_hello(argv[4], argv[5], "", 0, 0);
	}
	if (!strcmp(what, "steal") && argc > 6)
		return case_steal(argv[4], argv[5], &argv[6]);
	if (!strcmp(what, "silent") && argc > 6)
		return case_silent(argv[4], argv[5], atoi(argv[6]));
	if (!strcmp(what, "flood") && argc > 6)
		return case_flood(argv[4], argv[5], atoi(argv[6]));
	if (!strcmp(what, "answer") && argc > 7)
		return case_answer(atoi(argv[4]), argv[5], argv[6], argv[7]);
	return 2;
}
