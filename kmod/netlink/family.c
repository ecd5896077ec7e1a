// SPDX-License-Identifier: GPL-2.0
#include "compat/genl_compat.h"
#include "netlink/family.h"
#include "netlink/msg.h"

/**
 * tally_netlink_init - begin to serve requests
 *
 * Return: 0 or negative errno.
 */
int tally_netlink_init(void)
{
	return genl_register_family(&tally_nl_family);
}

/**
 * tally_netlink_exit - stop to serve requests; waits for those under way
 */
void tally_netlink_exit(void)
{
	genl_unregister_family(&tally_nl_family);
}

static int fill_event(struct sk_buff *skb, struct tally_node *node,
		      const char *event, const char *subject,
		      const char *detail)
{
	struct genl_info info;
	void *hdr;

	genl_info_init_ntf(&info, &tally_nl_family, TALLY_CMD_EVENT);
	hdr = tally_nl_begin(skb, &info);
	if (!hdr)
		return -EMSGSIZE;
	if (nla_put_string(skb, TALLY_A_EVENT_NODE, node->config.name) ||
	    nla_put_string(skb, TALLY_A_EVENT_NAME, event) ||
	    tally_nl_put_text(skb, TALLY_A_EVENT_SUBJECT, subject) ||
	    tally_nl_put_text(skb, TALLY_A_EVENT_DETAIL, detail)) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	return 0;
}

/**
 * tally_netlink_event - tell monitors what happened
 * @node: where
 * @event: what, one word
 * @subject: the peer or object it happened to, or ""
 * @detail: more words, or ""
 *
 * Without memory they are not told. Context: may sleep.
 */
void tally_netlink_event(struct tally_node *node, const char *event,
			 const char *subject, const char *detail)
{
	struct sk_buff *msg;

	tally_nl_changed();
	if (!genl_has_listeners(&tally_nl_family, node->net,
				TALLY_NLGRP_MONITOR))
		return;
	msg = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!msg)
		return;
	if (fill_event(msg, node, event, subject ?: "", detail ?: "")) {
		nlmsg_free(msg);
		return;
	}
	genlmsg_multicast_netns(&tally_nl_family, node->net, msg, 0,
				TALLY_NLGRP_MONITOR, GFP_KERNEL);
}

MODULE_ALIAS_GENL_FAMILY(TALLY_FAMILY_NAME);
