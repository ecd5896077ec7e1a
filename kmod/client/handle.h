/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How a handle becomes an object, and operations on it: each enters the handle
 * and leaves it. One that was posted on the word leaves when it has completed,
 * not when its caller gave up waiting: FORGOTTEN follows.
 */
#ifndef TALLY_HANDLE_H
#define TALLY_HANDLE_H

#include "client/view.h"

struct tally_conn;

struct tally_handle *tally_handle_find(struct tally_view *view,
				       const char *name, long timeout);
int tally_handle_open(struct tally_handle *handle,
		      const struct tally_until *until);
int tally_handle_stat(struct tally_view *view, struct tally_handle *handle,
		      struct tally_owner *owner,
		      const struct tally_until *until);
int tally_handle_enter(struct tally_handle *handle, long timeout);
int tally_handle_try_enter(struct tally_handle *handle);
void tally_handle_leave(struct tally_handle *handle);
void tally_handle_op_failed(struct tally_handle *handle, int err);
struct tally_conn *tally_handle_conn(struct tally_handle *handle, u64 *addr,
				     u32 *rkey);
int tally_handle_no_conn(struct tally_handle *handle);
void tally_handle_forget(struct tally_handle *handle, struct tally_owed *owed);

#endif
