/* groups: the group-versions of all kinds. See groups.h. */
#include "server/kit/groups.h"

#include <stdlib.h>
#include <string.h>

#include "api/schema/crd_kind.h"
#include "base/vec.h"

VEC(group_version_vec, struct group_version);

static struct group_version_vec all;
static uint64_t generation = UINT64_MAX; /* of the kinds that `all` was made from */

/* By group; within a group the preferred version first. */
static int order(const struct group_version *a, const struct group_version *b) {
    int c = strcmp(a->group, b->group);
    return c != 0 ? c : crd_version_order(str_of(a->version), str_of(b->version));
}

static int order_any(const void *a, const void *b) {
    return order(a, b);
}

/* One of each, in order. */
static void settle(void) {
    size_t left = 0;
    if (all.n > 0) {
        qsort(all.v, all.n, sizeof(*all.v), order_any);
    }
    for (size_t i = 0; i < all.n; i++) {
        if (left == 0 || order(&all.v[left - 1], &all.v[i]) != 0) {
            all.v[left++] = all.v[i];
        }
    }
    all.n = left;
}

static int make(void) {
    size_t n;
    const struct kind *const *kinds = kinds_all(&n);
    int r = 0;
    all.n = 0;
    for (size_t i = 0; r == 0 && i < n; i++) {
        for (size_t v = 0; r == 0 && v < kinds[i]->n_versions; v++) {
            struct group_version gv = {kinds[i]->group, kinds[i]->versions[v].version};
            if (!kinds[i]->versions[v].hidden) {
                r = group_version_vec_push(&all, gv);
            }
        }
    }
    return r; /* out of memory: what there is, and again the next time */
}

const struct group_version *groups_all(size_t *ret_n) {
    if (generation != kinds_generation()) {
        int r = make();
        settle();
        generation = r == 0 ? kinds_generation() : generation;
    }
    *ret_n = all.n;
    return all.v;
}

ptrdiff_t groups_find(const char *group, const char *version) {
    struct group_version gv = {group, version};
    size_t n;
    const struct group_version *v = groups_all(&n);
    const struct group_version *at = n > 0 ? bsearch(&gv, v, n, sizeof(*v), order_any) : NULL;
    return at != NULL ? at - v : -1;
}

const struct group_version *groups_of(const char *group, size_t *ret_n) {
    size_t n, low = 0;
    const struct group_version *v = groups_all(&n);
    for (size_t high = n; low < high;) {
        size_t mid = (low + high) / 2;
        if (strcmp(v[mid].group, group) < 0) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    *ret_n = 0;
    while (low + *ret_n < n && strcmp(v[low + *ret_n].group, group) == 0) {
        ++*ret_n;
    }
    return *ret_n > 0 ? &v[low] : NULL;
}

/* ---- kinds, by group ---- */

struct kind_place {
    const struct kind *kind;
    size_t at; /* among all */
};

static struct {
    struct kind_place *order;
    const struct kind **v;
    size_t n;
    uint64_t generation;
    bool made;
} sorted;

static int by_group(const void *a, const void *b) {
    const struct kind_place *x = a, *y = b;
    int c = strcmp(x->kind->group, y->kind->group);
    return c != 0 ? c : x->at < y->at ? -1 : 1;
}

static bool sort_kinds(void) {
    size_t n;
    const struct kind *const *kinds = kinds_all(&n);
    struct kind_place *order = mem_realloc(sorted.order, (n + 1) * sizeof(*order));
    sorted.order = order != NULL ? order : sorted.order;
    const struct kind **v =
        order != NULL ? mem_realloc((void *)sorted.v, (n + 1) * sizeof(*v)) : NULL;
    sorted.v = v != NULL ? v : sorted.v;
    sorted.made = v != NULL;
    for (size_t i = 0; v != NULL && i < n; i++) {
        order[i] = (struct kind_place){kinds[i], i};
    }
    if (v != NULL) {
        qsort(order, n, sizeof(*order), by_group);
    }
    for (size_t i = 0; v != NULL && i < n; i++) {
        v[i] = order[i].kind;
    }
    sorted.n = n;
    sorted.generation = kinds_generation();
    return sorted.made;
}

const struct kind *const *groups_kinds(const char *group, size_t *ret_n) {
    size_t low = 0, n = 0;
    if ((!sorted.made || sorted.generation != kinds_generation()) && !sort_kinds()) {
        return kinds_all(ret_n);
    }
    for (size_t high = sorted.n; low < high;) {
        size_t mid = (low + high) / 2;
        if (strcmp(sorted.v[mid]->group, group) < 0) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    while (low + n < sorted.n && strcmp(sorted.v[low + n]->group, group) == 0) {
        n++;
    }
    *ret_n = n;
    return sorted.v + low;
}
