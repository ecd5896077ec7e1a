// SPDX-License-Identifier: GPL-2.0
/*
 * The parameter faults: "new" and "once" forget what failed, "on" has one
 * allocation fail from then on, "off" none. The one that fails is the first whose
 * place in the code has not failed before, the first or (but for "once") second
 * time it is come by; places that allocate in a loop are so tried at its start and
 * inside. "all" has every allocation fail until "off". Reading tells how many have
 * failed since "on" or "all".
 *
 * The parameter claim: "REAL CLAIMED", two IPv4 addresses: who connects from the
 * one is taken to have said that it was the other.
 */
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include "lock/word.h"

#define FAULT_PLACES	512
#define FAULT_TIMES	2

/**
 * struct fault_place - a place in the code that allocates
 * @addr: its address
 * @seen: how often it was come by since "on"
 * @failed: how often it failed since "new"
 */
struct fault_place {
	void *addr;
	unsigned int seen;
	unsigned int failed;
};

static DEFINE_SPINLOCK(fault_lock);	/* all of this */
static struct fault_place fault_places[FAULT_PLACES];
static unsigned int fault_known;
static unsigned int fault_count;
static unsigned int fault_times = FAULT_TIMES;
static bool fault_on;
static bool fault_all;

static struct fault_place *fault_find(void *addr)
{
	unsigned int i;

	for (i = 0; i < fault_known; i++)
		if (fault_places[i].addr == addr)
			return &fault_places[i];
	if (fault_known == FAULT_PLACES)
		return NULL;
	fault_known++;
	fault_places[i] = (struct fault_place) { .addr = addr };
	return &fault_places[i];
}

/* Return: the allocation that asks is to fail. */
bool tally_fault(gfp_t gfp)
{
	void *addr = __builtin_return_address(0);
	struct fault_place *place;
	unsigned long flags;
	bool fail = false;

	if ((gfp & __GFP_NOFAIL) || !READ_ONCE(fault_on))
		return false;
	spin_lock_irqsave(&fault_lock, flags);
	if (fault_all) {
		fault_count++;
		spin_unlock_irqrestore(&fault_lock, flags);
		pr_info_ratelimited("an allocation fails in %pS\n", addr);
		return true;
	}
	place = fault_find(addr);
	if (place) {
		place->seen++;
		fail = !fault_count && place->seen > place->failed &&
		       place->failed < fault_times;
	}
	if (fail) {
		place->failed++;
		fault_count++;
	}
	spin_unlock_irqrestore(&fault_lock, flags);
	if (fail)
		pr_info("an allocation fails in %pS\n", addr);
	return fail;
}
EXPORT_SYMBOL_GPL(tally_fault);	/* to other modules for tests */

static int fault_set(const char *text, const struct kernel_param *param)
{
	unsigned int i;
	int err = 0;

	spin_lock_irq(&fault_lock);
	if (sysfs_streq(text, "new") || sysfs_streq(text, "once")) {
		fault_known = 0;
		fault_times = sysfs_streq(text, "new") ? FAULT_TIMES : 1;
	} else if (sysfs_streq(text, "on") || sysfs_streq(text, "all")) {
		fault_all = sysfs_streq(text, "all");
		fault_count = 0;
		for (i = 0; i < fault_known; i++)
			fault_places[i].seen = 0;
		fault_on = true;
	} else if (sysfs_streq(text, "off")) {
		fault_on = false;
	} else {
		err = -EINVAL;
	}
	spin_unlock_irq(&fault_lock);
	return err;
}

static int fault_get(char *text, const struct kernel_param *param)
{
	return sysfs_emit(text, "%u\n", fault_count);
}

static const struct kernel_param_ops fault_ops = {
	.set	= fault_set,
	.get	= fault_get,
};
module_param_cb(faults, &fault_ops, NULL, 0600);
MODULE_PARM_DESC(faults, "new, once, on, all, off: see the source");

unsigned int tally_fault_lock_slots = TALLY_LW_BIT_SLOT_MAX;

static int lock_slots_set(const char *text, const struct kernel_param *param)
{
	return param_set_uint_minmax(text, param, 0, TALLY_LW_BIT_SLOT_MAX);
}

static const struct kernel_param_ops lock_slots_ops = {
	.set	= lock_slots_set,
	.get	= param_get_uint,
};

/* Not while locks are held: each keeps to what it began with. */
module_param_cb(lock_slots, &lock_slots_ops, &tally_fault_lock_slots, 0444);
MODULE_PARM_DESC(lock_slots, "use no lock's word where our slot is higher, but ask the home, as slots above "
		 __stringify(TALLY_LW_BIT_SLOT_MAX)
		 " have to; 0: nowhere");

unsigned int tally_fault_quota = 64 * SZ_1M;
module_param_named(quota, tally_fault_quota, uint, 0600);
MODULE_PARM_DESC(quota, "bytes that the records of one session may take here, 1 at least");

unsigned int tally_fault_cpus;
module_param_named(cpus, tally_fault_cpus, uint, 0600);
MODULE_PARM_DESC(cpus, "offer lanes as if there were so many processors; 0: as there are");

unsigned long tally_fault_slept;
module_param_named(slept, tally_fault_slept, ulong, 0600);
MODULE_PARM_DESC(slept, "as if the machine had slept for so many ms, which may only grow");

static __be32 claim_real, claim_claimed;

void tally_fault_claim(struct sockaddr_storage *addr)
{
	struct sockaddr_in *in = (struct sockaddr_in *)addr;

	if (in->sin_family == AF_INET && claim_real &&
	    in->sin_addr.s_addr == READ_ONCE(claim_real))
		in->sin_addr.s_addr = READ_ONCE(claim_claimed);
}

static int claim_set(const char *text, const struct kernel_param *param)
{
	__be32 real, claimed;
	const char *rest;

	if (!in4_pton(text, -1, (u8 *)&real, ' ', &rest) ||
	    !in4_pton(rest + 1, -1, (u8 *)&claimed, '\n', NULL))
		return -EINVAL;
	WRITE_ONCE(claim_claimed, claimed);
	WRITE_ONCE(claim_real, real);
	return 0;
}

static const struct kernel_param_ops claim_ops = {
	.set	= claim_set,
};
module_param_cb(claim, &claim_ops, NULL, 0200);
MODULE_PARM_DESC(claim, "see the source");
