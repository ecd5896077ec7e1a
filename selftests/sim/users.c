// SPDX-License-Identifier: GPL-2.0
/* Users: one a node, which wants one lock after another. */
#include "world.h"

/* The next user of a node, unless it is enough. */
void user_come(u32 node)
{
	u32 lock = percent(w.load->hot) ? 0 : random_below(w.load->locks);

	if (!w.over)
		queue_put((struct event){
			.kind = EV_WANT, .node = node, .lock = lock,
			.link = w.node[node].session,
		}, now + 1 + random_below(w.load->think));
}

static void user_want(const struct event *ev)
{
	struct seat *s = seat_of(ev->node, ev->lock);
	bool try = percent(w.load->odd / 2);

	s->asking = true;
	s->asked_at = now;
	s->want++;
	s->mode = percent(w.load->shared) ? TALLY_LMODE_S : TALLY_LMODE_X;
	if (!try && percent(w.load->odd))
		queue_put((struct event){
			.kind = EV_GIVE_UP, .node = ev->node, .lock = ev->lock,
			.link = s->want,
		}, now + 1 + random_below(20 * w.costs->send));
	client_step(ev->node, ev->lock, (struct tally_lc_event){
		.kind = TALLY_LCE_WANT, .mode = s->mode, .try = try,
		.direct = s->managed,
	});
}

static void user_enter(u32 lock, u8 mode, u64 token)
{
	struct slock *l = &w.lock[lock];

	if (l->writers || (l->readers && mode == TALLY_LMODE_X))
		wrong("two are inside that exclude each other");
	if (mode == TALLY_LMODE_X) {
		if (token <= l->max_any)
			wrong("the token of an exclusive grant does not grow");
		l->max_x = token;
		l->writers++;
	} else {
		if (token <= l->max_x)
			wrong("a shared token is not above the exclusive ones");
		l->readers++;
	}
	if (token > l->max_any)
		l->max_any = token;
}

static void user_leave(u32 lock, u8 mode)
{
	if (mode == TALLY_LMODE_X)
		w.lock[lock].writers--;
	else
		w.lock[lock].readers--;
}

static void user_count(u32 node, bool managed, u64 wait)
{
	/* On the word there is no waiter to recall the lock for. */
	w.again = node == w.last && managed ? w.again + 1 : 1;
	w.last = node;
	w.granted_at = now;
	if (w.again > w.result->longest)
		w.result->longest = w.again;
	if (w.result->grants < w.load->grants)
		w.wait[w.result->grants] = wait;
	if (wait > w.result->worst)
		w.result->worst = wait;
	w.result->grants++;
	w.node[node].grants++;
}

static void user_granted(u32 node, u32 lock, u64 token)
{
	struct seat *s = seat_of(node, lock);
	u64 go = now, stay;

	if (!s->asking || s->inside)
		wrong("a grant without a waiter");
	s->asking = false;
	s->inside = true;
	s->managed = !s->lc.fast;
	/* A waiter for a word polls, a waiter for a message sleeps. */
	if (s->managed)
		go += w.costs->wake * w.costs->hop;
	/* What is granted may be more than what was asked for. */
	user_enter(lock, s->mode, token);
	user_count(node, s->managed, go - s->asked_at);
	stay = random_below(w.load->hold);
	if (percent(w.load->odd))
		queue_put((struct event){
			.kind = EV_CHANGE, .node = node, .lock = lock,
			.link = s->want,
		}, go + stay / 2);
	queue_put((struct event){
		.kind = EV_UNLOCK, .node = node, .lock = lock, .link = s->want,
	}, go + stay);
}

static void user_refused(u32 node, u32 lock)
{
	seat_of(node, lock)->asking = false;
	w.result->tried++;
	user_come(node);
}

void user_answer(u32 node, u32 lock, const struct tally_lc_action *a)
{
	struct seat *s = seat_of(node, lock);

	switch (a->kind) {
	case TALLY_LCA_GRANTED:
		user_granted(node, lock, a->token);
		break;
	case TALLY_LCA_FAILED:
	case TALLY_LCA_CANCELLED:
		user_refused(node, lock);
		break;
	case TALLY_LCA_UPGRADED:
		user_leave(lock, TALLY_LMODE_S);
		user_enter(lock, TALLY_LMODE_X, a->token);
		s->mode = TALLY_LMODE_X;
		break;
	default:
		break;	/* NOT_UPGRADED, RECALL, RELEASED: no news */
	}
}

/* Told before anybody else can have it. */
void user_lost(u32 node, u32 lock)
{
	struct seat *s = seat_of(node, lock);

	if (!s->inside)
		wrong("no user to lose the lock");
	s->inside = false;
	user_leave(lock, s->mode);
}

/* A user inside alone goes on in the other mode; upgrades may be refused. */
static void user_change(u32 node, u32 lock)
{
	struct seat *s = seat_of(node, lock);
	bool down = s->mode == TALLY_LMODE_X;

	if (s->lc.st != TALLY_LC_HOLD)
		return;
	if (down) {
		user_leave(lock, TALLY_LMODE_X);
		w.lock[lock].readers++;
		s->mode = TALLY_LMODE_S;
	}
	client_step(node, lock, (struct tally_lc_event){
		.kind = down ? TALLY_LCE_DOWNGRADE : TALLY_LCE_UPGRADE,
	});
}

static void user_unlock(u32 node, u32 lock)
{
	struct seat *s = seat_of(node, lock);

	s->inside = false;
	user_leave(lock, s->mode);
	client_step(node, lock, (struct tally_lc_event){
		.kind = TALLY_LCE_UNLOCK,
	});
	user_come(node);
}

void user_event(const struct event *ev)
{
	struct seat *s = seat_of(ev->node, ev->lock);

	switch (ev->kind) {
	case EV_WANT:
		if (w.node[ev->node].val &&
		    ev->link == (u32)w.node[ev->node].session)
			user_want(ev);
		break;
	case EV_GIVE_UP:
		if (s->asking && s->want == ev->link)
			client_step(ev->node, ev->lock, (struct tally_lc_event){
				.kind = TALLY_LCE_CANCEL,
			});
		break;
	case EV_CHANGE:
		if (s->inside && s->want == ev->link)
			user_change(ev->node, ev->lock);
		break;
	default:
		if (s->inside && s->want == ev->link)
			user_unlock(ev->node, ev->lock);
	}
}
