// SPDX-License-Identifier: GPL-2.0
#include <linux/in6.h>
#include <net/ipv6.h>
#include "netlink/family.h"
#include "netlink/msg.h"
#include "session/lease.h"
#include "session/peer.h"

static int put_addr(struct sk_buff *skb, const struct sockaddr_storage *addr)
{
	const struct sockaddr_in6 *in6 = (const void *)addr;
	const struct sockaddr_in *in4 = (const void *)addr;
	struct in6_addr ip = in6->sin6_addr;
	__be16 port = in6->sin6_port;
	u32 scope = in6->sin6_scope_id;

	if (addr->ss_family == AF_INET) {
		ipv6_addr_set_v4mapped(in4->sin_addr.s_addr, &ip);
		port = in4->sin_port;
		scope = 0;
	}
	if (nla_put(skb, TALLY_A_PEER_ADDR, sizeof(ip), &ip) ||
	    (scope && nla_put_u32(skb, TALLY_A_PEER_SCOPE, scope)) ||
	    nla_put_u16(skb, TALLY_A_PEER_PORT, ntohs(port)))
		return -EMSGSIZE;
	return 0;
}

/* Under peer->lock. */
static int put_session(struct sk_buff *skb, const struct tally_peer *peer)
{
	struct tally_session *s = peer->session;

	if (!s)
		return 0;
	if (nla_put_u64_64bit(skb, TALLY_A_PEER_SESSION, s->id,
			      TALLY_A_PEER_PAD) ||
	    nla_put_u32(skb, TALLY_A_PEER_MY_SLOT, s->my_slot) ||
	    nla_put_u32(skb, TALLY_A_PEER_PEER_SLOT, s->peer_slot) ||
	    nla_put_u64_64bit(skb, TALLY_A_PEER_INCARNATION,
			      s->peer_incarnation, TALLY_A_PEER_PAD) ||
	    (peer->node->auth.key_len &&
	     nla_put_flag(skb, TALLY_A_PEER_AUTH)) ||
	    (s->peer_features & TALLY_FEATURE_ATOMICS &&
	     nla_put_flag(skb, TALLY_A_PEER_ATOMICS)) ||
	    nla_put_u32(skb, TALLY_A_PEER_LANES, s->lanes_up) ||
	    /* Before its device goes, the session leaves the peer. */
	    nla_put_string(skb, TALLY_A_PEER_DEVICE,
			   dev_name(&s->dev->ibdev->dev)) ||
	    nla_put_u32(skb, TALLY_A_PEER_LEASE, s->lease_ms) ||
	    nla_put_u64_64bit(skb, TALLY_A_PEER_LEASE_LEFT,
			      tally_session_lease_left(s), TALLY_A_PEER_PAD))
		return -EMSGSIZE;
	return 0;
}

static int put_trouble(struct sk_buff *skb, const struct tally_peer *peer)
{
	if (!peer->last_error)
		return 0;
	if (nla_put_u32(skb, TALLY_A_PEER_ERROR, -peer->last_error) ||
	    nla_put_string(skb, TALLY_A_PEER_REFUSAL,
			   tally_refusal_name(peer->last_refusal)) ||
	    tally_nl_put_text(skb, TALLY_A_PEER_TEXT, peer->last_text))
		return -EMSGSIZE;
	return 0;
}

static const char *peer_state(const struct tally_peer *peer)
{
	static const char * const names[] = {
		[TALLY_SESSION_OPENING] = "opening",
		[TALLY_SESSION_LIVE] = "live",
		[TALLY_SESSION_BROKEN] = "broken",
		[TALLY_SESSION_OVER] = "ending",
	};

	if (peer->session)
		return names[READ_ONCE(peer->session->state)];
	return peer->attempt ? "connecting" : "idle";
}

static int fill_peer(struct sk_buff *skb, const struct genl_info *info,
		     void *entry)
{
	struct tally_peer *peer = entry;
	void *hdr;
	int err;

	hdr = tally_nl_begin(skb, info);
	if (!hdr)
		return -EMSGSIZE;
	mutex_lock(&peer->lock);
	err = nla_put_string(skb, TALLY_A_PEER_NAME, peer->name) ?:
	      put_addr(skb, &peer->addr) ?:
	      nla_put_string(skb, TALLY_A_PEER_STATE, peer_state(peer));
	if (!err && peer->seen_epoch)
		err = nla_put_u64_64bit(skb, TALLY_A_PEER_EPOCH,
					peer->seen_epoch, TALLY_A_PEER_PAD);
	err = err ?: nla_put_u64_64bit(skb, TALLY_A_PEER_CONNECTS,
				       peer->connects, TALLY_A_PEER_PAD) ?:
	      put_session(skb, peer) ?: put_trouble(skb, peer);
	mutex_unlock(&peer->lock);
	if (err)
		genlmsg_cancel(skb, hdr);
	else
		genlmsg_end(skb, hdr);
	return err;
}

static int take_ipv4(struct genl_info *info, const struct in6_addr *mapped,
		     struct sockaddr_in *addr)
{
	addr->sin_family = AF_INET;
	addr->sin_addr.s_addr = mapped->s6_addr32[3];
	if (addr->sin_addr.s_addr == htonl(INADDR_ANY) ||
	    ipv4_is_multicast(addr->sin_addr.s_addr))
		return tally_nl_fail(info->extack,
				     info->attrs[TALLY_A_PEER_ADDR],
				     "not the address of a machine", -EINVAL);
	return 0;
}

static int take_ipv6(struct genl_info *info, const struct in6_addr *raw,
		     struct sockaddr_in6 *addr)
{
	const struct nlattr *scope = info->attrs[TALLY_A_PEER_SCOPE];
	const struct nlattr *nla = info->attrs[TALLY_A_PEER_ADDR];

	addr->sin6_family = AF_INET6;
	addr->sin6_addr = *raw;
	addr->sin6_scope_id = scope ? nla_get_u32(scope) : 0;
	if (ipv6_addr_any(raw) || ipv6_addr_is_multicast(raw))
		return tally_nl_fail(info->extack, nla,
				     "not the address of a machine", -EINVAL);
	if (__ipv6_addr_needs_scope_id(__ipv6_addr_type(raw)) && !scope)
		return tally_nl_fail(info->extack, nla,
				     "a link-local address needs an interface",
				     -EINVAL);
	return 0;
}

static int take_addr(struct genl_info *info, struct sockaddr_storage *addr)
{
	const struct nlattr *nla = info->attrs[TALLY_A_PEER_PORT];
	__be16 port = htons(nla ? nla_get_u16(nla) : TALLY_PORT_DEFAULT);
	struct in6_addr raw;

	if (GENL_REQ_ATTR_CHECK(info, TALLY_A_PEER_ADDR))
		return -EINVAL;
	raw = nla_get_in6_addr(info->attrs[TALLY_A_PEER_ADDR]);
	if (ipv6_addr_v4mapped(&raw)) {
		((struct sockaddr_in *)addr)->sin_port = port;
		return take_ipv4(info, &raw, (struct sockaddr_in *)addr);
	}
	((struct sockaddr_in6 *)addr)->sin6_port = port;
	return take_ipv6(info, &raw, (struct sockaddr_in6 *)addr);
}

/**
 * tally_nl_peer_add_doit - peer-add
 * @skb: the request
 * @info: the request
 *
 * Return: 0 or negative errno.
 */
int tally_nl_peer_add_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct sockaddr_storage addr = {};
	char name[TALLY_NAME_SIZE];
	const char *reason = NULL;
	struct tally_node *node;
	struct tally_peer *peer;
	int err;

	err = tally_nl_name(info, TALLY_A_PEER_NAME, name) ?:
	      take_addr(info, &addr);
	if (err)
		return err;
	node = tally_nl_node_running(info, TALLY_A_PEER_NODE);
	if (IS_ERR(node))
		return PTR_ERR(node);
	err = tally_peer_add(node, name, &addr, &reason);
	if (err) {
		tally_nl_fail(info->extack, info->attrs[TALLY_A_PEER_NAME],
			      reason, err);
		goto put_node;
	}
	tally_netlink_event(node, "peer_add", name, "");
	peer = tally_peer_find(node, name);
	if (peer) {
		/* It stands, whether this answer can be made or not. */
		tally_nl_reply(info, fill_peer, peer);
		tally_peer_put(peer);
	}
put_node:
	tally_node_put(node);
	return err;
}

/**
 * tally_nl_peer_del_doit - peer-del
 * @skb: the request
 * @info: the request
 *
 * Return: 0 or negative errno.
 */
int tally_nl_peer_del_doit(struct sk_buff *skb, struct genl_info *info)
{
	char name[TALLY_NAME_SIZE];
	struct tally_node *node;
	int err;

	if (GENL_REQ_ATTR_CHECK(info, TALLY_A_PEER_NAME))
		return -EINVAL;
	nla_strscpy(name, info->attrs[TALLY_A_PEER_NAME], sizeof(name));
	node = tally_nl_node(genl_info_net(info),
			     info->attrs[TALLY_A_PEER_NODE], info->extack);
	if (IS_ERR(node))
		return PTR_ERR(node);
	err = tally_peer_del(node, name);
	if (!err)
		tally_netlink_event(node, "peer_del", name, "");
	else if (err == -ENOENT)
		NL_SET_ERR_MSG_ATTR(info->extack,
				    info->attrs[TALLY_A_PEER_NAME],
				    "no peer of that name");
	tally_node_put(node);
	return err;
}

/**
 * tally_nl_peer_get_start - begin peer-get
 * @cb: the dump
 *
 * Return: 0, or -ENOENT when the node is none.
 */
int tally_nl_peer_get_start(struct netlink_callback *cb)
{
	return tally_nl_start(cb, TALLY_A_PEER_NODE);
}

/**
 * tally_nl_peer_get_dumpit - peer-get
 * @skb: to be filled
 * @cb: the dump
 *
 * Return: bytes filled, 0 at the end, or negative errno.
 */
int tally_nl_peer_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct tally_nl_cursor *cursor = tally_nl_dump_from(cb);
	struct tally_peer *peer;
	int err = 0;

	while (!err && (peer = tally_peer_next(cursor->node, cursor->id))) {
		if (tally_nl_dump_name(cb, TALLY_A_PEER_NAME, peer->name))
			err = tally_nl_dump(skb, cb, fill_peer, peer);
		if (!err)
			cursor->id = peer->id;
		tally_peer_put(peer);
	}
	return tally_nl_dump_to(skb, cb, err);
}
