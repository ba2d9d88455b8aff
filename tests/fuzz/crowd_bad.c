// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Calls of the crowd that are wrong.
 */
#include "crowd.h"

/* What is wrong for certain gets the errno for that, whatever others do. */
void crowd_bad(struct member *me, int fd)
{
	struct lkvfence_range range = { 0, 1 };
	struct lkvfence_begin b = {
		.size = sizeof(b), .ranges = (uintptr_t)&range, .nr_ranges = 1,
		.tag = ~0ULL,
	};
	struct lkvfence_abort a = { .size = sizeof(a), .generation = 1 };
	struct lkvfence_return r = { .size = sizeof(r), .items = 8, .nr_items = 1 };
	struct lkvfence_take t = { .size = sizeof(t) };
	struct lkvfence_query q = { .size = sizeof(q), .by = 9 };
	int err = 0, right = 0;

	switch (crowd_pick(me, 10)) {
	case 0:
		b.ranges = 8;
		err = sys(fd, LKVFENCE_IOC_BEGIN, &b);
		right = -EFAULT;
		break;
	case 1:
		b.nr_sources = 5000;
		err = sys(fd, LKVFENCE_IOC_HOLD, &b);
		right = -ERANGE;
		break;
	case 2:
		range.first = ~0U;
		err = sys(fd, LKVFENCE_IOC_BEGIN, &b);
		right = -ERANGE;
		break;
	case 3:
		range.count = 0;
		err = sys(fd, LKVFENCE_IOC_HOLD, &b);
		right = -EINVAL;
		break;
	case 4:
		err = sys(fd, LKVFENCE_IOC_ABORT, &a);
		right = -ESTALE;
		break;
	case 5:
		a.generation = ~0ULL;
		err = sys(fd, LKVFENCE_IOC_ABORT, &a);
		right = -ENOENT;
		break;
	case 6:
		err = sys(fd, LKVFENCE_IOC_RETURN, &r);
		right = -EFAULT;
		break;
	case 7:
		t.peer = 1;
		err = sys(fd, LKVFENCE_IOC_TAKE, &t);
		right = -EINVAL;
		break;
	case 8:
		err = sys(fd, LKVFENCE_IOC_QUERY, &q);
		right = -EINVAL;
		break;
	case 9:
		err = sys(fd, crowd_pick(me, 2) ? _IO(LKVFENCE_IOC_MAGIC, 0x7d) :
			  _IO(LKVFENCE_IOC_MAGIC, 0xf0), NULL);
		right = -ENOTTY;
		break;
	}
	atomic_fetch_add(&me->crowd->calls, 1);
	never(me, err != right, "answer %d to a call that is wrong, not %d", err, right);
}
