// SPDX-License-Identifier: GPL-2.0
/* The lock tables' cases as KUnit suites; user space runs the same cases. */
#include <kunit/test.h>
#include <linux/module.h>

#include "lock/fsm_client.c"
#include "lock/fsm_home.c"
#include "lock_word_cases.h"
#include "lock_client_cases.h"
#include "lock_home_cases.h"

#define CASE_DESC(type)							\
static void type##_desc(const struct type *c, char *desc)		\
{									\
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);			\
}

CASE_DESC(lw_case)
CASE_DESC(token_case)
CASE_DESC(lc_case)
CASE_DESC(lh_birth)
CASE_DESC(lh_case)
CASE_DESC(lh_answer)

KUNIT_ARRAY_PARAM(lw, lw_cases, lw_case_desc);
KUNIT_ARRAY_PARAM(token, token_cases, token_case_desc);
KUNIT_ARRAY_PARAM(lc, lc_cases, lc_case_desc);
KUNIT_ARRAY_PARAM(lc_break, lc_break_cases, lc_case_desc);
KUNIT_ARRAY_PARAM(lc_tenure, lc_tenure_cases, lc_case_desc);
KUNIT_ARRAY_PARAM(birth, lh_births, lh_birth_desc);
KUNIT_ARRAY_PARAM(lh, lh_cases, lh_case_desc);
KUNIT_ARRAY_PARAM(lh_break, lh_break_cases, lh_case_desc);
KUNIT_ARRAY_PARAM(lh_tenure, lh_tenure_cases, lh_case_desc);
KUNIT_ARRAY_PARAM(answer, lh_answers, lh_answer_desc);

static void lw_test(struct kunit *test)
{
	KUNIT_EXPECT_STREQ(test, lw_case_run(test->param_value) ?: "", "");
}

static void lw_fields_test(struct kunit *test)
{
	KUNIT_EXPECT_STREQ(test, lw_fields_run() ?: "", "");
}

static void token_test(struct kunit *test)
{
	KUNIT_EXPECT_STREQ(test, token_case_run(test->param_value) ?: "", "");
}

static void lc_test(struct kunit *test)
{
	KUNIT_EXPECT_STREQ(test, lc_case_run(test->param_value) ?: "", "");
}

static void lh_birth_test(struct kunit *test)
{
	KUNIT_EXPECT_STREQ(test, lh_birth_run(test->param_value) ?: "", "");
}

static void lh_test(struct kunit *test)
{
	KUNIT_EXPECT_STREQ(test, lh_case_run(test->param_value) ?: "", "");
}

static void lh_answer_test(struct kunit *test)
{
	KUNIT_EXPECT_STREQ(test, lh_answer_run(test->param_value) ?: "", "");
}

static struct kunit_case lock_tests[] = {
	KUNIT_CASE_PARAM(lw_test, lw_gen_params),
	KUNIT_CASE(lw_fields_test),
	KUNIT_CASE_PARAM(token_test, token_gen_params),
	KUNIT_CASE_PARAM(lc_test, lc_gen_params),
	KUNIT_CASE_PARAM(lc_test, lc_break_gen_params),
	KUNIT_CASE_PARAM(lc_test, lc_tenure_gen_params),
	KUNIT_CASE_PARAM(lh_birth_test, birth_gen_params),
	KUNIT_CASE_PARAM(lh_test, lh_gen_params),
	KUNIT_CASE_PARAM(lh_test, lh_break_gen_params),
	KUNIT_CASE_PARAM(lh_test, lh_tenure_gen_params),
	KUNIT_CASE_PARAM(lh_answer_test, answer_gen_params),
	{}
};

static struct kunit_suite lock_suite = {
	.name = "tally_lock",
	.test_cases = lock_tests,
};

kunit_test_suite(lock_suite);

MODULE_DESCRIPTION("KUnit tests of the tally lock tables");
MODULE_LICENSE("GPL");
