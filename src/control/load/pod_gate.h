/*
 * pod_gate: pods that wait behind a scheduling gate, as queueing sees them.
 *
 * A pod that is queued itself (alone, or as one of a group) carries the label kueue.x-k8s.io/managed=true and was given
 * the gate kueue.x-k8s.io/admission when it was created. A `struct gated_pod` is what is read of one version of it,
 * once; it holds that version. The rest is plain functions from such records to bodies.
 */
#ifndef BERTH_CONTROL_POD_GATE_H
#define BERTH_CONTROL_POD_GATE_H

#include "control/load/podset_info.h"

#define POD_GATE "kueue.x-k8s.io/admission"
#define POD_MANAGED "kueue.x-k8s.io/managed" /* label ("true") and finalizer */
#define POD_GROUP_NAME "kueue.x-k8s.io/pod-group-name"
#define POD_GROUP_TOTAL "kueue.x-k8s.io/pod-group-total-count"
#define POD_GROUP_FAST "kueue.x-k8s.io/pod-group-fast-admission"
#define POD_GROUP_SERVING "kueue.x-k8s.io/pod-group-serving"
#define POD_GROUP_INDEX_LABEL "kueue.x-k8s.io/pod-group-pod-index-label"
#define POD_ROLE_HASH "kueue.x-k8s.io/role-hash"
#define POD_RETRIABLE "kueue.x-k8s.io/retriable-in-group"
#define POD_PARENT "kueue.x-k8s.io/pod-suspending-parent"
#define POD_IS_GROUP "kueue.x-k8s.io/is-group-workload"
#define POD_PREBUILT "kueue.x-k8s.io/prebuilt-workload-name"
#define POD_TERMINATION "TerminationTarget" /* condition */

struct gated_pod {
    const struct object *obj; /* held */
    char *text;               /* of the views below */
    struct str group;         /* empty: a pod of its own */
    struct str role;          /* annotation role-hash; of a group's pod never empty */
    struct str prebuilt;      /* name of the Workload that it is to use */
    struct str parent;        /* the integration that asked for the gate */
    struct str message;       /* status.message */
    int32_t total;            /* of the group; 0: missing, -1: not a number above 0 */
    int64_t grace_s;          /* metadata.deletionGracePeriodSeconds */
    int64_t failed_ns;        /* since when its containers are known to have failed; 0: not known */
    bool gated, finalizer;
    bool failed, succeeded, running, ready, placed; /* placed: it has a node */
    bool fast, serving, lasting; /* lasting: group cannot be retried once this one has failed */
    bool ending;                 /* has the condition TerminationTarget */
};

/* Is it one that is queued by itself? By the label alone. */
bool pod_gate_managed(const struct object *o);

/* NULL: out of memory, or the object cannot be read. a: scratch. */
struct gated_pod *gated_pod_new(const struct object *o, struct arena *a);
void gated_pod_free(struct gated_pod *p); /* NULL is a no-op */

static inline bool gated_pod_over(const struct gated_pod *p) {
    return p->failed || p->succeeded;
}
/* Nothing has to be stopped. */
static inline bool gated_pod_suspended(const struct gated_pod *p) {
    return p->gated || gated_pod_over(p);
}
/* It runs, may run, or has done its work: not one that failed, was deleted before it had a node, or is gone from its
 * node. */
bool gated_pod_runnable(const struct gated_pod *p);
/* It runs, and is not stuck on a node that does not answer. `quick`: being deleted is enough. */
bool gated_pod_active(const struct gated_pod *p, bool quick, int64_t now_ns);
/* When such a one ceases to count although it still seems to run; 0: not by time. */
int64_t gated_pod_until(const struct gated_pod *p);

/* ---- bodies; merge patches conditional on the version ---- */

/* Takes the gate away and puts in what the pod set is given. ERR_CONFLICT with a text: it can never start.
 * ERR_NOT_FOUND: it has no gate. */
int pod_gate_open(const struct object *o, const struct podset_info *in, struct arena *a,
                  struct buf *out, struct err *err);
/* Takes a gate away, and another with it (NULL: none). ERR_NOT_FOUND: it has not the first. */
int pod_gate_drop(const struct object *o, const char *gate, const char *with, struct arena *a,
                  struct buf *out);
/* For the status subresource: the condition TerminationTarget. */
int pod_gate_terminate(const struct object *o, struct str reason, struct str message,
                       int64_t now_ns, struct arena *a, struct buf *out);

/* Would the pod ask for more than its pod set's template does? Only of what the template names, and of every extended
 * resource: the text names it. 1: it would; 0; or ERR_NOMEM. */
int pod_gate_exceeds(const struct object *o, const struct pod_template *t, struct arena *a,
                     struct str *ret_text);

#endif
