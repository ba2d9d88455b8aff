// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Output for people and for programs from one call; see print.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "print.h"

#define MAX_DEPTH 8

static bool json;
static int depth;
static struct {
	char close;
	bool filled;
} nest[MAX_DEPTH];

void print_init(bool as_json)
{
	json = as_json;
	depth = 0;
}

bool print_is_json(void)
{
	return json;
}

int print_finish(void)
{
	while (depth)
		print_end();
	if (fflush(stdout) || ferror(stdout))
		return errno ? -errno : -EIO;
	return 0;
}

/* The length of the UTF-8 character at @s, 0 where there is no valid one. */
static int utf8_length(const unsigned char *s)
{
	uint32_t code;
	int len, i;

	if (s[0] < 0x80)
		return 1;
	if ((s[0] & 0xe0) == 0xc0)
		len = 2;
	else if ((s[0] & 0xf0) == 0xe0)
		len = 3;
	else if ((s[0] & 0xf8) == 0xf0)
		len = 4;
	else
		return 0;
	code = s[0] & (0x7f >> len);
	for (i = 1; i < len; i++) {
		/* the final NUL is no continuation, so this stays inside */
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	/* overlong, surrogate, beyond the last */
	if (code < (len == 2 ? 0x80u : len == 3 ? 0x800u : 0x10000u) ||
	    (code >= 0xd800 && code < 0xe000) || code > 0x10ffff)
		return 0;
	return len;
}

/* Control characters could drive the reader's terminal: C0, DEL and C1. */
static bool is_control(const unsigned char *s)
{
	return s[0] < 0x20 || s[0] == 0x7f || (s[0] == 0xc2 && s[1] < 0xa0);
}

static void put_clean(const char *value, bool quoted)
{
	const unsigned char *s = (const unsigned char *)value;

	while (*s) {
		int len = utf8_length(s);

		if (!len) {
			fputs(quoted ? "\\ufffd" : "?", stdout);
			s++;
			continue;
		}
		if (is_control(s)) {
			if (!quoted)
				putchar('?');
			else
				printf("\\u%04x", len == 1 ? s[0] : s[1]);
		} else {
			if (quoted && (*s == '"' || *s == '\\'))
				putchar('\\');
			fwrite(s, 1, len, stdout);
		}
		s += len;
	}
}

static void put_quoted(const char *value)
{
	putchar('"');
	put_clean(value, true);
	putchar('"');
}

/* What comes before each JSON value: line, indentation, key. */
static void lead_in(const char *key)
{
	if (depth) {
		if (nest[depth - 1].filled)
			putchar(',');
		nest[depth - 1].filled = true;
		printf("\n%*s", depth * 2, "");
	}
	if (key) {
		put_quoted(key);
		fputs(": ", stdout);
	}
}

static bool wants_json(const char *key)
{
	if (!json || (key && !*key))
		return false;
	lead_in(key);
	return true;
}

/* The format's only conversion is %s; the value must be clean. */
static void put_text(const char *text, const char *value)
{
	const char *at = strstr(text, "%s");

	if (!at) {
		fputs(text, stdout);
		return;
	}
	fwrite(text, 1, at - text, stdout);
	put_clean(value, false);
	fputs(at + 2, stdout);
}

static void open_nest(const char *key, char opening, char closing)
{
	if (!json)
		return;
	if (depth == MAX_DEPTH)
		abort();
	lead_in(key);
	putchar(opening);
	nest[depth].close = closing;
	nest[depth].filled = false;
	depth++;
}

void print_object(const char *key)
{
	open_nest(key, '{', '}');
}

void print_array(const char *key)
{
	open_nest(key, '[', ']');
}

void print_end(void)
{
	if (!json)
		return;
	depth--;
	if (nest[depth].filled)
		printf("\n%*s", depth * 2, "");
	putchar(nest[depth].close);
	if (!depth)
		putchar('\n');
}

void print_u64(const char *key, const char *text, uint64_t value)
{
	char buf[24];

	snprintf(buf, sizeof(buf), "%" PRIu64, value);
	if (wants_json(key))
		fputs(buf, stdout);
	else if (!json && text)
		put_text(text, buf);
}

static void put_string(const char *key, const char *text, const char *value)
{
	if (wants_json(key))
		put_quoted(value);
	else if (!json && text)
		put_text(text, value);
}

void print_id(const char *key, const char *text, uint64_t value)
{
	char buf[24];

	snprintf(buf, sizeof(buf), "%" PRIu64, value);
	put_string(key, text, buf);
}

void print_address(const char *key, const char *text, uint64_t value)
{
	char buf[24];

	snprintf(buf, sizeof(buf), "0x%" PRIx64, value);
	put_string(key, text, buf);
}

/* Three digits are enough to see; programs get all of them. */
static void format_ns(char *buf, size_t size, uint64_t ns)
{
	uint64_t s = ns / 1000000000;

	if (ns < 1000)
		snprintf(buf, size, "%" PRIu64 "ns", ns);
	else if (ns < 1000000)
		snprintf(buf, size, "%" PRIu64 "us", ns / 1000);
	else if (ns < 1000000000)
		snprintf(buf, size, "%" PRIu64 "ms", ns / 1000000);
	else if (s < 60)
		snprintf(buf, size, "%" PRIu64 ".%" PRIu64 "s", s,
			 ns / 100000000 % 10);
	else if (s < 3600)
		snprintf(buf, size, "%" PRIu64 "m%02" PRIu64 "s", s / 60,
			 s % 60);
	else if (s < 86400)
		snprintf(buf, size, "%" PRIu64 "h%02" PRIu64 "m", s / 3600,
			 s / 60 % 60);
	else
		snprintf(buf, size, "%" PRIu64 "d%02" PRIu64 "h", s / 86400,
			 s / 3600 % 24);
}

void print_ns(const char *key, const char *text, int64_t value)
{
	char buf[40];

	if (wants_json(key)) {
		printf("%" PRId64, value);
	} else if (!json && text) {
		format_ns(buf, sizeof(buf),
			  value < 0 ? -(uint64_t)value : (uint64_t)value);
		put_text(text, buf);
	}
}

void print_size(const char *key, const char *text, uint64_t value)
{
	static const char *const unit[] = {
		"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB",
	};
	uint64_t whole = value, rest = 0;
	unsigned int i = 0;
	char buf[40];

	if (wants_json(key)) {
		printf("%" PRIu64, value);
		return;
	}
	if (json || !text)
		return;
	for (; whole >= 1024; i++) {
		rest = whole % 1024;
		whole /= 1024;
	}
	if (rest * 10 / 1024)
		snprintf(buf, sizeof(buf), "%" PRIu64 ".%" PRIu64 " %s", whole,
			 rest * 10 / 1024, unit[i]);
	else
		snprintf(buf, sizeof(buf), "%" PRIu64 " %s", whole, unit[i]);
	put_text(text, buf);
}

void print_bool(const char *key, const char *text, bool value)
{
	if (wants_json(key))
		fputs(value ? "true" : "false", stdout);
	else if (!json && text && value)
		fputs(text, stdout);
}

void print_null(const char *key)
{
	if (wants_json(key))
		fputs("null", stdout);
}

void print_string(const char *key, const char *text, const char *value)
{
	put_string(key, text, value);
}

void print_text(const char *text, ...)
{
	va_list ap;

	if (json)
		return;
	va_start(ap, text);
	vprintf(text, ap);
	va_end(ap);
}
