// SPDX-License-Identifier: GPL-2.0
// needs: lockclient.c
#include "../../kmod/tests/lock_client_cases.h"
#include "ktap.h"

int main(void)
{
	const unsigned long cases = ARRAY_SIZE(lc_cases);
	unsigned long k;

	ktap_start(cases);
	for (k = 0; k < cases; k++)
		ktap_result(lc_cases[k].name, lc_case_run(&lc_cases[k]));
	return ktap_end();
}
