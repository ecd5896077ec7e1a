/* SPDX-License-Identifier: GPL-2.0 */
/* Arguments: "key value" pairs, names, paths, numbers. */
#ifndef TALLY_ARGS_H
#define TALLY_ARGS_H

#include <stdbool.h>
#include <stdint.h>

/* Turns a word into a value at @to. Return: NULL, or why it is none. */
typedef const char *(*arg_parse)(const char *word, void *to);

/**
 * struct arg - a key that a command knows; a table of them ends with key NULL
 * @key: the key
 * @parse: how to read its value; NULL: it has none, *(bool *)@to becomes true
 * @to: where it goes
 * @required: it must be there
 * @seen: it was there
 */
struct arg {
	const char *key;
	arg_parse parse;
	void *to;
	bool required;
	bool seen;
};

/**
 * struct path - ARENA/OBJECT
 * @arena: ARENA or ARENA@NODE
 * @object: OBJECT
 */
struct path {
	char arena[2 * 64];
	char object[64];
};

int args_parse(int argc, char **argv, struct arg *args);
int args_name(int *argc, char ***argv, const char *what, const char **name);
int args_optional_arena(int *argc, char ***argv, const struct arg *args,
			const char **name);
int args_optional_name(int *argc, char ***argv, const struct arg *args,
		       const char *what, const char **name);
int args_path(int *argc, char ***argv, struct path *path);
int args_same_node(const char *node);
int args_none(int argc, char **argv);

const char *arg_word(const char *word, void *to);	/* const char * */
const char *arg_name(const char *word, void *to);	/* const char * */
const char *arg_u64(const char *word, void *to);	/* uint64_t */
const char *arg_wrap(const char *word, void *to);	/* uint64_t, may be negative */
const char *arg_u32(const char *word, void *to);	/* uint32_t */
const char *arg_timeout(const char *word, void *to);	/* uint32_t */
const char *arg_port(const char *word, void *to);	/* uint16_t, not 0 */
const char *arg_size(const char *word, void *to);	/* uint64_t, suffix K M G T */
const char *arg_perm(const char *word, void *to);	/* uint32_t, octal */
const char *arg_user(const char *word, void *to);	/* uint32_t */
const char *arg_group(const char *word, void *to);	/* uint32_t */
const char *arg_mode(const char *word, void *to);	/* uint32_t */
const char *arg_access(const char *word, void *to);	/* uint32_t */
#define ACCESS_DEFAULT UINT32_MAX
const char *arg_right(const char *word, void *to);	/* uint32_t */
const char *arg_class(const char *word, void *to);	/* uint32_t */
const char *arg_onoff(const char *word, void *to);	/* bool */

#endif
