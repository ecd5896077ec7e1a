// SPDX-License-Identifier: GPL-2.0
#include <arpa/inet.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include "args.h"
#include "key.h"
#include "gone.h"
#include "nl.h"
#include "out.h"
#include "tally.h"

static const struct tnl_word peer_words[] = {
	[TALLY_A_PEER_NODE] = { "node", true },
	[TALLY_A_PEER_NAME] = { "peer", true },
	[TALLY_A_PEER_SCOPE] = { "interface", false },
	[TALLY_A_PEER_PORT] = { "port", false },
	[TALLY_A_PEER_KEY] = { "key", true },
	[TALLY_A_PEER_ADDR] = { NULL, false },
	[TALLY_A_PEER_MAX] = { NULL, false },
};

struct peer_addr {
	struct in6_addr addr;
	uint32_t scope;
};

static const char *arg_addr(const char *word, void *to)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST,
				  .ai_family = AF_INET6 };
	struct peer_addr *addr = to;
	struct addrinfo *info;

	memset(addr, 0, sizeof(*addr));
	if (inet_pton(AF_INET, word, &addr->addr.s6_addr[12]) == 1) {
		memset(&addr->addr.s6_addr[10], 0xff, 2);
		return NULL;
	}
	/* This one knows ADDRESS%INTERFACE too. */
	if (getaddrinfo(word, NULL, &hints, &info))
		return "this is no IPv4 or IPv6 address";
	addr->addr = ((struct sockaddr_in6 *)info->ai_addr)->sin6_addr;
	addr->scope = ((struct sockaddr_in6 *)info->ai_addr)->sin6_scope_id;
	freeaddrinfo(info);
	return NULL;
}

static void addr_text(struct nlattr *from, char text[INET6_ADDRSTRLEN])
{
	struct in6_addr addr = { 0 };

	if (from)
		nla_memcpy(&addr, from, sizeof(addr));
	if (IN6_IS_ADDR_V4MAPPED(&addr))
		inet_ntop(AF_INET, &addr.s6_addr[12], text, INET6_ADDRSTRLEN);
	else
		inet_ntop(AF_INET6, &addr, text, INET6_ADDRSTRLEN);
}

static void show_addr(struct nlattr **a)
{
	char text[INET6_ADDRSTRLEN + IF_NAMESIZE + 1] = "";
	uint32_t scope = tnl_num(a[TALLY_A_PEER_SCOPE]);
	char name[IF_NAMESIZE];
	size_t len;

	addr_text(a[TALLY_A_PEER_ADDR], text);
	len = strlen(text);
	if (scope && if_indextoname(scope, name))
		snprintf(text + len, sizeof(text) - len, "%%%s", name);
	else if (scope)
		snprintf(text + len, sizeof(text) - len, "%%%u", scope);
	out_str("addr", "addr", text);
	out_u64("port", "port", tnl_num(a[TALLY_A_PEER_PORT]), "");
	if (a[TALLY_A_PEER_FROM]) {
		addr_text(a[TALLY_A_PEER_FROM], text);
		out_str("from", "linked from", text);
	}
}

static void show_session(struct nlattr **a)
{
	out_line();
	if (a[TALLY_A_PEER_SESSION])
		out_hex("session", "session", tnl_num(a[TALLY_A_PEER_SESSION]));
	out_bool("auth", a[TALLY_A_PEER_AUTH], "auth key", "auth none");
	out_u64("lanes", "lanes", tnl_num(a[TALLY_A_PEER_LANES]), "");
	out_str("device", "device", tnl_str(a[TALLY_A_PEER_DEVICE]));
	out_bool("atomics", a[TALLY_A_PEER_ATOMICS], "", "peer posts no atomics");
	out_line();
	out_u64("lease_ms", "lease", tnl_num(a[TALLY_A_PEER_LEASE]), "ms");
	out_u64("lease_left_ms", "left", tnl_num(a[TALLY_A_PEER_LEASE_LEFT]),
		"ms");
	out_u64("my_slot", "slot there",
		tnl_num(a[TALLY_A_PEER_MY_SLOT]), "");
	out_u64("peer_slot", "slot here",
		tnl_num(a[TALLY_A_PEER_PEER_SLOT]), "");
	if (a[TALLY_A_PEER_INCARNATION])
		out_hex("incarnation", "incarnation",
			tnl_num(a[TALLY_A_PEER_INCARNATION]));
}

static void show_trouble(struct nlattr **a)
{
	out_line();
	out_str("error", "last error:",
		strerror(tnl_num(a[TALLY_A_PEER_ERROR])));
	out_u64("errno", "", tnl_num(a[TALLY_A_PEER_ERROR]), "");
	if (a[TALLY_A_PEER_REFUSAL])
		out_str("refusal", "refusal", tnl_str(a[TALLY_A_PEER_REFUSAL]));
	if (a[TALLY_A_PEER_TEXT])
		out_str("text", "-", tnl_str(a[TALLY_A_PEER_TEXT]));
}

static void show_peer(struct nlattr **a, struct nlmsghdr *hdr)
{
	(void)hdr;
	out_begin();
	out_str("name", NULL, tnl_str(a[TALLY_A_PEER_NAME]));
	out_str("state", NULL, tnl_str(a[TALLY_A_PEER_STATE]));
	show_addr(a);
	out_u64("connects", "attempts", tnl_num(a[TALLY_A_PEER_CONNECTS]), "");
	if (a[TALLY_A_PEER_KEY])
		out_str("key", "key", tnl_str(a[TALLY_A_PEER_KEY]));
	if (a[TALLY_A_PEER_EPOCH])
		out_u64("epoch", "epoch", tnl_num(a[TALLY_A_PEER_EPOCH]), "");
	if (a[TALLY_A_PEER_MY_SLOT])
		show_session(a);
	if (a[TALLY_A_PEER_ENDED]) {
		out_line();
		out_str("ended", "last session ended:",
			tnl_str(a[TALLY_A_PEER_ENDED]));
	}
	if (a[TALLY_A_PEER_ERROR])
		show_trouble(a);
	out_end();
}

static int peer_add(int argc, char **argv)
{
	struct tnl_request req = { .words = peer_words,
				  .count = TALLY_A_PEER_MAX + 1 };
	const char *name, *node = NULL, *key = NULL, *keyfile = NULL;
	struct peer_addr addr = { 0 };
	uint16_t port = TALLY_PORT;
	struct arg args[] = {
		{ .key = "addr", .parse = arg_addr, .to = &addr,
		  .required = true },
		{ .key = "port", .parse = arg_port, .to = &port },
		{ .key = "key", .parse = arg_word, .to = &key },
		{ .key = "keyfile", .parse = arg_word, .to = &keyfile },
		{ .key = "node", .parse = arg_name, .to = &node },
		{ .key = NULL },
	};

	if (args_name(&argc, &argv, "peer", &name) ||
	    args_parse(argc, argv, args))
		return USAGE;
	if (key && keyfile) {
		say("peer add %s: write key or keyfile, not both", name);
		return USAGE;
	}
	snprintf(req.about, sizeof(req.about), "peer add %s", name);
	if ((keyfile && key_from_file(keyfile, &key)) ||
	    tnl_begin(&req, TALLY_CMD_PEER_ADD, false))
		return FAILED;
	tnl_put_node(&req, TALLY_A_PEER_NODE, node);
	if (tnl_ready(&req, nla_put_string(req.msg, TALLY_A_PEER_NAME, name) |
			   nla_put(req.msg, TALLY_A_PEER_ADDR,
				   sizeof(addr.addr), &addr.addr) |
			   (addr.scope ?
			    nla_put_u32(req.msg, TALLY_A_PEER_SCOPE,
					addr.scope) : 0) |
			   (key ? nla_put_string(req.msg, TALLY_A_PEER_KEY,
						 key) : 0) |
			   nla_put_u16(req.msg, TALLY_A_PEER_PORT, port)))
		return FAILED;
	return tnl_talk(&req, TALLY_A_PEER_MAX, opt.json ? show_peer : NULL);
}

static int peer_del(int argc, char **argv)
{
	struct tnl_request req = { .words = peer_words,
				  .count = TALLY_A_PEER_MAX + 1 };
	const char *name, *node = NULL;
	struct arg args[] = {
		{ .key = "node", .parse = arg_name, .to = &node },
		{ .key = NULL },
	};

	if (args_name(&argc, &argv, "peer", &name) ||
	    args_parse(argc, argv, args))
		return USAGE;
	snprintf(req.about, sizeof(req.about), "peer del %s", name);
	if (tnl_begin(&req, TALLY_CMD_PEER_DEL, false))
		return FAILED;
	tnl_put_node(&req, TALLY_A_PEER_NODE, node);
	if (tnl_ready(&req, nla_put_string(req.msg, TALLY_A_PEER_NAME, name)) ||
	    tnl_talk(&req, TALLY_A_PEER_MAX, NULL))
		return FAILED;
	if (!gone_peer(node, name))
		return DONE;
	say("peer %s: its session has not ended after %d s; see 'tally peer show %s'",
	    name, GONE_SECONDS, name);
	return TIMED_OUT;
}

static int peer_show(int argc, char **argv)
{
	struct tnl_request req = { .words = peer_words,
				  .count = TALLY_A_PEER_MAX + 1,
				  .list = true };
	const char *name, *node = NULL;
	struct arg args[] = {
		{ .key = "node", .parse = arg_name, .to = &node },
		{ .key = NULL },
	};

	if (args_optional_name(&argc, &argv, args, "peer", &name) ||
	    args_parse(argc, argv, args))
		return USAGE;
	snprintf(req.about, sizeof(req.about), "peer show%s%s",
		 name ? " " : "", name ? name : "");
	if (tnl_begin(&req, TALLY_CMD_PEER_GET, true))
		return FAILED;
	tnl_put_node(&req, TALLY_A_PEER_NODE, node);
	if (name) {
		nla_put_string(req.msg, TALLY_A_PEER_NAME, name);
		req.none = "there is no peer of that name";
	}
	return tnl_talk(&req, TALLY_A_PEER_MAX, show_peer);
}

const struct command peer_commands[] = {
	{ "add", peer_add, "NAME addr ADDRESS [ port PORT ]\n"
	  "                       [ keyfile FILE | key DESCRIPTION ] [ node NODE ]" },
	{ "del", peer_del, "NAME [ node NODE ]" },
	{ "show", peer_show, "[ NAME ] [ node NODE ]" },
	{ NULL, NULL, NULL },
};
