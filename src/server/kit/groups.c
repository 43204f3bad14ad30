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
