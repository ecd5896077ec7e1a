/* SPDX-License-Identifier: GPL-2.0 */
/* A session from its beginning to its end. */
#ifndef TALLY_LIFE_H
#define TALLY_LIFE_H

#include "session/session.h"

/**
 * struct tally_session_params - what the handshake settles
 * @node: our node
 * @peer: the owner; its reference goes to the session
 * @owner_ops: what the owner is told
 * @name: the peer's name
 * @addr: its address
 * @id: session id
 * @incarnation: the peer's
 * @epoch: the peer's
 * @features: the peer's
 * @my_slot: our slot at the peer, 0 when ACTIVE will tell it
 * @lanes: how many lanes
 * @lease_ms: agreed lease
 */
struct tally_session_params {
	struct tally_node *node;
	struct tally_peer *peer;
	const struct tally_session_owner_ops *owner_ops;
	const char *name;
	const struct sockaddr_storage *addr;
	u64 id;
	u64 incarnation;
	u64 epoch;
	u32 features;
	u16 my_slot;
	u8 lanes;
	u32 lease_ms;
};

struct tally_session *
tally_session_create(struct tally_dev *dev,
		     const struct tally_session_params *params);
int tally_session_break_wait(struct tally_session *s, int err);
int tally_session_fence_wait(struct tally_session *s, int err);
void tally_session_goodbye(struct tally_session *s);

#endif
