/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_LOOP_H
#define TALLY_LOOP_H

#include "transport/conn.h"

struct tally_conn *tally_loop_make(struct tally_dev *dev);
struct tally_conn *tally_dev_loop(struct tally_dev *dev);

#endif
