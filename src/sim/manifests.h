/*
 * manifests: YAML streams to objects in the storage version, as the API server would take them: lists taken apart,
 * versions converted, unknown members and violated rules refused, defaults filled in.
 */
#ifndef BERTH_SIM_MANIFESTS_H
#define BERTH_SIM_MANIFESTS_H

#include "api/schema/kind.h"
#include "base/buf.h"

struct manifest {
    const struct kind *kind;
    struct str ns, name; /* ns: "default" where none is given; name empty: generateName */
    struct str json;
};

struct manifests {
    struct manifest *v;
    size_t n, cap;
};

/* Appends; everything lies in the arena. ERR_SYNTAX, ERR_INVALID ("FILE: document 2: ClusterQueue gpus:
 * spec.resourceGroups[0].flavors: Required value"), ERR_TOO_LARGE, ERR_NOMEM. */
int manifests_read(struct arena *a, const char *file, struct str text, struct manifests *out,
                   struct err *err);
/* What need not be whole, as to delete or to patch an object: no defaults, and no rules but that members are known and
 * there is a name. A null stays: in a patch it removes the member. */
int manifests_read_parts(struct arena *a, const char *file, struct str text, struct manifests *out,
                         struct err *err);

#endif
