/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Output: one call for a value prints it as text or as JSON.
 *
 * As text a value is a word or "label value", separated by blanks; @label
 * NULL leaves the value alone, @label "" prints nothing (JSON only). @key
 * NULL prints nothing in JSON.
 */
#ifndef TALLY_OUT_H
#define TALLY_OUT_H

#include <stdbool.h>
#include <stdint.h>

/* A whole answer: a list of objects, or one object. */
void out_begin_list(void);
void out_end_list(void);
void out_begin(void);
void out_end(void);
/* A list or an object inside an object. */
void out_begin_array(const char *key, const char *label);
void out_end_array(void);
void out_begin_object(const char *key);
void out_end_object(void);
/* Text only: a new line, indented. */
void out_line(void);

int out_flush(void);
void out_lost(int error);

void out_str(const char *key, const char *label, const char *value);
void out_u64(const char *key, const char *label, uint64_t value,
	     const char *unit);
void out_num(const char *key, const char *label, double value);
void out_hex(const char *key, const char *label, uint64_t value);
void out_size(const char *key, const char *label, uint64_t bytes);
void out_ms(const char *key, const char *label, uint64_t ms);
void out_perm(const char *key, const char *label, unsigned int perm);
void out_bool(const char *key, bool value, const char *yes, const char *no);
void out_uid(const char *key, const char *label, uint32_t uid);
void out_gid(const char *key, const char *label, uint32_t gid);

#endif
