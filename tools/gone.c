// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "gone.h"
#include "nl.h"
#include "tally.h"

#define STEP_MS 50

static int poll_until(bool (*gone)(const char *node, const char *name),
		      const char *node, const char *name)
{
	const struct timespec step = { .tv_nsec = STEP_MS * 1000000L };

	for (int i = 0; i < GONE_SECONDS * 1000 / STEP_MS; i++) {
		if (gone(node, name))
			return DONE;
		nanosleep(&step, NULL);
	}
	return TIMED_OUT;
}

static bool node_gone(const char *node, const char *name)
{
	struct tnl_request req = { .quiet = ENOENT };

	(void)name;
	snprintf(req.about, sizeof(req.about), "node del %s", node);
	if (tnl_begin(&req, TALLY_CMD_NODE_GET, true))
		return false;
	tnl_put_node(&req, TALLY_A_NODE_NAME, node);
	return tnl_talk(&req, TALLY_A_NODE_MAX, NULL) &&
	       req.error == ENOENT;
}

static bool arena_gone(const char *node, const char *name)
{
	struct tnl_request req = { .quiet = ENOENT };

	snprintf(req.about, sizeof(req.about), "arena del %s", name);
	if (tnl_begin(&req, TALLY_CMD_ARENA_GET, true))
		return false;
	tnl_put_node(&req, TALLY_A_ARENA_NODE, node);
	nla_put_string(req.msg, TALLY_A_ARENA_NAME, name);
	if (tnl_talk(&req, TALLY_A_ARENA_MAX, NULL))
		return req.error == ENOENT;
	return !req.answers;
}

/* The network namespace in which a node is looked for, and was it seen there? */
static uint32_t wanted;
static bool seen;

static void look(struct nlattr **a, struct nlmsghdr *hdr)
{
	(void)hdr;
	if (tnl_num(a[TALLY_A_NODE_NETNS]) == wanted)
		seen = true;
}

static bool node_gone_there(const char *node, const char *name)
{
	struct tnl_request req = {};

	(void)name;
	seen = false;
	snprintf(req.about, sizeof(req.about), "node del %s", node);
	if (tnl_begin(&req, TALLY_CMD_NODE_GET, true) ||
	    tnl_ready(&req, nla_put_flag(req.msg, TALLY_A_NODE_ALL)))
		return false;
	tnl_put_node(&req, TALLY_A_NODE_NAME, node);
	return !tnl_talk(&req, TALLY_A_NODE_MAX, look) && !seen;
}

static void look_peer(struct nlattr **a, struct nlmsghdr *hdr)
{
	const char *state = tnl_str(a[TALLY_A_PEER_STATE]);

	(void)hdr;
	/* Another one of that name may have been added meanwhile. */
	if (state && !strcmp(state, "deleted"))
		seen = true;
}

static bool peer_gone(const char *node, const char *name)
{
	struct tnl_request req = { .quiet = ENOENT };

	seen = false;
	snprintf(req.about, sizeof(req.about), "peer del %s", name);
	if (tnl_begin(&req, TALLY_CMD_PEER_GET, true))
		return false;
	tnl_put_node(&req, TALLY_A_PEER_NODE, node);
	nla_put_string(req.msg, TALLY_A_PEER_NAME, name);
	if (tnl_talk(&req, TALLY_A_PEER_MAX, look_peer))
		return req.error == ENOENT;
	return !seen;
}

/**
 * gone_node - wait until a node is gone
 * @node: its name
 * @netns: its network namespace, 0 for our own
 *
 * Return: DONE or TIMED_OUT.
 */
int gone_node(const char *node, uint32_t netns)
{
	wanted = netns;
	return poll_until(netns ? node_gone_there : node_gone, node, NULL);
}

/**
 * gone_peer - wait until a peer is out
 * @node: whose peer it was, NULL for the node chosen
 * @peer: its name
 *
 * Return: DONE or TIMED_OUT.
 */
int gone_peer(const char *node, const char *peer)
{
	return poll_until(peer_gone, node, peer);
}

/**
 * gone_arena - wait until an arena is gone
 * @node: its home, NULL for the node chosen
 * @arena: its name
 *
 * Return: DONE or TIMED_OUT.
 */
int gone_arena(const char *node, const char *arena)
{
	return poll_until(arena_gone, node, arena);
}
