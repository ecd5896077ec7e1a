/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_COUNTER_TYPE_H
#define TALLY_COUNTER_TYPE_H

#include "object/type.h"

extern const struct tally_type_ops tally_counter_type;

#endif
