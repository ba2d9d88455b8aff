// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Groups, from the outside: which transfers joined the same one, and that they come
 * back together (L12), and don't wait for nothing (L8).
 */
#include "fuzz.h"
#include "group.h"
#include "region.h"

#define FOLLOWED	24

/* The first that there are; what is beyond these isn't followed. */
static struct followed {
	const struct group *group;	/* NULL: none; it lasts as long as a member does */
	u32 nr;
	struct {
		struct region *region;	/* referenced */
		u64 generation;
	} members[MAX_MEMBERS];
} followed[FOLLOWED];

void judge_joined(int fd, u64 generation)
{
	struct region *r = handle_of(fd)->region;
	struct followed *f, *free = NULL;
	struct fence_transfer *ft;
	const struct member *m;

	agree(!fence_lookup(&r->fence, generation, &ft) && ft->grouped);
	m = to_transfer(ft)->member;
	agree(m && m->region == r && m->transfer == to_transfer(ft));
	for (f = followed; f < followed + FOLLOWED && f->group != m->group; f++)
		if (!f->group && !free)
			free = f;
	if (f == followed + FOLLOWED)
		f = free;
	if (!f)
		return;
	f->group = m->group;
	agree(f->nr < MAX_MEMBERS);
	region_get(r);
	f->members[f->nr].region = r;
	f->members[f->nr++].generation = generation;
}

static bool is_queued(void)
{
	const struct delayed_work *w = shim.delayed;

	while (w && (strcmp(w->name, "group_work") || w->due > shim.now))
		w = w->next;
	return w;
}

static void judge_group(struct followed *f)
{
	u32 alive = 0, early = 0, gone = 0;

	for (u32 i = 0; i < f->nr; i++) {
		struct fence_transfer *t;
		int err = fence_lookup(&f->members[i].region->fence,
				       f->members[i].generation, &t);

		agree(!err || err == -ESTALE);
		if (err) {
			gone++;
			continue;
		}
		agree(to_transfer(t)->member && to_transfer(t)->member->group == f->group);
		agree(!t->gathered || !fence_alive(t));
		alive += fence_alive(t);
		early += !fence_alive(t) && t->reason != LKVFENCE_REASON_FINISHED;
	}
	/* Together, or not at all. */
	agree(!gone || gone == f->nr);
	/* One decision for all is taken soon. */
	agree(!alive || !early || is_queued());
	if (!gone)
		return;
	while (f->nr)
		region_put(f->members[--f->nr].region);
	f->group = NULL;
}

void judge_groups(void)
{
	for (u32 i = 0; i < FOLLOWED; i++)
		if (followed[i].group)
			judge_group(&followed[i]);
}
