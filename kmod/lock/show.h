/* SPDX-License-Identifier: GPL-2.0 */
/* What there is to show of a lock at its home. */
#ifndef TALLY_LOCK_SHOW_H
#define TALLY_LOCK_SHOW_H

#include "home/object.h"
#include "lock/msg.h"

/**
 * struct tally_lock_info - what `lock show` tells, at the home
 * @state: "free", "fast", "managed", "cached", "grace", "breaking"; "cached"
 *	where the home can know it: of its own users, and of others when asked
 * @shared: it is held in shared mode
 * @holders: how many nodes hold it
 * @holder: node that holds it, one of them, "" if none
 * @holder_slot: its node slot
 * @token: token counter
 * @age_ms: how long the user, or else the node, has it; U64_MAX where the home
 *	cannot know (fast)
 * @lease_ms: when the home could reclaim it without a word of the holder, or
 *	the holder itself gives it up if that is sooner; U64_MAX: it is ours
 * @fenced: nodes that did not answer to the break under way, or the last one
 * @pid: of the user; 0: kernel code, or not known
 * @comm: name of that user, else ""
 * @set: settings
 */
struct tally_lock_info {
	const char *state;
	bool shared;
	u32 holders;
	char holder[TALLY_NAME_SIZE];
	u16 holder_slot;
	u64 token;
	u64 age_ms;
	u64 lease_ms;
	u32 fenced;
	pid_t pid;
	char comm[TASK_COMM_LEN];
	struct tally_lock_set set;
};

void tally_lock_info(struct tally_object *object, struct tally_lock_info *info);
int tally_lock_waiter(struct tally_object *object, u32 i,
		      char name[TALLY_NAME_SIZE]);
int tally_lock_ask_start(struct tally_node *node, const char *arena,
			 const char *lock);
void tally_lock_who(struct tally_handle *handle, struct tally_sreq *req);

#endif
