/*
 * template_pod: a pod, as a controller makes it of a template: labels, annotations, finalizers and spec are the
 * template's, and the pod is the owner's.
 *
 * What the scheduler alone says of a pod is left out. A template whose owner has no queue may name a node, as in
 * Kubernetes: its author had the right to.
 */
#ifndef BERTH_CONTROL_TEMPLATE_POD_H
#define BERTH_CONTROL_TEMPLATE_POD_H

#include "mirror/object.h"
#include "wire/json/json.h"

#define TEMPLATE_QUEUE_LABEL "kueue.x-k8s.io/queue-name" /* on an owner that is queued */

struct template_pod {
    const struct object *owner; /* becomes the controller */
    yyjson_val *template;
    struct str name, generate_name; /* one of both */
};

/* The whole object, to which more may be added: labels and annotations are there. NULL: out of memory. */
yyjson_mut_doc *template_pod_new(const struct template_pod *t, struct arena *a);
/* The reference by which an object is controlled by its owner, appended to a list. 0 or ERR_NOMEM. */
int template_pod_own(yyjson_mut_doc *d, yyjson_mut_val *list, const struct object *owner);

#endif
