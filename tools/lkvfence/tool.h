/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* The command's frame: options, exit codes, and how a failure is told. */
#ifndef TOOL_H
#define TOOL_H

#include <stdbool.h>
#include <stdint.h>
#include <lkvfence.h>

/* Exit codes; lkvfence(8) and --help promise them. */
enum tool_exit {
	TOOL_OK		= 0,
	TOOL_FAILED	= 1,
	TOOL_USAGE	= 2,
	TOOL_NO_MODULE	= 3,
	TOOL_PERMISSION	= 4,
	TOOL_ABI	= 5,
};

#define OPTION_REGION	(1U << 0)
#define OPTION_TAG	(1U << 1)
#define OPTION_SLOT	(1U << 2)

/* What the command line says; @given tells which of the others are set. */
struct options {
	unsigned int given;
	const char *region;
	uint64_t tag;
	uint32_t slot;
};

/* The commands; each returns an exit code. @argv holds operands only. */
int status_command(const struct options *opt, int argc, char **argv);
int region_command(const struct options *opt, int argc, char **argv);
int transfer_command(const struct options *opt, int argc, char **argv);
int source_command(const struct options *opt, int argc, char **argv);
int peer_command(const struct options *opt, int argc, char **argv);
int release_command(const struct options *opt, int argc, char **argv);
int version_print(void);

/* peers_print() - the module's sums of peers, for the status */
void peers_print(void);

/* tool_refused() - passes on the library's words for @err, its last failure */
int tool_refused(int err);

/* tool_fail() - says on stderr what failed; knows errno as %m */
int tool_fail(const char *what, ...) __attribute__((format(printf, 1, 2)));

/* tool_usage() - says on stderr what is wrong with the command line */
int tool_usage(const char *what, ...) __attribute__((format(printf, 1, 2)));

/* tool_no_sysfs() - says why there is nothing of the module in sysfs */
int tool_no_sysfs(void);

/* tool_worse() - the exit code for two things of which both may have failed */
int tool_worse(int a, int b);

/* tool_number() - a decimal or 0x number of at most @max; false if it is none */
bool tool_number(const char *text, uint64_t max, uint64_t *value);

/* tool_open() - a handle for looking: creates nothing; 0 or -errno */
int tool_open(struct lkvfence **f, const char *region);

#endif /* TOOL_H */
