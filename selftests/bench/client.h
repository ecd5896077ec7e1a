/* SPDX-License-Identifier: GPL-2.0 */
/* What programs do to count, to lock and to copy, with tally and without. */
#ifndef CLIENT_H
#define CLIENT_H

#include <stddef.h>
#include <stdint.h>

/**
 * struct subject - something to call again and again
 * @name: of it
 * @args: how many arguments it has
 * @open: get ready with the arguments of the command line
 * @call: do it once
 */
struct subject {
	const char *name;
	int args;
	void (*open)(char **arg);
	void (*call)(void);
};

void die(const char *what);
/* A connection to HOST PORT, or one that came to PORT. */
int tcp_connect(const char *host, const char *port);
int tcp_accept(const char *port);
void tcp_send(int fd, const void *data, size_t len);
void tcp_receive(int fd, void *data, size_t len);

/* redis.c, dlm.c: subjects; and what the lock manager is told first. */
void redis_open(char **arg);
void redis_count(void);
void redis_lock(void);
void dlm_open(char **arg);
void dlm_lock(void);
/* Create a lockspace; keep a resource of it, so that its master is here. */
int dlm_create(char **arg);
int dlm_keep(char **arg);

#endif
