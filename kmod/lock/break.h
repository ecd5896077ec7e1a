/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_LOCK_BREAK_H
#define TALLY_LOCK_BREAK_H

struct genl_info;
struct tally_object;

int tally_lock_nl_break(struct tally_object *object, struct genl_info *info);

#endif
