/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_PROBE_H
#define TALLY_PROBE_H

#include "transport/dev.h"

enum tally_atomics tally_dev_probe(struct tally_dev *dev);

#endif
