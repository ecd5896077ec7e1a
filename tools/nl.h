/* SPDX-License-Identifier: GPL-2.0 */
/* Requests to the kernel over generic netlink, and what it answers. */
#ifndef TALLY_NL_H
#define TALLY_NL_H

#include <stdbool.h>
#include <netlink/attr.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>
#include <linux/tally_netlink.h>

/**
 * struct tnl_word - how an attribute is called on the command line
 * @word: its key; NULL: it has none
 * @text: it is a string, else a number
 */
struct tnl_word {
	const char *word;
	bool text;
};

/**
 * struct tnl_request - one request
 * @about: what it does, for complaints: "peer add n2"
 * @words: keys of the attributes, by type
 * @count: how many
 * @msg: the message; owned by tnl_talk() from there on
 * @error: after tnl_talk(): errno the kernel answered with, or 0
 * @quiet: this errno is expected: no complaint; -1: any is
 * @type: type of object that is meant, or NULL
 * @list: the answer is shown as a list
 * @none: what to complain about when the list is empty, or NULL; "": fail silently
 * @answers: after tnl_talk(): messages of the answer
 */
struct tnl_request {
	char about[256];
	const struct tnl_word *words;
	int count;
	struct nl_msg *msg;
	int error;
	int quiet;
	const char *type;
	bool list;
	const char *none;
	size_t answers;
};

/*
 * One message of the answer: its attributes by type, and all of them for
 * those that occur more than once.
 */
typedef void (*tnl_answer)(struct nlattr **attrs, struct nlmsghdr *hdr);

int tnl_begin(struct tnl_request *req, uint8_t cmd, bool dump);
int tnl_ready(struct tnl_request *req, int err);
int tnl_talk(struct tnl_request *req, int max, tnl_answer answer);
int tnl_listen(void);
int tnl_events_fd(void);
int tnl_hear(int ms, int max, tnl_answer answer);
void tnl_deaf(void);
int tnl_version(unsigned int *version);
void tnl_close(void);

void tnl_put_node(struct tnl_request *req, int attr, const char *node);
const char *tnl_str(struct nlattr *attr);
uint64_t tnl_num(struct nlattr *attr);
struct nlattr *tnl_next(struct nlmsghdr *hdr, struct nlattr *prev, int type);

#endif
