// SPDX-License-Identifier: GPL-2.0
#include "base/stats.h"

static const char * const stat_names[] = {
	[TALLY_STAT_POST_FAA]	= "post_faa",
	[TALLY_STAT_POST_CAS]	= "post_cas",
	[TALLY_STAT_POST_READ]	= "post_read",
	[TALLY_STAT_POST_WRITE]	= "post_write",
	[TALLY_STAT_POST_SEND]	= "post_send",
	[TALLY_STAT_POST_REG]	= "post_reg",
	[TALLY_STAT_DOORBELL]	= "doorbell",
	[TALLY_STAT_RECV]	= "recv",
	[TALLY_STAT_OP_ERROR]	= "op_error",
	[TALLY_STAT_UNKNOWN]	= "unknown_outcome",
	[TALLY_STAT_LOCAL_OP]	= "local_op",
	[TALLY_STAT_BYTES_READ]	= "bytes_read",
	[TALLY_STAT_BYTES_WRITTEN]	= "bytes_written",
	[TALLY_STAT_CONN_UP]	= "conn_up",
	[TALLY_STAT_CONN_DOWN]	= "conn_down",
	[TALLY_STAT_SESSION_NEW]	= "session_new",
	[TALLY_STAT_SESSION_RESUMED]	= "session_resumed",
	[TALLY_STAT_SESSION_FENCED]	= "session_fenced",
	[TALLY_STAT_LEASE_LOST]	= "lease_lost",
	[TALLY_STAT_RPC_SENT]	= "rpc_sent",
	[TALLY_STAT_RPC_SERVED]	= "rpc_served",
	[TALLY_STAT_RPC_REPLAYED]	= "rpc_replayed",
	[TALLY_STAT_QUOTA]	= "quota_refused",
	[TALLY_STAT_MALFORMED]	= "bad_message",
	[TALLY_STAT_FORGET]	= "forget_sent",
	[TALLY_STAT_LOCK_FAST]	= "lock_fast",
	[TALLY_STAT_LOCK_MANAGED]	= "lock_managed",
	[TALLY_STAT_LOCK_LOCAL]		= "lock_local",
	[TALLY_STAT_LOCK_HANDED]	= "lock_handed",
	[TALLY_STAT_LOCK_MSG]	= "lock_message",
	[TALLY_STAT_LOCK_LOST]	= "lock_lost",
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

/* As user space sees it. Return: a constant string, never NULL. */
const char *tally_stat_name(enum tally_stat stat)
{
	return stat < __TALLY_STAT_MAX ? stat_names[stat] : "?";
}

/* The same of a reason, which may come from a peer. */
const char *tally_refusal_name(enum tally_refusal reason)
{
	return reason < __TALLY_REFUSE_MAX ? refusal_names[reason] : "?";
}
