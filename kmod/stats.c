// SPDX-License-Identifier: GPL-2.0
#include "stats.h"

static const char * const stat_names[] = {
#define X(id, name) [TALLY_STAT_##id] = name,
	TALLY_STATS(X)
#undef X
};

static const char * const refusal_names[] = {
	[TALLY_REFUSE_NONE]		= "none",
	[TALLY_REFUSE_VERSION]		= "version",
	[TALLY_REFUSE_UNKNOWN_PEER]	= "unknown_peer",
	[TALLY_REFUSE_WRONG_NAME]	= "wrong_name",
	[TALLY_REFUSE_AUTH]		= "auth",
	[TALLY_REFUSE_AUTH_MISMATCH]	= "auth_mismatch",
	[TALLY_REFUSE_NAME_IN_USE]	= "name_in_use",
	[TALLY_REFUSE_COLLISION]	= "collision",
	[TALLY_REFUSE_BUSY]		= "busy",
	[TALLY_REFUSE_MALFORMED]	= "malformed",
	[TALLY_REFUSE_BAD_TAG]		= "bad_tag",
	[TALLY_REFUSE_STALE]		= "stale_session",
	[TALLY_REFUSE_TIMEOUT]		= "timeout",
	[TALLY_REFUSE_ABI]		= "abi",
	[TALLY_REFUSE_SHUTDOWN]		= "shutdown",
	[TALLY_REFUSE_EPOCH]		= "epoch",
};

/**
 * tally_stat_name - name of a counter, as user space sees it
 * @stat: which one
 *
 * Return: a constant string, never NULL.
 */
const char *tally_stat_name(enum tally_stat stat)
{
	return stat < __TALLY_STAT_MAX ? stat_names[stat] : "?";
}

/**
 * tally_refusal_name - name of a reason to turn somebody away
 * @reason: which one; may come from a peer
 *
 * Return: a constant string, never NULL.
 */
const char *tally_refusal_name(enum tally_refusal reason)
{
	return reason < __TALLY_REFUSE_MAX ? refusal_names[reason] : "?";
}
