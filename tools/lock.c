// SPDX-License-Identifier: GPL-2.0
#include <linux/tally.h>
#include "object.h"
#include "tally.h"

static const struct object_type lock_type = { TALLY_TYPE_LOCK, "lock" };

static int lock_add(int argc, char **argv)
{
	return object_add(&lock_type, argc, argv);
}

static int lock_del(int argc, char **argv)
{
	return object_del(&lock_type, argc, argv);
}

static int lock_break(int argc, char **argv)
{
	return object_break(&lock_type, argc, argv);
}

static int lock_show(int argc, char **argv)
{
	return object_show(&lock_type, argc, argv);
}

const struct command lock_commands[] = {
	{ "add", lock_add,
	  "ARENA/NAME [ class { external | region } ] [ cache { on | off } ]\n"
	  "                       [ budget N ] [ within MS ] [ owner USER ]\n"
	  "                       [ group GROUP ] [ perm OCTAL ] [ node NODE ]" },
	{ "set", lock_set,
	  "ARENA/NAME [ cache { on | off } ] [ budget N ] [ within MS ]\n"
	  "                       [ node NODE ]" },
	{ "break", lock_break, "ARENA/NAME [ node NODE ]" },
	{ "del", lock_del, "ARENA/NAME [ node NODE ]" },
	{ "show", lock_show, "[ ARENA | ARENA/NAME ] [ node NODE ]" },
	{ "run", lock_run,
	  "ARENA[@NODE]/NAME [ shared ] [ timeout { MS | none } ] [ try ] --\n"
	  "                       COMMAND [ ARGUMENT ]..." },
	{ NULL, NULL, NULL },
};
