/* SPDX-License-Identifier: GPL-2.0 */
/* The device of a nic arena: how it is found, lost and used by its home. */
#ifndef TALLY_ARENADEV_H
#define TALLY_ARENADEV_H

#include "home/arena.h"

static inline u32 tally_arena_pages(const struct tally_arena *arena)
{
	return arena->config.words >> PAGE_SHIFT;
}

void tally_arena_start_work(struct work_struct *work);
void tally_arena_dev_gone(struct tally_dev_user *user);
void tally_arena_kick(struct tally_arena *arena, unsigned long delay);
void tally_arena_ready(struct tally_arena *arena, u8 mode);
void tally_arena_unbind(struct tally_arena *arena);

#endif
