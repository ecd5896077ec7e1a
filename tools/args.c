// SPDX-License-Identifier: GPL-2.0
#include <ctype.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/tally.h>
#include "../kmod/base/name.h"
#include "args.h"
#include "tally.h"

static const char *const name_rule =
	"a name is 1 to 63 of [A-Za-z0-9._-] and begins with neither . nor -";

/* The longest of the names in a word such as ARENA@NODE/OBJECT. */
static size_t longest_name(const char *word)
{
	size_t len, longest = 0;

	for (;; word += len + 1) {
		len = strcspn(word, "@/");
		if (len > longest)
			longest = len;
		if (!word[len])
			return longest;
	}
}

/* What is wrong with a name, or with one of those in a path. */
static const char *name_fault(const char *word)
{
	size_t len = longest_name(word);
	static char text[160];

	if (len <= TALLY_NAME_LEN)
		return name_rule;
	snprintf(text, sizeof(text), "%s; this one has %zu characters",
		 name_rule, len);
	return text;
}

static struct arg *args_find(struct arg *args, const char *word)
{
	for (; args->key; args++)
		if (!strcmp(args->key, word))
			return args;
	return NULL;
}

static int args_take(struct arg *arg, const char *value)
{
	const char *why;

	if (arg->seen) {
		say("'%s' is given twice", arg->key);
		return USAGE;
	}
	arg->seen = true;
	if (!arg->parse) {
		*(bool *)arg->to = true;
		return DONE;
	}
	if (!value) {
		say("'%s' needs a value", arg->key);
		return USAGE;
	}
	why = arg->parse(value, arg->to);
	if (!why)
		return DONE;
	say("%s '%s': %s", arg->key, value, why);
	return USAGE;
}

static void unexpected(const char *word, const struct arg *args)
{
	const struct arg *arg, *key = NULL;

	for (arg = args; arg->key; arg++) {
		if (!arg->parse || arg->seen)
			continue;
		if (!key || (arg->required && !key->required))
			key = arg;
	}
	if (key && isdigit((unsigned char)word[word[0] == '-']))
		say("'%s' was not expected; a value follows its key, as in '%s %s'",
		    word, key->key, word);
	else
		say("unknown word '%s'", word);
}

/**
 * args_same_node - the node that a command names is that of -n, if there is one
 * @node: its name
 *
 * Return: DONE, or USAGE after a sentence.
 */
int args_same_node(const char *node)
{
	if (!opt.node || !strcmp(opt.node, node))
		return DONE;
	say("-n says node %s, the command says %s: leave one of them out",
	    opt.node, node);
	return USAGE;
}

/**
 * args_parse - read "key value" pairs
 * @argc: number of words
 * @argv: the words
 * @args: keys the command knows
 *
 * Return: DONE, or USAGE after a sentence.
 */
int args_parse(int argc, char **argv, struct arg *args)
{
	struct arg *arg;

	while (argc) {
		arg = args_find(args, argv[0]);
		if (!arg) {
			unexpected(argv[0], args);
			return USAGE;
		}
		if (args_take(arg, argc > 1 ? argv[1] : NULL))
			return USAGE;
		argv += arg->parse ? 2 : 1;
		argc -= arg->parse ? 2 : 1;
	}
	for (arg = args; arg->key; arg++) {
		if (!arg->required || arg->seen)
			continue;
		say("'%s' is missing", arg->key);
		return USAGE;
	}
	arg = args_find(args, "node");
	return arg && arg->seen ? args_same_node(*(const char **)arg->to) : DONE;
}

/**
 * args_name - take a name
 * @argc: number of words, lowered
 * @argv: the words, moved on
 * @what: of what
 * @name: set to it
 *
 * Return: DONE, or USAGE after a sentence.
 */
int args_name(int *argc, char ***argv, const char *what, const char **name)
{
	if (!*argc) {
		say("the name of the %s is missing", what);
		return USAGE;
	}
	*name = (*argv)[0];
	if (!tally_name_valid(*name, strlen(*name))) {
		say("%s '%s': %s", what, *name, name_fault(*name));
		return USAGE;
	}
	++*argv;
	--*argc;
	return DONE;
}

/* A key followed by a value is no name, even when it could be one. */
static bool is_name(int argc, char **argv, const struct arg *args)
{
	if (!argc)
		return false;
	for (; args->key; args++)
		if (argc > 1 && !strcmp(args->key, argv[0]))
			return false;
	return true;
}

/**
 * args_optional_name - take a name if the next word is no key
 * @argc: number of words, lowered
 * @argv: the words, moved on
 * @args: the keys
 * @what: of what
 * @name: set to it, or to NULL
 *
 * Return: DONE, or USAGE after a sentence.
 */
int args_optional_name(int *argc, char ***argv, const struct arg *args,
		       const char *what, const char **name)
{
	*name = NULL;
	return is_name(*argc, *argv, args) ?
	       args_name(argc, argv, what, name) : DONE;
}

static bool arena_valid(const char *arena)
{
	const char *at = strchr(arena, '@');

	if (!at)
		return tally_name_valid(arena, strlen(arena));
	return tally_name_valid(arena, at - arena) &&
	       tally_name_valid(at + 1, strlen(at + 1));
}

/**
 * args_optional_arena - as args_optional_name(), of an arena, which may be ARENA@NODE
 * @argc: number of words, lowered
 * @argv: the words, moved on
 * @args: the keys
 * @name: set to it, or to NULL
 *
 * Return: DONE, or USAGE after a sentence.
 */
int args_optional_arena(int *argc, char ***argv, const struct arg *args,
			const char **name)
{
	*name = NULL;
	if (!is_name(*argc, *argv, args))
		return DONE;
	if (!strchr((*argv)[0], '@') || !arena_valid((*argv)[0]))
		return args_name(argc, argv, "arena", name);
	*name = (*argv)[0];
	++*argv;
	--*argc;
	return DONE;
}

/**
 * args_path - take ARENA/OBJECT
 * @argc: number of words, lowered
 * @argv: the words, moved on
 * @path: filled
 *
 * Return: DONE, or USAGE after a sentence.
 */
int args_path(int *argc, char ***argv, struct path *path)
{
	const char *word, *slash;
	size_t len;

	if (!*argc) {
		say("ARENA/NAME is missing");
		return USAGE;
	}
	word = (*argv)[0];
	slash = strchr(word, '/');
	if (!slash) {
		say("'%s': write ARENA/NAME", word);
		return USAGE;
	}
	len = slash - word;
	if (len >= sizeof(path->arena) ||
	    strlen(slash + 1) >= sizeof(path->object)) {
		say("'%s': %s", word, name_fault(word));
		return USAGE;
	}
	memcpy(path->arena, word, len);
	path->arena[len] = '\0';
	memcpy(path->object, slash + 1, strlen(slash + 1) + 1);
	if (!arena_valid(path->arena) ||
	    !tally_name_valid(path->object, strlen(path->object))) {
		say("'%s': %s", word, name_fault(word));
		return USAGE;
	}
	++*argv;
	--*argc;
	return DONE;
}

/**
 * args_none - nothing may follow
 * @argc: number of words
 * @argv: the words
 *
 * Return: DONE, or USAGE after a sentence.
 */
int args_none(int argc, char **argv)
{
	if (!argc)
		return DONE;
	say("unknown word '%s'", argv[0]);
	return USAGE;
}

/* Any word. */
const char *arg_word(const char *word, void *to)
{
	if (!word[0])
		return "it is empty";
	*(const char **)to = word;
	return NULL;
}

/* The name of a node, a peer, … */
const char *arg_name(const char *word, void *to)
{
	if (!tally_name_valid(word, strlen(word)))
		return name_fault(word);
	*(const char **)to = word;
	return NULL;
}

static const char *parse_number(const char *word, int base, uint64_t max,
				uint64_t *value, char **end)
{
	if (!isdigit((unsigned char)word[0]))
		return "not a number";
	errno = 0;
	*value = strtoull(word, end, base);
	if (errno == ERANGE || *value > max)
		return "too large";
	return NULL;
}

/* A number in decimal, or in hexadecimal after 0x. */
const char *arg_u64(const char *word, void *to)
{
	int base = !strncmp(word, "0x", 2) ? 16 : 10;
	const char *why;
	uint64_t value;
	char *end;

	why = parse_number(word, base, UINT64_MAX, &value, &end);
	if (why)
		return why;
	if (*end)
		return "not a number";
	*(uint64_t *)to = value;
	return NULL;
}

/* The same, or with a minus: counters wrap around. */
const char *arg_wrap(const char *word, void *to)
{
	const char *why;
	uint64_t value;

	if (word[0] != '-')
		return arg_u64(word, to);
	why = arg_u64(word + 1, &value);
	if (!why)
		*(uint64_t *)to = -value;
	return why;
}

/* A number of 32 bits. */
const char *arg_u32(const char *word, void *to)
{
	const char *why;
	uint64_t value;

	why = arg_u64(word, &value);
	if (why)
		return why;
	if (value > UINT32_MAX)
		return "too large";
	*(uint32_t *)to = value;
	return NULL;
}

/* Milliseconds to wait at most, or none: for as long as it takes. */
const char *arg_timeout(const char *word, void *to)
{
	const char *why;

	*(uint32_t *)to = TALLY_TIMEOUT_NONE;
	if (!strcmp(word, "none"))
		return NULL;
	why = arg_u32(word, to);
	if (!why && *(uint32_t *)to == TALLY_TIMEOUT_NONE)
		why = "in no time nothing can be done; write milliseconds, or none";
	return why;
}

/* A port. */
const char *arg_port(const char *word, void *to)
{
	const char *why;
	uint64_t value;

	why = arg_u64(word, &value);
	if (why)
		return why;
	if (!value || value > UINT16_MAX)
		return "a port is 1 to 65535";
	*(uint16_t *)to = value;
	return NULL;
}

/* A number of bytes, not 0. */
const char *arg_size(const char *word, void *to)
{
	static const char units[] = "KMGT";
	const char *why, *unit;
	uint64_t value;
	int shift = 0;
	char *end;

	why = parse_number(word, 10, UINT64_MAX, &value, &end);
	if (why)
		return why;
	if (*end) {
		unit = strchr(units, *end);
		if (!unit || end[1])
			return "write bytes, or a number that ends with K, M, G or T";
		shift = 10 * (unit - units + 1);
	}
	if (value > UINT64_MAX >> shift)
		return "too large";
	if (!value)
		return "must be larger than 0";
	*(uint64_t *)to = value << shift;
	return NULL;
}

/* Permission bits. */
const char *arg_perm(const char *word, void *to)
{
	const char *why;
	uint64_t value;
	char *end;

	why = parse_number(word, 8, 0777, &value, &end);
	if (why || *end)
		return "write 0 to 0777, in octal";
	*(uint32_t *)to = value;
	return NULL;
}

/* A user, by name or number. */
const char *arg_user(const char *word, void *to)
{
	struct passwd *user = getpwnam(word);

	if (!user)
		return arg_u32(word, to) ? "no such user" : NULL;
	*(uint32_t *)to = user->pw_uid;
	return NULL;
}

/* A group, by name or number. */
const char *arg_group(const char *word, void *to)
{
	struct group *group = getgrnam(word);

	if (!group)
		return arg_u32(word, to) ? "no such group" : NULL;
	*(uint32_t *)to = group->gr_gid;
	return NULL;
}

/* One of a few words, which stand for their index. */
static bool choose(const char *word, const char *const *words, uint32_t count,
		   void *to)
{
	for (uint32_t i = 0; i < count; i++) {
		if (strcmp(word, words[i]))
			continue;
		*(uint32_t *)to = i;
		return true;
	}
	return false;
}

/* How an arena's words are operated on. */
const char *arg_mode(const char *word, void *to)
{
	static const char *const words[] = {
		[TALLY_MODE_AUTO] = "auto",
		[TALLY_MODE_NIC] = "nic",
		[TALLY_MODE_CPU] = "cpu",
	};

	return choose(word, words, 3, to) ? NULL : "write auto, nic or cpu";
}

/* What a peer may do. */
const char *arg_access(const char *word, void *to)
{
	static const char *const words[] = {
		[TALLY_ACCESS_NONE] = "none",
		[TALLY_ACCESS_RO] = "ro",
		[TALLY_ACCESS_RW] = "rw",
	};

	return choose(word, words, 3, to) ? NULL : "write none, ro or rw";
}

/* The rights of one peer, ACCESS_DEFAULT: no own ones. */
const char *arg_right(const char *word, void *to)
{
	if (strcmp(word, "default"))
		return arg_access(word, to) ? "write none, ro, rw or default" :
					      NULL;
	*(uint32_t *)to = ACCESS_DEFAULT;
	return NULL;
}

/* What a lock protects. */
const char *arg_class(const char *word, void *to)
{
	static const char *const words[] = {
		[TALLY_CLASS_EXTERNAL] = "external",
		[TALLY_CLASS_REGION] = "region",
	};

	return choose(word, words, 2, to) ? NULL : "write external or region";
}

/* A switch. */
const char *arg_onoff(const char *word, void *to)
{
	static const char *const words[] = { "off", "on" };
	uint32_t value;

	if (!choose(word, words, 2, &value))
		return "write on or off";
	*(bool *)to = value;
	return NULL;
}
