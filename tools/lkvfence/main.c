// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* lkvfence, the command: what the kernel's fence holds, and for whom. */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "print.h"
#include "region.h"
#include "sysfs.h"
#include "tool.h"

static const struct command {
	const char *name;
	const char *args;
	const char *help;
	unsigned int options;
	int (*run)(const struct options *opt, int argc, char **argv);
} commands[] = {
	{ "status", "", "the module and all regions; also without arguments",
	  0, status_command },
	{ "region", "[NAME]", "regions with all their counters",
	  0, region_command },
	{ "transfer", "[--region NAME] [GENERATION | --tag T | --slot S]",
	  "who holds which slots, since when, and what they wait for",
	  OPTION_REGION | OPTION_TAG | OPTION_SLOT, transfer_command },
	{ "source", "[--region NAME]",
	  "sources that are bound to queue pairs, and what became of these",
	  OPTION_REGION, source_command },
	{ "peer", "[--region NAME]",
	  "peers: healthy or failed, since when, who probes them",
	  OPTION_REGION, peer_command },
	{ "release", "--region NAME GENERATION...",
	  "let go of transfers in quarantine, without proof (administrator)",
	  OPTION_REGION, release_command },
};

#define NR_COMMANDS (sizeof(commands) / sizeof(commands[0]))

enum {
	ARG_REGION = 256,
	ARG_TAG,
	ARG_SLOT,
	ARG_VERSION,
};

static const struct option long_options[] = {
	{ "json", no_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, ARG_VERSION },
	{ "region", required_argument, NULL, ARG_REGION },
	{ "tag", required_argument, NULL, ARG_TAG },
	{ "slot", required_argument, NULL, ARG_SLOT },
	{ 0 }
};

static void print_help(void)
{
	size_t i;

	puts("lkvfence - which KV cache slots the kernel's fence holds, and for whom\n");
	for (i = 0; i < NR_COMMANDS; i++)
		printf("%s lkvfence [-j] %s%s%s\n           %s\n",
		       i ? "      " : "Usage:", commands[i].name,
		       *commands[i].args ? " " : "", commands[i].args,
		       commands[i].help);
	puts("       lkvfence [-j] --version\n"
	     "       lkvfence help | --help\n\n"
	     "Options:\n"
	     "  -j, --json      JSON instead of text\n"
	     "  --region NAME   only this region\n"
	     "  --tag T         all transfers of this tag, held ones too\n"
	     "  --slot S        the transfer that has this slot\n\n"
	     "Exit codes:\n"
	     "  0  success\n"
	     "  1  failed or refused: the reason is on stderr\n"
	     "  2  the command line is wrong\n"
	     "  3  the module is not loaded, or its device is not here\n"
	     "  4  no permission\n"
	     "  5  the module's ABI is too old or too new for this command");
}

int tool_usage(const char *what, ...)
{
	va_list ap;

	va_start(ap, what);
	fputs("lkvfence: ", stderr);
	vfprintf(stderr, what, ap);
	fputs("; see lkvfence --help\n", stderr);
	va_end(ap);
	return TOOL_USAGE;
}

int tool_fail(const char *what, ...)
{
	int saved = errno;
	va_list ap;

	fflush(stdout);
	fputs("lkvfence: ", stderr);
	va_start(ap, what);
	/* the caller's, for %m */
	errno = saved;
	vfprintf(stderr, what, ap);
	va_end(ap);
	putc('\n', stderr);
	return TOOL_FAILED;
}

int tool_refused(int err)
{
	tool_fail("%s", lkvfence_errmsg());
	switch (err) {
	case -ENXIO:
		return TOOL_NO_MODULE;
	case -EPERM:
	case -EACCES:
		return TOOL_PERMISSION;
	case -EPROTO:
		return TOOL_ABI;
	default:
		return TOOL_FAILED;
	}
}

int tool_no_sysfs(void)
{
	struct lkvfence_info info = { 0 };
	int err = lkvfence_info(&info);

	if (err)
		return tool_refused(err);
	return tool_fail("the module is loaded, but not to be seen in sysfs: mount it on /sys");
}

/* What needs another setting tells more than that something failed. */
int tool_worse(int a, int b)
{
	return a > b ? a : b;
}

bool tool_number(const char *text, uint64_t max, uint64_t *value)
{
	int base = text[0] == '0' && (text[1] | 0x20) == 'x' ? 16 : 10;
	const char *digits = base == 16 ? text + 2 : text;
	char *end;

	/* strtoull() would let signs and spaces pass */
	if (!*digits || strspn(digits, base == 16 ?
			       "0123456789abcdefABCDEF" : "0123456789") !=
	    strlen(digits))
		return false;
	errno = 0;
	*value = strtoull(digits, &end, base);
	return !errno && *value <= max;
}

int tool_open(struct lkvfence **f, const char *region)
{
	struct lkvfence_open open = { 0 };

	/* the name was checked: it fits, with a NUL behind it */
	memcpy(open.name, region, strlen(region));
	return lkvfence_open(f, &open);
}

static int unfit(const struct command *command, unsigned int given)
{
	unsigned int extra = given & ~command->options;

	if (!extra)
		return TOOL_OK;
	return tool_usage("\"%s\" has no option --%s", command->name,
			  extra & OPTION_REGION ? "region" :
			  extra & OPTION_TAG ? "tag" : "slot");
}

static int run(const char *name, const struct options *opt, int argc,
	       char **argv)
{
	size_t i;
	int ret;

	for (i = 0; i < NR_COMMANDS; i++) {
		if (strcmp(name, commands[i].name))
			continue;
		ret = unfit(&commands[i], opt->given);
		if (ret)
			return ret;
		return commands[i].run(opt, argc, argv);
	}
	return tool_usage("no command \"%s\"", name);
}

int main(int argc, char **argv)
{
	bool json = false, version = false;
	struct options opt = { 0 };
	uint64_t value;
	int c, ret;

	while ((c = getopt_long(argc, argv, "jh", long_options, NULL)) != -1) {
		switch (c) {
		case 'j':
			json = true;
			break;
		case 'h':
			print_help();
			return TOOL_OK;
		case ARG_VERSION:
			version = true;
			break;
		case ARG_REGION:
			if (!region_name_ok(optarg))
				return tool_usage("\"%s\" can't be a region's name",
						  optarg);
			opt.region = optarg;
			opt.given |= OPTION_REGION;
			break;
		case ARG_TAG:
			if (!tool_number(optarg, UINT64_MAX, &opt.tag))
				return tool_usage("\"%s\" is no tag", optarg);
			opt.given |= OPTION_TAG;
			break;
		case ARG_SLOT:
			if (!tool_number(optarg, UINT32_MAX, &value))
				return tool_usage("\"%s\" is no slot", optarg);
			opt.slot = value;
			opt.given |= OPTION_SLOT;
			break;
		default:
			/* getopt_long() has said what is wrong */
			fputs("lkvfence: see lkvfence --help\n", stderr);
			return TOOL_USAGE;
		}
	}
	argc -= optind;
	argv += optind;
	if (argc && !strcmp(argv[0], "help")) {
		print_help();
		return TOOL_OK;
	}
	print_init(json);
	if (version)
		ret = argc ? tool_usage("--version stands alone") : version_print();
	else if (argc)
		ret = run(argv[0], &opt, argc - 1, argv + 1);
	else
		ret = run("status", &opt, 0, argv);
	c = print_finish();
	if (c) {
		errno = -c;
		return tool_fail("cannot write the output: %m");
	}
	return ret;
}
