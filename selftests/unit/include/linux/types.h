/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's types, and ARRAY_SIZE(), for code that is built in user space too. */
#ifndef TALLY_UNIT_TYPES_H
#define TALLY_UNIT_TYPES_H

#include_next <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s8 s8;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;

#define fallthrough __attribute__((__fallthrough__))
#define __packed __attribute__((__packed__))
#define static_assert _Static_assert
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#endif
