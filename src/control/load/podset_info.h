/*
 * podset_info: what an admission puts into the pods of one pod set, how it gets in and how it is taken out again.
 *
 * In: the node labels of every flavor assigned become node selector, their tolerations are appended, labels say which
 * pod set and queues a pod is of; updates of admission checks are merged; a placement by topology holds the pods with a
 * gate until each has its place. The same key with another value can never be satisfied.
 *
 *     struct podset_info in;
 *     podset_info_init(&in, arena);
 *     podset_info_admitted(&in, &ask, &err);                  what admission and checks say
 *     podset_info_merge(&in, d, template, &err);              into a pod template, or a pod: metadata and spec
 *     ...
 *     podset_info_restore(d, template, was);                  as it was before
 */
#ifndef BERTH_CONTROL_PODSET_INFO_H
#define BERTH_CONTROL_PODSET_INFO_H

#include "control/kit/views.h"
#include "control/load/queue_settings.h"

#define KUEUE_PODSET_LABEL "kueue.x-k8s.io/podset"
#define KUEUE_TOPOLOGY_GATE "kueue.x-k8s.io/topology"

struct podset_info {
    struct str name;
    int32_t count;
    yyjson_mut_doc *doc;                             /* of what follows */
    yyjson_mut_val *labels, *annotations, *selector; /* objects */
    yyjson_mut_val *tolerations, *gates;             /* lists */
};

/* Everything lives in the arena. ERR_NOMEM. */
int podset_info_init(struct podset_info *in, struct arena *a);

struct podset_ask {
    const struct object *wl_obj;
    const struct workload *wl;   /* admitted */
    size_t set;                  /* of its assignments */
    const struct mirror *mirror; /* for flavors */
    const struct queue_settings *settings;
    struct arena *arena;
};
/* ERR_NOT_FOUND: a flavor is not there (yet). ERR_CONFLICT with a text: what was given contradicts itself. */
int podset_info_admitted(struct podset_info *in, const struct podset_ask *q, struct err *err);
/* One infos per assignment, in the arena; the number of assignments must be `want` (ERR_CONFLICT). */
int podset_infos_admitted(const struct podset_ask *q, size_t want, struct podset_info **ret,
                          struct err *err);

/* Into a document's pod template or pod. ERR_CONFLICT with a text, then it is half done; ERR_NOMEM. */
int podset_info_merge(const struct podset_info *in, yyjson_mut_doc *d, yyjson_mut_val *template,
                      struct err *err);
/* Labels, annotations, node selector, tolerations and scheduling gates as in `was`. ERR_NOMEM. */
int podset_info_restore(yyjson_mut_doc *d, yyjson_mut_val *template, yyjson_val *was);
/* Does it hold what a merge put there? */
bool podset_info_held(yyjson_val *template, yyjson_val *was);

#endif
