/*
 * owned_pods: the pods of an owner, as the controllers of long-running kinds count and rank them.
 *
 * Only a few members are looked at, without the kind's table: an owner may have thousands of pods and looks at all of
 * them.
 */
#ifndef BERTH_CONTROL_OWNED_PODS_H
#define BERTH_CONTROL_OWNED_PODS_H

#include "base/arena.h"
#include "mirror/object.h"

#define POD_DELETION_COST "controller.kubernetes.io/pod-deletion-cost"

enum owned_phase { OWNED_PENDING, OWNED_UNKNOWN, OWNED_RUNNING, OWNED_SUCCEEDED, OWNED_FAILED };

struct owned_pod {
    const struct object *obj; /* borrowed */
    enum owned_phase phase;
    bool ready;             /* it says so, whatever its phase */
    int64_t ready_ns;       /* since when; 0: not known */
    struct str node;        /* empty: not scheduled */
    int32_t restarts, cost; /* cost: of deleting it, from its annotation */
    int32_t together;       /* pods of the list on its node; owned_pods_rank fills it */
};
struct owned_pods {
    struct owned_pod *v;
    size_t n;
};

/* Views lie in the arena; `scratch` is emptied. 0 or an error. */
int owned_pod_read(const struct object *o, struct arena *scratch, struct arena *a,
                   struct owned_pod *ret);

/* It counts: it has not ended and is not being deleted. */
static inline bool owned_pod_active(const struct owned_pod *p) {
    return p->phase != OWNED_SUCCEEDED && p->phase != OWNED_FAILED && !p->obj->deleting_ns;
}
/* Whether it has been ready for so long; if it is ready, but not that long yet, *ret_left (may be NULL) becomes the
 * time that is missing where that is less than what stands there or 0 stands there. */
bool owned_pod_available(const struct owned_pod *p, int32_t min_ready_s, int64_t now_ns,
                         int64_t *ret_left);

/* Sorts active pods so that the first to be deleted come first: not scheduled ones before those that are; pending,
 * unknown, running; not ready; cheap to delete; together with more on one node; ready since a short time, by powers of
 * two; restarted more often; younger. 0 or ERR_NOMEM. */
int owned_pods_rank(struct owned_pods *pods, int64_t now_ns);

#endif
