/* scale_target: an object with a scale: what it is, how many replicas it has and wants, and which pods are its own. */
#ifndef BERTH_CONTROL_SCALE_TARGET_H
#define BERTH_CONTROL_SCALE_TARGET_H

#include "mirror/mirror.h"

struct scale_target {
    struct str
        error; /* not empty: the scale cannot be read, in a client's words; the rest is empty then */
    const struct object *object; /* borrowed, until the next commit */
    int32_t spec_replicas, status_replicas;
    struct str selector; /* as text */
};

/* By apiVersion, kind, namespace and name. Texts are in the arena. */
struct scale_target scale_target_read(const struct mirror *m, struct arena *a,
                                      struct str api_version, struct str kind, struct str ns,
                                      struct str name);

#endif
