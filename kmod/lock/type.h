/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_LOCK_TYPE_H
#define TALLY_LOCK_TYPE_H

#include "object/type.h"

int tally_lock_init(void);
void tally_lock_exit(void);

extern const struct tally_type_ops tally_lock_type;

#endif
