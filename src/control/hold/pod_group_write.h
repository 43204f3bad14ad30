/*
 * pod_group_write: Workloads of pods and of pod groups as bodies; also those that serving controllers make for the pods
 * they will have. Plain functions.
 */
#ifndef BERTH_CONTROL_POD_GROUP_WRITE_H
#define BERTH_CONTROL_POD_GROUP_WRITE_H

#include "control/load/job_workload.h"
#include "control/load/pod_gate.h"

struct group_set { /* a pod set */
    struct str name;
    int32_t count;
    yyjson_val *metadata; /* of the template: labels and annotations; NULL: none */
    yyjson_val *spec;
    /* Without labels and annotations of leaderworkerset.sigs.k8s.io, but for the name */
    bool lws_keys;
};

struct owner_reference group_owner(const char *api_version, const char *kind,
                                   const struct object *o, bool controller);

struct group_workload {
    struct str ns, name;
    yyjson_val *
        about; /* the object it is made for: queue, class, time limit, annotations that are copied */
    struct str job_uid;                          /* label; empty: none */
    bool group;                                  /* annotation is-group-workload */
    const struct str_pair *labels, *annotations; /* more of them */
    size_t n_labels, n_annotations;
    const struct owner_reference *owners;
    size_t n_owners;
    const struct group_set *sets;
    size_t n_sets;
    const struct workload_priority *priority;
};

/* A manifest. 0 or ERR_NOMEM, ERR_TOO_LARGE. */
int group_workload_write(const struct group_workload *w, struct arena *a, struct buf *out);
/* A merge patch that makes an existing one's spec as the manifest would be. ERR_NOT_FOUND: it is. */
int group_workload_update(const struct object *wl, yyjson_val *wl_tree,
                          const struct group_workload *w, struct arena *a, struct buf *out);

struct str group_label(yyjson_val *about, const char *key);
struct str group_annotation(yyjson_val *about, const char *key);

/* The annotations that a Workload takes over from what it is made for. A merge patch that brings those up to date, with
 * the queue's name where `queue` is not NULL, and the class where `priority` is not; ERR_NOT_FOUND: nothing differs. */
int group_workload_follow(const struct object *wl, yyjson_val *wl_tree, yyjson_val *about,
                          const struct str *queue, const struct workload_priority *priority,
                          bool *ret_gates, struct arena *a, struct buf *out);

/* Owner references to add; those to pods that are gone are left out. ERR_NOT_FOUND: all are there. */
int group_owners_add(const struct object *wl, yyjson_val *wl_tree, const struct mirror *m,
                     const struct gated_pod *const *pods, size_t n, bool controller,
                     size_t *ret_added, struct arena *a, struct buf *out);

#endif
