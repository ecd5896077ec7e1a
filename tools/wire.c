// SPDX-License-Identifier: GPL-2.0
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "bench.h"
#include "nl.h"
#include "tally.h"

#define WIRE_COUNTERS	"/sys/class/infiniband/*/ports/*/hw_counters/sent_pkts"

static const struct tnl_word stat_words[TALLY_A_STAT_MAX + 1] = {
	[TALLY_A_STAT_NODE] = { "node", true },
};

static struct wire *wire_to;

static void wire_item(struct nlattr *item)
{
	struct nlattr *tb[TALLY_A_STAT_ITEM_MAX + 1];
	const char *name;
	uint64_t value;

	if (nla_parse_nested(tb, TALLY_A_STAT_ITEM_MAX, item, NULL))
		return;
	name = tnl_str(tb[TALLY_A_STAT_ITEM_NAME]);
	value = tnl_num(tb[TALLY_A_STAT_ITEM_VALUE]);
	if (!strcmp(name, "post_faa") || !strcmp(name, "post_cas")) {
		wire_to->atomics += value;
		wire_to->posts += value;
	} else if (!strcmp(name, "post_read") || !strcmp(name, "post_write")) {
		wire_to->posts += value;
	} else if (!strcmp(name, "post_send")) {
		wire_to->messages += value;
		wire_to->posts += value;
	} else if (!strcmp(name, "doorbell")) {
		wire_to->doorbells += value;
	}
}

static void wire_stats(struct nlattr **a, struct nlmsghdr *hdr)
{
	struct nlattr *pos;

	for (pos = tnl_next(hdr, NULL, TALLY_A_STAT_COUNTER); pos;
	     pos = tnl_next(hdr, pos, TALLY_A_STAT_COUNTER))
		wire_item(pos);
	(void)a;
}

/* The kernel keeps what it told for 10 ms. */
static uint64_t wire_packets(void)
{
	struct timespec nap = { .tv_nsec = 30 * 1000 * 1000 };
	unsigned long long value;
	uint64_t sum = 0;
	glob_t files;
	FILE *file;
	size_t i;

	nanosleep(&nap, NULL);
	if (glob(WIRE_COUNTERS, 0, NULL, &files))
		return 0;
	for (i = 0; i < files.gl_pathc; i++) {
		file = fopen(files.gl_pathv[i], "re");
		if (!file)
			continue;
		if (fscanf(file, "%llu", &value) == 1)
			sum += value;
		fclose(file);
	}
	globfree(&files);
	return sum;
}

static int wire_add(const char *node)
{
	struct tnl_request req = { .words = stat_words,
				  .count = TALLY_A_STAT_MAX + 1,
				  .about = "stats" };

	if (tnl_begin(&req, TALLY_CMD_STATS_GET, false))
		return FAILED;
	tnl_put_node(&req, TALLY_A_STAT_NODE, node);
	return tnl_talk(&req, TALLY_A_STAT_MAX, wire_stats);
}

int wire_read(const char *nodes, unsigned int count, const char *home,
	      struct wire *wire)
{
	int status = DONE;
	char name[64];
	size_t len;

	memset(wire, 0, sizeof(*wire));
	wire_to = wire;
	if (!nodes)
		status = wire_add(NULL);
	for (; nodes && *nodes && count && !status; count--) {
		len = strcspn(nodes, ",");
		if (len >= sizeof(name)) {
			say("bench: nodes %s: a name has at most 63 characters",
			    nodes);
			return FAILED;
		}
		snprintf(name, sizeof(name), "%.*s", (int)len, nodes);
		status = wire_add(name);
		nodes += len + (nodes[len] == ',');
	}
	if (home && !status)
		status = wire_add(home);
	wire->packets = wire_packets();
	return status;
}
