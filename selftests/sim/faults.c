// SPDX-License-Identifier: GPL-2.0
/*
 * Links that break, for less than the lease or for more.  A break loses what is
 * under way in both directions; word operations may still execute until the
 * home has destroyed the QP.
 */
#include "world.h"

static void fault_put(u8 kind, u32 node, u64 after)
{
	queue_put((struct event){
		.kind = kind, .node = node, .link = w.node[node].link,
	}, now + after);
}

static void fault_break(void)
{
	u32 node = random_below(w.load->nodes - w.load->evil);
	struct snode *n = &w.node[node];
	u64 client = random_below(w.load->lease / 10);
	u64 home = random_below(w.load->lease / 10);
	u64 back = w.load->lease / 10 + random_below(w.load->lease);

	if (!w.over)
		fault_put(EV_FAULT, 0, 1 + random_below(2 * w.load->fault));
	if (w.over || n->broken || !n->val || n->ended)
		return;
	w.result->faults++;
	n->broken = true;
	n->cdown = false;
	n->hdown = false;
	n->cut = now + (percent(50) ? home : 0);
	n->lease_at = now + w.load->lease;
	fault_put(EV_CLIENT_DOWN, node, client);
	fault_put(EV_HOME_DOWN, node, home);
	fault_put(EV_RESUME, node, back);
	fault_put(EV_LEASE, node, w.load->lease);
}

static void fault_client_down(u32 node)
{
	u32 lock;

	w.node[node].cdown = true;
	for (lock = 0; lock < w.load->locks; lock++) {
		struct seat *s = seat_of(node, lock);

		client_step(node, lock, (struct tally_lc_event){
			.kind = TALLY_LCE_LINK_DOWN,
		});
		if (!s->busy)
			continue;
		s->busy = false;
		client_step(node, lock, (struct tally_lc_event){
			.kind = TALLY_LCE_OP_DONE, .op = s->lc.op,
			.broken = true,
		});
	}
}

static void fault_home_down(u32 node)
{
	u32 lock;

	w.node[node].hdown = true;
	if (w.node[node].cut > now)
		w.node[node].cut = now;
	for (lock = 0; lock < w.load->locks; lock++)
		if (seat_of(node, lock)->known)
			home_step(lock, (struct tally_lh_event){
				.kind = TALLY_LHE_LINK_DOWN,
				.node = &seat_of(node, lock)->hn,
			});
}

/* Within the lease: a new link, and first of all what the client has. */
static void fault_resume(u32 node)
{
	struct snode *n = &w.node[node];
	u32 lock;

	if (now >= n->lease_at)
		return;
	n->link++;
	n->broken = false;
	n->hdown = false;
	n->syncing = true;
	n->lane = now;
	for (lock = 0; lock < w.load->locks; lock++)
		client_step(node, lock, (struct tally_lc_event){
			.kind = TALLY_LCE_LINK_UP,
		});
	queue_put((struct event){
		.kind = EV_AT_HOME, .op = EV_SYNC_END, .node = node,
		.link = n->link,
	}, n->to_home > now ? n->to_home : now + w.costs->send);
	if (n->to_home < now + w.costs->send)
		n->to_home = now + w.costs->send;
}

/* The client's lease ends before the home's: all it has is lost. */
static void fault_lease(u32 node)
{
	struct snode *n = &w.node[node];
	u32 lock;

	w.result->lost++;
	n->val = false;
	for (lock = 0; lock < w.load->locks; lock++)
		client_step(node, lock, (struct tally_lc_event){
			.kind = TALLY_LCE_LEASE_LOST,
		});
	fault_put(EV_END, node, 1 + w.load->lease / 500);
}

static void fault_end(u32 node)
{
	u32 lock;

	w.node[node].ended = true;
	for (lock = 0; lock < w.load->locks; lock++) {
		struct seat *s = seat_of(node, lock);

		home_step(lock, (struct tally_lh_event){
			.kind = TALLY_LHE_SESSION_END, .slot = slot_of(node),
			.node = s->known ? &s->hn : NULL,
		});
	}
	fault_put(EV_REJOIN, node, 1 + random_below(w.load->lease));
}

static void fault_rejoin(u32 node)
{
	struct snode *n = &w.node[node];
	u32 lock;

	for (lock = 0; lock < w.load->locks; lock++) {
		if (tally_lh_sweeping(&w.lock[lock].lh, slot_of(node))) {
			fault_put(EV_REJOIN, node, w.load->lease / 10 + 1);
			return;
		}
	}
	*n = (struct snode){
		.session = ++w.sessions, .link = n->link + 1, .val = true,
		.grants = n->grants,
	};
	for (lock = 0; lock < w.load->locks; lock++)
		client_init(node, lock, true);
	user_come(node);
}

void fault_event(const struct event *ev)
{
	if (ev->kind == EV_FAULT)
		fault_break();
	else if (ev->kind == EV_EVIL)
		evil_event(ev->node);
	else if (ev->link != w.node[ev->node].link)
		return;
	else if (ev->kind == EV_CLIENT_DOWN)
		fault_client_down(ev->node);
	else if (ev->kind == EV_HOME_DOWN)
		fault_home_down(ev->node);
	else if (ev->kind == EV_RESUME)
		fault_resume(ev->node);
	else if (ev->kind == EV_LEASE)
		fault_lease(ev->node);
	else if (ev->kind == EV_END)
		fault_end(ev->node);
	else
		fault_rejoin(ev->node);
}
