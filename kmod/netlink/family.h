/* SPDX-License-Identifier: GPL-2.0 */
/* The generic netlink family: configuration, dumps, notifications. */
#ifndef TALLY_NETLINK_H
#define TALLY_NETLINK_H

struct tally_node;

int tally_netlink_init(void);
void tally_netlink_exit(void);
/* Tell monitors; see struct tally_node_ops. */
void tally_netlink_event(struct tally_node *node, const char *event,
			 const char *subject, const char *detail);

#endif
