// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "args.h"
#include "nl.h"
#include "out.h"
#include "tally.h"

static void show_time(void)
{
	char date[32], text[48];
	struct timespec now;
	struct tm tm;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text, sizeof(text), "%s.%03ldZ", date,
		 now.tv_nsec / 1000000);
	out_str("time", NULL, text);
}

/* So that whoever began it knows that it hears what comes from now on. */
static void show_listening(void)
{
	out_begin();
	show_time();
	out_str("event", NULL, "listening");
	out_end();
}

static void show_event(struct nlattr **a, struct nlmsghdr *hdr)
{
	/* Comes of looking at locks. */
	if (hdr && !strcmp(tnl_str(a[TALLY_A_EVENT_NAME]), "locks_asked"))
		return;
	if (hdr && opt.node && strcmp(tnl_str(a[TALLY_A_EVENT_NODE]), opt.node))
		return;
	out_begin();
	show_time();
	if (!hdr) {
		out_str("event", NULL, "overrun");
		out_str("detail", NULL, "events were lost");
		out_end();
		return;
	}
	out_str("node", NULL, tnl_str(a[TALLY_A_EVENT_NODE]));
	out_str("event", NULL, tnl_str(a[TALLY_A_EVENT_NAME]));
	if (a[TALLY_A_EVENT_SUBJECT])
		out_str("subject", NULL, tnl_str(a[TALLY_A_EVENT_SUBJECT]));
	if (a[TALLY_A_EVENT_DETAIL])
		out_str("detail", NULL, tnl_str(a[TALLY_A_EVENT_DETAIL]));
	out_end();
}

/* Until events come. Return: false when nobody can read what we say. */
static bool wait_for_events(void)
{
	struct pollfd fds[] = {
		{ .fd = tnl_events_fd(), .events = POLLIN },
		/* A pipe without a reader is an error condition. */
		{ .fd = STDOUT_FILENO },
	};

	while (!out_flush() && !fds[0].revents) {
		if (fds[1].revents) {
			out_lost(EPIPE);
			break;
		}
		poll(fds, 2, -1);
	}
	return !out_flush();
}

int monitor_run(int argc, char **argv)
{
	if (args_none(argc, argv))
		return USAGE;
	if (tnl_listen())
		return FAILED;
	show_listening();
	while (wait_for_events() && !tnl_hear(0, TALLY_A_EVENT_MAX, show_event))
		;
	return FAILED;
}
