// SPDX-License-Identifier: GPL-2.0
/*
 * hostile ADDRESS PORT FROM TO CASE [ARGUMENT...]: a peer that is what it says
 * until its session is live, and then is not what it should be.  It has an
 * arena "e" with a counter "c", a lock "l" and a region "r" for those that ask,
 * and uses arena "t" of the node with objects of the same names.  Cases:
 *
 *	home		answers everything as it should, until it is killed
 *	mute		answers nothing that it is asked, and keeps its lease
 *	status N	answers what is asked about a region with that errno
 *	layout		as "home" until a region's keys are asked for; comes
 *			back with a region that is made of nothing
 *	slot N		calls itself live again, with that node slot
 *	moves N		breaks off as soon as it is live, and resumes its session
 *			with that node slot; it had 2; in haste
 *	flood		asks for renewals for ever and never says that it took
 *			an answer
 *	early		deletes what it never had while an OPEN waits
 *	lists		lists arena "t", again and again, and says each time what it
 *			was answered; never answers that it is to forget it
 *	withdraws	says without end that rights have changed, in an arena that it
 *			never had; says "forgotten" for each answer
 *	endless		has more names in its arena than anybody can take
 *	who N...	takes lock "w" of arena "t", says "granted", and answers
 *			who has it with so many bytes, the last number from then
 *			on: 48 are right, 8 are that it does not know, with 0 it
 *			says nothing
 *	reopen FIFO	takes lock "w" of arena "t", says "granted", waits for a
 *			writer of FIFO, and opens it again and closes it in one
 *			breath while it has it
 *	resync N	takes lock "w" of arena "t", says so many times that all
 *			has been listed, and "set" for each answer, then "heard"
 *	lanes N		so many lanes of one number, each with its proof, and then
 *			the proof of the first one; says what became of them
 *	hoard		opens region "r" of arena "t", says "open", and never
 *			answers that it is to be forgotten; resumes its sessions
 *	evade MS [AWAY]	likewise, says "told" when it is told to forget something,
 *			breaks off MS later, and is away for AWAY more, each time
 *	again		attaches to arena "n", says "attached", attaches to it again,
 *			and says with which status
 *	sessions	takes lock "wa" of arena "t", breaks off, comes back as
 *			another start of its node and takes "wb", and so on
 *	forge TYPE ARENA OBJECT GEN SESSION
 *			says a lock message of that type, about a lock that it has
 *			not open: generation GEN, for a HANDOVER (33) in SESSION
 *	forge TYPE GEN	waits for lock "w" of arena "f", and says of its generation
 *			GEN, which it may be announced for, what a holder says
 *	fuzz SEED SECONDS
 *			all messages with all bodies, good ones and bad ones
 *
 * "live" says that the session is, "closed" with a number of messages sent
 * that it ended; all but fuzz come back then.  TALLY_SECRET in the environment is
 * the key.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "intruder.h"

static const char *how, *argument = "0";
static char **lengths;
static bool takes;	/* lock "w" */
static bool hoards, evades, multiplies, lists;
static long told;	/* when it was told to forget, or 0; in milliseconds */
static long away;
static int resyncs;
static const uint8_t arena_name[64] = "n";
static char **forged;	/* what follows "forge" */

static uint32_t wire(uint32_t n)
{
	return htobe32(one_in(100) ? odd() : n);
}

static uint32_t answer_status(bool region)
{
	if (region && !strcmp(how, "status"))
		return htobe32(atoi(argument));
	return one_in(40) ? htobe32(rnd(5) ? rnd(140) : odd()) : 0;
}

static uint32_t answer_attach(struct link *l, const struct message *m,
			      void *reply)
{
	struct rep_attach *rep = reply;
	bool direct = !one_in(3);

	if (m->body[0] != 'e') {
		rep->status = htobe32(ENOENT);
		return 8;
	}
	*rep = (struct rep_attach) {
		.status = answer_status(false), .arena = wire(1),
		.words = wire(65536), .mode = direct || rnd(2) ? 1 : 2,
		.path = direct ? 1 : 2, .access = one_in(9) ? 1 : 2,
	};
	if (direct) {
		rep->rkey = wire(l->table->rkey);
		rep->addr = htobe64((uintptr_t)table);
	}
	return sizeof(*rep);
}

static uint32_t answer_open(const struct message *m, void *reply)
{
	static const char names[] = "clr";
	const char *at = memchr(names, m->body[8], 3);
	int type = at ? at - names + 1 : 0;
	bool region = type == TYPE_REGION;
	struct rep_open *rep = reply;

	*rep = (struct rep_open) {
		.status = at ? answer_status(false) : htobe32(ENOENT),
		.object = wire(type), .generation = wire(1),
		.word = wire(type * 16), .type = type,
	};
	if (region) {
		rep->size = htobe64(one_in(20) ? odd() : 65536);
		rep->mr_bytes = wire(32768);
		rep->mrs = wire(2);
	}
	if (region && !strcmp(how, "layout") && sessions > 1) {
		rep->mr_bytes = 0;
		rep->mrs = 0;
	}
	return at ? sizeof(*rep) : 8;
}

static uint32_t answer_list(const struct message *m, void *reply)
{
	struct rep_list *rep = reply;
	bool arenas = !memcmp(m->body, "\0\0\0\0", 4);
	uint32_t i, n = arenas ? 1 : 3, after;

	if (!strcmp(how, "endless") && !arenas) {
		memcpy(&after, m->body + 4, 4);
		*rep = (struct rep_list) { .count = wire(n) };
		for (i = 0; i < n; i++) {
			rep->entry[i] = (struct entry) {
				.id = wire(be32toh(after) + i + 1), .type = 1,
			};
			sprintf(rep->entry[i].name, "n%u", be32toh(after) + i);
		}
		rep->next = rep->entry[n - 1].id;
		return 16 + n * sizeof(rep->entry[0]);
	}

	memset(rep, 0, sizeof(*rep));
	rep->status = answer_status(false);
	if (!memcmp(m->body + 4, "\0\0\0\0", 4))
		rep->count = wire(n);
	else
		n = 0;
	for (i = 0; i < n; i++) {
		rep->entry[i].id = wire(i + 1);
		rep->entry[i].type = arenas ? 0 : i + 1;
		rep->entry[i].name[0] = arenas ? 'e' : "clr"[i];
		if (one_in(30))
			scramble(rep->entry[i].name, 64);
	}
	if (one_in(9))
		rep->next = rep->entry[n ? n - 1 : 0].id;
	return 16 + n * sizeof(rep->entry[0]);
}

static uint32_t answer_stat(const struct message *m, void *reply)
{
	bool arena = !memcmp(m->body + 4, "\0\0\0\0", 4);
	struct rep_stat *rep = reply;

	*rep = (struct rep_stat) {
		.status = answer_status(false),
		.perm = wire(one_in(30) ? odd() : arena ? 0777 : 0666),
		.changed = odd(),
	};
	return sizeof(*rep);
}

static uint32_t answer_map(struct link *l, const struct message *m, void *reply)
{
	struct rep_map *rep = reply;
	uint32_t first, i;

	memcpy(&first, m->body + sizeof(struct object), 4);
	first = be32toh(first) & 1;
	*rep = (struct rep_map) {
		.status = answer_status(true), .count = wire(2 - first),
		.mr_bytes = wire(32768),
	};
	for (i = 0; i < 2 - first; i++) {
		rep->mr[i].addr = htobe64((uintptr_t)table + 65536 +
					  (first + i) * 32768);
		rep->mr[i].rkey = wire(l->table->rkey);
	}
	if (!strcmp(how, "layout") && sessions == 1)
		l->closed = true;
	return 16 + (2 - first) * sizeof(rep->mr[0]);
}

/* A good answer, with a name that is none for a terminal. */
static uint32_t answer_who(void *reply)
{
	struct rep_who *rep = reply;
	uint32_t len = sizeof(*rep);

	*rep = (struct rep_who) {
		.status = answer_status(false), .state = one_in(3) ? rnd(4) : 2,
		.mode = one_in(5) ? rnd(4) : 1, .pid = wire(4711),
		.age_ms = htobe64(one_in(9) ? odd() : 5000),
		.lease_ms = htobe64(one_in(9) ? odd() : 7000),
		.comm = "e\033[31mvil",
	};
	if (lengths) {
		puts("asked");
		len = atoi(*lengths);
		if (lengths[1])
			lengths++;
		rep->status = len == 8 ? htobe32(ENOENT) : 0;
	}
	return len;
}

static void answer(struct link *l, const struct message *m)
{
	uint8_t reply[BODY] = {};
	uint32_t len = 8, zero = 0;

	if (!strcmp(how, "mute"))
		return;
	switch (be16toh(m->header.type)) {
	case ATTACH:
		len = answer_attach(l, m, reply);
		break;
	case OPEN:
		if (!strcmp(how, "early"))
			return;
		len = answer_open(m, reply);
		break;
	case LIST:
		len = answer_list(m, reply);
		break;
	case STAT:
		len = answer_stat(m, reply);
		break;
	case REGION_MAP:
		len = answer_map(l, m, reply);
		break;
	case COUNTER:
		len = 16;
		break;
	case WHO:
		len = answer_who(reply);
		if (!len)
			return;
		break;
	}
	if (memcmp(reply, &zero, 4))
		len = 8;
	if (one_in(50))
		return;
	do
		transmit_odd(l, REPLY, be16toh(m->header.req),
			     be32toh(m->header.seq), reply, len);
	while (one_in(400));
}

/* What the node answered to the requests that learn() made. */
static void learnt(const struct message *m)
{
	const struct rep_attach *attach = (const void *)m->body;
	const struct rep_open *open = (const void *)m->body;
	uint32_t body = m->len - sizeof(m->header);

	if (body == sizeof(*attach) && !attach->status && attach->arena) {
		its.arena = attach->arena;
		its.rkey = be32toh(attach->rkey);
		its.addr = be64toh(attach->addr);
		its.words = be32toh(attach->words);
	} else if (body == sizeof(*open) && !open->status && open->type &&
		   open->type <= 3) {
		its.id[open->type - 1] = open->object;
		its.gen[open->type - 1] = open->generation;
	}
}

/* What only a holder may say; once. */
static void forge(struct link *l)
{
	bool unopened = forged[1] && forged[2];
	uint64_t gen = strtoull(forged[unopened ? 3 : 1], NULL, 0);
	struct lock lock = {
		.object = { its.arena, its.id[1], its.gen[1], 0 },
		.type = atoi(forged[0]), .pass = htobe64(0x1234567),
	};

	if (unopened)
		lock.object = (struct object){
			htobe32(atoi(forged[1])), htobe32(atoi(forged[2])),
			htobe32(1), 0,
		};
	if (lock.type == 33) {
		lock.next_gen = htobe64(gen);
		lock.next_session = htobe64(strtoull(forged[4], NULL, 16));
		lock.last = htobe64(0x7654321);
	} else {
		lock.gen = htobe64(gen);
	}
	transmit(l, LOCK, 0, 0, &lock, sizeof(lock));
	puts("said");
	takes = false;
	forged = NULL;
}

static long milliseconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* One step after the other on the way to a region of the node. */
static void hoard(struct link *l)
{
	uint8_t body[72] = { 't' };

	if (l->resumed)
		return;
	if (!its.arena) {
		transmit(l, ATTACH, 0, 1, body, 64);
	} else if (!its.id[2]) {
		memset(body, 0, sizeof(body));
		memcpy(body, &its.arena, 4);
		body[8] = 'r';
		transmit(l, OPEN, 0, 2, body, sizeof(body));
	} else {
		puts("open");
	}
}

/* The names in an arena of the node, and again when they came. */
static void list(struct link *l)
{
	uint8_t body[64] = { 't' };
	uint32_t len = sizeof(body);

	if (its.arena) {
		memset(body, 0, sizeof(body));
		memcpy(body, &its.arena, 4);
		len = 8;
		usleep(100000);
	}
	transmit(l, its.arena ? LIST : ATTACH, 0, ++l->seq[0], body, len);
}

static void listed(const struct message *m)
{
	const struct rep_list *rep = (const void *)m->body;
	uint32_t body = m->len - sizeof(m->header);

	if (its.arena)
		printf("status %u names %u\n", be32toh(rep->status),
		       body < 16 ? 0 : be32toh(rep->count));
}

/* The same on the way to a lock. */
static void take_lock(struct link *l)
{
	struct lock lock = {
		.object = { its.arena, its.id[1], its.gen[1], 0 },
		.type = 1, .mode = 1,
	};
	uint8_t body[72] = { forged ? 'f' : 't' };

	if (!its.arena) {
		transmit(l, ATTACH, 0, 1, body, 64);
	} else if (!its.id[1]) {
		memset(body, 0, sizeof(body));
		memcpy(body, &its.arena, 4);
		body[8] = 'w';
		if (multiplies)
			body[9] = 'a' + sessions - 1;
		transmit(l, OPEN, 0, 2, body, sizeof(body));
	} else {
		transmit(l, LOCK, 0, 0, &lock, sizeof(lock));
		if (forged)
			forge(l);
	}
}

static void attach_again(struct link *l, const struct message *m)
{
	uint32_t status;

	memcpy(&status, m->body, 4);
	if (be32toh(m->header.seq) == 2) {
		printf("again %u\n", be32toh(status));
	} else if (!status) {
		puts("attached");
		transmit(l, ATTACH, 0, 2, arena_name, sizeof(arena_name));
	}
}

static void granted(struct link *l)
{
	struct object o = { its.arena, its.id[1], its.gen[1], 0 };
	uint8_t body[72] = {};

	puts("granted");
	if (resyncs) {
		while (resyncs--)
			transmit(l, RESYNC, 0, 0, NULL, 0);
		body[0] = 't';
		transmit(l, ATTACH, 2, 1, body, 64);
		resyncs = 0;
		takes = false;
		return;
	}
	if (multiplies) {
		l->closed = true;
		incarnation++;
	}
	if (lengths || multiplies)
		return;
	fclose(fopen(argument, "r") ?: stdin);
	memcpy(body, &its.arena, 4);
	body[8] = 'w';
	transmit(l, OPEN, 1, 1, body, sizeof(body));
	transmit(l, CLOSE, 0, 3, &o, sizeof(o));
	/* Not for ever: it comes back when it was fenced. */
	takes = false;
}

static void handle(struct link *l)
{
	const struct message *m = &l->in[l->first % 64];
	uint16_t type = be16toh(m->header.type);
	uint8_t body[16];

	l->first++;
	l->count--;
	if (type == ACTIVE_ACK && !l->live) {
		l->live = true;
		if (!fuzzing)
			puts("live");
		if (takes)
			take_lock(l);
		else if (hoards)
			hoard(l);
		else if (lists)
			list(l);
		else if (forged)
			forge(l);
		else if (!strcmp(how, "again"))
			transmit(l, ATTACH, 0, 1, arena_name, sizeof(arena_name));
	} else if (type == RENEW && !one_in(200)) {
		memcpy(body, m->body, sizeof(body));
		transmit_odd(l, RENEW_ACK, 0, 0, body, sizeof(body));
	} else if (type == FORGET && evades && !told) {
		told = milliseconds();
		puts("told");
	} else if (type == FORGET && !hoards && !lists && !one_in(3)) {
		memcpy(body, m->body, sizeof(body));
		transmit_odd(l, FORGOTTEN, 0, 0, body, sizeof(body));
	} else if (type == FORGOTTEN && !strcmp(how, "withdraws")) {
		puts("forgotten");
	} else if (type >= ATTACH && type < FORGET) {
		answer(l, m);
	} else if (type == LOCK && m->body[16] == 17) {
		memcpy(&its.granted, m->body + 24, 8);
		if (takes)
			granted(l);
	} else if (type == LOCK && m->body[16] == 24 && !strcmp(how, "resync")) {
		puts("set");
	} else if (type == REPLY) {
		if (!strcmp(how, "resync") && be16toh(m->header.req) == 2)
			puts("heard");
		l->asked[be16toh(m->header.req) % SLOTS] = false;
		if (lists)
			listed(m);
		learnt(m);
		if (takes)
			take_lock(l);
		else if (hoards)
			hoard(l);
		else if (lists)
			list(l);
		else if (!strcmp(how, "again"))
			attach_again(l, m);
	}
}

static void flood(struct link *l)
{
	uint8_t body[16] = {};

	l->silent = true;
	transmit(l, RENEW, 0, 0, body, sizeof(body));
	/* The same again, from where it lies. */
	while (!l->closed && l->control->sending && l->sent % 64) {
		if (l->control->sending < SENDS) {
			post_send(l->control, sizeof(struct header) + 16);
			l->sent++;
		}
		look(l, 0);
	}
}

static void moves(struct link *l)
{
	l->closed = true;
	its_slot = atoi(argument);
}

static void early(struct link *l)
{
	struct object o = { htobe32(1), htobe32(1 + l->sent), htobe32(1), 0 };

	transmit(l, FORGET, 0, 0, &o, sizeof(o));
}

static void withdraw(struct link *l)
{
	struct object o = { htobe32(99), 0, 0, htobe32(1 + l->sent) };

	transmit(l, FORGET, 0, 0, &o, sizeof(o));
}

/* It lives, as far as that is asked. */
static void renew(struct link *l)
{
	static time_t last;
	uint8_t body[16] = {};

	if (time(NULL) == last)
		return;
	last = time(NULL);
	transmit(l, RENEW, 0, 0, body, sizeof(body));
}

/* The lease is as new as it can be when the link breaks. */
static void evade(struct link *l)
{
	uint8_t body[16] = {};

	if (!told || milliseconds() < told + atoi(argument))
		return;
	told = 0;
	transmit(l, RENEW, 0, 0, body, sizeof(body));
	while (!l->closed && l->control->sending)
		look(l, 1);
	l->closed = true;
}

static void act(struct link *l)
{
	if (fuzzing)
		say_anything(l);
	else if (!strcmp(how, "flood"))
		flood(l);
	else if (!strcmp(how, "early"))
		early(l);
	else if (!strcmp(how, "mute") || !strcmp(how, "endless") || hoards)
		renew(l);
	else if (!strcmp(how, "forge"))
		renew(l);
	else if (!strcmp(how, "withdraws"))
		withdraw(l);
	else if (!strcmp(how, "moves"))
		moves(l);
	else if (!strcmp(how, "slot") && l->sent < 3)
		say_active(l, atoi(argument));
	if (evades)
		evade(l);
}

/* Until the session ends. */
static void run(struct link *l, time_t end)
{
	bool busy = fuzzing || !strcmp(how, "flood") || !strcmp(how, "early");

	while (!l->closed && (!end || time(NULL) < end)) {
		look(l, l->live && busy ? 0 : 10);
		while (l->count && !l->closed)
			handle(l);
		if (l->live)
			act(l);
		if (one_in(3000))
			break;
	}
}

static int case_lanes(int n)
{
	struct request req, first;
	uint8_t session_key[32];
	static struct link l;

	if (!greet(&l, session_key) || !lane_open(&l, session_key, &first))
		return 1;
	puts("lane");
	while (n--)
		if (lane_open(&l, session_key, &req))
			puts("lane");
	if (connect_with(resolve(), &first, sizeof(first)))
		puts("lane");
	return 0;
}

int main(int argc, char **argv)
{
	time_t end = 0;
	uint64_t total = 0;
	static struct link l;

	if (argc < 6 || inet_pton(AF_INET, argv[1], &address.sin_addr) != 1) {
		fprintf(stderr, "usage: see the head of %s.c\n", argv[0]);
		return 2;
	}
	address.sin_port = htons(atoi(argv[2]));
	from = argv[3];
	to = argv[4];
	how = argv[5];
	if (argc > 6)
		argument = argv[6];
	if (argc > 6 && !strcmp(how, "who"))
		lengths = &argv[6];
	key = getenv("TALLY_SECRET");
	lists = !strcmp(how, "lists");
	evades = !strcmp(how, "evade");
	away = evades && argc > 7 ? atoi(argv[7]) : 0;
	hoards = evades || !strcmp(how, "hoard");
	hasty = !strcmp(how, "moves");
	resuming = hoards || hasty;
	multiplies = !strcmp(how, "sessions");
	resyncs = strcmp(how, "resync") ? 0 : atoi(argument);
	if (argc > 7 && !strcmp(how, "forge"))
		forged = &argv[6];
	takes = lengths || multiplies || resyncs || !strcmp(how, "reopen") ||
		(forged && argc == 8);
	setvbuf(stdout, NULL, _IOLBF, 0);
	incarnation = 0x1234567 + getpid();
	fuzzing = !strcmp(how, "fuzz") && argc > 7;
	if (fuzzing) {
		chance = strtoull(argument, NULL, 0) * 2654435761 + 1;
		end = time(NULL) + atoi(argv[7]);
	}
	if (!strcmp(how, "lanes"))
		return case_lanes(atoi(argument));
	do {
		if (join(&l))
			run(&l, end);
		else
			usleep(100000);
		if (!fuzzing)
			printf("closed %u\n", l.sent);
		total += l.sent;
		leave(&l);
		usleep(1000 * away);
	} while (!end || time(NULL) < end);
	printf("sessions %u messages %llu\n", sessions,
	       (unsigned long long)total);
	return 0;
}
