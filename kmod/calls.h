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

struct handle;

int call_stat(struct handle *h, void *argp);
int call_begin(struct handle *h, void *argp);
int call_hold(struct handle *h, void *argp);
int call_take(struct handle *h, void *argp);
int call_return(struct handle *h, void *argp);
int call_abort(struct handle *h, void *argp);
int call_release(struct handle *h, void *argp);
int call_query(struct handle *h, void *argp);
int call_adopt(struct handle *h, void *argp);
int call_report(struct handle *h, void *argp);
/* in source.c */
int call_source(struct handle *h, void *argp);
int call_quiet(struct handle *h, void *argp);
int call_query_source(struct handle *h, void *argp);

#endif /* LKVFENCE_CALLS_H */
