// SPDX-License-Identifier: GPL-2.0
#include "../../kmod/tests/lock_word_cases.h"
#include "ktap.h"

int main(void)
{
	const unsigned long words = sizeof(lw_cases) / sizeof(lw_cases[0]);
	const unsigned long tokens = sizeof(token_cases) / sizeof(token_cases[0]);
	unsigned long k;

	ktap_start(words + tokens + 1);
	for (k = 0; k < words; k++)
		ktap_result(lw_cases[k].name, lw_case_run(&lw_cases[k]));
	for (k = 0; k < tokens; k++)
		ktap_result(token_cases[k].name,
			    token_case_run(&token_cases[k]));
	ktap_result("every field beside all others", lw_fields_run());
	return ktap_end();
}
