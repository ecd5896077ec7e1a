// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include "args.h"
#include "nl.h"
#include "out.h"
#include "tally.h"

static const struct tnl_word stat_words[TALLY_A_STAT_MAX + 1] = {
	[TALLY_A_STAT_NODE] = { "node", true },
};

static bool show_all;

static void show_item(struct nlattr *item)
{
	struct nlattr *tb[TALLY_A_STAT_ITEM_MAX + 1];
	const char *name;
	uint64_t value;

	if (nla_parse_nested(tb, TALLY_A_STAT_ITEM_MAX, item, NULL))
		return;
	name = tnl_str(tb[TALLY_A_STAT_ITEM_NAME]);
	value = tnl_num(tb[TALLY_A_STAT_ITEM_VALUE]);
	if (opt.json) {
		out_u64(name, NULL, value, "");
	} else if (value || show_all) {
		out_line();
		out_u64(NULL, name, value, "");
	}
}

/* Was anybody? */
static bool refused(struct nlmsghdr *hdr)
{
	struct nlattr *tb[TALLY_A_STAT_ITEM_MAX + 1];
	struct nlattr *pos;

	for (pos = tnl_next(hdr, NULL, TALLY_A_STAT_REFUSAL); pos;
	     pos = tnl_next(hdr, pos, TALLY_A_STAT_REFUSAL))
		if (!nla_parse_nested(tb, TALLY_A_STAT_ITEM_MAX, pos, NULL) &&
		    tnl_num(tb[TALLY_A_STAT_ITEM_VALUE]))
			return true;
	return false;
}

static void show_stats(struct nlattr **a, struct nlmsghdr *hdr)
{
	struct nlattr *pos;

	out_begin();
	out_str("node", NULL, tnl_str(a[TALLY_A_STAT_NODE]));
	out_begin_object("counters");
	for (pos = tnl_next(hdr, NULL, TALLY_A_STAT_COUNTER); pos;
	     pos = tnl_next(hdr, pos, TALLY_A_STAT_COUNTER))
		show_item(pos);
	out_end_object();
	if (show_all || refused(hdr)) {
		out_line();
		out_bool(NULL, true, "refused:", "");
	}
	out_begin_object("refusals");
	for (pos = tnl_next(hdr, NULL, TALLY_A_STAT_REFUSAL); pos;
	     pos = tnl_next(hdr, pos, TALLY_A_STAT_REFUSAL))
		show_item(pos);
	out_end_object();
	out_end();
}

int stats_run(int argc, char **argv)
{
	struct tnl_request req = { .words = stat_words,
				  .count = TALLY_A_STAT_MAX + 1,
				  .about = "stats" };
	const char *node = NULL;
	struct arg args[] = {
		{ .key = "all", .to = &show_all },
		{ .key = "node", .parse = arg_name, .to = &node },
		{ .key = NULL },
	};

	show_all = false;
	if (args_parse(argc, argv, args))
		return USAGE;
	if (tnl_begin(&req, TALLY_CMD_STATS_GET, false))
		return FAILED;
	tnl_put_node(&req, TALLY_A_STAT_NODE, node);
	return tnl_talk(&req, TALLY_A_STAT_MAX, show_stats);
}
