/* SPDX-License-Identifier: GPL-2.0 */
/* Requests of peers at this home. */
#ifndef TALLY_HOME_SERVE_H
#define TALLY_HOME_SERVE_H

#include "object/type.h"
#include "session/session.h"

bool tally_serve_request(struct tally_sreq *req);
void tally_serve_object(const struct tally_type_ops *type,
			struct tally_sreq *req);
int tally_serve_message(const struct tally_type_ops *type,
			struct tally_session *s, u16 number, const void *body,
			u32 len);
void tally_serve_malformed(struct tally_sreq *req, const char *what);

#endif
