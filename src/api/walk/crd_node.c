/* crd_node: see crd_node.h. */
#include "api/walk/crd_node.h"

const struct crd_node *crd_prop(const struct crd_node *n, struct str name) {
    size_t lo = 0, hi = n->n_props;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        int c = str_cmp(name, n->props[mid].name);
        if (c == 0) {
            return n->props[mid].node;
        }
        if (c < 0) {
            hi = mid;
        } else {
            lo = mid + 1;
        }
    }
    return NULL;
}

const struct crd_node *crd_member(const struct crd_node *n, struct str name) {
    const struct crd_node *p = crd_prop(n, name);
    return p != NULL ? p : n->additional;
}
