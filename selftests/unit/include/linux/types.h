/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's integer types for code that is built in user space too. */
#ifndef TALLY_UNIT_TYPES_H
#define TALLY_UNIT_TYPES_H

#include_next <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef unsigned long long u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef long long s64;

#endif
