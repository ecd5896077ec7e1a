// SPDX-License-Identifier: GPL-2.0
/* The home: it drives the home tables, and its NIC executes on the words. */
#include "world.h"

void home_init(u32 lock)
{
	struct slock *l = &w.lock[lock];

	*l = (struct slock){ .token = tally_tenure_first(1) };
	l->state = tally_lh_init(&l->lh, w.load->cpu ? TALLY_LH_CPU : 0,
				 l->token);
	l->max_x = tally_token(l->token, 0);
	l->max_any = l->max_x;
}

static void home_post(u32 lock, const struct tally_lh_action *a)
{
	struct slock *l = &w.lock[lock];
	u64 at = now + vary(w.costs->loop / 2), busy = w.costs->atomic;

	if (a->kind == TALLY_LHA_POST_CLRW && a->delta)
		busy *= 2;
	queue_put((struct event){
		.kind = EV_LOOP_EXEC, .op = a->kind, .lock = lock,
		.node = a->slot, .value = a->delta,
	}, in_turn(&l->unit, at, busy));
}

/* One works at the home's tables at a time. Return: when it is done. */
static u64 home_work(void)
{
	return in_turn(&w.home_free, now, w.costs->work);
}

static void home_send(u32 lock, const struct tally_lh_action *a)
{
	u32 node = a->slot - SLOT_FIRST;
	struct snode *n = &w.node[node];
	struct tally_lmsg msg = a->msg;
	u64 at;

	if (n->hdown || n->ended)
		return;
	if (msg.type == TALLY_LM_GRANT || msg.type == TALLY_LM_UPGRADED)
		msg.pass = pass_of(lock, msg.gen);
	if (msg.type == TALLY_LM_SUCC && msg.next_slot)
		msg.pass = pass_of(lock, msg.next_gen) ^ pass_of(lock, msg.gen);
	w.result->messages++;
	/* The home sends where it is, without a work item. */
	at = home_work() + message_time() + w.costs->work;
	at = in_turn(&n->to_client, at, 0);
	queue_put((struct event){
		.kind = EV_TO_CLIENT, .node = node, .lock = lock,
		.link = n->link, .msg = msg,
	}, at);
}

static void home_act(u32 lock, const struct tally_lh_action *a)
{
	switch (a->kind) {
	case TALLY_LHA_POST_SETW:
	case TALLY_LHA_POST_CLRW:
	case TALLY_LHA_POST_SWEEP:
		home_post(lock, a);
		break;
	case TALLY_LHA_SEND:
		home_send(lock, a);
		break;
	case TALLY_LHA_VALUE_BAD:
		break;
	case TALLY_LHA_VIOLATION:
		if (node_evil(a->slot - SLOT_FIRST))
			w.node[a->slot - SLOT_FIRST].accused = true;
		else
			wrong("the home takes a client's message for a violation");
		break;
	case TALLY_LHA_WORD_BAD:
		wrong("the home finds the word bad");
		break;
	}
}

void home_step(u32 lock, struct tally_lh_event ev)
{
	struct slock *l = &w.lock[lock];
	struct tally_lh_actions out;
	u32 i;

	do {
		ev.state = l->state;
		ev.token = l->token;
		tally_lh_step(&l->lh, &ev, &out);
		if (out.bug)
			wrong("the home's table finds a bug");
		for (i = 0; i < out.n; i++)
			home_act(lock, &out.a[i]);
		ev = (struct tally_lh_event){ .kind = TALLY_LHE_MORE };
	} while (out.more && !w.wrong);
}

static struct tally_lh_node *home_node(u32 node, u32 lock, bool make)
{
	struct seat *s = seat_of(node, lock);

	if (!s->known && !make)
		return NULL;
	if (!s->known)
		tally_lh_node_init(&s->hn, slot_of(node),
				   w.node[node].session,
				   !w.node[node].syncing);
	s->known = true;
	return &s->hn;
}

static void home_heard(const struct event *ev)
{
	struct snode *n = &w.node[ev->node];
	u32 lock;

	if (ev->link != n->link || n->broken || n->ended || n->accused)
		return;
	if (ev->kind == EV_TO_HOME) {
		home_step(ev->lock, (struct tally_lh_event){
			.kind = TALLY_LHE_MSG,
			.node = home_node(ev->node, ev->lock, true),
			.proven = w.load->trusting ||
				  (ev->msg.pass && ev->msg.pass ==
				   pass_of(ev->lock, ev->msg.gen)),
			.msg = ev->msg,
		});
		return;
	}
	n->syncing = false;
	for (lock = 0; lock < w.load->locks; lock++)
		home_step(lock, (struct tally_lh_event){
			.kind = TALLY_LHE_RESYNC_END,
			.slot = slot_of(ev->node),
			.node = home_node(ev->node, lock, false),
		});
}

static void loop_exec(struct event ev)
{
	struct slock *l = &w.lock[ev.lock];
	u64 old = l->state;

	w.result->atomics++;
	if (ev.op == TALLY_LHA_POST_SETW) {
		l->state += TALLY_LW_W;
	} else if (ev.op == TALLY_LHA_POST_CLRW) {
		w.result->atomics += ev.value != 0;
		l->token += ev.value;
		l->state -= TALLY_LW_W;
	} else {
		l->state -= ev.value;
	}
	ev.kind = EV_LOOP_DONE;
	ev.value = old;
	/* An interrupt, a work item of the queue, and one of the lock. */
	queue_put(ev, now + vary(w.costs->loop / 2) + w.costs->cpu +
		      w.costs->irq + 2 * w.costs->in * w.costs->hop);
}

static void loop_done(const struct event *ev)
{
	static const u8 kinds[] = {
		[TALLY_LHA_POST_SETW] = TALLY_LHE_SETW_DONE,
		[TALLY_LHA_POST_CLRW] = TALLY_LHE_CLRW_DONE,
		[TALLY_LHA_POST_SWEEP] = TALLY_LHE_SWEEP_DONE,
	};

	home_step(ev->lock, (struct tally_lh_event){
		.kind = kinds[ev->op], .slot = ev->node, .old = ev->value,
	});
}

/* A node's operation reaches the word, if its QP is still there. */
void word_exec(const struct event *ev)
{
	struct snode *n = &w.node[ev->node];
	struct slock *l = &w.lock[ev->lock];
	struct event done = *ev;

	if (ev->link != n->link || (n->broken && now >= n->cut))
		return;
	w.result->atomics++;
	w.result->undone += ev->lc_op == TALLY_LC_OP_CLAIM;
	done.kind = EV_DONE;
	done.value = l->state;
	done.compare = l->token;
	switch (ev->op) {
	case TALLY_LCA_POST_CAS_FAA:
		if (l->state == ev->compare)
			l->state = ev->value;
		l->token++;
		w.result->atomics++;
		break;
	case TALLY_LCA_POST_FAA_FAA:
		l->state += ev->value;
		l->token++;
		w.result->atomics++;
		break;
	case TALLY_LCA_POST_FAA:
		l->state += ev->value;
		break;
	case TALLY_LCA_POST_TOKEN_FAA:
		l->token++;
		break;
	}
	/* Who waits for it polls. */
	queue_put(done, now + vary(w.costs->wire) + w.costs->cpu + w.costs->op);
}

/* It has arrived, and waits for its turn. */
static void home_arrived(struct event ev)
{
	ev.kind = ev.op;
	queue_put(ev, home_work());
}

void home_event(const struct event *ev)
{
	switch (ev->kind) {
	case EV_AT_HOME:
		home_arrived(*ev);
		break;
	case EV_LOOP_EXEC:
		loop_exec(*ev);
		break;
	case EV_LOOP_DONE:
		loop_done(ev);
		break;
	default:
		home_heard(ev);
	}
}
