// SPDX-License-Identifier: GPL-2.0
/* Client nodes: they drive the client tables. */
#include "world.h"

void client_init(u32 node, u32 lock, bool up)
{
	struct seat *s = seat_of(node, lock);
	u16 slot = slot_of(node);

	*s = (struct seat){ .want = s->want + 1 };
	tally_lc_init(&s->lc, slot, w.node[node].session, 0,
		      !w.load->cpu && slot <= TALLY_LW_BIT_SLOT_MAX, up);
	client_step(node, lock, (struct tally_lc_event){
		.kind = TALLY_LCE_SET,
		.cache = w.load->cache,
		.budget = w.load->budget,
	});
}

/* One lane a node: operations arrive in the order in which they were posted. */
static void client_post(u32 node, u32 lock, const struct tally_lc_action *a)
{
	struct snode *n = &w.node[node];
	struct seat *s = seat_of(node, lock);
	struct slock *l = &w.lock[lock];
	u64 at = now + vary(w.costs->wire), busy = w.costs->atomic;

	if (s->busy)
		wrong("two word operations of a node at once");
	s->busy = true;
	if (n->broken && n->cdown)
		wrong("an operation on a link that is known to be down");
	at = in_turn(&n->lane, at, 0);
	/* Both of a pair go through the unit. */
	if (!w.costs->apart && (a->kind == TALLY_LCA_POST_CAS_FAA ||
				a->kind == TALLY_LCA_POST_FAA_FAA))
		busy *= 2;
	if (a->kind == TALLY_LCA_POST_READ)
		busy = 0;
	/* The first of two decides, and executes before the second. */
	queue_put((struct event){
		.kind = EV_EXEC, .op = a->kind, .lc_op = s->lc.op,
		.node = node, .lock = lock, .link = n->link,
		.value = a->value, .compare = a->compare,
	}, in_turn(&l->unit, at, busy));
}

/* When a message that is sent now is posted: one after the other. */
static u64 client_out(struct snode *n)
{
	return in_turn(&n->sender, now, w.costs->work);
}

static void client_send(u32 node, u32 lock, const struct tally_lmsg *msg)
{
	struct snode *n = &w.node[node];
	u64 at = client_out(n) + message_time();

	w.result->messages++;
	at = in_turn(&n->to_home, at, 0);
	queue_put((struct event){
		.kind = EV_AT_HOME, .op = EV_TO_HOME, .node = node,
		.lock = lock, .link = n->link, .msg = *msg,
	}, at);
}

static void client_hand(u32 node, u32 lock, const struct tally_lmsg *msg)
{
	w.result->messages++;
	queue_put((struct event){
		.kind = EV_HAND, .node = node, .lock = lock, .msg = *msg,
	}, client_out(&w.node[node]) + message_time() + w.costs->work);
}

static void client_act(u32 node, u32 lock, const struct tally_lc_action *a)
{
	switch (a->kind) {
	case TALLY_LCA_POST_CAS_FAA:
	case TALLY_LCA_POST_FAA_FAA:
	case TALLY_LCA_POST_FAA:
	case TALLY_LCA_POST_READ:
	case TALLY_LCA_POST_TOKEN_FAA:
		client_post(node, lock, a);
		break;
	case TALLY_LCA_SEND:
		client_send(node, lock, &a->msg);
		break;
	case TALLY_LCA_HANDOVER:
		client_hand(node, lock, &a->msg);
		break;
	case TALLY_LCA_LOST:
		user_lost(node, lock);
		break;
	case TALLY_LCA_VIOLATION:
		wrong("a client takes the home's message for a violation");
		break;
	case TALLY_LCA_WORD_BAD:
		wrong("a client finds the word bad");
		break;
	default:
		user_answer(node, lock, a);
	}
}

void client_step(u32 node, u32 lock, struct tally_lc_event ev)
{
	struct tally_lc_actions out;
	u32 i;

	tally_lc_step(&seat_of(node, lock)->lc, &ev, &out);
	if (out.bug)
		wrong("the client's table finds a bug");
	for (i = 0; i < out.n; i++)
		client_act(node, lock, &out.a[i]);
}

static void client_done(const struct event *ev, bool broken)
{
	struct seat *s = seat_of(ev->node, ev->lock);

	s->busy = false;
	client_step(ev->node, ev->lock, (struct tally_lc_event){
		.kind = TALLY_LCE_OP_DONE,
		.op = ev->lc_op,
		.broken = broken,
		.state = ev->value,
		.token = ev->compare,
	});
}

/* Slot 0 is a successor whose session is over. */
static bool client_linked(u16 slot)
{
	return slot >= SLOT_FIRST && (!w.load->fault || !percent(2));
}

/* A link to another node breaks now and then: sent is not arrived. */
static void client_handed(const struct event *ev)
{
	u32 to = ev->msg.next_slot - SLOT_FIRST;
	bool lost = w.load->fault && percent(1);
	struct snode *n = &w.node[to];

	if (n->session == ev->msg.next_session && node_evil(to))
		evil_hears(to, ev->lock, &ev->msg);
	else if (n->val && !lost && n->session == ev->msg.next_session)
		client_step(to, ev->lock, (struct tally_lc_event){
			.kind = TALLY_LCE_MSG, .msg = ev->msg,
		});
	else
		lost = true;
	if (!node_evil(ev->node) &&
	    (lost || (w.load->fault && percent(1))))
		queue_put((struct event){
			.kind = EV_HAND_BAD, .node = ev->node,
			.lock = ev->lock, .msg = ev->msg,
			.link = w.node[ev->node].session,
		}, now + vary(10 * w.costs->send));
}

void client_event(const struct event *ev)
{
	struct snode *n = &w.node[ev->node];

	switch (ev->kind) {
	case EV_DONE:
		/* What did not come before the break is broken then. */
		if (ev->link == n->link && !n->broken)
			client_done(ev, false);
		break;
	case EV_TO_CLIENT:
		if (node_evil(ev->node))
			evil_hears(ev->node, ev->lock, &ev->msg);
		else if (ev->link == n->link && !n->broken)
			client_step(ev->node, ev->lock, (struct tally_lc_event){
				.kind = TALLY_LCE_MSG, .msg = ev->msg,
				.linked = client_linked(ev->msg.next_slot),
			});
		break;
	case EV_HAND:
		client_handed(ev);
		break;
	default:
		if (n->val && ev->link == (u32)n->session)
			client_step(ev->node, ev->lock, (struct tally_lc_event){
				.kind = TALLY_LCE_HANDED_BAD, .msg = ev->msg,
			});
	}
}
