/* groups: the group-versions of all kinds. See groups.h. */
#include "server/kit/groups.h"

#include <string.h>

#include "api/schema/crd_kind.h"
#include "base/vec.h"

VEC(group_version_vec, struct group_version);

static struct group_version_vec all;
static uint64_t generation = UINT64_MAX; /* of the kinds that `all` was made from */

static bool listed(const char *group, const char *version) {
    for (size_t i = 0; i < all.n; i++) {
        if (strcmp(all.v[i].group, group) == 0 && strcmp(all.v[i].version, version) == 0) {
            return true;
        }
    }
    return false;
}

/* By group; within a group the preferred version first. */
static int order(const struct group_version *a, const struct group_version *b) {
    int c = strcmp(a->group, b->group);
    return c != 0 ? c : crd_version_order(str_of(a->version), str_of(b->version));
}

static void sort(void) {
    for (size_t i = 1; i < all.n; i++) {
        struct group_version gv = all.v[i];
        size_t j = i;
        for (; j > 0 && order(&gv, &all.v[j - 1]) < 0; j--) {
            all.v[j] = all.v[j - 1];
        }
        all.v[j] = gv;
    }
}

static int make(void) {
    size_t n;
    const struct kind *const *kinds = kinds_all(&n);
    int r = 0;
    all.n = 0;
    for (size_t i = 0; r == 0 && i < n; i++) {
        for (size_t v = 0; r == 0 && v < kinds[i]->n_versions; v++) {
            struct group_version gv = {kinds[i]->group, kinds[i]->versions[v].version};
            if (!kinds[i]->versions[v].hidden && !listed(gv.group, gv.version)) {
                r = group_version_vec_push(&all, gv);
            }
        }
    }
    return r; /* out of memory: what there is, and again the next time */
}

const struct group_version *groups_all(size_t *ret_n) {
    if (generation != kinds_generation() && make() == 0) {
        sort();
        generation = kinds_generation();
    }
    *ret_n = all.n;
    return all.v;
}
