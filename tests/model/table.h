/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A set of numbers, each with a value; 0 is no member.
 */
#ifndef LKVFENCE_MODEL_TABLE_H
#define LKVFENCE_MODEL_TABLE_H

#include <stdio.h>
#include <stdlib.h>
#include <linux/types.h>

struct table {
	u64 (*entries)[2];
	u64 size;
	u64 used;
};

static inline u64 *table_find(const struct table *t, u64 key)
{
	u64 i = key & (t->size - 1);

	while (t->entries[i][0] && t->entries[i][0] != key)
		i = (i + 1) & (t->size - 1);
	return t->entries[i];
}

static inline bool table_has(const struct table *t, u64 key)
{
	return t->size && table_find(t, key)[0];
}

static inline void table_put(struct table *t, u64 key, u64 value)
{
	u64 *entry;

	if (2 * t->used >= t->size) {
		struct table bigger = { .size = t->size ? 2 * t->size : 1 << 16 };

		bigger.entries = calloc(bigger.size, sizeof(*bigger.entries));
		if (!bigger.entries) {
			perror("orders");
			exit(1);
		}
		for (u64 i = 0; i < t->size; i++)
			if (t->entries[i][0])
				table_put(&bigger, t->entries[i][0],
					  t->entries[i][1]);
		free(t->entries);
		*t = bigger;
	}
	entry = table_find(t, key);
	t->used += !entry[0];
	entry[0] = key;
	entry[1] = value;
}

static inline void table_free(struct table *t)
{
	free(t->entries);
	*t = (struct table){ 0 };
}

#endif /* LKVFENCE_MODEL_TABLE_H */
