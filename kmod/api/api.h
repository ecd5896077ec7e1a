/* SPDX-License-Identifier: GPL-2.0 */
/* The exported kernel API: what all types share. */
#ifndef TALLY_API_H
#define TALLY_API_H

#include "client/view.h"
#include "session/node.h"

/**
 * struct tally_api_user - a kernel user of an object; the first member of what
 *	each type has
 * @handle: the object, referenced
 * @user: tells the node
 */
struct tally_api_user {
	struct tally_handle *handle;
	struct tally_user user;
};

void *tally_api_get(size_t size, struct net *net, const char *name,
		    const char *path, u8 type, long timeout);
void tally_api_put(struct tally_api_user *user);

#endif
