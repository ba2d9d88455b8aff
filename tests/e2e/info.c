// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* INFO tells the module's parameters as they are now. */
#include "e2e.h"

static struct lkvfence_info info(void)
{
	struct lkvfence_info i;

	need(!lkvfence_info(&i), "INFO");
	return i;
}

int main(void)
{
	set_param("timeout_min_ms", 20);
	gives(info().timeout_min_ns, 20 * MS, "timeout_min_ms");
	set_param("timeout_default_ms", 1000);
	gives(info().timeout_default_ns, 1000 * MS, "timeout_default_ms");
	set_param("timeout_max_ms", UINT32_MAX);
	gives(info().timeout_max_ns, UINT32_MAX * MS, "timeout_max_ms, and no overflow");
	set_param("max_slots", 1000);
	gives(info().max_slots, 1000, "max_slots");
	set_param("max_transfers", 1001);
	gives(info().max_transfers, 1001, "max_transfers");
	set_param("max_sources", 1002);
	gives(info().max_sources, 1002, "max_sources");
	set_param("settle_ms", 30);
	gives(info().settle_ns, 30 * MS, "settle_ms");
	gives(info().revoke_ns, 10030 * MS, "a revocation takes settle_ms and revoke_timeout_ms");
	set_param("revoke_timeout_ms", 600000);
	gives(info().revoke_ns, 600030 * MS, "revoke_timeout_ms");
	gives(info().settle_ns, 30 * MS, "which is no part of settle_ms");
	set_param("max_pulls", 1003);
	gives(info().max_pulls, 1003, "max_pulls");
	set_param("max_tombstones", 1004);
	gives(info().max_tombstones, 1004, "max_tombstones");
	set_param("unclaimed_ms", 600000);
	gives(info().unclaimed_ns, 600000 * MS, "unclaimed_ms");
	set_param("tombstone_ms", 1);
	gives(info().tombstone_ns, 1 * MS, "tombstone_ms");
	return done();
}
