/* SPDX-License-Identifier: GPL-2.0 */
/* The nodes of this kernel: how they begin, are found, and end. */
#ifndef TALLY_NODES_H
#define TALLY_NODES_H

#include "session/node.h"

int tally_nodes_init(const struct tally_node_ops *ops);
void tally_nodes_exit(void);

/* None of these waits for the network. @reason: a constant sentence. */
int tally_node_add(struct net *net, const struct tally_node_config *config,
		   const char **reason);
int tally_node_del(struct tally_node *node);
struct tally_node *tally_node_find(struct net *net, const char *name);
struct tally_node *tally_node_find_in(u32 netns, const char *name);
struct tally_node *tally_node_next(struct net *net, u32 after);
struct tally_node *tally_node_next_ended(struct net *net, const char *name,
					 u32 after);

#endif
