// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Ends everything in the regions that are named, so that the module can go. */
#include "e2e.h"

int main(int argc, char **argv)
{
	struct lkvfence_open open = { 0 };
	struct lkvfence *f;
	int i;

	for (i = 1; i < argc; i++) {
		snprintf(open.name, sizeof(open.name), "%s", argv[i]);
		if (lkvfence_open(&f, &open))
			continue;
		clear(f);
		lkvfence_close(f);
	}
	return 0;
}
