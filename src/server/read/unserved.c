/* unserved: a table. See unserved.h. */
#include "server/read/unserved.h"

#include "api/schema/kind.h"

static const struct unserved rows[] = {
    {"autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers",
     "horizontalpodautoscaler", "hpa", true, "nothing here is scaled by load"},
};

const struct unserved *unserved_next(size_t *i) {
    while (*i < sizeof(rows) / sizeof(rows[0])) {
        const struct unserved *u = &rows[(*i)++];
        if (kind_by_resource(str_of(u->group), str_of(u->version), str_of(u->plural)) == NULL) {
            return u;
        }
    }
    return NULL;
}

const struct unserved *unserved_find(struct str group, struct str version, struct str plural) {
    const struct unserved *u;
    for (size_t i = 0; (u = unserved_next(&i)) != NULL;) {
        if (str_is(group, u->group) && str_is(version, u->version) && str_is(plural, u->plural)) {
            return u;
        }
    }
    return NULL;
}
