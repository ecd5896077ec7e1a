/* SPDX-License-Identifier: GPL-2.0 */
/* The baseline between two machines: one posts, the other is the target. */
#ifndef TALLY_BENCH_FAR_H
#define TALLY_BENCH_FAR_H

#include "raw.h"

/*
 * Connect side 0 of @raw, fresh from raw_create(), with the target of another
 * machine that listens at @where, "ADDRESS:PORT". @bulk as given there.
 * -ETIMEDOUT, -ESTALE: with a new @raw it may work.
 */
int far_connect(struct raw *raw, const char *where, bool bulk);
/* Has the target left? */
bool far_has_ended(const struct far *far);
void far_destroy_qp(struct far *far);
/* The queue pair, too. */
void far_destroy(struct far *far);

/* Be the target of all machines that ask, at a port of the current namespace. */
int far_listen(u16 port);
/* No machine may ask any more; also without far_listen(). */
void far_close(void);
/* Targets are made on this device only, and end with it. */
void far_add_device(struct ib_device *ibdev);
void far_remove_device(struct ib_device *ibdev);

#endif
