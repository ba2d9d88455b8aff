// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The header alone, and the sizes and offsets that it must have for every
 * compiler, language and word size. A program of 32 bits talks to a kernel of
 * 64, so a struct that differs is a broken ABI. Compiled, never run.
 */
#include <lkvfence.h>

#ifdef __cplusplus
#define CHECK(e)	static_assert(e, #e)
#else
#define CHECK(e)	_Static_assert(e, #e)
#endif

#define SIZE(type, n)		CHECK(sizeof(struct type) == (n))
#define AT(type, member, n)	CHECK(offsetof(struct type, member) == (n))

SIZE(lkvfence_range, 8);
SIZE(lkvfence_info, 96);
AT(lkvfence_info, features, 16);
AT(lkvfence_info, timeout_default_ns, 40);
AT(lkvfence_info, version, 64);
SIZE(lkvfence_open, 104);
AT(lkvfence_open, slot_size, 72);
AT(lkvfence_open, fd, 96);
SIZE(lkvfence_stat, 312);
SIZE(lkvfence_begin, 96);
AT(lkvfence_begin, ranges, 16);
AT(lkvfence_begin, generation, 64);
SIZE(lkvfence_take, 24);
SIZE(lkvfence_return_item, 24);
SIZE(lkvfence_return, 24);
SIZE(lkvfence_abort, 64);
SIZE(lkvfence_release, 32);
SIZE(lkvfence_lease, 8);
SIZE(lkvfence_query, 128);
AT(lkvfence_query, comm, 112);
SIZE(lkvfence_adopt, 16);
SIZE(lkvfence_event, 64);

/* structs and calls that share a name can be used side by side, in C++ too */
int use(struct lkvfence **f);

int use(struct lkvfence **f)
{
	struct lkvfence_open open_req;
	struct lkvfence_stat stat;
	int err = lkvfence_open(f, &open_req);

	return err ? err : lkvfence_stat(*f, &stat);
}
