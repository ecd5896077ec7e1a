/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_FAULT_DELAY_H
#define TALLY_FAULT_DELAY_H

/* A point of base/delay.h; may sleep. */
void tally_fault_delay(unsigned int point);

#endif
