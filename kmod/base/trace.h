/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints, of ids and plain values. An operation's post and completion pair
 * up by conn and op, a registration and its end by key and addr, the sending and
 * the receipt of a message by type, session, req and seq, a request and its reply
 * by session, slot and seq.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM tally

#if !defined(TALLY_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define TALLY_TRACE_H

#include <linux/tracepoint.h>
#include <uapi/linux/tally.h>
#include "base/wire.h"

/*
 * An event, and a class of events, whose fields are its arguments. They are
 * listed once, as fields(F): F(type, name) for each.
 */
#define TALLY_ASSIGN(type, name)	__entry->name = name;
#define TALLY_EVENT(name, proto, args, fields, print)			\
	TRACE_EVENT(name, PARAMS(proto), PARAMS(args),			\
		    TP_STRUCT__entry(fields(__field)),			\
		    TP_fast_assign(fields(TALLY_ASSIGN)), PARAMS(print))
#define TALLY_CLASS(name, proto, args, fields, print)			\
	DECLARE_EVENT_CLASS(name, PARAMS(proto), PARAMS(args),		\
			    TP_STRUCT__entry(fields(__field)),		\
			    TP_fast_assign(fields(TALLY_ASSIGN)),	\
			    PARAMS(print))

#define tally_messages(X)						\
	X(HELLO) X(CHALLENGE) X(PROVE) X(READY) X(ACTIVE) X(ACTIVE_ACK)	\
	X(REFUSE) X(GOODBYE) X(CREDIT) X(RENEW) X(RENEW_ACK) X(REPLY)	\
	X(ATTACH) X(OPEN) X(CLOSE) X(LIST) X(COUNTER) X(REGION_MAP)	\
	X(WHO) X(REGION_ZERO) X(STAT) X(TESTS) X(FORGET) X(FORGOTTEN)	\
	X(LOCK) X(RESYNC)
#define TALLY_MESSAGE_ENUM(name)	TRACE_DEFINE_ENUM(TALLY_MSG_##name);
#define TALLY_MESSAGE_NAME(name)	{ TALLY_MSG_##name, #name },
#define show_message(type)						\
	__print_symbolic(type, tally_messages(TALLY_MESSAGE_NAME) { 0, "-" })

/* As tally_refusal_name() has them. */
#define tally_refusals(X)						\
	X(VERSION, "version") X(UNKNOWN_PEER, "unknown_peer")		\
	X(WRONG_NAME, "wrong_name") X(AUTH, "auth")			\
	X(AUTH_MISMATCH, "auth_mismatch")				\
	X(NAME_IN_USE, "name_in_use") X(COLLISION, "collision")		\
	X(BUSY, "busy") X(MALFORMED, "malformed") X(BAD_TAG, "bad_tag")	\
	X(STALE, "stale_session") X(TIMEOUT, "timeout") X(ABI, "abi")	\
	X(SHUTDOWN, "shutdown") X(EPOCH, "epoch")
#define TALLY_REFUSAL_ENUM(reason, name) \
	TRACE_DEFINE_ENUM(TALLY_REFUSE_##reason);
#define TALLY_REFUSAL_NAME(reason, name) { TALLY_REFUSE_##reason, name },
#define show_refusal(reason)						\
	__print_symbolic(reason, tally_refusals(TALLY_REFUSAL_NAME)	\
			 { TALLY_REFUSE_NONE, "none" })

/* Programs that read the trace are told these values. */
tally_messages(TALLY_MESSAGE_ENUM)
tally_refusals(TALLY_REFUSAL_ENUM)
TRACE_DEFINE_ENUM(TALLY_PATH_DIRECT);
TRACE_DEFINE_ENUM(TALLY_PATH_MESSAGE);
TRACE_DEFINE_ENUM(TALLY_ACCESS_NONE);
TRACE_DEFINE_ENUM(TALLY_ACCESS_RO);
TRACE_DEFINE_ENUM(TALLY_ACCESS_RW);

/* The layers above have these numbers. */
#define show_op(type)							\
	__print_symbolic(type,						\
		{ 0, "FAA" }, { 1, "CAS" }, { 2, "CAS+FAA" },		\
		{ 3, "FAA+FAA" }, { 4, "READ" }, { 5, "WRITE" },	\
		{ 6, "REG" })

#define show_conn_state(state)						\
	__print_symbolic(state,						\
		{ 0, "NEW" }, { 1, "CONNECTING" }, { 2, "UP" },		\
		{ 3, "CLOSING" }, { 4, "DEAD" })

#define show_session_state(state)					\
	__print_symbolic(state,						\
		{ 0, "opening" }, { 1, "live" }, { 2, "broken" },	\
		{ 3, "over" })

#define show_lock_message(type)						\
	__print_symbolic(type,						\
		{ 0, "-" }, { 1, "ENQUEUE" }, { 2, "CANCEL" },		\
		{ 3, "REL" }, { 4, "DONE" }, { 5, "LOOK" },		\
		{ 6, "DOWN" }, { 7, "UPG" }, { 8, "LOST" },		\
		{ 9, "BUSY" }, { 10, "RESYNC" }, { 11, "RESYNC_END" },	\
		{ 17, "GRANT" }, { 18, "SUCC" }, { 19, "REVOKE" },	\
		{ 20, "CANCELLED" }, { 21, "DENIED" },			\
		{ 22, "UPGRADED" }, { 23, "SYNCED" }, { 24, "SET" },	\
		{ 33, "HANDOVER" })

#define show_lock_client_state(state)					\
	__print_symbolic(state,						\
		{ 0, "IDLE" }, { 1, "ATT" }, { 2, "WAIT" },		\
		{ 3, "HOLD" }, { 4, "CACHED" }, { 5, "RELF" },		\
		{ 6, "DNF" }, { 7, "UPF" }, { 8, "UPW" },		\
		{ 9, "DBT" }, { 10, "DEAD" })

#define show_lock_client_event(event)					\
	__print_symbolic(event,						\
		{ 0, "WANT" }, { 1, "CANCEL" }, { 2, "UNLOCK" },	\
		{ 3, "DOWNGRADE" }, { 4, "UPGRADE" }, { 5, "SET" },	\
		{ 6, "OP_DONE" }, { 7, "MSG" }, { 8, "HANDED_BAD" },	\
		{ 9, "LINK_DOWN" }, { 10, "LINK_UP" },			\
		{ 11, "LEASE_LOST" })

#define show_lock_home_state(state)					\
	__print_symbolic(state,						\
		{ 0, "FAST" }, { 1, "SETW" }, { 2, "DRAIN" },		\
		{ 3, "MAN" }, { 4, "CLRW" }, { 5, "BAD" })

#define show_lock_home_event(event)					\
	__print_symbolic(event,						\
		{ 0, "MSG" }, { 1, "SETW_DONE" }, { 2, "CLRW_DONE" },	\
		{ 3, "SWEEP_DONE" }, { 4, "LINK_DOWN" },		\
		{ 5, "RESYNC_END" }, { 6, "SESSION_END" },		\
		{ 7, "GRACE_OVER" }, { 8, "LOOP_RESET" },		\
		{ 9, "BREAK" }, { 10, "MORE" })

#define tally_op_post_fields(F)						\
	F(u32, conn) F(u32, op) F(u32, type) F(u64, addr) F(u32, rkey)

TALLY_EVENT(tally_op_post,
	TP_PROTO(u32 conn, u32 op, u32 type, u64 addr, u32 rkey),
	TP_ARGS(conn, op, type, addr, rkey),
	tally_op_post_fields,
	TP_printk("conn=%u op=%u %s addr=%#llx rkey=%#x",
		  __entry->conn, __entry->op, show_op(__entry->type),
		  __entry->addr, __entry->rkey)
);

#define tally_op_done_fields(F)						\
	F(u32, conn) F(u32, op) F(u32, type) F(int, status)

/* An op of 0 was never posted. */
TALLY_EVENT(tally_op_done,
	TP_PROTO(u32 conn, u32 op, u32 type, int status),
	TP_ARGS(conn, op, type, status),
	tally_op_done_fields,
	TP_printk("conn=%u op=%u %s status=%d", __entry->conn, __entry->op,
		  show_op(__entry->type), __entry->status)
);

#define tally_mr_fields(F)						\
	F(u32, conn) F(u32, key) F(u64, addr) F(u32, len) F(int, err)

TALLY_CLASS(tally_mr_class,
	TP_PROTO(u32 conn, u32 key, u64 addr, u32 len, int err),
	TP_ARGS(conn, key, addr, len, err),
	tally_mr_fields,
	TP_printk("conn=%u key=%#x addr=%#llx len=%u err=%d", __entry->conn,
		  __entry->key, __entry->addr, __entry->len, __entry->err)
);

#define TALLY_MR_EVENT(name)						\
	DEFINE_EVENT(tally_mr_class, name,				\
		TP_PROTO(u32 conn, u32 key, u64 addr, u32 len, int err), \
		TP_ARGS(conn, key, addr, len, err))
TALLY_MR_EVENT(tally_mr_register);
TALLY_MR_EVENT(tally_mr_destroy);

DECLARE_EVENT_CLASS(tally_msg_class,
	TP_PROTO(u32 conn, const struct tally_hdr *hdr),
	TP_ARGS(conn, hdr),
	TP_STRUCT__entry(
		__field(u32, conn)
		__field(u16, type)
		__field(u32, len)
		__field(u64, session)
		__field(u16, req)
		__field(u32, seq)
	),
	TP_fast_assign(
		__entry->conn = conn;
		__entry->type = be16_to_cpu(hdr->type);
		__entry->len = be32_to_cpu(hdr->len);
		__entry->session = be64_to_cpu(hdr->session);
		__entry->req = be16_to_cpu(hdr->req);
		__entry->seq = be32_to_cpu(hdr->seq);
	),
	TP_printk("conn=%u %s len=%u session=%#llx req=%u seq=%u",
		  __entry->conn, show_message(__entry->type), __entry->len,
		  __entry->session, __entry->req, __entry->seq)
);

#define TALLY_MSG_EVENT(name)						\
	DEFINE_EVENT(tally_msg_class, name,				\
		TP_PROTO(u32 conn, const struct tally_hdr *hdr),	\
		TP_ARGS(conn, hdr))
TALLY_MSG_EVENT(tally_msg_send);
TALLY_MSG_EVENT(tally_msg_recv);

#define tally_conn_state_fields(F)					\
	F(u32, conn) F(u32, qpn) F(u32, from) F(u32, to) F(int, err)

TALLY_EVENT(tally_conn_state,
	TP_PROTO(u32 conn, u32 qpn, u32 from, u32 to, int err),
	TP_ARGS(conn, qpn, from, to, err),
	tally_conn_state_fields,
	TP_printk("conn=%u qpn=%u %s -> %s err=%d", __entry->conn,
		  __entry->qpn, show_conn_state(__entry->from),
		  show_conn_state(__entry->to), __entry->err)
);

#define tally_lock_message_fields(F)					\
	F(bool, out) F(u32, arena) F(u32, object) F(u32, type) F(u64, gen)

TALLY_EVENT(tally_lock_message,
	TP_PROTO(bool out, u32 arena, u32 object, u32 type, u64 gen),
	TP_ARGS(out, arena, object, type, gen),
	tally_lock_message_fields,
	TP_printk("%s arena=%u object=%u %s gen=%llu",
		  __entry->out ? "out" : "in", __entry->arena,
		  __entry->object, show_lock_message(__entry->type),
		  __entry->gen)
);

#define tally_lock_client_fields(F)					\
	F(u32, arena) F(u32, object) F(u8, from) F(u8, event)		\
	F(u8, message) F(u8, to) F(u64, tenure)

TALLY_EVENT(tally_lock_client,
	TP_PROTO(u32 arena, u32 object, u8 from, u8 event, u8 message, u8 to,
		 u64 tenure),
	TP_ARGS(arena, object, from, event, message, to, tenure),
	tally_lock_client_fields,
	TP_printk("arena=%u object=%u %s %s/%s -> %s tenure=%#llx",
		  __entry->arena, __entry->object,
		  show_lock_client_state(__entry->from),
		  show_lock_client_event(__entry->event),
		  show_lock_message(__entry->message),
		  show_lock_client_state(__entry->to), __entry->tenure)
);

#define tally_lock_home_fields(F)					\
	F(u32, arena) F(u32, object) F(u8, from) F(u8, event)		\
	F(u8, message) F(u8, to) F(u16, slot) F(u16, holder)		\
	F(u64, tenure)

TALLY_EVENT(tally_lock_home,
	TP_PROTO(u32 arena, u32 object, u8 from, u8 event, u8 message, u16 slot,
		 u8 to, u16 holder, u64 tenure),
	TP_ARGS(arena, object, from, event, message, slot, to, holder, tenure),
	tally_lock_home_fields,
	TP_printk("arena=%u object=%u %s %s/%s slot=%u -> %s holder=%u tenure=%#llx",
		  __entry->arena, __entry->object,
		  show_lock_home_state(__entry->from),
		  show_lock_home_event(__entry->event),
		  show_lock_message(__entry->message), __entry->slot,
		  show_lock_home_state(__entry->to), __entry->holder,
		  __entry->tenure)
);

#define tally_attach_fields(F)						\
	F(u64, session) F(u32, arena) F(u8, path) F(u8, access)

TALLY_EVENT(tally_attach,
	TP_PROTO(u64 session, u32 arena, u8 path, u8 access),
	TP_ARGS(session, arena, path, access),
	tally_attach_fields,
	TP_printk("session=%#llx arena=%u path=%s access=%s",
		  __entry->session, __entry->arena,
		  __print_symbolic(__entry->path,
				   { TALLY_PATH_DIRECT, "direct" },
				   { TALLY_PATH_MESSAGE, "message" }),
		  __print_symbolic(__entry->access,
				   { TALLY_ACCESS_NONE, "none" },
				   { TALLY_ACCESS_RO, "ro" },
				   { TALLY_ACCESS_RW, "rw" }))
);

#define tally_open_fields(F)						\
	F(u64, session) F(u32, arena) F(u32, object) F(u8, type)

TALLY_EVENT(tally_open,
	TP_PROTO(u64 session, u32 arena, u32 object, u8 type),
	TP_ARGS(session, arena, object, type),
	tally_open_fields,
	TP_printk("session=%#llx arena=%u object=%u type=%u",
		  __entry->session, __entry->arena, __entry->object,
		  __entry->type)
);

#define tally_forget_fields(F)						\
	F(u64, session) F(u32, arena) F(u32, object) F(u32, generation)

TALLY_CLASS(tally_forget_class,
	TP_PROTO(u64 session, u32 arena, u32 object, u32 generation),
	TP_ARGS(session, arena, object, generation),
	tally_forget_fields,
	TP_printk("session=%#llx arena=%u object=%u generation=%u",
		  __entry->session, __entry->arena, __entry->object,
		  __entry->generation)
);

#define TALLY_FORGET_EVENT(name)					\
	DEFINE_EVENT(tally_forget_class, name,				\
		TP_PROTO(u64 session, u32 arena, u32 object, u32 generation), \
		TP_ARGS(session, arena, object, generation))
TALLY_FORGET_EVENT(tally_forget);
TALLY_FORGET_EVENT(tally_forgotten);
TALLY_FORGET_EVENT(tally_close);

/* The view or handle of a name, and how it was attached or opened (again). */
DECLARE_EVENT_CLASS(tally_use_class,
	TP_PROTO(u64 session, const char *name, u32 arena, u32 object, int err),
	TP_ARGS(session, name, arena, object, err),
	TP_STRUCT__entry(
		__field(u64, session)
		__array(char, name, TALLY_NAME_SIZE)
		__field(u32, arena)
		__field(u32, object)
		__field(int, err)
	),
	TP_fast_assign(
		__entry->session = session;
		strscpy(__entry->name, name, TALLY_NAME_SIZE);
		__entry->arena = arena;
		__entry->object = object;
		__entry->err = err;
	),
	TP_printk("session=%#llx name=%s arena=%u object=%u err=%d",
		  __entry->session, __entry->name, __entry->arena,
		  __entry->object, __entry->err)
);

#define TALLY_USE_EVENT(event)						\
	DEFINE_EVENT(tally_use_class, event,				\
		TP_PROTO(u64 session, const char *name, u32 arena,	\
			 u32 object, int err),				\
		TP_ARGS(session, name, arena, object, err))
TALLY_USE_EVENT(tally_view_attach);
TALLY_USE_EVENT(tally_handle_open);

TRACE_EVENT(tally_handle_error,
	TP_PROTO(const char *name, u32 object, int err),
	TP_ARGS(name, object, err),
	TP_STRUCT__entry(
		__array(char, name, TALLY_NAME_SIZE)
		__field(u32, object)
		__field(int, err)
	),
	TP_fast_assign(
		strscpy(__entry->name, name, TALLY_NAME_SIZE);
		__entry->object = object;
		__entry->err = err;
	),
	TP_printk("name=%s object=%u err=%d", __entry->name,
		  __entry->object, __entry->err)
);

#define tally_xfer_begin_fields(F)					\
	F(u32, id) F(u64, session) F(u32, arena) F(u32, object)		\
	F(bool, write) F(u64, pos) F(u64, len)

TALLY_EVENT(tally_xfer_begin,
	TP_PROTO(u32 id, u64 session, u32 arena, u32 object, bool write,
		 u64 pos, u64 len),
	TP_ARGS(id, session, arena, object, write, pos, len),
	tally_xfer_begin_fields,
	TP_printk("id=%u session=%#llx arena=%u object=%u %s pos=%llu len=%llu",
		  __entry->id, __entry->session, __entry->arena,
		  __entry->object, __entry->write ? "write" : "read",
		  __entry->pos, __entry->len)
);

#define tally_xfer_end_fields(F) F(u32, id) F(u64, done) F(int, err)

TALLY_EVENT(tally_xfer_end,
	TP_PROTO(u32 id, u64 done, int err),
	TP_ARGS(id, done, err),
	tally_xfer_end_fields,
	TP_printk("id=%u done=%llu err=%d", __entry->id, __entry->done,
		  __entry->err)
);

#define tally_handshake_step_fields(F)					\
	F(const void *, conn) F(bool, incoming) F(u32, type)

TALLY_EVENT(tally_handshake_step,
	TP_PROTO(const void *conn, bool incoming, u32 type),
	TP_ARGS(conn, incoming, type),
	tally_handshake_step_fields,
	TP_printk("conn=%p %s got %s", __entry->conn,
		  __entry->incoming ? "responder" : "initiator",
		  show_message(__entry->type))
);

#define tally_handshake_refuse_fields(F)				\
	F(const void *, conn) F(bool, incoming) F(u32, reason)

TALLY_EVENT(tally_handshake_refuse,
	TP_PROTO(const void *conn, bool incoming, u32 reason),
	TP_ARGS(conn, incoming, reason),
	tally_handshake_refuse_fields,
	TP_printk("conn=%p %s reason=%s", __entry->conn,
		  __entry->incoming ? "responder" : "initiator",
		  show_refusal(__entry->reason))
);

#define tally_session_state_fields(F)					\
	F(u64, session) F(u32, from) F(u32, to) F(int, err)

TALLY_EVENT(tally_session_state,
	TP_PROTO(u64 session, u32 from, u32 to, int err),
	TP_ARGS(session, from, to, err),
	tally_session_state_fields,
	TP_printk("session=%#llx %s -> %s err=%d", __entry->session,
		  show_session_state(__entry->from),
		  show_session_state(__entry->to), __entry->err)
);

#define tally_session_fields(F) F(u64, session) F(int, err)

/* lost: every user is told; fenced: every QP and every key is gone. */
TALLY_CLASS(tally_session_class,
	TP_PROTO(u64 session, int err),
	TP_ARGS(session, err),
	tally_session_fields,
	TP_printk("session=%#llx err=%d", __entry->session, __entry->err)
);

#define TALLY_SESSION_EVENT(name)					\
	DEFINE_EVENT(tally_session_class, name,				\
		TP_PROTO(u64 session, int err), TP_ARGS(session, err))
TALLY_SESSION_EVENT(tally_session_lost);
TALLY_SESSION_EVENT(tally_session_fenced);

#define tally_lease_fields(F) F(u64, session) F(u64, deadline)

/* client: we may act until; home: we reclaim after; expired: it passed. */
TALLY_CLASS(tally_lease_class,
	TP_PROTO(u64 session, u64 deadline),
	TP_ARGS(session, deadline),
	tally_lease_fields,
	TP_printk("session=%#llx deadline=%llu", __entry->session,
		  __entry->deadline)
);

#define TALLY_LEASE_EVENT(name)						\
	DEFINE_EVENT(tally_lease_class, name,				\
		TP_PROTO(u64 session, u64 deadline),			\
		TP_ARGS(session, deadline))
TALLY_LEASE_EVENT(tally_lease_client);
TALLY_LEASE_EVENT(tally_lease_home);
TALLY_LEASE_EVENT(tally_lease_expired);

#define tally_rpc_fields(F)						\
	F(u64, session) F(u32, slot) F(u32, seq) F(u32, type) F(int, status)

/* call and done at the client, request and reply at the home. */
TALLY_CLASS(tally_rpc_class,
	TP_PROTO(u64 session, u32 slot, u32 seq, u32 type, int status),
	TP_ARGS(session, slot, seq, type, status),
	tally_rpc_fields,
	TP_printk("session=%#llx slot=%u seq=%u %s status=%d",
		  __entry->session, __entry->slot, __entry->seq,
		  show_message(__entry->type), __entry->status)
);

#define TALLY_RPC_EVENT(name)						\
	DEFINE_EVENT(tally_rpc_class, name,				\
		TP_PROTO(u64 session, u32 slot, u32 seq, u32 type,	\
			 int status),					\
		TP_ARGS(session, slot, seq, type, status))
TALLY_RPC_EVENT(tally_rpc_call);
TALLY_RPC_EVENT(tally_rpc_done);
TALLY_RPC_EVENT(tally_rpc_request);
TALLY_RPC_EVENT(tally_rpc_reply);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
