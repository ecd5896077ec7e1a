// SPDX-License-Identifier: GPL-2.0
// needs: lock/fsm_client.c
#include "../../kmod/tests/lock_client_cases.h"
#include "ktap.h"

static void run(const struct lc_case *c, unsigned long n)
{
	for (; n--; c++)
		ktap_result(c->name, lc_case_run(c));
}

int main(void)
{
	ktap_start(ARRAY_SIZE(lc_cases) + ARRAY_SIZE(lc_break_cases) +
		   ARRAY_SIZE(lc_tenure_cases));
	run(lc_cases, ARRAY_SIZE(lc_cases));
	run(lc_break_cases, ARRAY_SIZE(lc_break_cases));
	run(lc_tenure_cases, ARRAY_SIZE(lc_tenure_cases));
	return ktap_end();
}
