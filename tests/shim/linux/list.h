/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* Doubly linked lists, with the kernel's interface. */
#ifndef LKVFENCE_SHIM_LIST_H
#define LKVFENCE_SHIM_LIST_H

#include <linux/kernel.h>
#include <linux/types.h>

#define list_entry(ptr, type, member)	container_of(ptr, type, member)

#define list_first_entry(head, type, member) \
	list_entry((head)->next, type, member)

#define list_first_entry_or_null(head, type, member) \
	(list_empty(head) ? NULL : list_entry((head)->next, type, member))

/* The entry at hand may be removed. */
#define list_for_each_entry_safe(pos, n, head, member)				\
	for (pos = list_first_entry(head, __typeof__(*pos), member),		\
	     n = list_entry(pos->member.next, __typeof__(*pos), member);	\
	     &pos->member != (head);						\
	     pos = n, n = list_entry(n->member.next, __typeof__(*n), member))

static inline void INIT_LIST_HEAD(struct list_head *head)
{
	head->next = head;
	head->prev = head;
}

static inline bool list_empty(const struct list_head *head)
{
	return head->next == head;
}

static inline void list_add_tail(struct list_head *node, struct list_head *head)
{
	shim_assert(head->prev->next == head);
	/* An entry that is in a list is linked to itself, or to others. */
	shim_assert(node->next == node && node->prev == node);
	node->prev = head->prev;
	node->next = head;
	head->prev->next = node;
	head->prev = node;
}

static inline void list_del_init(struct list_head *node)
{
	shim_assert(node->next->prev == node && node->prev->next == node);
	node->next->prev = node->prev;
	node->prev->next = node->next;
	INIT_LIST_HEAD(node);
}

static inline void list_move_tail(struct list_head *node, struct list_head *head)
{
	list_del_init(node);
	list_add_tail(node, head);
}

#endif /* LKVFENCE_SHIM_LIST_H */
