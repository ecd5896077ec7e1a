// SPDX-License-Identifier: GPL-2.0
/* Messages that are mostly well formed, and mostly make no sense. */
#include <endian.h>
#include <string.h>
#include "intruder.h"

static void request(struct link *l, uint16_t type, void *body, uint32_t len)
{
	uint16_t slot = rnd(SLOTS);
	uint32_t seq;

	if (l->asked[slot] && !one_in(300))
		return;
	l->asked[slot] = true;
	seq = ++l->seq[slot];
	if (one_in(300))
		seq += rnd(3) - 1;
	transmit_odd(l, type, one_in(300) ? odd() : slot, seq, body, len);
}

/* An object of ours or of the node's, in wire order. */
static struct object some_object(bool ours)
{
	uint32_t i = rnd(3);
	struct object o = { its.arena, its.id[i], its.gen[i], 0 };

	if (ours)
		o = (struct object) { htobe32(1), htobe32(i + 1), htobe32(1),
				      0 };
	if (one_in(60))
		o.object = htobe32(odd());
	if (one_in(60))
		o.generation = htobe32(odd());
	if (one_in(60))
		o.arena = htobe32(odd());
	if (one_in(40)) {
		o.object = 0;
		o.generation = 0;
	}
	return o;
}

static void say_lock(struct link *l)
{
	static const uint8_t client[] = { 1, 1, 2, 3, 5 }, home[] = { 17, 17, 19,
		20, 21, 23 }, flags[] = { 0x40, 0x80, 1, 2, 3, 0 };
	bool ours = rnd(2) || !its.id[1];
	struct lock lock = { .object = some_object(ours), .mode = 1 };

	if (rnd(30)) {	/* mostly of a lock */
		lock.object.object = ours ? htobe32(2) : its.id[1];
		lock.object.generation = ours ? htobe32(1) : its.gen[1];
	}
	lock.type = ours ? home[rnd(6)] : client[rnd(5)];
	if (one_in(60))
		lock.type = rnd(40);
	if (lock.type == 1 || one_in(60))
		lock.flags = lock.type == 1 ? rnd(2) : flags[rnd(6)];
	if (lock.type != 1 && lock.type != 17)
		lock.mode = 0;
	if (one_in(60))
		lock.mode = rnd(4);
	if (lock.type == 3 && !its.granted)
		lock.type = 5;
	else if (lock.type == 3)
		lock.gen = its.granted;
	else if (ours && rnd(2))
		lock.gen = htobe64(rnd(40) ? l->sent + rnd(3) : odd());
	if (one_in(60))
		lock.gen = htobe64(odd());
	transmit_odd(l, LOCK, 0, 0, &lock, sizeof(lock));
}

static void ask_name(struct link *l, uint16_t type)
{
	uint8_t body[72] = {};

	if (type == ATTACH) {
		body[0] = one_in(9) ? 'a' + rnd(26) : 't';
		body[1] = one_in(300) ? rnd(256) : 0;
		request(l, type, body, 64);
		return;
	}
	memcpy(body, &its.arena, 4);
	body[8] = one_in(9) ? (int)rnd(26) + 97 : "clr"[rnd(3)];
	body[9] = one_in(300) ? rnd(256) : 0;
	request(l, type, body, 72);
}

static void ask_object(struct link *l, uint16_t type)
{
	struct counter body = { .object = some_object(type == WHO) };
	static const uint32_t len[] = { 16, 8, sizeof(body), 24, 16, 32, 16 };

	if (type == LIST) {
		body.object.object = rnd(2) ? 0 : htobe32(rnd(5));
		body.object.arena = rnd(2) ? 0 : its.arena;
	} else if (type == COUNTER) {
		body.op = 1 + rnd(4);
		body.value = odd();
		body.compare = odd();
	} else if (type == REGION_MAP) {
		body.op = 0;
		body.reserved[2] = one_in(4) ? odd() : 0;
	} else if (type == REGION_ZERO) {
		body.reserved[6] = one_in(4) ? odd() : 0;
		body.value = one_in(4) ? odd() : htobe32(rnd(5000));
	}
	request(l, type, &body, len[type - CLOSE]);
}

/* Straight at the node's memory, mostly where we may. */
static void aim(struct link *l)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_CMP_AND_SWP,
		IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE,
	};
	struct ibv_sge sge = { (uintptr_t)table, 8, l->table->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = ops[rnd(400) ? rnd(2) :
							     rnd(4)],
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	struct ibv_wc wc;

	wr.wr.atomic.remote_addr = its.addr + 8 * rnd(8);
	wr.wr.atomic.rkey = rnd(900) ? its.rkey : odd();
	wr.wr.atomic.compare_add = rnd(2) ? rnd(4) : odd();
	wr.wr.atomic.swap = rnd(2) ? rnd(4) : odd();
	if (wr.opcode >= IBV_WR_RDMA_READ || wr.opcode == IBV_WR_RDMA_WRITE) {
		wr.wr.rdma.remote_addr = its.addr;
		wr.wr.rdma.rkey = its.rkey;
	}
	while (ibv_poll_cq(l->lane->cq, 1, &wc) == 1)
		;
	if (its.rkey)
		ibv_post_send(l->lane->id->qp, &wr, &bad);
}

void say_anything(struct link *l)
{
	static const uint16_t rare[] = { HELLO, CHALLENGE, PROVE, READY, ACTIVE,
		ACTIVE_ACK, REFUSE, GOODBYE, CREDIT, RENEW, RENEW_ACK, REPLY,
		LAST_REQUEST, 63, RESYNC, 68, 99 };
	struct object o = some_object(rnd(2));
	uint8_t body[BODY];
	uint32_t i;

	switch (rnd(12)) {
	case 0:
		ask_name(l, ATTACH);
		break;
	case 1:
	case 2:
		ask_name(l, OPEN);
		break;
	case 3:
		ask_object(l, CLOSE + rnd(7));
		break;
	case 4:
	case 5:
	case 6:
		say_lock(l);
		break;
	case 7:
		if (!rnd(8))
			transmit_odd(l, rnd(20) ? FORGET : FORGOTTEN, 0, 0, &o,
				     sizeof(o));
		break;
	case 8:
	case 9:
		aim(l);
		break;
	case 10:
		ask_object(l, COUNTER);
		break;
	default:
		if (rnd(60))
			break;
		for (i = 0; i < BODY; i++)
			body[i] = rnd(3) ? 0 : rnd(256);
		transmit_odd(l, rare[rnd(18)], rnd(SLOTS), rnd(4), body,
			     rnd(2) ? 16 : rnd(BODY));
	}
}
