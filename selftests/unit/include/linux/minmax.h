/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_UNIT_MINMAX_H
#define TALLY_UNIT_MINMAX_H

#define max(a, b) ({ \
	__auto_type a_ = (a); \
	__auto_type b_ = (b); \
	a_ > b_ ? a_ : b_; \
})

#endif
