// SPDX-License-Identifier: GPL-2.0
// needs: lockhome.c
#include "../../kmod/tests/lock_home_cases.h"
#include "ktap.h"

int main(void)
{
	const unsigned long cases = sizeof(lh_cases) / sizeof(lh_cases[0]);
	unsigned long k;

	ktap_start(cases);
	for (k = 0; k < cases; k++)
		ktap_result(lh_cases[k].name, lh_case_run(&lh_cases[k]));
	return ktap_end();
}
