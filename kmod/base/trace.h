/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints, of ids and plain values. An operation's post and completion pair
 * up by conn and op, a registration and its end by key and addr, the sending and
 * the receipt of a message by type, session, req and seq.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM tally

#if !defined(TALLY_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define TALLY_TRACE_H

#include <linux/tracepoint.h>
#include <uapi/linux/tally.h>
#include "base/wire.h"

#define tally_trace_op(type) \
	__print_symbolic(type, { 0, "FAA" }, { 1, "CAS" }, \
			 { 2, "CAS+FAA" }, { 3, "FAA+FAA" }, { 4, "READ" }, \
			 { 5, "WRITE" }, { 6, "REG" })

TRACE_EVENT(tally_op_post,
	TP_PROTO(u32 conn, u32 op, u32 type, u64 addr, u32 rkey),
	TP_ARGS(conn, op, type, addr, rkey),
	TP_STRUCT__entry(
		__field(u32, conn)
		__field(u32, op)
		__field(u32, type)
		__field(u64, addr)
		__field(u32, rkey)
	),
	TP_fast_assign(
		__entry->conn = conn;
		__entry->op = op;
		__entry->type = type;
		__entry->addr = addr;
		__entry->rkey = rkey;
	),
	TP_printk("conn=%u op=%u %s addr=%#llx rkey=%#x",
		  __entry->conn, __entry->op, tally_trace_op(__entry->type),
		  __entry->addr, __entry->rkey)
);

/* An op of 0 was never posted. */
TRACE_EVENT(tally_op_done,
	TP_PROTO(u32 conn, u32 op, u32 type, int status),
	TP_ARGS(conn, op, type, status),
	TP_STRUCT__entry(
		__field(u32, conn)
		__field(u32, op)
		__field(u32, type)
		__field(int, status)
	),
	TP_fast_assign(
		__entry->conn = conn;
		__entry->op = op;
		__entry->type = type;
		__entry->status = status;
	),
	TP_printk("conn=%u op=%u %s status=%d", __entry->conn, __entry->op,
		  tally_trace_op(__entry->type), __entry->status)
);

DECLARE_EVENT_CLASS(tally_mr_class,
	TP_PROTO(u32 conn, u32 key, u64 addr, u32 len, int err),
	TP_ARGS(conn, key, addr, len, err),
	TP_STRUCT__entry(
		__field(u32, conn)
		__field(u32, key)
		__field(u64, addr)
		__field(u32, len)
		__field(int, err)
	),
	TP_fast_assign(
		__entry->conn = conn;
		__entry->key = key;
		__entry->addr = addr;
		__entry->len = len;
		__entry->err = err;
	),
	TP_printk("conn=%u key=%#x addr=%#llx len=%u err=%d", __entry->conn,
		  __entry->key, __entry->addr, __entry->len, __entry->err)
);

DEFINE_EVENT(tally_mr_class, tally_mr_register,
	TP_PROTO(u32 conn, u32 key, u64 addr, u32 len, int err),
	TP_ARGS(conn, key, addr, len, err)
);

DEFINE_EVENT(tally_mr_class, tally_mr_destroy,
	TP_PROTO(u32 conn, u32 key, u64 addr, u32 len, int err),
	TP_ARGS(conn, key, addr, len, err)
);

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
		  __entry->conn,
		  __print_symbolic(__entry->type,
				   { TALLY_MSG_HELLO, "HELLO" },
				   { TALLY_MSG_CHALLENGE, "CHALLENGE" },
				   { TALLY_MSG_PROVE, "PROVE" },
				   { TALLY_MSG_READY, "READY" },
				   { TALLY_MSG_ACTIVE, "ACTIVE" },
				   { TALLY_MSG_ACTIVE_ACK, "ACTIVE_ACK" },
				   { TALLY_MSG_REFUSE, "REFUSE" },
				   { TALLY_MSG_GOODBYE, "GOODBYE" },
				   { TALLY_MSG_CREDIT, "CREDIT" },
				   { TALLY_MSG_RENEW, "RENEW" },
				   { TALLY_MSG_RENEW_ACK, "RENEW_ACK" },
				   { TALLY_MSG_REPLY, "REPLY" },
				   { TALLY_MSG_ATTACH, "ATTACH" },
				   { TALLY_MSG_OPEN, "OPEN" },
				   { TALLY_MSG_CLOSE, "CLOSE" },
				   { TALLY_MSG_LIST, "LIST" }),
		  __entry->len, __entry->session, __entry->req, __entry->seq)
);

DEFINE_EVENT(tally_msg_class, tally_msg_send,
	TP_PROTO(u32 conn, const struct tally_hdr *hdr),
	TP_ARGS(conn, hdr)
);

DEFINE_EVENT(tally_msg_class, tally_msg_recv,
	TP_PROTO(u32 conn, const struct tally_hdr *hdr),
	TP_ARGS(conn, hdr)
);

#define tally_trace_conn(state) \
	__print_symbolic(state, { 0, "NEW" }, { 1, "CONNECTING" }, \
			 { 2, "UP" }, { 3, "CLOSING" }, { 4, "DEAD" })

TRACE_EVENT(tally_conn_state,
	TP_PROTO(u32 conn, u32 qpn, u32 from, u32 to, int err),
	TP_ARGS(conn, qpn, from, to, err),
	TP_STRUCT__entry(
		__field(u32, conn)
		__field(u32, qpn)
		__field(u32, from)
		__field(u32, to)
		__field(int, err)
	),
	TP_fast_assign(
		__entry->conn = conn;
		__entry->qpn = qpn;
		__entry->from = from;
		__entry->to = to;
		__entry->err = err;
	),
	TP_printk("conn=%u qpn=%u %s -> %s err=%d", __entry->conn,
		  __entry->qpn, tally_trace_conn(__entry->from),
		  tally_trace_conn(__entry->to), __entry->err)
);

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

TRACE_EVENT(tally_lock_message,
	TP_PROTO(bool out, u32 arena, u32 object, u32 type, u64 gen),
	TP_ARGS(out, arena, object, type, gen),
	TP_STRUCT__entry(
		__field(bool, out)
		__field(u32, arena)
		__field(u32, object)
		__field(u32, type)
		__field(u64, gen)
	),
	TP_fast_assign(
		__entry->out = out;
		__entry->arena = arena;
		__entry->object = object;
		__entry->type = type;
		__entry->gen = gen;
	),
	TP_printk("%s arena=%u object=%u %s gen=%llu",
		  __entry->out ? "out" : "in", __entry->arena,
		  __entry->object, show_lock_message(__entry->type),
		  __entry->gen)
);

/* Numbers of lock/fsm_client.h and lock/fsm_home.h. */
#define show_lock_client_state(st)					\
	__print_symbolic(st,						\
		{ 0, "IDLE" }, { 1, "ATT" }, { 2, "WAIT" },		\
		{ 3, "HOLD" }, { 4, "CACHED" }, { 5, "RELF" },		\
		{ 6, "DNF" }, { 7, "UPF" }, { 8, "UPW" },		\
		{ 9, "DBT" }, { 10, "DEAD" })

#define show_lock_client_event(ev)					\
	__print_symbolic(ev,						\
		{ 0, "WANT" }, { 1, "CANCEL" }, { 2, "UNLOCK" },	\
		{ 3, "DOWNGRADE" }, { 4, "UPGRADE" }, { 5, "SET" },	\
		{ 6, "OP_DONE" }, { 7, "MSG" }, { 8, "HANDED_BAD" },	\
		{ 9, "LINK_DOWN" }, { 10, "LINK_UP" },			\
		{ 11, "LEASE_LOST" })

#define show_lock_home_state(hm)					\
	__print_symbolic(hm,						\
		{ 0, "FAST" }, { 1, "SETW" }, { 2, "DRAIN" },		\
		{ 3, "MAN" }, { 4, "CLRW" }, { 5, "BAD" })

#define show_lock_home_event(ev)					\
	__print_symbolic(ev,						\
		{ 0, "MSG" }, { 1, "SETW_DONE" }, { 2, "CLRW_DONE" },	\
		{ 3, "SWEEP_DONE" }, { 4, "LINK_DOWN" },		\
		{ 5, "RESYNC_END" }, { 6, "SESSION_END" },		\
		{ 7, "GRACE_OVER" }, { 8, "LOOP_RESET" },		\
		{ 9, "BREAK" }, { 10, "MORE" })

TRACE_EVENT(tally_lock_client,
	TP_PROTO(u32 arena, u32 object, u8 from, u8 event, u8 message, u8 to,
		 u64 tenure),
	TP_ARGS(arena, object, from, event, message, to, tenure),
	TP_STRUCT__entry(
		__field(u32, arena)
		__field(u32, object)
		__field(u8, from)
		__field(u8, event)
		__field(u8, message)
		__field(u8, to)
		__field(u64, tenure)
	),
	TP_fast_assign(
		__entry->arena = arena;
		__entry->object = object;
		__entry->from = from;
		__entry->event = event;
		__entry->message = message;
		__entry->to = to;
		__entry->tenure = tenure;
	),
	TP_printk("arena=%u object=%u %s %s/%s -> %s tenure=%#llx",
		  __entry->arena, __entry->object,
		  show_lock_client_state(__entry->from),
		  show_lock_client_event(__entry->event),
		  show_lock_message(__entry->message),
		  show_lock_client_state(__entry->to), __entry->tenure)
);

TRACE_EVENT(tally_lock_home,
	TP_PROTO(u32 arena, u32 object, u8 from, u8 event, u8 message, u16 slot,
		 u8 to, u16 holder, u64 tenure),
	TP_ARGS(arena, object, from, event, message, slot, to, holder, tenure),
	TP_STRUCT__entry(
		__field(u32, arena)
		__field(u32, object)
		__field(u8, from)
		__field(u8, event)
		__field(u8, message)
		__field(u8, to)
		__field(u16, slot)
		__field(u16, holder)
		__field(u64, tenure)
	),
	TP_fast_assign(
		__entry->arena = arena;
		__entry->object = object;
		__entry->from = from;
		__entry->event = event;
		__entry->message = message;
		__entry->slot = slot;
		__entry->to = to;
		__entry->holder = holder;
		__entry->tenure = tenure;
	),
	TP_printk("arena=%u object=%u %s %s/%s slot=%u -> %s holder=%u tenure=%#llx",
		  __entry->arena, __entry->object,
		  show_lock_home_state(__entry->from),
		  show_lock_home_event(__entry->event),
		  show_lock_message(__entry->message), __entry->slot,
		  show_lock_home_state(__entry->to), __entry->holder,
		  __entry->tenure)
);

TRACE_DEFINE_ENUM(TALLY_PATH_DIRECT);
TRACE_DEFINE_ENUM(TALLY_PATH_MESSAGE);
TRACE_DEFINE_ENUM(TALLY_ACCESS_NONE);
TRACE_DEFINE_ENUM(TALLY_ACCESS_RO);
TRACE_DEFINE_ENUM(TALLY_ACCESS_RW);

TRACE_EVENT(tally_attach,
	TP_PROTO(u64 session, u32 arena, u8 path, u8 access),
	TP_ARGS(session, arena, path, access),
	TP_STRUCT__entry(
		__field(u64, session)
		__field(u32, arena)
		__field(u8, path)
		__field(u8, access)
	),
	TP_fast_assign(
		__entry->session = session;
		__entry->arena = arena;
		__entry->path = path;
		__entry->access = access;
	),
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

TRACE_EVENT(tally_open,
	TP_PROTO(u64 session, u32 arena, u32 object, u8 type),
	TP_ARGS(session, arena, object, type),
	TP_STRUCT__entry(
		__field(u64, session)
		__field(u32, arena)
		__field(u32, object)
		__field(u8, type)
	),
	TP_fast_assign(
		__entry->session = session;
		__entry->arena = arena;
		__entry->object = object;
		__entry->type = type;
	),
	TP_printk("session=%#llx arena=%u object=%u type=%u",
		  __entry->session, __entry->arena, __entry->object,
		  __entry->type)
);

DECLARE_EVENT_CLASS(tally_forget_class,
	TP_PROTO(u64 session, u32 arena, u32 object, u32 generation),
	TP_ARGS(session, arena, object, generation),
	TP_STRUCT__entry(
		__field(u64, session)
		__field(u32, arena)
		__field(u32, object)
		__field(u32, generation)
	),
	TP_fast_assign(
		__entry->session = session;
		__entry->arena = arena;
		__entry->object = object;
		__entry->generation = generation;
	),
	TP_printk("session=%#llx arena=%u object=%u generation=%u",
		  __entry->session, __entry->arena, __entry->object,
		  __entry->generation)
);

DEFINE_EVENT(tally_forget_class, tally_forget,
	TP_PROTO(u64 session, u32 arena, u32 object, u32 generation),
	TP_ARGS(session, arena, object, generation)
);

DEFINE_EVENT(tally_forget_class, tally_forgotten,
	TP_PROTO(u64 session, u32 arena, u32 object, u32 generation),
	TP_ARGS(session, arena, object, generation)
);

DEFINE_EVENT(tally_forget_class, tally_close,
	TP_PROTO(u64 session, u32 arena, u32 object, u32 generation),
	TP_ARGS(session, arena, object, generation)
);

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

DEFINE_EVENT(tally_use_class, tally_view_attach,
	TP_PROTO(u64 session, const char *name, u32 arena, u32 object, int err),
	TP_ARGS(session, name, arena, object, err)
);

DEFINE_EVENT(tally_use_class, tally_handle_open,
	TP_PROTO(u64 session, const char *name, u32 arena, u32 object, int err),
	TP_ARGS(session, name, arena, object, err)
);

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

TRACE_EVENT(tally_xfer_begin,
	TP_PROTO(u32 id, u64 session, u32 arena, u32 object, bool write,
		 u64 pos, u64 len),
	TP_ARGS(id, session, arena, object, write, pos, len),
	TP_STRUCT__entry(
		__field(u32, id)
		__field(u64, session)
		__field(u32, arena)
		__field(u32, object)
		__field(bool, write)
		__field(u64, pos)
		__field(u64, len)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->session = session;
		__entry->arena = arena;
		__entry->object = object;
		__entry->write = write;
		__entry->pos = pos;
		__entry->len = len;
	),
	TP_printk("id=%u session=%#llx arena=%u object=%u %s pos=%llu len=%llu",
		  __entry->id, __entry->session, __entry->arena,
		  __entry->object, __entry->write ? "write" : "read",
		  __entry->pos, __entry->len)
);

TRACE_EVENT(tally_xfer_end,
	TP_PROTO(u32 id, u64 done, int err),
	TP_ARGS(id, done, err),
	TP_STRUCT__entry(
		__field(u32, id)
		__field(u64, done)
		__field(int, err)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->done = done;
		__entry->err = err;
	),
	TP_printk("id=%u done=%llu err=%d", __entry->id, __entry->done,
		  __entry->err)
);

/* Sessions: paired by id; requests by session, slot and seq as well. */
#define show_session_state(state) __print_symbolic(state, \
	{ 0, "opening" }, { 1, "live" }, { 2, "broken" }, { 3, "over" })

#define show_msg_type(type) __print_symbolic(type, \
	{ TALLY_MSG_HELLO, "hello" }, \
	{ TALLY_MSG_CHALLENGE, "challenge" }, \
	{ TALLY_MSG_PROVE, "prove" }, \
	{ TALLY_MSG_READY, "ready" }, \
	{ TALLY_MSG_ACTIVE, "active" }, \
	{ TALLY_MSG_ACTIVE_ACK, "active_ack" }, \
	{ TALLY_MSG_REFUSE, "refuse" }, \
	{ TALLY_MSG_GOODBYE, "goodbye" }, \
	{ TALLY_MSG_CREDIT, "credit" }, \
	{ TALLY_MSG_RENEW, "renew" }, \
	{ TALLY_MSG_RENEW_ACK, "renew_ack" }, \
	{ TALLY_MSG_REPLY, "reply" }, \
	{ TALLY_MSG_ATTACH, "attach" }, \
	{ TALLY_MSG_OPEN, "open" }, \
	{ TALLY_MSG_CLOSE, "close" }, \
	{ TALLY_MSG_LIST, "list" }, \
	{ TALLY_MSG_COUNTER, "counter" }, \
	{ TALLY_MSG_REGION_MAP, "region_map" }, \
	{ TALLY_MSG_WHO, "who" })

TRACE_EVENT(tally_handshake_step,
	TP_PROTO(const void *conn, bool incoming, u32 type),
	TP_ARGS(conn, incoming, type),
	TP_STRUCT__entry(
		__field(const void *, conn)
		__field(bool, incoming)
		__field(u32, type)
	),
	TP_fast_assign(
		__entry->conn = conn;
		__entry->incoming = incoming;
		__entry->type = type;
	),
	TP_printk("conn=%p %s got %s", __entry->conn,
		  __entry->incoming ? "responder" : "initiator",
		  show_msg_type(__entry->type))
);

TRACE_EVENT(tally_handshake_refuse,
	TP_PROTO(const void *conn, bool incoming, u32 reason),
	TP_ARGS(conn, incoming, reason),
	TP_STRUCT__entry(
		__field(const void *, conn)
		__field(bool, incoming)
		__field(u32, reason)
	),
	TP_fast_assign(
		__entry->conn = conn;
		__entry->incoming = incoming;
		__entry->reason = reason;
	),
	TP_printk("conn=%p %s reason=%s", __entry->conn,
		  __entry->incoming ? "responder" : "initiator",
		  __print_symbolic(__entry->reason,
			{ TALLY_REFUSE_VERSION, "version" },
			{ TALLY_REFUSE_UNKNOWN_PEER, "unknown_peer" },
			{ TALLY_REFUSE_WRONG_NAME, "wrong_name" },
			{ TALLY_REFUSE_AUTH, "auth" },
			{ TALLY_REFUSE_AUTH_MISMATCH, "auth_mismatch" },
			{ TALLY_REFUSE_NAME_IN_USE, "name_in_use" },
			{ TALLY_REFUSE_COLLISION, "collision" },
			{ TALLY_REFUSE_BUSY, "busy" },
			{ TALLY_REFUSE_MALFORMED, "malformed" },
			{ TALLY_REFUSE_STALE, "stale" },
			{ TALLY_REFUSE_ABI, "abi" },
			{ TALLY_REFUSE_SHUTDOWN, "shutdown" },
			{ TALLY_REFUSE_EPOCH, "epoch" }))
);

TRACE_EVENT(tally_session_state,
	TP_PROTO(u64 session, u32 from, u32 to, int err),
	TP_ARGS(session, from, to, err),
	TP_STRUCT__entry(
		__field(u64, session)
		__field(u32, from)
		__field(u32, to)
		__field(int, err)
	),
	TP_fast_assign(
		__entry->session = session;
		__entry->from = from;
		__entry->to = to;
		__entry->err = err;
	),
	TP_printk("session=%#llx %s -> %s err=%d", __entry->session,
		  show_session_state(__entry->from),
		  show_session_state(__entry->to), __entry->err)
);

/* lost: every user is told; fenced: every QP and every key is gone. */
DECLARE_EVENT_CLASS(tally_session_class,
	TP_PROTO(u64 session, int err),
	TP_ARGS(session, err),
	TP_STRUCT__entry(
		__field(u64, session)
		__field(int, err)
	),
	TP_fast_assign(
		__entry->session = session;
		__entry->err = err;
	),
	TP_printk("session=%#llx err=%d", __entry->session, __entry->err)
);

DEFINE_EVENT(tally_session_class, tally_session_lost,
	TP_PROTO(u64 session, int err),
	TP_ARGS(session, err)
);

DEFINE_EVENT(tally_session_class, tally_session_fenced,
	TP_PROTO(u64 session, int err),
	TP_ARGS(session, err)
);

/* client: we may act until; home: we reclaim after; expired: it passed. */
DECLARE_EVENT_CLASS(tally_lease_class,
	TP_PROTO(u64 session, u64 deadline),
	TP_ARGS(session, deadline),
	TP_STRUCT__entry(
		__field(u64, session)
		__field(u64, deadline)
	),
	TP_fast_assign(
		__entry->session = session;
		__entry->deadline = deadline;
	),
	TP_printk("session=%#llx deadline=%llu", __entry->session,
		  __entry->deadline)
);

DEFINE_EVENT(tally_lease_class, tally_lease_client,
	TP_PROTO(u64 session, u64 deadline),
	TP_ARGS(session, deadline)
);

DEFINE_EVENT(tally_lease_class, tally_lease_home,
	TP_PROTO(u64 session, u64 deadline),
	TP_ARGS(session, deadline)
);

DEFINE_EVENT(tally_lease_class, tally_lease_expired,
	TP_PROTO(u64 session, u64 deadline),
	TP_ARGS(session, deadline)
);

/* call and done at the client, request and reply at the home. */
DECLARE_EVENT_CLASS(tally_rpc_class,
	TP_PROTO(u64 session, u32 slot, u32 seq, u32 type, int status),
	TP_ARGS(session, slot, seq, type, status),
	TP_STRUCT__entry(
		__field(u64, session)
		__field(u32, slot)
		__field(u32, seq)
		__field(u32, type)
		__field(int, status)
	),
	TP_fast_assign(
		__entry->session = session;
		__entry->slot = slot;
		__entry->seq = seq;
		__entry->type = type;
		__entry->status = status;
	),
	TP_printk("session=%#llx slot=%u seq=%u %s status=%d",
		  __entry->session, __entry->slot, __entry->seq,
		  show_msg_type(__entry->type), __entry->status)
);

DEFINE_EVENT(tally_rpc_class, tally_rpc_call,
	TP_PROTO(u64 session, u32 slot, u32 seq, u32 type, int status),
	TP_ARGS(session, slot, seq, type, status)
);

DEFINE_EVENT(tally_rpc_class, tally_rpc_done,
	TP_PROTO(u64 session, u32 slot, u32 seq, u32 type, int status),
	TP_ARGS(session, slot, seq, type, status)
);

DEFINE_EVENT(tally_rpc_class, tally_rpc_request,
	TP_PROTO(u64 session, u32 slot, u32 seq, u32 type, int status),
	TP_ARGS(session, slot, seq, type, status)
);

DEFINE_EVENT(tally_rpc_class, tally_rpc_reply,
	TP_PROTO(u64 session, u32 slot, u32 seq, u32 type, int status),
	TP_ARGS(session, slot, seq, type, status)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
