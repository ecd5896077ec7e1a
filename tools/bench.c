// SPDX-License-Identifier: GPL-2.0
/*
 * tally bench: has the module tally_bench measure, and tells the result. Every
 * figure is a row; the A/A row says what a ratio is worth.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "args.h"
#include "bench.h"
#include "out.h"
#include "tally.h"

#define BENCH_DIR	"/sys/kernel/debug/tally_bench/"
#define BENCH_ROWS	2048
#define BENCH_KEYS	32
/* A ratio of an A/A row that is further from 1 makes all of them void. */
#define BENCH_AA	"aa."
#define BENCH_SPREAD	"aa.faa.latency"
#define BENCH_AA_MAX	0.03
#define BENCH_COUNT	1000

/**
 * struct row - one figure
 * @name: its name
 * @unit: of the values
 * @value: the subject's
 * @base: the baseline's, itself where it has none
 * @ratio: median of the rounds' ratios
 */
struct row {
	char name[64];
	char unit[12];
	double value;
	double base;
	double ratio;
};

/* "key value" pairs as the module tells them. */
struct pairs {
	char text[1024];
	const char *key[BENCH_KEYS];
	const char *value[BENCH_KEYS];
	int count;
};

static struct row rows[BENCH_ROWS];
static int row_count;
static int run_fd = -1;
static double aa_ratio = 1, spread;

static struct {
	struct bench_names names;
	const char *home, *figure, *lane;
	uint32_t rounds, calls;
} bench;

static void add_row(const char *name, const char *suffix, const char *unit,
		    double value, double base, double ratio)
{
	struct row *row = &rows[row_count];

	if (row_count == BENCH_ROWS) {
		say("more than %u figures: %s%s is left out", BENCH_ROWS, name,
		    suffix);
		return;
	}
	row_count++;
	snprintf(row->name, sizeof(row->name), "%s%s", name, suffix);
	snprintf(row->unit, sizeof(row->unit), "%s", unit);
	row->value = value;
	row->base = base;
	row->ratio = ratio;
}

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return errno;
	if (write(fd, text, strlen(text)) < 0)
		err = errno;
	close(fd);
	return err;
}

static int set_parameter(const char *name, uint32_t value)
{
	char path[80], text[16];
	int err;

	if (!value)
		return DONE;
	snprintf(path, sizeof(path), "/sys/module/tally_bench/parameters/%s",
		 name);
	snprintf(text, sizeof(text), "%u", value);
	err = write_file(path, text);
	if (err)
		say("%s: %s", path, strerror(err));
	return err ? FAILED : DONE;
}

static void read_pairs(struct pairs *pairs)
{
	static const char blanks[] = "\n ";
	FILE *file = fopen(BENCH_DIR "result", "re");
	char *word, *at;

	pairs->count = 0;
	if (!file)
		return;
	word = fgets(pairs->text, sizeof(pairs->text), file);
	fclose(file);
	for (; word && pairs->count < BENCH_KEYS; pairs->count++) {
		word = strtok_r(word == pairs->text ? word : NULL, blanks, &at);
		if (!word)
			break;
		pairs->key[pairs->count] = word;
		word = strtok_r(NULL, blanks, &at);
		pairs->value[pairs->count] = word ? word : "";
	}
}

static const char *pair(const struct pairs *pairs, const char *key)
{
	int i;

	for (i = 0; i < pairs->count; i++)
		if (!strcmp(pairs->key[i], key))
			return pairs->value[i];
	return "";
}

static double number(const struct pairs *pairs, const char *key)
{
	return strtod(pair(pairs, key), NULL);
}

static double per(double value, double base)
{
	return base > 0 ? value / base : 1;
}

/* Wire operations of the baseline for a change of the lock's holder, or 0. */
static double rival_wire(const struct pairs *p)
{
	double handoffs = number(p, "base_handoffs");

	return handoffs > 0 ? number(p, "base_posts") * number(p, "base_rate") /
			      handoffs : 0;
}

/* What else is known about a call. */
static void take_details(const char *name, const struct pairs *p)
{
	static const char * const times[][3] = {
		{ "p50", "base_p50", ".p50" },
		{ "p99", "base_p99", ".p99" },
		{ "p999", "base_p999", ".p999" },
	};
	unsigned int i;
	double value, base;

	for (i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		value = number(p, times[i][0]) / 1000;
		base = number(p, times[i][1]) / 1000;
		/* Of several callers there is the rate only. */
		if (!(base > 0))
			continue;
		add_row(name, times[i][2], "us", value, base, per(value, base));
	}
	value = number(p, "rate");
	base = number(p, "base_rate");
	add_row(name, ".rate", "ops/s", value, base, per(value, base));
}

/* How a lock was granted: to the node that got it least; most often in a row. */
static void take_grants(const char *name, const struct pairs *p)
{
	double slowest = number(p, "slowest"), longest = number(p, "longest");

	add_row(name, ".slowest", "grants", slowest, slowest, 1);
	add_row(name, ".longest", "grants", longest, longest, 1);
}

static void take_result(const struct pairs *p)
{
	const char *name = pair(p, "name"), *unit = pair(p, "unit");
	double low = number(p, "low"), high = number(p, "high");

	add_row(name, "", unit, number(p, "value"), number(p, "baseline"),
		number(p, "ratio"));
	if (*pair(p, "base_p50"))
		take_details(name, p);
	if (*pair(p, "base_handoffs"))
		add_row(name, ".handoffs", "per second", number(p, "handoffs"),
			number(p, "base_handoffs"),
			per(number(p, "handoffs"), number(p, "base_handoffs")));
	if (*pair(p, "base_posts"))
		add_row(name, ".base_wireops", "operations",
			number(p, "base_posts"), number(p, "base_posts"), 1);
	if (*pair(p, "slowest"))
		take_grants(name, p);
	if (strncmp(name, BENCH_AA, strlen(BENCH_AA)))
		return;
	if (fabs(number(p, "ratio") - 1) > fabs(aa_ratio - 1))
		aa_ratio = number(p, "ratio");
	if (!strcmp(name, BENCH_SPREAD))
		spread = fmax(fabs(number(p, "ratio") - 1), (high - low) / 2);
}

/* While it is open, no other process can run anything. */
static int open_run(void)
{
	run_fd = open(BENCH_DIR "run", O_WRONLY | O_CLOEXEC);
	if (run_fd >= 0)
		return DONE;
	if (errno == EBUSY)
		say("tally_bench is measuring for another process: try again when that has ended");
	else
		say(BENCH_DIR "run: %s", strerror(errno));
	return FAILED;
}

static int run_figure(const char *command)
{
	int err = write(run_fd, command, strlen(command)) < 0 ? errno : 0;

	if (err == EBADE)
		say("%s: the lock let two in at once, or its token did not grow",
		    command);
	else if (err && err != ENXIO)
		say("%s: %s", command, strerror(err));
	return err;
}

static int read_result(const char *name, struct pairs *pairs)
{
	read_pairs(pairs);
	if (!strcmp(pair(pairs, "name"), name))
		return DONE;
	say("%s: the module has no result of it", name);
	return FAILED;
}

/* What @calls calls cost, or, with @rival, each change of a lock's holder. */
static void take_wire(const char *name, const struct wire *wire, bool whole,
		      double calls, double rival)
{
	double posts = wire->posts / calls, atomics = wire->atomics / calls;
	double doorbells = wire->doorbells / calls;
	double messages = wire->messages / calls;
	char stem[64];

	snprintf(stem, sizeof(stem), "%.*s",
		 (int)(strrchr(name, '.') - name), name);
	add_row(stem, ".wireops", "operations", posts, rival ? rival : posts,
		rival ? per(posts, rival) : 1);
	add_row(stem, ".atomics", "operations", atomics,
		rival ? rival : atomics, rival ? per(atomics, rival) : 1);
	add_row(stem, ".messages", "operations", messages, messages, 1);
	if (!rival)
		add_row(stem, ".waits", "doorbells", doorbells, doorbells, 1);
	/* What we count all of is a packet there and one back. */
	if (wire->posts && wire->posts == wire->atomics +
					  (whole ? wire->messages : 0))
		add_row(stem, ".packets", "packets", wire->packets / calls,
			2 * posts, per(wire->packets, 2 * wire->posts));
}

static void wire_subtract(struct wire *wire, const struct wire *before)
{
	wire->posts -= before->posts;
	wire->atomics -= before->atomics;
	wire->messages -= before->messages;
	wire->doorbells -= before->doorbells;
	wire->packets -= before->packets;
}

/*
 * Work requests, doorbells and packets of one call; with @rival, what a baseline
 * needs to take and release a lock, of one change of its holder.
 */
static int count_wire(const char *name, unsigned int nodes, double rival)
{
	const char *home = nodes > 1 ? bench.home : NULL;
	struct wire before, after;
	char command[96];
	struct pairs p;
	double times;
	int err;

	snprintf(command, sizeof(command), "count %s 0", name);
	err = run_figure(command);
	if (!err && wire_read(bench.names.nodes, nodes, home, &before))
		return FAILED;
	snprintf(command, sizeof(command), "count %s %u", name,
		 BENCH_COUNT);
	if (!err)
		err = run_figure(command);
	if (!err && (wire_read(bench.names.nodes, nodes, home, &after) ||
		     read_result(name, &p)))
		return FAILED;
	if (err)
		return err == ENXIO ? DONE : FAILED;
	wire_subtract(&after, &before);
	times = number(&p, rival ? "handed" : "calls");
	if (times > 0)
		take_wire(name, &after, home, times, rival);
	else
		say("%s: what goes by the wire is not shown: the lock never went to another node",
		    name);
	return DONE;
}

/* Is what it puts on the wire to be counted? Of several nodes only with all. */
static bool is_counted(const char *name, unsigned int nodes)
{
	const char *end = strrchr(name, '.');

	if (nodes > 1)
		return bench.home && !strcmp(end, ".goodput");
	return !strcmp(end, ".latency");
}

static int measure(const char *name, unsigned int nodes, bool counted)
{
	struct pairs p;
	int err;

	fprintf(stderr, "%-36s", name);
	fflush(stderr);
	err = run_figure(name);
	if (err == ENXIO) {
		fprintf(stderr, "not measured: no such object was named, or too few nodes\n");
		return DONE;
	}
	if (err || read_result(name, &p))
		return FAILED;
	take_result(&p);
	fprintf(stderr, "%12s %-6s ratio %s, baseline: %s of spin %s direct %s event %s\n",
		pair(&p, "value"), pair(&p, "unit"), pair(&p, "ratio"),
		pair(&p, "wait"), pair(&p, "spin"), pair(&p, "direct"),
		pair(&p, "event"));
	return counted ? count_wire(name, nodes, rival_wire(&p)) : DONE;
}

/* The A/A row always: others are worth nothing without. */
static bool is_wanted(const char *name)
{
	return !bench.figure || !strcmp(name, BENCH_SPREAD) ||
	       !strncmp(name, bench.figure, strlen(bench.figure));
}

static int measure_all(void)
{
	FILE *file = fopen(BENCH_DIR "figures", "re");
	char line[128], name[64], need[16];
	int status = DONE, words;
	unsigned int nodes;

	if (!file) {
		say(BENCH_DIR "figures: %s", strerror(errno));
		return FAILED;
	}
	while (fgets(line, sizeof(line), file)) {
		words = sscanf(line, "%63s %u %15s", name, &nodes, need);
		if (words < 2 || !is_wanted(name))
			continue;
		if (measure(name, nodes,
			    words == 3 && is_counted(name, nodes)))
			status = FAILED;
	}
	fclose(file);
	return status;
}

static void show_json(void)
{
	const char *lane = bench.lane ? bench.lane : "host";
	struct utsname system;
	const struct row *row;

	uname(&system);
	out_begin_list();
	for (row = rows; row < rows + row_count; row++) {
		out_begin();
		out_str("name", NULL, row->name);
		out_num("value", NULL, row->value);
		out_str("unit", NULL, row->unit);
		out_num("baseline", NULL, row->base);
		out_num("ratio", NULL, row->ratio);
		out_num("spread", NULL, spread);
		out_str("lane", NULL, lane);
		out_str("kernel", NULL, system.release);
		out_end();
	}
	out_end_list();
}

static void show_table(void)
{
	const struct row *row;

	printf("%-36s %14s %-10s %14s %8s\n", "name", "value", "unit",
	       "baseline", "ratio");
	for (row = rows; row < rows + row_count; row++)
		printf("%-36s %14.3f %-10s %14.3f %8.3f\n", row->name,
		       row->value, row->unit, row->base, row->ratio);
}

static int judge(void)
{
	if (fabs(aa_ratio - 1) <= BENCH_AA_MAX)
		return DONE;
	say("an A/A row is %.3f, outside 1 +- %.2f: the machine is too busy, all ratios are void",
	    aa_ratio, BENCH_AA_MAX);
	return FAILED;
}

static int run_and_show(void)
{
	int status = open_run();

	if (status)
		return status;
	status = set_parameter("rounds", bench.rounds);
	if (!status)
		status = set_parameter("calls", bench.calls);
	if (!status)
		status = measure_all();
	close(run_fd);
	if (opt.json)
		show_json();
	else
		show_table();
	return judge() ? FAILED : status;
}

static const char *arg_between(const char *word, void *to, uint32_t least,
			       uint32_t most, const char *fault)
{
	const char *why = arg_u32(word, to);
	uint32_t value = *(uint32_t *)to;

	if (why)
		return why;
	return value >= least && value <= most ? NULL : fault;
}

static const char *arg_rounds(const char *word, void *to)
{
	return arg_between(word, to, 9, 99, "there are 9 to 99 rounds");
}

static const char *arg_calls(const char *word, void *to)
{
	return arg_between(word, to, 8, 1000000, "there are 8 to 1000000 calls");
}

/* "-n NODE" is a list of one. */
static int choose_nodes(void)
{
	if (opt.node && bench.names.nodes) {
		say("bench: leave out either -n or \"nodes\": both say which nodes to use");
		return USAGE;
	}
	if (opt.node)
		bench.names.nodes = opt.node;
	return DONE;
}

int bench_run(int argc, char **argv)
{
	struct bench_names *names = &bench.names;
	struct arg args[] = {
		{ .key = "nodes", .parse = arg_word, .to = &names->nodes },
		{ .key = "counter", .parse = arg_word, .to = &names->counter },
		{ .key = "cpu", .parse = arg_word, .to = &names->cpu },
		{ .key = "lock", .parse = arg_word, .to = &names->lock },
		{ .key = "cached", .parse = arg_word, .to = &names->cached },
		{ .key = "cpu_lock", .parse = arg_word, .to = &names->cpu_lock },
		{ .key = "home", .parse = arg_word, .to = &bench.home },
		{ .key = "region", .parse = arg_word, .to = &names->region },
		{ .key = "dev", .parse = arg_word, .to = &names->dev },
		{ .key = "far", .parse = arg_word, .to = &names->far },
		{ .key = "figure", .parse = arg_word, .to = &bench.figure },
		{ .key = "rounds", .parse = arg_rounds, .to = &bench.rounds },
		{ .key = "calls", .parse = arg_calls, .to = &bench.calls },
		{ .key = "lane", .parse = arg_word, .to = &bench.lane },
		{ .key = NULL },
	};

	memset(&bench, 0, sizeof(bench));
	row_count = 0;
	aa_ratio = 1;
	if (args_parse(argc, argv, args) || choose_nodes())
		return USAGE;
	return bench_with_module(names, run_and_show);
}
