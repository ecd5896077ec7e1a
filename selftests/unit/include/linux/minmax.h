/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_UNIT_MINMAX_H
#define TALLY_UNIT_MINMAX_H

#define max(a, b)	((a) > (b) ? (a) : (b))

#endif
