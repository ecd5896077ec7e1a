// SPDX-License-Identifier: GPL-2.0
/*
 * Nodes that keep to no rule: they say what they like of any generation that they heard
 * of, hand over what they were told of, resume with any snapshot, hold what they get,
 * and are fenced when the home accuses them, or when somebody has had enough of them.
 * They cannot make a pass, nor the home's word for a successor.
 */
#include <stdlib.h>
#include <string.h>

#include "world.h"

#define KNOWN		8	/* generations of a lock that one remembers */
#define EVIL_PACE	(6 * US)
#define EVIL_PATIENCE	(400 * US)
#define FORGOTTEN	(200 * MS)

/**
 * struct known - a generation that one heard of
 * @gen: the generation
 * @pass: its pass, or 0
 * @both: SUCC: @pass and that of @under, by exclusive or
 * @under: SUCC: of whose holder this one is the next
 * @session: SUCC: whose it is
 * @slot: SUCC: and where
 */
struct known {
	u64 gen;
	u64 pass;
	u64 both;
	u64 under;
	u64 session;
	u16 slot;
};

static struct known *knows;	/* KNOWN for each evil node and lock */

bool node_evil(u32 node)
{
	return node >= w.load->nodes - w.load->evil;
}

static struct known *known_of(u32 node, u32 lock)
{
	size_t seat = (node - (w.load->nodes - w.load->evil)) * w.load->locks +
		      lock;

	return &knows[seat * KNOWN];
}

static struct known *known_find(struct known *k, u64 gen)
{
	u32 i;

	for (i = 0; i < KNOWN; i++)
		if (k[i].gen == gen)
			return &k[i];
	return NULL;
}

static struct known *known_note(struct known *k, u64 gen)
{
	struct known *old = known_find(k, gen);

	if (old)
		return old;
	memmove(&k[1], &k[0], (KNOWN - 1) * sizeof(*k));
	k[0] = (struct known){ .gen = gen };
	return k;
}

void evil_hears(u32 node, u32 lock, const struct tally_lmsg *msg)
{
	struct known *k = known_of(node, lock), *under;
	u32 i;

	if (msg->type == TALLY_LM_CANCELLED || msg->type == TALLY_LM_DENIED)
		seat_of(node, lock)->asking = false;
	if (msg->type == TALLY_LM_GRANT || msg->type == TALLY_LM_HANDOVER)
		w.result->stolen++;
	if (msg->type == TALLY_LM_SUCC && msg->next_slot) {
		under = known_note(k, msg->next_gen);
		under->both = msg->pass;
		under->under = msg->gen;
		under->session = msg->next_session;
		under->slot = msg->next_slot;
	} else if (msg->type == TALLY_LM_HANDOVER) {
		known_note(k, msg->next_gen)->pass = msg->pass;
	} else if (msg->pass) {
		known_note(k, msg->gen)->pass = msg->pass;
	} else if (msg->gen) {
		known_note(k, msg->gen);
	}
	for (i = 0; i < KNOWN; i++) {
		under = k[i].under ? known_find(k, k[i].under) : NULL;
		if (under && under->pass && !k[i].pass)
			k[i].pass = k[i].both ^ under->pass;
	}
}

static void evil_send(u32 node, u32 lock, const struct tally_lmsg *msg)
{
	struct snode *n = &w.node[node];
	u64 at = in_turn(&n->to_home, now + message_time(), 0);

	w.result->messages++;
	w.result->lies++;
	queue_put((struct event){
		.kind = EV_AT_HOME, .op = EV_TO_HOME, .node = node,
		.lock = lock, .link = n->link, .msg = *msg,
	}, at);
}

/* To one that it was told of; with another pass the proof would be wrong. */
static void evil_hand(u32 node, u32 lock, const struct known *k)
{
	if (!k->slot || !k->pass)
		return;
	queue_put((struct event){
		.kind = EV_HAND, .node = node, .lock = lock,
		.msg = {
			.type = TALLY_LM_HANDOVER,
			.next_slot = k->slot,
			.next_session = k->session,
			.next_gen = k->gen,
			.pass = k->pass,
		},
	}, now + message_time());
}

static struct tally_lmsg evil_message(u32 node, u32 lock)
{
	static const u8 types[] = {
		TALLY_LM_REL, TALLY_LM_DONE, TALLY_LM_DOWN, TALLY_LM_UPG,
		TALLY_LM_LOST, TALLY_LM_BUSY, TALLY_LM_RESYNC,
	};
	const struct known *k = &known_of(node, lock)[random_below(3)];
	bool guess = percent(2);
	struct tally_lmsg msg = {
		.type = types[random_below(ARRAY_SIZE(types))],
		.gen = guess ? w.lock[lock].lh.ng + random_below(3) : k->gen,
		.pass = guess || percent(2) ? random_below(~0ULL) : k->pass,
	};

	if (msg.type == TALLY_LM_LOST)
		msg.next_gen = msg.gen;
	if (msg.type == TALLY_LM_REL && percent(30))
		msg = (struct tally_lmsg){
			.type = msg.type, .gen = msg.gen,
			.flags = TALLY_LMF_CANC,
		};
	if (msg.type == TALLY_LM_RESYNC) {
		msg.flags = percent(30) ? TALLY_LMF_HELD_S : 0;
		msg.mode = percent(30) ? TALLY_LMODE_X : 0;
		msg.last = percent(50) ? msg.gen : 0;
		if (percent(50))
			msg.gen = 0;
	}
	return msg;
}

/* Most of what it says it might have to say: else it is accused, and gets nothing. */
static void evil_say(u32 node, u32 lock)
{
	struct tally_lmsg msg = { .type = TALLY_LM_ENQUEUE };
	struct seat *s = seat_of(node, lock);
	u32 what = random_below(100);

	if (what < 15) {
		evil_hand(node, lock, &known_of(node, lock)[random_below(3)]);
		return;
	}
	if (what < 60) {
		if (s->asking && !percent(1))
			return;
		s->asking = true;
		msg.mode = percent(30) ? TALLY_LMODE_S : TALLY_LMODE_X;
		msg.flags = percent(10) ? TALLY_LMF_TRY : 0;
	} else if (what < 75) {
		msg.type = TALLY_LM_CANCEL;
	} else {
		msg = evil_message(node, lock);
		/* That is only said after a break: evil_resume(). */
		if (msg.type == TALLY_LM_RESYNC || (!msg.pass && !percent(2)))
			return;
		if (msg.type == TALLY_LM_REL || msg.type == TALLY_LM_DONE)
			s->asking = false;
	}
	evil_send(node, lock, &msg);
}

/* Its link breaks and is there again, and it lists what it likes. */
static void evil_resume(u32 node)
{
	struct snode *n = &w.node[node];
	struct tally_lmsg msg;
	u32 lock;

	for (lock = 0; lock < w.load->locks; lock++)
		if (seat_of(node, lock)->known)
			home_step(lock, (struct tally_lh_event){
				.kind = TALLY_LHE_LINK_DOWN,
				.node = &seat_of(node, lock)->hn,
			});
	n->link++;
	n->syncing = true;
	for (lock = 0; lock < w.load->locks; lock++) {
		msg = evil_message(node, lock);
		if (msg.type == TALLY_LM_RESYNC || percent(30))
			evil_send(node, lock, &msg);
	}
	queue_put((struct event){
		.kind = EV_AT_HOME, .op = EV_SYNC_END, .node = node,
		.link = n->link,
	}, in_turn(&n->to_home, now + message_time(), 0));
}

/* The home ends its session; it comes again at once, and forgets nothing. */
static void evil_fenced(u32 node)
{
	struct snode *n = &w.node[node];
	u32 lock;

	for (lock = 0; lock < w.load->locks; lock++) {
		struct seat *s = seat_of(node, lock);

		home_step(lock, (struct tally_lh_event){
			.kind = TALLY_LHE_SESSION_END, .slot = slot_of(node),
			.node = s->known ? &s->hn : NULL,
		});
		s->known = false;
		s->asking = false;
	}
	w.result->accused += n->accused;
	n->accused = false;
	n->syncing = false;
	n->link++;
	n->session = ++w.sessions;
	n->lease_at = now + EVIL_PATIENCE;
}

/* One thing after the other, until it is enough. */
void evil_event(u32 node)
{
	struct snode *n = &w.node[node];
	u32 lock = percent(w.load->hot) ? 0 : random_below(w.load->locks);

	if (n->accused || w.over || now >= n->lease_at)
		evil_fenced(node);
	if (w.over)
		return;
	if (now - w.granted_at > FORGOTTEN)
		wrong("no user is granted anything any more");
	if (percent(2))
		evil_resume(node);
	else
		evil_say(node, lock);
	queue_put((struct event){ .kind = EV_EVIL, .node = node },
		  now + 1 + random_below(EVIL_PACE));
}

void evil_init(void)
{
	size_t n = (size_t)w.load->evil * w.load->locks * KNOWN;
	u32 node;

	if (!n)
		return;
	knows = calloc(n, sizeof(*knows));
	if (!knows)
		abort();
	for (node = w.load->nodes - w.load->evil; node < w.load->nodes; node++) {
		w.node[node].lease_at = EVIL_PATIENCE;
		queue_put((struct event){ .kind = EV_EVIL, .node = node }, 1);
	}
}

void evil_exit(void)
{
	free(knows);
	knows = NULL;
}

/* Any function that nobody but the home can guess. */
u64 pass_of(u32 lock, u64 gen)
{
	u64 h = (gen + 0x9e3779b97f4a7c15ULL * (lock + 1)) * 0xff51afd7ed558ccdULL;

	h = (h ^ h >> 31) * 0xc4ceb9fe1a85ec53ULL;
	return gen ? (h ^ h >> 33) ?: 1 : 0;
}
