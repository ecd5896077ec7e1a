/* SPDX-License-Identifier: GPL-2.0 */
/* What all objects of the kernel API share. */
#ifndef TALLY_API_H
#define TALLY_API_H

#include "client/view.h"

/**
 * struct tally_api_user - a kernel user of an object
 * @handle: the object, referenced
 * @user: tells the node
 */
struct tally_api_user {
	struct tally_handle *handle;
	struct tally_user user;
};

/* Find the object of that type. 0 or what tally_counter_get() returns. */
int tally_api_get(struct tally_api_user *user, struct net *net,
		  const char *name, const char *path, u8 type, long timeout);
void tally_api_put(struct tally_api_user *user);

#endif
