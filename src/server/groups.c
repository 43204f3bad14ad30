/* groups: the group-versions of all kinds. See groups.h. */
#include "server/groups.h"

#include <assert.h>
#include <string.h>

static struct group_version all[GROUPS_MAX];
static size_t n_all;

static bool listed(const char *group, const char *version) {
    for (size_t i = 0; i < n_all; i++) {
        if (strcmp(all[i].group, group) == 0 && strcmp(all[i].version, version) == 0) {
            return true;
        }
    }
    return false;
}

/* Stable: versions keep the order of the tables, most preferred first. */
static void sort_by_group(void) {
    for (size_t i = 1; i < n_all; i++) {
        struct group_version gv = all[i];
        size_t j = i;
        for (; j > 0 && strcmp(all[j - 1].group, gv.group) > 0; j--) {
            all[j] = all[j - 1];
        }
        all[j] = gv;
    }
}

const struct group_version *groups_all(size_t *ret_n) {
    if (n_all == 0) {
        size_t n;
        const struct kind *const *kinds = kinds_all(&n);
        for (size_t i = 0; i < n; i++) {
            for (size_t v = 0; v < kinds[i]->n_versions; v++) {
                const char *version = kinds[i]->versions[v].version;
                if (!listed(kinds[i]->group, version)) {
                    assert(n_all < GROUPS_MAX);
                    all[n_all++] = (struct group_version){kinds[i]->group, version};
                }
            }
        }
        sort_by_group();
    }
    *ret_n = n_all;
    return all;
}
