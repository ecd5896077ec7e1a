// SPDX-License-Identifier: GPL-2.0
/*
 * What things cost, as others have published it.
 *
 * The NIC.  Latencies between two mlx5 nodes by perftest: FAA 2.32 us, READ 2.40,
 * Send 1.34 one way; FAA by loopback 1.46. They contain post and poll of the
 * program, which is @cpu. perftest is also the source of how many atomics mlx5 does
 * on one word: 2.17 M/s on RoCE, in a run as short as those of the latencies. Its
 * loopback run says the same (2.13 M/s beside 1.46 us). So that is the rate that
 * belongs to these latencies: the same driver's NICs, the same tool, the same kind
 * of run; rows without suffix use it.
 *
 * Two others are there to see what depends on it. ".sustained" is 1.41 M/s, which
 * mlx5 on RoCE kept up for 300 s: a word that is spun on is under such load all the
 * time, but nothing says why it was less, or that a latency was still the same.
 * ".cx6" is 2.04 M/s, CAS on a ConnectX-6 by another team's benchmark, which
 * has no latencies: with ours it is a mixture. In either what the unit takes longer
 * makes the way to it shorter, so that an atomic alone takes 2.32 us in all.
 *
 * The software.  @hop: a task woken by another thread on Linux 6.6 runs after
 * 1.07 us (half a round trip through pipes on an i7 of the 11th generation,
 * ddumbying.vercel.app/experiments/ctx-switch-overhead). @irq: FastWake
 * (APNet 2023) is 0.35 us slower than the NIC, which is 80 % less than interrupts
 * and a wake-up usually take; on the processor that is interrupted, without the
 * file system, it is 59 % less. With 1.34 us for the NIC that is 8.45 us and
 * 3.46 us; the latter, as ours is code in the kernel, is 2.12 us more than by
 * polling: an interrupt and one hop. @work: KRCORE (ATC 2022, figure 11a) sends by
 * the kernel and back in 6.0 us, without it in 3.6: 0.6 us for each of four ends.
 * @op: its READ (figure 10a) takes 3.35 us instead of 2.5. Both contain system
 * calls, which callers in the kernel do not make.
 *
 * Where our hops are: messages are sent where they arise (tally_lock_send() in
 * kmod/lock/send.c); what is received is taken by a work item of the queue
 * (tally_cq_work() in kmod/transport/cq.c), where the tables run; then the user is woken. Who
 * waits for a word polls (tally_cq_spin()).
 *
 * What is assumed: work items of different links run side by side, on processors
 * of their own, but one at a time works at a home's tables; there are no credits.
 */
#include "sim.h"

#define NIC(_wire, _atomic, _loop) { \
	.wire = _wire, .atomic = _atomic, .loop = _loop, \
	.read = 1100, .send = 1140, .cpu = 200, .jitter = 10, \
	.irq = 1050, .hop = 1070, .work = 600, .op = 850, \
}

const struct sim_rate sim_rates[] = {
	{ "", "2.17 M/s, mlx5 RoCE", NIC(830, 461, 799) },
	{ ".sustained", "1.41 M/s, mlx5 RoCE for 300 s", NIC(705, 709, 551) },
	{ ".cx6", "2.04 M/s, ConnectX-6", NIC(815, 490, 770) },
};

const size_t sim_rates_n = ARRAY_SIZE(sim_rates);

const struct sim_kind sim_kinds[] = {
	{ "", "software as it is", 100, 1, 1, false, false },
	{ ".limit", "all poll, a message takes no code", 0, 0, 0, true, false },
	{ ".half", "software costs half", 50, 1, 1, false, false },
	{ ".double", "software costs twice as much", 200, 1, 1, false, false },
	{ ".helped", "the waiter takes messages itself", 100, 0, 1, false,
	  false },
	{ ".polled", "all poll", 100, 0, 0, true, false },
	{ ".apart", "tokens have a unit of their own", 100, 1, 1, false, true },
};

const size_t sim_kinds_n = ARRAY_SIZE(sim_kinds);

struct sim_costs costs_make(const struct sim_rate *rate,
			    const struct sim_kind *kind)
{
	struct sim_costs costs = rate->costs;

	costs.irq = kind->polled ? 0 : costs.irq * kind->percent / 100;
	costs.hop = costs.hop * kind->percent / 100;
	costs.work = costs.work * kind->percent / 100;
	costs.op = costs.op * kind->percent / 100;
	costs.in = kind->in;
	costs.wake = kind->wake;
	costs.apart = kind->apart;
	return costs;
}

u64 costs_vary(const struct sim_costs *costs, u64 cost)
{
	return cost + random_below(cost * costs->jitter / 100 + 1);
}

u64 costs_message(const struct sim_costs *costs)
{
	return costs->send + costs->send * costs->jitter / 200 + costs->cpu +
	       costs->irq + costs->wake * costs->hop;
}
