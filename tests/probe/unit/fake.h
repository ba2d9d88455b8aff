/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A table of peers in the place of the module's: what a call changes in one is
 * decided by the module's own kmod/peer_state.c.
 */
#ifndef TEST_PROBE_FAKE_H
#define TEST_PROBE_FAKE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A handle is any address. */
struct lkvfence {
	int unused;
};

void fake_reset(void);
/* All peers that are named exist; these change or look at one. */
void fake_fail(const char *name);
void fake_connect(const char *name, uint64_t session);
bool fake_failed(const char *name);
uint64_t fake_probes(const char *name);
uint64_t fake_recoveries(const char *name);
/* How often PEER was called, and what it fails with, if not 0; and INFO. */
unsigned int fake_calls(void);
void fake_set_error(int err);
void fake_set_info_error(int err);

#ifdef __cplusplus
}
#endif

#endif /* TEST_PROBE_FAKE_H */
