// SPDX-License-Identifier: GPL-2.0
#include "../../kmod/tests/lock_word_cases.h"
#include "ktap.h"

int main(void)
{
	const unsigned long words = ARRAY_SIZE(lw_cases);
	const unsigned long tokens = ARRAY_SIZE(token_cases);
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
