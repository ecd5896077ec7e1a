// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <string.h>
#include "args.h"
#include "nl.h"
#include "out.h"
#include "tally.h"

static void show_module(void)
{
	FILE *file = fopen("/sys/module/tally/version", "re");
	char text[64] = "";

	if (!file)
		return;
	if (fgets(text, sizeof(text), file)) {
		text[strcspn(text, "\n")] = '\0';
		out_str("module", "module", text);
	}
	fclose(file);
}

int version_run(int argc, char **argv)
{
	unsigned int protocol;

	if (args_none(argc, argv))
		return USAGE;
	tnl_version(&protocol);
	out_begin();
	out_str("tool", "tally", TALLY_VERSION);
	out_u64("tool_protocol", "protocol", TALLY_FAMILY_VERSION, "");
	show_module();
	if (protocol)
		out_u64("module_protocol", "module protocol", protocol, "");
	out_bool("loaded", protocol, "", "module not loaded");
	out_end();
	return DONE;
}
