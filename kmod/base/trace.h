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
	TP_printk("session=%#llx from=%u to=%u err=%d", __entry->session,
		  __entry->from, __entry->to, __entry->err)
);

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
	TP_printk("%s arena=%u object=%u type=%u gen=%llu",
		  __entry->out ? "out" : "in", __entry->arena,
		  __entry->object, __entry->type, __entry->gen)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
