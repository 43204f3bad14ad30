/*
 * translate: API objects to what the engine understands, and what it decided to JSON. Shared by the controllers, the
 * simulator and replays.
 *
 * Everything comes from views (control/kit/views.h) and goes into the arena; nothing is kept. Amounts are cpu in
 * milli-units, everything else in whole units, rounded up, as Kueue counts.
 */
#ifndef BERTH_CONTROL_TRANSLATE_H
#define BERTH_CONTROL_TRANSLATE_H

#include "api/conditions.h"
#include "control/kit/views.h"

#include "api/pod_fields.h"
#include "core/admit/engine.h"

#define PLACEMENT_ANNOTATION POD_PLACEMENT_ANNOTATION /* on Workloads: the seats of an admission */
#define MANAGED_LABEL "berth.dev/managed"             /* on Nodes: "true" where Berth places pods */
#define QUEUE_FINALIZER "kueue.x-k8s.io/resource-in-use"

struct amounts {
    struct node_amount *v;
    size_t n, cap;
};

int64_t translate_amount(struct str resource, struct quantity q);

int translate_flavor(const struct resource_flavor *f, struct arena *a, struct flavor_input *ret);
int translate_groups(const struct resource_group_list *groups, struct arena *a,
                     struct group_input **ret, size_t *ret_n);
int translate_cohort(const struct cohort *h, struct arena *a, struct cohort_input *ret);
/* `held` of the result is by stopPolicy alone. */
int translate_queue(const struct cluster_queue *q, struct arena *a, struct queue_input *ret);
int translate_shape(const struct pod_spec *p, struct arena *a, struct shape *ret);
/* Requests that a LimitRange of the namespace fills in, as the API server does for pods; changes the view. */
int translate_limits(const struct limit_range *l, struct pod_spec *p, struct arena *a);
/* What one pod asks for: containers summed, init containers as they overlap, overhead, pod-level resources. */
int translate_requests(const struct pod_spec *p, struct arena *a, struct amounts *ret);
/* cq: the ClusterQueue it goes to. The order's time is the queue-order timestamp (creation, or
 * eviction by a check). */
int translate_workload(const struct workload *w, struct str cq, struct arena *a,
                       struct workload_input *ret);
/* The same by a Configuration (NULL: the defaults): resources left out and transformed, boosts, gates. pods: the
 * ClusterQueue counts the resource "pods", one each. */
struct queue_settings;
int translate_workload_with(const struct workload *w, struct str cq,
                            const struct queue_settings *settings, bool pods, struct arena *a,
                            struct workload_input *ret);
/* The queue-order timestamp, and the effective priority (ret_boost may be NULL: what an annotation adds to it). */
int64_t translate_order_time(const struct workload *w, const struct queue_settings *settings);
int64_t translate_priority(const struct workload *w, const struct queue_settings *settings,
                           int64_t *ret_boost);
/* What an admission holds, reclaimable pods taken off. */
int translate_admission(const struct workload *w, struct engine *e,
                        const struct queue_settings *settings, struct arena *a,
                        struct held_amount **ret, size_t *ret_n);
/* inventory: decoded from the node's annotation, or NULL. */
int translate_node(const struct node *n, const struct inventory *inventory, struct arena *a,
                   struct node_input *ret);

/* status.admission of one that was given `held`, in the arena. ERR_NOMEM. */
int translate_assigned(struct engine *e, struct str cq, const struct workload_input *w,
                       const struct held_amount *held, size_t n, struct arena *a,
                       struct workload_admission **ret);
/* The placement annotation of the seats of a workload, and back: each seat restored into the pool. Pods without devices
 * that follow one another on a node are one item with a count. ERR_INVALID: an item counts more than a workload has. */
void translate_placement_json(const struct seat *first, struct buf *out);
/* The same of two workloads as one: `before` are the seats of the holder that the other replaces, or NULL.
 * Restoring passes over ordinals that the workload has seats for already. */
void translate_placement_joined(const struct seat *before, const struct seat *first,
                                struct buf *out);
int translate_places_restore(yyjson_val *const *lists, size_t n_lists, struct engine *e,
                             const struct workload_input *w, struct arena *a, struct err *err);
/* The devices annotation of a bound pod: the seat's devices dealt out to the containers that ask for them. */
int translate_devices_json(const struct seat *s, const struct pod_spec *p, struct names *resources,
                           struct arena *a, struct buf *out);
/* Devices of a pod as a seat's. */
int translate_devices(const struct pod_devices *d, struct names *resources, struct arena *a,
                      struct seat_device **ret);

#endif
