/*
 * tree: an ordered set of pointers, compared by a function: a B+tree of exactly two levels.
 *
 * Items are non-NULL and not owned; the key lies in the item. The upper level is one array of leaves, so that an insert
 * moves at most one leaf and, once in some thirty inserts, that array: right for up to a few million items. Inserts in
 * ascending order fill the leaves. A key stands once.
 *
 *     struct tree_pos p = tree_seek(&t, &key);          first item not before key (NULL: the first of all)
 *     while ((item = tree_next(&t, &p))) ...            the tree must not change meanwhile, except by replacement
 */
#ifndef BERTH_BASE_TREE_H
#define BERTH_BASE_TREE_H

#include <stddef.h>

struct tree_leaf;

struct tree {
    struct tree_leaf **leaves; /* none is empty */
    size_t n_leaves, cap;
    size_t n; /* items */
    int (*cmp)(const void *key, const void *item);
};

struct tree_pos {
    size_t leaf, index;
};

void tree_init(struct tree *t, int (*cmp)(const void *key, const void *item));
void tree_release(struct tree *t); /* the items are left alone */

void *tree_get(const struct tree *t, const void *key); /* NULL when absent */
/* Adds or replaces the item with this key; *ret_old (may be NULL) gets the replaced one or NULL. A replacement never
 * fails. 0, or ERR_NOMEM with nothing changed. */
int tree_put(struct tree *t, const void *key, void *item, void **ret_old);
void *tree_del(struct tree *t, const void *key); /* the removed item or NULL; never fails */

struct tree_pos tree_seek(const struct tree *t, const void *key);
void *tree_next(const struct tree *t, struct tree_pos *pos);

#endif
