// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* In C++: what a callback throws stays with its own peer. Prints TAP. */
#include <atomic>
#include <cstdio>
#include <stdexcept>
#include <unistd.h>
#include <lkvfence-probe.h>

#include "fake.h"

static std::atomic<unsigned int> thrown, calm;

static int throws(const struct lkvfence_probe *, void *)
{
	if (thrown++ < 3)
		throw std::runtime_error("the connection is gone");
	return 0;
}

static int succeeds(const struct lkvfence_probe *, void *)
{
	calm++;
	return 0;
}

int main()
{
	static struct lkvfence handle;
	struct lkvfence_prober_attr attr = {};
	struct lkvfence_prober_peer bad = {}, good = {};
	struct lkvfence_prober *prober;
	bool ok = true;

	alarm(60);
	attr.fence = &handle;
	attr.interval_ns = 20000000;
	if (lkvfence_prober_start(&prober, &attr))
		return 1;
	bad.name = "bad";
	bad.probe = throws;
	bad.guard = LKVFENCE_PROBE_GUARD;
	good.name = "good";
	good.probe = succeeds;
	good.guard = LKVFENCE_PROBE_GUARD;
	fake_fail("bad");
	fake_fail("good");
	if (lkvfence_prober_add(prober, &bad) || lkvfence_prober_add(prober, &good))
		return 1;
	while (fake_failed("good") || fake_failed("bad"))
		usleep(1000);
	ok = lkvfence_prober_stop(prober, -1) == 0 && thrown == 4 && calm == 1 &&
	     fake_probes("bad") == 4 && fake_recoveries("bad") == 1;
	std::printf("%sok 1 - an exception is a failed probe, of its own peer\n1..1\n",
		    ok ? "" : "not ");
	return !ok;
}
