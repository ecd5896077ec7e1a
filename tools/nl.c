// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "nl.h"
#include "out.h"
#include "tally.h"

#define ATTRS_MAX	64
#define DUMP_TRIES	5
#define MSG_MAX		32768	/* no message of the kernel's is longer */

/* Requests go through @sock, events come through @events. */
static struct {
	struct nl_sock *sock;
	int family;
	struct nl_sock *events;
} nl;

/* An answer that is collected before it is shown: a dump may have to be had anew. */
struct answer {
	struct tnl_request *req;
	struct nl_msg **msgs;
	size_t count;
	bool done;
	bool torn;
	bool no_memory;
};

static int tnl_open(void)
{
	int one = 1;

	if (nl.sock)
		return DONE;
	nl.sock = nl_socket_alloc();
	if (!nl.sock || genl_connect(nl.sock)) {
		say("no generic netlink socket: %s", strerror(errno));
		tnl_close();
		return FAILED;
	}
	nl_socket_set_msg_buf_size(nl.sock, MSG_MAX);
	/* Older kernels know neither; they only say less when they refuse. */
	setsockopt(nl_socket_get_fd(nl.sock), SOL_NETLINK, NETLINK_EXT_ACK,
		   &one, sizeof(one));
	setsockopt(nl_socket_get_fd(nl.sock), SOL_NETLINK,
		   NETLINK_GET_STRICT_CHK, &one, sizeof(one));
	nl.family = genl_ctrl_resolve(nl.sock, TALLY_FAMILY_NAME);
	if (nl.family < 0) {
		say("the kernel does not know tally: load the module (modprobe tally)");
		tnl_close();
		return FAILED;
	}
	return DONE;
}

/**
 * tnl_close - give the sockets back
 */
void tnl_close(void)
{
	nl_socket_free(nl.sock);
	nl_socket_free(nl.events);
	nl.sock = NULL;
	nl.events = NULL;
}

/**
 * tnl_begin - begin a request
 * @req: filled, but for @about, @words and @count
 * @cmd: TALLY_CMD_*
 * @dump: the answer is a list
 *
 * Return: DONE, or FAILED after a sentence.
 */
int tnl_begin(struct tnl_request *req, uint8_t cmd, bool dump)
{
	if (tnl_open())
		return FAILED;
	req->error = 0;
	req->msg = nlmsg_alloc();
	if (req->msg && genlmsg_put(req->msg, NL_AUTO_PORT, NL_AUTO_SEQ,
				    nl.family, 0, dump ? NLM_F_DUMP : 0, cmd,
				    TALLY_FAMILY_VERSION))
		return DONE;
	nlmsg_free(req->msg);
	say("%s: no memory", req->about);
	return FAILED;
}

/**
 * tnl_ready - all attributes are put
 * @req: the request
 * @err: 0, or that there was no room
 *
 * Return: DONE; or FAILED after a sentence, then the message is freed.
 */
int tnl_ready(struct tnl_request *req, int err)
{
	if (!err)
		return DONE;
	nlmsg_free(req->msg);
	say("%s: this is too long for one request", req->about);
	return FAILED;
}

static void value_text(const struct tnl_word *word, struct nlattr *attr,
		       char *text, size_t size)
{
	if (word->text)
		snprintf(text, size, "%.*s", nla_len(attr),
			 (char *)nla_data(attr));
	else if (nla_len(attr) > 8)
		text[0] = '\0';
	else
		snprintf(text, size, "%llu", (unsigned long long)tnl_num(attr));
}

/* "port 7475: " for the attribute at that offset of the request. */
static void blame(struct tnl_request *req, uint32_t offset, char *text,
		  size_t size)
{
	const struct nlmsghdr *hdr = nlmsg_hdr(req->msg);
	struct nlattr *attr;
	char value[128];
	int type;

	if (offset + NLA_HDRLEN > hdr->nlmsg_len)
		return;
	attr = (struct nlattr *)((char *)hdr + offset);
	type = nla_type(attr);
	if (type >= req->count || !req->words[type].word)
		return;
	value_text(&req->words[type], attr, value, sizeof(value));
	/* "peer add n2: peer n2: …" says it twice. */
	if (req->words[type].text && strstr(req->about, value))
		return;
	snprintf(text, size, "%s %s: ", req->words[type].word, value);
}

/* What the kernel would have taken, if it says so. */
static void limits(struct nlattr *policy, char *text, size_t size)
{
	struct nlattr *tb[NL_POLICY_TYPE_ATTR_MAX + 1];
	struct nlattr *min, *max, *length;

	if (nla_parse_nested(tb, NL_POLICY_TYPE_ATTR_MAX, policy, NULL))
		return;
	min = tb[NL_POLICY_TYPE_ATTR_MIN_VALUE_U];
	max = tb[NL_POLICY_TYPE_ATTR_MAX_VALUE_U];
	length = tb[NL_POLICY_TYPE_ATTR_MAX_LENGTH];
	if (min && max && tnl_num(max) < UINT64_MAX)
		snprintf(text, size, "it has to be %llu to %llu",
			 (unsigned long long)tnl_num(min),
			 (unsigned long long)tnl_num(max));
	else if (min)
		snprintf(text, size, "it has to be at least %llu",
			 (unsigned long long)tnl_num(min));
	else if (length)
		snprintf(text, size, "it may have at most %llu bytes",
			 (unsigned long long)tnl_num(length));
}

/* @list: of a list older kernels lose the sentence when it is refused. */
static const char *plain(int error, bool list)
{
	switch (error) {
	case EPERM:
		if (list)
			return "only for the administrator of the first network namespace";
		return "only for those with CAP_NET_ADMIN";
	case EOPNOTSUPP:
		return "the loaded module does not know this; is it older than this tool?";
	case ENOENT:
		return "no node or arena of that name is here: run this on the arena's home";
	case EALREADY:
		return "it is being done already";
	case EPROTOTYPE:
		return "it is of another type";
	default:
		return strerror(error);
	}
}

static void complain(struct tnl_request *req, int error, struct nlattr **tb)
{
	char which[192] = "", range[64] = "";
	int msg_len = 0, miss = -1;
	const char *msg = NULL;

	if (tb[NLMSGERR_ATTR_MSG]) {
		msg = nla_data(tb[NLMSGERR_ATTR_MSG]);
		msg_len = strnlen(msg, nla_len(tb[NLMSGERR_ATTR_MSG]));
	}
	if (tb[NLMSGERR_ATTR_OFFS])
		blame(req, tnl_num(tb[NLMSGERR_ATTR_OFFS]), which, sizeof(which));
	if (tb[NLMSGERR_ATTR_POLICY])
		limits(tb[NLMSGERR_ATTR_POLICY], range, sizeof(range));
	if (tb[NLMSGERR_ATTR_MISS_TYPE])
		miss = tnl_num(tb[NLMSGERR_ATTR_MISS_TYPE]);
	if (error == EPROTOTYPE && req->type)
		say("%s: it is not a %s", req->about, req->type);
	else if (range[0])
		say("%s: %s%s", req->about, which, range);
	else if (msg)
		say("%s: %s%.*s", req->about, which, msg_len, msg);
	else if (miss >= 0 && miss < req->count && req->words[miss].word)
		say("%s: '%s' is missing", req->about, req->words[miss].word);
	else
		say("%s: %s%s", req->about, which, plain(error, req->list));
}

static void refused(struct answer *got, int error, void *tlvs, int len)
{
	struct nlattr *tb[NLMSGERR_ATTR_MAX + 1] = { NULL };

	got->done = true;
	got->req->error = error;
	if (error == got->req->quiet || got->req->quiet < 0)
		return;
	if (len > 0)
		nla_parse(tb, NLMSGERR_ATTR_MAX, tlvs, len, NULL);
	complain(got->req, error, tb);
}

static int on_error(struct sockaddr_nl *from, struct nlmsgerr *err, void *arg)
{
	/* libnl hands out the payload only; its header is right before it. */
	struct nlmsghdr *hdr = (void *)((char *)err - NLMSG_HDRLEN);
	int skip = sizeof(*err), rest;

	(void)from;
	if (!(hdr->nlmsg_flags & NLM_F_CAPPED))
		skip += err->msg.nlmsg_len - sizeof(err->msg);
	skip = NLMSG_ALIGN(skip);
	rest = (int)(hdr->nlmsg_len - NLMSG_HDRLEN) - skip;
	if (!(hdr->nlmsg_flags & NLM_F_ACK_TLVS))
		rest = 0;
	refused(arg, -err->error, (char *)err + skip, rest);
	return NL_STOP;
}

static int on_finish(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *hdr = nlmsg_hdr(msg);
	struct answer *got = arg;
	int skip = NLMSG_ALIGN(sizeof(int)), rest = 0, *error;

	got->done = true;
	error = nlmsg_data(hdr);
	if (nlmsg_datalen(hdr) < (int)sizeof(*error) || *error >= 0)
		return NL_STOP;
	if (hdr->nlmsg_flags & NLM_F_ACK_TLVS)
		rest = nlmsg_datalen(hdr) - skip;
	refused(got, -*error, (char *)error + skip, rest);
	return NL_STOP;
}

static int on_ack(struct nl_msg *msg, void *arg)
{
	struct answer *got = arg;

	(void)msg;
	got->done = true;
	return NL_STOP;
}

static int on_torn(struct nl_msg *msg, void *arg)
{
	struct answer *got = arg;

	(void)msg;
	got->torn = true;
	return NL_OK;
}

static int on_valid(struct nl_msg *msg, void *arg)
{
	struct answer *got = arg;
	struct nl_msg **more;

	more = realloc(got->msgs, (got->count + 1) * sizeof(*more));
	if (!more) {
		got->no_memory = true;
		return NL_OK;
	}
	nlmsg_get(msg);
	got->msgs = more;
	got->msgs[got->count++] = msg;
	return NL_OK;
}

static void forget(struct answer *got)
{
	while (got->count)
		nlmsg_free(got->msgs[--got->count]);
	free(got->msgs);
	got->msgs = NULL;
}

static struct nl_cb *callbacks(struct answer *got)
{
	struct nl_cb *cb = nl_cb_alloc(NL_CB_DEFAULT);

	if (!cb)
		return NULL;
	nl_cb_err(cb, NL_CB_CUSTOM, on_error, got);
	nl_cb_set(cb, NL_CB_FINISH, NL_CB_CUSTOM, on_finish, got);
	nl_cb_set(cb, NL_CB_ACK, NL_CB_CUSTOM, on_ack, got);
	nl_cb_set(cb, NL_CB_DUMP_INTR, NL_CB_CUSTOM, on_torn, got);
	nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, on_valid, got);
	return cb;
}

/* Send the request and collect the answer. Return: enum status. */
static int exchange(struct answer *got)
{
	struct nlmsghdr *hdr = nlmsg_hdr(got->req->msg);
	struct nl_cb *cb;
	int err;

	/* Sent once more after a torn dump: with a number of its own. */
	hdr->nlmsg_seq = NL_AUTO_SEQ;
	cb = callbacks(got);
	err = cb ? nl_send_auto(nl.sock, got->req->msg) : -NLE_NOMEM;
	while (err >= 0 && !got->done)
		err = nl_recvmsgs(nl.sock, cb);
	nl_cb_put(cb);
	if (got->req->error)
		return FAILED;
	if (err >= 0 && !got->no_memory)
		return DONE;
	say("%s: %s", got->req->about,
	    got->no_memory ? "no memory" : nl_geterror(err));
	tnl_close();
	return FAILED;
}

static int hand_out(struct answer *got, int max, tnl_answer answer)
{
	struct nlattr *attrs[ATTRS_MAX];
	struct nlmsghdr *hdr;

	got->req->answers = got->count;
	if (!got->count && got->req->none) {
		if (got->req->none[0])
			say("%s: %s", got->req->about, got->req->none);
		return FAILED;
	}
	if (got->req->list)
		out_begin_list();
	for (size_t i = 0; i < got->count && answer; i++) {
		hdr = nlmsg_hdr(got->msgs[i]);
		if (!genlmsg_parse(hdr, 0, attrs, max, NULL))
			answer(attrs, hdr);
	}
	if (got->req->list)
		out_end_list();
	return DONE;
}

/**
 * tnl_talk - send a request and hand out what is answered
 * @req: the request; its message is freed
 * @max: highest attribute type of the answer
 * @answer: called for each message, NULL: not wanted
 *
 * A list that changed while it was read is read again.
 *
 * Return: DONE, or FAILED after a sentence (none if the errno was expected).
 */
int tnl_talk(struct tnl_request *req, int max, tnl_answer answer)
{
	struct answer got = { .req = req };
	int status, tries = 0;

	do {
		forget(&got);
		got.done = false;
		got.torn = false;
		status = exchange(&got);
	} while (!status && got.torn && ++tries < DUMP_TRIES);
	if (!status && got.torn)
		say("%s: the list went on changing; it may be incomplete",
		    req->about);
	if (!status)
		status = hand_out(&got, max, answer);
	forget(&got);
	nlmsg_free(req->msg);
	req->msg = NULL;
	return status;
}

struct hearing {
	tnl_answer answer;
	int max;
	bool gone;	/* the module: no more events will come */
};

/* A family of netlink came or went. */
static bool is_our_end(struct nlmsghdr *hdr)
{
	struct nlattr *attrs[CTRL_ATTR_MAX + 1];

	return genlmsg_hdr(hdr)->cmd == CTRL_CMD_DELFAMILY &&
	       !genlmsg_parse(hdr, 0, attrs, CTRL_ATTR_MAX, NULL) &&
	       !strcmp(tnl_str(attrs[CTRL_ATTR_FAMILY_NAME]), TALLY_FAMILY_NAME);
}

static int on_event(struct nl_msg *msg, void *arg)
{
	struct nlattr *attrs[ATTRS_MAX];
	struct hearing *hear = arg;

	if (nlmsg_hdr(msg)->nlmsg_type == GENL_ID_CTRL)
		hear->gone = hear->gone || is_our_end(nlmsg_hdr(msg));
	else if (!genlmsg_parse(nlmsg_hdr(msg), 0, attrs, hear->max, NULL))
		hear->answer(attrs, nlmsg_hdr(msg));
	return NL_OK;
}

/**
 * tnl_listen - events are kept from now on for tnl_hear()
 *
 * Return: DONE, or FAILED after a sentence.
 */
int tnl_listen(void)
{
	int group = -1, families = -1;

	if (tnl_open())
		return FAILED;
	if (nl.events)
		return DONE;
	nl.events = nl_socket_alloc();
	if (nl.events && !genl_connect(nl.events)) {
		group = genl_ctrl_resolve_grp(nl.events, TALLY_FAMILY_NAME,
					      TALLY_MCGRP_MONITOR);
		families = genl_ctrl_resolve_grp(nl.events, "nlctrl", "notify");
	}
	if (group >= 0 && !nl_socket_add_membership(nl.events, group) &&
	    families >= 0 && !nl_socket_add_membership(nl.events, families) &&
	    !nl_socket_set_nonblocking(nl.events)) {
		nl_socket_disable_seq_check(nl.events);
		return DONE;
	}
	say("the group of events cannot be joined");
	tnl_close();
	return FAILED;
}

/**
 * tnl_events_fd - where events come
 *
 * Return: a descriptor to poll, while they are kept.
 */
int tnl_events_fd(void)
{
	return nl_socket_get_fd(nl.events);
}

/**
 * tnl_hear - wait for events and hand them out
 * @ms: at most so long; -1: for ever
 * @max: highest attribute type
 * @answer: called for each event; with NULL when events were lost
 *
 * Return: DONE when some came, FAILED.
 */
int tnl_hear(int ms, int max, tnl_answer answer)
{
	struct hearing hear = { .answer = answer, .max = max };
	struct pollfd fd = { .fd = tnl_events_fd(), .events = POLLIN };
	int err;

	if (poll(&fd, 1, ms) <= 0)
		return FAILED;
	nl_socket_modify_cb(nl.events, NL_CB_VALID, NL_CB_CUSTOM, on_event,
			    &hear);
	do {
		err = nl_recvmsgs_default(nl.events);
		/* libnl folds ENOBUFS into this one. */
		if (err == -NLE_NOMEM)
			answer(NULL, NULL);
	} while (err >= 0 || err == -NLE_NOMEM);
	if (err == -NLE_AGAIN && !hear.gone)
		return DONE;
	say("events: %s", hear.gone ? "the module was unloaded" :
	    nl_geterror(err));
	return FAILED;
}

/**
 * tnl_deaf - no more events are wanted
 */
void tnl_deaf(void)
{
	nl_socket_free(nl.events);
	nl.events = NULL;
}

static int on_family(struct nl_msg *msg, void *arg)
{
	struct nlattr *attrs[CTRL_ATTR_MAX + 1];
	unsigned int *version = arg;

	if (!genlmsg_parse(nlmsg_hdr(msg), 0, attrs, CTRL_ATTR_MAX, NULL) &&
	    attrs[CTRL_ATTR_VERSION])
		*version = tnl_num(attrs[CTRL_ATTR_VERSION]);
	return NL_OK;
}

/**
 * tnl_version - version of the protocol in the kernel
 * @version: filled; 0 when the module is not loaded
 *
 * Return: DONE or FAILED.
 */
int tnl_version(unsigned int *version)
{
	struct nl_sock *sock = nl_socket_alloc();
	struct nl_msg *msg = nlmsg_alloc();
	int err = -NLE_NOMEM;

	*version = 0;
	if (sock && msg && !genl_connect(sock) &&
	    genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, GENL_ID_CTRL, 0, 0,
			CTRL_CMD_GETFAMILY, 1) &&
	    !nla_put_string(msg, CTRL_ATTR_FAMILY_NAME, TALLY_FAMILY_NAME)) {
		nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, on_family,
				    version);
		err = nl_send_auto(sock, msg);
		if (err >= 0)
			err = nl_recvmsgs_default(sock);
	}
	nlmsg_free(msg);
	nl_socket_free(sock);
	return err < 0 ? FAILED : DONE;
}

/**
 * tnl_put_node - name the node a request is about
 * @req: the request
 * @attr: attribute for it
 * @node: name given to the command, or NULL
 */
void tnl_put_node(struct tnl_request *req, int attr, const char *node)
{
	if (!node)
		node = opt.node;
	if (node)
		nla_put_string(req->msg, attr, node);
}

/**
 * tnl_str - a string attribute
 * @attr: the attribute, or NULL
 *
 * Return: the string, "" without one.
 */
const char *tnl_str(struct nlattr *attr)
{
	/* That of another machine may be no string. */
	if (!attr || !nla_len(attr) ||
	    ((char *)nla_data(attr))[nla_len(attr) - 1])
		return "";
	return nla_get_string(attr);
}

/**
 * tnl_num - a number attribute of any width
 * @attr: the attribute, or NULL
 *
 * Return: the number, 0 without one.
 */
uint64_t tnl_num(struct nlattr *attr)
{
	switch (attr ? nla_len(attr) : 0) {
	case 1:
		return nla_get_u8(attr);
	case 2:
		return nla_get_u16(attr);
	case 4:
		return nla_get_u32(attr);
	case 8:
		return nla_get_u64(attr);
	default:
		return 0;
	}
}

/**
 * tnl_next - go through attributes that occur more than once
 * @hdr: the message
 * @prev: the one before, NULL to begin
 * @type: their type
 *
 * Return: the next one, or NULL.
 */
struct nlattr *tnl_next(struct nlmsghdr *hdr, struct nlattr *prev, int type)
{
	struct genlmsghdr *genl = nlmsg_data(hdr);
	struct nlattr *attr = genlmsg_attrdata(genl, 0);
	int rest = genlmsg_attrlen(genl, 0);

	if (prev) {
		rest -= (char *)prev - (char *)attr;
		attr = nla_next(prev, &rest);
	}
	while (nla_ok(attr, rest) && nla_type(attr) != type)
		attr = nla_next(attr, &rest);
	return nla_ok(attr, rest) ? attr : NULL;
}
