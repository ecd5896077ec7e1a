// SPDX-License-Identifier: GPL-2.0
#include <linux/in6.h>
#include <net/ipv6.h>
#include "home/admin.h"
#include "netlink/msg.h"
#include "session/lease.h"
#include "session/peer.h"

static struct in6_addr ip_of(const struct sockaddr_storage *addr)
{
	struct in6_addr ip = ((const struct sockaddr_in6 *)addr)->sin6_addr;

	if (addr->ss_family == AF_INET)
		ipv6_addr_set_v4mapped(((const struct sockaddr_in *)addr)->
				       sin_addr.s_addr, &ip);
	return ip;
}

static bool put_addr(struct sk_buff *skb, const struct sockaddr_storage *addr)
{
	const struct sockaddr_in6 *in6 = (const void *)addr;
	bool is_in6 = addr->ss_family == AF_INET6;
	u32 scope = is_in6 ? in6->sin6_scope_id : 0;
	struct in6_addr ip = ip_of(addr);
	__be16 port = is_in6 ? in6->sin6_port :
			       ((const struct sockaddr_in *)addr)->sin_port;

	return nla_put(skb, TALLY_A_PEER_ADDR, sizeof(ip), &ip) ||
	       (scope && nla_put_u32(skb, TALLY_A_PEER_SCOPE, scope)) ||
	       nla_put_u16(skb, TALLY_A_PEER_PORT, ntohs(port));
}

/* Where the link leads, where that is not the address that was configured. */
static bool put_from(struct sk_buff *skb, const struct tally_peer *peer)
{
	struct in6_addr ip, configured = ip_of(&peer->addr);
	struct sockaddr_storage addr;

	if (!tally_session_addr(peer->session, &addr))
		return false;
	ip = ip_of(&addr);
	return !ipv6_addr_equal(&ip, &configured) &&
	       nla_put(skb, TALLY_A_PEER_FROM, sizeof(ip), &ip);
}

/* Under peer->lock. */
static bool put_session(struct sk_buff *skb, const struct tally_peer *peer)
{
	struct tally_session *s = peer->session;

	return s &&
	       (nla_put_u32(skb, TALLY_A_PEER_MY_SLOT, s->my_slot) ||
		nla_put_u32(skb, TALLY_A_PEER_PEER_SLOT, s->peer_slot) ||
		(tally_peer_secret(peer)->len &&
		 nla_put_flag(skb, TALLY_A_PEER_AUTH)) ||
		(s->peer_features & TALLY_FEATURE_ATOMICS &&
		 nla_put_flag(skb, TALLY_A_PEER_ATOMICS)) ||
		nla_put_u32(skb, TALLY_A_PEER_LANES, s->lanes_up) ||
		/* Before its device goes, the session leaves the peer. */
		nla_put_string(skb, TALLY_A_PEER_DEVICE,
			       dev_name(&s->dev->ibdev->dev)) ||
		nla_put_u32(skb, TALLY_A_PEER_LEASE, s->lease_ms) ||
		nla_put_u64_64bit(skb, TALLY_A_PEER_LEASE_LEFT,
				  tally_session_lease_left(s),
				  TALLY_A_PEER_PAD) ||
		put_from(skb, peer));
}

static bool put_trouble(struct sk_buff *skb, const struct tally_peer *peer)
{
	return peer->last_error &&
	       (nla_put_u32(skb, TALLY_A_PEER_ERROR, -peer->last_error) ||
		(peer->last_refusal &&
		 nla_put_string(skb, TALLY_A_PEER_REFUSAL,
				tally_refusal_name(peer->last_refusal))) ||
		tally_nl_put_text(skb, TALLY_A_PEER_TEXT, peer->last_text));
}

static const char *peer_state(const struct tally_peer *peer)
{
	static const char * const names[] = {
		[TALLY_SESSION_OPENING] = "opening",
		[TALLY_SESSION_LIVE] = "live",
		[TALLY_SESSION_BROKEN] = "broken",
		[TALLY_SESSION_OVER] = "ending",
	};

	if (peer->dead)
		return "deleted";
	if (peer->session)
		return names[READ_ONCE(peer->session->state)];
	return peer->attempt ? "connecting" : "idle";
}

/* Under peer->lock: all but what names the session. */
static bool put_peer(struct sk_buff *skb, const struct tally_peer *peer)
{
	return nla_put_string(skb, TALLY_A_PEER_NAME, peer->name) ||
	       put_addr(skb, &peer->addr) ||
	       tally_nl_put_text(skb, TALLY_A_PEER_KEY, peer->key) ||
	       nla_put_string(skb, TALLY_A_PEER_STATE, peer_state(peer)) ||
	       (peer->seen_epoch &&
		nla_put_u64_64bit(skb, TALLY_A_PEER_EPOCH, peer->seen_epoch,
				  TALLY_A_PEER_PAD)) ||
	       nla_put_u64_64bit(skb, TALLY_A_PEER_CONNECTS, peer->connects,
				 TALLY_A_PEER_PAD) ||
	       put_session(skb, peer) ||
	       (peer->ended &&
		nla_put_string(skb, TALLY_A_PEER_ENDED,
			       tally_session_why(peer->ended))) ||
	       put_trouble(skb, peer);
}

static bool fill_public(struct sk_buff *skb, void *hdr, void *entry)
{
	struct tally_peer *peer = entry;

	guard(mutex)(&peer->lock);
	return put_peer(skb, peer);
}

/* With the numbers that its messages carry: they are not for every user. */
static bool fill_peer(struct sk_buff *skb, void *hdr, void *entry)
{
	struct tally_peer *peer = entry;
	struct tally_session *s;

	guard(mutex)(&peer->lock);
	s = peer->session;
	return put_peer(skb, peer) ||
	       (s &&
		(nla_put_u64_64bit(skb, TALLY_A_PEER_SESSION, s->id,
				   TALLY_A_PEER_PAD) ||
		 nla_put_u64_64bit(skb, TALLY_A_PEER_INCARNATION,
				   s->peer_incarnation, TALLY_A_PEER_PAD)));
}

static int take_addr(struct genl_info *info, struct sockaddr_storage *addr)
{
	const struct nlattr *scope = info->attrs[TALLY_A_PEER_SCOPE];
	const struct nlattr *nla = info->attrs[TALLY_A_PEER_ADDR];
	__be16 port = htons(info->attrs[TALLY_A_PEER_PORT] ?
			    nla_get_u16(info->attrs[TALLY_A_PEER_PORT]) :
			    TALLY_PORT_DEFAULT);
	struct in6_addr ip;
	bool bad;

	if (GENL_REQ_ATTR_CHECK(info, TALLY_A_PEER_ADDR))
		return -EINVAL;
	ip = nla_get_in6_addr(nla);
	if (ipv6_addr_v4mapped(&ip)) {
		*(struct sockaddr_in *)addr = (struct sockaddr_in){
			.sin_family = AF_INET,
			.sin_port = port,
			.sin_addr.s_addr = ip.s6_addr32[3],
		};
		bad = !ip.s6_addr32[3] || ipv4_is_multicast(ip.s6_addr32[3]);
	} else {
		*(struct sockaddr_in6 *)addr = (struct sockaddr_in6){
			.sin6_family = AF_INET6,
			.sin6_port = port,
			.sin6_addr = ip,
			.sin6_scope_id = scope ? nla_get_u32(scope) : 0,
		};
		bad = ipv6_addr_any(&ip) || ipv6_addr_is_multicast(&ip);
	}
	if (bad)
		return tally_nl_fail(info->extack, nla,
				     "not the address of a machine", -EINVAL);
	if (__ipv6_addr_needs_scope_id(__ipv6_addr_type(&ip)) && !scope)
		return tally_nl_fail(info->extack, nla,
				     "a link-local address needs its interface: write ADDRESS%INTERFACE",
				     -EINVAL);
	return 0;
}

static const struct tally_nl_blame add_blame[] = {
	{ -ENOKEY, TALLY_A_PEER_KEY },
	{ -EKEYEXPIRED, TALLY_A_PEER_KEY },
	{ -EKEYREVOKED, TALLY_A_PEER_KEY },
	{ -EKEYREJECTED, TALLY_A_PEER_KEY },
	{ 0, TALLY_A_PEER_NAME }
};

int tally_nl_peer_add_doit(struct sk_buff *skb, struct genl_info *info)
{
	const struct nlattr *given = info->attrs[TALLY_A_PEER_KEY];
	struct sockaddr_storage addr = {};
	char name[TALLY_NAME_SIZE], key[128] = "";
	const char *reason = NULL;
	struct tally_node *node;
	struct tally_peer *peer;
	int err = tally_nl_name(info, TALLY_A_PEER_NAME, name) ?:
		  take_addr(info, &addr);

	if (err)
		return err;
	if (given && !nla_strscpy(key, given, sizeof(key)))
		return tally_nl_fail(info->extack, given,
				     "the description of the key is empty",
				     -EINVAL);
	node = tally_nl_node_running(info, TALLY_A_PEER_NODE);
	if (IS_ERR(node))
		return PTR_ERR(node);
	err = tally_peer_add(node, name, &addr, key, &reason);
	if (err)
		tally_nl_blame(info, add_blame, reason, err);
	else
		tally_node_event(node, "peer_add", name, "");
	/* It stands, whether this answer can be made or not. */
	peer = err ? NULL : tally_peer_find(node, name);
	if (peer)
		tally_nl_reply(info, fill_peer, peer);
	tally_peer_put(peer);
	tally_node_put(node);
	return err;
}

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
		tally_arenas_forget_peer(node, name);
	if (!err)
		tally_node_event(node, "peer_del", name, "");
	else if (err == -ENOENT)
		tally_nl_fail(info->extack, info->attrs[TALLY_A_PEER_NAME],
			      "no peer of that name", err);
	tally_node_put(node);
	return err;
}

int tally_nl_peer_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct tally_nl_cursor *cursor = tally_nl_dump_from(cb);
	bool admin = netlink_capable(cb->skb, CAP_NET_ADMIN);
	struct tally_peer *peer;
	int err = 0;

	while (!err && (peer = tally_peer_next(cursor->node, cursor->id))) {
		err = tally_nl_dump(skb, cb, admin ? fill_peer : fill_public,
				    peer,
				    tally_nl_dump_name(cb, TALLY_A_PEER_NAME,
						       peer->name),
				    peer->id);
		tally_peer_put(peer);
	}
	return tally_nl_dump_to(skb, cb, err);
}
