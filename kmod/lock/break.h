/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_LOCK_BREAK_H
#define TALLY_LOCK_BREAK_H

struct tally_object;

int tally_lock_break_start(struct tally_object *object);

#endif
