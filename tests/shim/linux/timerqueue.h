/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* Timer queues: of equal times, the one that was added first comes first. */
#ifndef LKVFENCE_SHIM_TIMERQUEUE_H
#define LKVFENCE_SHIM_TIMERQUEUE_H

#include <linux/rbtree.h>

typedef s64 ktime_t;

struct timerqueue_node {
	struct rb_node node;
	ktime_t expires;
};

struct timerqueue_head {
	struct rb_root_cached rb_root;
};

static inline void timerqueue_init(struct timerqueue_node *node)
{
	RB_CLEAR_NODE(&node->node);
}

static inline void timerqueue_init_head(struct timerqueue_head *head)
{
	head->rb_root = RB_ROOT_CACHED;
}

static inline bool timerqueue_add(struct timerqueue_head *head,
				  struct timerqueue_node *node)
{
	struct rb_node **link = &head->rb_root.rb_root.rb_node;
	struct rb_node *parent = NULL;
	bool leftmost = true;

	shim_assert(RB_EMPTY_NODE(&node->node));
	while (*link) {
		parent = *link;
		if (node->expires < rb_entry(parent, struct timerqueue_node,
					     node)->expires) {
			link = &parent->rb_left;
		} else {
			link = &parent->rb_right;
			leftmost = false;
		}
	}
	rb_link_node(&node->node, parent, link);
	rb_insert_color_cached(&node->node, &head->rb_root, leftmost);
	return leftmost;
}

static inline bool timerqueue_del(struct timerqueue_head *head,
				  struct timerqueue_node *node)
{
	shim_assert(!RB_EMPTY_NODE(&node->node));
	rb_erase_cached(&node->node, &head->rb_root);
	RB_CLEAR_NODE(&node->node);
	return !RB_EMPTY_ROOT(&head->rb_root.rb_root);
}

static inline struct timerqueue_node *
timerqueue_getnext(struct timerqueue_head *head)
{
	struct rb_node *first = rb_first_cached(&head->rb_root);

	return first ? rb_entry(first, struct timerqueue_node, node) : NULL;
}

#endif /* LKVFENCE_SHIM_TIMERQUEUE_H */
