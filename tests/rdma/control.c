// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The control: without a fence, slots that are reused at once are corrupted, by
 * a peer that writes them and for a peer that reads them. If this were silent,
 * the silence of all other tests would mean nothing.
 */
#include "rig.h"

#define SLOTS	32
#define ROUNDS	32
/* A machine that stands still between abort and reuse sees nothing. */
#define TRIES	20

static struct rig rig;

static size_t written_late(uint64_t generation)
{
	rig_connect(&rig, 0);
	rig_write(&rig, 0, generation, 0, SLOTS, ROUNDS);
	landing(rig.pool, 0, generation);
	stamp(rig.pool, 0, SLOTS, generation + 1);
	rig_drain(&rig, 0);
	return stamped(rig.pool, 0, SLOTS, generation);
}

/* The peer asked for the old content and got, of slots, the new one. */
static size_t read_late(uint64_t generation)
{
	rig_connect(&rig, 0);
	stamp(rig.pool, 0, SLOTS, generation);
	rig_read(&rig, 0, 0, SLOTS, ROUNDS);
	landing(rig.stage, 0, generation);
	stamp(rig.pool, 0, SLOTS, generation + 1);
	rig_drain(&rig, 0);
	return stamped(rig.stage, 0, SLOTS, generation + 1);
}

/* Reads that this process had posted itself land in slots that it has reused. */
static size_t pulled_late(uint64_t generation)
{
	rig_connect(&rig, 0);
	stamp(rig.stage, 0, SLOTS, generation);
	rig_pull(&rig, 0, 0, SLOTS, ROUNDS);
	landing(rig.pool, 0, generation);
	stamp(rig.pool, 0, SLOTS, generation + 1);
	rig_pulled(&rig, 0);
	return stamped(rig.pool, 0, SLOTS, generation);
}

static void corrupts(size_t (*late)(uint64_t generation), const char *what)
{
	static uint64_t generation = 1;
	size_t bytes = 0;
	int i;

	for (i = 0; i < TRIES && !bytes; i++, generation += 2)
		bytes = late(generation);
	check(bytes, "%s: %zu bytes, after %d tries", what, bytes, i);
}

int main(void)
{
	rig_new(&rig, SLOTS);
	corrupts(written_late, "late writes of a peer land in reused slots");
	corrupts(read_late, "a peer reads what reused slots hold now");
	corrupts(pulled_late, "one's own late reads land in reused slots");
	rig_end(&rig);
	return done();
}
