/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What can be asked of a handle. @argp is the command's struct, copied in, and
 * filled in where the call succeeds or says what is in the way.
 *
 * Context: process, no locks held; may sleep. Return: 0, or an errno of the
 * command in <linux/lkvfence.h>.
 */
#ifndef LKVFENCE_CALLS_H
#define LKVFENCE_CALLS_H

#include <linux/types.h>

struct handle;

int call_stat(struct handle *h, void *argp);
int call_begin(struct handle *h, void *argp);
int call_hold(struct handle *h, void *argp);
int call_take(struct handle *h, void *argp);
int call_return(struct handle *h, void *argp);
int call_query(struct handle *h, void *argp);
int call_adopt(struct handle *h, void *argp);
int call_report(struct handle *h, void *argp);
/* in end.c */
int call_abort(struct handle *h, void *argp);
int call_release(struct handle *h, void *argp);
/* in source.c */
int call_source(struct handle *h, void *argp);
int call_quiet(struct handle *h, void *argp);
int call_query_source(struct handle *h, void *argp);
/* in group.c */
int call_join(struct handle *h, void *argp);
/* in ticket.c */
int call_ready(struct handle *h, void *argp);
int call_pull(struct handle *h, void *argp);
int call_withdraw(struct handle *h, void *argp);

/* Is it a policy? */
bool is_policy(u32 policy);

/* What an engine may give as a reason, where 0 stands for ABORTED. */
bool is_abort_reason(u32 reason);
u32 abort_reason(u32 reason);

/* A timeout that may be asked for, where 0 stands for none. */
bool is_timeout(u64 ns);

/*
 * How many transfers there may be: none more for who doesn't read events. The
 * handle's region is locked.
 */
u32 room_for(const struct handle *h);

#endif /* LKVFENCE_CALLS_H */
