/* SPDX-License-Identifier: GPL-2.0 */
/* Test results of a user-space unit test, in KTAP. */
#ifndef TALLY_KTAP_H
#define TALLY_KTAP_H

#include <stdbool.h>
#include <stdio.h>

static int ktap_nr;
static int ktap_failed;

static inline void ktap_start(unsigned long plan)
{
	printf("KTAP version 1\n1..%lu\n", plan);
}

/* @wrong: what is wrong, or NULL */
static inline void ktap_result(const char *name, const char *wrong)
{
	ktap_failed += !!wrong;
	printf("%sok %d %s%s%s\n", wrong ? "not " : "", ++ktap_nr, name,
	       wrong ? " # differs in " : "", wrong ? wrong : "");
}

static inline int ktap_end(void)
{
	return ktap_failed ? 1 : 0;
}

#endif
