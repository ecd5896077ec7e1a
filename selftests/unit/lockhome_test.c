// SPDX-License-Identifier: GPL-2.0
// needs: lockhome.c
#include "../../kmod/tests/lock_home_cases.h"
#include "ktap.h"

int main(void)
{
	const unsigned long cases = ARRAY_SIZE(lh_cases);
	unsigned long k;

	ktap_start(ARRAY_SIZE(lh_births) + cases);
	for (k = 0; k < ARRAY_SIZE(lh_births); k++)
		ktap_result(lh_births[k].name, lh_birth_run(&lh_births[k]));
	for (k = 0; k < cases; k++)
		ktap_result(lh_cases[k].name, lh_case_run(&lh_cases[k]));
	return ktap_end();
}
