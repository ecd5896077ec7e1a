// SPDX-License-Identifier: GPL-2.0
// needs: base/name.c
/* One rule for the names of nodes, arenas and objects. */
#include "ktap.h"
#include "base/name.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define FIELD		64
#define SIXTY	"012345678901234567890123456789012345678901234567890123456789"

/* A name and whether it is one. */
static const struct name_case {
	const char *title;
	const char *name;
	bool valid;
} name_cases[] = {
	{ "a letter", "a", true },
	{ "a digit first", "9lives", true },
	{ "an underscore first", "_x", true },
	{ "every kind of character", "Az09._-", true },
	{ "dots and dashes inside and last", "a..b--c.-", true },
	{ "63 characters", SIXTY "abc", true },
	{ "nothing", "", false },
	{ "64 characters", SIXTY "abcd", false },
	{ "a dot first", ".hidden", false },
	{ "only a dot", ".", false },
	{ "a dash first", "-rf", false },
	{ "only a dash", "-", false },
	{ "a slash", "a/b", false },
	{ "an at sign", "a@b", false },
	{ "a space", "a b", false },
	{ "a newline last", "a\n", false },
	{ "a percent sign", "%s", false },
	{ "a letter that is not ASCII", "na\xc3\xafve", false },
	{ "the byte above 127", "\xff", false },
};

/* A field of fixed size as it comes from another node. */
static const struct field_case {
	const char *title;
	char field[FIELD];
	bool valid;
} field_cases[] = {
	{ "a padded name", "step", true },
	{ "63 characters and the end", SIXTY "abc", true },
	{ "no end", SIXTY "abcd", false },
	{ "all empty", "", false },
	{ "something behind the end", "step\0x", false },
	{ "something in the last byte", { 's', [FIELD - 1] = 'x' }, false },
	{ "an empty name, then something", "\0step", false },
	{ "a bad character", "st/ep", false },
	{ "a bad first character", ".step", false },
};

static const char *name_case_run(const struct name_case *c)
{
	bool valid = tally_name_valid(c->name, strlen(c->name));

	return valid == c->valid ? NULL : "validity";
}

static const char *field_case_run(const struct field_case *c)
{
	bool valid = tally_name_field_valid(c->field, sizeof(c->field));

	return valid == c->valid ? NULL : "validity";
}

/* All 256 bytes, against the rule as it is written for people. */
static const char *bytes_run(void)
{
	static const char allowed[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
	char name[2] = "a";
	int byte;

	for (byte = 0; byte < 256; byte++) {
		name[1] = (char)byte;
		if (tally_name_valid(name, 2) !=
		    (byte && memchr(allowed, byte, sizeof(allowed) - 1)))
			return "a byte";
	}
	return NULL;
}

/* Only as much is looked at as the length says. */
static const char *length_run(void)
{
	if (!tally_name_valid("ab/c", 2))
		return "what is behind the name";
	if (tally_name_valid("ab/c", 3))
		return "the last character";
	return NULL;
}

int main(void)
{
	const unsigned long names = ARRAY_SIZE(name_cases);
	const unsigned long fields = ARRAY_SIZE(field_cases);
	unsigned long k;

	ktap_start(names + fields + 2);
	for (k = 0; k < names; k++)
		ktap_result(name_cases[k].title, name_case_run(&name_cases[k]));
	for (k = 0; k < fields; k++)
		ktap_result(field_cases[k].title,
			    field_case_run(&field_cases[k]));
	ktap_result("every byte", bytes_run());
	ktap_result("the length", length_run());
	return ktap_end();
}
