// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The region: it stands for liblkvfence. */
#include <pthread.h>

#include "fake.h"

static pthread_mutex_t region_lock = PTHREAD_MUTEX_INITIALIZER;

int lkvfence_return(struct lkvfence *f, struct lkvfence_return_item *items,
		    uint32_t nr)
{
	uint32_t i;

	pthread_mutex_lock(&region_lock);
	fake.nr_returns++;
	for (i = 0; i < nr; i++) {
		items[i].result = fake.item_result;
		fake.item_fence[fake.nr_items % ARRAY_SIZE(fake.items)] = f;
		fake.items[fake.nr_items++ % ARRAY_SIZE(fake.items)] = items[i];
	}
	pthread_mutex_unlock(&region_lock);
	return fake.return_err ? fake.return_err : (int)nr;
}

int lkvfence_source(struct lkvfence *f, struct lkvfence_source *source)
{
	assert_ptr_equal(f, FENCE);
	if (fake.source_err)
		return fake.source_err;
	fake.source = *source;
	memcpy(fake.source_qps, (const void *)(uintptr_t)source->qps,
	       source->nr_qps * sizeof(fake.source_qps[0]));
	source->binding = ++fake.next_binding;
	return 0;
}

int lkvfence_unbind(struct lkvfence *f, uint32_t source)
{
	assert_ptr_equal(f, FENCE);
	(void)source;
	return fake.unbind_err;
}

int lkvfence_quiet(struct lkvfence *f, uint64_t binding, uint32_t qp,
		   enum lkvfence_evidence evidence)
{
	fake.quiets[fake.nr_quiets++] =
		(struct said_quiet){ f, binding, qp, evidence };
	return fake.quiet_err;
}

int lkvfence_peer(struct lkvfence *f, struct lkvfence_peer *peer)
{
	fake.peer_fence = f;
	fake.peers[fake.nr_peers++] = *peer;
	return fake.peer_err;
}

const char *lkvfence_errmsg(void)
{
	return "the region says no";
}
