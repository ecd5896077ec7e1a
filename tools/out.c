// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include "out.h"
#include "tally.h"

#define DEPTH_MAX 8

static struct {
	int depth;
	bool used[DEPTH_MAX];	/* a value stands before in this list */
	bool middle;		/* text: something stands on this line */
	bool list;		/* an answer of many objects */
} out;

static int out_error;

/**
 * out_lost - what is printed is lost
 * @error: errno, why
 */
void out_lost(int error)
{
	if (!out_error)
		out_error = error;
}

/**
 * out_flush - print what is still in the buffer
 *
 * Return: 0, or errno of the first time that output failed.
 */
int out_flush(void)
{
	if (out_error)
		return out_error;
	errno = 0;
	if (fflush(stdout) || ferror(stdout))
		out_lost(errno ? errno : EIO);
	return out_error;
}

static void newline(void)
{
	if (!opt.pretty)
		return;
	putchar('\n');
	for (int i = 0; i < out.depth; i++)
		fputs("    ", stdout);
}

/* Length of the valid UTF-8 sequence at @s, 0 when there is none. */
static int utf8_len(const unsigned char *s)
{
	int len = *s < 0x80 ? 1 : *s < 0xc2 ? 0 : *s < 0xe0 ? 2 :
		  *s < 0xf0 ? 3 : *s < 0xf5 ? 4 : 0;

	for (int i = 1; i < len; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return len;
}

static void json_string(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	putchar('"');
	while (*s) {
		int len = utf8_len(s);

		if (*s == '"' || *s == '\\')
			printf("\\%c", *s);
		else if (*s < 0x20 || *s == 0x7f)
			printf("\\u%04x", *s);
		else if (len)
			fwrite(s, 1, len, stdout);
		else
			fputs("\\ufffd", stdout);
		s += len ? len : 1;
	}
	putchar('"');
}

/* What comes from elsewhere must not steer the terminal. */
static void text_string(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	while (*s) {
		int len = utf8_len(s);

		if (*s < 0x20 || *s == 0x7f || !len ||
		    (*s == 0xc2 && s[1] < 0xa0))
			putchar('?');
		else
			fwrite(s, 1, len, stdout);
		s += len ? len : 1;
	}
}

static void json_key(const char *key)
{
	if (out.used[out.depth])
		putchar(',');
	out.used[out.depth] = true;
	if (out.depth)
		newline();
	if (key) {
		json_string(key);
		fputs(opt.pretty ? ": " : ":", stdout);
	}
}

static void json_open(char c, const char *key)
{
	json_key(key);
	putchar(c);
	if (out.depth < DEPTH_MAX - 1)
		out.depth++;
	out.used[out.depth] = false;
}

static void json_close(char c)
{
	bool used = out.used[out.depth];

	out.depth--;
	if (used)
		newline();
	putchar(c);
}

static void json_end(void)
{
	if (out.depth)
		return;
	out.used[0] = false;
	putchar('\n');
	out_flush();
}

/**
 * out_begin_list - begin an answer with any number of objects
 */
void out_begin_list(void)
{
	out.list = true;
	if (opt.json)
		json_open('[', NULL);
}

/**
 * out_end_list - end it
 */
void out_end_list(void)
{
	out.list = false;
	if (opt.json) {
		json_close(']');
		json_end();
	} else {
		out_flush();
	}
}

/**
 * out_begin - begin an object; as text, a line
 */
void out_begin(void)
{
	out.middle = false;
	if (opt.json)
		json_open('{', NULL);
}

/**
 * out_end - end it
 */
void out_end(void)
{
	if (opt.json) {
		json_close('}');
		json_end();
		return;
	}
	if (out.middle)
		putchar('\n');
	out.middle = false;
	if (!out.list)
		out_flush();
}

static void label_text(const char *label)
{
	if (out.middle)
		putchar(' ');
	out.middle = true;
	if (label)
		printf("%s ", label);
}

static bool silent(const char *key, const char *label)
{
	return opt.json ? !key : label && !label[0];
}

/**
 * out_begin_array - begin a list inside an object
 * @key: name of it in JSON
 * @label: word before it in text, "" for none
 */
void out_begin_array(const char *key, const char *label)
{
	if (opt.json) {
		json_open('[', key);
		return;
	}
	if (!label[0])
		return;
	if (out.middle)
		putchar(' ');
	out.middle = true;
	fputs(label, stdout);
}

/**
 * out_end_array - end it
 */
void out_end_array(void)
{
	if (opt.json)
		json_close(']');
}

/**
 * out_begin_object - begin an object inside an object or a list
 * @key: its name in JSON, NULL in a list
 */
void out_begin_object(const char *key)
{
	if (opt.json)
		json_open('{', key);
}

/**
 * out_end_object - end it
 */
void out_end_object(void)
{
	if (opt.json)
		json_close('}');
}

/**
 * out_line - go on in a new line (text)
 */
void out_line(void)
{
	if (opt.json)
		return;
	fputs("\n   ", stdout);
	out.middle = true;
}

/**
 * out_str - print a string
 * @key: its name in JSON
 * @label: word before it in text
 * @value: the string
 */
void out_str(const char *key, const char *label, const char *value)
{
	if (silent(key, label))
		return;
	if (opt.json) {
		json_key(key[0] ? key : NULL);
		json_string(value);
		return;
	}
	label_text(label);
	text_string(value);
}

/**
 * out_u64 - print a number
 * @key: its name in JSON
 * @label: word before it in text
 * @value: the number
 * @unit: follows it in text, "" for none
 */
void out_u64(const char *key, const char *label, uint64_t value,
	     const char *unit)
{
	if (silent(key, label))
		return;
	if (opt.json) {
		json_key(key);
		printf("%llu", (unsigned long long)value);
		return;
	}
	label_text(label);
	printf("%llu%s", (unsigned long long)value, unit);
}

/**
 * out_num - print a number with a fraction
 * @key: its name in JSON
 * @label: word before it in text
 * @value: the number
 */
void out_num(const char *key, const char *label, double value)
{
	if (silent(key, label))
		return;
	if (opt.json)
		json_key(key);
	else
		label_text(label);
	printf("%.9g", value);
}

/**
 * out_hex - print an id
 * @key: its name in JSON, where it is a string
 * @label: word before it in text
 * @value: the id
 */
void out_hex(const char *key, const char *label, uint64_t value)
{
	char text[17];

	snprintf(text, sizeof(text), "%016llx",
		 (unsigned long long)value);
	out_str(key, label, text);
}

/**
 * out_size - print a number of bytes
 * @key: its name in JSON, where it is bytes
 * @label: word before it in text, where it has a suffix if it is even
 * @bytes: how many
 */
void out_size(const char *key, const char *label, uint64_t bytes)
{
	static const char units[] = "KMGT";
	char unit[2] = "";
	int i = 0;

	for (; !opt.json && i < 4 && bytes && !(bytes & 1023); i++) {
		bytes >>= 10;
		unit[0] = units[i];
	}
	out_u64(key, label, bytes, unit);
}

/**
 * out_ms - print a duration
 * @key: its name in JSON, where it is milliseconds
 * @label: word before it in text, where long ones are seconds
 * @ms: milliseconds
 */
void out_ms(const char *key, const char *label, uint64_t ms)
{
	if (opt.json || ms < 10000)
		out_u64(key, label, ms, "ms");
	else
		out_u64(key, label, ms / 1000, "s");
}

/**
 * out_perm - print permission bits
 * @key: their name in JSON, where they are a string too
 * @label: word before them in text
 * @perm: the bits
 */
void out_perm(const char *key, const char *label, unsigned int perm)
{
	char text[16];

	snprintf(text, sizeof(text), "%04o", perm);
	out_str(key, label, text);
}

/**
 * out_bool - print a truth
 * @key: its name in JSON
 * @value: true or false
 * @yes: text when true, "" for none
 * @no: text when false, "" for none
 */
void out_bool(const char *key, bool value, const char *yes, const char *no)
{
	const char *text = value ? yes : no;

	if (opt.json && key) {
		json_key(key);
		fputs(value ? "true" : "false", stdout);
	} else if (!opt.json && text[0]) {
		label_text(NULL);
		fputs(text, stdout);
	}
}

/* The last user, or group, that was looked up. */
struct known {
	bool known;
	uint32_t id;
	char name[256];
};

static void learn(struct known *last, uint32_t id, const char *name)
{
	last->known = true;
	last->id = id;
	snprintf(last->name, sizeof(last->name), "%s", name);
}

/**
 * out_uid - print a user, in text by name
 * @key: name in JSON, where it is a number
 * @label: word before it in text
 * @uid: user id
 */
void out_uid(const char *key, const char *label, uint32_t uid)
{
	static struct known user;

	/* In a list, most are the same. */
	if (!opt.json && (!user.known || user.id != uid)) {
		struct passwd *found = getpwuid(uid);

		learn(&user, uid, found ? found->pw_name : "");
	}
	if (!opt.json && user.name[0])
		out_str(key, label, user.name);
	else
		out_u64(key, label, uid, "");
}

/**
 * out_gid - print a group, in text by name
 * @key: name in JSON, where it is a number
 * @label: word before it in text
 * @gid: group id
 */
void out_gid(const char *key, const char *label, uint32_t gid)
{
	static struct known group;

	if (!opt.json && (!group.known || group.id != gid)) {
		struct group *found = getgrgid(gid);

		learn(&group, gid, found ? found->gr_name : "");
	}
	if (!opt.json && group.name[0])
		out_str(key, label, group.name);
	else
		out_u64(key, label, gid, "");
}
