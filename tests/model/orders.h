/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * What orders.c runs beside its own.
 */
#ifndef LKVFENCE_MODEL_ORDERS_H
#define LKVFENCE_MODEL_ORDERS_H

#include <linux/types.h>

/* groups.c: all orders, and random ones; they tell what they did */
void group_orders(u32 depth, u32 members, bool merge);
void group_walk(u64 seed, u64 nr);

#endif /* LKVFENCE_MODEL_ORDERS_H */
