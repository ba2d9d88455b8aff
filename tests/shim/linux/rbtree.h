/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The kernel's rbtree interface over another tree: a treap, in which each node
 * gets a pseudo-random rank and no node ranks below its parent's. It needs half
 * the code of a red-black tree and is as shallow on average; order, parents and
 * the leftmost node are the same, which is all that users of the interface see.
 */
#ifndef LKVFENCE_SHIM_RBTREE_H
#define LKVFENCE_SHIM_RBTREE_H

#include <linux/kernel.h>
#include <linux/types.h>

struct rb_node {
	struct rb_node *shim_parent;
	struct rb_node *rb_right;
	struct rb_node *rb_left;
	u64 shim_rank;
};

struct rb_root {
	struct rb_node *rb_node;
};

struct rb_root_cached {
	struct rb_root rb_root;
	struct rb_node *rb_leftmost;
};

#define RB_ROOT			((struct rb_root){ NULL })
#define RB_ROOT_CACHED		((struct rb_root_cached){ { NULL }, NULL })
#define RB_EMPTY_ROOT(root)	(!(root)->rb_node)
#define RB_EMPTY_NODE(node)	((node)->shim_parent == (node))
#define RB_CLEAR_NODE(node)	((node)->shim_parent = (node))
#define rb_entry(ptr, type, member)	container_of(ptr, type, member)
#define rb_entry_safe(ptr, type, member) ({				\
	__typeof__(ptr) safe_ptr = (ptr);				\
	safe_ptr ? rb_entry(safe_ptr, type, member) : NULL;		\
})

/* The pointer that leads to @node. */
static inline struct rb_node **shim_link(struct rb_node *node,
					 struct rb_root *root)
{
	struct rb_node *parent = node->shim_parent;
	struct rb_node **link;

	if (!parent)
		link = &root->rb_node;
	else
		link = parent->rb_left == node ? &parent->rb_left :
						 &parent->rb_right;
	shim_assert(*link == node);
	return link;
}

/* @node and its parent change places; what lies between them moves along. */
static inline void shim_rotate_up(struct rb_node *node, struct rb_root *root)
{
	struct rb_node *parent = node->shim_parent;
	struct rb_node **link = shim_link(parent, root);
	struct rb_node *between;

	if (parent->rb_left == node) {
		between = node->rb_right;
		parent->rb_left = between;
		node->rb_right = parent;
	} else {
		between = node->rb_left;
		parent->rb_right = between;
		node->rb_left = parent;
	}
	if (between)
		between->shim_parent = parent;
	node->shim_parent = parent->shim_parent;
	parent->shim_parent = node;
	*link = node;
}

static inline void rb_link_node(struct rb_node *node, struct rb_node *parent,
				struct rb_node **link)
{
	shim_assert(!*link);
	node->shim_parent = parent;
	node->rb_left = NULL;
	node->rb_right = NULL;
	*link = node;
}

static inline void rb_insert_color(struct rb_node *node, struct rb_root *root)
{
	static u64 seed = 88172645463325252ULL;

	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	node->shim_rank = seed;
	shim_link(node, root);
	while (node->shim_parent && node->shim_parent->shim_rank < seed)
		shim_rotate_up(node, root);
}

static inline void rb_erase(struct rb_node *node, struct rb_root *root)
{
	shim_link(node, root);
	while (node->rb_left || node->rb_right) {
		struct rb_node *left = node->rb_left;
		struct rb_node *right = node->rb_right;

		if (!right || (left && left->shim_rank > right->shim_rank))
			shim_rotate_up(left, root);
		else
			shim_rotate_up(right, root);
	}
	*shim_link(node, root) = NULL;
}

static inline struct rb_node *rb_first(const struct rb_root *root)
{
	struct rb_node *node = root->rb_node;

	while (node && node->rb_left)
		node = node->rb_left;
	return node;
}

static inline struct rb_node *rb_next(const struct rb_node *node)
{
	struct rb_node *parent;

	if (node->rb_right) {
		node = node->rb_right;
		while (node->rb_left)
			node = node->rb_left;
		return (struct rb_node *)node;
	}
	for (parent = node->shim_parent; parent && parent->rb_right == node;
	     parent = parent->shim_parent)
		node = parent;
	return parent;
}

static inline struct rb_node *rb_first_cached(const struct rb_root_cached *root)
{
	return root->rb_leftmost;
}

static inline void rb_insert_color_cached(struct rb_node *node,
					  struct rb_root_cached *root,
					  bool leftmost)
{
	if (leftmost)
		root->rb_leftmost = node;
	rb_insert_color(node, &root->rb_root);
	/* The caller must know its way: a wrong @leftmost loses nodes. */
	shim_assert(rb_first(&root->rb_root) == root->rb_leftmost);
}

static inline void rb_erase_cached(struct rb_node *node,
				   struct rb_root_cached *root)
{
	if (root->rb_leftmost == node)
		root->rb_leftmost = rb_next(node);
	rb_erase(node, &root->rb_root);
}

#endif /* LKVFENCE_SHIM_RBTREE_H */
