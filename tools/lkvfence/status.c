// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* lkvfence without arguments: the state of everything; and --version. */
#include <inttypes.h>
#include <string.h>

#include "print.h"
#include "region.h"
#include "sysfs.h"
#include "tool.h"

struct module {
	bool loaded;
	bool has_abi;
	bool has_qp;
	uint64_t abi;
	char version[64];
};

static bool has_feature(const char *name)
{
	char features[64];
	char *word;

	if (sysfs_string(NULL, "features", features, sizeof(features)))
		return false;
	for (word = strtok(features, " "); word; word = strtok(NULL, " "))
		if (!strcmp(word, name))
			return true;
	return false;
}

/* sysfs is for everybody; INFO is for where sysfs isn't mounted. */
static void module_read(struct module *module)
{
	struct lkvfence_info info = { 0 };

	*module = (struct module){ .version = "unknown" };
	if (sysfs_present()) {
		module->loaded = true;
		sysfs_string(NULL, "version", module->version,
			     sizeof(module->version));
		module->has_abi = !sysfs_u64(NULL, "abi", &module->abi);
		module->has_qp = has_feature("qp");
	} else if (!lkvfence_info(&info)) {
		module->loaded = true;
		module->abi = info.abi;
		module->has_abi = true;
		module->has_qp = info.features & LKVFENCE_FEATURE_QP;
		memcpy(module->version, info.version, sizeof(info.version) - 1);
		module->version[sizeof(info.version) - 1] = '\0';
	}
}

static void module_print(const struct module *module)
{
	print_bool("loaded", NULL, module->loaded);
	if (!module->loaded) {
		print_text("module not loaded");
		return;
	}
	print_string("version", "module %s", module->version);
	if (module->has_abi)
		print_u64("abi", ", ABI %s", module->abi);
	print_bool("qp", NULL, module->has_qp);
	print_text(", revocation %s", module->has_qp ? "possible" :
		   "not possible on this kernel");
}

/* The sums over all regions, past ones too: what they left behind. */
static void sums_print(void)
{
	struct values sums;
	enum value i;

	if (sysfs_values(NULL, &sums))
		return;
	for (i = 0; i < NR_VALUES; i++)
		if (sums.known[i])
			print_u64(value_name(i), NULL, sums.v[i]);
	if (!values_get(&sums, VALUE_BEGUN))
		return;
	print_text("since load: %" PRIu64 " begun, %" PRIu64
		   " alive, %" PRIu64 " released",
		   values_get(&sums, VALUE_BEGUN),
		   values_get(&sums, VALUE_TRANSFERS_ALIVE),
		   values_released(&sums));
	if (values_get(&sums, VALUE_RELEASED_TIMEOUT))
		print_text(", %" PRIu64 " of these without proof",
			   values_get(&sums, VALUE_RELEASED_TIMEOUT));
	print_text("\n");
}

int status_command(const struct options *opt, int argc, char **argv)
{
	struct module module;
	bool brief = true;
	int ret;

	(void)opt;
	if (argc)
		return tool_usage("status takes no \"%s\"", argv[0]);
	module_read(&module);
	print_object(NULL);
	print_string("tool", "lkvfence %s, ", LKVFENCE_VERSION);
	print_string("library", NULL, lkvfence_version());
	print_object("module");
	module_print(&module);
	print_text("\n");
	if (module.loaded) {
		sums_print();
		peers_print();
	}
	print_end();
	print_array("regions");
	if (sysfs_present())
		ret = region_each(NULL, region_print_each, &brief);
	else
		ret = tool_no_sysfs();
	print_end();
	print_end();
	return ret;
}

static void module_print_version(const struct module *module)
{
	print_bool("loaded", NULL, module->loaded);
	if (!module->loaded) {
		print_text("module: not loaded\n");
		return;
	}
	print_string("version", "module: %s", module->version);
	if (module->has_abi)
		print_u64("abi", ", ABI %s", module->abi);
	print_bool("qp", NULL, module->has_qp);
	print_text("\nrevocation: %s\n", module->has_qp ? "possible" :
		   "not possible: the module was built for a kernel without RDMA, or one that frees a queue pair while others look at it (mended in 6.1.188 and 6.12.110)");
}

int version_print(void)
{
	struct module module;

	module_read(&module);
	print_object(NULL);
	print_string("tool", "lkvfence: %s", LKVFENCE_VERSION);
	print_u64("abi", ", ABI %s\n", LKVFENCE_ABI);
	print_string("library", "liblkvfence: %s\n", lkvfence_version());
	print_object("module");
	module_print_version(&module);
	print_end();
	print_end();
	return TOOL_OK;
}
