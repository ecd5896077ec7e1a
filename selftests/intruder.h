/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A session of a peer in user space: by the book, but for what chance spoils
 * while @fuzzing.
 */
#ifndef INTRUDER_H
#define INTRUDER_H

#include "visitor.h"

#define SLOTS	48
#define TABLE	(1 << 20)
#define BODY	(SIZE - sizeof(struct header))

enum {
	ACTIVE = 5, ACTIVE_ACK, GOODBYE = 16, RENEW = 18, RENEW_ACK, REPLY,
	ATTACH = 32, OPEN, CLOSE, LIST, COUNTER, REGION_MAP, WHO,
	REGION_ZERO, STAT, LAST_REQUEST = 41,
	FORGET = 64, FORGOTTEN, LOCK, RESYNC,
};

enum { TYPE_COUNTER = 1, TYPE_LOCK, TYPE_REGION };

struct rep_attach {
	uint32_t status, zero, arena, rkey;
	uint64_t addr;
	uint32_t words;
	uint8_t mode, path, access, reserved;
} __attribute__((packed));

struct rep_open {
	uint32_t status, zero, object, generation;
	uint64_t size;
	uint32_t word, mrs, mr_bytes;
	uint8_t type, lock_class, reserved[6];
	uint64_t lock_last;
} __attribute__((packed));

struct rep_stat {
	uint32_t status, zero, uid, gid, perm, reserved;
	uint64_t changed;
} __attribute__((packed));

struct entry {
	uint32_t id;
	uint8_t type, reserved[3];
	char name[64];
} __attribute__((packed));

struct rep_list {
	uint32_t status, zero, count, next;
	struct entry entry[3];
} __attribute__((packed));

struct rep_map {
	uint32_t status, zero, count, mr_bytes;
	struct { uint64_t addr; uint32_t rkey, reserved; } mr[2];
} __attribute__((packed));

struct rep_who {
	uint32_t status, zero;
	uint8_t state, mode, reserved[2];
	uint32_t pid;
	uint64_t age_ms, lease_ms;
	char comm[16];
} __attribute__((packed));

struct object {
	uint32_t arena, object, generation, reserved;
} __attribute__((packed));

struct lock {
	struct object object;
	uint8_t type, mode, flags, reserved[5];
	uint64_t gen, pass, last, next_gen, next_session;
	char next[64];
} __attribute__((packed));

struct counter {
	struct object object;
	uint8_t op, reserved[7];
	uint64_t value, compare;
} __attribute__((packed));

/* A message as it came. */
struct message {
	struct header header;
	uint8_t body[BODY];
	uint32_t len;
} __attribute__((packed));

/* A session and its link. */
struct link {
	struct conn *control, *lane;
	struct ibv_mr *table;
	uint64_t session;
	uint16_t slot;
	uint32_t seq[SLOTS], asked[SLOTS];
	uint32_t consumed, sent, first, count;
	struct message in[64];
	bool closed, live, silent, resumed;
};

/* What the node told about its arena "t". */
struct its {
	uint32_t arena, rkey, words, id[3], gen[3];
	uint64_t addr, granted;
};

/* Memory that others reach. */
extern uint8_t table[TABLE];
extern const char *from, *to;
extern uint64_t incarnation, chance;
extern bool fuzzing, resuming;
/* It says that all lanes are up before they are. */
extern bool hasty;
extern struct its its;
extern unsigned int sessions;
/* The node's slot here, as it is told. */
extern uint16_t its_slot;

uint32_t rnd(uint32_t n);
/* Once in so many times, while fuzzing. */
bool one_in(uint32_t n);
/* Numbers that programs stumble over. */
uint64_t odd(void);
void scramble(void *data, uint32_t len);
/* What came and what was sent. */
void look(struct link *l, int ms);
void transmit(struct link *l, uint16_t type, uint16_t req, uint32_t seq,
	      const void *body, uint32_t len);
/* Sometimes it is not what it should be. */
void transmit_odd(struct link *l, uint16_t type, uint16_t req, uint32_t seq,
		  void *body, uint32_t len);
void say_active(struct link *l, uint16_t slot);
/* By the book, up to READY. */
bool greet(struct link *l, uint8_t session_key[32]);
/* One more lane; @req is what was sent. NULL: it is refused, and said so. */
struct conn *lane_open(struct link *l, const uint8_t *session_key,
		       struct request *req);
/* By the book, up to a session that is about to be live. */
bool join(struct link *l);
void leave(struct link *l);
/* nonsense.c: one of all the things there are to say. */
void say_anything(struct link *l);

#endif
