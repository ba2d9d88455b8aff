/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Output for people and for programs from one call.
 *
 * Each print_*() names a value twice: @key is its JSON key, @text the printf
 * format of the human line, with one %s for the value in words. Without @key
 * it is an array's element; with @key "" it isn't in the JSON at all. Without
 * @text people don't get to see it.
 */
#ifndef PRINT_H
#define PRINT_H

#include <stdbool.h>
#include <stdint.h>

#define HUMAN_ONLY ""

void print_init(bool json);
bool print_is_json(void);

/* print_finish() - ends the output; 0, or -errno if not all of it got out */
int print_finish(void);

void print_object(const char *key);
void print_array(const char *key);
void print_end(void);			/* of the innermost object or array */

void print_u64(const char *key, const char *text, uint64_t value);
/* An identifier or address: a string in JSON, as many readers keep 53 bits. */
void print_id(const char *key, const char *text, uint64_t value);
void print_address(const char *key, const char *text, uint64_t value);
void print_ns(const char *key, const char *text, int64_t value);
void print_size(const char *key, const char *text, uint64_t value);
void print_bool(const char *key, const char *text, bool value);
void print_null(const char *key);
/* Bytes from outside: made valid UTF-8 without control characters. */
void print_string(const char *key, const char *text, const char *value);

/* print_text() - for people only */
void print_text(const char *text, ...) __attribute__((format(printf, 1, 2)));

#endif /* PRINT_H */
