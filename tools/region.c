// SPDX-License-Identifier: GPL-2.0
#include <linux/tally.h>
#include "object.h"
#include "tally.h"

static const struct object_type region_type = { TALLY_TYPE_REGION, "region" };

static int region_add(int argc, char **argv)
{
	return object_add(&region_type, argc, argv);
}

static int region_del(int argc, char **argv)
{
	return object_del(&region_type, argc, argv);
}

static int region_show(int argc, char **argv)
{
	return object_show(&region_type, argc, argv);
}

const struct command region_commands[] = {
	{ "add", region_add,
	  "ARENA/NAME size SIZE [ owner USER ] [ group GROUP ] [ perm OCTAL ]\n"
	  "                         [ node NODE ]" },
	{ "del", region_del, "ARENA/NAME [ node NODE ]" },
	{ "show", region_show, "[ ARENA | ARENA/NAME ] [ node NODE ]" },
	{ NULL, NULL, NULL },
};
