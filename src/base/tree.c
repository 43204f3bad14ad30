/* tree: a B+tree of two levels. See tree.h. */
#include "base/tree.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

enum { LEAF_ITEMS = 62 }; /* a leaf is 504 bytes, which malloc rounds to 512 */

struct tree_leaf {
    size_t n;
    void *items[LEAF_ITEMS];
};

void tree_init(struct tree *t, int (*cmp)(const void *key, const void *item)) {
    *t = (struct tree){.cmp = cmp};
}

void tree_release(struct tree *t) {
    for (size_t i = 0; i < t->n_leaves; i++) {
        mem_free(t->leaves[i]);
    }
    mem_free(t->leaves);
    tree_init(t, t->cmp);
}

/* The leaf that holds key, if any does: the last one whose first item is not after key, or the first. */
static size_t find_leaf(const struct tree *t, const void *key) {
    size_t lo = 0, hi = t->n_leaves;
    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;
        if (t->cmp(key, t->leaves[mid]->items[0]) < 0) {
            hi = mid;
        } else {
            lo = mid;
        }
    }
    return lo;
}

/* The place of the first item not before key; *ret_equal says whether it is the key's. */
static size_t find_item(const struct tree *t, const struct tree_leaf *l, const void *key,
                        int *ret_equal) {
    size_t lo = 0, hi = l->n;
    *ret_equal = 0;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = t->cmp(key, l->items[mid]);
        if (c == 0) {
            *ret_equal = 1;
            return mid;
        }
        if (c < 0) {
            hi = mid;
        } else {
            lo = mid + 1;
        }
    }
    return lo;
}

void *tree_get(const struct tree *t, const void *key) {
    if (t->n_leaves == 0) {
        return NULL;
    }
    const struct tree_leaf *l = t->leaves[find_leaf(t, key)];
    int equal;
    size_t i = find_item(t, l, key, &equal);
    return equal ? l->items[i] : NULL;
}

/* Puts a new empty leaf at `at` of the upper level. */
static struct tree_leaf *add_leaf(struct tree *t, size_t at) {
    if (t->n_leaves == t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 4;
        void *p = cap <= SIZE_MAX / sizeof(*t->leaves)
                      ? mem_realloc(t->leaves, cap * sizeof(*t->leaves))
                      : NULL;
        if (p == NULL) {
            return NULL;
        }
        t->leaves = p;
        t->cap = cap;
    }
    struct tree_leaf *l = mem_alloc(sizeof(*l));
    if (l == NULL) {
        return NULL;
    }
    l->n = 0;
    memmove(&t->leaves[at + 1], &t->leaves[at], (t->n_leaves - at) * sizeof(*t->leaves));
    t->leaves[at] = l;
    t->n_leaves++;
    return l;
}

static void insert_item(struct tree_leaf *l, size_t i, void *item) {
    assert(l->n < LEAF_ITEMS && i <= l->n);
    memmove(&l->items[i + 1], &l->items[i], (l->n - i) * sizeof(l->items[0]));
    l->items[i] = item;
    l->n++;
}

/* Inserts into the full leaf at `at`: splits it in the middle, or only opens a new one for an append at the very end,
 * so that ascending inserts leave full leaves behind. */
static int insert_full(struct tree *t, size_t at, size_t i, void *item) {
    struct tree_leaf *next = add_leaf(t, at + 1);
    if (next == NULL) {
        return ERR_NOMEM;
    }
    struct tree_leaf *l = t->leaves[at];
    if (i == LEAF_ITEMS && at + 2 == t->n_leaves) {
        insert_item(next, 0, item);
        return 0;
    }
    size_t keep = LEAF_ITEMS / 2;
    next->n = l->n - keep;
    memcpy(next->items, &l->items[keep], next->n * sizeof(l->items[0]));
    l->n = keep;
    if (i <= keep) {
        insert_item(l, i, item);
    } else {
        insert_item(next, i - keep, item);
    }
    return 0;
}

int tree_put(struct tree *t, const void *key, void *item, void **ret_old) {
    assert(item);
    void *old = NULL;
    if (t->n_leaves == 0 && add_leaf(t, 0) == NULL) {
        return ERR_NOMEM;
    }
    size_t at = find_leaf(t, key);
    struct tree_leaf *l = t->leaves[at];
    int equal;
    size_t i = find_item(t, l, key, &equal);
    if (equal) {
        old = l->items[i];
        l->items[i] = item;
    } else if (l->n < LEAF_ITEMS) {
        insert_item(l, i, item);
        t->n++;
    } else if (insert_full(t, at, i, item) == 0) {
        t->n++;
    } else {
        return ERR_NOMEM;
    }
    if (ret_old) {
        *ret_old = old;
    }
    return 0;
}

static void drop_leaf(struct tree *t, size_t at) {
    mem_free(t->leaves[at]);
    t->n_leaves--;
    memmove(&t->leaves[at], &t->leaves[at + 1], (t->n_leaves - at) * sizeof(*t->leaves));
}

/* Joins the leaf with the one after it when both fit in half a leaf: far from the next split. */
static void join_leaf(struct tree *t, size_t at) {
    if (at + 1 >= t->n_leaves) {
        return;
    }
    struct tree_leaf *a = t->leaves[at], *b = t->leaves[at + 1];
    if (a->n + b->n <= LEAF_ITEMS / 2) {
        memcpy(&a->items[a->n], b->items, b->n * sizeof(b->items[0]));
        a->n += b->n;
        drop_leaf(t, at + 1);
    }
}

void *tree_del(struct tree *t, const void *key) {
    if (t->n_leaves == 0) {
        return NULL;
    }
    size_t at = find_leaf(t, key);
    struct tree_leaf *l = t->leaves[at];
    int equal;
    size_t i = find_item(t, l, key, &equal);
    if (!equal) {
        return NULL;
    }
    void *old = l->items[i];
    l->n--;
    memmove(&l->items[i], &l->items[i + 1], (l->n - i) * sizeof(l->items[0]));
    t->n--;
    if (l->n == 0) {
        drop_leaf(t, at);
    } else {
        join_leaf(t, at);
        if (at > 0) {
            join_leaf(t, at - 1);
        }
    }
    return old;
}

struct tree_pos tree_seek(const struct tree *t, const void *key) {
    struct tree_pos pos = {0, 0};
    if (t->n_leaves && key) {
        int equal;
        pos.leaf = find_leaf(t, key);
        pos.index = find_item(t, t->leaves[pos.leaf], key, &equal);
    }
    return pos;
}

void *tree_next(const struct tree *t, struct tree_pos *pos) {
    while (pos->leaf < t->n_leaves) {
        const struct tree_leaf *l = t->leaves[pos->leaf];
        if (pos->index < l->n) {
            return l->items[pos->index++];
        }
        pos->leaf++;
        pos->index = 0;
    }
    return NULL;
}
