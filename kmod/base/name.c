// SPDX-License-Identifier: GPL-2.0
/* Pure: the module, the command and the unit tests build the same file. */
#include "name.h"

static bool name_char(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

/* 1 to 63 of [A-Za-z0-9._-], not beginning with '.' or '-'. */
bool tally_name_valid(const char *name, size_t len)
{
	size_t i;

	if (!len || len > TALLY_NAME_MAX || name[0] == '.' || name[0] == '-')
		return false;
	for (i = 0; i < len; i++)
		if (!name_char(name[i]))
			return false;
	return true;
}

/* A name in a fixed wire field: valid and padded with NULs to the end. */
bool tally_name_field_valid(const char *field, size_t size)
{
	size_t len = strnlen(field, size), i;

	if (len == size || !tally_name_valid(field, len))
		return false;
	for (i = len; i < size; i++)
		if (field[i])
			return false;
	return true;
}
