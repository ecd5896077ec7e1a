// SPDX-License-Identifier: GPL-2.0
// needs: lock/fsm_home.c
#include "../../kmod/tests/lock_home_cases.h"
#include "ktap.h"

static void run(const struct lh_case *c, unsigned long n)
{
	for (; n--; c++)
		ktap_result(c->name, lh_case_run(c));
}

int main(void)
{
	unsigned long k;

	ktap_start(ARRAY_SIZE(lh_births) + ARRAY_SIZE(lh_cases) +
		   ARRAY_SIZE(lh_break_cases) + ARRAY_SIZE(lh_tenure_cases) +
		   ARRAY_SIZE(lh_answers));
	for (k = 0; k < ARRAY_SIZE(lh_births); k++)
		ktap_result(lh_births[k].name, lh_birth_run(&lh_births[k]));
	run(lh_cases, ARRAY_SIZE(lh_cases));
	run(lh_break_cases, ARRAY_SIZE(lh_break_cases));
	run(lh_tenure_cases, ARRAY_SIZE(lh_tenure_cases));
	for (k = 0; k < ARRAY_SIZE(lh_answers); k++)
		ktap_result(lh_answers[k].name, lh_answer_run(&lh_answers[k]));
	return ktap_end();
}
