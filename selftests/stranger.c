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
 *	targets N		so many connections to the benchmark's target,
 *				and what happens with the first one
 */
#include <arpa/inet.h>
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
			return case_hello(argv[4], argv[5], argv[7]);
		return case_hello(argv[4], argv[5], "");
	}
	return 2;
}
